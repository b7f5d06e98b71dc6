/*
 * test_tree.c - Ward's tree agrees with its definition to 1e-9, and the recall
 * of a search through buckets with all distances
 */
#include "operator/codebook.h"
#include "operator/fit.h"
#include "operators.h"

#define K 60
#define D 5
#define ROWS 400

static void
tree_of(const double *centroids, const double *weights, size_t k, size_t d, fc_join *joins)
{
	codebook	c = make_codebook(centroids, weights, k, d);
	fc_arena	arena = unit_arena();

	fc_cluster_tree(&c.op, &arena, joins);
	CHECK(arena.allocated == 0, "the arena is still in use");
}

/*
 * The tree of 0, 1, 4, 9, 11 is the one of scipy.cluster.hierarchy.linkage(x,
 * 'ward').
 */
static void
test_known(void)
{
	const double x[5] = {0, 1, 4, 9, 11};
	const double weights[5] = {1, 1, 1, 1, 1};
	const fc_join expected[4] = {{0, 1, 1.0, 2}, {3, 4, 2.0, 2}, {2, 5, 4.0414518843273806, 3}, {6, 7, 12.909944487358056, 5}};
	fc_join		joins[4];

	tree_of(x, weights, 5, 1, joins);
	for (int i = 0; i < 4; i++)
		CHECK(joins[i].left == expected[i].left && joins[i].right == expected[i].right && joins[i].weight == expected[i].weight &&
			  fabs(joins[i].height - expected[i].height) < 1e-12 * expected[i].height, "join %d: %d %d %g %g", i, joins[i].left, joins[i].right,
			  joins[i].height, joins[i].weight);
}

/*
 * Each join has the smallest increase of the sum of squares among all pairs.
 */
static void
test_definition(void)
{
	double		x[2 * K * D];
	double		weight[2 * K];
	bool		there[2 * K] = {false};
	fc_join		joins[K - 1];
	fc_rng		rng = fc_rng_start(3, 0);

	for (size_t j = 0; j < K; j++)
	{
		there[j] = true;
		weight[j] = 1 + floor(100 * fc_rng_uniform(&rng));
		for (size_t i = 0; i < D; i++)
			x[j * D + i] = (float) fc_rng_normal(&rng);
	}
	tree_of(x, weight, K, D, joins);
	for (size_t step = 0; step < K - 1; step++)
	{
		double		min = INFINITY;
		size_t		a = (size_t) joins[step].left;
		size_t		b = (size_t) joins[step].right;

		for (size_t p = 0; p < K + step; p++)
			for (size_t q = 0; q < p; q++)
			{
				double		sum = 0;

				for (size_t i = 0; i < D; i++)
					sum += (x[p * D + i] - x[q * D + i]) * (x[p * D + i] - x[q * D + i]);
				if (there[p] && there[q])
					min = fmin(min, weight[p] * weight[q] / (weight[p] + weight[q]) * sum);
			}
		CHECK(there[a] && there[b] && a < b, "step %zu joins missing or unordered nodes", step);
		CHECK(fabs(joins[step].height - sqrt(2 * min)) < 1e-9 * sqrt(2 * min), "step %zu: %g, least %g", step, joins[step].height, sqrt(2 * min));
		there[a] = there[b] = false;
		there[K + step] = true;
		weight[K + step] = weight[a] + weight[b];
		for (size_t i = 0; i < D; i++)
			x[(K + step) * D + i] = (weight[a] * x[a * D + i] + weight[b] * x[b * D + i]) / weight[K + step];
	}
}

/*
 * One centroid has no joins; equal centroids without weights have joins of
 * height 0.
 */
static void
test_few(void)
{
	const double one[2] = {3, 4};
	const double same[6] = {1, 2, 1, 2, 1, 2};
	const double weights[3] = {0, 0, 0};
	fc_join		joins[2];

	tree_of(one, weights, 1, 2, joins);
	tree_of(same, weights, 3, 2, joins);
	CHECK(joins[0].height == 0 && joins[1].height == 0 && joins[1].weight == 3, "the tree of equal centroids is wrong");
}

/* Joined clusters have weighted means and sums of weights. */
static void
test_joined(void)
{
	const double x[6] = {0, 0, 4, 0, 1, 5};
	const double weights[3] = {1, 3, 2};
	const int32_t number[3] = {1, 1, 0};
	codebook	c = make_codebook(x, weights, 3, 2);
	double		row[2];
	double		centroids[4];
	double		sums[2];

	fc_join_clusters(&c.op, number, 2, fc_take_scratch(unit_work(), fc_operator_scratch(&c.op)), row, centroids, sums);
	CHECK(fabs(centroids[0] - 1) + fabs(centroids[1] - 5) + fabs(centroids[2] - 3) + fabs(centroids[3]) < 1e-6, "weighted means are wrong");
	CHECK(sums[0] == 2 && sums[1] == 4, "sums of weights are wrong");
}

/* Returns the recall computed from all distances; random rows have no ties. */
static double
plain_recall(const double *x, const double *centroids, size_t k, size_t neighbours, size_t probes)
{
	size_t		found = 0;

	for (size_t q = 0; q < ROWS; q++)
		for (size_t r = 0; r < ROWS; r++)
		{
			size_t		nearer = 0;
			size_t		label = 0;
			size_t		before = 0;
			double		min = INFINITY;

			for (size_t s = 0; s < ROWS; s++)
			{
				double		difference = 0;

				for (size_t i = 0; i < D; i++)
					difference += pow(x[q * D + i] - x[s * D + i], 2) - pow(x[q * D + i] - x[r * D + i], 2);
				nearer += s != q && s != r && difference < 0;
			}
			for (size_t j = 0; j < k; j++)
			{
				double		distance = 0;

				for (size_t i = 0; i < D; i++)
					distance += pow(x[r * D + i] - centroids[j * D + i], 2);
				label = distance < min ? j : label;
				min = fmin(min, distance);
			}
			for (size_t j = 0; j < k; j++)
			{
				double		difference = 0;

				for (size_t i = 0; i < D; i++)
					difference += pow(x[q * D + i] - centroids[j * D + i], 2) - pow(x[q * D + i] - centroids[label * D + i], 2);
				before += difference < 0;
			}
			found += r != q && nearer < neighbours && before < probes;
		}
	return (double) found / (double) (neighbours * ROWS);
}

/*
 * The recall agrees with all distances to 1e-9, and each row is in a bucket.
 */
static void
test_recall(void)
{
	static double x[ROWS * D];
	static double row_weights[ROWS];
	double		weights[K];
	double		count[K];
	double		square[K];
	int32_t		label[ROWS];
	double		total = 0;
	fc_rng		rng = fc_rng_start(4, 0);
	codebook	c;
	codebook	rows;
	fc_weighted_rows sample;

	for (size_t i = 0; i < ROWS * D; i++)
		x[i] = (float) fc_rng_normal(&rng);
	for (size_t j = 0; j < K; j++)
		weights[j] = 1;
	c = make_codebook(x, weights, K, D);
	rows = make_codebook(x, row_weights, ROWS, D);
	sample = fc_rows_of_codebook(&rows.op);
	for (size_t probes = 1; probes <= K; probes += 19)
	{
		fc_search	search = {.queries = ROWS,.neighbours = 7,.probes = probes};
		fc_search_result result = {.label = label,.count = count,.square = square};
		fc_arena	arena = unit_arena();

		fc_search_recall(&c.op, &sample, &search, &arena, &result);
		CHECK(arena.allocated == 0, "the arena is still in use");
		CHECK(fabs(result.recall - plain_recall(x, x, K, 7, probes)) < 1e-9, "%zu probes: %g", probes, result.recall);
	}
	for (size_t j = 0; j < K; j++)
		total += count[j];
	CHECK(total == ROWS, "a row is in no bucket");
}

int
main(void)
{
	test_known();
	test_definition();
	test_few();
	test_joined();
	test_recall();
	return unit_finish();
}
