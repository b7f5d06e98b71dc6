/* scan.h - the one scan of a training */
#ifndef FASTCLUST_TRAIN_SCAN_H
#define FASTCLUST_TRAIN_SCAN_H

#include "pg/train/sample.h"

/*
 * Announces how long a scan of all rows takes. If the sketch is to be decoded,
 * exceeding the time budget is an error.
 */
extern void
			announce_scan(const training *t, const scan_request *request, int flags);

/*
 * Estimates the number of groups from a sample of `wanted` rows; 1 without
 * groups.
 */
extern double estimated_groups(const training *t, Size wanted);

/*
 * Returns the number of rows for each one that enters sketch and counts, a
 * power of 2.
 */
extern int	sketched_share(const training *t, double groups);

/*
 * Sets the GUCs for a hashed GROUP BY, without workers if groups are sparse;
 * returns the nest level for AtEOXact_GUC.
 */
extern int	enter_grouping(const training *t, bool sparse);
extern group_fit *scan_fits(training *t, const fc_weighted_rows *sample, int *fits);

/*
 * Uniform sample of a group in random order and in the rows' own units.
 * sample_groups reads about `rows` rows of all groups, and keeps up to
 * `wanted` of each.
 */
typedef struct group_sample
{
	char	   *group;
	const fc_weighted_rows *rows;
	int64		n;				/* rows of the group that were read */
} group_sample;

extern group_sample *sample_groups(const training *t, double wanted, double rows, int *count);

#endif							/* FASTCLUST_TRAIN_SCAN_H */
