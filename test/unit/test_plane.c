/*
 * test_plane.c - centroids in a plane: known planes are found, no random plane
 * shows more, and the units of the rows do not matter
 */
#include "operator/codebook.h"
#include "operators.h"

#define K 40
#define D 6

static void
plane(const double *centroids, const double *weights, size_t k, size_t d, double *places, double shown[2])
{
	codebook	c = make_codebook(centroids, weights, k, d);
	fc_arena	arena = unit_arena();

	fc_operator_plane(&c.op, &arena, places, shown);
	CHECK(arena.allocated == 0, "the arena is still in use");
}

static void
random_centroids(double *x, double *weights, size_t k, size_t d, double scale, double shift)
{
	fc_rng		rng = fc_rng_start(5, 0);

	for (size_t j = 0; j < k; j++)
	{
		weights[j] = fc_rng_uniform(&rng) + 0.01;
		for (size_t i = 0; i < d; i++)
			x[j * d + i] = shift + scale * fc_rng_normal(&rng) / (double) (i + 1);
	}
}

/*
 * Centroids in a plane far from the origin keep their distances, to 1e-3,
 * around their weighted mean.
 */
static void
test_known_plane(void)
{
	static const double corner[4][2] = {{0, 0}, {4, 0}, {0, 1}, {5, 3}};
	static const double weights[4] = {1, 2, 3, 4};
	double		x[4 * 5];
	double		places[8];
	double		shown[2];

	for (size_t j = 0; j < 4; j++)
	{
		double		u = corner[j][0];
		double		v = corner[j][1];
		double		row[5] = {1000 + 0.6 * u, v, 0.8 * u, -7, 0};

		memcpy(x + 5 * j, row, sizeof(row));
	}
	plane(x, weights, 4, 5, places, shown);
	CHECK(fabs(shown[0] + shown[1] - 1.0) < 1e-6 && shown[0] > shown[1], "a plane does not show everything: %g, %g", shown[0], shown[1]);
	for (size_t a = 0; a < 4; a++)
		for (size_t b = 0; b < a; b++)
			CHECK(fabs(unit_square(places + 2 * a, places + 2 * b, 2) - unit_square(x + 5 * a, x + 5 * b, 5)) < 1e-3,
				  "distance of %zu and %zu", a, b);
	for (size_t i = 0; i < 2; i++)
	{
		double		mean = 0.0;

		for (size_t j = 0; j < 4; j++)
			mean += weights[j] * places[2 * j + i];
		CHECK(fabs(mean) < 1e-4, "the mean is not the origin: %g", mean);
	}
}

/* Returns the share of squared distances that two orthonormal axes show. */
static double
share_shown(const double *x, const double *weights, const double *a, const double *b)
{
	double		mean[D] = {0};
	double		total = 0.0;
	double		on_plane = 0.0;
	double		all = 0.0;

	for (size_t j = 0; j < K; j++)
		total += weights[j];
	for (size_t j = 0; j < K; j++)
		for (size_t i = 0; i < D; i++)
			mean[i] += weights[j] / total * x[j * D + i];
	for (size_t j = 0; j < K; j++)
	{
		double		along_a = 0.0;
		double		along_b = 0.0;

		for (size_t i = 0; i < D; i++)
		{
			along_a += a[i] * (x[j * D + i] - mean[i]);
			along_b += b[i] * (x[j * D + i] - mean[i]);
		}
		on_plane += weights[j] * (along_a * along_a + along_b * along_b);
		all += weights[j] * unit_square(x + j * D, mean, D);
	}
	return on_plane / all;
}

static void
random_axes(fc_rng *rng, double *a, double *b)
{
	double		dot = 0.0;
	double		length = 0.0;

	for (size_t i = 0; i < D; i++)
	{
		a[i] = fc_rng_normal(rng);
		b[i] = fc_rng_normal(rng);
		length += a[i] * a[i];
	}
	for (size_t i = 0; i < D; i++)
	{
		a[i] /= sqrt(length);
		dot += a[i] * b[i];
	}
	length = 0.0;
	for (size_t i = 0; i < D; i++)
	{
		b[i] -= dot * a[i];
		length += b[i] * b[i];
	}
	for (size_t i = 0; i < D; i++)
		b[i] /= sqrt(length);
}

/* None of 20000 random planes shows a larger share. */
static void
test_no_better_plane(void)
{
	fc_rng		rng = fc_rng_start(6, 0);
	double		x[K * D];
	double		weights[K];
	double		places[2 * K];
	double		shown[2];
	double		best = 0.0;

	random_centroids(x, weights, K, D, 1, 3);
	plane(x, weights, K, D, places, shown);
	for (int trial = 0; trial < 20000; trial++)
	{
		double		a[D];
		double		b[D];

		random_axes(&rng, a, b);
		best = fmax(best, share_shown(x, weights, a, b));
	}
	CHECK(shown[0] + shown[1] >= best, "%g shown, %g at random", shown[0] + shown[1], best);
	CHECK(shown[0] + shown[1] < best + 0.1, "random planes stay far below: %g, %g", shown[0] + shown[1], best);
}

/* The plane does not depend on the units of the rows, from 1e-30 to 1e12. */
static void
test_scales(void)
{
	static const double scales[] = {1e-30, 1e-8, 1e12};
	double		x[K * D];
	double		weights[K];
	double		expected[2 * K];
	double		shown[2];

	random_centroids(x, weights, K, D, 1, 0);
	plane(x, weights, K, D, expected, shown);
	for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++)
	{
		double		places[2 * K];
		double		same[2];

		random_centroids(x, weights, K, D, scales[s], 0);
		plane(x, weights, K, D, places, same);
		CHECK(fabs(same[0] - shown[0]) < 1e-5, "scale %g: %g, %g", scales[s], same[0], shown[0]);
		for (size_t i = 0; i < 2 * K; i++)
			CHECK(fabs(places[i] / scales[s] - expected[i]) < 1e-4, "scale %g: %g", scales[s], places[i]);
	}
}

/*
 * One dimension, equal centroids and a single cluster have well-defined
 * places.
 */
static void
test_poor_clouds(void)
{
	static const double line[3] = {2, 5, 11};
	static const double none[3] = {0, 0, 0};
	static const double point[6] = {3, 4, 3, 4, 3, 4};
	double		places[6];
	double		shown[2];

	plane(line, none, 3, 1, places, shown);
	CHECK(fabs(fabs(places[4] - places[0]) - 9) < 1e-5 && places[1] == 0.0 && places[5] == 0.0, "places in one dimension are wrong");
	CHECK(fabs(shown[0] - 1.0) < 1e-6 && shown[1] == 0.0, "one dimension does not show everything: %g", shown[0]);
	plane(point, line, 3, 2, places, shown);
	for (size_t i = 0; i < 6; i++)
		CHECK(places[i] == 0.0, "equal centroids have different places");
	CHECK(shown[0] == 0.0 && shown[1] == 0.0, "equal centroids show a share");
	plane(point, line, 1, 2, places, shown);
	CHECK(places[0] == 0.0 && places[1] == 0.0, "a single cluster is not at the origin");
}

int
main(void)
{
	test_known_plane();
	test_no_better_plane();
	test_scales();
	test_poor_clouds();
	return unit_finish();
}
