/*
 * train.h - the line of a training, from a job to a version that is written.
 *
 *     encoder of columns      from some rows                     encoder.c
 *     sample, units, specs    from some rows                     sample.c
 *     one scan                of every group: sketch, counts of drift,
 *                             weighted sample and Lloyd's sums   scan.c
 *     operator                in memory, of every group          fit.c
 *     Lloyd's algorithm       scans, where they still gain       lloyd.c
 *     numbers, distances      in memory; the version is written  store.c
 *
 * All of it runs in the caller's transaction and with his rights. Samples are
 * weighted rows (numerics/weighted_rows.h).
 */
#ifndef FASTCLUST_TRAIN_H
#define FASTCLUST_TRAIN_H

#include "kmeans/choose.h"
#include "pg/train/training.h"

/* The version of a training, written but not served yet. */
extern void train_rows(training *t);

/* Evidence for numbers of clusters up to k, from a sample. */
extern fc_choice *try_clusters(training *t);
extern const char *verdict_of(const fc_choice *choice);

/* Why the number is not clear; NULL: it is. */
extern const char *reason_of(const fc_choice *choice);

#endif							/* FASTCLUST_TRAIN_H */
