/*
 * test_frequency.c - frequencies depend only on the spec and follow their
 * laws, structured ones too. Projected rows are one chain of multiply-adds per
 * column, to the bit, for each instruction set.
 */
#include "sketch/isa.h"
#include "specs.h"

#define M 40000

/* Philox4x32-10 gives the known answers of Random123 (kat_vectors). */
static void
test_philox(void)
{
	const uint32_t zero[4] = {0, 0, 0, 0};
	const uint32_t ones[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
	const uint32_t want[3][4] = {
		{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}
	};
	uint32_t	block[3][4];

	fc_philox(0, zero, block[0]);
	fc_philox(UINT64_MAX, ones, block[1]);
	fc_philox(UINT64_C(0x299f31d0a4093822), pi, block[2]);
	for (int i = 0; i < 3; i++)
		CHECK(memcmp(block[i], want[i], sizeof(block[i])) == 0, "vector %d: %08x", i, block[i][0]);
}

/*
 * Mean, mean square and deciles of |omega| agree with the law, each within
 * about five standard errors.
 */
static void
test_law(fc_law law, bool structured, uint32_t n, double mean, double square, const double decile[3])
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = n, .frequencies = M, .law = law, .structured = structured, .sigma = 1, .seed = 5});
	float	   *omega = unit_uncleared((size_t) M * n * sizeof(float));
	double	   *radius = unit_uncleared(M * sizeof(double));
	double	   *axis = unit_alloc(n, sizeof(double));
	double		sum = 0;
	double		squares = 0;

	fc_frequencies(spec, unit_work(), omega);
	for (size_t j = 0; j < M; j++)
	{
		double		r2 = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			double		w = (double) omega[j * n + i];

			r2 += w * w;
			axis[i] += w * w / M;
		}
		radius[j] = sqrt(r2);
		sum += radius[j] / M;
		squares += r2 / M;
	}
	qsort(radius, M, sizeof(double), unit_compare);
	CHECK(fabs(sum / mean - 1) < 0.02, "law %d: E R = %g, not %g", (int) law, sum, mean);
	CHECK(fabs(squares / square - 1) < 0.03, "law %d: E R^2 = %g, not %g", (int) law, squares, square);
	for (int q = 0; decile != NULL && q < 3; q++)
		CHECK(fabs(radius[M * (1 + 4 * q) / 10] / decile[q] - 1) < 0.03, "law %d decile %d: %g", (int) law, q, radius[M * (1 + 4 * q) / 10]);
	for (uint32_t i = 0; i < n; i++)
		CHECK(fabs(axis[i] / (square / n) - 1) < (structured ? 0.25 : 0.1), "law %d axis %u carries %g", (int) law, i, axis[i] / (square / n));
}

/*
 * The fast transform of the kernel agrees with the frequencies as a matrix, to
 * 3e-6.
 */
static void
test_structured_is_its_matrix(void)
{
	const uint32_t sizes[] = {3, 17, 33, 64, 100};

	for (int s = 0; s < 5; s++)
	{
		uint32_t	n = sizes[s];
		fc_spec    *spec = make_spec((spec_wish) {.dim = n, .frequencies = 70, .law = FC_LAW_ADAPTED_RADIUS, .structured = true, .sigma = 1});
		ready		made = make_ready(spec);
		float	   *omega = unit_uncleared(70 * n * sizeof(float));
		double	   *x = unit_normals(n, 0.0, 1, 3);
		fc_sketch  *sketch = new_sketch(spec, FC_SKETCH_UNPACKED, 1);
		fc_row		row = {.doubles = x, .weight = FC_ONE_WEIGHT};
		double		re[140];

		fc_frequencies(spec, unit_work(), omega);
		CHECK(fc_sketch_add(&made.prepared, &row, VIEW(sketch)) == FC_OK, "add");
		fc_sketch_moments(VIEW(sketch), re, re + 70);
		for (size_t j = 0; j < 70; j++)
		{
			double		angle = 0;

			for (uint32_t i = 0; i < n; i++)
				angle += (double) omega[j * n + i] * (x[i] - fc_spec_center(spec)[i]);
			CHECK(fabs(cos(angle) - re[j]) < 3e-6 && fabs(sin(angle) - re[70 + j]) < 3e-6, "n %u frequency %zu", n, j);
		}
	}
}

/*
 * A frequency does not depend on the number of frequencies or on sigma, but on
 * the seed.
 */
static void
test_pure(void)
{
	fc_spec    *few = make_spec((spec_wish) {.dim = 5, .frequencies = 10, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 1, .seed = 9});
	fc_spec    *many = make_spec((spec_wish) {.dim = 5, .frequencies = 100, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 7, .seed = 9});
	fc_spec    *other = make_spec((spec_wish) {.dim = 5, .frequencies = 10, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 1, .seed = 10});
	float		a[50];
	float		b[500];
	float		c[50];

	fc_frequencies(few, NULL, a);
	fc_frequencies(many, NULL, b);
	fc_frequencies(other, NULL, c);
	CHECK(memcmp(a, b, sizeof(a)) == 0, "frequencies depend on their number or sigma");
	CHECK(memcmp(a, c, sizeof(a)) != 0, "seed has no effect");
	CHECK(!fc_spec_same(few, other) && fc_spec_same(few, few), "specs with different seeds are the same");
}

/*
 * Returns column r of the reduced coordinates of x, added up in the order of
 * the dimensions.
 */
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

/*
 * Reduced coordinates equal the chain of multiply-adds to the bit, for rows of
 * doubles and of floats.
 */
static void
test_instruction_set(const char *name, fc_prepared *prepared, const double *x, const float *floats)
{
	bool		plain = strcmp(name, "baseline") == 0;	/* may fuse multiply-add or not */
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

/* Fills the row with a random vector of length 1. */
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

/*
 * All instruction sets reduce rows of d dimensions to n by a basis without
 * zeros.
 */
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
	const double adapted[3] = {0.504, 1.279, 2.291};
	const double rayleigh[3] = {0.4590, 1.1774, 2.1460};

	test_philox();
	test_pure();
	test_structured_is_its_matrix();
	for (int structured = 0; structured < 2; structured++)
	{
		uint32_t	n = structured ? 8 : 6;

		test_law(FC_LAW_ADAPTED_RADIUS, structured, n, 1.3514, 2.304, adapted);
		test_law(FC_LAW_ADAPTED_RADIUS_KMEANS, structured, n, sqrt(2 * atan(1)), 2, rayleigh);
		test_law(FC_LAW_FOLDED_GAUSSIAN, structured, n, sqrt(0.5 / atan(1)), 1, NULL);
		test_law(FC_LAW_GAUSSIAN, structured, n, sqrt(2) * exp(lgamma((n + 1) / 2.0) - lgamma(n / 2.0)), n, NULL);
	}
	for (uint32_t n = 1; n <= 140; n += n < 24 ? 1 : 13)
		test_width(149, n);
	test_width(3, 2);
	return unit_finish();
}
