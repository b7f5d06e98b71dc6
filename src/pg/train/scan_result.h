/*
 * scan_result.h - the results of a scan, read from a packed state
 * (scan_state.c)
 */
#ifndef FASTCLUST_TRAIN_SCAN_RESULT_H
#define FASTCLUST_TRAIN_SCAN_RESULT_H

#include "drift/counts.h"
#include "operator/coreset.h"
#include "sketch/layout.h"

/* Maximum number of operators in a plan. */
#define SCAN_STEPS	2

/* Lloyd's sums of one operator of the plan. */
typedef struct scan_step
{
	fc_operator_header *next;	/* operator of the cluster means; a cluster
								 * without rows keeps its centroid */
	int64		n;
	double		sse;
	int64	   *counts;			/* k values: number of rows of each cluster */
} scan_step;

typedef struct scan_result
{
	int64		n;				/* number of all rows, including rows that are
								 * not in the sketch */
	int64
				nulls;			/* number of rows with a NULL; for metric
								 * cosine, number of zero vectors, which are
								 * not in n */
	double		weight;			/* sum of the weights of the n rows, if the
								 * scan has a weighted sample; else n */
	fc_sketch  *sketch;			/* sketch of a random share of the rows; NULL
								 * if not requested or without rows */
	fc_drift_counts *counts;	/* drift counts of the rows in the sketch;
								 * NULL if not requested or without rows */
	fc_coreset *sample;			/* weighted sample of all rows, or NULL */
	int			steps;			/* number of operators whose sums are in step */
	scan_step	step[SCAN_STEPS];
} scan_result;

/* Reads the results from a packed state (scan_state.c). */
extern void read_scan(Datum packed, scan_result *result);

#endif							/* FASTCLUST_TRAIN_SCAN_RESULT_H */
