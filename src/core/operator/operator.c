/*
 * operator.c - applies an operator V = F_1 F_2 ... F_Q to one row.
 *
 *     project:  y = F_1 (F_2 ( ... (F_Q x)))
 *
 * Scratch: the shifted row (d), the dot products (k), two intermediate
 * products and a row of the product; then the products and rows for a block of
 * FC_BLOCK8 rows. Rows of the product are computed in double and rounded once.
 * Cost: one multiply-add for each non-zero of the factors. Exact centroids
 * need more scratch: the row minus their offset (d), their dot products (k)
 * and a list (3 k).
 */
#include "operator/operator.h"

#include "numerics/pruning.h"
#include "numerics/rows.h"
#include "operator/internal.h"

size_t
fc_operator_widest(const fc_operator *op)
{
	size_t		width = op->d;

	for (size_t f = 0; f < op->factors; f++)
		if (op->factor[f].columns > width)
			width = op->factor[f].columns;
	return width;
}

/*
 * Returns the number of floats for one row after the dot products: two
 * intermediate products in double, a row of the product, and either k doubles
 * or the lane sums of a sliced factor.
 */
static size_t
row_floats(const fc_operator *op)
{
	size_t		widest = (fc_operator_is_codebook(op) ? 0 : fc_operator_widest(op));

	return widest == 0
		? 0
		: 4 * widest + op->d + 2 * (op->k > widest ? op->k : widest) + 4;
}

/*
 * Returns the number of floats for FC_BLOCK8 rows: two intermediate products
 * in double, rows of the product, and a double for each row of the factors.
 */
static size_t
block8_floats(const fc_operator *op)
{
	size_t		rows = 0;

	for (size_t f = 0; f < op->factors; f++)
		rows += op->factor[f].rows;
	return fc_operator_is_codebook(op)
		? op->d
		: 2 + 2 * FC_BLOCK8 * 2 * fc_operator_widest(op) +
		FC_BLOCK8 * op->d + 2 * rows;
}

fc_operator_block8
fc_operator_block8_work(const fc_operator *op, float *scratch)
{
	fc_operator_block8 block8 = {.rows = scratch + op->d + op->k};

	if (fc_operator_is_codebook(op))
		return block8;
	block8.block = fc_aligned(scratch + op->d + op->k + row_floats(op), 8);
	block8.weights[0] = block8.block + 2 * FC_BLOCK8 * fc_operator_widest(op);
	for (size_t f = 1; f < op->factors; f++)
		block8.weights[f] = block8.weights[f - 1] + op->factor[f - 1].rows;
	block8.rows = (float *) (block8.weights[op->factors - 1] +
							 op->factor[op->factors - 1].rows);
	return block8;
}

size_t
fc_operator_pruned_scratch(const fc_operator *op, size_t n)
{
	return op->pruning !=NULL ? fc_pruning_scratch(op->pruning, n) : 0;
}

size_t
fc_operator_scratch(const fc_operator *op)
{
	return op->d + op->k + row_floats(op) + block8_floats(op) +
		(op->exact.values != NULL ? op->d + 4 * op->k + 2 : 0) +
		fc_operator_pruned_scratch(op, 1);
}

/*
 * Computes y = factor f times x; returns ||y||^2, or 0 for the first factor if
 * it is not sliced. A sliced factor writes its lane sums to y, or to `scratch`
 * if the results must be put in order; scratch must hold 1.5 times as many
 * floats as the factor has rows.
 */
static float
apply(const fc_operator *op, size_t f, const float *x, float *y, float *scratch)
{
	const fc_factor *factor = &op->factor[f];

	if (op->sell != NULL && op->sell->factor[f].rows > 0)
		return fc_sell_apply(&op->sell->factor[f], x, y,
							 op->sell->factor[f].order != NULL ? scratch : y);
	if (factor->row_start == NULL)
		fc_dense_apply(factor->values, factor->rows, factor->columns, x, y);
	else
		fc_sparse_apply(factor, x, y);
	return f > 0 ? fc_float_square(y, factor->rows) : 0.0f;
}

/*
 * Computes y = V x, and returns the squared lengths. square is ||x||^2, and
 * work is scratch space for the intermediate products.
 */
static fc_scored
apply_all(const fc_operator *op, const float *x, double square, float *work,
		  float *y)
{
	size_t		width = (fc_operator_is_codebook(op) ? 0
						 : 2 * fc_operator_widest(op));
	const float *input = x;
	fc_scored	scored = {.square = square};

	for (size_t f = op->factors; f-- > 0;)
	{
		float	   *output = f == 0 ? y : work + (f % 2) * width;

		fc_check();
		scored.variance += op->factor[f].error * op->factor[f].error * square;
		square = (double) apply(op, f, input, output, work + 2 * width + op->d);
		if (f + 1 == op->factors)
			scored.inner = square;
		input = output;
	}
	return scored;
}

void
fc_operator_project(const fc_operator *op, const float *x, fc_scratch scratch,
					float *y)
{
	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	(void) apply_all(op, x, 0.0, scratch.floats + op->d + op->k, y);
}

fc_scored
fc_operator_score_shifted(const fc_operator *op, double square, float *scratch)
{
	return apply_all(op, scratch, square, scratch + op->d + op->k,
					 scratch + op->d);
}

fc_scored
fc_operator_score(const fc_operator *op, const double *x, float *scratch)
{
	return fc_operator_score_shifted(op,
									 fc_shift_row(x, op->offset, op->d,
												  scratch),
									 scratch);
}

const double *
fc_operator_score_double(const fc_operator *op, const double *x, float *scratch)
{
	size_t		width = fc_operator_widest(op);
	double	   *work = fc_aligned(scratch + op->d + op->k, 8);
	double	   *scores = fc_aligned((float *) (work + 2 * width) + op->d, 8);
	double	   *input = work + (op->factors % 2) * width;

	for (size_t i = 0; i < op->d; i++)
		input[i] = x[i] - (op->offset != NULL ? op->offset[i] : 0.0);
	for (size_t f = op->factors; f-- > 0;)
	{
		double	   *output = f == 0 ? scores : work + (f % 2) * width;

		fc_check();
		fc_single_apply(&op->factor[f], input, output);
		input = output;
	}
	for (size_t j = 0; j < op->k; j++)
		scores[j] = (double) op->half_norms[j] - scores[j];
	return scores;
}

/*
 * Writes row j of a factor to elements 0, lanes, 2 lanes .. of out, which must
 * be zeroed.
 */
static void
spread_row(const fc_factor *factor, size_t j, size_t lanes, double *out)
{
	if (factor->row_start == NULL)
		for (size_t c = 0; c < factor->columns; c++)
			out[c * lanes] = (double) factor->values[j * factor->columns + c];
	else
		for (size_t p = factor->row_start[j]; p < factor->row_start[j + 1]; p++)
			out[fc_factor_column(factor, p) * lanes] = (double)
				factor->values[p];
}

/*
 * Returns row j of a product of several factors in double, in the scratch
 * space: row j of the first factor times the other factors.
 */
static const double *
product_row(const fc_operator *op, size_t j, float *scratch)
{
	size_t		width = fc_operator_widest(op);
	double	   *work = fc_aligned(scratch + op->d + op->k, 8);

	memset(work, 0, op->factor[0].columns * sizeof(double));
	spread_row(&op->factor[0], j, 1, work);
	for (size_t f = 1; f < op->factors; f++)
	{
		fc_check();
		fc_single_apply_left(&op->factor[f], work + (f + 1) % 2 * width,
							 work + f % 2 * width);
	}
	return work + (op->factors + 1) % 2 * width;
}

/* Computes sums[lane] = sum_r weights[r] x_r^2 over a block. */
static void
weighted_squares(const double *x, const double *weights, size_t rows,
				 double *sums)
{
	for (size_t lane = 0; lane <FC_BLOCK8; lane ++)
		sums[lane] = 0.0;
	for (size_t r = 0; r < rows; r++)
		for (size_t lane = 0; lane <FC_BLOCK8; lane ++)
			sums[lane] += weights[r] *
				(x[r * FC_BLOCK8 + lane] * x[r * FC_BLOCK8 + lane]);
}

/*
 * Computes `count` rows of the product from `first` on as a block; see
 * fc_operator_rows. Returns the block (d x FC_BLOCK8), in the scratch space.
 */
static const double *
block8_rows(const fc_operator *op, size_t first, size_t count,
			double *const *weights, float *scratch, double (*sums)[FC_BLOCK8])
{
	const fc_factor *head = &op->factor[0];
	size_t		width = fc_operator_widest(op) * FC_BLOCK8;
	double	   *work = fc_operator_block8_work(op, scratch).block;
	double	   *row = work;

	memset(row, 0, head->columns * FC_BLOCK8 * sizeof(double));
	for (size_t lane = 0; lane <count; lane ++)
		spread_row(head, first + lane, FC_BLOCK8, row + lane);
	for (size_t f = 1; f < op->factors; f++)
	{
		double	   *out = work + f % 2 * width;

		fc_check();
		if (weights != NULL)
			weighted_squares(row, weights[f], op->factor[f].rows, sums[f]);
		fc_block8_apply_left(&op->factor[f], row, out);
		row = out;
	}
	return row;
}

size_t
fc_operator_values(const fc_operator *op)
{
	size_t		sum = 0;

	for (size_t q = 0; q < op->factors; q++)
		sum += op->factor[q].nonzeros;
	return sum;
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
	row = product_row(op, j, scratch);
	fc_narrow(row, op->d, rounded);
	return rounded;
}

void
fc_operator_rows(const fc_operator *op, size_t first, size_t count,
				 double *const *weights, float *scratch,
				 double (*sums)[FC_BLOCK8], float *rows)
{
	const double *block;

	if (fc_operator_is_codebook(op))
	{
		memcpy(rows, op->factor[0].values + first * op->d,
			   count * op->d * sizeof(float));
		return;
	}
	block = block8_rows(op, first, count, weights, scratch, sums);
	for (size_t lane = 0; lane <count; lane ++)
		for (size_t c = 0; c < op->d; c++)
			rows[lane *op->d + c] = (float) block[c * FC_BLOCK8 + lane];
}

void
fc_operator_expand(fc_operator *op, fc_scratch scratch, float *rows)
{
	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	op->rows = NULL;
	for (size_t j = 0; j < op->k; j += FC_BLOCK8)
	{
		fc_check();
		fc_operator_rows(op, j, op->k - j < FC_BLOCK8 ? op->k - j : FC_BLOCK8,
						 NULL, scratch.floats, NULL, rows + j * op->d);
	}
	op->rows = rows;
}

void
fc_operator_row(const fc_operator *op, size_t j, fc_scratch scratch,
				double *row)
{
	const float *v = fc_operator_product_row(op, j, scratch.floats);

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	for (size_t c = 0; c < op->d; c++)
		row[c] = (double) v[c] + (op->offset != NULL ? op->offset[c] : 0.0);
}

double
fc_operator_distance(const fc_operator *op, size_t j, const double *x,
					 fc_scratch scratch)
{
	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	if (op->exact.values != NULL)
		return fc_row_distance(x, op->exact.offset,
							   op->exact.values + j * op->d, op->d);
	if (op->metric == FC_INNER_PRODUCT)
		return -fc_row_product(x, op->factor[0].values + j * op->d, op->d);
	return fc_row_distance(x, op->offset,
						   fc_operator_product_row(op, j, scratch.floats),
						   op->d);
}

/* ---- regions ---- */

/*
 * Relative rounding error of a centroid in fc_operator_centroid_rounding. It
 * is larger than the rounding error of one float, 2^-24.
 */
#define CENTROID_ROUNDING	0x1p-21

/*
 * Relative rounding error of an offset in fc_operator_centroid_rounding. It is
 * larger than the rounding error of one double, 2^-53.
 */
#define OFFSET_ROUNDING	0x1p-50

double
fc_operator_centroid_rounding(const fc_operator *op, size_t j)
{
	return CENTROID_ROUNDING * sqrt(2.0 * (double) op->half_norms[j]) +
		OFFSET_ROUNDING * op->offset_length;
}

int32_t
fc_operator_label_of(const fc_operator *op, size_t j, const double *x,
					 fc_scratch scratch)
{
	return fc_operator_label(op, j,
							 op->regions.clusters > 0
							 ? fc_operator_distance(op, j, x, scratch)
							 : 0.0);
}

double
fc_operator_outlier(const fc_operator *op, size_t j, double squared)
{
	double		min = fc_operator_centroid_rounding(op, j);
	double		radius = fmax(fmax((double) op->regions.radius[j], sqrt(squared)),
							  min);
	double		peak = fmax((double) op->regions.peak[j], min);

	return radius > peak ? 1.0 - peak / radius : 0.0;
}
