/*
 * spec.h - specs of sketches and the features of a kernel, chosen from a
 * sample
 */
#ifndef FASTCLUST_TRAIN_SPEC_H
#define FASTCLUST_TRAIN_SPEC_H

#include "pg/train/training.h"

/* Returns true if the model has a live sketch that the caller may read. */
extern bool is_followed(const training *t);

/* Returns true if the model will have a live sketch after this training. */
extern bool stays_live(const training *t);
extern void choose_specs(training *t, const fc_weighted_rows *sample);
extern void choose_map(training *t, const fc_weighted_rows *sample);

#endif							/* FASTCLUST_TRAIN_SPEC_H */
