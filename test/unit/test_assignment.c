/*
 * test_assignment.c - the assignment problem agrees with a search of all
 * permutations to 1e-12; clusters that persist keep their numbers
 */
#include "numerics/assignment.h"
#include "unit.h"

static void
match(const double *cost, size_t rows, size_t columns, int32_t *answer)
{
	fc_assignment(cost, rows, columns, unit_work(), answer);
}

/* Returns the minimum cost of all pairings of the rows from `row` on. */
static double
cheapest(const double *cost, size_t rows, size_t columns, size_t row, unsigned used, size_t skips)
{
	double		best = row == rows ? 0 : INFINITY;

	for (size_t j = 0; row < rows && j < columns; j++)
		if (!(used & (1u << j)))
			best = fmin(best, cost[row * columns + j] + cheapest(cost, rows, columns, row + 1, used | (1u << j), skips));
	if (row < rows && skips > 0)
		best = fmin(best, cheapest(cost, rows, columns, row + 1, used, skips - 1));
	return best;
}

/*
 * 400 random problems of up to 6 x 6 have the minimum cost of all
 * permutations, to 1e-12, and no column is used twice.
 */
static void
test_optimal(void)
{
	fc_rng		rng = fc_rng_start(1, 0);

	for (int trial = 0; trial < 400; trial++)
	{
		size_t		rows = 1 + fc_rng_below(&rng, 6);
		size_t		columns = 1 + fc_rng_below(&rng, 6);
		bool		whole = fc_rng_below(&rng, 2) == 0; /* integer costs, with many ties */
		double		cost[36];
		int32_t		answer[6];
		double		sum = 0;
		unsigned	used = 0;
		size_t		paired = 0;

		for (size_t i = 0; i < rows * columns; i++)
			cost[i] = whole ? (double) fc_rng_below(&rng, 4) : fc_rng_normal(&rng);
		match(cost, rows, columns, answer);
		for (size_t i = 0; i < rows; i++)
		{
			if (answer[i] < 0)
				continue;
			CHECK(!(used & (1u << answer[i])), "column %d is used twice", answer[i]);
			used |= 1u << answer[i];
			sum += cost[i * columns + (size_t) answer[i]];
			paired++;
		}
		CHECK(paired == (rows < columns ? rows : columns), "%zu pairs of %zu x %zu", paired, rows, columns);
		CHECK(fabs(sum - cheapest(cost, rows, columns, 0, 0, rows > columns ? rows - columns : 0)) < 1e-12, "%zu x %zu costs %g", rows, columns, sum);
	}
}

/*
 * A planted permutation of 300 rows, with cost 0 on it and at least 1
 * elsewhere, is found.
 */
static void
test_planted(void)
{
	const size_t k = 300;
	double	   *cost = unit_alloc(k * k, sizeof(double));
	int32_t    *answer = unit_alloc(k, sizeof(int32_t));
	size_t		wrong = 0;
	fc_rng		rng = fc_rng_start(2, 0);

	for (size_t i = 0; i < k * k; i++)
		cost[i] = 1 + fc_rng_uniform(&rng);
	for (size_t i = 0; i < k; i++)
		cost[i * k + (i * 7 + 3) % k] = 0;
	match(cost, k, k, answer);
	for (size_t i = 0; i < k; i++)
		wrong += answer[i] != (int32_t) ((i * 7 + 3) % k);
	CHECK(wrong == 0, "%zu rows have a wrong column", wrong);
}

static void
renumber(const double *old, size_t k_old, const double *new, size_t k_new, size_t d, int32_t *number)
{
	fc_pair_clusters(old, k_old, new, k_new, d, unit_work(), number);
	fc_complete_numbers(number, k_new, unit_work());
}

/* A cluster that jumps over the others does not change their numbers. */
static void
test_chain(void)
{
	const double old[] = {0, 5, 10, 15};
	const double new[] = {20, 15.2, 10.1, 4.9};
	const double fewer[] = {15, 5};
	int32_t		number[4];

	renumber(old, 4, new, 4, 1, number);
	CHECK(number[0] == 0 && number[1] == 3 && number[2] == 2 && number[3] == 1, "%d %d %d %d", number[0], number[1], number[2], number[3]);
	renumber(old, 4, fewer, 2, 1, number);
	CHECK(number[0] == 0 && number[1] == 1, "%d %d", number[0], number[1]);
	renumber(fewer, 2, new, 4, 1, number);
	CHECK(number[1] == 0 && number[3] == 1, "%d %d", number[1], number[3]);
	CHECK(number[0] + number[2] == 5, "%d %d", number[0], number[2]);
}

/*
 * 40 clusters in 3 dimensions are shuffled and moved slightly, and every
 * eighth is replaced: all others keep their numbers.
 */
static void
test_stayed(void)
{
	enum { K = 40, D = 3 };
	double		old[K * D];
	double		new[K * D];
	int32_t		number[K];
	fc_rng		rng = fc_rng_start(3, 0);

	for (int trial = 0; trial < 20; trial++)
	{
		for (size_t i = 0; i < K; i++)
			for (size_t c = 0; c < D; c++)
			{
				size_t		target = (i * 11 + 5) % K;
				double		cell = c == 0 ? (double) (i % 4) : c == 1 ? (double) (i / 4 % 4) : (double) (i / 16);

				old[i * D + c] = 4 * cell + 0.3 * fc_rng_normal(&rng);
				new[target * D + c] = i % 8 == 0 ? 50 * fc_rng_normal(&rng) : old[i * D + c] + 0.3 * fc_rng_normal(&rng);
			}
		renumber(old, K, new, K, D, number);
		for (size_t i = 0; i < K; i++)
			CHECK(i % 8 == 0 || number[(i * 11 + 5) % K] == (int32_t) i, "trial %d: cluster %zu became %d", trial, i, number[(i * 11 + 5) % K]);
	}
}

/*
 * The maximum number of rows keep their label; an unmatched new cluster gets
 * the number that is free.
 */
static void
test_labels(void)
{
	const double counts[] = {0, 5, 9, 8, 0, 7, 0, 0, 0};
	int32_t		number[3];

	fc_pair_labels(counts, 3, 3, unit_work(), number);
	CHECK(number[0] == 2 && number[1] == 0 && number[2] == 1, "%d %d %d", number[0], number[1], number[2]);
}

/*
 * A pair is parted if neither cluster is the nearest to the other: a new cluster
 * appeared beside the first, and the last is gone.
 */
static void
test_far_pairs(void)
{
	const double old[] = {0, 10, 90};
	const double new[] = {0.1, 10.2, -3};
	int32_t		number[3];

	fc_pair_clusters(old, 3, new, 3, 1, unit_work(), number);
	CHECK(number[0] == 0 && number[1] == 1 && number[2] == 2, "%d %d %d", number[0], number[1], number[2]);
	fc_part_far_pairs(old, 3, new, 3, 1, number);
	CHECK(number[0] == 0 && number[1] == 1 && number[2] == -1, "%d %d %d", number[0], number[1], number[2]);
}

/*
 * The nearest other centroid and its distance are found; a single centroid
 * gets -1 and NAN.
 */
static void
test_nearest(void)
{
	const double centroids[] = {0, 0, 3, 4, 3, 5, 0, 0};
	int32_t		nearest[4];
	double		distance[4];

	fc_nearest_others(centroids, 4, 2, nearest, distance);
	CHECK(nearest[0] == 3 && nearest[1] == 2 && nearest[2] == 1 && nearest[3] == 0, "%d %d %d %d", nearest[0], nearest[1], nearest[2], nearest[3]);
	CHECK(distance[0] == 0 && distance[1] == 1, "%g %g", distance[0], distance[1]);
	fc_nearest_others(centroids, 1, 2, nearest, distance);
	CHECK(nearest[0] == -1 && isnan(distance[0]), "a single centroid has another one nearest");
}

int
main(void)
{
	test_optimal();
	test_planted();
	test_chain();
	test_stayed();
	test_labels();
	test_far_pairs();
	test_nearest();
	return unit_finish();
}
