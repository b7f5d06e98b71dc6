/* fuzz_sketch.c - fuzzes the check and the readers of sketches */
#include "fuzz.h"
#include "fuzz_spec_value.h"
#include "sketch/sketch.h"

static size_t
make_value(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	double		space[512];
	fc_spec    *spec = (fc_spec *) space;

	write_spec(space, seed, 0);
	if (fc_sketch_size(spec, FC_SKETCH_BOUNDS, 0) > capacity)
		return 0;
	fc_sketch_init(spec, FC_SKETCH_BOUNDS, 0, (fc_sketch *) bytes);
	return fc_sketch_bytes((fc_sketch *) bytes);
}

/*
 * Recomputes the digest of the spec in the sketch, which is the only digest.
 */
static void
reseal(uint8_t *bytes, size_t size)
{
	if (size > sizeof(fc_sketch))
		seal_if_it_fits(bytes + sizeof(fc_sketch), size - sizeof(fc_sketch));
}

static fc_status
check(const void *bytes, size_t size)
{
	return fc_sketch_check(bytes, size);
}

static void
read_all(const fc_sketch_view *sketch)
{
	double	   *re = unit_uncleared(sketch->moments * sizeof(double));
	double	   *im = unit_uncleared(sketch->moments * sizeof(double));

	for (size_t i = 0; i < sketch->tracked; i++)
		fuzz_sink += fc_sketch_mean(sketch, i) + fc_sketch_variance(sketch, i);
	fc_sketch_moments(sketch, re, im);
	for (size_t j = 0; j < sketch->moments; j++)
		fuzz_sink += re[j] + im[j];
	*re = fc_sketch_similarity(sketch, sketch);
	*im = fc_sketch_distance(sketch, sketch);
	fuzz_sink += fc_sketch_total_weight(sketch) + fc_sketch_weight2(sketch) + *re + *im;
}

/*
 * Adds the sketch to itself, which may fail with an overflow but must give a
 * readable sketch otherwise.  Subtracts it from itself, which must leave no rows.
 */
static void
use(const void *bytes, size_t size)
{
	fc_sketch_view sketch = fc_sketch_view_of(bytes);
	fc_sketch  *copy = unit_uncleared(size);
	fc_sketch_view twice;

	if (fc_sketch_bytes(bytes) != size)
		abort();
	read_all(&sketch);
	memcpy(copy, bytes, size);
	twice = fc_sketch_view_of(copy);
	if (fc_sketch_combine(&twice, &sketch, 1) == FC_OK)
		read_all(&twice);
	memcpy(copy, bytes, size);
	if (fc_sketch_combine(&twice, &sketch, -1) == FC_OK && copy->count != 0)
		abort();
}
