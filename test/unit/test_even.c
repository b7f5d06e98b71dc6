/*
 * test_even.c - clusters with a limit on their size: the limit is kept and the
 * SSE grows by no more than a known factor
 */
#include "kmeans/kmeans.h"
#include "unit.h"

#define K	256

/*
 * Makes rows of `groups` groups with power-law sizes and noise around centers
 * of unit variance.
 */
static float *
make_rows(size_t n, size_t d, size_t groups, double noise)
{
	fc_rng		rng = fc_rng_start(3, groups + d);
	float	   *center = unit_alloc(groups * d, sizeof(float));
	float	   *x = unit_alloc(n * d, sizeof(float));

	for (size_t i = 0; i < groups * d; i++)
		center[i] = (float) fc_rng_normal(&rng);
	for (size_t r = 0; r < n; r++)
	{
		size_t		g = (size_t) (pow((double) (groups + 1), fc_rng_uniform(&rng)) - 1.0) % groups;

		for (size_t c = 0; c < d; c++)
			x[r * d + c] = center[g * d + c] + (float) (noise * fc_rng_normal(&rng));
	}
	return x;
}

typedef struct clustering
{
	size_t		n;
	size_t		d;
	size_t		k;
	float	   *x;
	double	   *weight;
	double		total;
	double	   *centroids;
	double	   *weights;
	double		sse;
	fc_arena	arena;
} clustering;

static clustering
plain_clustering(size_t n, size_t d, size_t k, double noise, bool weighted)
{
	clustering	c = {.n = n,.d = d,.k = k,.x = make_rows(n, d, k, noise),.centroids = unit_alloc(k * d, sizeof(double)),.weights = unit_alloc(k, sizeof(double))};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = c.centroids,.weights = c.weights};
	fc_rows		rows = {.x = c.x,.n = n,.d = d};

	if (weighted)
		c.weight = unit_alloc(n, sizeof(double));
	for (size_t r = 0; r < n; r++)
	{
		if (weighted)
			c.weight[r] = 1.0 + (double) (r % 3);
		c.total += weighted ? c.weight[r] : 1.0;
	}
	rows.weight = c.weight;
	options.n_init = 1;
	options.iterations = 10;
	c.arena = unit_arena();
	fc_kmeans(&rows, k, NULL, &options, &c.arena, &result);
	c.sse = result.sse;
	return c;
}

static void
make_even(clustering *c, double times, double *sse)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	double	   *start = unit_alloc(c->k * c->d, sizeof(double));
	fc_kmeans_result result = {.centroids = c->centroids,.weights = c->weights};
	fc_rows		rows = {.x = c->x,.weight = c->weight,.n = c->n,.d = c->d};

	memcpy(start, c->centroids, c->k * c->d * sizeof(double));
	options.n_init = 0;
	options.iterations = 0;
	options.max = times * c->total / (double) c->k;
	fc_kmeans(&rows, c->k, start, &options, &c->arena, &result);
	*sse = result.sse;
}

static double
times_of_largest(const clustering *c)
{
	double		largest = 0.0;

	for (size_t j = 0; j < c->k; j++)
		largest = fmax(largest, c->weights[j]);
	return largest * (double) c->k / c->total;
}

/*
 * The largest cluster is within the limit, and the SSE within `factor` of the
 * SSE without a limit. Groups far from each other must share centroids, with
 * measured factors of 6.3 and 19. If single clusters are dissolved the factors
 * are 13 and 25; if the most expensive pairs are joined first, 14 and 32.
 */
static void
test_power_law(size_t n, size_t d, double noise, double times, double factor, bool weighted)
{
	clustering	c = plain_clustering(n, d, K, noise, weighted);
	double		before = times_of_largest(&c);
	double		sse = 0.0;

	make_even(&c, times, &sse);
	CHECK(before > 1.15 * times, "%g times the mean before", before);
	CHECK(times_of_largest(&c) <= times * (1.0 + 1e-12), "d %zu noise %g: %g times the mean, not %g; %g before", d, noise, times_of_largest(&c), times, before);
	CHECK(sse <= factor * c.sse, "d %zu noise %g: SSE %g times that without a limit", d, noise, sse / c.sse);
}

/*
 * Equal rows stay in one cluster even beyond the limit, and the algorithm
 * ends.
 */
static void
test_equal_rows(void)
{
	clustering	c = plain_clustering(2000, 4, 40, 0.3, false);
	double		sse;

	for (size_t i = 0; i < 1000 * c.d; i++)
		c.x[i] = 1.0f;
	make_even(&c, 2.0, &sse);
	CHECK(isfinite(sse), "the SSE of equal rows is not finite");
	CHECK(times_of_largest(&c) >= 20.0 && times_of_largest(&c) < 21.0, "%g times the mean", times_of_largest(&c));
	for (size_t i = 0; i < c.n * c.d; i++)
		c.x[i] = 1.0f;
	make_even(&c, 2.0, &sse);
	CHECK(isfinite(sse), "the SSE of all equal rows is not finite");
}

/*
 * A centroid that is nearest to all others forms no pair with them, and they
 * form none: clusters may be dissolved one by one.
 */
static void
test_hub(void)
{
	const size_t d = 31;
	const size_t satellites = 620;
	clustering	c = plain_clustering(2000 + satellites, d, d + 1, 0.1, false);
	fc_rng		rng = fc_rng_start(5, 0);
	double		sse;

	for (size_t i = 0; i < c.n * d; i++)
		c.x[i] = (float) (0.1 * fc_rng_normal(&rng));
	for (size_t r = 0; r < satellites; r++)
		c.x[r * d + r % d] += 5.0f;
	memset(c.centroids, 0, c.k * d * sizeof(double));
	for (size_t j = 0; j < d; j++)
		c.centroids[j * d + j] = 5.0;
	make_even(&c, 2.0, &sse);
	CHECK(times_of_largest(&c) <= 2.0, "hub: %g times the mean", times_of_largest(&c));
	for (size_t i = 0; i < c.k * d; i++)	/* equal centroids have no nearest one */
		c.centroids[i] = 1.0;
	make_even(&c, 2.0, &sse);
	CHECK(times_of_largest(&c) <= 2.0, "equal centroids: %g times the mean", times_of_largest(&c));
}

/* Centroids away from all rows are handled, and the limit is kept. */
static void
test_centroids_aside(void)
{
	clustering	c = plain_clustering(1000, 1, 10, 0.1, false);
	double		sse;

	for (size_t i = 0; i < c.n; i++)
		c.x[i] = i < 900 ? 0.1f * (float) i : 10.0f * (float) i;
	for (size_t j = 0; j < c.k; j++)
		c.centroids[j] = 100.0 * (double) (j + 1);
	make_even(&c, 1.2, &sse);
	CHECK(times_of_largest(&c) <= 1.2, "centroids aside: %g times the mean", times_of_largest(&c));
}

int
main(void)
{
	test_power_law(10000, 8, 0.5, 2.0, 1.05, false);
	test_power_law(10000, 8, 0.05, 2.0, 9.0, true);
	test_power_law(8000, 40, 0.05, 2.0, 23.0, false);
	test_power_law(8000, 2, 0.3, 1.5, 1.3, false);
	test_equal_rows();
	test_hub();
	test_centroids_aside();
	return unit_finish();
}
