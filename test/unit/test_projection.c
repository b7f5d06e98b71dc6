/* test_projection.c - a row times the basis of a projection: one chain of multiply-adds a column, on each instruction set */
#include "sketch/isa.h"
#include "specs.h"

/* Column r of the reduced coordinates of x, in the order of the dimensions. */
static double
column_of(const fc_prepared *prepared, const double *x, size_t r, bool fused)
{
	size_t		c = r / FC_BASIS_TILE * FC_BASIS_TILE;
	double		sum = 0;

	for (size_t i = 0; i < prepared->d; i++)
	{
		double		t = (x[i] - prepared->center[i]) * prepared->inverse_scale[i];
		double		b = prepared->basis[c * prepared->d + i * fc_basis_tile(prepared, c) + r - c];

		sum = fused ? fma(t, b, sum) : sum + t * b;
	}
	return sum;
}

static void
test_instruction_set(const char *name, fc_prepared *prepared, const double *x, const float *floats)
{
	bool		plain = strcmp(name, "baseline") == 0;	/* may fuse, or not */
	const double *reduced = prepared->projected;
	float	   *y = unit_alloc(prepared->n + FC_PAD, sizeof(float));
	float	   *same = unit_alloc(prepared->n, sizeof(float));

	prepared->isa = fc_sketch_isa_named(name);
	if (prepared->isa != NULL)
	{
		CHECK(prepared->isa->prepare(prepared, &(fc_row) {.doubles = x}, y) == FC_ROW_NEAR, "%s: far", name);
		for (size_t r = 0; r < prepared->n; r++)
		{
			double		expected = column_of(prepared, x, r, true);

			if (plain && reduced[r] != expected)
				expected = column_of(prepared, x, r, false);
			CHECK(reduced[r] == expected && y[r] == (float) expected, "%s: column %zu of %zu: %.17g, expected %.17g", name, r, prepared->n,
				  reduced[r], expected);
		}
		memcpy(same, y, prepared->n * sizeof(float));
		CHECK(prepared->isa->prepare(prepared, &(fc_row) {.floats = floats}, y) == FC_ROW_NEAR, "%s: far floats", name);
		for (size_t r = 0; r < prepared->n; r++)
			CHECK(y[r] == same[r], "%s: column of floats %zu of %zu: %.9g, expected %.9g", name, r, prepared->n, (double) y[r], reduced[r]);
	}
}

/* Of length 1. */
static void
fill_row(float *row, size_t d, fc_rng *rng)
{
	double		square = 0;

	for (size_t i = 0; i < d; i++)
	{
		row[i] = (float) fc_rng_normal(rng);
		square += (double) row[i] * (double) row[i];
	}
	for (size_t i = 0; i < d; i++)
		row[i] = (float) ((double) row[i] / sqrt(square));
}

/* d dimensions, n after projection, a basis without zeros */
static void
test_width(uint32_t d, uint32_t n)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = d, .reduced = n, .frequencies = 8, .law = FC_LAW_GAUSSIAN, .scaled = true, .sigma = 3});
	double	   *x = unit_uncleared(d * sizeof(double));
	float	   *floats = unit_uncleared(d * sizeof(float));
	fc_rng		rng = fc_rng_start(7, n);
	ready		made;

	for (uint32_t i = 0; i < d; i++)
		x[i] = floats[i] = (float) fc_rng_normal(&rng);
	for (uint32_t r = 0; r < n; r++)
		fill_row((float *) fc_spec_basis(spec) + r * d, d, &rng);
	fc_spec_seal(spec);
	made = make_ready(spec);
	test_instruction_set("x86-64-v4", &made.prepared, x, floats);
	test_instruction_set("x86-64-v3", &made.prepared, x, floats);
	test_instruction_set("baseline", &made.prepared, x, floats);
}

int
main(void)
{
	for (uint32_t n = 1; n <= 140; n += n < 24 ? 1 : 13)
		test_width(149, n);
	test_width(3, 2);
	return unit_finish();
}
