/* fuzz_spec_value.h - valid specs for the fuzzers of specs and sketches */
#ifndef FUZZ_SPEC_VALUE_H
#define FUZZ_SPEC_VALUE_H

#include "sketch/spec.h"

/*
 * Writes a small spec whose law, flags, numbers of scales and of centroids
 * depend on the seed, with `sample_rows` sample rows.  Returns its size.
 */
static size_t
write_spec(void *bytes, unsigned int seed, uint32_t sample_rows)
{
	fc_spec    *spec = bytes;
	double	   *numbers = (double *) (spec + 1);
	uint32_t	dim = 1 + seed % 5;
	size_t		size;

	memset(spec, 0, sizeof(fc_spec));
	spec->version = FC_SPEC_VERSION;
	spec->law = (uint8_t) (seed % FC_LAWS);
	spec->flags = (uint8_t) (seed / 4 % 16);
	if (dim == 1)
		spec->flags &= (uint8_t) ~FC_SPEC_PROJECTED;
	spec->dim = dim;
	spec->reduced = (spec->flags & FC_SPEC_PROJECTED) ? dim - 1 : dim;
	spec->frequencies = 1 + seed % 7;
	spec->scales = 1 + seed / 8 % 2;
	spec->sample_rows = sample_rows;
	spec->sample_centroids = seed / 2 % 3;
	spec->sigma = 0.5;
	size = fc_spec_size(spec);
	memset(numbers, 0, size - sizeof(fc_spec));
	for (uint32_t i = 0; i < dim; i++)
	{
		numbers[i] = -3.5;
		if (spec->flags & FC_SPEC_SCALED)
			numbers[dim + i] = 2.0;
	}
	numbers = numbers + dim * ((spec->flags & FC_SPEC_SCALED) ? 2u : 1u);
	for (uint32_t i = 0; i < spec->scales; i++)
		numbers[i] = 0.5 * (i + 1);
	if (spec->flags & FC_SPEC_PROJECTED)
		for (uint32_t r = 0; r < spec->reduced; r++)
			((float *) (numbers + spec->scales))[r * dim + r] = 1.0f;
	for (uint32_t i = 0; i < sample_rows; i++)
		((double *) ((char *) bytes + fc_spec_core_size(spec)))[i] = 1.0;
	fc_spec_seal(spec);
	return size;
}

/*
 * Recomputes the digest of a spec if its header is valid and its numbers fit
 * into `size` bytes.
 */
static void
seal_if_it_fits(void *bytes, size_t size)
{
	const fc_spec *spec = bytes;

	if (size >= sizeof(fc_spec) && spec->dim <= FC_MAX_DIM && spec->reduced <= FC_MAX_DIM &&
		spec->scales <= FC_MAX_SCALES && fc_spec_core_size(spec) <= size)
		fc_spec_seal(bytes);
}

#endif							/* FUZZ_SPEC_VALUE_H */
