/*
 * test_residual.c - the gamma tail agrees with scipy to 1e-8, and the residual
 * of a mixture is small only for the right mixture
 */
#include "drift/internal.h"
#include "sketch/sketch.h"
#include "specs.h"

/*
 * The tail agrees with scipy.special.gammaincc, and its two formulas with each
 * other where they meet.
 */
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
	CHECK(fabs(fc_normal_quantile(0.975) - 1.959963985) < 1e-8 && fabs(fc_normal_quantile(1e-6) + 4.753424309) < 1e-8 && fc_normal_quantile(0.5) == 0,
		  "normal quantiles are %.10g, %.10g, %.10g", fc_normal_quantile(0.975), fc_normal_quantile(1e-6), fc_normal_quantile(0.5));
	CHECK(fc_gamma_upper(3, 0) == 1 && fc_gamma_upper(3, -1) == 1, "the tail is not 1 at 0 and below");
	CHECK(fabs(fc_gamma_upper(1e5 - 1, 1e5 + 500) - fc_gamma_upper(1e5 + 1, 1e5 + 502)) < 1e-4, "the two formulas do not meet");
}

/* Returns a sketch of n rows from a mixture of 4 Gaussians in 2 dimensions. */
static fc_sketch *
sketch_of(const fc_prepared *prepared, size_t n, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 5);
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);

	for (size_t i = 0; i < n; i++)
	{
		size_t		center = fc_rng_below(&rng, 4);
		double		x[2];
		fc_row		row = {.doubles = x,.weight = FC_ONE_WEIGHT};

		x[0] = 4.0 * (double) (center % 2) + 0.7 * fc_rng_normal(&rng);
		x[1] = 4.0 * (double) (center / 2) + 0.7 * fc_rng_normal(&rng);
		CHECK(fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_OK, "add");
	}
	return close_sketch(prepared, sketch);
}

/*
 * The true mixture has a residual near chance; without one of its clusters, or
 * with half the width, the residual is much larger.
 */
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
	fc_sketch  *sketch = sketch_of(&made.prepared, 40000, 1);
	fc_arena	arena = unit_arena();
	double		residual[3];

	CHECK(fc_fit_residual(VIEW(sketch), centroids, weights, spreads, 4, &arena, &residual[0]) == FC_OK, "the fit fails");
	CHECK(fc_fit_residual(VIEW(sketch), centroids, weights, spreads, 3, &arena, &residual[1]) == FC_OK, "the fit of three clusters fails");
	CHECK(fc_fit_residual(VIEW(sketch), centroids, weights, narrow, 4, &arena, &residual[2]) == FC_OK, "the fit of narrow clusters fails");
	CHECK(residual[0] < 0.03, "%g", residual[0]);
	CHECK(residual[1] > 0.15 && residual[2] > 0.15, "%g, %g", residual[1], residual[2]);
}

int
main(void)
{
	test_gamma();
	test_fit();
	return unit_finish();
}
