/*
 * fc_operator_build.c - what is stored beside the factors: half the squared norms of the rows
 * of the product, and bounds of the rounding of scores.
 *
 * v_j is row j of the product, made in double and rounded to float once; its half norm is
 * summed in double and rounded once.  With u = 2^-24 and gamma_m = m u / (1 - m u), a float sum
 * of m products obeys |fl(a . x) - a . x| <= gamma_m |a| . |x| in any order, with or without
 * fused multiply-add (Higham 2002, section 3.1).  With y_q = fl(F_q y_(q+1)), y_(Q+1) = x, the
 * error made by factor q reaches score j through row j of F_1 .. F_(q-1), so that
 *
 *     |y_1j - (V x)_j| <= sum_q e_q ||y_(q+1)||,     e_1 = gamma_m1 max_j ||(F_1)_j||,
 *     e_q = gamma_mq || |F_q| ||  max_j ||(F_1 .. F_(q-1))_j||,      || |F| ||^2 <= ||F||_1 ||F||_inf
 *
 * without terms of second order, as the y_q are those computed.  Beside it x - o, v_j, the half
 * norm and the score are rounded once each: slope ||x - o|| + level with
 *
 *     slope = 4 u max ||v_j||,     level = 4 u max ||v_j||^2 + t,
 *
 * t for what is lost by underflow: 2^-149 an operation, carried through the magnitudes of the
 * factors that follow.  A distance in double adds its own rounding, (d + 8) 2^-53 (||x - o|| +
 * max ||v||)^2, and that of o + v_j, 2^-51 ||o|| (||x - o|| + max ||v||) at most.  No partial sum
 * exceeds peak ||x - o||.
 */
#include "fc_operator.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "fc_kmeans_kernel.h"
#include "fc_operator_kernel.h"

#define UNIT		0x1p-24
#define TINY		0x1p-149
#define VERIFY_WORK ((size_t) 1 << 26)

static double
gamma_of(double additions)
{
	double		m = additions * UNIT;

	return m < 0.5 ? m / (1.0 - m) : INFINITY;
}

/* The most entries of a row. */
static size_t
longest_row(const fc_factor *factor)
{
	size_t		most = 0;

	if (factor->row_start == NULL)
		return factor->columns;
	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		length = factor->row_start[r + 1] - factor->row_start[r];

		most = length > most ? length : most;
	}
	return most;
}

/* gamma of the dot products with one factor. */
static double
factor_gamma(const fc_operator *op, size_t f)
{
	if (fc_operator_is_codebook(op))
		return gamma_of((double) op->d / 16.0 + 6.0);	/* 16 lanes, then four halvings */
	return gamma_of((double) longest_row(&op->factor[f]) + 1.0);
}

/* A bound of the spectral norm of |F|; sums is scratch, a float a column. */
static double
magnitude_norm(const fc_factor *factor, float *sums)
{
	float		most_row = 0.0f;
	float		most_column = 0.0f;

	memset(sums, 0, factor->columns * sizeof(float));
	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		start = factor->row_start != NULL ? factor->row_start[r] : r * factor->columns;
		size_t		end = factor->row_start != NULL ? factor->row_start[r + 1] : start + factor->columns;
		float		sum = 0.0f;

		for (size_t p = start; p < end; p++)
		{
			sum += fabsf(factor->values[p]);
			sums[factor->row_start != NULL ? fc_factor_column(factor, p) : p - start] += fabsf(factor->values[p]);
		}
		most_row = fmaxf(most_row, sum);
	}
	for (size_t c = 0; c < factor->columns; c++)
		most_column = fmaxf(most_column, sums[c]);
	return sqrt((double) most_row * (double) most_column) * (1.0 + 1e-3) + TINY;
}

/* What multiplies max_j ||(F_1 .. F_(q-1))_j|| (for the first factor max_j ||(F_1)_j||) in its error. */
static double
factor_growth(const fc_operator *op, size_t f, float *scratch)
{
	return factor_gamma(op, f) * (f == 0 ? 1.0 : magnitude_norm(&op->factor[f], scratch + op->d + op->k));
}

/* out = |F| in + add, all positive. */
static void
apply_magnitude(const fc_factor *factor, const float *in, float add, float *out)
{
	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		start = factor->row_start != NULL ? factor->row_start[r] : r * factor->columns;
		size_t		end = factor->row_start != NULL ? factor->row_start[r + 1] : start + factor->columns;
		float		sum = add * (float) (end - start + 1);

		for (size_t p = start; p < end; p++)
			sum += fabsf(factor->values[p]) * in[factor->row_start != NULL ? fc_factor_column(factor, p) : p - start];
		out[r] = sum;
	}
}

/* The greatest entry of all |F_q| .. |F_Q| 1, each product adding `add` an operation; at least 1. */
static double
greatest(const fc_operator *op, float add, float *scratch)
{
	float	   *work = scratch + op->d + op->k;
	const float *in = scratch;
	float		most = 1.0f;

	for (size_t c = 0; c < op->d; c++)
		scratch[c] = 1.0f;
	for (size_t f = op->factors; f-- > 0;)
	{
		float	   *out = f == 0 ? scratch + op->d : work + (f % 2) * fc_operator_widest(op);

		apply_magnitude(&op->factor[f], in, add, out);
		for (size_t r = 0; r < op->factor[f].rows; r++)
			most = fmaxf(most, out[r]);
		in = out;
	}
	return fmin((double) most, (double) FLT_MAX);
}

static double
length_of(const double *offset, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; offset != NULL && i < d; i++)
		sum += offset[i] * offset[i];
	return sqrt(sum);
}

/* What does not need the rows one by one. */
static void
set_bounds(fc_operator *op, double reach, float *scratch)
{
	double		place = 0x1p-51 * length_of(op->offset, op->d);

	op->reach = reach;
	op->peak = greatest(op, 0.0f, scratch);
	op->slope = fmin(4.0 * UNIT * reach + place, DBL_MAX);
	op->level = fmin(4.0 * UNIT * reach * reach + place * reach + 4.0 * TINY * greatest(op, 1.0f, scratch), DBL_MAX);
}

void
fc_operator_half_norms(fc_operator *op, float *scratch, float *half_norms)
{
	double		most[FC_MAX_FACTORS] = {0};
	double		lengths[FC_MAX_FACTORS];
	double		reach = 0.0;

	op->half_norms = half_norms;
	op->rows = NULL;
	for (size_t j = 0; j < op->k; j++)
	{
		double		square = fc_kmeans_square(fc_operator_product_row(op, j, scratch), op->d);

		half_norms[j] = (float) (0.5 * square);
		reach = fmax(reach, square);
		fc_operator_row_lengths(op, j, scratch, lengths);
		for (size_t f = 0; f < op->factors; f++)
			most[f] = fmax(most[f], lengths[f]);
	}
	for (size_t f = 0; f < op->factors; f++)
		op->factor[f].error = fmin(factor_growth(op, f, scratch) * most[f > 0 ? f - 1 : 0] * (1.0 + 1e-5), DBL_MAX);
	set_bounds(op, sqrt(reach), scratch);
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
leak_of(const fc_operator *op, size_t j, const float *centroid, const double *offset, float *scratch)
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
fc_operator_keep_dense(fc_operator *op, const fc_operator *source, uint32_t rerank,
					   float *scratch, float *residual, float *half_norms)
{
	double		reach = 0.0;
	double		defect = defect_of(op);
	double		leak = 0.0;

	for (size_t j = 0; j < op->k; j++)
	{
		const float *centroid = source->factor[0].values + j * op->d;
		double		square = fc_kmeans_square(centroid, op->d);
		double		gap = gap_between(centroid, source->offset, fc_operator_product_row(op, j, scratch), op->offset, op->d);

		half_norms[j] = (float) (0.5 * square);
		residual[j] = (float) (gap * (1.0 + 0x1p-20) + (double) FLT_MIN);
		reach = fmax(reach, square);
		if (defect < 0.5)
			leak = fmax(leak, leak_of(op, j, centroid, source->offset, scratch));
	}
	op->kept = (fc_kept) {.rerank = rerank,.values = source->factor[0].values,.offset = source->offset,
		.half_norms = half_norms,.residual = residual,.reach = sqrt(reach),
		.offset_length = length_of(source->offset, op->d),.defect = defect,.leak = leak};
}

/* ---- bounds at work ---- */

double
fc_operator_rounding(const fc_operator *op, fc_scored scored)
{
	double		length = sqrt(scored.square);
	double		far = length + op->reach;

	if (!(op->peak * length < 0x1p126))
		return INFINITY;
	return scored.errors + op->slope * length + op->level + ((double) op->d + 8.0) * 0x1p-53 * far * far;
}

double
fc_codebook_rounding(size_t d, double reach, double length)
{
	double		n = (double) d;
	double		far = length + reach;

	if (!(sqrt(n) * reach * length < 0x1p126))
		return INFINITY;
	return gamma_of(n + 4.0) * (1.0 + 1e-6) * reach * length + 2.0 * UNIT * reach * reach +
		4.0 * TINY * (n + sqrt(n) * reach) + (n + 8.0) * 0x1p-53 * far * far;
}

/* ---- untrusted bytes ---- */

/* Rounding in double of a row of the product is far below this, relative to all paths through the factors. */
static double
double_rounding(const fc_operator *op, float *scratch)
{
	double		gain = 1.0;

	for (size_t f = 0; f < op->factors && op->factors > 1; f++)
		gain *= magnitude_norm(&op->factor[f], scratch + op->d + op->k);
	return 0x1p-40 * gain;
}

/* Do the half norm and the bounds fit row j?  Other machines may have rounded differently. */
static bool
row_agrees(const fc_operator *op, size_t j, const double *growth, double slack, float *scratch)
{
	double		half = 0.5 * fc_kmeans_square(fc_operator_product_row(op, j, scratch), op->d);
	double		length = sqrt(2.0 * half);
	double		lengths[FC_MAX_FACTORS];

	if (!(fabs((double) op->half_norms[j] - half) <= 1e-6 * half + slack * (length + slack) + 4.0 * TINY) ||
		!(length <= op->reach * (1.0 + 1e-6) + slack))
		return false;
	fc_operator_row_lengths(op, j, scratch, lengths);
	for (size_t f = 0; f < op->factors; f++)
		if (!(growth[f] * lengths[f > 0 ? f - 1 : 0] <= op->factor[f].error * (1.0 + 1e-3) + slack))
			return false;
	return true;
}

static bool
kept_row_agrees(const fc_operator *op, size_t j, double slack, float *scratch)
{
	const fc_kept *kept = &op->kept;
	const float *centroid = kept->values + j * op->d;
	double		half = 0.5 * fc_kmeans_square(centroid, op->d);
	double		gap = gap_between(centroid, kept->offset, fc_operator_product_row(op, j, scratch), op->offset, op->d);

	if (kept->defect < 0.5 && !(leak_of(op, j, centroid, kept->offset, scratch) <= kept->leak * (1.0 + 1e-3) + slack))
		return false;
	return fabs((double) kept->half_norms[j] - half) <= 1e-6 * half + 4.0 * TINY &&
		sqrt(2.0 * half) <= kept->reach * (1.0 + 1e-6) && gap <= (double) kept->residual[j] * (1.0 + 1e-6) + slack;
}

fc_status
fc_operator_verify(const fc_operator *op, float *scratch)
{
	fc_operator own = *op;
	double		growth[FC_MAX_FACTORS];
	double		slack = double_rounding(op, scratch);
	size_t		work = op->d;
	size_t		rows;

	for (size_t f = 0; f < op->factors; f++)
	{
		work += 2 * (op->factor[f].nonzeros / (op->factors == 1 ? op->k : 1) + op->factor[f].columns);
		growth[f] = factor_growth(op, f, scratch);
	}
	rows = VERIFY_WORK / work + 1 < op->k ? VERIFY_WORK / work + 1 : op->k;
	for (size_t i = 0; i < rows; i++)
		if (!row_agrees(op, i * op->k / rows, growth, slack, scratch) ||
			(op->kept.values != NULL && !kept_row_agrees(op, i * op->k / rows, slack, scratch)))
			return FC_EFORMAT;
	if (op->kept.values != NULL && op->kept.defect < 0.5 && !(defect_of(op) <= op->kept.defect * (1.0 + 1e-3) + 1e-9))
		return FC_EFORMAT;
	if (op->kept.values != NULL && !(op->kept.offset_length >= length_of(op->kept.offset, op->d) * (1.0 - 1e-6)))
		return FC_EFORMAT;
	set_bounds(&own, op->reach, scratch);
	return op->peak >= own.peak * (1.0 - 1e-3) && op->slope >= own.slope * (1.0 - 1e-3) &&
		op->level >= own.level * (1.0 - 1e-3) ? FC_OK : FC_EFORMAT;
}
