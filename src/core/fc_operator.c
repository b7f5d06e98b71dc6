/*
 * fc_operator.c - what an operator does to one row; see fc_operator.h
 *
 *     argmin_j ||x - o - v_j||^2 = argmin_j (||v_j||^2 / 2 - v_j . (x - o))
 *
 * V x = F_1 (F_2 (... (F_Q x))): each factor in turn, through two buffers.
 * Cost: the non-zeros of the factors, plus k.
 */
#include "fc_operator.h"

#include <math.h>
#include <string.h>

#include "fc_operator_kernel.h"

/* The longest vector between two factors. */
static size_t
widest(const fc_operator *op)
{
	size_t		width = op->d > op->k ? op->d : op->k;

	for (size_t q = 0; q < op->factors; q++)
		width = op->factor[q].columns > width ? op->factor[q].columns : width;
	return (width + 15) / 16 * 16;
}

size_t
fc_operator_scratch(const fc_operator *op)
{
	/* scores, shifted row, and two buffers between factors (floats, or doubles for rows of the product) */
	return 6 * widest(op) + 16;
}

static void
apply_factor(const fc_factor *f, const float *x, float *y)
{
	if (f->row_start == NULL)
	{
		fc_dense_rows(f->values, f->rows, f->columns, x, y);
		return;
	}
	for (size_t r = 0; r < f->rows; r++)
	{
		float		sum = 0;

		for (uint32_t i = f->row_start[r]; i < f->row_start[r + 1]; i++)
			sum += f->values[i] * x[f->column[i]];
		y[r] = sum;
	}
}

void
fc_operator_project(const fc_operator *op, const float *x, float *scratch, float *y)
{
	size_t		width = widest(op);
	float	   *buffer[2] = {scratch + 2 * width, scratch + 3 * width};
	const float *from = x;

	for (size_t q = op->factors; q-- > 0;)
	{
		float	   *to = q == 0 ? y : buffer[q % 2];

		apply_factor(&op->factor[q], from, to);
		from = to;
	}
}

/* Scores ||v_j||^2 / 2 - v_j . (x - o) into scratch[0 .. k). */
static void
score_row(const fc_operator *op, const double *x, float *scratch)
{
	float	   *shifted = scratch + widest(op);

	for (size_t i = 0; i < op->d; i++)
		shifted[i] = (float) (x[i] - (op->offset ? op->offset[i] : 0.0));
	fc_operator_project(op, shifted, scratch, scratch);
	for (size_t j = 0; j < op->k; j++)
		scratch[j] = op->half_norms[j] - scratch[j];
}

size_t
fc_operator_assign(const fc_operator *op, const double *x, float *scratch)
{
	size_t		best = 0;

	score_row(op, x, scratch);
	for (size_t j = 1; j < op->k; j++)
		if (scratch[j] < scratch[best])
			best = j;
	return best;
}

/* Insert cluster j with its score into a list sorted by (score, cluster). */
static void
insert_sorted(int32_t *clusters, double *scores, size_t filled, size_t count, int32_t j, double score)
{
	size_t		at = filled < count ? filled : count - 1;

	if (filled == count && !(score < scores[at]))
		return;
	for (; at > 0 && score < scores[at - 1]; at--)
	{
		scores[at] = scores[at - 1];
		clusters[at] = clusters[at - 1];
	}
	scores[at] = score;
	clusters[at] = j;
}

void
fc_operator_nearest(const fc_operator *op, const double *x, size_t count, float *scratch,
					int32_t *clusters, double *distances)
{
	score_row(op, x, scratch);
	for (size_t j = 0; j < op->k; j++)
		insert_sorted(clusters, distances, j < count ? j : count, count, (int32_t) j, (double) scratch[j]);
	for (size_t i = 0; i < count; i++)
		distances[i] = fc_operator_distance(op, (size_t) clusters[i], x, scratch);
}

/* y = x F for a row vector x. */
static void
apply_transposed(const fc_factor *f, const double *x, double *y)
{
	memset(y, 0, f->columns * sizeof(double));
	for (size_t r = 0; r < f->rows; r++)
	{
		const float *row = f->values + r * f->columns;

		if (x[r] == 0)
			continue;
		if (f->row_start == NULL)
			for (size_t i = 0; i < f->columns; i++)
				y[i] += x[r] * (double) row[i];
		else
			for (uint32_t i = f->row_start[r]; i < f->row_start[r + 1]; i++)
				y[f->column[i]] += x[r] * (double) f->values[i];
	}
}

/* Row j of the product, without the offset, in doubles inside scratch. */
static const double *
product_row(const fc_operator *op, size_t j, float *scratch)
{
	size_t		width = widest(op);
	double	   *x = (double *) (((uintptr_t) (scratch + 2 * width) + 7) & ~(uintptr_t) 7);
	double	   *y = x + width;

	memset(x, 0, op->k * sizeof(double));
	x[j] = 1;
	for (size_t q = 0; q < op->factors; q++)
	{
		double	   *swap = x;

		apply_transposed(&op->factor[q], x, y);
		x = y;
		y = swap;
	}
	return x;
}

static bool
is_codebook(const fc_operator *op)
{
	return op->factors == 1 && op->factor[0].row_start == NULL;
}

void
fc_operator_row(const fc_operator *op, size_t j, float *scratch, double *row)
{
	const double *product = is_codebook(op) ? NULL : product_row(op, j, scratch);

	for (size_t i = 0; i < op->d; i++)
		row[i] = (op->offset ? op->offset[i] : 0.0) +
			(product ? product[i] : (double) op->factor[0].values[j * op->d + i]);
}

double
fc_operator_distance(const fc_operator *op, size_t j, const double *x, float *scratch)
{
	const double *product;
	double		sum = 0;

	if (is_codebook(op))
		return fc_squared_distance(x, op->offset, op->factor[0].values + j * op->d, op->d);
	product = product_row(op, j, scratch);
	for (size_t i = 0; i < op->d; i++)
	{
		double		delta = x[i] - (op->offset ? op->offset[i] : 0.0) - product[i];

		sum += delta * delta;
	}
	return sum;
}

void
fc_operator_half_norms(const fc_operator *op, float *scratch, float *half_norms)
{
	for (size_t j = 0; j < op->k; j++)
	{
		const double *product = is_codebook(op) ? NULL : product_row(op, j, scratch);
		double		norm = 0;

		for (size_t i = 0; i < op->d; i++)
		{
			double		v = product ? product[i] : (double) op->factor[0].values[j * op->d + i];

			norm += v * v;
		}
		half_norms[j] = (float) (0.5 * norm);
	}
}
