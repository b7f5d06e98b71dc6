/*
 * density.h - method density: joins micro-clusters into clusters of any shape
 */
#ifndef FASTCLUST_TRAIN_DENSITY_H
#define FASTCLUST_TRAIN_DENSITY_H

#include "pg/train/training.h"

/*
 * Raises an error if the method is density, but k is given (not 0) or an
 * option does not suit the method.
 */
extern void check_density(const training *t, int64 k);

extern Size micro_clusters(const training *t);

/*
 * Raises an error if the live sketches, one for each micro-cluster, together
 * exceed the memory budget.
 */
extern void check_live_size(const training *t);

/*
 * Joins the micro-clusters of each group into clusters. Afterwards the
 * operator of the group holds the means of the clusters.
 */
extern void find_regions(training *t, const fc_weighted_rows *sample,
						 group_fit *fits, int count);

/*
 * Sets the numbers of a group's clusters to `numbers`, after replacing missing
 * and repeated entries by unused numbers. Does nothing if `numbers` is NULL.
 */
extern void number_regions(group_fit *fit, int32 *numbers);
extern fit_profile profile_of_regions(const group_fit *fit, const double *places, Size count);

#endif							/* FASTCLUST_TRAIN_DENSITY_H */
