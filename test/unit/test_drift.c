/* test_drift.c - the gamma tail, traces of the covariance of moments, calibration of p-values, the fit of a mixture */
#include "specs.h"

#include "numerics/gamma.h"
#include "sketch/drift.h"

/* Values of scipy.special.gammaincc. */
static void
test_gamma(void)
{
	static const double known[][3] = {
		{0.5, 0.5, 0.31731050786291115},
		{1, 3, 0.04978706836786395},
		{2.5, 10, 0.0012497305630313773},
		{10, 5, 0.9681719426937951},
		{10, 30, 7.121750862815593e-06},
		{100, 100, 0.48670120172085135},
		{1000, 1100, 0.0010593232539299773},
		{20000, 20500, 0.00022502803564234105},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK(fabs(fc_gamma_upper(known[i][0], known[i][1]) / known[i][2] - 1) < 1e-8, "Q(%g, %g) = %.17g",
			  known[i][0], known[i][1], fc_gamma_upper(known[i][0], known[i][1]));
	CHECK(fc_gamma_upper(3, 0) == 1 && fc_gamma_upper(3, -1) == 1, "nothing below 0");
	CHECK(fabs(fc_gamma_upper(1e5 - 1, 1e5 + 500) - fc_gamma_upper(1e5 + 1, 1e5 + 502)) < 1e-4, "the two ways meet");
}

/* n rows of a mixture of 4 Gaussians in 2 dimensions, moved by `shift` in the first; one sketch a part. */
static void
sketch_rows(const fc_prepared *prepared, size_t n, uint64_t seed, double shift, size_t parts, fc_sketch **sketches)
{
	fc_rng		rng = fc_rng_start(seed, 5);

	for (size_t b = 0; b < parts; b++)
		sketches[b] = new_sketch(prepared->spec, FC_SKETCH_OPEN, prepared->batch);
	for (size_t i = 0; i < n; i++)
	{
		size_t		center = fc_rng_below(&rng, 4);
		double		x[2];
		fc_row		row = {.doubles = x,.weight = FC_ONE_WEIGHT};

		x[0] = 4.0 * (double) (center % 2) + 0.7 * fc_rng_normal(&rng) + shift;
		x[1] = 4.0 * (double) (center / 2) + 0.7 * fc_rng_normal(&rng);
		CHECK(fc_sketch_add(prepared, &row, sketches[fc_rng_below(&rng, parts)]) == FC_OK, "add");
	}
	for (size_t b = 0; b < parts; b++)
		sketches[b] = close_sketch(prepared, sketches[b]);
}

static fc_sketch *
sketch_of(const fc_prepared *prepared, size_t n, uint64_t seed, double shift)
{
	fc_sketch  *sketch;

	sketch_rows(prepared, n, seed, shift, 1, &sketch);
	return sketch;
}

static fc_null
null_of(fc_sketch **sketches, size_t parts)
{
	size_t		moments = fc_spec_moments(fc_sketch_spec(sketches[0]));
	fc_arena	arena = unit_arena(fc_null_worksize(parts, moments));
	fc_null		null = {0, 0};

	CHECK(fc_null_moments((const fc_sketch *const *) sketches, parts, NULL, &arena, &null) == FC_OK, "null moments");
	unit_arena_free(&arena);
	return null;
}

/*
 * tr S^2 = E <phi(x) - mu, phi(y) - mu>^2, by pairs of single rows; and the estimate from
 * 64 parts within 25 %, on a wide kernel (few directions count) and a narrow one.
 */
static void
test_traces(void)
{
	enum { PARTS = 64, ROWS = 400 };
	const double sigmas[] = {3.0, 0.7};

	for (int q = 0; q < 2; q++)
	{
		fc_spec    *spec = make_spec((spec_wish) {.dim = 2, .frequencies = 100, .sigma = sigmas[q], .seed = 4,
			.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
		ready		made = make_ready(spec);
		fc_sketch  *sketches[PARTS];
		fc_sketch  *rows[ROWS];
		fc_null		null;
		double		sum = 0;
		fc_sketch  *whole = sketch_of(&made.prepared, 20000, 9, 0);
		double		self = similarity_of(whole, whole);

		sketch_rows(&made.prepared, 20000, 3, 0, PARTS, sketches);
		null = null_of(sketches, PARTS);
		for (int i = 0; i < ROWS; i++)
			rows[i] = sketch_of(&made.prepared, 1, 1000 + (uint64_t) i, 0);
		for (int i = 0; i < ROWS; i++)
			for (int j = 0; j < i; j++)
			{
				double		inner = similarity_of(rows[i], rows[j]) - similarity_of(rows[i], whole) -
					similarity_of(rows[j], whole) + self;

				sum += inner * inner;
			}
		sum /= ROWS * (ROWS - 1) / 2.0;
		CHECK(fabs(null.square / sum - 1) < 0.25, "sigma %g: tr S^2 = %g, not %g", sigmas[q], null.square, sum);
		CHECK(null.cube >= null.square * null.square / (1 - self) * 0.99 && null.cube <= pow(null.square, 1.5) * 1.01,
			  "tr S^3 = %g", null.cube);
		for (int b = 0; b < PARTS; b++)
			free(sketches[b]);
		for (int i = 0; i < ROWS; i++)
			free(rows[i]);
		free(whole);
		unit_arena_free(&made.arena);
		free(spec);
	}
}

/* 300 pairs of samples of one distribution: p-values as uniform as chance allows; a shift is seen. */
static void
test_calibration(void)
{
	enum { PARTS = 64, TRIALS = 300 };
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2, .frequencies = 50, .sigma = 1.0, .seed = 4,
		.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	ready		made = make_ready(spec);
	fc_sketch  *sketches[PARTS];
	int			below[3] = {0, 0, 0};
	double		squares = 0;
	fc_null		null;
	fc_drift	drift = {0, 0, 0, 0};
	fc_sketch  *training;
	fc_sketch  *moved;

	sketch_rows(&made.prepared, 20000, 3, 0, PARTS, sketches);
	null = null_of(sketches, PARTS);
	for (int trial = 0; trial < TRIALS; trial++)
	{
		fc_sketch  *rows = sketch_of(&made.prepared, 500, 2000 + (uint64_t) trial, 0);

		training = sketch_of(&made.prepared, 1000, 5000 + (uint64_t) trial, 0);
		CHECK(fc_drift_test(training, rows, &null, NULL, &drift) == FC_OK, "drift test");
		squares += drift.mmd2 * drift.mmd2;
		below[0] += drift.p_value < 0.01;
		below[1] += drift.p_value < 0.1;
		below[2] += drift.p_value < 0.5;
		free(training);
		free(rows);
	}
	/* within 3.3 deviations of a binomial law */
	CHECK(below[0] <= 9, "%d of %d below 0.01", below[0], TRIALS);
	CHECK(below[1] >= 13 && below[1] <= 47, "%d of %d below 0.1", below[1], TRIALS);
	CHECK(below[2] >= 121 && below[2] <= 179, "%d of %d below 0.5", below[2], TRIALS);
	CHECK(fabs(sqrt(squares / TRIALS) / drift.null_sd - 1) < 0.2, "deviation %g, said to be %g",
		  sqrt(squares / TRIALS), drift.null_sd);
	training = sketch_of(&made.prepared, 3000, 1, 0);
	moved = sketch_of(&made.prepared, 3000, 2, 0.5);
	CHECK(fc_drift_test(training, moved, &null, NULL, &drift) == FC_OK, "drift test");
	CHECK(drift.p_value < 1e-6 && drift.mmd2 > 5 * drift.null_sd, "p = %g of a shift", drift.p_value);
	free(training);
	free(moved);
	for (int b = 0; b < PARTS; b++)
		free(sketches[b]);
	unit_arena_free(&made.arena);
	free(spec);
}

static void
test_degenerate(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2, .frequencies = 10, .sigma = 1.0, .seed = 4});
	fc_spec    *other = make_spec((spec_wish) {.dim = 2, .frequencies = 10, .sigma = 1.0, .seed = 5});
	ready		made = make_ready(spec);
	ready		made_other = make_ready(other);
	fc_sketch  *sketches[5];
	fc_arena	arena = unit_arena(fc_null_worksize(5, 10));
	fc_null		null = {0, 0};
	fc_drift	drift;
	fc_sketch  *one = sketch_of(&made.prepared, 1, 1, 0);

	sketch_rows(&made.prepared, 5, 3, 0, 4, sketches);
	sketches[4] = sketch_of(&made_other.prepared, 5, 3, 0);
	CHECK(fc_null_moments((const fc_sketch *const *) sketches, 3, NULL, &arena, &null) == FC_EEMPTY, "few parts");
	CHECK(fc_null_moments((const fc_sketch *const *) sketches, 5, NULL, &arena, &null) == FC_EMISMATCH, "two specs");
	CHECK(fc_drift_test(one, sketches[0], &null, NULL, &drift) == FC_OK && isnan(drift.p_value), "one row has no MMD");
	for (int b = 0; b < 5; b++)
		free(sketches[b]);
	free(one);
	unit_arena_free(&arena);
	unit_arena_free(&made.arena);
	unit_arena_free(&made_other.arena);
	free(spec);
	free(other);
}

/* The true mixture leaves what chance leaves; without one of its clusters, or with half the width, much more. */
static void
test_fit(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2, .frequencies = 60, .scales = 2, .sigma = 1.0, .seed = 4,
		.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	ready		made = make_ready(spec);
	const double centroids[] = {0, 0, 4, 0, 0, 4, 4, 4};
	const double weights[] = {3, 3, 3, 3};
	const double spreads[] = {0.7, 0.7, 0.7, 0.7};
	const double narrow[] = {0.35, 0.35, 0.35, 0.35};
	fc_sketch  *sketch = sketch_of(&made.prepared, 40000, 1, 0);
	fc_arena	arena = unit_arena(fc_fit_worksize(spec));
	double		residual[3];

	CHECK(fc_fit_residual(sketch, centroids, weights, spreads, 4, NULL, &arena, &residual[0]) == FC_OK, "fit");
	arena.used = 0;
	CHECK(fc_fit_residual(sketch, centroids, weights, spreads, 3, NULL, &arena, &residual[1]) == FC_OK, "fit of three");
	arena.used = 0;
	CHECK(fc_fit_residual(sketch, centroids, weights, narrow, 4, NULL, &arena, &residual[2]) == FC_OK, "narrow");
	CHECK(residual[0] < 0.03, "%g", residual[0]);
	CHECK(residual[1] > 0.15 && residual[2] > 0.15, "%g, %g", residual[1], residual[2]);
	free(sketch);
	unit_arena_free(&arena);
	unit_arena_free(&made.arena);
	free(spec);
}

int
main(void)
{
	test_gamma();
	test_traces();
	test_calibration();
	test_degenerate();
	test_fit();
	return unit_finish();
}
