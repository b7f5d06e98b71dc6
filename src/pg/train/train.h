/*
 * train.h - the steps of a training, from a job to a written version
 *
 *     step                      reads                            file
 *     encoder of columns        some rows                        encoder.c
 *     uniform sample            some rows                        sample.c
 *     sketch spec, kernel map   the uniform sample               spec.c
 *     sketch, drift counts,     all rows, in one scan            scan.c
 *     weighted sample and
 *     Lloyd's sums of each group
 *     operator of each group    the sums                          fit.c
 *     Lloyd's algorithm         all rows, in each scan, while    lloyd.c
 *                               a scan gains enough
 *     numbers of clusters,      the weighted samples             store.c
 *     distances; the version
 *     is written
 *
 * An operator stores the centroids of a group. All steps run in the caller's
 * transaction, with the caller's rights. Samples are weighted rows
 * (numerics/weighted_rows.h).
 */
#ifndef FASTCLUST_TRAIN_H
#define FASTCLUST_TRAIN_H

#include "kmeans/choose.h"
#include "pg/train/training.h"

/* Trains and writes a version, which does not serve yet. */
extern void train_rows(training *t);

/*
 * Returns the evidence for each number of clusters up to t->k, computed from a
 * sample.
 */
extern fc_choice *try_clusters(training *t);
extern const char *verdict_of(const fc_choice *choice);

/*
 * Returns a text that says why the evidence does not decide on a number of
 * clusters, or NULL if the verdict is FC_K_CLEAR.
 */
extern const char *reason_of(const training *t, const fc_choice *choice);

#endif							/* FASTCLUST_TRAIN_H */
