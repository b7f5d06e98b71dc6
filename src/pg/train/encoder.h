/* encoder.h - the encoder of a training */
#ifndef FASTCLUST_TRAIN_ENCODER_H
#define FASTCLUST_TRAIN_ENCODER_H

#include "pg/train/training.h"

/*
 * Learns the encoder of columns from some rows; one that was there keeps its
 * dimensions.
 */
extern void learn_encoder(training *t);

/*
 * The sample in units; of columns with NULLs rows without those that no
 * dimension is for.
 */
extern const fc_weighted_rows *rows_without_nulls(const training *t,
												  const fc_weighted_rows *sample);

/*
 * The dimensions that tell NULLs of numbers, which were seen to distinguish
 * rows; NULL: the rows are vectors.
 */
extern bool *null_dimensions(const train_source *source);

extern void
			warn_useless_columns(const training *t, const fc_weighted_rows *sample,
								 const char *of_sample);
extern void report_nulls(const training *t, int64 imputed, int64 n);

#endif							/* FASTCLUST_TRAIN_ENCODER_H */
