/* fuzz_spec.c - fuzzes the check and the readers of sketch_spec */
#include "fuzz.h"
#include "fuzz_spec_value.h"

static size_t
make_value(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	return capacity < 4096 ? 0 : write_spec(bytes, seed, seed % 3);
}

static void
reseal(uint8_t *bytes, size_t size)
{
	seal_if_it_fits(bytes, size);
}

static fc_status
check(const void *bytes, size_t size)
{
	return fc_spec_check(bytes, size);
}

/*
 * Reads the sample rows, and checks that all frequencies of a small spec are
 * between -1e6 and 1e6.
 */
static void
use(const void *bytes, size_t size)
{
	const fc_spec *spec = bytes;
	size_t		floats = (size_t) spec->frequencies * spec->reduced;
	float	   *omega;

	if (fc_spec_size(spec) != size || !fc_spec_same(spec, spec))
		abort();
	for (size_t i = 0; i < (size_t) spec->sample_rows * spec->reduced; i++)
		fuzz_sink += (double) fc_spec_sample(spec)[i];
	if (floats > 100000)
		return;
	omega = unit_uncleared(floats * sizeof(float));
	fc_frequencies(spec, unit_work(), omega);
	for (size_t i = 0; i < floats; i++)
		if (!(omega[i] > -1e6f && omega[i] < 1e6f))
			abort();
}
