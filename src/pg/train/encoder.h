/* encoder.h - the encoder of a training */
#ifndef FASTCLUST_TRAIN_ENCODER_H
#define FASTCLUST_TRAIN_ENCODER_H

#include "pg/train/training.h"

/*
 * Learns the encoder of columns from some rows; an existing encoder keeps its
 * dimensions.
 */
extern void learn_encoder(training *t);

/*
 * Returns the sample in units. Where columns have NULLs, draws another sample
 * and imputes them or leaves incomplete rows out, except NULLs that have a
 * dimension.
 */
extern const fc_weighted_rows *rows_without_nulls(const training *t,
												  const fc_weighted_rows *sample);

/*
 * Returns for each dimension whether it is an indicator of NULLs, which is
 * made where NULLs distinguish rows; NULL if the rows are vectors.
 */
extern bool *null_dimensions(const train_source *source);

extern void
			warn_useless_columns(const training *t, const fc_weighted_rows *sample,
								 const char *of_sample);
extern void report_nulls(const training *t, int64 imputed, int64 n);

#endif							/* FASTCLUST_TRAIN_ENCODER_H */
