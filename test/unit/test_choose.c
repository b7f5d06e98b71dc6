/*
 * test_choose.c - the number of clusters: planted numbers are found and called
 * clear, single clouds are not called clear, and outliers, hidden clusters and
 * few rows are handled
 */
#include "kmeans/choose.h"
#include "kmeans_problem.h"

static fc_choice choice;

/*
 * Places rows around k centers, `gap` apart along each axis in turn, with unit
 * noise.
 */
static void
plant_line(problem *p, double gap)
{
	fc_rng		rng = fc_rng_start(5, 0);
	size_t		d = p->rows.d;

	for (size_t i = 0; i < p->rows.n; i++)
	{
		size_t		j = (size_t) fc_rng_below(&rng, p->k);

		for (size_t c = 0; c < d; c++)
			p->x[i * d + c] = (float) (gap * (double) ((j + d - 1 - c) / d) + fc_rng_normal(&rng));
	}
}

static size_t
chosen(problem *p, size_t max_k, double trim)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_arena	arena = unit_arena();

	fc_choose_k(&p->rows, false, max_k, trim, NULL, &options, &arena, &choice);
	CHECK(arena.allocated == 0, "%zu bytes of the arena are still held", arena.allocated);
	for (size_t i = 1; i < choice.count; i++)
		CHECK(choice.tried[i].k > choice.tried[i - 1].k && choice.tried[i].k <= max_k, "tried %zu", choice.tried[i].k);
	return choice.tried[choice.chosen].k;
}

/*
 * Estimates of the work agree with measured seconds to a factor of 2, at 4e9
 * multiply-adds per second.
 */
static void
test_operations(void)
{
	static const struct
	{
		size_t		n;
		size_t		d;
		size_t		max_k;
		double		seconds;
	}			measured[] = {
		{20000, 2, 10, 0.05}, {20000, 2, 200, 0.78}, {20000, 5, 50, 0.26}, {20000, 20, 200, 1.6}, {10000, 50, 50, 0.73}, {10000, 50, 200, 2.0},
		{10000, 100, 50, 1.18}, {10000, 100, 200, 3.3}, {10000, 300, 10, 0.22}, {10000, 300, 200, 2.45}
	};

	for (size_t i = 0; i < sizeof(measured) / sizeof(*measured); i++)
	{
		double		ratio = fc_choose_k_operations(measured[i].n, measured[i].d, measured[i].max_k) / (4e9 * measured[i].seconds);

		CHECK(ratio > 0.5 && ratio < 2.0, "%zu x %zu, max_k = %zu: %g times the work", measured[i].n, measured[i].d, measured[i].max_k, ratio);
	}
}

/* The planted number of clusters is chosen and called clear. */
static void
test_planted(size_t d, size_t k, double gap)
{
	problem		p = make_problem(100 * k + 1000, d, k);

	plant_line(&p, gap);
	CHECK(chosen(&p, 3 * k / 2 + 3, 0.0) == k && choice.verdict == FC_K_CLEAR, "d=%zu gap=%g: %zu of %zu clusters", d, gap, choice.tried[choice.chosen].k, k);
}

/*
 * Two clusters of standardised columns are longer across the line between them
 * than along it. Two is nevertheless clear: it is no rival that four halves are
 * reproduced, or that some of many parts have valleys around them by chance.
 */
static void
test_two_long(size_t n)
{
	problem		p = make_problem(n, 2, 2);
	fc_rng		rng = fc_rng_start(11, 0);
	size_t		clear = 0;

	for (size_t table = 0; table < 10; table++)
	{
		for (size_t i = 0; i < n; i++)
		{
			p.x[2 * i] = (float) (2.0 * (double) (i % 2) + fc_rng_normal(&rng) / 3.0);
			p.x[2 * i + 1] = (float) fc_rng_normal(&rng);
		}
		clear += chosen(&p, 50, 0.0) == 2 && choice.verdict == FC_K_CLEAR;
	}
	CHECK(clear >= 9, "%zu rows: 2 is clear in %zu of 10 tables", n, clear);
}

/*
 * One row in a hundred is placed at random: the planted number is clear if the
 * farthest 2 % are left out.
 */
static void
test_outliers(size_t d)
{
	problem		p = make_problem(3000, d, 5);
	fc_rng		rng = fc_rng_start(7, 0);

	plant_line(&p, 8.0);
	for (size_t i = 0; i < p.rows.n; i += 100)
		for (size_t c = 0; c < d; c++)
			p.x[i * d + c] = (float) (1000.0 * fc_rng_normal(&rng));
	CHECK(chosen(&p, 12, 0.02) == 5 && choice.verdict == FC_K_CLEAR, "d=%zu: %zu clusters", d, choice.tried[choice.chosen].k);
}

/*
 * A single uniform, normal or exponential cloud has no clear number of
 * clusters.
 */
static void
test_cloud(size_t d, int law)
{
	problem		p = make_problem(2000, d, 1);
	fc_rng		rng = fc_rng_start(6, 0);

	for (size_t i = 0; i < p.rows.n * d; i++)
		p.x[i] = (float) (law == 0 ? fc_rng_uniform(&rng) : law == 1 ? fc_rng_normal(&rng) : -log(fc_rng_uniform(&rng)));
	(void) chosen(&p, 15, 0.0);
	CHECK(choice.verdict != FC_K_CLEAR, "d=%zu law %d: %zu clusters", d, law, choice.tried[choice.chosen].k);
}

/*
 * Six groups of four clusters: 6 is chosen for any limit, and 24 is reported
 * as the second level.
 */
static void
test_levels(size_t d)
{
	problem		p = make_problem(6000, d, 24);
	fc_rng		rng = fc_rng_start(8, 0);

	for (size_t i = 0; i < p.rows.n; i++)
	{
		size_t		j = (size_t) fc_rng_below(&rng, p.k);

		for (size_t c = 0; c < d; c++)
			p.x[i * d + c] = (float) ((c == 0 ? 50.0 * (double) (j / 4) : 0.0) + (c == 1 ? 8.0 * (double) (j % 2) : 0.0) +
									  (c == 0 ? 8.0 * (double) (j / 2 % 2) : 0.0) + fc_rng_normal(&rng));
	}
	CHECK(chosen(&p, 15, 0.0) == 6 && choice.verdict == FC_K_CLEAR, "d=%zu: %zu families", d, choice.tried[choice.chosen].k);
	CHECK(chosen(&p, 60, 0.0) == 6 && choice.verdict == FC_K_CLEAR, "d=%zu: %zu families of 60", d, choice.tried[choice.chosen].k);
	CHECK(choice.second == 24, "d=%zu: %zu within", d, choice.second);
}

/*
 * A cluster of one row in a hundred is either found or reported as hidden. A
 * line with more clusters than the limit has the verdict FC_K_LIMIT.
 */
static void
test_unclear(void)
{
	problem		p = make_problem(6000, 2, 12);
	fc_rng		rng = fc_rng_start(9, 0);

	for (size_t i = 0; i < p.rows.n; i++)
		for (size_t c = 0; c < 2; c++)
			p.x[2 * i + c] = (float) ((c == 0 ? i % 100 == 0 ? -7.0 : 9.0 * (double) (i % 3) : 0.0) + fc_rng_normal(&rng));
	(void) chosen(&p, 12, 0.0);
	CHECK(choice.verdict == FC_K_CLEAR ? choice.tried[choice.chosen].k == 4 : choice.hidden > 0, "%zu clusters", choice.tried[choice.chosen].k);
	plant_line(&p, 8.0);
	(void) chosen(&p, 8, 0.0);
	CHECK(choice.verdict == FC_K_LIMIT, "%zu of 8 clusters", choice.tried[choice.chosen].k);
}

/*
 * A cluster of one row in a hundred is 6 deviations away in four columns
 * together, which are narrower than ten columns of noise. It is reported as
 * hidden in another cluster.
 */
static void
test_hidden_in_noise(void)
{
	problem		p = make_problem(10000, 14, 3);
	fc_rng		rng = fc_rng_start(10, 0);

	for (size_t i = 0; i < p.rows.n; i++)
	{
		double		centre = i % 10 == 0 ? 0.0 : i % 100 == 1 ? 6.0 : 3.0;

		for (size_t c = 0; c < 14; c++)
			p.x[14 * i + c] = (float) (c < 4 ? 0.75 * (centre + fc_rng_normal(&rng)) : fc_rng_normal(&rng));
	}
	(void) chosen(&p, 12, 0.0);
	CHECK(choice.verdict == FC_K_UNCLEAR && choice.hidden == 1, "%zu clusters, %zu hide others", choice.tried[choice.chosen].k, choice.hidden);
}

/*
 * Equal rows, even a single one, are one cluster with cost 0 and an unclear
 * number.
 */
static void
test_small(void)
{
	for (size_t n = 1; n < 200; n = 2 * n + 1)
	{
		problem		p = make_problem(n, 2, 1);
		size_t		k;

		memset(p.x, 0, 2 * n * sizeof(float));
		k = chosen(&p, 10, n % 2 == 1 ? 0.1 : 0.0);
		CHECK(k == 1 && choice.tried[0].evidence.cost == 0.0 && choice.verdict == FC_K_UNCLEAR, "%zu of %zu equal rows", k, n);
	}
}

/*
 * Rows from -1 to 1 lie twenty at each place, and `between` at each place of
 * the middle third: both sides are separated only if `between` is small.
 */
static void
test_valley(size_t between, size_t expected)
{
	double		centroids[2] = {-1.0, 1.0};
	fc_arena	arena = unit_arena();
	fc_valleys	valleys = fc_valleys_start(centroids, 2, 1, &arena);
	size_t		separated = 0;

	for (int place = -20; place <= 20; place++)
	{
		double		x = 0.05 * place;
		double		squares[2] = {(x + 1.0) * (x + 1.0), (x - 1.0) * (x - 1.0)};

		for (size_t i = 0; i < (abs(place) < 7 ? between : 20); i++)
			fc_valleys_add(&valleys, squares, x > 0.0);
	}
	fc_valleys_count(&valleys, &arena, &separated);
	CHECK(separated == expected, "%zu between: %zu", between, separated);
}

/*
 * Of 20 tables of three or four clusters of a few rows, nine deviations apart,
 * 19 are right and clear; a single cloud of few rows is never called clear.
 */
static void
test_few_clusters(size_t k, size_t each)
{
	size_t		right = 0;

	for (uint64_t seed = 0; seed < 20; seed++)
	{
		problem		p = make_problem(k * each, 2, k);
		fc_rng		rng = fc_rng_start(31 + seed, k);

		for (size_t i = 0; i < p.rows.n * 2; i++)
			p.x[i] = (float) (9.0 * (double) (i % 2 == 0 ? i / 2 % k % 2 : i / 2 % k / 2) + fc_rng_normal(&rng));
		right += chosen(&p, 50, 0.0) == k && choice.verdict == FC_K_CLEAR;
	}
	CHECK(right >= 19, "%zu clusters of %zu rows: %zu of 20 right", k, each, right);
}

/*
 * Three clusters of ten rows, rounded, are clear in many dimensions, where their
 * silhouettes in all dimensions are small.
 */
static void
test_few_wide(size_t d)
{
	for (uint64_t seed = 0; seed < 5; seed++)
	{
		problem		p = make_problem(30, d, 3);
		fc_rng		rng = fc_rng_start(41 + seed, d);

		for (size_t i = 0; i < p.rows.n * d; i++)
			p.x[i] = rintf((float) (10.0 * fc_rng_normal(&rng) +
									(i % d % 3 == i / d % 3 ? 200.0 / sqrt((double) d) : 0.0))) / 10.0f;
		CHECK(chosen(&p, 50, 0.0) == 3 && choice.verdict == FC_K_CLEAR, "d=%zu: %zu clusters, verdict %d", d, choice.tried[choice.chosen].k, (int) choice.verdict);
	}
}

/* A single column without clusters is hardly ever called clear. */
static void
test_few_on_line(size_t n)
{
	size_t		clear = 0;

	for (uint64_t seed = 0; seed < 60; seed++)
	{
		problem		p = make_problem(n, 1, 1);
		fc_rng		rng = fc_rng_start(43 + seed, n);

		for (size_t i = 0; i < n; i++)
			p.x[i] = (float) (seed % 3 == 0 ? -log(fc_rng_uniform(&rng)) : seed % 3 == 1 ? fc_rng_normal(&rng) : exp(fc_rng_normal(&rng)));
		(void) chosen(&p, 50, 0.0);
		clear += choice.verdict == FC_K_CLEAR;
	}
	CHECK(clear <= 3, "%zu rows: %zu of 60 clear", n, clear);
}

static void
test_few_of_cloud(size_t n, int law)
{
	size_t		clear = 0;

	for (uint64_t seed = 0; seed < 20; seed++)
	{
		problem		p = make_problem(n, 2, 1);
		fc_rng		rng = fc_rng_start(37 + seed, n);

		for (size_t i = 0; i < p.rows.n * 2; i++)
			p.x[i] = (float) (law == 0 ? fc_rng_uniform(&rng) : law == 1 ? fc_rng_normal(&rng) : -log(fc_rng_uniform(&rng)));
		(void) chosen(&p, 50, 0.0);
		clear += choice.verdict == FC_K_CLEAR;
	}
	CHECK(clear <= 1, "law %d, %zu rows: %zu of 20 clear", law, n, clear);
}

int
main(void)
{
	size_t		dimensions[] = {1, 2, 10, 20};

	test_operations();
	for (size_t i = 0; i < 4; i++)
	{
		for (int law = 0; law < 3; law++)
			test_cloud(dimensions[i], law);
		for (size_t k = 3; k <= 12; k = 2 * k)
		{
			test_planted(dimensions[i], k, 8.0);
			test_planted(dimensions[i], k, 5.0);
		}
	}
	test_two_long(1000);
	test_two_long(3000);
	test_few_wide(20);
	test_few_wide(60);
	test_few_wide(300);
	test_outliers(2);
	test_outliers(10);
	test_levels(2);
	test_levels(10);
	test_unclear();
	test_hidden_in_noise();
	test_small();
	test_valley(0, 2);
	test_valley(10, 2);
	test_valley(14, 1);
	test_valley(40, 1);
	for (size_t each = 5; each <= 16; each += 11)
	{
		test_few_on_line(3 * each);
		test_few_clusters(3, each);
		test_few_clusters(4, each);
	}
	for (int law = 0; law < 3; law++)
	{
		test_few_of_cloud(15, law);
		test_few_of_cloud(48, law);
		test_few_of_cloud(300, law);
	}
	return unit_finish();
}
