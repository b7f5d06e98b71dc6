/*
 * weighted_rows.h - a sample of rows, each of which represents several rows of
 * a table.
 */
#ifndef FC_NUMERICS_WEIGHTED_ROWS_H
#define FC_NUMERICS_WEIGHTED_ROWS_H

#include "numerics/metric.h"

/*
 * A weighted sample: row i is offset + values[i * d ..]. Values are floats
 * relative to the offset, so that small differences between rows far from the
 * origin are kept.
 */
typedef struct fc_weighted_rows
{
	size_t		n;
	size_t		d;
	fc_metric	metric;			/* FC_COSINE: rows have length 1 */
	const float *values;		/* n x d finite values, relative to the offset */
	const double *offset;		/* d values; NULL means a zero offset */
	const double *weights;		/* n values, 0 or more: weight of the rows of
								 * the table that each row represents */
	const double *counts;		/* n values: number of rows of the table that
								 * each row represents, if these rows have
								 * weights; else NULL */
	const void *storage;		/* the caller's memory that contains the
								 * arrays, or NULL */

	/*
	 * n x fc_missing_words(d): bit c of a row is set if its value c is a fill
	 * value, because it is missing. NULL: no value is missing
	 */
	const uint64_t *missing;
} fc_weighted_rows;

/* Returns the number of words of a row's bits in `missing`. */
static inline size_t
fc_missing_words(size_t d)
{
	return (d + 63) / 64;
}

/* Returns true if value c of row i is missing. */
static inline bool
fc_is_missing(const fc_weighted_rows *rows, size_t i, size_t c)
{
	return rows->missing != NULL &&
		(rows->missing[i * fc_missing_words(rows->d) + c / 64] >> (c % 64) & 1) != 0;
}

/* Returns true if a value of row i is missing. */
static inline bool
fc_is_partial(const fc_weighted_rows *rows, size_t i)
{
	size_t		words = fc_missing_words(rows->d);
	uint64_t	any = 0;

	for (size_t w = 0; rows->missing != NULL && w < words; w++)
		any |= rows->missing[i * words + w];
	return any != 0;
}

/* Computes row i of the sample (d values) in double, with fill values. */
static inline void
fc_weighted_row(const fc_weighted_rows *rows, size_t i, double *row)
{
	const float *values = rows->values + i * rows->d;

	for (size_t c = 0; c < rows->d; c++)
		row[c] = (double) values[c] +
			(rows->offset != NULL ? rows->offset[c] : 0.0);
}

/*
 * Computes row i of the sample (d values) with NaN for missing values. Returns
 * true if a value is missing.
 */
static inline bool
fc_weighted_partial_row(const fc_weighted_rows *rows, size_t i, double *row)
{
	fc_weighted_row(rows, i, row);
	if (!fc_is_partial(rows, i))
		return false;
	for (size_t c = 0; c < rows->d; c++)
		row[c] = fc_is_missing(rows, i, c) ? NAN : row[c];
	return true;
}

/*
 * Computes the weighted mean and standard deviation of each dimension (d values
 * each).
 */
void		fc_weighted_moments(const fc_weighted_rows *rows, double *mean, double *deviation);

/*
 * Lists the columns in which a row or one of k centroids (k x d) is not 0, in
 * ascending order; columns has space for d. Returns their number.
 */
size_t		fc_weighted_columns(const fc_weighted_rows *rows, const double *centroids,
								size_t k, uint32_t *columns);

#endif							/* FC_NUMERICS_WEIGHTED_ROWS_H */
