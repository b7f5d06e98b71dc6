/*
 * waves.c - the null distribution of the MMD^2 between sketches, and the test;
 * see waves.h
 */
#include "drift/waves.h"

#include <float.h>

#include "base/rng.h"
#include "drift/internal.h"
#include "numerics/dense.h"

/*
 * Number of null standard deviations of the MMD^2 up to which a shift may go
 * undetected. A larger number reports larger undetected shifts. A guess.
 */
#define CHANCE_DEVIATIONS	3.0

/*
 * Value of tr S below which the p-value is set to 1. S is the covariance
 * matrix of the moments of a row (waves.h). If tr S is small, a few outlying
 * rows may account for all of it, and the sample from which the null
 * distribution is estimated may have none of them. A larger value misses more
 * changes, a smaller one raises more false alarms (bench/drift.py).
 */
#define MIN_TRACE	0.05

/*
 * Share of |phi|^2 that counts as 0, because a sketch rounds the real and
 * imaginary parts of phi to 2^-22.
 */
#define ROUNDING	1e-6

/* ---- the null distribution ---- */

typedef struct null_work
{
	size_t	   *chosen;			/* indices of the chosen rows in the sample */
	double	   *row;			/* d values of the current row */
	float	   *phi;			/* rows x 2 x moments: phi / sqrt(moments) */
	float	   *kernel;			/* rows x rows: centred kernel */
	float	   *square;			/* rows x rows: square of the kernel matrix */
	double	   *weight;			/* weight of each row */
	double	   *mean;			/* mean kernel value of each row with the
								 * other rows */
} null_work;

static void
take_null_work(fc_arena *arena, size_t rows, const fc_spec *spec,
			   null_work *work)
{
	size_t		length = 2 * fc_spec_moments(spec);

	work->chosen = FC_TAKE(arena, rows, size_t);
	work->row = FC_TAKE(arena, spec->dim, double);
	work->phi = FC_TAKE(arena, rows * length, float);
	work->kernel = FC_TAKE(arena, rows * rows, float);
	work->square = FC_TAKE(arena, rows * rows, float);
	work->weight = FC_TAKE(arena, rows, double);
	work->mean = FC_TAKE(arena, rows, double);
}

/*
 * Sets work->phi to phi / sqrt(moments) of the chosen rows, rounded as in the
 * sums of a sketch. Returns an error if the spec rejects a row.
 */
static fc_status
write_features(const fc_weighted_rows *sample, size_t rows,
			   const fc_prepared *prepared, const null_work *work)
{
	size_t		length = 2 * prepared->moments;
	double		unit = (ldexp(1.0, -FC_COSINE_BITS) /
						sqrt((double) prepared->moments));
	fc_status	status = FC_OK;

	for (size_t r = 0; r < rows && status == FC_OK; r++)
	{
		const float *value = sample->values + work->chosen[r] * sample->d;
		const fc_row row = {.doubles = work->row,.weight = FC_ONE_WEIGHT};

		fc_check();
		for (size_t i = 0; i < sample->d; i++)
			work->row[i] = (double) value[i] +
				(sample->offset != NULL ? sample->offset[i] : 0.0);
		status = fc_sketch_row_phases(prepared, &row);
		for (size_t j = 0; j < length; j++)
			work->phi[r * length + j] = (float) ((double) prepared->phases[j] * unit);
	}
	return status;
}

/* Sum of the weights, and the weighted mean of the weights. */
typedef struct weight_sums
{
	double		one;
	double		heavy;			/* weighted mean of the weights, sum w^2 / sum
								 * w */
} weight_sums;

static weight_sums
sum_weights(const double *weight, size_t rows)
{
	double		one = 0;
	double		two = 0;

	for (size_t r = 0; r < rows; r++)
	{
		one += weight[r];
		two += weight[r] * weight[r];
	}
	return (weight_sums)
	{
		one, two / one
	};
}

/*
 * Replaces kernel(r, s) by sqrt(w_r w_s) times the centred kernel, and by 0
 * for r = s. Returns the mean kernel value of two distinct rows.
 */
static double
centre_kernel(size_t rows, const weight_sums *sums, const null_work *work)
{
	double		total = 0;

	for (size_t r = 0; r < rows; r++)
	{
		double		sum = 0;

		for (size_t s = 0; s < rows; s++)
			sum += s == r
				? 0.0
				: work->weight[s] * (double) work->kernel[r * rows + s];
		total += work->weight[r] * sum;
		work->mean[r] = sum / (sums->one - 2.0 * sums->heavy);
	}
	for (size_t r = 0; r < rows; r++)
		for (size_t s = 0; s < rows; s++)
		{
			double		centred = ((double) work->kernel[r * rows + s] -
								   work->mean[r] - work->mean[s] +
								   total / ((sums->one - sums->heavy) *
											(sums->one - 2.0 * sums->heavy)));

			work->kernel[r * rows + s] = r == s
				? 0.0f
				: (float) (sqrt(work->weight[r] *
								work->weight[s]) *
						   centred);
		}
	return total / (sums->one * (sums->one - sums->heavy));
}

fc_wave_null
fc_wave_possible(double trace, double square, double cube)
{
	square = fmin(fmax(square, 1e-6 * trace * trace), trace * trace);
	return (fc_wave_null)
	{
		square,
			square > 0 ? fmin(fmax(cube, square * square / trace), pow(square, 1.5)) : 0.0
	};
}

/* Returns estimates of tr S^2 and tr S^3. */
static fc_wave_null
estimate(size_t rows, const null_work *work)
{
	weight_sums sums = sum_weights(work->weight, rows);
	double		trace = 1.0 - centre_kernel(rows, &sums, work);
	double		square = 0;
	double		cube = 0;
	fc_product	squared = {.m = rows,.n = rows,.k = rows,.alpha = 1.0};

	fc_multiply_float(&squared, work->kernel, work->kernel, work->square);
	for (size_t i = 0; i < rows * rows; i++)
	{
		square += (double) work->kernel[i] * (double) work->kernel[i];
		cube += (double) work->kernel[i] * (double) work->square[i];
	}
	square /= sums.one * (sums.one - 3.0 * sums.heavy);
	cube /= sums.one * (sums.one - sums.heavy) * (sums.one - 5.0 * sums.heavy);
	return fc_wave_possible(fmax(trace, 0.0), square, cube);
}

fc_status
fc_wave_null_moments(const fc_weighted_rows *sample, size_t max,
					 const fc_prepared *prepared, fc_arena *arena,
					 fc_wave_null *null)
{
	size_t		rows = smaller(sample->n, max);
	weight_sums sums;
	null_work	work;
	fc_status	status;
	fc_rng		rng = fc_rng_start(prepared->spec->seed, 2);

	take_null_work(arena, rows, prepared->spec, &work);

	/*
	 * Draw `rows` rows of the sample at random: row i is drawn with
	 * probability (rows still to draw) / (rows left).
	 */
	for (size_t i = 0, taken = 0; taken < rows; i++)
		if (fc_rng_below(&rng, sample->n - i) < rows - taken)
		{
			work.weight[taken] = sample->weights != NULL ? sample->weights[i]
				: 1.0;
			work.chosen[taken++] = i;
		}
	sums = sum_weights(work.weight, rows);
	if (!(sums.one >= FC_WAVE_MIN_ROWS * sums.heavy))
		return FC_EEMPTY;
	status = write_features(sample, rows, prepared, &work);
	if (status != FC_OK)
		return status;
	fc_dots(work.phi, rows, work.phi, rows, 2 * prepared->moments, work.kernel,
			rows);
	*null = estimate(rows, &work);
	fc_check();
	return FC_OK;
}

/* ---- the test ---- */

double
fc_effective_rows(const fc_sketch_view *sketch)
{
	return fc_sketch_total_weight(sketch) * fc_sketch_total_weight(sketch) /
		fc_sketch_weight2(sketch);
}

/* Returns tr S, computed from all training rows. */
static double
trace(const fc_sketch_view *training)
{
	double		rows = fc_effective_rows(training);

	return rows / (rows - 1.0) *
		(1.0 - fc_sketch_similarity(training, training));
}

double
fc_wave_tail(double excess, const fc_wave_null *null)
{
	double		variance = 2.0 * null->square;
	double		third = 8.0 * null->cube;
	double		freedom;
	double		quantile;

	if (!(variance > ROUNDING * ROUNDING))
		return excess > ROUNDING ? 0.0 : 1.0;
	freedom = 8.0 * variance * variance * variance / (third * third);
	quantile = freedom + excess * sqrt(2.0 * freedom / variance);
	return fc_gamma_upper(0.5 * freedom, 0.5 * quantile);
}

/*
 * Returns the p-value of an excess under the law. The p-value is corrected for
 * the error of the estimated traces: it is converted to a normal deviate,
 * which is then taken as Student's t with law->freedom degrees of freedom.
 */
static double
tail_of_law(double excess, const fc_wave_law *law)
{
	double		p = fc_wave_tail(excess, &law->null);
	double		z = p > DBL_MIN && p < 1.0 ? fc_normal_quantile(0.5 * p) : 0.0;

	return z < 0 ? exp(fc_normal_log_p(sqrt(fc_student_square(z * z, law->freedom)))) : p;
}

/* ---- how large a change is ---- */

double
fc_wave_response(const fc_sketch_view *training, fc_arena *arena)
{
	fc_mark		used = fc_arena_mark(arena);
	double		mean = 0;
	const fc_spec *spec = training->spec;
	double		w = fc_sketch_total_weight(training);
	double		w2 = fc_sketch_weight2(training);
	double	   *re = FC_TAKE(arena, fc_spec_moments(spec), double);
	double	   *im = FC_TAKE(arena, fc_spec_moments(spec), double);

	/* variance of each scaled column, taken as 1 if the spec has a scale */
	double	   *variance = FC_TAKE(arena, spec->dim, double);
	float	   *omega = FC_TAKE(arena, (size_t) spec->frequencies * spec->dim,
								float);

	fc_sketch_moments(training, re, im);
	fc_frequencies(spec, arena, omega);
	for (size_t i = 0; i < spec->dim; i++)
		variance[i] = fc_spec_scale(spec) != NULL
			? 1.0
			: fc_sketch_variance(training, i);
	for (size_t j = 0; j < spec->frequencies; j++)
	{
		double		norm = 0;

		fc_check();
		for (size_t i = 0; i < spec->dim; i++)
			norm += variance[i] * (double) omega[j * spec->dim + i] *
				(double) omega[j * spec->dim + i];
		for (size_t s = 0; s < spec->scales; s++)
		{
			size_t		place = s * spec->frequencies + j;
			double		square = re[place] * re[place] + im[place] * im[place];
			double		power = fmax(0.0, w * w > w2
									 ? (w * w * square - w2) / (w * w - w2)
									 : square);

			mean += power * norm /
				(fc_spec_sigmas(spec)[s] * fc_spec_sigmas(spec)[s]);
		}
	}
	fc_arena_release(arena, used);
	return mean / ((double) fc_spec_moments(spec) * (double) spec->dim);
}

void
fc_wave_compare(const fc_sketch_view *training, const fc_sketch_view *rows,
				const fc_wave_null *null, const fc_wave_law *law, fc_arena *arena,
				fc_wave_test *test)
{
	double		mean;
	double		c;

	FC_ASSERT(fc_spec_basis(training->spec) == NULL);
	*test = (fc_wave_test)
	{
		NAN, NAN, NAN, NAN, NAN, 0
	};
	if (training->head->weight <= 0 || rows->head->weight <= 0)
		return;
	test->mmd2 = fc_sketch_distance(training, rows);
	if (isnan(test->mmd2))
		return;
	mean = fc_wave_response(training, arena);
	test->rows = fmin(fc_effective_rows(training), fc_effective_rows(rows));
	c = 1.0 / fc_effective_rows(training) + 1.0 / fc_effective_rows(rows);
	if (law != NULL)
		test->mmd2 -= law->excess;
	test->null_sd = law != NULL ? sqrt(2.0 * law->null.square) : c * sqrt(2.0 * null->square);
	test->p_value = trace(training) < MIN_TRACE
		? 1.0
		: law != NULL ? tail_of_law(test->mmd2, law)
		: fc_wave_tail(test->mmd2 / c, null);
	test->size = sqrt(fmax(test->mmd2, 0.0) / fmax(mean, 1e-30));
	test->hidden = sqrt(CHANCE_DEVIATIONS * test->null_sd / fmax(mean, 1e-30));
}
