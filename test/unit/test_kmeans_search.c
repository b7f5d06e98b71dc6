/*
 * test_kmeans_search.c - the search of k-means beyond the first minimum
 * reaches planted optima to 1e-4, respects weights, and never raises the SSE
 */
#include "kernels.h"
#include "kmeans_problem.h"

#define SAME	1e-4			/* relative: how close to a minimum Lloyd's steps end */

/*
 * Places rows around k centers about gap sqrt(2 d) apart, with unit noise and
 * clusters of unequal size.
 */
static void
plant(problem *p, double gap, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	size_t		d = p->rows.d;

	for (size_t c = 0; c < p->k * d; c++)
		p->centre[c] = gap * fc_rng_normal(&rng);
	for (size_t i = 0; i < p->rows.n; i++)
	{
		size_t		j = (size_t) fc_rng_below(&rng, p->k);

		if (j % 4 == 0)
			j = (size_t) fc_rng_below(&rng, p->k);
		for (size_t c = 0; c < d; c++)
			p->x[i * d + c] = (float) (p->centre[j * d + c] + fc_rng_normal(&rng));
	}
}

static double
sse_of(problem *p, const double *initial, const fc_kmeans_options *options)
{
	solve(p, initial, options);
	return p->result.sse;
}

/* Returns the SSE of Lloyd's steps that start at the planted centers. */
static double
planted_sse(problem *p)
{
	fc_kmeans_options options = {.n_init = 0,.iterations = 1000,.tolerance = 0.0};

	return sse_of(p, p->centre, &options);
}

/*
 * Rows of a disc in a ring, as features of the kernel (x . y)^2 along the
 * leading 2 or all 3 axes: the planted optimum is found for all seeds.
 */
static void
test_disc_in_ring(size_t rank)
{
	size_t		n = 400;
	size_t		found = 0;
	size_t		seeds = 100;

	for (uint64_t seed = 0; seed < seeds; seed++)
	{
		problem		p = make_problem(n, rank, 2);
		fc_kmeans_options options = fc_kmeans_defaults();
		double	   *x = disc_and_ring(n, seed);
		double		reference;

		for (size_t i = 0; i < n; i++)
		{
			double		a = x[2 * i] * x[2 * i];
			double		b = x[2 * i + 1] * x[2 * i + 1];
			double		axes[] = {(a + b) / sqrt(2.0), (a - b) / sqrt(2.0), sqrt(2.0) * x[2 * i] * x[2 * i + 1]};

			for (size_t c = 0; c < rank; c++)
			{
				p.x[i * rank + c] = (float) axes[c];
				p.centre[(i % 2) * rank + c] += axes[c] / (0.5 * (double) n);
			}
		}
		reference = planted_sse(&p);
		options.seed = seed;
		found += sse_of(&p, NULL, &options) <= reference * (1.0 + SAME);
	}
	CHECK(found == seeds, "rank %zu: the planted optimum was found by %zu of %zu seeds", rank, found, seeds);
}

/* The SSE is no larger than that of Lloyd's steps from the planted centers. */
static void
test_planted(size_t n, size_t d, size_t k, double gap)
{
	problem		p = make_problem(n, d, k);
	fc_kmeans_options options = fc_kmeans_defaults();
	double		reference;

	for (options.seed = 0; options.seed < 3; options.seed++)
	{
		plant(&p, gap, options.seed);
		reference = planted_sse(&p);
		CHECK(sse_of(&p, NULL, &options) <= reference * (1.0 + SAME), "n=%zu d=%zu k=%zu: sse %g, planted %g", n, d, k, p.result.sse, reference);
	}
}

/*
 * Rows of weight 1 to 4, and rows repeated as often in another order, have the
 * same optimum, to 1e-6.
 */
static void
test_replicated(size_t d)
{
	size_t		n = 600;
	size_t		k = 12;
	problem		weighted = make_problem(n, d, k);
	problem		replicated = make_problem(4 * n, d, k);
	fc_kmeans_options options = fc_kmeans_defaults();
	size_t		copies = 0;
	double		sse;

	options.tolerance = 1e-8;
	plant(&weighted, 6.0, 5);
	weighted.rows.weight = weighted.weight;
	for (size_t r = 0; r < 4; r++)
		for (size_t i = 0; i < n; i++)
		{
			weighted.weight[i] = (double) (1 + i % 4);
			if (r <= i % 4)
				memcpy(replicated.x + copies++ * d, weighted.x + i * d, d * sizeof(float));
		}
	replicated.rows.n = copies;
	sse = sse_of(&weighted, NULL, &options);
	CHECK(fabs(sse_of(&replicated, NULL, &options) - sse) <= 1e-6 * sse, "d=%zu: weighted %.9g, replicated %.9g", d, sse, replicated.result.sse);
}

/*
 * Two far rows of weight 1 among rows of weight 1e4: each gets a centroid of
 * its own, as in the planted optimum.
 */
static void
test_outliers(size_t d)
{
	problem		p = make_problem(3000, d, 8);
	fc_kmeans_options options = fc_kmeans_defaults();

	plant(&p, 8.0, 2);
	p.rows.weight = p.weight;
	for (size_t i = 0; i < p.rows.n; i++)
		p.weight[i] = 1e4;
	for (size_t j = 6; j < 8; j++)
	{
		p.weight[j] = 1.0;
		for (size_t c = 0; c < d; c++)
		{
			p.x[j * d + c] = j == 6 ? 1e6f : -1e6f;
			p.centre[j * d + c] = (double) p.x[j * d + c];
		}
	}
	for (size_t i = 8; i < p.rows.n; i++)	/* six clusters and two outliers */
		for (size_t c = 0; c < d; c++)
			p.x[i * d + c] = (float) p.centre[(i % 6) * d + c] + p.x[i * d + c] * 0.01f;
	for (size_t i = 0; i < 6; i++)
		memcpy(p.x + i * d, p.x + (i + 12) * d, d * sizeof(float));
	for (options.seed = 0; options.seed < 5; options.seed++)
	{
		double		reference = planted_sse(&p);

		CHECK(sse_of(&p, NULL, &options) <= reference * (1.0 + SAME), "d=%zu: sse %g, planted %g", d, p.result.sse, reference);
	}
}

/*
 * More rounds do not raise the SSE, and neither does a search from given
 * centroids.
 */
static void
test_never_rises(size_t d)
{
	problem		p = make_problem(1200, d, 15);
	fc_kmeans_options options = {.n_init = 1,.iterations = 1000,.tolerance = 1e-9};
	double		previous = INFINITY;

	plant(&p, 1.0, 8);
	for (options.rounds = 0; options.rounds < 12; options.rounds++)
	{
		CHECK(sse_of(&p, NULL, &options) <= previous * (1.0 + 1e-5), "d=%zu, %d rounds: %.9g after %.9g", d, options.rounds, p.result.sse, previous);
		previous = p.result.sse;
	}
	previous = planted_sse(&p);
	options = fc_kmeans_defaults();
	CHECK(sse_of(&p, p.centre, &options) <= previous * (1.0 + SAME), "d=%zu: %g from %g", d, p.result.sse, previous);
	options.margin = 0.9;
	CHECK(sse_of(&p, p.centre, &options) <= previous * (1.0 + SAME) && p.result.winner == 0, "a margin does not keep the initial centroids");
	for (size_t c = 0; c < 15 * d; c++)
		p.centre[c] = p.result.centroids[c];
	options.budget = 1.0;
	options.margin = 0.0;
	CHECK(sse_of(&p, p.centre, &options) <= previous * (1.0 + SAME) && p.result.winner == 0, "a budget of 1 allows more than one start");
}

/*
 * Many equal rows: the SSE is that of the best partition of the distinct rows,
 * and no larger than from a single start.
 */
static void
test_duplicates(void)
{
	problem		p = make_problem(6000, 2, 9);
	fc_kmeans_options options = fc_kmeans_defaults();

	for (size_t i = 0; i < p.rows.n; i++)	/* 9 groups of 4 rows, each a square of side 1 */
	{
		size_t		group = i % 9;
		size_t		corner = i / 9 % 4;

		p.x[2 * i] = (float) (10 * (group % 3) + corner % 2);
		p.x[2 * i + 1] = (float) (10 * (group / 3) + corner / 2);
	}
	CHECK(sse_of(&p, NULL, &options) <= 0.5 * (double) p.rows.n * (1.0 + SAME), "sse %g", p.result.sse);
	for (size_t k = 1; k < 9; k++)
	{
		double		one_start;

		p.k = k;
		options = (fc_kmeans_options) {.n_init = 1,.iterations = 100,.tolerance = 1e-4};
		one_start = sse_of(&p, NULL, &options);
		options = fc_kmeans_defaults();
		CHECK(sse_of(&p, NULL, &options) <= one_start * (1.0 + SAME), "k=%zu: %g, one start %g", k, p.result.sse, one_start);
	}
}

/*
 * A brief search of many small problems does less than 80 % of the work of a
 * balanced one with the same budget, and its SSE is larger by no more than
 * 1 %.
 */
static void
test_brief(size_t n, size_t d, size_t k)
{
	double		sse[2] = {0};
	double		work[2] = {0};
	problem		p = make_problem(n, d, k);

	for (uint64_t seed = 0; seed < 40; seed++)
	{
		plant(&p, 1.5, seed);
		for (int brief = 0; brief < 2; brief++)
		{
			fc_kmeans_options options = fc_kmeans_defaults();

			options.budget = 100.0 * (double) (n * d * k);
			options.effort = brief ? FC_BRIEF : FC_BALANCED;
			sse[brief] += sse_of(&p, NULL, &options);
			work[brief] += (double) p.result.compared;
		}
	}
	CHECK(sse[1] <= 1.01 * sse[0] && work[1] < 0.8 * work[0], "%zu x %zu, k %zu: SSE %g and %g, work %g and %g", n, d, k, sse[1], sse[0], work[1], work[0]);
}

int
main(void)
{
	size_t		dimensions[] = {1, 3, 40};

	test_disc_in_ring(2);
	test_disc_in_ring(3);
	test_planted(1000, 2, 10, 20.0);
	test_planted(1500, 10, 30, 4.0);
	test_planted(3000, 10, 100, 10.0);
	test_planted(2500, 2, 60, 200.0);
	test_planted(1500, 40, 50, 5.0);
	for (size_t i = 0; i < 3; i++)
		test_never_rises(dimensions[i]);
	test_replicated(3);
	test_replicated(40);
	test_outliers(2);
	test_outliers(40);
	test_duplicates();
	test_brief(200, 10, 10);
	test_brief(30, 4, 5);
	return unit_finish();
}
