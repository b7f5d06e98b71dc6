/*
 * kmeans.c - benchmark of fc_kmeans on rows in a file, with its default
 * options.
 *
 *     kmeans ROWS n d k SEEDS [WEIGHTS|- [n_init [rounds [budget [effort]]]]]
 *
 * ROWS contains n x d floats, WEIGHTS n doubles, in the byte order of the
 * machine. Prints a line for each seed (0, 1, ..): SSE, CPU seconds, steps of
 * the winning start, its number, multiply-adds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kmeans/kmeans.h"

#include "program.h"

static void *
read_file(const char *name, size_t count, size_t size)
{
	FILE	   *file = fopen(name, "rb");
	void	   *bytes = malloc(count * size);

	if (file == NULL || bytes == NULL || fread(bytes, size, count, file) != count)
	{
		fprintf(stderr, "kmeans: cannot read %zu values of %zu bytes from %s\n", count, size, name);
		exit(1);
	}
	fclose(file);
	return bytes;
}

int
main(int argc, char **argv)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {0};
	fc_rows		rows = {0};
	fc_arena	arena = heap_arena();
	size_t		k;
	float	   *x;

	if (argc < 6)
		return 1;
	rows.n = strtoul(argv[2], NULL, 10);
	rows.d = strtoul(argv[3], NULL, 10);
	k = strtoul(argv[4], NULL, 10);
	x = read_file(argv[1], rows.n * rows.d, sizeof(float));
	centre(x, rows.n, rows.d);
	rows.x = x;
	if (argc > 6 && argv[6][0] != '-')
		rows.weight = read_file(argv[6], rows.n, sizeof(double));
	if (argc > 7)
		options.n_init = atoi(argv[7]);
	if (argc > 8)
		options.rounds = atoi(argv[8]);
	if (argc > 10)
		options.effort = (fc_kmeans_effort) atoi(argv[10]);
	if (argc > 9)
		options.budget = atof(argv[9]);
	result.centroids = malloc(k * rows.d * sizeof(double));
	result.weights = malloc(k * sizeof(double));
	for (options.seed = 0; options.seed < strtoul(argv[5], NULL, 10); options.seed++)
	{
		double		start = cpu_seconds();

		fc_kmeans(&rows, k, NULL, &options, &arena, &result);
		printf("%.17g %.6f %d %d %.0f\n", result.sse, cpu_seconds() - start, result.iterations, result.winner,
			   (double) result.compared * (double) rows.d);
		fflush(stdout);
	}
	return 0;
}
