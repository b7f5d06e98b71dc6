/*
 * test_sparse.c - half floats convert exactly; rows of halves and sparse rows
 * give the bytes that the same numbers give as doubles, for each instruction
 * set
 */
#include "base/simd.h"
#include "sketch/isa.h"
#include "specs.h"

#define ROWS 150

/*
 * Returns the value of sign, exponent and fraction by the definition of
 * binary16.
 */
static double
half_by_definition(uint32_t half)
{
	int			exponent = (int) (half >> 10 & 31);
	double		fraction = (double) (half & 1023) / 1024.0;
	double		magnitude = exponent == 0 ? ldexp(fraction, -14) : exponent < 31 ? ldexp(1.0 + fraction, exponent - 15)
		: fraction == 0.0 ? INFINITY : NAN;

	return half & 0x8000 ? -magnitude : magnitude;
}

/* All 65536 halves convert exactly, at unaligned addresses. */
static void
test_halves(void)
{
	uint16_t   *halves = unit_alloc(65537, sizeof(uint16_t));
	float	   *floats = unit_alloc(65536, sizeof(float));

	for (uint32_t h = 0; h < 65536; h++)
		halves[h] = (uint16_t) h;
	memmove((char *) halves + 1, halves, 65536 * sizeof(uint16_t));
	fc_widen_halves((char *) halves + 1, 65536, floats);
	for (uint32_t h = 0; h < 65536; h++)
	{
		double		expected = half_by_definition(h);

		CHECK(isnan(expected) ? isnan(floats[h]) : (double) floats[h] == expected && !signbit(floats[h]) == !(h & 0x8000), "half %x is %g", h, (double) floats[h]);
	}
}

/* Makes rows of halves in which most elements are 0, and one row of zeros. */
static void
make_rows(size_t d, uint16_t *halves, double *x)
{
	fc_rng		rng = fc_rng_start(7, d);

	for (size_t i = 0; i < ROWS * d; i++)
	{
		uint32_t	bits = fc_rng_word(&rng);

		halves[i] = i / d == 3 || bits % 8 != 0 ? 0 : (uint16_t) ((0x3800 + (bits >> 8) % 0x900) | (bits >> 16 & 0x8000));
		x[i] = (double) fc_float_of_half(halves[i]);
	}
}

static fc_sparse_row
sparse_of(const double *x, size_t d, uint32_t *indices, double *values)
{
	fc_sparse_row row = {indices, values, 0};

	for (size_t i = 0; i < d; i++)
		if (x[i] != 0.0)
		{
			indices[row.count] = (uint32_t) i;
			values[row.count++] = x[i];
		}
	return row;
}

enum
{
	DOUBLES,
	HALVES,
	SPARSE,
	MIXED,
	KINDS
};

static fc_sketch *
sketch_of(const fc_prepared *prepared, const double *x, const uint16_t *halves, int kind, bool weighted)
{
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED | (weighted ? FC_SKETCH_WEIGHTED : 0), prepared->batch);
	size_t		d = prepared->d;
	uint32_t   *indices = unit_alloc(d, sizeof(uint32_t));
	double	   *values = unit_alloc(d, sizeof(double));

	for (size_t r = 0; r < ROWS; r++)
	{
		fc_sparse_row sparse = sparse_of(x + r * d, d, indices, values);
		int			form = kind == MIXED ? (int) (r % 3) : kind;
		fc_row		row = {.weight = weighted && r % 4 ? 5 * FC_ONE_WEIGHT / 8 : FC_ONE_WEIGHT};

		if (form == DOUBLES)
			row.doubles = x + r * d;
		else if (form == HALVES)
			row.halves = halves + r * d;
		else
			row.sparse = &sparse;
		CHECK(fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_OK, "row %zu", r);
		if (r % 50 == 20)		/* out and in again */
			CHECK(fc_sketch_subtract_row(prepared, &row, VIEW(sketch)) == FC_OK && fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_OK, "row %zu", r);
	}
	return close_sketch(prepared, sketch);
}

/*
 * Sketches of halves, of sparse rows and of a mixture equal the sketch of
 * doubles.
 */
static void
test_sketches(const spec_wish *wish, bool centered)
{
	static const char *const names[] = {"baseline", "x86-64-v3", "x86-64-v4"};
	fc_spec    *spec = make_spec(*wish);
	uint16_t   *halves = unit_alloc(ROWS * wish->dim, sizeof(uint16_t));
	double	   *x = unit_alloc(ROWS * wish->dim, sizeof(double));
	ready		made;

	if (!centered)
		memset((double *) fc_spec_center(spec), 0, wish->dim * sizeof(double));
	fc_spec_seal(spec);
	made = make_ready(spec);
	CHECK(made.prepared.zeros_vanish == (!centered && !made.prepared.raw_rows), "zeros of sparse rows are skipped wrongly");
	make_rows(wish->dim, halves, x);
	for (int k = 0; k < 3; k++)
		for (int weighted = 0; weighted < 2 && fc_sketch_isa_named(names[k]) != NULL; weighted++)
		{
			fc_sketch  *expected;

			made.prepared.isa = fc_sketch_isa_named(names[k]);
			expected = sketch_of(&made.prepared, x, halves, DOUBLES, weighted);
			for (int kind = HALVES; kind < KINDS; kind++)
			{
				fc_sketch  *sketch = sketch_of(&made.prepared, x, halves, kind, weighted);

				CHECK(same_sketch(expected, sketch), "%s: d %u, kind %d, weighted %d", names[k], wish->dim, kind, weighted);
			}
		}
}

int
main(void)
{
	static const spec_wish wishes[] = {
		{.dim = 3, .frequencies = 40, .law = FC_LAW_GAUSSIAN, .sigma = 1},
		{.dim = 37, .frequencies = 50, .law = FC_LAW_GAUSSIAN, .sigma = 1, .structured = true},
		{.dim = 60, .reduced = 8, .frequencies = 64, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1.5},
		{.dim = 90, .reduced = 37, .frequencies = 64, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1.5, .scaled = true},
		{.dim = 300, .frequencies = 33, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 5, .scales = 3},
		{.dim = 300, .frequencies = 70, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 5}
	};

	test_halves();
	for (size_t w = 0; w < sizeof(wishes) / sizeof(wishes[0]); w++)
	{
		test_sketches(&wishes[w], false);
		test_sketches(&wishes[w], true);
	}
	return unit_finish();
}
