/* scan.h - the one scan of a training */
#ifndef FASTCLUST_TRAIN_SCAN_H
#define FASTCLUST_TRAIN_SCAN_H

#include "pg/train/sample.h"

/* Tells how long a scan of all rows takes. */
extern void
			announce_scan(const training *t, const scan_request *request, int flags);

/* How many groups there are about: those of so many rows; 1 without groups. */
extern double estimated_groups(const training *t, Size wanted);

/* The share of rows that enter sketch and counts: one of so many. */
extern int	sketched_share(const training *t, double groups);

/*
 * Settings of a query that hashes groups, without workers where they are
 * sparse, until AtEOXact_GUC of the level it returns.
 */
extern int	enter_grouping(const training *t, bool sparse);
extern train_part *scan_parts(training *t, const fc_weighted_rows *sample, int *parts);

/*
 * Uniform samples of groups, `wanted` rows each at most and about `rows` in
 * all, in random order and the rows' own units.
 */
typedef struct group_sample
{
	char	   *group;
	const fc_weighted_rows *rows;
	int64		n;				/* rows that were read of it */
} group_sample;

extern group_sample *sample_groups(const training *t, double wanted, double rows, int *count);

#endif							/* FASTCLUST_TRAIN_SCAN_H */
