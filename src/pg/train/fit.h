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
 * searches: SEARCHED_NUMBERS if there is one search, SHARED_NUMBERS for each
 * of two searches that divide its time. Larger samples give better clusters,
 * in proportional time. Guesses.
 */
#define SEARCHED_NUMBERS	1e6
#define SHARED_NUMBERS	1e5

/*
 * Returns the serving clusters of a group in the scaling of this training, or
 * NULL if they cannot be compared with k new ones.
 */
extern fc_operator_header *old_clusters(const training *t, const char *group, Size k);

extern void fit_group(const training *t, group_fit *fit);

/*
 * Returns the fit of a search of the weighted sample by method kmeans, without
 * the candidates of the scan.
 */
extern group_fit search_again(const training *t, const group_fit *fit);

/*
 * Returns true if the fit `other` has a lower objective than `fit`: by more
 * than the tolerance if scans measured both, else on the weighted sample.
 */
extern bool is_better(const training *t, const group_fit *other, const group_fit *fit);

/*
 * Announces the time of k-means in all groups before it begins in the first
 * group. Raises an error if it exceeds the time budget.
 */
extern void announce_groups(const training *t, const group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_FIT_H */
