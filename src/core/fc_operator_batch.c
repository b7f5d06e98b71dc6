/*
 * fc_operator_batch.c - labels of many rows by matrix products, equal to one row at a time.
 *
 * Scores of a codebook against a block of rows are one matrix product, whose rounding
 * differs from the single row's.  With u = 2^-24 and gamma_m = m u / (1 - m u), a float dot
 * product of length m, summed in any order, with or without fused multiply-add, obeys
 *
 *     |fl(v . x) - v . x| <= gamma_m sum_i |v_i x_i| <= gamma_m ||v|| ||x||
 *
 * (Higham 2002, section 3.1), where m counts the additions a product passes through: d in
 * any order, d/16 + 5 in fc_dense_apply (16 lanes, then four halvings).  Subtracting from
 * the half norm rounds once more, by u (h + |v . x|).  Rounding x - o to float is the same
 * in both.  So with E(m) = gamma_(m + 2) (max ||v|| ||x|| + max h) the two computations of a
 * score differ by at most E(d) + E(d/16 + 5), and when the product's two lowest scores are
 * farther apart than twice that, both have the same minimiser.  Else the row is done again
 * by the single-row path.  Products of several factors take that path always.
 *
 * Cost: n k d multiply-adds.
 */
#include "fc_operator.h"

#include <float.h>
#include <math.h>

#include "fc_blas.h"
#include "fc_kmeans_kernel.h"
#include "fc_operator_kernel.h"

#define BLOCK		((size_t) 256)	/* rows, and centroids, of one matrix product */

typedef struct block
{
	float	   *x;				/* rows x d: x - o */
	float	   *dots;			/* rows x BLOCK */
	float	   *lowest;			/* rows */
	float	   *second;			/* rows */
	float	   *length;			/* rows: ||x - o||, rounded up */
	float	   *single;			/* the scratch of one row */
} block;

static inline bool
is_codebook(const fc_operator *op)
{
	return op->factors == 1 && op->factor[0].row_start == NULL;
}

size_t
fc_operator_batch_scratch(const fc_operator *op, size_t n)
{
	size_t		rows = n < BLOCK ? n : BLOCK;

	return fc_operator_scratch(op) + (is_codebook(op) ? rows * (op->d + BLOCK + 3) : 0);
}

/* E(m) of the head of this file. */
static double
score_error(double additions, double reach, double length)
{
	double		m = (additions + 2.0) * 0x1p-24;

	return m / (1.0 - m) * (reach * length + 0.5 * reach * reach) * (1.0 + 1e-6) + FLT_MIN;
}

double
fc_operator_reach(const fc_operator *op)
{
	float		most = 0.0f;

	for (size_t j = 0; j < op->k; j++)
		if (op->half_norms[j] > most)
			most = op->half_norms[j];
	return sqrt(2.0 * (double) most);
}

double
fc_operator_rounding(const fc_operator *op, double reach, double length)
{
	size_t		additions = 2;	/* x and the half norm are rounded as well */

	for (size_t f = 0; f < op->factors; f++)
		additions += op->factor[f].columns;
	return score_error((double) additions, reach, length);
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
assign_block(const fc_operator *op, const double *x, size_t rows, double reach, const block *b, int32_t *labels)
{
	for (size_t r = 0; r < rows; r++)
		b->length[r] = (float) sqrt(fc_shift_row(x + r * op->d, op->offset, op->d, b->x + r * op->d));
	score_block(op, b, rows, labels);
	for (size_t r = 0; r < rows; r++)
	{
		double		length = (double) b->length[r];
		double		bound = 2.0 * (score_error((double) op->d, reach, length) +
								   score_error((double) op->d / 16.0 + 5.0, reach, length));

		/* written so that a NaN takes the single path too */
		if (!((double) b->second[r] - (double) b->lowest[r] > bound))
			labels[r] = (int32_t) fc_operator_assign(op, x + r * op->d, b->single);
	}
}

void
fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n, float *scratch, int32_t *labels)
{
	size_t		rows = n < BLOCK ? n : BLOCK;
	double		reach = fc_operator_reach(op);
	block		b = {.single = scratch};

	if (!is_codebook(op))
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
		assign_block(op, x + start * op->d, n - start < BLOCK ? n - start : BLOCK, reach, &b, labels + start);
}
