/*
 * fc_operator_batch.c - labels of many rows by one matrix product.
 *
 * Scores of a batch come from sgemm, whose order of sums differs from the single-row
 * path.  Both are within (d + d/16 + 8) u ||v_j|| ||x|| of the exact product (u = 2^-24;
 * |sum of d products| <= d u sum |v_i x_i|, Higham 2002, s3.1, and Cauchy-Schwarz), and
 * the subtraction from the half norm adds u of its operands.  A row whose two best
 * scores are closer than that goes through the single-row path, so a label never
 * depends on the batch.
 */
#include "fc_operator.h"

#include <math.h>

#include "fc_blas.h"

#define UNIT_ROUNDOFF 0x1p-24

static size_t
round16(size_t n)
{
	return (n + 15) / 16 * 16;
}

size_t
fc_operator_batch_scratch(const fc_operator *op, size_t n)
{
	return round16(n * op->d) + round16(n * op->k) + round16(n) + fc_operator_scratch(op);
}

static bool
single_dense(const fc_operator *op)
{
	return op->factors == 1 && op->factor[0].row_start == NULL;
}

/* Best cluster of one row of scores (scores[j] = v_j . x); `close` if another is within `bound`. */
static size_t
best_of(const float *half_norms, const float *products, size_t k, float bound, bool *close)
{
	float		best = half_norms[0] - products[0];
	float		second = INFINITY;
	size_t		at = 0;

	for (size_t j = 1; j < k; j++)
	{
		float		score = half_norms[j] - products[j];

		if (score < best)
		{
			second = best;
			best = score;
			at = j;
		}
		else if (score < second)
			second = score;
	}
	*close = !(second - best > bound);
	return at;
}

static float
largest(const float *values, size_t n)
{
	float		most = 0;

	for (size_t j = 0; j < n; j++)
		most = values[j] > most ? values[j] : most;
	return most;
}

/* Shift a row into floats; returns its norm. */
static float
shift_row(const fc_operator *op, const double *x, float *row)
{
	float		norm = 0;

	for (size_t i = 0; i < op->d; i++)
	{
		row[i] = (float) (x[i] - (op->offset ? op->offset[i] : 0.0));
		norm += row[i] * row[i];
	}
	return sqrtf(norm);
}

void
fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n, float *scratch, int32_t *labels)
{
	float	   *rows = scratch;
	float	   *products = rows + round16(n * op->d);
	float	   *norms = products + round16(n * op->k);
	float	   *single = norms + round16(n);
	float		half = largest(op->half_norms, op->k);
	float		products_error = (float) (4.04 * UNIT_ROUNDOFF * ((double) op->d * 17.0 / 16.0 + 8.0));

	if (!single_dense(op))
	{
		for (size_t r = 0; r < n; r++)
			labels[r] = (int32_t) fc_operator_assign(op, x + r * op->d, single);
		return;
	}
	for (size_t r = 0; r < n; r++)
		norms[r] = shift_row(op, x + r * op->d, rows + r * op->d);
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) n, (int) op->k, (int) op->d, 1.0f,
				rows, (int) op->d, op->factor[0].values, (int) op->d, 0.0f, products, (int) op->k);
	for (size_t r = 0; r < n; r++)
	{
		float		reach = norms[r] * sqrtf(2 * half);
		float		bound = products_error * reach + 4.0f * (float) UNIT_ROUNDOFF * (half + reach);
		bool		close;
		size_t		label = best_of(op->half_norms, products + r * op->k, op->k, bound, &close);

		labels[r] = (int32_t) (close && op->k > 1 ? fc_operator_assign(op, x + r * op->d, single) : label);
	}
}
