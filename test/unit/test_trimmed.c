/*
 * test_trimmed.c - k-means that leaves out the farthest rows finds planted
 * centers to 0.2 deviations despite outliers, and keeps the share requested
 */
#include "kmeans/ordered.h"
#include "kmeans_problem.h"

/*
 * Makes five clusters of deviation 1, 10 apart; every `apart`-th row has a
 * deviation of 50, no row if `apart` is 0.
 */
static void
plant_outliers(problem *p, size_t apart)
{
	fc_rng		rng = fc_rng_start(8, 0);
	size_t		d = p->rows.d;

	for (size_t i = 0; i < p->rows.n; i++)
		for (size_t c = 0; c < d; c++)
			p->x[i * d + c] = apart > 0 && i % apart == 0 ? (float) (50.0 * fc_rng_normal(&rng))
				: (float) (10.0 * (double) ((i % 5 + c) / d) + fc_rng_normal(&rng));
}

static void
solve_trimmed(problem *p, double trim, const double *initial, const fc_kmeans_options *options)
{
	fc_arena	arena = unit_arena();

	p->result.labels = NULL;
	fc_kmeans_trimmed(&p->rows, p->k, trim, initial, options, &arena, &p->result);
	CHECK(arena.allocated == 0, "%zu bytes of the arena are still held", arena.allocated);
}

/*
 * Each center is found to 0.2 deviations, and a further run does not raise the
 * SSE.
 */
static void
test_planted(size_t d)
{
	problem		p = make_problem(5000, d, 5);
	fc_kmeans_options options = fc_kmeans_defaults();
	double		sse;

	plant_outliers(&p, 100);
	solve_trimmed(&p, 0.02, NULL, &options);
	for (size_t j = 0; j < 5; j++)
	{
		double		nearest = INFINITY;

		for (size_t l = 0; l < 5; l++)
		{
			double		square = 0.0;

			for (size_t c = 0; c < d; c++)
				square += pow(p.result.centroids[l * d + c] - 10.0 * (double) ((j + c) / d), 2.0);
			nearest = fmin(nearest, sqrt(square / (double) d));
		}
		CHECK(nearest < 0.2, "d=%zu: centre %zu is off by %g", d, j, nearest);
	}
	sse = p.result.sse;
	CHECK(sse < 1.05 * (double) (p.rows.n * d), "d=%zu: sse %g", d, sse);
	options.n_init = 0;
	memcpy(p.centre, p.result.centroids, 5 * d * sizeof(double));
	solve_trimmed(&p, 0.02, p.centre, &options);
	CHECK(p.result.sse <= sse * (1.0 + 1e-6), "the SSE rose from %g to %g", sse, p.result.sse);
}

/* The rows kept have the share requested, by weight. */
static void
test_share(void)
{
	problem		p = make_problem(1000, 3, 5);
	fc_kmeans_options options = fc_kmeans_defaults();
	double		total = 0.0;
	double		inside = 0.0;

	plant_outliers(&p, 50);
	p.rows.weight = p.weight;
	for (size_t i = 0; i < 1000; i++)
		total += p.weight[i] = 1.0 + (double) (i % 3);
	solve_trimmed(&p, 0.1, NULL, &options);
	for (size_t j = 0; j < 5; j++)
		inside += p.result.weights[j];
	CHECK(inside >= 0.9 * total && inside < 0.9 * total + 3.0, "%g of %g", inside, total);
}

/* One to eleven rows are accepted. */
static void
test_few_rows(void)
{
	for (size_t n = 1; n < 12; n++)
	{
		problem		p = make_problem(n, 2, n < 5 ? n : 5);
		fc_kmeans_options options = fc_kmeans_defaults();

		plant_outliers(&p, 0);
		solve_trimmed(&p, 0.5, NULL, &options);
		CHECK(p.result.sse >= 0.0, "%zu rows", n);
	}
}

int
main(void)
{
	test_planted(2);
	test_planted(10);
	test_share();
	test_few_rows();
	return unit_finish();
}
