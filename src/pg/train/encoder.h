/*
 * encoder.h - learns the encoder of a training, which turns columns into
 * coordinates; warnings about columns
 */
#ifndef FASTCLUST_TRAIN_ENCODER_H
#define FASTCLUST_TRAIN_ENCODER_H

#include "pg/train/training.h"

/*
 * Learns the encoder of columns from a sample of rows, and sets it in
 * t->source. An existing encoder keeps its dimensions unless the columns have
 * changed. Does nothing if the rows are vectors.
 */
extern void learn_encoder(training *t);

/*
 * Returns the scaled sample. If columns have NULLs that are imputed, draws
 * another sample, and imputes its NULLs or leaves out incomplete rows. A row
 * is incomplete if it has a NULL without an indicator dimension.
 */
extern const fc_weighted_rows *rows_without_nulls(const training *t,
												  const fc_weighted_rows *sample);

/*
 * Returns one flag per dimension, true for a NULL indicator: a dimension that
 * was added for a column whose NULLs distinguish rows. Returns NULL if the
 * rows are vectors.
 */
extern bool *null_dimensions(const train_source *source);

/*
 * Returns the names of the features with few distinct values in the rows, such
 * as flags and texts. Returns NULL if no feature or every feature has few.
 */
extern const char *features_of_few_values(const training *t, const fc_weighted_rows *rows);

/*
 * Returns the name of a category column in which more than half of the sampled
 * rows are in category "other"; NULL if there is none.
 */
extern const char *column_of_other_texts(const training *t, const fc_weighted_rows *sample);

extern void warn_useless_columns(const training *t, const fc_weighted_rows *sample,
								 const char *of_sample);
extern void report_nulls(const training *t, int64 imputed, int64 n);

#endif							/* FASTCLUST_TRAIN_ENCODER_H */
