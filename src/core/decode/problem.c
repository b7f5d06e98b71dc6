/* problem.c - from a sketch to a decoder's problem; see decode.h */
#include "decode/decode.h"

#include <math.h>

#include "sketch/sketch.h"

#define SAME_SIGMA	1e-6		/* relative */

typedef struct problem_work
{
	uint32_t	first;			/* of the scales that are decoded */
	uint32_t	count;
	double	   *re;				/* of all moments */
	double	   *im;
	float	   *omega;			/* count x m x n */
	double	   *mean;			/* n each */
	double	   *stddev;
	double	   *lower;
	double	   *upper;
	double	   *initial;		/* initial_count x n */
	double	   *scaled;			/* dim: a centroid, centred and scaled */
} problem_work;

uint32_t
fc_scale_of_sigma(const fc_spec *spec, double sigma)
{
	for (uint32_t s = 0; s < spec->scales; s++)
		if (fabs(sigma / fc_spec_sigmas(spec)[s] - 1) < SAME_SIGMA)
			return s;
	return spec->scales;
}

/* The frequencies of the first scale become those of all that are decoded, one scale behind the other. */
static void
scale_frequencies(const fc_spec *spec, problem_work *w)
{
	const double *sigmas = fc_spec_sigmas(spec);
	size_t		values = (size_t) spec->frequencies * spec->reduced;

	for (size_t s = w->count; s-- > 0;)
	{
		double		ratio = sigmas[0] / sigmas[w->first + s];

		for (size_t j = 0; j < spec->frequencies; j++)
		{
			fc_check();
			for (size_t i = j * spec->reduced; i < (j + 1) * spec->reduced; i++)
				w->omega[s * values + i] = (float) ((double) w->omega[i] * ratio);
		}
	}
}

/* Frequencies of the scales, and their moments. */
static void
set_moments(const fc_sketch *sketch, fc_arena *arena, problem_work *w, fc_problem *problem)
{
	const fc_spec *spec = fc_sketch_spec(sketch);
	const double *sigmas = fc_spec_sigmas(spec);
	fc_mark		used = fc_arena_mark(arena);

	fc_sketch_moments(sketch, w->re, w->im);
	fc_frequencies(spec, arena, w->omega);
	fc_arena_release(arena, used);
	scale_frequencies(spec, w);
	problem->n = spec->reduced;
	problem->m = w->count * (size_t) spec->frequencies;
	problem->omega = w->omega;
	problem->z_re = w->re + w->first * (size_t) spec->frequencies;
	problem->z_im = w->im + w->first * (size_t) spec->frequencies;
	problem->bandwidth = sigmas[w->first] / sigmas[0];
}

/* Mean, deviation and box of the rows in reduced coordinates. */
static void
set_statistics(const fc_sketch *sketch, problem_work *w, fc_problem *problem)
{
	const fc_spec *spec = fc_sketch_spec(sketch);
	const double *scale = fc_spec_scale(spec);
	const double *center = fc_spec_center(spec);
	fc_sketch_parts parts = fc_sketch_open_parts(sketch);
	size_t		n = spec->reduced;
	size_t		first = parts.tracked - n;	/* projected: the reduced dimensions come last */
	bool		reduced = first > 0;

	for (size_t i = 0; i < n; i++)
	{
		double		unit = reduced ? 1.0 : spec->sigma * (scale ? scale[i] : 1.0);
		double		origin = reduced ? 0.0 : center[i];

		w->mean[i] = (fc_sketch_mean(sketch, first + i) - origin) / unit;
		w->stddev[i] = sqrt(fc_sketch_variance(sketch, first + i)) / unit;
		w->lower[i] = -INFINITY;
		w->upper[i] = INFINITY;
		if (sketch->flags & FC_SKETCH_BOUNDS)
		{
			w->lower[i] = (parts.lower[first + i] - origin) / unit;
			w->upper[i] = (parts.upper[first + i] - origin) / unit;
		}
	}
	problem->clusters = spec->clusters;
	problem->mean = w->mean;
	problem->stddev = w->stddev;
	problem->lower = w->lower;
	problem->upper = w->upper;
	problem->rows = fc_sketch_total_weight(sketch) * fc_sketch_total_weight(sketch) / fc_sketch_weight2(sketch);
}

/* Centroids to start from, as far as the basis sees them. */
static void
set_initial(const fc_spec *spec, const fc_problem_parts *parts, problem_work *w, fc_problem *problem)
{
	const double *scale = fc_spec_scale(spec);
	const double *center = fc_spec_center(spec);
	const float *basis = fc_spec_basis(spec);
	size_t		d = spec->dim;
	size_t		n = spec->reduced;

	for (size_t j = 0; j < parts->initial_count; j++)
	{
		for (size_t i = 0; i < d; i++)
			w->scaled[i] = (parts->initial[j * d + i] - center[i]) / (scale ? scale[i] : 1.0);
		for (size_t r = 0; r < n; r++)
		{
			double		y = basis ? 0.0 : w->scaled[r];

			fc_check();
			for (size_t i = 0; basis != NULL && i < d; i++)
				y += (double) basis[r * d + i] * w->scaled[i];
			w->initial[j * n + r] = y / spec->sigma;
		}
	}
	problem->initial = w->initial;
	problem->initial_count = parts->initial_count;
}

void
fc_problem_make(const fc_sketch *sketch, fc_decoder decoder, const fc_problem_parts *parts,
				fc_arena *arena, fc_problem *problem)
{
	const fc_spec *spec = fc_sketch_spec(sketch);
	problem_work w;
	bool		joint = decoder == FC_DECODE_AUTO || decoder == FC_DECODE_CLOMPR;
	uint32_t	one = parts->sigma > 0 ? fc_scale_of_sigma(spec, parts->sigma) : spec->scales;
	size_t		n = spec->reduced;

	*problem = (fc_problem) {0};
	w.first = one < spec->scales ? one : 0;
	w.count = one < spec->scales || !joint ? 1 : spec->scales;
	w.re = FC_TAKE(arena, fc_spec_moments(spec), double);
	w.im = FC_TAKE(arena, fc_spec_moments(spec), double);
	w.omega = FC_TAKE(arena, w.count * spec->frequencies * n, float);
	w.mean = FC_TAKE(arena, n, double);
	w.stddev = FC_TAKE(arena, n, double);
	w.lower = FC_TAKE(arena, n, double);
	w.upper = FC_TAKE(arena, n, double);
	w.initial = FC_TAKE(arena, parts->initial_count * n, double);
	w.scaled = FC_TAKE(arena, parts->initial_count > 0 ? spec->dim : 0, double);
	set_moments(sketch, arena, &w, problem);
	set_statistics(sketch, &w, problem);
	problem->sample_centroids = fc_spec_sample_centroids(spec);
	problem->sample_centroid_count = spec->sample_centroids;
	if (parts->pilot != NULL && parts->pilot->pilot_rows > 0)
	{
		problem->pilot = fc_spec_pilot(parts->pilot);
		problem->pilot_weight = fc_spec_pilot_weight(parts->pilot);
		problem->pilot_rows = parts->pilot->pilot_rows;
	}
	if (parts->initial_count > 0)
		set_initial(spec, parts, &w, problem);
}

double
fc_problem_deviation(const fc_problem *problem)
{
	double		sum = 0;

	for (size_t l = 0; l < problem->n; l++)
		sum += problem->stddev[l] * problem->stddev[l];
	return sqrt(sum / (double) problem->n);
}
