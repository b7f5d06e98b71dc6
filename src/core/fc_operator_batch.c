/*
 * fc_operator_batch.c - labels of many rows by matrix products, equal to one row at a time.
 *
 * Scores of a codebook against a block of rows are one matrix product.  When its two
 * lowest scores are farther apart than twice the rounding bound of a sum in any order
 * (fc_operator_build.c), the lower one is the nearest row; else the row is done again by
 * the single-row path, whose label is exact.  Products of several factors take that path always.
 *
 * Cost: n k d multiply-adds.
 */
#include "fc_operator.h"

#include <math.h>

#include "fc_blas.h"
#include "fc_operator_kernel.h"

#define BLOCK		((size_t) 256)	/* rows, and centroids, of one matrix product */

typedef struct block
{
	float	   *x;				/* rows x d: x - o */
	float	   *dots;			/* rows x BLOCK */
	float	   *lowest;			/* rows */
	float	   *second;			/* rows */
	float	   *length;			/* rows: ||x - o|| */
	float	   *single;			/* the scratch of one row */
} block;

size_t
fc_operator_batch_scratch(const fc_operator *op, size_t n)
{
	size_t		rows = n < BLOCK ? n : BLOCK;

	return fc_operator_scratch(op) + (fc_operator_is_codebook(op) ? rows * (op->d + BLOCK + 3) : 0);
}

/* Labels and the two lowest scores of a block of rows. */
static void
score_block(const fc_operator *op, const block *b, size_t rows, int32_t *labels)
{
	const fc_factor *codebook = &op->factor[0];

	for (size_t r = 0; r < rows; r++)
	{
		b->lowest[r] = INFINITY;
		b->second[r] = INFINITY;
		labels[r] = 0;
	}
	for (size_t first = 0; first < op->k; first += BLOCK)
	{
		size_t		count = op->k - first < BLOCK ? op->k - first : BLOCK;

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) op->d,
					1.0f, b->x, (int) op->d, codebook->values + first * op->d, (int) op->d,
					0.0f, b->dots, (int) BLOCK);
		for (size_t r = 0; r < rows; r++)
			fc_two_lowest(b->dots + r * BLOCK, op->half_norms + first, count, first,
						  b->lowest + r, b->second + r, labels + r);
	}
}

static void
assign_block(const fc_operator *op, const double *x, size_t rows, const block *b, int32_t *labels)
{
	for (size_t r = 0; r < rows; r++)
		b->length[r] = (float) sqrt(fc_shift_row(x + r * op->d, op->offset, op->d, b->x + r * op->d));
	score_block(op, b, rows, labels);
	for (size_t r = 0; r < rows; r++)
	{
		double		bound = 2.0 * fc_operator_product_rounding(op, (double) b->length[r]);

		/* written so that a NaN takes the single path too */
		if (!((double) b->second[r] - (double) b->lowest[r] > bound))
			labels[r] = (int32_t) fc_operator_assign(op, x + r * op->d, b->single);
	}
}

void
fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n, float *scratch, int32_t *labels)
{
	size_t		rows = n < BLOCK ? n : BLOCK;
	block		b = {.single = scratch};

	if (!fc_operator_is_codebook(op))
	{
		for (size_t i = 0; i < n; i++)
			labels[i] = (int32_t) fc_operator_assign(op, x + i * op->d, scratch);
		return;
	}
	b.x = scratch + fc_operator_scratch(op);
	b.dots = b.x + rows * op->d;
	b.lowest = b.dots + rows * BLOCK;
	b.second = b.lowest + rows;
	b.length = b.second + rows;
	for (size_t start = 0; start < n; start += BLOCK)
		assign_block(op, x + start * op->d, n - start < BLOCK ? n - start : BLOCK, &b, labels + start);
}
