/*
 * test_spec_of_sample.c - scale, trimming and projection chosen from a sample: scales
 * are within 10 % of planted ones and follow units to 1e-3, and bases are
 * orthonormal to 1e-6
 */
#include "numerics/principal.h"
#include "numerics/selection.h"
#include "sketch/spec_of_sample.h"
#include "unit.h"

typedef struct sample
{
	double	   *x;
	double	   *weight;
	size_t		rows;
	size_t		d;
	fc_spec_options options;
	fc_arena	found;
	fc_sample_estimates result;
} sample;

static sample
make_sample(size_t rows, size_t d, size_t clusters, size_t dimensions)
{
	sample		s = {.rows = rows,.d = d,.options = {.clusters = clusters,.dimensions = dimensions,.seed = 1},.found = unit_arena()};

	s.x = unit_alloc(rows * d, sizeof(double));
	return s;
}

static fc_status
run(sample *s)
{
	fc_arena	arena = unit_arena();
	fc_status	status = fc_estimate_of_sample(s->x, s->weight, s->rows, s->d, &s->options, &arena, &s->found, &s->result);

	CHECK(arena.allocated == 0, "the arena is still in use");
	return status;
}

/*
 * Makes a mixture of `groups` unit normals whose means differ in the first
 * `active` dimensions.
 */
static void
plant(sample *s, size_t groups, size_t active, double gap, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *mean = unit_alloc(groups * active, sizeof(double));

	for (size_t c = 0; c < groups * active; c++)
		mean[c] = gap * fc_rng_normal(&rng);
	for (size_t i = 0; i < s->rows; i++)
		for (size_t c = 0; c < s->d; c++)
			s->x[i * s->d + c] = fc_rng_normal(&rng) + (c < active ? mean[(i % groups) * active + c] : 0.0);
}

/*
 * The basis is orthonormal to 1e-6 and the largest entry of each axis is
 * positive.
 */
static void
check_basis(const sample *s, const char *what)
{
	size_t		n = s->result.n;
	double		worst = 0.0;

	if (n == s->d)
		return;
	for (size_t a = 0; a < n; a++)
	{
		const float *row = s->result.basis + a * s->d;
		float		deciding = row[0];

		for (size_t b = 0; b <= a; b++)
		{
			double		dot = 0.0;

			for (size_t c = 0; c < s->d; c++)
				dot += (double) row[c] * (double) s->result.basis[b * s->d + c];
			worst = fmax(worst, fabs(dot - (a == b ? 1.0 : 0.0)));
		}
		for (size_t c = 1; c < s->d; c++)
			if (fc_decides_sign(row[c], deciding))
				deciding = row[c];
		CHECK(deciding > 0.0f, "%s: sign of axis %zu", what, a);
	}
	CHECK(worst < 1e-6, "%s: basis orthonormal to %g", what, worst);
}

/* reduced = basis (x - center) for every 37th row, to 1e-5. */
static void
check_reduced(const sample *s, const char *what)
{
	size_t		n = s->result.n;

	for (size_t i = 0; i < s->rows; i += 37)
		for (size_t a = 0; a < n; a++)
		{
			double		exact = 0.0;
			double		size = 0.0;

			for (size_t c = 0; c < s->d; c++)
			{
				double		value = s->x[i * s->d + c] - s->result.center[c];

				exact += value * (n == s->d ? (double) (a == c) : (double) s->result.basis[a * s->d + c]);
				size += value * value;
			}
			CHECK(fabs(ldexp((double) s->result.reduced[i * n + a], s->result.exponent) - exact) <= 1e-5 * sqrt(size) + 1e-30, "%s: reduced %zu %zu", what, i, a);
		}
}

/* The deviation within clusters is found to 10 %. */
static void
test_within(size_t rows, size_t d, size_t groups)
{
	sample		s = make_sample(rows, d, groups, 0);

	plant(&s, groups, d < 20 ? d : 20, 12.0, d);
	CHECK(run(&s) == FC_OK, "within");
	/*
	 * trimming 5 % of the rows lowers a normal's deviation slightly, most in
	 * few dimensions
	 */
	CHECK(s.result.within_deviation > 0.9 && s.result.within_deviation < 1.1, "rows=%zu d=%zu: within %g", rows, d, s.result.within_deviation);
	CHECK(s.result.sigma == 1.2 * s.result.within_deviation, "sigma is not 1.2 deviations");
	check_basis(&s, "within");
	check_reduced(&s, "within");
}

/*
 * The scale follows the units of the rows to 1e-3, from 1e-150 to 1e150, and
 * does not depend on a shift.
 */
static void
test_equivariance(size_t d)
{
	static const double scales[] = {1e-3, 1e3, 1e-30, 1e30, 1e-150, 1e150};
	sample		s = make_sample(800, d, 5, 0);
	double	   *base = unit_alloc(800 * d, sizeof(double));
	double		within;

	plant(&s, 5, d < 10 ? d : 10, 4.0, 8);
	memcpy(base, s.x, 800 * d * sizeof(double));
	CHECK(run(&s) == FC_OK, "equivariance");
	within = s.result.within_deviation;
	for (int q = 0; q < 6; q++)
	{
		for (size_t i = 0; i < 800 * d; i++)
			s.x[i] = scales[q] * base[i];
		CHECK(run(&s) == FC_OK, "scale %g", scales[q]);
		CHECK(fabs(s.result.within_deviation / scales[q] / within - 1.0) < 1e-3, "d=%zu scale %g: %g, was %g", d, scales[q], s.result.within_deviation, within);
		check_basis(&s, "scaled");
	}
	for (size_t i = 0; i < 800 * d; i++)
		s.x[i] = base[i] + (i % 3 == 0 ? 1e4 : -1e4);
	CHECK(run(&s) == FC_OK, "shift");
	CHECK(d % 3 != 0 || fabs(s.result.within_deviation / within - 1.0) < 1e-3, "d=%zu shifted: %g, was %g", d, s.result.within_deviation, within);
	check_reduced(&s, "shift");
}

/* One far row in a hundred changes the scale by less than 10 %. */
static void
test_outliers(size_t d)
{
	sample		s = make_sample(2000, d, 8, 0);
	double		within;

	plant(&s, 8, d < 10 ? d : 10, 6.0, 4);
	CHECK(run(&s) == FC_OK, "outliers");
	within = s.result.within_deviation;
	for (size_t i = 0; i < 2000; i += 100)
		for (size_t c = 0; c < d; c++)
			s.x[i * d + c] *= 50.0;
	CHECK(run(&s) == FC_OK, "outliers");
	CHECK(fabs(s.result.within_deviation / within - 1.0) < 0.1, "d=%zu: %g with outliers, %g without", d, s.result.within_deviation, within);
}

/*
 * Rows with most variance in a planted subspace: the basis contains its axes,
 * with cosines above 0.99.
 */
static void
test_subspace(size_t rows, size_t d, size_t n)
{
	sample		s = make_sample(rows, d, 10, n);
	fc_rng		rng = fc_rng_start(12, d);
	double	   *plane = unit_alloc(n * d, sizeof(double));
	double		worst = 1.0;

	for (size_t i = 0; i < n * d; i++)
		plane[i] = fc_rng_normal(&rng);
	for (size_t a = 0; a < n; a++)
		for (int pass = 0; pass < 2; pass++)
			for (size_t b = 0; b <= a; b++)
			{
				double		dot = 0.0;

				for (size_t c = 0; c < d; c++)
					dot += plane[a * d + c] * plane[b * d + c];
				for (size_t c = 0; c < d; c++)
					plane[a * d + c] = a == b ? plane[a * d + c] / sqrt(dot) : plane[a * d + c] - dot * plane[b * d + c];
			}
	for (size_t i = 0; i < rows; i++)
	{
		for (size_t c = 0; c < d; c++)
			s.x[i * d + c] = 0.5 * fc_rng_normal(&rng);
		for (size_t a = 0; a < n; a++)
		{
			double		t = 10.0 * fc_rng_normal(&rng);

			for (size_t c = 0; c < d; c++)
				s.x[i * d + c] += t * plane[a * d + c];
		}
	}
	CHECK(run(&s) == FC_OK && s.result.n == n, "subspace");
	/*
	 * the cosine of the largest angle is at least that of a planted axis to
	 * the span
	 */
	for (size_t a = 0; a < n; a++)
	{
		double		length = 0.0;

		for (size_t b = 0; b < n; b++)
		{
			double		dot = 0.0;

			for (size_t c = 0; c < d; c++)
				dot += plane[a * d + c] * (double) s.result.basis[b * d + c];
			length += dot * dot;
		}
		worst = fmin(worst, sqrt(length));
	}
	CHECK(worst > 0.99, "rows=%zu d=%zu n=%zu: cosine %g", rows, d, n, worst);
	check_basis(&s, "subspace");
}

/* A weight of 2 has the effect of rows that occur twice, to 1e-3. */
static void
test_multiplicity(void)
{
	sample		once = make_sample(500, 6, 4, 0);
	sample		twice = make_sample(1000, 6, 4, 0);

	plant(&once, 4, 6, 8.0, 21);
	once.weight = unit_alloc(500, sizeof(double));
	for (size_t i = 0; i < 500; i++)
		once.weight[i] = 2.0;
	memcpy(twice.x, once.x, 3000 * sizeof(double));
	memcpy(twice.x + 3000, once.x, 3000 * sizeof(double));
	CHECK(run(&once) == FC_OK && run(&twice) == FC_OK, "multiplicity");
	CHECK(fabs(once.result.within_deviation / twice.result.within_deviation - 1.0) < 1e-3, "weight 2: %g, twice: %g", once.result.within_deviation, twice.result.within_deviation);
}

/* Rows with few distinct values have a positive scale near their spacing. */
static void
test_degenerate(size_t rows, size_t d, size_t distinct, size_t dimensions, double unit)
{
	sample		s = make_sample(rows, d, 10, dimensions);

	for (size_t i = 0; i < rows; i++)
		for (size_t c = 0; c < d; c++)
			s.x[i * d + c] = 3.0 + unit * (double) ((i % distinct) * (1 + c % 5));
	CHECK(run(&s) == FC_OK, "rows=%zu d=%zu distinct=%zu", rows, d, distinct);
	CHECK(s.result.sigma > 0.0 && isfinite(s.result.sigma), "sigma %g", s.result.sigma);
	if (distinct == 1)
		CHECK(s.result.within_deviation == 1.0, "all rows equal: %g", s.result.within_deviation);
	else
		CHECK(s.result.within_deviation < 100.0 * unit && s.result.within_deviation > 1e-3 * unit, "rows=%zu d=%zu distinct=%zu: %g of %g", rows, d, distinct,
			  s.result.within_deviation, unit);
	check_basis(&s, "degenerate");
}

/* Trimming drops the farthest row and rows of weight 0. */
static void
test_trim(void)
{
	double		x[] = {1, 2, 3, 4, 100, 2, 3, 2, 3, 2};
	double		weight[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
	size_t		inliers[10];
	size_t		count;
	fc_arena	arena = unit_arena();

	fc_trim(x, weight, 10, 1, 0.85, &arena, inliers, &count);
	CHECK(count == 8, "trim keeps %zu", count);
	for (size_t i = 0; i < count; i++)
		CHECK(inliers[i] != 4 && inliers[i] != 9, "kept %zu", inliers[i]);
	fc_trim(x, NULL, 10, 1, 1.0, &arena, inliers, &count);
	CHECK(count == 10, "trimming nothing drops rows");
}

/* The same seed gives the same bits. */
static void
test_repeats(size_t rows, size_t d, size_t dimensions)
{
	sample		s = make_sample(rows, d, 3, dimensions);
	double		sigma;

	plant(&s, 3, d, 3.0, 6);
	CHECK(run(&s) == FC_OK, "status");
	sigma = s.result.sigma;
	CHECK(run(&s) == FC_OK && s.result.sigma == sigma, "the same seed gives other bits");
}

/* Huge values are trimmed or refused. */
static void
test_memory(void)
{
	sample		s = make_sample(100, 30, 3, 5);

	plant(&s, 3, 5, 3.0, 6);
	s.x[70] = 1e308;
	s.x[71] = -1e308;
	CHECK(run(&s) != FC_ENUMERIC, "huge values are trimmed or refused");
}

int
main(void)
{
	test_within(3000, 2, 4);
	test_within(3000, 10, 10);
	test_within(2000, 40, 5);
	test_equivariance(3);
	test_equivariance(30);
	test_outliers(5);
	test_outliers(60);
	test_subspace(1000, 200, 20);
	test_subspace(300, 700, 20);
	test_subspace(800, 600, 20);
	test_subspace(900, 700, 530);
	test_multiplicity();
	for (size_t d = 1; d <= 40; d += 13)
		for (size_t distinct = 1; distinct <= 12; distinct++)
		{
			test_degenerate(200, d, distinct, 0, 1.0);
			test_degenerate(3, d, distinct, 2, 1e-3);
			test_degenerate(1, d, 1, 0, 1.0);
		}
	test_degenerate(600, 530, 4, 30, 1.0);
	test_degenerate(20, 530, 4, 30, 1.0);
	test_trim();
	test_repeats(120, 4, 0);
	test_repeats(120, 30, 5);
	test_repeats(530, 540, 5);	/* after trimming, the smaller eigenproblem is used */
	test_repeats(600, 540, 5);
	test_memory();
	return unit_finish();
}
