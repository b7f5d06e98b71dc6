/* columns.c - labels of sparse rows; see columns.h */
#include "operator/columns.h"

#include <math.h>

#include "numerics/rows.h"

#define BLOCK 16				/* of centroids and dimensions written together */

/* The codebook that labels come from: op's own, or the exact centroids that decide. */
static const float *
deciding_rows(const fc_operator *op)
{
	if (op->exact.values != NULL)
		return op->exact.rerank == FC_RERANK_EXACT ? op->exact.values : NULL;
	return fc_operator_is_codebook(op) ? op->factor[0].values : NULL;
}

static const double *
deciding_offset(const fc_operator *op)
{
	return op->exact.values != NULL ? op->exact.offset : op->offset;
}

static void
take_columns(const fc_operator *op, fc_arena *arena, float **values, double **constants)
{
	*values = FC_TAKE(arena, op->k * op->d, float);
	*constants = FC_TAKE(arena, op->k, double);
}

size_t
fc_columns_worksize(const fc_operator *op)
{
	fc_arena	measure = fc_arena_measure();
	float	   *values;
	double	   *constants;

	if (deciding_rows(op) == NULL)
		return 0;
	take_columns(op, &measure, &values, &constants);
	return fc_arena_measured(&measure);
}

static void
transpose_block(const float *rows, size_t k, size_t d, size_t first, size_t i, float *values)
{
	for (size_t c = i; c < d && c < i + BLOCK; c++)
		for (size_t j = first; j < k && j < first + BLOCK; j++)
			values[c * k + j] = rows[j * d + c];
}

/* ||v||^2 / 2 + v . o; NULL o is 0 */
static double
constant_of(const float *v, const double *offset, size_t d)
{
	double		sum = 0.5 * fc_row_square(v, d);

	for (size_t i = 0; offset != NULL && i < d; i++)
		sum += (double) v[i] * offset[i];
	return sum;
}

static double
length_of(const double *offset, size_t d)
{
	double		square = 0.0;

	for (size_t i = 0; offset != NULL && i < d; i++)
		square += offset[i] * offset[i];
	return sqrt(square);
}

void
fc_columns_make(const fc_operator *op, fc_arena *arena, fc_columns *columns)
{
	const float *rows = deciding_rows(op);
	const double *offset = deciding_offset(op);
	double		longest = 0.0;
	float	   *values;
	double	   *constants;
	size_t		done = 0;

	take_columns(op, arena, &values, &constants);
	for (size_t j = 0; j < op->k; j += BLOCK)
		for (size_t i = 0; i < op->d; i += BLOCK)
		{
			transpose_block(rows, op->k, op->d, j, i, values);
			fc_check_every(&done, 8 * BLOCK * BLOCK);	/* a line of the cache for each few values */
		}
	for (size_t j = 0; j < op->k; j++)
	{
		const float *v = rows + j * op->d;

		constants[j] = op->metric == FC_INNER_PRODUCT ? 0.0 : constant_of(v, offset, op->d);
		longest = fmax(longest, sqrt(fc_row_square(v, op->d)));
		fc_check_every(&done, 2 * op->d);
	}
	*columns = (fc_columns) {op->k, op->d, values, constants, longest + length_of(offset, op->d)};
}

/*
 * Bound of the error of a score and of half a distance in double together: each is summed from at most 2 d + 8 terms,
 * whose magnitudes sum to less than far^2.
 */
static double
rounding(const fc_columns *columns, double length)
{
	double		far = length + columns->reach;

	return 4.0 * ((double) columns->d + 16.0) * 0x1p-53 * far * far + 0x1p-1000;
}

double
fc_columns_score(const fc_columns *columns, const fc_sparse_row *x, double *scores)
{
	double		square = 0.0;

	for (size_t j = 0; j < columns->k; j++)
		scores[j] = columns->constants[j];
	for (size_t p = 0; p < x->count; p++)
	{
		fc_axpy(-x->values[p], columns->values + x->indices[p] * columns->k, columns->k, scores);
		square += x->values[p] * x->values[p];
	}
	return rounding(columns, sqrt(square));
}

bool
fc_columns_assign(const fc_columns *columns, const fc_sparse_row *x, double *scores, size_t *label)
{
	double		bound = fc_columns_score(columns, x, scores);
	double		lowest = INFINITY;
	double		threshold;
	size_t		near = 0;

	for (size_t j = 0; j < columns->k; j++)
		if (scores[j] < lowest)
		{
			lowest = scores[j];
			*label = j;
		}
	threshold = lowest + 2.0 * bound;
	for (size_t j = 0; j < columns->k; j++)
		near += scores[j] <= threshold;
	return near == 1;
}
