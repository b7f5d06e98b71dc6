/*
 * scan_result.h - the results of a scan, read from a packed state
 * (scan_state.c)
 */
#ifndef FASTCLUST_TRAIN_SCAN_RESULT_H
#define FASTCLUST_TRAIN_SCAN_RESULT_H

#include "operator/coreset.h"
#include "sketch/spec.h"

#define SCAN_STEPS	2			/* operators at most */

/* Of an operator of the plan. */
typedef struct scan_step
{
	fc_operator_header *next;	/* the means of the clusters; one without rows
								 * stays */
	int64		n;
	double		sse;
	int64	   *counts;			/* k */
} scan_step;

typedef struct scan_result
{
	int64		n;				/* rows taken, whatever the share */
	int64
				nulls;			/* of these with a NULL cell; by cosine those
								 * without a direction, which were not taken */
	struct varlena *sketch;		/* these three are NULL where there is none,
								 * or no row entered */
	struct varlena *counts;
	fc_coreset *sample;
	int			steps;
	scan_step	step[SCAN_STEPS];
} scan_result;

/* Reads a packed state (scan_state.c). */
extern void read_scan(Datum packed, scan_result *result);

#endif							/* FASTCLUST_TRAIN_SCAN_RESULT_H */
