/*
 * fc_operator_build.c - what is stored beside the factors: half the squared norms of the rows
 * of the product, bounds of the rounding of scores (fc_operator_rounding.c), kept centroids.
 *
 * v_j is row j of the product, made in double and rounded to float once; its half norm is
 * summed in double and rounded once.
 */
#include "fc_operator.h"

#include <float.h>
#include <math.h>

#include "fc_kmeans_kernel.h"
#include "fc_operator_rounding.h"

#define TINY		0x1p-149
#define VERIFY_WORK ((size_t) 1 << 26)

/* most[f] is at least what the rounding in factor f measures for `count` rows from first on; lane for lane in sums. */
static void
measure_rounding(const fc_operator *op, const fc_operator_wide *wide, size_t first, size_t count,
				 double (*sums)[FC_WIDE], double *most)
{
	for (size_t lane = 0; lane < count; lane++)
	{
		sums[0][lane] = wide->weights[0][first + lane];
		for (size_t f = 0; f < op->factors; f++)
			most[f] = fmax(most[f], sums[f][lane]);
	}
}

fc_status
fc_operator_measure(fc_operator *op, const fc_tick *tick, float *scratch, float *half_norms)
{
	fc_operator_wide wide = fc_operator_wide_work(op, scratch);
	bool		product = !fc_operator_is_codebook(op);
	double		most[FC_MAX_FACTORS] = {0};
	double		sums[FC_MAX_FACTORS][FC_WIDE];
	double		reach = 0.0;

	op->half_norms = half_norms;
	op->rows = NULL;
	if (product)
		fc_rounding_weights(op, &wide, scratch);
	for (size_t first = 0; first < op->k; first += FC_WIDE)
	{
		size_t		count = op->k - first < FC_WIDE ? op->k - first : FC_WIDE;
		const float *rows = product ? wide.rows : op->factor[0].values + first * op->d;

		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		if (product)
		{
			fc_operator_rows(op, first, count, wide.weights, scratch, sums, wide.rows);
			measure_rounding(op, &wide, first, count, sums, most);
		}
		for (size_t i = 0; i < count; i++)
		{
			double		square = fc_kmeans_square(rows + i * op->d, op->d);

			half_norms[first + i] = (float) (0.5 * square);
			reach = fmax(reach, square);
		}
	}
	if (!product)
		most[0] = sqrt(reach);
	for (size_t f = 0; f < op->factors; f++)
		op->factor[f].error = fc_factor_error(op, most[f]);
	fc_rounding_bounds(op, sqrt(reach), scratch);
	return FC_OK;
}

void
fc_operator_half_norms(fc_operator *op, float *scratch, float *half_norms)
{
	(void) fc_operator_measure(op, NULL, scratch, half_norms);
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

fc_status
fc_operator_keep_dense(fc_operator *op, const fc_operator *source, uint32_t rerank, const fc_tick *tick,
					   float *scratch, float *residual, float *half_norms)
{
	double		reach = 0.0;
	double		defect = defect_of(op);
	double		leak = 0.0;

	for (size_t j = 0; j < op->k; j++)
	{
		const float *centroid = source->factor[0].values + j * op->d;
		double		square = fc_kmeans_square(centroid, op->d);
		double		gap;

		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		gap = gap_between(centroid, source->offset, fc_operator_product_row(op, j, scratch), op->offset, op->d);
		half_norms[j] = (float) (0.5 * square);
		residual[j] = (float) (gap * (1.0 + 0x1p-20) + (double) FLT_MIN);
		reach = fmax(reach, square);
		if (defect < 0.5)
			leak = fmax(leak, leak_of(op, j, centroid, source->offset, scratch));
	}
	op->kept = (fc_kept) {.rerank = rerank,.values = source->factor[0].values,.offset = source->offset,
		.half_norms = half_norms,.residual = residual,.reach = sqrt(reach),
		.offset_length = fc_offset_length(source->offset, op->d),.defect = defect,.leak = leak};
	return FC_OK;
}

/* ---- untrusted bytes ---- */

/* Rounding in double of a row of the product is far below this, relative to all paths through the factors. */
static double
double_rounding(const fc_operator *op, float *scratch)
{
	double		gain = 1.0;

	for (size_t f = 0; f < op->factors && op->factors > 1; f++)
	{
		fc_operator_pause(op, op->factor[f].nonzeros);
		gain *= fc_magnitude_norm(&op->factor[f], scratch + op->d + op->k);
	}
	return 0x1p-40 * gain;
}

/* Do the half norm and the bounds fit row j?  Other machines may have rounded differently. */
static bool
row_agrees(const fc_operator *op, size_t j, const fc_operator_wide *wide, double slack, float *scratch)
{
	bool		product = !fc_operator_is_codebook(op);
	double		sums[FC_MAX_FACTORS][FC_WIDE];
	double		most[FC_MAX_FACTORS] = {0};
	double		half;
	double		length;

	fc_operator_rows(op, j, 1, product ? wide->weights : NULL, scratch, sums, wide->rows);
	half = 0.5 * fc_kmeans_square(wide->rows, op->d);
	length = sqrt(2.0 * half);
	if (!(fabs((double) op->half_norms[j] - half) <= 1e-6 * half + slack * (length + slack) + 4.0 * TINY) ||
		!(length <= op->reach * (1.0 + 1e-6) + slack))
		return false;
	if (product)
		measure_rounding(op, wide, j, 1, sums, most);
	else
		most[0] = length;
	for (size_t f = 0; f < op->factors; f++)
		if (!(fc_factor_error(op, most[f]) <= op->factor[f].error * (1.0 + 1e-3) + slack))
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
	fc_operator_wide wide = fc_operator_wide_work(op, scratch);
	double		slack = double_rounding(op, scratch);
	size_t		work = op->d;
	size_t		done = 0;
	size_t		rows;

	for (size_t f = 0; f < op->factors; f++)
		work += FC_WIDE * (op->factor[f].nonzeros / (op->factors == 1 ? op->k : 1) + op->factor[f].columns);
	if (!fc_operator_is_codebook(op))
		fc_rounding_weights(op, &wide, scratch);
	rows = VERIFY_WORK / work + 1 < op->k ? VERIFY_WORK / work + 1 : op->k;
	for (size_t i = 0; i < rows; i++)
	{
		if (fc_paced(op->tick, &done, work))
			return FC_INTERRUPTED;
		if (!row_agrees(op, i * op->k / rows, &wide, slack, scratch) ||
			(op->kept.values != NULL && !kept_row_agrees(op, i * op->k / rows, slack, scratch)))
			return FC_EFORMAT;
	}
	if (op->kept.values != NULL && op->kept.defect < 0.5 && !(defect_of(op) <= op->kept.defect * (1.0 + 1e-3) + 1e-9))
		return FC_EFORMAT;
	if (op->kept.values != NULL && !(op->kept.offset_length >= fc_offset_length(op->kept.offset, op->d) * (1.0 - 1e-6)))
		return FC_EFORMAT;
	fc_rounding_bounds(&own, op->reach, scratch);
	return op->peak >= own.peak * (1.0 - 1e-3) && op->slope >= own.slope * (1.0 - 1e-3) &&
		op->level >= own.level * (1.0 - 1e-3) ? FC_OK : FC_EFORMAT;
}
