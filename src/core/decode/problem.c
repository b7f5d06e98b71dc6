/* problem.c - makes a decoder's problem from a sketch; see decode.h */
#include "decode/decode.h"

#include "sketch/sketch.h"

/* Relative difference below which two sigmas are equal. */
#define SAME_SIGMA_TOLERANCE	1e-6

uint32_t
fc_scale_of_sigma(const fc_spec *spec, double sigma)
{
	for (uint32_t s = 0; s < spec->scales; s++)
		if (fabs(sigma / fc_spec_sigmas(spec)[s] - 1) < SAME_SIGMA_TOLERANCE)
			return s;
	return spec->scales;
}

/*
 * Replaces the frequencies of the first sigma, which are in omega, by the
 * frequencies of `count` consecutive sigmas from number `first` on.
 */
static void
scale_frequencies(const fc_spec *spec, uint32_t first, uint32_t count,
				  float *omega)
{
	const double *sigmas = fc_spec_sigmas(spec);
	size_t		values = (size_t) spec->frequencies * spec->reduced;

	for (size_t s = count; s-- > 0;)
	{
		double		ratio = sigmas[0] / sigmas[first + s];

		fc_check();
		for (size_t i = 0; i < values; i++)
			omega[s * values + i] = (float) ((double) omega[i] * ratio);
	}
}

/*
 * Sets the frequencies and moments of the problem, for `count` consecutive
 * sigmas of the spec from number `first` on.
 */
static void
set_moments(const fc_sketch_view *sketch, uint32_t first, uint32_t count,
			fc_arena *arena, fc_problem *problem)
{
	const fc_spec *spec = sketch->spec;
	const double *sigmas = fc_spec_sigmas(spec);
	double	   *re = FC_TAKE(arena, fc_spec_moments(spec), double);
	double	   *im = FC_TAKE(arena, fc_spec_moments(spec), double);
	float	   *omega = FC_TAKE(arena,
								(size_t) count * spec->frequencies * spec->reduced,
								float);

	fc_sketch_moments(sketch, re, im);
	fc_frequencies(spec, arena, omega);
	scale_frequencies(spec, first, count, omega);
	problem->n = spec->reduced;
	problem->m = count * (size_t) spec->frequencies;
	problem->omega = omega;
	problem->z_re = re + first * (size_t) spec->frequencies;
	problem->z_im = im + first * (size_t) spec->frequencies;
	problem->bandwidth = sigmas[first] / sigmas[0];
}

/*
 * Sets the mean, standard deviation and bounding box of the rows in reduced
 * coordinates, and their effective number.
 */
static void
set_statistics(const fc_sketch_view *sketch, fc_arena *arena,
			   fc_problem *problem)
{
	const fc_spec *spec = sketch->spec;
	const double *scale = fc_spec_scale(spec);
	const double *center = fc_spec_center(spec);
	size_t		n = spec->reduced;

	/*
	 * index of the first reduced dimension; the sketch has sums for the d
	 * dimensions of a row, then for the n reduced ones if rows are projected
	 */
	size_t		first = sketch->tracked - n;
	bool		reduced = first > 0;
	double	   *mean = FC_TAKE(arena, n, double);
	double	   *stddev = FC_TAKE(arena, n, double);
	double	   *lower = FC_TAKE(arena, n, double);
	double	   *upper = FC_TAKE(arena, n, double);

	for (size_t i = 0; i < n; i++)
	{
		double		unit = (reduced ? 1.0 : spec->sigma * (scale ? scale[i] : 1.0));
		double		origin = reduced ? 0.0 : center[i];
		bool		known = (sketch->head->flags & FC_SKETCH_BOUNDS) != 0;

		mean[i] = (fc_sketch_mean(sketch, first + i) - origin) / unit;
		stddev[i] = sqrt(fc_sketch_variance(sketch, first + i)) / unit;
		lower[i] = known ? (sketch->lower[first + i] - origin) / unit
			: -INFINITY;
		upper[i] = known ? (sketch->upper[first + i] - origin) / unit
			: INFINITY;
	}
	problem->clusters = spec->clusters;
	problem->mean = mean;
	problem->stddev = stddev;
	problem->lower = lower;
	problem->upper = upper;
	problem->rows = fc_sketch_total_weight(sketch) *
		fc_sketch_total_weight(sketch) / fc_sketch_weight2(sketch);
}

/*
 * Sets the initial centroids, converted from user units to reduced
 * coordinates.
 */
static void
set_initial(const fc_spec *spec, const fc_problem_inputs *inputs, fc_arena *arena,
			fc_problem *problem)
{
	double	   *initial = FC_TAKE(arena, inputs->initial_count * spec->reduced,
								  double);
	double	   *centred = FC_TAKE(arena, spec->dim, double);

	for (size_t j = 0; j < inputs->initial_count; j++)
		fc_spec_reduce(spec, inputs->initial + j * spec->dim, centred,
					   initial + j * spec->reduced);
	problem->initial = initial;
	problem->initial_count = inputs->initial_count;
}

void
fc_problem_make(const fc_sketch_view *sketch, fc_decoder decoder,
				const fc_problem_inputs *inputs, fc_arena *arena,
				fc_problem *problem)
{
	const fc_spec *spec = sketch->spec;
	bool		joint = (decoder == FC_DECODE_AUTO || decoder == FC_DECODE_CLOMPR);
	uint32_t	one = (inputs->sigma > 0 ? fc_scale_of_sigma(spec, inputs->sigma)
					   : spec->scales);

	*problem = (fc_problem)
	{
		.sample_centroids = fc_spec_sample_centroids(spec),
			.sample_centroid_count = spec->sample_centroids
	};
	if (one < spec->scales)
		set_moments(sketch, one, 1, arena, problem);
	else
		set_moments(sketch, 0, joint ? spec->scales : 1, arena, problem);
	set_statistics(sketch, arena, problem);
	if (inputs->sample != NULL && inputs->sample->sample_rows > 0)
	{
		problem->sample = fc_spec_sample(inputs->sample);
		problem->sample_weight = fc_spec_sample_weight(inputs->sample);
		problem->sample_rows = inputs->sample->sample_rows;
	}
	if (inputs->initial_count > 0)
		set_initial(spec, inputs, arena, problem);
}

double
fc_problem_deviation(const fc_problem *problem)
{
	return sqrt(fc_sum_of_squares(problem->stddev, problem->n) /
				(double) problem->n);
}
