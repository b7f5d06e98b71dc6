/*
 * weighted_rows.h - a sample of rows, each of which stands for several rows of
 * a table.
 */
#ifndef FC_NUMERICS_WEIGHTED_ROWS_H
#define FC_NUMERICS_WEIGHTED_ROWS_H

#include "numerics/metric.h"

/*
 * Row i is offset + values[i * d ..].  The values are floats around the offset,
 * so that rows far from the origin keep their differences.
 */
typedef struct fc_weighted_rows
{
	size_t		n;
	size_t		d;
	fc_metric	metric;			/* cosine: rows have length 1 */
	const float *values;		/* n x d, finite */
	const double *offset;		/* d, or NULL for 0 */
	const double *weights;		/* n, at least 0: the number of rows of the
								 * table for which a row stands */
	const void *storage;		/* the caller's memory in which the arrays
								 * are, or NULL */
} fc_weighted_rows;

/* row (d) = row i of the sample, in double. */
static inline void
fc_weighted_row(const fc_weighted_rows *rows, size_t i, double *row)
{
	const float *values = rows->values + i * rows->d;

	for (size_t c = 0; c < rows->d; c++)
		row[c] = (double) values[c] +
			(rows->offset != NULL ? rows->offset[c] : 0.0);
}

#endif							/* FC_NUMERICS_WEIGHTED_ROWS_H */
