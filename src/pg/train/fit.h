/* fit.h - the methods of a training */
#ifndef FASTCLUST_TRAIN_FIT_H
#define FASTCLUST_TRAIN_FIT_H

#include "pg/train/training.h"

/* K-means of rows by a search, which takes so many numbers of wide ones. */
extern fc_codebook *searched_clusters(const training *t,
									  const fc_weighted_rows *rows, Size k,
									  double most_numbers);

#define SEARCHED_NUMBERS	1e6
#define SHARED_NUMBERS		1e5 /* two searches share the time of one */

/*
 * The clusters of a group that serve, in units, where k of them can be
 * compared; else NULL.
 */
extern fc_operator_header *old_clusters(const training *t, const char *group, Size k);

extern void fit_part(const training *t, train_part *part);

/* Announces all groups before the first, or refuses them. */
extern void
			announce_groups(const training *t, const train_part *parts, int count);

#endif							/* FASTCLUST_TRAIN_FIT_H */
