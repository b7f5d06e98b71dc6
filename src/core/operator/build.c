/*
 * build.c - what is stored beside the factors: half the squared norms of the rows
 * of the product, bounds of the rounding of scores (rounding.c), exact centroids.
 *
 * v_j is row j of the product, made in double and rounded to float once; its half norm is
 * summed in double and rounded once.
 */
#include "operator/operator.h"

#include <float.h>
#include <math.h>

#include "numerics/rows.h"
#include "operator/rounding.h"

#define SMALLEST_FLOAT	0x1p-149
#define VERIFY_WORK ((size_t) 1 << 26)
#define UNIT_SLACK		1e-5	/* of the squared length of a unit vector rounded to floats */

/* most[f] is at least what the rounding in factor f measures for `count` rows from first on; lane for lane in sums. */
static void
measure_rounding(const fc_operator *op, const fc_operator_block8 *block8, size_t first, size_t count,
				 double (*sums)[FC_BLOCK8], double *most)
{
	for (size_t lane = 0; lane < count; lane++)
	{
		sums[0][lane] = block8->weights[0][first + lane];
		for (size_t f = 0; f < op->factors; f++)
			most[f] = fmax(most[f], sums[f][lane]);
	}
}

static bool
factor_is_sound(const fc_factor *factor)
{
	if (factor->row_start == NULL)
		return factor->nonzeros == factor->rows * factor->columns;
	if (factor->row_start[0] != 0 || factor->row_start[factor->rows] != factor->nonzeros)
		return false;
	for (size_t r = 0; r < factor->rows; r++)
		if (factor->row_start[r] > factor->row_start[r + 1])
			return false;
	for (size_t p = 0; p < factor->nonzeros; p++)
		if (fc_factor_column(factor, p) >= factor->columns)
			return false;
	return true;
}

bool
fc_operator_is_sound(const fc_operator *op)
{
	if (op->factors < 1 || op->factors > FC_MAX_FACTORS || op->factor[0].rows != op->k || op->factor[op->factors - 1].columns != op->d)
		return false;
	for (size_t f = 0; f < op->factors; f++)
		if (!factor_is_sound(&op->factor[f]) || (f > 0 && op->factor[f].rows != op->factor[f - 1].columns))
			return false;
	return true;
}

void
fc_operator_measure(fc_operator *op, fc_scratch scratch, float *half_norms)
{
	fc_operator_block8 block8 = fc_operator_block8_work(op, scratch.floats);
	bool		product = !fc_operator_is_codebook(op);
	double		most[FC_MAX_FACTORS] = {0};
	double		sums[FC_MAX_FACTORS][FC_BLOCK8];
	double		max_square = 0.0;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	FC_ASSERT(fc_operator_is_sound(op));
	op->half_norms = half_norms;
	op->rows = NULL;
	if (product)
		fc_rounding_weights(op, &block8, scratch.floats);
	for (size_t first = 0; first < op->k; first += FC_BLOCK8)
	{
		size_t		count = op->k - first < FC_BLOCK8 ? op->k - first : FC_BLOCK8;
		const float *rows = product ? block8.rows : op->factor[0].values + first * op->d;

		fc_check();
		if (product)
		{
			fc_operator_rows(op, first, count, block8.weights, scratch.floats, sums, block8.rows);
			measure_rounding(op, &block8, first, count, sums, most);
		}
		for (size_t i = 0; i < count; i++)
		{
			double		square = fc_row_square(rows + i * op->d, op->d);

			half_norms[first + i] = op->metric == FC_INNER_PRODUCT ? 0.0f : (float) (0.5 * square);
			max_square = fmax(max_square, square);
		}
	}
	if (!product)
		most[0] = sqrt(max_square);
	for (size_t f = 0; f < op->factors; f++)
		op->factor[f].error = fc_factor_error(op, most[f]);
	fc_rounding_bounds(op, sqrt(max_square), scratch.floats);
}

void
fc_operator_half_norms(fc_operator *op, fc_scratch scratch, float *half_norms)
{
	fc_operator_measure(op, scratch, half_norms);
}

/* ||c - v|| of rows about their offsets, either NULL for 0. */
static double
gap_between(const float *c, const double *offset_c, const float *v, const double *offset_v, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; i < d; i++)
	{
		double		difference = ((double) c[i] - (double) v[i]) +
			((offset_c != NULL ? offset_c[i] : 0.0) - (offset_v != NULL ? offset_v[i] : 0.0));

		sum += difference * difference;
	}
	return sqrt(sum);
}

/* || R R^T - I || for the last factor R, by its largest row sum; 1 when it is sparse, large or not alone. */
static double
defect_of(const fc_operator *op)
{
	const fc_factor *last = &op->factor[op->factors - 1];
	double		most = 0.0;

	if (op->factors < 2 || last->row_start != NULL || last->rows * last->rows > ((size_t) 1 << 26) / last->columns)
		return 1.0;
	for (size_t i = 0; i < last->rows && most < 0.5; i++)
	{
		double		sum = 0.0;

		for (size_t j = 0; j < last->rows; j++)
		{
			double		dot = i == j ? -1.0 : 0.0;

			for (size_t c = 0; c < last->columns; c++)
				dot += (double) last->values[i * last->columns + c] * (double) last->values[j * last->columns + c];
			sum += fabs(dot);
		}
		most = fmax(most, sum);
	}
	return most < 0.5 ? most * (1.0 + 1e-6) + 1e-12 : 1.0;
}

/* ||R e_j|| */
static double
leakage_of(const fc_operator *op, size_t j, const float *centroid, const double *offset, float *scratch)
{
	const fc_factor *last = &op->factor[op->factors - 1];
	const float *v = fc_operator_product_row(op, j, scratch);
	double		square = 0.0;

	for (size_t i = 0; i < last->rows; i++)
	{
		double		dot = 0.0;

		for (size_t c = 0; c < op->d; c++)
			dot += (double) last->values[i * op->d + c] * (((double) centroid[c] - (double) v[c]) +
				((offset != NULL ? offset[c] : 0.0) - (op->offset != NULL ? op->offset[c] : 0.0)));
		square += dot * dot;
	}
	return sqrt(square) * (1.0 + 1e-6);
}

void
fc_operator_attach_exact(fc_operator *op, const fc_operator *source, uint32_t rerank,
					   fc_scratch scratch, float *residual, float *half_norms)
{
	double		max_square = 0.0;
	double		defect = defect_of(op);
	double		leakage = 0.0;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	for (size_t j = 0; j < op->k; j++)
	{
		const float *centroid = source->factor[0].values + j * op->d;
		double		square = fc_row_square(centroid, op->d);
		double		gap;

		fc_check();
		gap = gap_between(centroid, source->offset, fc_operator_product_row(op, j, scratch.floats), op->offset, op->d);
		half_norms[j] = (float) (0.5 * square);
		residual[j] = (float) (gap * (1.0 + 0x1p-20) + (double) FLT_MIN);
		max_square = fmax(max_square, square);
		if (defect < 0.5)
			leakage = fmax(leakage, leakage_of(op, j, centroid, source->offset, scratch.floats));
	}
	op->exact = (fc_exact_centroids) {.rerank = rerank,.values = source->factor[0].values,.offset = source->offset,
		.half_norms = half_norms,.residual = residual,.max_row_norm = sqrt(max_square),
		.offset_length = fc_offset_length(source->offset, op->d),.orthogonality_defect = defect,.residual_leakage = leakage};
}

/* ---- untrusted bytes ---- */

/* Rounding in double of a row of the product is far below this, relative to all paths through the factors. */
static double
double_rounding(const fc_operator *op, float *scratch)
{
	double		gain = 1.0;

	for (size_t f = 0; f < op->factors && op->factors > 1; f++)
	{
		fc_operator_pause(op->factor[f].nonzeros);
		gain *= fc_magnitude_norm(&op->factor[f], scratch + op->d + op->k);
	}
	return 0x1p-40 * gain;
}

/* Is row j of a codebook for cosines of length 1?  Rows of products are only near to it. */
static bool
direction_agrees(const fc_operator *op, size_t j)
{
	double		square = 0.0;

	if (op->metric != FC_COSINE || !fc_operator_is_codebook(op))
		return true;
	for (size_t i = 0; i < op->d; i++)
	{
		double		x = (double) op->factor[0].values[j * op->d + i] + (op->offset != NULL ? op->offset[i] : 0.0);

		square += x * x;
	}
	return fabs(square - 1.0) <= UNIT_SLACK;
}

/* Do the half norm and the bounds fit row j?  Other machines may have rounded differently. */
static bool
row_agrees(const fc_operator *op, size_t j, const fc_operator_block8 *block8, double slack, float *scratch)
{
	bool		product = !fc_operator_is_codebook(op);
	double		sums[FC_MAX_FACTORS][FC_BLOCK8];
	double		most[FC_MAX_FACTORS] = {0};
	double		half;
	double		length;

	fc_operator_rows(op, j, 1, product ? block8->weights : NULL, scratch, sums, block8->rows);
	half = 0.5 * fc_row_square(block8->rows, op->d);
	length = sqrt(2.0 * half);
	if (op->metric == FC_INNER_PRODUCT)
		half = 0.0;
	if (!(fabs((double) op->half_norms[j] - half) <= 1e-6 * half + slack * (length + slack) + 4.0 * SMALLEST_FLOAT) ||
		!(length <= op->max_row_norm * (1.0 + 1e-6) + slack) || !direction_agrees(op, j))
		return false;
	if (product)
		measure_rounding(op, block8, j, 1, sums, most);
	else
		most[0] = length;
	for (size_t f = 0; f < op->factors; f++)
		if (!(fc_factor_error(op, most[f]) <= op->factor[f].error * (1.0 + 1e-3) + slack))
			return false;
	return true;
}

static bool
exact_row_agrees(const fc_operator *op, size_t j, double slack, float *scratch)
{
	const fc_exact_centroids *exact = &op->exact;
	const float *centroid = exact->values + j * op->d;
	double		half = 0.5 * fc_row_square(centroid, op->d);
	double		gap = gap_between(centroid, exact->offset, fc_operator_product_row(op, j, scratch), op->offset, op->d);

	if (exact->orthogonality_defect < 0.5 && !(leakage_of(op, j, centroid, exact->offset, scratch) <= exact->residual_leakage * (1.0 + 1e-3) + slack))
		return false;
	return fabs((double) exact->half_norms[j] - half) <= 1e-6 * half + 4.0 * SMALLEST_FLOAT &&
		sqrt(2.0 * half) <= exact->max_row_norm * (1.0 + 1e-6) && gap <= (double) exact->residual[j] * (1.0 + 1e-6) + slack;
}

fc_status
fc_operator_verify(const fc_operator *op, fc_scratch scratch)
{
	float	   *floats = scratch.floats;
	fc_operator own = *op;
	fc_operator_block8 block8 = fc_operator_block8_work(op, floats);
	double		slack = double_rounding(op, floats);
	size_t		work = op->d;
	size_t		done = 0;
	size_t		rows;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	for (size_t f = 0; f < op->factors; f++)
		work += FC_BLOCK8 * (op->factor[f].nonzeros / (op->factors == 1 ? op->k : 1) + op->factor[f].columns);
	if (!fc_operator_is_codebook(op))
		fc_rounding_weights(op, &block8, floats);
	rows = VERIFY_WORK / work + 1 < op->k ? VERIFY_WORK / work + 1 : op->k;
	for (size_t i = 0; i < rows; i++)
	{
		fc_check_every(&done, work);
		if (!row_agrees(op, i * op->k / rows, &block8, slack, floats) ||
			(op->exact.values != NULL && !exact_row_agrees(op, i * op->k / rows, slack, floats)))
			return FC_EFORMAT;
	}
	if (op->exact.values != NULL && op->exact.orthogonality_defect < 0.5 && !(defect_of(op) <= op->exact.orthogonality_defect * (1.0 + 1e-3) + 1e-9))
		return FC_EFORMAT;
	if (op->exact.values != NULL && !(op->exact.offset_length >= fc_offset_length(op->exact.offset, op->d) * (1.0 - 1e-6)))
		return FC_EFORMAT;
	fc_rounding_bounds(&own, op->max_row_norm, floats);
	return op->max_growth >= own.max_growth * (1.0 - 1e-3) && op->error_relative >= own.error_relative * (1.0 - 1e-3) &&
		op->error_absolute >= own.error_absolute * (1.0 - 1e-3) ? FC_OK : FC_EFORMAT;
}
