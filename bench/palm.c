/*
 * palm.c - benchmark of a palm4MSA sweep against dense matrix products.
 *
 * The dense gradient of a factor, L' (lambda L S R - U) R', is four products:
 * S R, L (S R), L' E, E R'. They are timed as sgemm at these sizes: the
 * minimum CPU time of several rounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/blas.h"
#include "base/rng.h"
#include "factor/palm.h"

#include "program.h"

#define ROUNDS	5

static double
time_product(int m, int n, int k)
{
	float	   *a = calloc((size_t) m * (size_t) k, sizeof(float));
	float	   *b = calloc((size_t) k * (size_t) n, sizeof(float));
	float	   *c = calloc((size_t) m * (size_t) n, sizeof(float));
	double		min = INFINITY;

	for (int i = 0; i < ROUNDS; i++)
	{
		double		start = cpu_seconds();

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
		min = fmin(min, cpu_seconds() - start);
	}
	free(a);
	free(b);
	free(c);
	return min;
}

/*
 * Returns the time of the products S R, L (S R), L' E, E R' for each factor,
 * of which all but the last are inner x inner.
 */
static double
dense_sweep(int k, int d, int count)
{
	int			inner = k < d ? k : d;
	double		total = 0;

	for (int q = 0; q < count; q++)
	{
		int			columns = q + 1 == count ? d : inner;

		total += q + 1 < count ? time_product(inner, d, inner) : 0;	/* R = I: no product */
		total += q > 0 ? 2 * time_product(k, d, inner) : 0;	/* L = I: no products */
		total += q + 1 < count ? time_product(inner, columns, d) : 0;
	}
	return total;
}

static void
run(size_t k, size_t d, size_t sparsity)
{
	size_t		count = fc_factor_count(k, d);
	fc_constraint constraint[FC_MAX_FACTORS];
	fc_rng		rng = fc_rng_start(1, 0);
	double	   *u = malloc(k * d * sizeof(double));
	fc_target	target = {u, NULL, k, d};
	fc_palm_options options = fc_palm_defaults();
	fc_palm_result result;
	fc_factors	factors;
	fc_arena	arena = heap_arena();
	double		min[2] = {INFINITY, INFINITY};
	double		dense = dense_sweep((int) k, (int) d, (int) count);

	for (size_t i = 0; i < k * d; i++)
		u[i] = sin((double) (i % d) * 0.01 * (double) (1 + i / d % 17)) + 0.3 * fc_rng_normal(&rng);
	fc_line_constraints(k, d, count, sparsity, 0, constraint);
	for (int pursuit = 0; pursuit < 2; pursuit++)
	{
		fc_arena_release(&arena, (fc_mark) {0});
		fc_factors_take(&arena, k, d, count, constraint, &factors);
		options.pursuit = pursuit;
		options.warm = false;
		options.tolerance = 0;
		options.sweeps = 10;
		for (int i = 0; i < ROUNDS; i++)
		{
			double		start = cpu_seconds();

			fc_palm(&target, &options, &arena, &factors, &result);
			options.warm = true;
			min[pursuit] = fmin(min[pursuit], (cpu_seconds() - start) / result.sweeps);
		}
	}
	printf("%4zu x %4zu, %2zu factors, sparsity %zu: dense products %7.2f ms, sweep %7.2f ms (%.2f), with pursuit %7.2f ms (%.2f)\n",
		   k, d, count, sparsity, 1e3 * dense, 1e3 * min[0], min[0] / dense, 1e3 * min[1], min[1] / dense);
	fc_arena_release(&arena, (fc_mark) {0});
	free(u);
}

int
main(void)
{
	for (size_t s = 2; s <= 5; s++)
		run(256, 784, s);
	run(1024, 1024, 3);
	return 0;
}
