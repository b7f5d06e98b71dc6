/* lloyd.h - scans of Lloyd's algorithm */
#ifndef FASTCLUST_TRAIN_LLOYD_H
#define FASTCLUST_TRAIN_LLOYD_H

#include "pg/train/training.h"

extern void lloyd_scans(training *t, group_fit *fits, int count, int steps);
extern void balance_clusters(training *t, group_fit *fit);

/*
 * Result of a Lloyd scan: `next`, the operator after the step, and `sse`, the
 * sum of squared distances before the step.
 */
typedef struct lloyd_sums
{
	fc_operator_header *next;
	double		sse;
	double		weight;			/* sum of the weights of the rows */
} lloyd_sums;

/* Returns the sum of the weights of the clusters. */
extern double weight_of_operator(const fc_operator_header *op);

/*
 * Returns true if parallel workers have memory for the sums of a scan and can
 * send them to the leader.
 */
extern bool sums_are_shared(const fc_operator_header *op);

extern lloyd_sums lloyd_scan(const training *t, const fc_operator_header *op);

/*
 * Sets the operator of a group after a scan that labelled the rows by `op`.
 * next: the means of the labelled rows. weight: sum of the weights of the
 * rows. sse: sum of the squared distances of the rows from `op`, which falls
 * by `gain` with `next`.
 *
 * The group has converged if gain / sse is at most the tolerance. The operator
 * becomes `next`, unless the group has converged and gain / sse is at most
 * MAX_UNTAKEN_GAIN. In that case it remains `op`, with the weights that the
 * scan counted: these are exactly the sizes of the clusters that predict
 * returns.
 */
extern void take_step(const training *t, group_fit *fit, fc_operator_header *op,
					  fc_operator_header *next, double sse, double gain,
					  double weight);

#endif							/* FASTCLUST_TRAIN_LLOYD_H */
