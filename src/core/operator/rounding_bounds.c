/*
 * rounding_bounds.c - numbers stored with the factors: half the squared norms
 * of the rows of the product, bounds on the rounding errors of scores, exact
 * centroids.
 *
 * v_j is row j of the product, computed in double and rounded to float once;
 * its half norm is summed in double and rounded once.
 *
 * Let u = 2^-24, and let fl() be a result in float. For a codebook, dot
 * products of m terms obey |fl(a . x) - a . x| <= gamma_m |a| . |x|, where
 * gamma_m = m u / (1 - m u). This holds for any order of the terms, with or
 * without fused multiply-add (Higham 2002, section 3.1).
 *
 * Through several factors, worst cases multiply to useless bounds. The
 * roundings delta are therefore assumed to be independent with mean 0 (Higham
 * & Mary 2019, SIAM J. Sci. Comput. 41(5)). Let y_(Q+1) = x, y_q = fl(F_q
 * y_(q+1)) and P_q = F_1 .. F_(q-1). Let s_qrt, t = 1, 2, .., be the partial
 * sums of the dot product of row r of F_q and y_(q+1). The error of dot
 * product j is
 *
 *     y_1j - (V x)_j = sum_q sum_r P_q,jr sum_t delta_qrt s_qrt, |delta| <= u,
 *
 * and the variance of the error of score j is at most u^2 sum_q sum_r P_q,jr^2
 * sum_t s_qrt^2. The ratio of partial sums to ||y_(q+1)|| is measured on
 * probes: random directions, and rows of the product, near which data lie.
 * Random directions alone do not suffice. If a row of F_q and y_(q+1) are
 * positive, for example, the partial sums never cancel. The bound is
 * DEVIATIONS standard deviations,
 *
 *     bound^2 = sum_q (e_q ||y_(q+1)||)^2,
 *     e_q^2 = (DEVIATIONS u)^2 max_j sum_r P_q,jr^2 w_qr,
 *     w_qr = mean of sum_t s_qrt^2 / mean of ||y_(q+1)||^2 over the random
 *            probes, or the maximum ratio of a probe from the product.
 *
 * In addition, x - o, v_j, the half norm and the score are each rounded once,
 * which changes a score by at most error_relative ||x - o|| + error_absolute
 * with
 *
 *     error_relative = 4 u max ||v_j||,
 *     error_absolute = 4 u max ||v_j||^2 + t,
 *
 * where t bounds the loss by underflow. The loss is 2^-149 per operation,
 * multiplied by the magnitudes of the factors applied later. A distance in
 * double adds its own rounding, (d + 8) 2^-53 (||x - o|| + max ||v||)^2, and
 * the rounding of o + v_j, bounded by 2^-51 ||o|| (||x - o|| + max ||v||). No
 * partial sum exceeds max_growth ||x - o||.
 */
#include "operator/internal.h"

#include <float.h>

#include "base/rng.h"
#include "numerics/rows.h"

/*
 * Approximate maximum number of multiply-adds for checking a stored operator.
 * With a larger number, more of the k centroids are checked, and reading an
 * operator takes longer. A guess.
 */
#define VERIFY_WORK	((size_t) 1 << 26)

/*
 * Maximum deviation of the squared length of a unit vector in floats from 1. A
 * guess.
 */
#define UNIT_SLACK	1e-5

/* Unit roundoff of a float. */
#define UNIT_ROUNDOFF	0x1p-24

/* Smallest float above 0. */
#define SMALLEST_FLOAT	0x1p-149

/*
 * Half width of the rounding bound, in standard deviations of the error if
 * every |delta| = u. The root mean square of delta is below u / sqrt(3), which
 * leaves a margin for rows unlike the probes. With a wider bound, more near
 * ties are computed again in double. In bench/tuned.py, half and twice the
 * width change neither labels nor times.
 */
#define DEVIATIONS	4.0

/*
 * Number of probes with random directions. The other probes of a block are
 * rows of the product.
 */
#define RANDOM_PROBES	(FC_BLOCK8 / 2)

/* ---- rounding ---- */

static double
gamma_of(double additions)
{
	double		m = additions * UNIT_ROUNDOFF;

	return m < 0.5 ? m / (1.0 - m) : INFINITY;
}

/*
 * Returns an upper bound on the spectral norm of |F|, the matrix of the
 * absolute values of F. sums is scratch space of one float per column.
 */
static double
magnitude_norm(const fc_factor *factor, float *sums)
{
	float		max_row = 0.0f;
	float		max_column = 0.0f;

	memset(sums, 0, factor->columns * sizeof(float));
	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		start = (factor->row_start != NULL ? factor->row_start[r]
							 : r * factor->columns);
		size_t		end = (factor->row_start != NULL ? factor->row_start[r + 1]
						   : start + factor->columns);
		float		sum = 0.0f;

		for (size_t p = start; p < end; p++)
		{
			sum += fabsf(factor->values[p]);
			sums[factor->row_start != NULL
				 ? fc_factor_column(factor, p)
				 : p - start] += fabsf(factor->values[p]);
		}
		max_row = fmaxf(max_row, sum);
	}
	for (size_t c = 0; c < factor->columns; c++)
		max_column = fmaxf(max_column, sums[c]);
	return sqrt((double) max_row * (double) max_column) * (1.0 + 1e-3) +
		SMALLEST_FLOAT;
}

/* ---- the variance through the factors ---- */

/*
 * Returns w_qr (see the top of this file) for row r of a factor. For each
 * probe, squares has the sum of the squared partial sums, and lengths has the
 * squared norm of y_(q+1). The result is the greater of two numbers: the sum
 * of squares divided by the sum of lengths, over the random probes; and the
 * maximum of squares[i] / lengths[i] over the probes that are rows of the
 * product.
 */
static double
max_measured(const double *squares, const double *lengths)
{
	double		square = 0.0;
	double		length = 0.0;
	double		max;

	for (size_t i = 0; i < RANDOM_PROBES; i++)
	{
		square += squares[i];
		length += lengths[i];
	}
	max = length > 0.0 ? square / length : 0.0;
	for (size_t i = RANDOM_PROBES; i < FC_BLOCK8; i++)
		if (lengths[i] > 0.0)
			max = fmax(max, squares[i] / lengths[i]);
	return max;
}

/*
 * Sets weights[r] to w_qr (see the top of this file), where q is this factor.
 * input (columns x FC_BLOCK8) has y_(q+1) of the probes.
 */
static void
weigh_rows(const fc_factor *factor, const double *input, double *weights)
{
	double		lengths[FC_BLOCK8] = {0};

	for (size_t i = 0; i < factor->columns * FC_BLOCK8; i++)
		lengths[i % FC_BLOCK8] += input[i] * input[i];
	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		start = (factor->row_start != NULL ? factor->row_start[r]
							 : r * factor->columns);
		size_t		end = (factor->row_start != NULL ? factor->row_start[r + 1]
						   : start + factor->columns);
		double		sum[FC_BLOCK8] = {0};
		double		squares[FC_BLOCK8] = {0};

		for (size_t p = start; p < end; p++)
		{
			const double *y = (input + (factor->row_start != NULL
										? fc_factor_column(factor, p)
										: p - start) *
							   FC_BLOCK8);

			for (size_t i = 0; i < FC_BLOCK8; i++)
			{
				sum[i] += (double) factor->values[p] * y[i];
				squares[i] += sum[i] * sum[i];
			}
		}
		weights[r] = max_measured(squares, lengths);
	}
}

/*
 * Divides each probe by its greatest magnitude: only ratios matter, and
 * products of many factors could overflow or underflow a double.
 */
static void
level_probes(double *probes, size_t rows)
{
	for (size_t lane = 0; lane <FC_BLOCK8; lane ++)
	{
		double		max = 0.0;

		for (size_t r = 0; r < rows; r++)
			max = fmax(max, fabs(probes[r * FC_BLOCK8 + lane]));
		for (size_t r = 0; r < rows && max > 0.0; r++)
			probes[r * FC_BLOCK8 + lane] /= max;
	}
}

/*
 * Fills the probes with random directions, and then with rows of the product
 * at regular intervals.
 */
static void
fill_probes(const fc_operator *op, float *scratch, double *probes)
{
	fc_rng		rng = fc_rng_start(0, 0);

	for (size_t lane = 0; lane <RANDOM_PROBES; lane ++)
		for (size_t i = 0; i < op->d; i++)
			probes[i * FC_BLOCK8 + lane] = fc_rng_normal(&rng);
	for (size_t lane = RANDOM_PROBES; lane <FC_BLOCK8; lane ++)
	{
		const float *row = fc_operator_product_row(op,
												   (lane -RANDOM_PROBES) *op->k /
												   (FC_BLOCK8 -
													RANDOM_PROBES),
												   scratch);

		for (size_t i = 0; i < op->d; i++)
			probes[i * FC_BLOCK8 + lane] = (double) row[i];
	}
	level_probes(probes, op->d);
}

/*
 * Computes block8->weights for a product of several factors. For row p of the
 * product of the factors before f, sum_r weights[f][r] p_r^2 is proportional
 * to the variance that rounding in factor f adds to the score of that row.
 */
static void
rounding_weights(const fc_operator *op, const fc_operator_block8 *block8,
				 float *scratch)
{
	size_t		width = fc_operator_widest(op) * FC_BLOCK8;
	double	   *input = block8->block;

	fill_probes(op, scratch, input);
	for (size_t f = op->factors; f-- > 0;)
	{
		double	   *output = (input == block8->block ? block8->block + width
							  : block8->block);

		fc_check();
		weigh_rows(&op->factor[f], input, block8->weights[f]);
		if (f == 0)
			break;
		fc_block8_apply(&op->factor[f], input, output);
		level_probes(output, op->factor[f].rows);
		input = output;
	}
}

/*
 * Returns the field `error` of a factor. `max` is the maximum from
 * measure_rounding or, for a codebook, the length of its longest row.
 */
static double
factor_error(const fc_operator *op, double max)
{
	if (fc_operator_is_codebook(op))	/* sums in 16 lanes, which are then
										 * added in four steps */
		return fmin(gamma_of((double) op->d / 16.0 + 6.0) * max * (1.0 + 1e-5),
					DBL_MAX);
	return fmin(DEVIATIONS * UNIT_ROUNDOFF * sqrt(max) * (1.0 + 1e-5),
				DBL_MAX);
}

/* ---- range ---- */

/* Number of rows whose magnitudes are summed together. A guess. */
#define SUMMED_ROWS	8

/*
 * Computes the results of apply_magnitude for SUMMED_ROWS rows of a dense
 * factor, from row `first` on. Eight independent sums hide the latency of
 * additions.
 */
static void
apply_dense_magnitude(const fc_factor *factor, size_t first, const float *in,
					  float add, float *out)
{
	const float *values = factor->values + first * factor->columns;
	float		sum[SUMMED_ROWS];

	for (size_t r = 0; r < SUMMED_ROWS; r++)
		sum[r] = add * (float) (factor->columns + 1);
	for (size_t c = 0; c < factor->columns; c++)
		for (size_t r = 0; r < SUMMED_ROWS; r++)
			sum[r] += fabsf(values[r * factor->columns + c]) * in[c];
	memcpy(out + first, sum, sizeof(sum));
}

/*
 * Sets out to the product of |F| and `in`. |F| has the magnitudes of the
 * factor's entries, and `in` is positive. If a row of F has e stored entries,
 * its element of out is increased by (e + 1) * add, which allows for the error
 * of each operation.
 */
static void
apply_magnitude(const fc_factor *factor, const float *in, float add, float *out)
{
	size_t		done = 0;

	for (; factor->row_start == NULL && done + SUMMED_ROWS <= factor->rows;
		 done += SUMMED_ROWS)
		apply_dense_magnitude(factor, done, in, add, out);
	for (size_t r = done; r < factor->rows; r++)
	{
		size_t		start = (factor->row_start != NULL ? factor->row_start[r]
							 : r * factor->columns);
		size_t		end = (factor->row_start != NULL ? factor->row_start[r + 1]
						   : start + factor->columns);
		float		sum = add * (float) (end - start + 1);

		for (size_t p = start; p < end; p++)
			sum += fabsf(factor->values[p]) *
				in[factor->row_start != NULL ? fc_factor_column(factor, p)
				   : p - start];
		out[r] = sum;
	}
}

/*
 * Returns the greatest entry of the vectors |F_q| .. |F_Q| (1, .., 1)' over
 * all q, or 1 if that is greater. `add` is added to an entry for each
 * operation.
 */
static double
greatest(const fc_operator *op, float add, float *scratch)
{
	float	   *work = scratch + op->d + op->k;
	const float *in = scratch;
	float		max = 1.0f;

	for (size_t c = 0; c < op->d; c++)
		scratch[c] = 1.0f;
	for (size_t f = op->factors; f-- > 0;)
	{
		float	   *out = (f == 0 ? scratch + op->d
						   : work + (f % 2) * fc_operator_widest(op));

		fc_check();
		apply_magnitude(&op->factor[f], in, add, out);
		for (size_t r = 0; r < op->factor[f].rows; r++)
			max = fmaxf(max, out[r]);
		in = out;
	}
	return fmin((double) max, (double) FLT_MAX);
}

double
fc_offset_length(const double *offset, size_t d)
{
	return offset == NULL ? 0.0 : sqrt(fc_sum_of_squares(offset, d));
}

/*
 * Sets op's max_row_norm, error_relative, error_absolute and max_growth;
 * max_row_norm is the length of the longest row of the product.
 */
static void
rounding_bounds(fc_operator *op, double max_row_norm, float *scratch)
{
	double		place = FC_EXP2_MINUS(51) * fc_offset_length(op->offset, op->d);

	op->max_row_norm = max_row_norm;
	op->max_growth = greatest(op, 0.0f, scratch);
	op->error_relative = fmin(4.0 * UNIT_ROUNDOFF * max_row_norm + place,
							  DBL_MAX);
	op->error_absolute = fmin(4.0 * UNIT_ROUNDOFF * max_row_norm *
							  max_row_norm +
							  place * max_row_norm +
							  4.0 * SMALLEST_FLOAT *
							  greatest(op, 1.0f, scratch),
							  DBL_MAX);
}

const fc_operator *
fc_operator_deciding(const fc_operator *op, fc_operator *book)
{
	const fc_exact_centroids *exact = &op->exact;
	double		d = (double) op->d;
	double		max = exact->max_row_norm * (1.0 + 1e-5);
	double		place = FC_EXP2_MINUS(51) * exact->offset_length;

	if (exact->values == NULL || exact->rerank != FC_RERANK_EXACT)
		return op;
	*book = (fc_operator)
	{
		.k = op->k,
			.d = op->d,
			.metric = op->metric,
			.offset = exact->offset,
			.half_norms = exact->half_norms,
			.max_row_norm = exact->max_row_norm,
			.max_growth = sqrt(d) * max + 1.0,
			.error_relative = 4.0 * UNIT_ROUNDOFF * max + place,
			.error_absolute = 4.0 * UNIT_ROUNDOFF * max * max +
			place * max +
			4.0 * SMALLEST_FLOAT *
			(d + 1.0 + sqrt(d) * max),
			.factors = 1
	};
	book->factor[0] = fc_dense_factor(op->k, op->d, exact->values);
	book->factor[0].error = factor_error(book, max);
	return book;
}

/* ---- bounds of one row ---- */

double
fc_operator_rounding(const fc_operator *op, fc_scored scored)
{
	double		length = sqrt(scored.square);
	double		far = length + op->max_row_norm;

	if (!(op->max_growth * length < FC_EXP2(126)))
		return INFINITY;
	return sqrt(scored.variance) + op->error_relative * length +
		op->error_absolute +
		((double) op->d + 8.0) * FC_EXP2_MINUS(53) * far * far;
}

double
fc_codebook_rounding(size_t d, double max_row_norm, double length)
{
	double		n = (double) d;
	double		far = length + max_row_norm;

	if (!(sqrt(n) * max_row_norm * length < FC_EXP2(126)))
		return INFINITY;
	return gamma_of(n + 4.0) * (1.0 + 1e-6) * max_row_norm * length +
		2.0 * UNIT_ROUNDOFF * max_row_norm * max_row_norm +
		4.0 * SMALLEST_FLOAT * (n + sqrt(n) * max_row_norm) +
		(n + 8.0) * FC_EXP2_MINUS(53) * far * far;
}

/* ---- the stored bounds ---- */

/*
 * Raises max[f] to the maximum of sums[f][lane] over `count` rows from `first`
 * on. sums[f][lane] measures the rounding in factor f for row first + lane
 * (see rounding_weights).
 */
static void
measure_rounding(const fc_operator *op, const fc_operator_block8 *block8,
				 size_t first, size_t count, double (*sums)[FC_BLOCK8],
				 double *max)
{
	for (size_t lane = 0; lane <count; lane ++)
	{
		sums[0][lane] = block8->weights[0][first + lane];
		for (size_t f = 0; f < op->factors; f++)
			max[f] = fmax(max[f], sums[f][lane]);
	}
}

void
fc_operator_measure(fc_operator *op, fc_scratch scratch, float *half_norms)
{
	fc_operator_block8 block8 = fc_operator_block8_work(op, scratch.floats);
	bool		product = !fc_operator_is_codebook(op);
	double		max[FC_MAX_FACTORS] = {0};
	double		sums[FC_MAX_FACTORS][FC_BLOCK8];
	double		max_square = 0.0;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	op->half_norms = half_norms;
	op->offset_length = op->offset != NULL
		? sqrt(fc_sum_of_squares(op->offset, op->d))
		: 0.0;
	op->rows = NULL;
	if (product)
		rounding_weights(op, &block8, scratch.floats);
	for (size_t first = 0; first < op->k; first += FC_BLOCK8)
	{
		size_t		count = (op->k - first < FC_BLOCK8 ? op->k - first : FC_BLOCK8);
		const float *rows = (product ? block8.rows
							 : op->factor[0].values + first * op->d);

		fc_check();
		if (product)
		{
			fc_operator_rows(op, first, count, block8.weights, scratch.floats,
							 sums, block8.rows);
			measure_rounding(op, &block8, first, count, sums, max);
		}
		for (size_t i = 0; i < count; i++)
		{
			double		square = fc_row_square(rows + i * op->d, op->d);

			half_norms[first + i] = op->metric == FC_INNER_PRODUCT
				? 0.0f
				: (float) (0.5 * square);
			max_square = fmax(max_square, square);
		}
	}
	if (!product)
		max[0] = sqrt(max_square);
	for (size_t f = 0; f < op->factors; f++)
		op->factor[f].error = factor_error(op, max[f]);
	rounding_bounds(op, sqrt(max_square), scratch.floats);
}

/* Returns ||(c + offset_c) - (v + offset_v)||; a NULL offset means 0. */
static double
gap_between(const float *c, const double *offset_c, const float *v,
			const double *offset_v, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; i < d; i++)
	{
		double		difference = (((double) c[i] - (double) v[i]) +
								  ((offset_c != NULL ? offset_c[i] : 0.0) -
								   (offset_v != NULL ? offset_v[i] : 0.0)));

		sum += difference * difference;
	}
	return sqrt(sum);
}

/*
 * Returns an upper bound on || R R^T - I || for the last factor R: the largest
 * absolute row sum of the matrix. Returns 1 if R is sparse, large, far from
 * orthonormal or the only factor.
 */
static double
defect_of(const fc_operator *op)
{
	const fc_factor *last = &op->factor[op->factors - 1];
	double		max = 0.0;

	if (op->factors < 2 || last->row_start != NULL ||
		last->rows * last->rows > ((size_t) 1 << 26) / last->columns)
		return 1.0;
	for (size_t i = 0; i < last->rows && max < 0.5; i++)
	{
		double		sum = 0.0;

		for (size_t j = 0; j < last->rows; j++)
		{
			double		dot = i == j ? -1.0 : 0.0;

			for (size_t c = 0; c < last->columns; c++)
				dot += (double) last->values[i * last->columns + c] *
					(double) last->values[j * last->columns + c];
			sum += fabs(dot);
		}
		max = fmax(max, sum);
	}
	return max < 0.5 ? max * (1.0 + 1e-6) + 1e-12 : 1.0;
}

/*
 * Returns ||R e_j||, where R is the last factor and e_j the residual of
 * centroid j.
 */
static double
leakage_of(const fc_operator *op, size_t j, const float *centroid,
		   const double *offset, float *scratch)
{
	const fc_factor *last = &op->factor[op->factors - 1];
	const float *v = fc_operator_product_row(op, j, scratch);
	double		square = 0.0;

	for (size_t i = 0; i < last->rows; i++)
	{
		double		dot = 0.0;

		for (size_t c = 0; c < op->d; c++)
			dot += (double) last->values[i * op->d + c] *
				(((double) centroid[c] - (double) v[c]) +
				 ((offset != NULL ? offset[c] : 0.0) -
				  (op->offset != NULL ? op->offset[c] : 0.0)));
		square += dot * dot;
	}
	return sqrt(square) * (1.0 + 1e-6);
}

void
fc_operator_attach_exact(fc_operator *op, const fc_operator *source,
						 uint32_t rerank, fc_scratch scratch, float *residual,
						 float *half_norms)
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
		gap = gap_between(centroid, source->offset,
						  fc_operator_product_row(op, j, scratch.floats),
						  op->offset, op->d);
		half_norms[j] = (float) (0.5 * square);
		residual[j] = (float) (gap * (1.0 + FC_EXP2_MINUS(20)) +
							   (double) FLT_MIN);
		max_square = fmax(max_square, square);
		if (defect < 0.5)
			leakage = fmax(leakage, leakage_of(op, j, centroid, source->offset,
											   scratch.floats));
	}
	op->exact = (fc_exact_centroids)
	{
		.rerank = rerank,
			.values = source->factor[0].values,
			.offset = source->offset,
			.half_norms = half_norms,
			.residual = residual,
			.max_row_norm = sqrt(max_square),
			.offset_length = fc_offset_length(source->offset, op->d),
			.orthogonality_defect = defect,
			.residual_leakage = leakage
	};
}

/* ---- untrusted bytes ---- */

/*
 * Returns a number far above the rounding error of a row of the product in
 * double; it is proportional to the product of the norms of the factors.
 */
static double
double_rounding(const fc_operator *op, float *scratch)
{
	double		gain = 1.0;

	for (size_t f = 0; f < op->factors && op->factors > 1; f++)
	{
		fc_check();
		gain *= magnitude_norm(&op->factor[f], scratch + op->d + op->k);
	}
	return FC_EXP2_MINUS(40) * gain;
}

/*
 * Checks that row j of a codebook for the cosine metric has length 1. Returns
 * true for other metrics, and for products, whose rows have a length of about
 * 1 only.
 */
static bool
direction_agrees(const fc_operator *op, size_t j)
{
	double		square = 0.0;

	if (op->metric != FC_COSINE || !fc_operator_is_codebook(op))
		return true;
	for (size_t i = 0; i < op->d; i++)
	{
		double		x = ((double) op->factor[0].values[j * op->d + i] +
						 (op->offset != NULL ? op->offset[i] : 0.0));

		square += x * x;
	}
	return fabs(square - 1.0) <= UNIT_SLACK;
}

/*
 * Returns true if the half norm and the bounds agree with row j, up to
 * differences in rounding between machines.
 */
static bool
row_agrees(const fc_operator *op, size_t j, const fc_operator_block8 *block8,
		   double slack, float *scratch)
{
	bool		product = !fc_operator_is_codebook(op);
	double		sums[FC_MAX_FACTORS][FC_BLOCK8];
	double		max[FC_MAX_FACTORS] = {0};
	double		half;
	double		length;

	fc_operator_rows(op, j, 1, product ? block8->weights : NULL, scratch, sums,
					 block8->rows);
	half = 0.5 * fc_row_square(block8->rows, op->d);
	length = sqrt(2.0 * half);
	if (op->metric == FC_INNER_PRODUCT)
		half = 0.0;
	if (!(fabs((double) op->half_norms[j] - half) <=
		  1e-6 * half + slack * (length + slack) + 4.0 * SMALLEST_FLOAT) ||
		!(length <= op->max_row_norm * (1.0 + 1e-6) + slack) ||
		!direction_agrees(op, j))
		return false;
	if (product)
		measure_rounding(op, block8, j, 1, sums, max);
	else
		max[0] = length;
	for (size_t f = 0; f < op->factors; f++)
		if (!(factor_error(op, max[f]) <=
			  op->factor[f].error * (1.0 + 1e-3) + slack))
			return false;
	return true;
}

static bool
exact_row_agrees(const fc_operator *op, size_t j, double slack, float *scratch)
{
	const fc_exact_centroids *exact = &op->exact;
	const float *centroid = exact->values + j * op->d;
	double		half = 0.5 * fc_row_square(centroid, op->d);
	double		gap = gap_between(centroid, exact->offset,
								  fc_operator_product_row(op, j, scratch),
								  op->offset, op->d);

	if (exact->orthogonality_defect < 0.5 &&
		!(leakage_of(op, j, centroid, exact->offset, scratch) <=
		  exact->residual_leakage * (1.0 + 1e-3) + slack))
		return false;
	return fabs((double) exact->half_norms[j] - half) <=
		1e-6 * half + 4.0 * SMALLEST_FLOAT &&
		sqrt(2.0 * half) <= exact->max_row_norm * (1.0 + 1e-6) &&
		gap <= (double) exact->residual[j] * (1.0 + 1e-6) + slack;
}

fc_status
fc_operator_verify(const fc_operator *op, fc_scratch scratch)
{
	float	   *floats = scratch.floats;
	fc_operator own = *op;
	fc_operator_block8 block8 = fc_operator_block8_work(op, floats);
	double		slack = double_rounding(op, floats);
	size_t		work = op->d;
	size_t		rows;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	for (size_t f = 0; f < op->factors; f++)
		work += FC_BLOCK8 *
			(op->factor[f].nonzeros / (op->factors == 1 ? op->k : 1) +
			 op->factor[f].columns);
	if (!fc_operator_is_codebook(op))
		rounding_weights(op, &block8, floats);
	rows = VERIFY_WORK / work + 1 < op->k ? VERIFY_WORK / work + 1 : op->k;
	for (size_t i = 0; i < rows; i++)
	{
		fc_check();
		if (!row_agrees(op, i * op->k / rows, &block8, slack, floats) ||
			(op->exact.values != NULL &&
			 !exact_row_agrees(op, i * op->k / rows, slack, floats)))
			return FC_EFORMAT;
	}
	if (op->exact.values != NULL && op->exact.orthogonality_defect < 0.5 &&
		!(defect_of(op) <=
		  op->exact.orthogonality_defect * (1.0 + 1e-3) + 1e-9))
		return FC_EFORMAT;
	if (op->exact.values != NULL &&
		!(op->exact.offset_length >=
		  fc_offset_length(op->exact.offset, op->d) * (1.0 - 1e-6)))
		return FC_EFORMAT;
	rounding_bounds(&own, op->max_row_norm, floats);
	return op->max_growth >= own.max_growth * (1.0 - 1e-3) &&
		op->error_relative >= own.error_relative * (1.0 - 1e-3) &&
		op->error_absolute >= own.error_absolute * (1.0 - 1e-3)
		? FC_OK
		: FC_EFORMAT;
}
