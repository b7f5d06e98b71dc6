/*
 * store.h - numbers the clusters of each group, computes their sizes and
 * distances, and writes the groups of a version
 */
#ifndef FASTCLUST_TRAIN_STORE_H
#define FASTCLUST_TRAIN_STORE_H

#include "pg/train/query.h"
#include "pg/train/training.h"

extern void write_groups(Datum *records, int count);

extern Datum level_paths(const training *t, const fc_operator_header *op);

/*
 * Starts the record of a group of a version, as a copy of the record `other`
 * unless that is 0. Sets the columns about the training; the caller sets the
 * columns about the clusters.
 */
extern record_builder begin_version(const training *t, const char *group, Datum other);

extern double store_groups(training *t, const fc_weighted_rows *sample,
						   group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_STORE_H */
