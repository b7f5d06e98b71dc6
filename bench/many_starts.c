/*
 * many_starts.c - k-means of many clusters by its defaults, beside one start of k-means++: SSE and CPU seconds.
 *
 *     many_starts FAMILY n d k [SEED]
 *
 * Families: groups    k groups far apart, of equal size
 *           finer     4 k groups far apart
 *           power     k groups far apart, sizes by a power law
 *           uniform   the unit cube
 *           manifold  a curved surface of 3 dimensions, with little noise
 *           images    64 patterns of few non-zeros, shifted and scaled as drawn digits are
 * A line: the family and its sizes, SSE by default over that of k-means++, CPU seconds of both and their ratio.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kmeans/kmeans.h"

#include "program.h"

static void
make_groups(fc_rng *rng, size_t n, size_t d, size_t groups, bool power, float *x)
{
	float	   *center = malloc(groups * d * sizeof(float));

	for (size_t i = 0; i < groups * d; i++)
		center[i] = (float) fc_rng_normal(rng);
	for (size_t r = 0; r < n; r++)
	{
		double		u = fc_rng_uniform(rng);
		size_t		g = r < groups ? r : (size_t) (power ? pow((double) groups, u) - 1.0 : u * (double) groups);

		for (size_t c = 0; c < d; c++)
			x[r * d + c] = center[g % groups * d + c] + (float) (0.05 * fc_rng_normal(rng));
	}
	free(center);
}

static void
make_uniform(fc_rng *rng, size_t n, size_t d, float *x)
{
	for (size_t i = 0; i < n * d; i++)
		x[i] = (float) fc_rng_uniform(rng);
}

static void
make_manifold(fc_rng *rng, size_t n, size_t d, float *x)
{
	double	   *wave = malloc(4 * d * sizeof(double));

	for (size_t i = 0; i < 4 * d; i++)
		wave[i] = 2.0 * fc_rng_normal(rng);
	for (size_t r = 0; r < n; r++)
	{
		double		at[3] = {fc_rng_uniform(rng), fc_rng_uniform(rng), fc_rng_uniform(rng)};

		for (size_t c = 0; c < d; c++)
			x[r * d + c] = (float) (sin(wave[4 * c] * at[0] + wave[4 * c + 1] * at[1] + wave[4 * c + 2] * at[2] + wave[4 * c + 3]) + 0.01 * fc_rng_normal(rng));
	}
	free(wave);
}

static void
make_images(fc_rng *rng, size_t n, size_t d, float *x)
{
	enum
	{
		PATTERNS = 64
	};
	float	   *pattern = malloc(PATTERNS * d * sizeof(float));

	for (size_t i = 0; i < PATTERNS * d; i++)
		pattern[i] = fc_rng_uniform(rng) < 0.2 ? (float) fc_rng_uniform(rng) : 0.0f;
	for (size_t r = 0; r < n; r++)
	{
		const float *p = pattern + (size_t) (fc_rng_uniform(rng) * PATTERNS) * d;
		size_t		shift = (size_t) (fc_rng_uniform(rng) * 5);
		double		scale = 0.7 + 0.6 * fc_rng_uniform(rng);

		for (size_t c = 0; c < d; c++)
			x[r * d + c] = (float) fmax(0.0, scale * (double) p[(c + shift) % d] + (p[c] > 0.0f ? 0.1 * fc_rng_normal(rng) : 0.0));
	}
	free(pattern);
}

static bool
make_rows(const char *family, fc_rng *rng, size_t n, size_t d, size_t k, float *x)
{
	if (strcmp(family, "groups") == 0)
		make_groups(rng, n, d, k, false, x);
	else if (strcmp(family, "finer") == 0)
		make_groups(rng, n, d, 4 * k, false, x);
	else if (strcmp(family, "power") == 0)
		make_groups(rng, n, d, k, true, x);
	else if (strcmp(family, "uniform") == 0)
		make_uniform(rng, n, d, x);
	else if (strcmp(family, "manifold") == 0)
		make_manifold(rng, n, d, x);
	else if (strcmp(family, "images") == 0)
		make_images(rng, n, d, x);
	else
		return false;
	return true;
}

/* CPU seconds. */
static double
cluster(const fc_rows *rows, size_t k, const fc_kmeans_options *options, fc_arena *arena, fc_kmeans_result *result)
{
	double		start = cpu_seconds();

	fc_kmeans(rows, k, NULL, options, arena, result);
	return cpu_seconds() - start;
}

int
main(int argc, char **argv)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {0};
	fc_rows		rows = {0};
	fc_arena	arena = heap_arena();
	fc_rng		rng;
	float	   *x;
	size_t		k;
	double		by_default;
	double		sse;
	double		one_start;

	if (argc < 5)
		return 1;
	rows.n = strtoul(argv[2], NULL, 10);
	rows.d = strtoul(argv[3], NULL, 10);
	k = strtoul(argv[4], NULL, 10);
	options.seed = argc > 5 ? strtoul(argv[5], NULL, 10) : 1;
	rng = fc_rng_start(options.seed, 1);
	x = malloc(rows.n * rows.d * sizeof(float));
	if (!make_rows(argv[1], &rng, rows.n, rows.d, k, x))
		return 1;
	centre(x, rows.n, rows.d);
	rows.x = x;
	result.centroids = malloc(k * rows.d * sizeof(double));
	result.weights = malloc(k * sizeof(double));
	by_default = cluster(&rows, k, &options, &arena, &result);
	sse = result.sse;
	printf("%s n %zu d %zu k %zu: %.1f MB, ", argv[1], rows.n, rows.d, k, (double) fc_kmeans_worksize(rows.n, rows.d, k) / 0x1p20);
	if (getenv("ONE_START") == NULL || strcmp(getenv("ONE_START"), "0") != 0)
	{
		options.n_init = 1;
		options.rounds = 0;
		one_start = cluster(&rows, k, &options, &arena, &result);
		printf("SSE %.6g, %.4f of k-means++; %.2f s of CPU, %.2f s, ratio %.3f\n", sse, sse / result.sse, by_default, one_start, by_default / one_start);
	}
	else
		printf("SSE %.6g; %.2f s of CPU\n", sse, by_default);
	free(x), free(result.centroids), free(result.weights);
	return 0;
}
