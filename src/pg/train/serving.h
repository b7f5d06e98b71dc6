/* serving.h - the serving version of a model */
#ifndef FASTCLUST_TRAIN_SERVING_H
#define FASTCLUST_TRAIN_SERVING_H

#include "pg/train/training.h"

/*
 * Compares two structs whose first member is the name of a group, for qsort
 * and bsearch.
 */
extern int	by_group(const void *a, const void *b);

/*
 * Reads the groups of the serving version into t->serving, and makes their
 * finder.
 */
extern void read_serving(training *t);

/*
 * Returns a group of the serving version by its name. The operator of the
 * result is NULL if there is no such group.
 */
extern serving_group serving_of(const training *t, const char *group);

/*
 * Returns the text of the serving group whose value equals the value of
 * `group`, or `group` itself if there is no such group. A group thus keeps its
 * text in later versions, and with it the names of its clusters.
 */
extern char *group_as_served(const training *t, char *group);

/*
 * Returns the identities of the clusters of a new version, by ascending
 * number. Cluster j has the number numbers[j]. Its identity is before[row[j]],
 * or a new one if row is NULL or row[j] is negative.
 */
extern int64 *continued_identities(const training *t, const int32 *numbers, Size k,
								   const int32 *row, const int64 *before);

/* Returns an array of identities, as a version stores it. */
extern Datum identity_array(const int64 *identities, Size k);

/*
 * Returns the number of the next version, one above the highest stored one.
 */
extern int32 next_version(int64 model_id);

/*
 * Makes the version of the training the serving one, and updates the labels
 * that follow the model.
 */
extern void start_serving(const training *t);

#endif							/* FASTCLUST_TRAIN_SERVING_H */
