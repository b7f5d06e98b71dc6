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
	const float *values;		/* n x d, finite */
	const double *offset;		/* d values; NULL means a zero offset */
	const double *weights;		/* n values, 0 or more: number of rows of the
								 * table that each row represents */
	const void *storage;		/* the caller's memory that contains the
								 * arrays, or NULL */
} fc_weighted_rows;

/* Computes row i of the sample (d values) in double. */
static inline void
fc_weighted_row(const fc_weighted_rows *rows, size_t i, double *row)
{
	const float *values = rows->values + i * rows->d;

	for (size_t c = 0; c < rows->d; c++)
		row[c] = (double) values[c] +
			(rows->offset != NULL ? rows->offset[c] : 0.0);
}

#endif							/* FC_NUMERICS_WEIGHTED_ROWS_H */
