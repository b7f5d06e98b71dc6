/*
 * checks.h - errors that several steps of a training raise, and its number of
 * clusters
 */
#ifndef FASTCLUST_TRAIN_CHECKS_H
#define FASTCLUST_TRAIN_CHECKS_H

#include "pg/train/training.h"
#include "pg/train/version.h"

/* The error that no row has all features. */
extern void reject_no_rows(const training *t) __attribute__((noreturn));

/* The error that a method cannot do something. */
extern void reject_with_method(train_method method, const char *problem,
							   const char *hint) __attribute__((noreturn));

/* Raises an error if there are fewer than k rows. */
extern void check_k_of_count(const training *t, int64 n);

/*
 * The number of clusters: with levels their product, so that k (0: NULL) may
 * be left out.
 */
extern int64 clusters_of_levels(const train_options *options, int64 k);

/*
 * Returns the number of clusters of a retrain with these options, which make
 * the settings.  Without k it is that of the version, whatever its levels
 * make, because clusters may have been merged.  A new k and levels must agree.
 */
extern int64 clusters_of_retraining(const stored_version *version,
									const train_options *options,
									const train_options *settings);

/*
 * Returns the window of recent rows of a retrain, as JSON: that of its
 * options, where null is none, or else that of the version.
 */
extern Jsonb *since_of_retraining(const stored_version *version,
								  const train_options *options);

#endif							/* FASTCLUST_TRAIN_CHECKS_H */
