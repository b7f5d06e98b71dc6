/*
 * scan_result.h - the results of a scan, read from a packed state
 * (scan_state.c)
 */
#ifndef FASTCLUST_TRAIN_SCAN_RESULT_H
#define FASTCLUST_TRAIN_SCAN_RESULT_H

#include "operator/coreset.h"
#include "sketch/spec.h"

#define SCAN_STEPS	2			/* maximum number of operators in a plan */

/* Lloyd's sums of one operator of the plan. */
typedef struct scan_step
{
	fc_operator_header *next;	/* means of the clusters; a cluster without
								 * rows keeps its centroid */
	int64		n;
	double		sse;
	int64	   *counts;			/* rows of each cluster, k values */
} scan_step;

typedef struct scan_result
{
	int64		n;				/* rows taken, in the share or not */
	int64
				nulls;			/* rows with a NULL cell; with cosine zero
								 * vectors, which are not in n */
	struct varlena *sketch;		/* sketch, counts and sample: NULL if not
								 * requested, or if no row entered */
	struct varlena *counts;
	fc_coreset *sample;
	int			steps;
	scan_step	step[SCAN_STEPS];
} scan_result;

/* Reads the results from a packed state (scan_state.c). */
extern void read_scan(Datum packed, scan_result *result);

#endif							/* FASTCLUST_TRAIN_SCAN_RESULT_H */
