/* build.c - a spec out of its parts; its parts, from a sample of rows; see build.h */
#include "sketch/build.h"

#include <math.h>
#include <string.h>

#include "base/pieces.h"
#include "base/sizes.h"
#include "sketch/pilot.h"

#define MOMENTS_PER_UNKNOWN	5	/* frequencies for each of the k n coordinates of the centroids */
#define LEAST_FREQUENCIES	128

/* The fixed fields; sizes depend on nothing else. */
static fc_spec
fixed_fields(const fc_spec_parts *parts)
{
	int			flags = (parts->structured ? FC_SPEC_STRUCTURED : 0) | (parts->scale ? FC_SPEC_SCALED : 0) |
		(parts->basis ? FC_SPEC_PROJECTED : 0) | (parts->cosine ? FC_SPEC_COSINE : 0);

	return (fc_spec) {.version = FC_SPEC_VERSION,.law = (uint8_t) parts->law,.flags = (uint8_t) flags,.dim = (uint32_t) parts->dim,
	.reduced = (uint32_t) parts->reduced,.frequencies = (uint32_t) parts->frequencies,.scales = (uint32_t) parts->scales,
	.clusters = (uint32_t) parts->clusters,.pilot_rows = (uint32_t) parts->pilot_rows,
	.sample_centroids = (uint32_t) parts->sample_centroid_count,.seed = parts->seed,.sigma = parts->sigmas ? parts->sigmas[0] : 0};
}

size_t
fc_spec_parts_size(const fc_spec_parts *parts)
{
	fc_spec		fixed = fixed_fields(parts);

	return fc_spec_size(&fixed);
}

/* Fill an array of a spec under construction; from is NULL where the spec has none. */
static void
fill(const void *array, const void *from, size_t bytes)
{
	if (from != NULL)
		fc_copy_pieces((void *) (uintptr_t) array, from, bytes);
}

static void
fill_arrays(const fc_spec_parts *parts, fc_spec *spec)
{
	size_t		n = parts->reduced;

	for (size_t i = 0; parts->center != NULL && i < parts->dim; i++)
		((double *) (uintptr_t) fc_spec_center(spec))[i] = parts->center[i] + 0.0;	/* -0 and 0 are one value */
	fill(fc_spec_scale(spec), parts->scale, parts->dim * sizeof(double));
	fill(fc_spec_sigmas(spec), parts->sigmas, parts->scales * sizeof(double));
	fill(fc_spec_basis(spec), parts->basis, parts->dim * n * sizeof(float));
	fill(fc_spec_sample_centroids(spec), parts->sample_centroids, parts->sample_centroid_count * n * sizeof(float));
	fill(fc_spec_pilot_weight(spec), parts->pilot_weight, parts->pilot_rows * sizeof(double));
	fill(fc_spec_pilot(spec), parts->pilot, parts->pilot_rows * n * sizeof(float));
}

fc_status
fc_spec_build(const fc_spec_parts *parts, fc_spec *spec)
{
	size_t		size = fc_spec_parts_size(parts);

	fc_clear_pieces(spec, size);
	*spec = fixed_fields(parts);
	fill_arrays(parts, spec);
	fc_spec_seal(spec);
	return fc_spec_check(spec, size);
}

fc_spec_parts
fc_spec_parts_of(const fc_spec *spec)
{
	return (fc_spec_parts) {.dim = spec->dim,.reduced = spec->reduced,.frequencies = spec->frequencies,.scales = spec->scales,
	.clusters = spec->clusters,.pilot_rows = spec->pilot_rows,.sample_centroid_count = spec->sample_centroids,
	.law = (fc_law) spec->law,.structured = (spec->flags & FC_SPEC_STRUCTURED) != 0,.cosine = (spec->flags & FC_SPEC_COSINE) != 0,.seed = spec->seed,
	.center = fc_spec_center(spec),.scale = fc_spec_scale(spec),.sigmas = fc_spec_sigmas(spec),.basis = fc_spec_basis(spec),
	.sample_centroids = fc_spec_sample_centroids(spec),.pilot_weight = fc_spec_pilot_weight(spec),.pilot = fc_spec_pilot(spec)};
}

void
fc_spec_parts_in_units(fc_spec_parts *parts, double *center, double *scale)
{
	for (size_t i = 0; i < parts->dim; i++)
	{
		center[i] += scale[i] * parts->center[i];
		scale[i] *= parts->scale != NULL ? parts->scale[i] : 1.0;
	}
	parts->center = center;
	parts->scale = scale;
}

void
fc_spec_user_frequency(const fc_spec *spec, const float *omega, double *row)
{
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	size_t		d = spec->dim;

	for (size_t i = 0; i < d; i++)
		row[i] = basis == NULL ? (double) omega[i] : 0.0;
	for (size_t r = 0; basis != NULL && r < spec->reduced; r++)
		for (size_t i = 0; i < d; i++)
			row[i] += (double) omega[r] * (double) basis[r * d + i];
	for (size_t i = 0; i < d; i++)
		row[i] = row[i] / spec->sigma / (scale ? scale[i] : 1.0);
}

/* ---- from a sample ---- */

static fc_pilot_options
pilot_options(size_t d, const fc_spec_options *options)
{
	return (fc_pilot_options) {options->clusters, smaller(options->dimensions, d), options->seed};
}

static void
take_found(fc_arena *arena, size_t rows, size_t d, const fc_spec_options *options, fc_pilot_result *found, double **sigmas)
{
	fc_pilot_options pilot = pilot_options(d, options);
	size_t		n = fc_pilot_dimensions(d, &pilot);

	found->center = FC_TAKE(arena, d, double);
	found->basis = FC_TAKE(arena, n * d, float);
	found->reduced = FC_TAKE(arena, rows * n, float);
	found->sample_centroids = FC_TAKE(arena, fc_pilot_sample_centroid_limit(&pilot) * n, float);
	*sigmas = FC_TAKE(arena, larger(options->scale_count, 1), double);
}

size_t
fc_spec_choose_size(size_t rows, size_t d, const fc_spec_options *options)
{
	fc_arena	measure = fc_arena_measure();
	fc_pilot_result found;
	double	   *sigmas;

	take_found(&measure, rows, d, options, &found, &sigmas);
	return fc_arena_measured(&measure);
}

size_t
fc_spec_choose_worksize(size_t rows, size_t d, const fc_spec_options *options)
{
	fc_pilot_options pilot = pilot_options(d, options);

	return fc_pilot_worksize(larger(rows, 1), d, &pilot);
}

size_t
fc_spec_chosen_size(size_t rows, size_t d, const fc_spec_options *options)
{
	fc_pilot_options pilot = pilot_options(d, options);
	fc_spec		fixed = {.flags = FC_SPEC_PROJECTED,.dim = (uint32_t) d,.reduced = (uint32_t) fc_pilot_dimensions(d, &pilot),
		.scales = (uint32_t) larger(options->scale_count, 1),.pilot_rows = (uint32_t) smaller(rows, options->pilot_rows),
	.sample_centroids = (uint32_t) fc_pilot_sample_centroid_limit(&pilot)};

	return fc_spec_size(&fixed);
}

/* Points in units of 2^exponent become points in units of sigma. */
static void
divide_by_sigma(float *points, size_t coordinates, int exponent, double sigma)
{
	int			shift;
	double		fraction = frexp(sigma, &shift);
	size_t		done = 0;

	for (size_t i = 0; i < coordinates; i++)
	{
		points[i] = (float) (ldexp((double) points[i], exponent - shift) / fraction);
		fc_check_every(&done, 8);
	}
}

/* by = basis center 2^-exponent (n); the center itself without a basis. */
static void
project_center(const fc_pilot_result *found, size_t d, double *by)
{
	size_t		done = 0;

	for (size_t c = 0; c < found->n; c++)
	{
		by[c] = found->n < d ? 0.0 : found->center[c];
		for (size_t i = 0; found->n < d && i < d; i++)
			by[c] += (double) found->basis[c * d + i] * found->center[i];
		by[c] = ldexp(by[c], -found->exponent);
		fc_check_every(&done, d);
	}
}

static void
shift_points(float *points, size_t count, size_t n, const double *by)
{
	for (size_t i = 0; i < count; i++)
		for (size_t c = 0; c < n; c++)
			points[i * n + c] = (float) ((double) points[i * n + c] + by[c]);
}

/* What was found about the mean, now about 0. */
static void
move_to_origin(size_t rows, size_t d, fc_arena *work, fc_pilot_result *found)
{
	fc_mark		used = fc_arena_mark(work);
	double	   *by = FC_TAKE(work, found->n, double);

	project_center(found, d, by);
	shift_points(found->sample_centroids, found->sample_centroid_count, found->n, by);
	shift_points(found->reduced, rows, found->n, by);
	memset(found->center, 0, d * sizeof(double));
	fc_arena_release(work, used);
}

static void
set_sigmas(double sigma, const fc_spec_options *options, double *sigmas)
{
	sigmas[0] = sigma;
	for (size_t i = 0; i < options->scale_count; i++)
		sigmas[i] = sigma * options->scales[i];
}

static fc_spec_parts
parts_of_pilot(size_t rows, size_t d, const fc_spec_options *options, const fc_pilot_result *found)
{
	size_t		n = found->n;
	size_t		unknowns = options->clusters * n;

	return (fc_spec_parts) {.dim = d,.reduced = n,.clusters = options->clusters,.law = options->law,.seed = options->seed,
	.frequencies = options->frequencies > 0 ? options->frequencies :
		smaller(larger(MOMENTS_PER_UNKNOWN * unknowns, LEAST_FREQUENCIES), FC_MAX_MOMENTS),
	.scales = larger(options->scale_count, 1),
	.structured = options->structure == FC_STRUCTURE_AUTO ? n >= FC_STRUCTURED_CROSSOVER : options->structure == FC_STRUCTURE_ON,
	.cosine = options->cosine,
	.center = found->center,.basis = n < d ? found->basis : NULL,
	.sample_centroids = found->sample_centroids,.sample_centroid_count = found->sample_centroid_count,
	.pilot = found->reduced,.pilot_rows = smaller(rows, options->pilot_rows)};
}

fc_status
fc_spec_choose(const double *x, const double *weight, size_t rows, size_t d, const fc_spec_options *options,
			   fc_arena *work, fc_arena *found, fc_spec_parts *parts)
{
	fc_pilot_options pilot = pilot_options(d, options);
	fc_pilot_result result = {0};
	double	   *sigmas;
	fc_status	status;

	take_found(found, rows, d, options, &result, &sigmas);
	status = fc_pilot(x, weight, rows, d, &pilot, work, &result);
	if (status == FC_OK && options->zero_center)
		move_to_origin(rows, d, work, &result);
	if (status != FC_OK)
		return status;
	*parts = parts_of_pilot(rows, d, options, &result);
	set_sigmas(options->sigma > 0 ? options->sigma : result.sigma, options, sigmas);
	parts->sigmas = sigmas;
	parts->pilot_weight = weight;
	divide_by_sigma(result.sample_centroids, result.sample_centroid_count * result.n, result.exponent, sigmas[0]);
	if (status == FC_OK)
		divide_by_sigma(result.reduced, rows * result.n, result.exponent, sigmas[0]);
	return status;
}
