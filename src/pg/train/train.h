/*
 * train.h - the steps of a training, from a job to a written version.
 *
 *     step                    data                               file
 *     encoder of columns      from a sample                      encoder.c
 *     sample, scaling, specs  from a sample                      sample.c
 *     one scan                for every group: sketch, drift
 *                             counts, weighted sample and
 *                             Lloyd's sums                       scan.c
 *     operators               in memory, for every group         fit.c
 *     Lloyd's algorithm       scans, while they still gain       lloyd.c
 *     cluster numbers,        in memory; then the version
 *     distances               is written                         store.c
 *
 * All steps run in the caller's transaction, with the caller's rights.
 * Samples are weighted rows (numerics/weighted_rows.h).
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
 * Returns the reason why no number of clusters is clear, or NULL if one is
 * clear.
 */
extern const char *reason_of(const fc_choice *choice);

#endif							/* FASTCLUST_TRAIN_H */
