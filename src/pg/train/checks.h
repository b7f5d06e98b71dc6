/*
 * checks.h - errors that several steps of a training raise; the number of
 * clusters and the window of recent rows of a retrain
 */
#ifndef FASTCLUST_TRAIN_CHECKS_H
#define FASTCLUST_TRAIN_CHECKS_H

#include "pg/train/training.h"
#include "pg/train/version.h"

/*
 * Describes the options that choose rows, in words that follow "the table has
 * rows" in an error message: " where CONDITION" for option "where", " in the
 * window {...}" for option "since". Returns "" if all rows are read.
 */
extern char *source_condition_text(const training *t);

/*
 * Raises an error that says that the relation is empty, or that no row has a
 * value for every feature.
 */
extern void reject_no_rows(const training *t) __attribute__((noreturn));

/* Raises an error about the method: its name, followed by `problem`. */
extern void reject_with_method(train_method method, const char *problem,
							   const char *hint) __attribute__((noreturn));

/* Raises an error if there are fewer than k rows. */
extern void check_k_of_count(const training *t, int64 n);

/*
 * Returns the product of option levels, or k if the option is not given. With
 * option levels, k must be equal to the product, or 0 (SQL NULL).
 */
extern int64 clusters_of_levels(const train_options *options, int64 k);

/*
 * Returns the number of clusters of a retrain. `settings` are the version's
 * options with the given `options` merged in.
 *
 * If `options` have neither k nor levels, the number remains the number of
 * clusters of the version. That may differ from the product of the version's
 * levels, because clusters have been merged. Method density is an exception:
 * the number is then the product of the levels in `settings`, or 0 without
 * levels.
 *
 * If levels are given, the number is their product. A new k must be equal to
 * the product of the levels, as in clusters_of_levels.
 */
extern int64 clusters_of_retraining(const stored_version *version,
									const train_options *options,
									const train_options *settings);

/*
 * Returns the window of recent rows of a retrain as JSON, or NULL for no
 * window. If option since of the retrain is given, it determines the window,
 * and null removes the window. Otherwise the version keeps its window.
 */
extern Jsonb *since_of_retraining(const stored_version *version,
								  const train_options *options);

#endif							/* FASTCLUST_TRAIN_CHECKS_H */
