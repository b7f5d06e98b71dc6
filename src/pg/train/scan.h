/* scan.h - the one scan of a training */
#ifndef FASTCLUST_TRAIN_SCAN_H
#define FASTCLUST_TRAIN_SCAN_H

#include "pg/train/sample.h"

/*
 * Announces how long a scan of all rows takes. If the sketch is to be decoded,
 * raises an error if the time exceeds the time budget.
 */
extern void announce_scan(const training *t, const scan_request *request, int flags);

/*
 * Estimates the number of groups from a sample of about `wanted` rows: returns
 * `wanted` if each sampled row has a group of its own, else a smaller number; 1
 * if the rows have no groups.
 */
extern double estimated_groups(const training *t, Size wanted);

/*
 * Returns s, a power of 2: one in s rows enters the sketch and the drift
 * counts.
 */
extern int	sketched_share(const training *t, double groups);

/*
 * Sets the GUCs for a hashed GROUP BY: turns enable_sort off, and sets
 * work_mem to a quarter of the memory budget, but at least 64 MB.
 */
extern void set_hashing(void);

/*
 * Begins a nest level of GUCs and returns it, for AtEOXact_GUC. If the
 * training has groups, sets the GUCs for a hashed GROUP BY. sparse: groups
 * have few rows each, so parallel workers are switched off, too.
 */
extern int	enter_grouping(const training *t, bool sparse);
extern group_fit *scan_fits(training *t, const fc_weighted_rows *sample, int *fits);

/* Uniform sample of a group in random order; its rows are not scaled. */
typedef struct group_sample
{
	char	   *group;
	const fc_weighted_rows *rows;
	int64		n;				/* number of rows of the group that were read */
} group_sample;

/*
 * Reads about `rows` rows of all groups together. Returns a sample of up to
 * `wanted` rows for each group, and sets *count to the number of groups.
 */
extern group_sample *sample_groups(const training *t, double wanted, double rows, int *count);

#endif							/* FASTCLUST_TRAIN_SCAN_H */
