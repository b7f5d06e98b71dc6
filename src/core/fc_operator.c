/*
 * fc_operator.c - what an operator V = F_1 F_2 ... F_Q does to one row.
 *
 *     project:  y = F_1 (F_2 ( ... (F_Q x)))
 *
 * Scratch of a row: the shifted row (d), the dot products (k), two intermediate products and a
 * row of the product; rows of the product are made in double and rounded once.
 * Cost: the non-zeros of the factors, one multiply-add each.
 * With kept centroids: the row about their offset (d), their dot products (k) and a list (3 k).
 */
#include "fc_operator.h"

#include <math.h>
#include <string.h>

#include "fc_kmeans_kernel.h"
#include "fc_operator_kernel.h"
#include "fc_operator_plan.h"

size_t
fc_operator_widest(const fc_operator *op)
{
	size_t		width = op->d;

	for (size_t f = 0; f < op->factors; f++)
		if (op->factor[f].columns > width)
			width = op->factor[f].columns;
	return width;
}

/* Floats of work behind the dot products: two intermediate products in double, a row of the product, k doubles. */
static size_t
work_floats(const fc_operator *op)
{
	return fc_operator_is_codebook(op) ? 0 : 4 * fc_operator_widest(op) + op->d + 2 * op->k + 4;
}

size_t
fc_operator_scratch(const fc_operator *op)
{
	return op->d + op->k + work_floats(op) + (op->kept.values != NULL ? op->d + 4 * op->k + 2 : 0);
}

/* y = factor f times x; returns ||y||^2. */
static float
apply(const fc_operator *op, size_t f, const float *x, float *y)
{
	const fc_factor *factor = &op->factor[f];

	if (op->plan != NULL && op->plan->factor[f].rows > 0)
		return fc_sliced_apply(&op->plan->factor[f], x, y);
	if (factor->row_start == NULL)
		fc_dense_apply(factor->values, factor->rows, factor->columns, x, y);
	else
		fc_sparse_apply(factor, x, y);
	return f > 0 ? fc_float_square(y, factor->rows) : 0.0f;
}

/* y = V x; work holds the intermediate products; square is ||x||^2. */
static fc_scored
apply_all(const fc_operator *op, const float *x, double square, float *work, float *y)
{
	size_t		width = op->factors > 1 ? fc_operator_widest(op) : 0;
	const float *input = x;
	fc_scored	scored = {.square = square};

	for (size_t f = op->factors; f-- > 0;)
	{
		float	   *output = f == 0 ? y : work + (f % 2) * width;

		scored.errors += op->factor[f].error * sqrt(square);
		square = (double) apply(op, f, input, output);
		if (f + 1 == op->factors)
			scored.inner = square;
		input = output;
	}
	return scored;
}

void
fc_operator_project(const fc_operator *op, const float *x, float *scratch, float *y)
{
	(void) apply_all(op, x, 0.0, scratch + op->d + op->k, y);
}

fc_scored
fc_operator_score(const fc_operator *op, const double *x, float *scratch)
{
	double		square = fc_shift_row(x, op->offset, op->d, scratch);

	return apply_all(op, scratch, square, scratch + op->d + op->k, scratch + op->d);
}

static void
apply_double(const fc_factor *factor, const double *x, double *y)
{
	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;
		double		sum = 0.0;

		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				sum += (double) row[c] * x[c];
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				sum += (double) factor->values[p] * x[fc_factor_column(factor, p)];
		y[r] = sum;
	}
}

const double *
fc_operator_score_double(const fc_operator *op, const double *x, float *scratch)
{
	size_t		width = fc_operator_widest(op);
	double	   *work = (double *) (((uintptr_t) (scratch + op->d + op->k) + 7) & ~(uintptr_t) 7);
	double	   *scores = (double *) (((uintptr_t) (work + 2 * width) + op->d * sizeof(float) + 7) & ~(uintptr_t) 7);
	double	   *input = work + (op->factors % 2) * width;

	for (size_t i = 0; i < op->d; i++)
		input[i] = x[i] - (op->offset != NULL ? op->offset[i] : 0.0);
	for (size_t f = op->factors; f-- > 0;)
	{
		double	   *output = f == 0 ? scores : work + (f % 2) * width;

		apply_double(&op->factor[f], input, output);
		input = output;
	}
	for (size_t j = 0; j < op->k; j++)
		scores[j] = (double) op->half_norms[j] - scores[j];
	return scores;
}

/* out = input F, a row vector times a factor. */
static void
apply_left(const fc_factor *factor, const double *input, double *out)
{
	memset(out, 0, factor->columns * sizeof(double));
	for (size_t r = 0; r < factor->rows; r++)
	{
		double		scale = input[r];

		if (!(scale != 0.0))
			continue;
		if (factor->row_start == NULL)
			fc_axpy(scale, factor->values + r * factor->columns, factor->columns, out);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				out[fc_factor_column(factor, p)] += scale * (double) factor->values[p];
	}
}

static double
length_of(const double *row, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += row[i] * row[i];
	return sqrt(sum);
}

/* Row j of a product of several factors, in double: the unit vector j through all of them; lengths may be NULL. */
static const double *
product_row(const fc_operator *op, size_t j, float *scratch, double *lengths)
{
	const fc_factor *head = &op->factor[0];
	size_t		width = fc_operator_widest(op);
	double	   *work = (double *) (((uintptr_t) (scratch + op->d + op->k) + 7) & ~(uintptr_t) 7);
	const double *row = work;

	memset(work, 0, head->columns * sizeof(double));
	if (head->row_start == NULL)
		fc_axpy(1.0, head->values + j * head->columns, head->columns, work);
	else
		for (size_t p = head->row_start[j]; p < head->row_start[j + 1]; p++)
			work[fc_factor_column(head, p)] = (double) head->values[p];
	for (size_t f = 1; f < op->factors; f++)
	{
		double	   *out = work + (f % 2) * width;

		if (lengths != NULL)
			lengths[f - 1] = length_of(row, op->factor[f - 1].columns);
		apply_left(&op->factor[f], row, out);
		row = out;
	}
	if (lengths != NULL)
		lengths[op->factors - 1] = length_of(row, op->d);
	return row;
}

const float *
fc_operator_product_row(const fc_operator *op, size_t j, float *scratch)
{
	const double *row;
	float	   *rounded;

	if (fc_operator_is_codebook(op))
		return op->factor[0].values + j * op->d;
	if (op->rows != NULL)
		return op->rows + j * op->d;
	rounded = scratch + op->d + op->k + 4 * fc_operator_widest(op) + 2;
	row = product_row(op, j, scratch, NULL);
	for (size_t c = 0; c < op->d; c++)
		rounded[c] = (float) row[c];
	return rounded;
}

void
fc_operator_row_lengths(const fc_operator *op, size_t j, float *scratch, double *lengths)
{
	if (fc_operator_is_codebook(op))
		lengths[0] = sqrt(fc_kmeans_square(op->factor[0].values + j * op->d, op->d));
	else
		(void) product_row(op, j, scratch, lengths);
}

void
fc_operator_expand(fc_operator *op, float *scratch, float *rows)
{
	op->rows = NULL;
	for (size_t j = 0; j < op->k; j++)
		memcpy(rows + j * op->d, fc_operator_product_row(op, j, scratch), op->d * sizeof(float));
	op->rows = rows;
}

void
fc_operator_row(const fc_operator *op, size_t j, float *scratch, double *row)
{
	const float *v = fc_operator_product_row(op, j, scratch);

	for (size_t c = 0; c < op->d; c++)
		row[c] = (double) v[c] + (op->offset != NULL ? op->offset[c] : 0.0);
}

double
fc_operator_distance(const fc_operator *op, size_t j, const double *x, float *scratch)
{
	if (op->kept.values != NULL)
		return fc_row_distance(x, op->kept.offset, op->kept.values + j * op->d, op->d);
	return fc_row_distance(x, op->offset, fc_operator_product_row(op, j, scratch), op->d);
}
