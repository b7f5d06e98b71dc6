/* numbering.h - numbers of clusters: those of another operator for the clusters that continue its own */
#ifndef FASTCLUST_NUMBERING_H
#define FASTCLUST_NUMBERING_H

#include "postgres.h"

#include "operator/bytes.h"

/* For each cluster of `new` the number it gets by the distances to the clusters of `old`; NULL where they cannot be compared. */
extern int32 *numbers_by_distance(const fc_operator_header *old, const fc_operator_header *new);

/* The same from the weight of rows by new and old label (k_new x k_old). */
extern int32 *numbers_by_labels(const double *counts, Size k_old, Size k_new);

/*
 * The new operator with the numbers of the old one for the clusters that continue its own: by distance, where the new one is also given in the
 * units of the old (moved; else NULL), or by the labels of rows that each has in its own space.
 */
extern fc_operator_header *with_numbers_of(const fc_operator_header *old, const fc_operator_header *old_rows, const fc_operator_header *new,
										   const fc_operator_header *new_rows, const fc_operator_header *moved);

/* Cluster j becomes number numbers[j]; NULL: op as it is. */
extern fc_operator_header *renumbered(const fc_operator_header *op, const int32 *numbers);

#endif							/* FASTCLUST_NUMBERING_H */
