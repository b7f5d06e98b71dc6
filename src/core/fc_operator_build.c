/*
 * fc_operator_build.c - what is stored beside the factors: half the squared norms of the rows
 * of the product, and bounds of the rounding of scores.
 *
 * v_j is row j of the product as fc_operator_product_row makes it, in float; its half norm is
 * summed in double and rounded once.  With u = 2^-24 and gamma_m = m u / (1 - m u), a float sum
 * of products of length m obeys |fl(a . x) - a . x| <= gamma_m |a| . |x| in any order, with or
 * without fused multiply-add (Higham 2002, section 3.1), and through several factors
 *
 *     |fl(V x)_j - (V x)_j| <= gamma_(m_1 + .. + m_Q) (|F_1| .. |F_Q| |x|)_j <= gamma_m A_j ||x||,
 *
 * A_j the length of row j of |F_1| .. |F_Q|.  Making v_j rounds likewise, down the columns, and
 * x - o and the half norm are rounded once each.  So a score is within
 *
 *     e = slope ||x - o|| + level,     slope = gamma max A_j,     level = 2 u max ||v_j||^2 + t
 *
 * of ||v_j||^2 / 2 - v_j . (x - o), t for what is lost by underflow: 2^-149 an operation, carried
 * through the magnitudes of the factors that follow.  A distance in double adds its own rounding,
 * (d + 8) 2^-53 (||x - o|| + max ||v||)^2.  No partial sum exceeds peak ||x - o||.
 */
#include "fc_operator.h"

#include <float.h>
#include <math.h>

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

/* The most entries of a row, and of a column; count is scratch, a float a column. */
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

static size_t
longest_column(const fc_factor *factor, float *count)
{
	float		most = 0.0f;

	if (factor->row_start == NULL)
		return factor->rows;
	for (size_t c = 0; c < factor->columns; c++)
		count[c] = 0.0f;
	for (size_t p = 0; p < factor->nonzeros; p++)
		count[factor->column[p]] += 1.0f;
	for (size_t c = 0; c < factor->columns; c++)
		most = fmaxf(most, count[c]);
	return (size_t) most;
}

/* Additions any dot product passes through, and the making of a row of the product. */
static double
additions_of(const fc_operator *op, float *scratch)
{
	double		sum = 4.0;		/* x, the half norm, the score */

	if (fc_operator_is_codebook(op))
		return sum + (double) op->d / 16.0 + 5.0;	/* 16 lanes, then four halvings */
	for (size_t f = 0; f < op->factors; f++)
	{
		sum += (double) longest_row(&op->factor[f]) + 1.0;
		if (f > 0)
			sum += (double) longest_column(&op->factor[f], scratch) + 1.0;
	}
	return sum;
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
			sum += fabsf(factor->values[p]) * in[factor->row_start != NULL ? factor->column[p] : p - start];
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

/* What does not need the rows one by one; gain is max A_j. */
static void
set_bounds(fc_operator *op, double reach, double gain, float *scratch)
{
	op->reach = reach;
	op->peak = greatest(op, 0.0f, scratch);
	op->slope = fmin(gamma_of(additions_of(op, scratch)) * gain * (1.0 + 1e-6), DBL_MAX);
	op->level = 2.0 * UNIT * reach * reach + 4.0 * TINY * greatest(op, 1.0f, scratch);
}

void
fc_operator_half_norms(fc_operator *op, float *scratch, float *half_norms)
{
	double		reach = 0.0;
	double		gain = 0.0;

	op->half_norms = half_norms;
	for (size_t j = 0; j < op->k; j++)
	{
		double		square = fc_kmeans_square(fc_operator_product_row(op, j, scratch), op->d);

		half_norms[j] = (float) (0.5 * square);
		reach = fmax(reach, square);
		gain = fmax(gain, fc_operator_is_codebook(op) ? square : fc_operator_magnitude(op, j, scratch));
	}
	set_bounds(op, sqrt(reach), sqrt(gain), scratch);
}

/* ---- bounds at work ---- */

/* e(length), and what distances in double add. */
static double
bound_of(const fc_operator *op, double slope, double length)
{
	double		far = length + op->reach;

	if (!(op->peak * length < 0x1p126))
		return INFINITY;
	return slope * length + op->level + ((double) op->d + 8.0) * 0x1p-53 * far * far;
}

double
fc_operator_rounding(const fc_operator *op, double length)
{
	return bound_of(op, op->slope, length);
}

double
fc_operator_product_rounding(const fc_operator *op, double length)
{
	return bound_of(op, gamma_of((double) op->d + 4.0) * op->reach * (1.0 + 1e-6), length);
}

/* ---- untrusted bytes ---- */

/* Do the half norm and the bounds fit row j?  Other machines may have rounded differently. */
static bool
row_agrees(const fc_operator *op, size_t j, double gamma, float *scratch)
{
	double		half = 0.5 * fc_kmeans_square(fc_operator_product_row(op, j, scratch), op->d);
	double		square = fc_operator_is_codebook(op) ? 2.0 * half : fc_operator_magnitude(op, j, scratch);
	double		allowed = 4.0 * gamma * square + 4.0 * TINY;

	return fabs((double) op->half_norms[j] - half) <= allowed &&
		sqrt(2.0 * half) <= op->reach * (1.0 + 1e-6) + sqrt(allowed) &&
		gamma * sqrt(square) <= op->slope * (1.0 + 1e-6);
}

fc_status
fc_operator_verify(const fc_operator *op, float *scratch)
{
	fc_operator own = *op;
	double		gamma = gamma_of(additions_of(op, scratch));
	size_t		work = op->d;
	size_t		rows;

	for (size_t f = 0; f < op->factors; f++)
		work += op->factor[f].nonzeros / (op->factors == 1 ? op->k : 1) + op->factor[f].columns;
	rows = VERIFY_WORK / work + 1 < op->k ? VERIFY_WORK / work + 1 : op->k;
	for (size_t i = 0; i < rows; i++)
		if (!row_agrees(op, i * op->k / rows, gamma, scratch))
			return FC_EFORMAT;
	set_bounds(&own, op->reach, 0.0, scratch);
	return op->peak >= own.peak * (1.0 - 1e-3) && op->level >= own.level * (1.0 - 1e-3) ? FC_OK : FC_EFORMAT;
}
