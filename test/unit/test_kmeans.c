/*
 * test_kmeans.c - weighted k-means recovers planted clusters, never raises the
 * SSE, respects weights, and gives consistent labels, weights and SSE (1e-10),
 * for degenerate rows too
 */
#include "kmeans_problem.h"

/*
 * Places rows around `groups` centers with coordinates of deviation gap, with
 * unit noise; row i belongs to i % groups.
 */
static void
plant(problem *p, size_t groups, double gap, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *centre = unit_alloc(groups * p->rows.d, sizeof(double));

	for (size_t c = 0; c < groups * p->rows.d; c++)
		centre[c] = gap * fc_rng_normal(&rng);
	for (size_t i = 0; i < p->rows.n; i++)
		for (size_t c = 0; c < p->rows.d; c++)
			p->x[i * p->rows.d + c] = (float) (centre[(i % groups) * p->rows.d + c] + fc_rng_normal(&rng));
}

static double
distance_to(const problem *p, size_t i, const double *centroids, size_t j)
{
	double		sum = 0.0;

	for (size_t c = 0; c < p->rows.d; c++)
	{
		double		difference = (double) p->x[i * p->rows.d + c] - centroids[j * p->rows.d + c];

		sum += difference * difference;
	}
	return sum;
}

static double
objective(const problem *p, const double *centroids)
{
	double		total = 0.0;

	for (size_t i = 0; i < p->rows.n; i++)
	{
		double		best = INFINITY;

		for (size_t j = 0; j < p->k; j++)
			best = fmin(best, distance_to(p, i, centroids, j));
		total += (p->rows.weight != NULL ? p->weight[i] : 1.0) * best;
	}
	return total;
}

/* Labels are the nearest centroids, and the weights and SSE belong to them. */
static void
check_consistent(const problem *p, const char *what)
{
	double		sse = 0.0;
	double	   *weights = unit_alloc(p->k, sizeof(double));

	for (size_t i = 0; i < p->rows.n; i++)
	{
		size_t		label = (size_t) p->result.labels[i];
		double		weight = p->rows.weight != NULL ? p->weight[i] : 1.0;

		CHECK(label < p->k, "%s: label %zu", what, label);
		weights[label] += weight;
		sse += weight * distance_to(p, i, p->result.centroids, label);
	}
	for (size_t j = 0; j < p->k; j++)
		CHECK(fabs(weights[j] - p->result.weights[j]) <= 1e-12 * (1.0 + weights[j]), "%s: weight of %zu", what, j);
	CHECK(fabs(sse - p->result.sse) <= 1e-10 * (1e-12 + sse), "%s: sse %g, labels give %g", what, p->result.sse, sse);
	CHECK(sse <= objective(p, p->result.centroids) * (1.0 + 1e-5) + 1e-12, "%s: labels are not the nearest centroids", what);
}

/* Every row gets the label of its planted cluster. */
static void
test_planted(size_t n, size_t d, size_t k)
{
	problem		p = make_problem(n, d, k);
	fc_kmeans_options options = fc_kmeans_defaults();
	size_t		wrong = 0;

	plant(&p, k, 30.0, 7 + d);
	solve(&p, NULL, &options);
	for (size_t i = 0; i < n; i++)
		wrong += p.result.labels[i] != p.result.labels[i % k];
	CHECK(wrong == 0, "planted n=%zu d=%zu k=%zu: %zu rows apart from their cluster", n, d, k, wrong);
	CHECK(fabs(p.result.sse / ((double) (n - k) * (double) d) - 1.0) < 0.1, "within variance %g", p.result.sse / ((double) (n - k) * (double) d));
	check_consistent(&p, "planted");
}

/*
 * Starting at given centroids, each further step lowers the SSE; 0 steps keep
 * the centroids, and a margin keeps them as well.
 */
static void
test_monotone(size_t d)
{
	problem		p = make_problem(900, d, 12);
	fc_kmeans_options options = {.n_init = 0,.tolerance = 0.0};
	double	   *initial = unit_alloc(12 * d, sizeof(double));
	double		previous;

	plant(&p, 9, 1.5, 3);
	for (size_t c = 0; c < 12 * d; c++)
		initial[c] = (double) p.x[c];
	previous = objective(&p, initial);
	for (options.iterations = 0; options.iterations < 12; options.iterations++)
	{
		solve(&p, initial, &options);
		CHECK(p.result.winner == 0 && p.result.iterations <= options.iterations, "a start other than the initial one was used");
		CHECK(p.result.sse <= previous * (1.0 + 1e-6), "step %d: %.17g after %.17g", options.iterations, p.result.sse, previous);
		previous = p.result.sse;
		check_consistent(&p, "monotone");
	}
	options = fc_kmeans_defaults();
	solve(&p, initial, &options);
	CHECK(p.result.sse <= previous * (1.0 + 1e-3), "more starts are worse");
	options.margin = 0.9;
	solve(&p, initial, &options);
	CHECK(p.result.winner == 0, "a margin does not keep the initial centroids");
}

/*
 * A row of weight 2 counts as two rows, to 1e-5; rows of weight 0 have no
 * effect.
 */
static void
test_weights(size_t d)
{
	size_t		n = 400;
	size_t		k = 5;
	problem		once = make_problem(n, d, k);
	problem		twice = make_problem(2 * n, d, k);
	fc_kmeans_options options = {.n_init = 0,.iterations = 50,.tolerance = 0.0};
	double	   *initial = unit_alloc(k * d, sizeof(double));

	plant(&once, 7, 3.0, 11);
	once.rows.weight = once.weight;
	twice.rows.weight = twice.weight;
	for (size_t i = 0; i < n; i++)
	{
		once.weight[i] = i % 3 == 0 ? 2.0 : 1.0;
		memcpy(twice.x + i * d, once.x + i * d, d * sizeof(float));
		memcpy(twice.x + (n + i) * d, once.x + i * d, d * sizeof(float));
		twice.weight[n + i] = once.weight[i] - 1.0;
		if (i % 3 == 1)			/* a row of weight 0 may be anywhere */
			twice.x[(n + i) * d] = 1000.0f;
	}
	for (size_t c = 0; c < k * d; c++)
		initial[c] = (double) once.x[c];
	solve(&once, initial, &options);
	solve(&twice, initial, &options);
	for (size_t c = 0; c < k * d; c++)
		CHECK(fabs(once.result.centroids[c] - twice.result.centroids[c]) < 1e-5, "weighted centroid %zu: %g, %g", c,
			  once.result.centroids[c], twice.result.centroids[c]);
	check_consistent(&once, "weights");
	check_consistent(&twice, "weights twice");
	options.n_init = 3;
	solve(&twice, NULL, &options);
	for (size_t j = 0; j < k; j++)
		CHECK(twice.result.centroids[j * d] < 500.0, "a row without weight became a centroid");
}

/*
 * Fewer distinct rows than clusters: the SSE is 0, and surplus clusters have
 * weight 0 and are copies of rows.
 */
static void
test_degenerate(size_t n, size_t d, size_t k, size_t distinct)
{
	problem		p = make_problem(n, d, k);
	fc_kmeans_options options = fc_kmeans_defaults();
	size_t		occupied = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < d; c++)
			p.x[i * d + c] = (float) ((i % distinct) * (c + 1)) * 0.37f - 1.1f;
	solve(&p, NULL, &options);
	CHECK(p.result.sse <= 1e-20 * (double) (n * d), "n=%zu k=%zu distinct=%zu: sse %g", n, k, distinct, p.result.sse);
	for (size_t j = 0; j < k; j++)
	{
		double		nearest = INFINITY;

		occupied += p.result.weights[j] > 0.0;
		for (size_t i = 0; i < n; i++)
			nearest = fmin(nearest, distance_to(&p, i, p.result.centroids, j));
		CHECK(nearest < 1e-20 * (double) d, "cluster %zu of %zu is not a row: %g", j, k, nearest);
	}
	CHECK(occupied == (distinct < k ? distinct : k), "n=%zu k=%zu: %zu clusters occupied", n, k, occupied);
	check_consistent(&p, "degenerate");
}

/* Initial centroids far from all rows do not stay empty. */
static void
test_reseed(size_t d)
{
	problem		p = make_problem(600, d, 6);
	fc_kmeans_options options = {.n_init = 0,.iterations = 100,.tolerance = 0.0};
	double	   *initial = unit_alloc(6 * d, sizeof(double));

	plant(&p, 6, 20.0, 5);
	for (size_t c = 0; c < 6 * d; c++)
		initial[c] = c < d ? 0.0 : 1e6;
	solve(&p, initial, &options);
	for (size_t j = 0; j < 6; j++)
		CHECK(p.result.weights[j] > 0.0, "cluster %zu stayed empty", j);
	check_consistent(&p, "reseed");
}

/* The same seed gives the same bits. */
static void
test_stops(size_t n, size_t d, size_t k)
{
	problem		p = make_problem(n, d, k);
	problem		q = make_problem(n, d, k);
	fc_kmeans_options options = {.n_init = 2,.iterations = 3,.tolerance = 0.0,.seed = 42};

	plant(&p, k, 2.0, 9);
	memcpy(q.x, p.x, n * d * sizeof(float));
	solve(&p, NULL, &options);
	solve(&q, NULL, &options);
	CHECK(memcmp(p.result.centroids, q.result.centroids, k * d * sizeof(double)) == 0 &&
		  memcmp(p.result.labels, q.result.labels, n * sizeof(int32_t)) == 0 && p.result.sse == q.result.sse, "the same seed gives other bits");
}

/*
 * Many clusters in few dimensions: labels are still the nearest centroids,
 * found by comparing only a share of all pairs of rows and centroids.
 */
static void
test_tree(size_t n, size_t d, size_t k, size_t groups, bool weighted, double away, double share)
{
	problem		p = make_problem(n, d, k);
	fc_kmeans_options options = {.n_init = 1,.iterations = 5,.tolerance = 0.0,.seed = 3};
	fc_rng		rng = fc_rng_start(n, d);
	double		all = (double) (n * k);

	plant(&p, groups, 30.0, 11);
	for (size_t i = 0; i < n * d; i++)
		p.x[i] += (float) away;
	for (size_t i = 0; i < n; i++)
		p.weight[i] = weighted && i % 5 == 0 ? 0.0 : fc_rng_uniform(&rng);
	p.rows.weight = weighted ? p.weight : NULL;
	solve(&p, NULL, &options);
	check_consistent(&p, "tree");
	CHECK((double) p.result.compared < share * all * (double) (options.iterations + 3 + (int) log((double) k)),
		  "tree d=%zu k=%zu: %.3g pairs compared, %.3g a pass over all", d, k, (double) p.result.compared, all);
}

/*
 * Repeated rows, among them fewer distinct ones than clusters, or all equal:
 * nodes of the tree cannot always be split.
 */
static void
test_tree_repeated(size_t distinct)
{
	problem		p = make_problem(5000, 2, 64);
	fc_kmeans_options options = fc_kmeans_defaults();

	for (size_t i = 0; i < 2 * p.rows.n; i++)
		p.x[i] = (float) (i / 2 % distinct) * (i % 2 == 0 ? 1.0f : -0.5f);
	solve(&p, NULL, &options);
	check_consistent(&p, "repeated");
	CHECK(distinct > p.k || p.result.sse == 0.0, "%zu different rows: sse %g", distinct, p.result.sse);
}

/*
 * Tight clusters are one apart, and 10000 away from the origin or from a last
 * cluster, so that scores in float cannot distinguish them: labels are right.
 */
static void
test_close(size_t d)
{
	problem		p = make_problem(400, d, 4);
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_rng		rng = fc_rng_start(d, 4);
	double		planted = 0.0;
	size_t		wrong = 0;

	for (size_t i = 0; i < p.rows.n; i++)
		for (size_t c = 0; c < d; c++)
		{
			double		noise = 0.01 * fc_rng_normal(&rng);

			p.x[i * d + c] = (float) ((c > 0 || i % 4 == 3 ? 0.0 : 10000.0 + (double) (i % 4)) + noise);
			planted += noise * noise;
		}
	solve(&p, NULL, &options);
	for (size_t i = 4; i < p.rows.n; i++)
		wrong += p.result.labels[i] != p.result.labels[i % 4];
	CHECK(wrong == 0, "d %zu: %zu rows in another cluster than planted", d, wrong);
	CHECK(p.result.sse <= 1.01 * planted, "d %zu: sse %g, planted %g", d, p.result.sse, planted);
	check_consistent(&p, "close");
}

int
main(void)
{
	size_t		dimensions[] = {1, 3, 16, 17, 40};

	test_planted(2000, 2, 5);
	test_planted(1000, 10, 10);
	test_planted(3001, 30, 20);
	test_planted(1500, 8, 300);
	test_planted(1500, 24, 300);
	for (size_t i = 0; i < 5; i++)
	{
		test_monotone(dimensions[i]);
		test_weights(dimensions[i]);
		test_degenerate(1, dimensions[i], 1, 1);
		test_degenerate(1, dimensions[i], 3, 1);
		test_degenerate(500, dimensions[i], 1, 1);
		test_degenerate(500, dimensions[i], 7, 1);
		test_degenerate(300, dimensions[i], 20, 5);
		test_degenerate(4, dimensions[i], 9, 4);
		test_reseed(dimensions[i]);
		test_stops(300, dimensions[i], 5);
		test_close(dimensions[i]);
	}
	test_tree(20000, 2, 1000, 1, false, 0.0, 0.15);
	test_tree(20000, 2, 1000, 200, true, 0.0, 0.15);
	test_tree(20000, 2, 1000, 200, false, 1e5, 0.15);
	test_tree(9999, 5, 200, 200, false, 0.0, 0.8);
	test_tree(4100, 8, 192, 100, true, 0.0, 1.2);
	for (size_t distinct = 1; distinct < 4000; distinct *= 5)
		test_tree_repeated(distinct);
	test_stops(2100, 2, 48);
	return unit_finish();
}
