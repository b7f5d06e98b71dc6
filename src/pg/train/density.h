/* density.h - the method density */
#ifndef FASTCLUST_TRAIN_DENSITY_H
#define FASTCLUST_TRAIN_DENSITY_H

#include "pg/train/training.h"

/*
 * The error of a training that the method cannot do; k as it was requested, 0:
 * not.
 */
extern void check_density(const training *t, int64 k);

extern Size micro_clusters(const training *t);

/* A live sketch of each micro-cluster is within the budget. */
extern void check_live_size(const training *t);

/*
 * The operators of parts have the micro-clusters; afterwards the means of
 * clusters.
 */
extern void find_regions(training *t, const fc_weighted_rows *sample,
						 train_part *parts, int count);

/*
 * Clusters get these numbers, completed to a permutation; NULL: they keep
 * theirs.
 */
extern void number_regions(train_part *part, int32 *numbers);
extern fit_profile
			profile_of_regions(const train_part *part, const double *places, Size count);

#endif							/* FASTCLUST_TRAIN_DENSITY_H */
