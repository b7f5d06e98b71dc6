/* fit.h - fits the operator of each group by the method of the training */
#ifndef FASTCLUST_TRAIN_FIT_H
#define FASTCLUST_TRAIN_FIT_H

#include "pg/train/training.h"

/*
 * Runs k-means for k clusters: searches in a subset of max(10000, 100 k,
 * max_numbers / d) rows, and continues from the result on all rows. If the rows
 * have a heavy tail, the subset is a sample by importance.
 */
extern fc_codebook *searched_clusters(const training *t,
									  const fc_weighted_rows *rows, Size k,
									  double max_numbers);

/*
 * Minimum number of values (rows x dimensions) in a sample that k-means
 * searches: SEARCHED_NUMBERS for a single search, SHARED_NUMBERS for each of
 * two searches, which share the time of one. A larger sample gives better
 * clusters, but the time grows in proportion to its size. Guesses.
 */
#define SEARCHED_NUMBERS	1e6
#define SHARED_NUMBERS	1e5

/*
 * Returns the serving clusters of a group in the scaling of this training.
 * Returns NULL if there are not exactly k of them, if their coordinates or
 * metric differ, if either version has a kernel map, or with option fresh.
 */
extern fc_operator_header *old_clusters(const training *t, const char *group, Size k);

extern void fit_group(const training *t, group_fit *fit);

/*
 * Searches the weighted sample of a fit once more by method kmeans, with
 * effort t->effort and without the candidates of the scan. Returns the new
 * fit.
 */
extern group_fit search_again(const training *t, const group_fit *fit);

/*
 * Returns true if the fit `other` has a lower objective than `fit`. If scans
 * measured both objectives, the difference must exceed the tolerance;
 * otherwise the objectives on the weighted sample are compared.
 */
extern bool is_better(const training *t, const group_fit *other, const group_fit *fit);

/*
 * Announces how long k-means of all groups takes. Raises an error if that
 * exceeds the time budget. Called before the first group is fitted.
 */
extern void announce_groups(const training *t, const group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_FIT_H */
