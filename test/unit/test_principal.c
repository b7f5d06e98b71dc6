/*
 * test_principal.c - principal axes and coordinates of few wide rows, and
 * transforms of rows of mostly zeros
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "numerics/principal.h"
#include "numerics/span.h"
#include "sketch/isa.h"
#include "unit.h"

#define ROWS	40
#define D		1000
#define AXES	5

/*
 * Rows of five groups, in which every step-th value is not 0: the axes are
 * orthonormal, and eigenvectors of A' A to 1e-4 of the greatest eigenvalue.
 */
static void
test_axes(size_t step)
{
	float	   *x = unit_alloc(ROWS * D, sizeof(float));
	float	   *basis = unit_alloc(AXES * D, sizeof(float));
	fc_arena	arena = unit_arena();
	fc_rng		rng = fc_rng_start(7, 0);
	double		greatest = 0;

	for (size_t i = 0; i < ROWS; i++)
		for (size_t c = i % 5; c < D; c += step)
			x[i * D + c] = (float) (3.0 * (i % 5 == 0) + (double) (i % 5) + fc_rng_uniform(&rng));
	fc_principal_axes(x, ROWS, D, AXES, 0, &arena, basis);
	for (size_t a = 0; a < AXES; a++)
	{
		double		image[D] = {0};
		double		value = 0;
		double		error = 0;

		for (size_t i = 0; i < ROWS; i++)
		{
			double		y = 0;

			for (size_t c = 0; c < D; c++)
				y += (double) x[i * D + c] * (double) basis[a * D + c];
			for (size_t c = 0; c < D; c++)
				image[c] += y * (double) x[i * D + c];
			value += y * y;
		}
		greatest = fmax(greatest, value);
		for (size_t c = 0; c < D; c++)
			error += pow(image[c] - value * (double) basis[a * D + c], 2);
		CHECK(sqrt(error) < 1e-4 * greatest, "step %zu, axis %zu: residual %g of %g", step, a, sqrt(error), greatest);
		for (size_t b = 0; b <= a; b++)
		{
			double		product = 0;

			for (size_t c = 0; c < D; c++)
				product += (double) basis[a * D + c] * (double) basis[b * D + c];
			CHECK(fabs(product - (a == b)) < 1e-5, "step %zu: axes %zu and %zu have the product %g", step, a, b, product);
		}
	}
}

/*
 * Every build computes H D v, p entries, of integers of which every `step`-th
 * is not 0; sums of integers are exact.
 */
static void
test_transform(size_t p, size_t step)
{
	const char *const builds[] = {"x86-64-v4", "x86-64-v3", "baseline"};
	float	   *signs = unit_alloc(p, sizeof(float));
	float	   *in = unit_alloc(p, sizeof(float));
	float	   *expected = unit_alloc(p, sizeof(float));
	float	   *v = unit_alloc(p, sizeof(float));

	for (size_t i = 0; i < p; i++)
	{
		signs[i] = i * 7 % 3 == 0 ? -1.0f : 1.0f;
		in[i] = i % step == step / 2 ? (float) (i % 11) - 5.0f : 0.0f;
		expected[i] = signs[i] * in[i];
	}
	for (size_t half = 1; half < p; half *= 2)
		for (size_t i = 0; i < p; i++)
			if ((i & half) == 0)
			{
				float		a = expected[i];

				expected[i] = a + expected[i + half];
				expected[i + half] = a - expected[i + half];
			}
	for (size_t b = 0; b < 3; b++)
	{
		const fc_sketch_isa *isa = fc_sketch_isa_named(builds[b]);
		size_t		wrong = 0;

		if (isa == NULL)
			continue;
		memcpy(v, in, p * sizeof(float));
		isa->transform(signs, p, v);
		for (size_t i = 0; i < p; i++)
			wrong += v[i] != expected[i];
		CHECK(wrong == 0, "%s: %zu of %zu entries are wrong", builds[b], wrong, p);
	}
}

/*
 * Few sparse rows, among them equal and empty ones, have the same distances in
 * the space that they span. Interrupts are checked for each row and for each
 * column. Dense rows and many rows are refused.
 */
static void
test_span(void)
{
	float	   *x = unit_alloc(ROWS * D, sizeof(float));
	const float *y;
	fc_arena	arena = unit_arena();
	fc_rng		rng = fc_rng_start(7, 0);

	for (size_t i = 0; i < ROWS - 2; i++)
		for (size_t e = 0; e < 20; e++)
			x[i * D + (size_t) (fc_rng_uniform(&rng) * D)] = (float) fc_rng_uniform(&rng) - 0.3f;
	memcpy(x + (ROWS - 1) * D, x + 3 * D, D * sizeof(float));
	unit_checked = 0;
	fc_interrupt_check = unit_check;
	y = fc_span_coordinates(x, ROWS, D, &arena);
	fc_interrupt_check = NULL;
	CHECK(y != NULL, "sparse rows are refused");
	CHECK(unit_checked >= ROWS + D, "%ld interrupt checks", unit_checked);
	for (size_t i = 0; y != NULL && i < ROWS; i++)
		for (size_t j = 0; j < i; j++)
		{
			double		expected = 0;
			double		found = 0;

			for (size_t c = 0; c < D; c++)
				expected += pow((double) x[i * D + c] - (double) x[j * D + c], 2);
			for (size_t c = 0; c < ROWS; c++)
				found += pow((double) y[i * ROWS + c] - (double) y[j * ROWS + c], 2);
			CHECK(fabs(found - expected) <= 1e-6, "rows %zu and %zu: %g instead of %g", i, j, found, expected);
		}
	for (size_t i = 0; i < ROWS * D; i++)
		x[i] = 1.0f;
	CHECK(fc_span_coordinates(x, ROWS, D, &arena) == NULL, "dense rows are taken");
	CHECK(fc_span_coordinates(x, D, ROWS, &arena) == NULL, "many rows are taken");
}

int
main(void)
{
	test_axes(1);
	test_axes(10);
	test_axes(50);
	test_span();
	for (size_t p = FC_MIN_PADDED; p <= 65536; p *= 2)
	{
		test_transform(p, 1);
		test_transform(p, 300);
	}
	return unit_finish();
}
