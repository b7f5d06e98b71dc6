/*
 * many_starts.c - benchmark of k-means with many clusters: default options
 * against a single start of k-means++.
 *
 *     many_starts FAMILY n d k [SEED]
 *
 * FAMILY is one of families.h. Prints a line: the family and its sizes, the
 * SSE and its ratio to that of k-means++, the CPU seconds of both and their
 * ratio. With ONE_START=0 in the environment, k-means++ is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmeans/kmeans.h"

#include "families.h"
#include "program.h"

/* Runs k-means and returns its CPU seconds. */
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
