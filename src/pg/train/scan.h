/* scan.h - the sums of scan_agg over the rows of a training */
#ifndef FASTCLUST_SCAN_H
#define FASTCLUST_SCAN_H

#include "postgres.h"

#include "operator/bytes.h"
#include "operator/coreset.h"

#define SCAN_STEPS	2			/* operators at most */

/* Of an operator of the plan. */
typedef struct scan_step
{
	fc_operator_header *next;	/* the means of the clusters; where nobody came, the centroid stays */
	int64		n;
	double		sse;
	int64	   *counts;			/* k */
} scan_step;

typedef struct scan_result
{
	int64		n;				/* rows taken, whatever the share */
	int64		nulls;			/* of these with a NULL cell; by cosine those that were not taken, for they have no direction */
	struct varlena *sketch;		/* these three are NULL where there is none, or no row entered */
	struct varlena *counts;
	fc_coreset *sample;
	int			steps;
	scan_step	step[SCAN_STEPS];
} scan_result;

extern void read_scan(Datum packed, scan_result *result);

#endif							/* FASTCLUST_SCAN_H */
