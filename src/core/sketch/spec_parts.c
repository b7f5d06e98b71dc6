/* build.c - a spec out of its parts; its parts, from a sample of rows; see build.h */
#include "sketch/spec_parts.h"

#include <math.h>
#include <string.h>

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
		memcpy((void *) (uintptr_t) array, from, bytes);
}

fc_status
fc_spec_build(const fc_spec_parts *parts, fc_spec *spec)
{
	size_t		size = fc_spec_parts_size(parts);
	size_t		n = parts->reduced;

	memset(spec, 0, size);
	*spec = fixed_fields(parts);
	for (size_t i = 0; parts->center != NULL && i < parts->dim; i++)
		((double *) (uintptr_t) fc_spec_center(spec))[i] = parts->center[i] + 0.0;	/* -0 and 0 are one value */
	fill(fc_spec_scale(spec), parts->scale, parts->dim * sizeof(double));
	fill(fc_spec_sigmas(spec), parts->sigmas, parts->scales * sizeof(double));
	fill(fc_spec_basis(spec), parts->basis, parts->dim * n * sizeof(float));
	fill(fc_spec_sample_centroids(spec), parts->sample_centroids, parts->sample_centroid_count * n * sizeof(float));
	fill(fc_spec_pilot_weight(spec), parts->pilot_weight, parts->pilot_rows * sizeof(double));
	fill(fc_spec_pilot(spec), parts->pilot, parts->pilot_rows * n * sizeof(float));
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
