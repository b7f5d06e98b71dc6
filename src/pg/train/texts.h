/*
 * texts.h - finds columns of texts that are numbers, dates or times, and
 * categories that differ only in their spelling
 */
#ifndef FASTCLUST_TRAIN_TEXTS_H
#define FASTCLUST_TRAIN_TEXTS_H

#include "pg/train/training.h"

/* Numbers, dates or times that a column of texts has. */
typedef struct text_values
{
	const char *what;			/* "numbers", "dates" or "times" */
	char	   *expression;		/* SQL that converts the texts */
} text_values;

/*
 * Returns true if the texts of a column, with few exceptions, are numbers,
 * dates or times, as in a table that was read from CSV. Sets `values` then.
 */
extern bool read_text_values(const training *t, const fc_encoder *encoder,
							 const fc_encoder_feature *feature, text_values *values);

/*
 * Raises a NOTICE if the categories of a column are numbers, dates or times.
 * Raises another NOTICE if categories differ only in case or in spaces.
 */
extern void notice_texts(const training *t, const fc_encoder *encoder,
						 const fc_encoder_feature *feature);

#endif							/* FASTCLUST_TRAIN_TEXTS_H */
