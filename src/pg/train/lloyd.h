/* lloyd.h - scans of Lloyd's algorithm */
#ifndef FASTCLUST_TRAIN_LLOYD_H
#define FASTCLUST_TRAIN_LLOYD_H

#include "pg/train/training.h"

extern void lloyd_scans(training *t, group_fit *fits, int count, int steps);
extern void balance_clusters(training *t, group_fit *fit);

/*
 * Result of a Lloyd scan: the moved operator, its sum of squares, the rows.
 */
typedef struct lloyd_sums
{
	fc_operator_header *next;
	double		sse;
	int64		n;
} lloyd_sums;

/* Returns true if workers can hold the sums of a scan and send them. */
extern bool sums_are_shared(const fc_operator_header *op);

extern lloyd_sums lloyd_scan(const training *t, const fc_operator_header *op);

#endif							/* FASTCLUST_TRAIN_LLOYD_H */
