/*
 * specs.h - helpers of the unit tests: specs, prepared specs and sketches on
 * the heap
 */
#ifndef SPECS_H
#define SPECS_H

#include "sketch/sketch.h"
#include "unit.h"

typedef struct spec_wish
{
	uint32_t	dim;
	uint32_t	reduced;		/* dimensions after projection; 0: dim */
	uint32_t	frequencies;
	uint32_t	scales;			/* number of scales; 0: one */
	fc_law		law;
	bool		structured;
	bool		scaled;
	double		sigma;
	uint64_t	seed;
} spec_wish;

/*
 * Makes a spec with center 0.25 (i mod 4), scale 1 + i / 8, the leading axes
 * as basis, and scales sigma, 2 sigma, ...
 */
static inline fc_spec *
make_spec(spec_wish wish)
{
	fc_spec		fixed = {0};
	fc_spec    *spec;

	fixed.version = FC_SPEC_VERSION;
	fixed.law = (uint8_t) wish.law;
	fixed.dim = wish.dim;
	fixed.reduced = wish.reduced ? wish.reduced : wish.dim;
	fixed.flags = (uint8_t) ((wish.structured ? FC_SPEC_STRUCTURED : 0) | (wish.scaled ? FC_SPEC_SCALED : 0) |
							 (fixed.reduced < wish.dim ? FC_SPEC_PROJECTED : 0));
	fixed.frequencies = wish.frequencies;
	fixed.scales = wish.scales ? wish.scales : 1;
	fixed.seed = wish.seed;
	fixed.sigma = wish.sigma;
	spec = unit_alloc(1, fc_spec_size(&fixed));
	*spec = fixed;
	for (uint32_t i = 0; i < wish.dim; i++)
	{
		((double *) fc_spec_center(spec))[i] = 0.25 * (i % 4);
		if (wish.scaled)
			((double *) fc_spec_scale(spec))[i] = 1 + i / 8.0;
	}
	for (uint32_t s = 0; s < fixed.scales; s++)
		((double *) fc_spec_sigmas(spec))[s] = wish.sigma * (s + 1);
	for (uint32_t r = 0; fc_spec_basis(spec) != NULL && r < fixed.reduced; r++)
		((float *) fc_spec_basis(spec))[r * wish.dim + r] = 1;
	fc_spec_seal(spec);
	return spec;
}

typedef struct ready
{
	fc_prepared	prepared;
	fc_arena	arena;
} ready;

static inline ready
make_ready(const fc_spec *spec)
{
	ready		made;

	made.arena = unit_arena();
	fc_spec_prepare(spec, &made.arena, &made.prepared);
	return made;
}

/* Views a sketch for one call. */
#define VIEW(sketch) ((fc_sketch_view[1]) {fc_sketch_view_of(sketch)})

static inline fc_sketch *
new_sketch(const fc_spec *spec, uint8_t flags, size_t capacity)
{
	fc_sketch  *sketch = unit_uncleared(fc_sketch_size(spec, flags, capacity));

	fc_sketch_init(spec, flags, capacity, sketch);
	return sketch;
}

/* Adds the pending rows and returns a closed copy of the sketch. */
static inline fc_sketch *
close_sketch(const fc_prepared *prepared, fc_sketch *open)
{
	fc_status	status = fc_sketch_fold(prepared, VIEW(open));
	uint8_t		flags = fc_sketch_is_unit(VIEW(open)) ? 0 : FC_SKETCH_WEIGHTED;
	fc_sketch  *closed = unit_uncleared(fc_sketch_size(prepared->spec, flags, 0));

	CHECK(status == FC_OK, "fold status %d", (int) status);
	fc_sketch_convert(VIEW(open), flags, 0, closed);
	return closed;
}

static inline bool
same_sketch(const fc_sketch *a, const fc_sketch *b)
{
	return fc_sketch_bytes(a) == fc_sketch_bytes(b) && memcmp(a, b, fc_sketch_bytes(a)) == 0;
}

#endif							/* SPECS_H */
