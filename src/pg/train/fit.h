/* fit.h - the methods of a training */
#ifndef FASTCLUST_TRAIN_FIT_H
#define FASTCLUST_TRAIN_FIT_H

#include "pg/train/training.h"

/*
 * Runs k-means by a search in max(10000, 100 k, max_numbers / d) of the
 * rows, continued on all of them.
 */
extern fc_codebook *searched_clusters(const training *t,
									  const fc_weighted_rows *rows, Size k,
									  double max_numbers);

#define SEARCHED_NUMBERS	1e6
#define SHARED_NUMBERS		1e5 /* numbers per search if two searches share
								 * the time of one */

/*
 * Returns the serving clusters of a group in units, or NULL if they cannot be
 * compared with k new ones.
 */
extern fc_operator_header *old_clusters(const training *t, const char *group, Size k);

extern void fit_group(const training *t, group_fit *fit);

/*
 * Announces the k-means of all groups before the first one begins; exceeding
 * the time budget is an error.
 */
extern void
			announce_groups(const training *t, const group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_FIT_H */
