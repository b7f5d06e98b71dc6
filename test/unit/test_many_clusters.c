/*
 * test_many_clusters.c - k-means and numbering of many clusters in many
 * dimensions: labels are the nearest centroids, SSEs are within known factors
 * of planted ones
 */
#include "kmeans/internal.h"
#include "kmeans/kmeans.h"
#include "numerics/assignment.h"
#include "unit.h"

/*
 * Returns n rows of `groups` well separated groups whose sizes fall as
 * 1 / (g + 1).
 */
static float *
grouped_rows(size_t n, size_t d, size_t groups, int32_t *group)
{
	fc_rng		rng = fc_rng_start(7, groups);
	float	   *center = unit_alloc(groups * d, sizeof(float));
	float	   *x = unit_alloc(n * d, sizeof(float));

	for (size_t i = 0; i < groups * d; i++)
		center[i] = (float) fc_rng_normal(&rng);
	for (size_t r = 0; r < n; r++)
	{
		size_t		g = r < groups ? r : (size_t) (pow((double) (groups + 1), fc_rng_uniform(&rng)) - 1.0) % groups;

		group[r] = (int32_t) g;
		for (size_t i = 0; i < d; i++)
			x[r * d + i] = center[g * d + i] + (float) (0.05 * fc_rng_normal(&rng));
	}
	return x;
}

static double
sse_of(const float *x, size_t n, size_t d, const double *centroids, const int32_t *labels)
{
	double		sum = 0.0;

	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < d; i++)
		{
			double		gap = (double) x[r * d + i] - centroids[(size_t) labels[r] * d + i];

			sum += gap * gap;
		}
	return sum;
}

/*
 * Labels are the nearest centroids, the SSE belongs to them and is within a
 * factor of the noise around the groups, and results repeat to the bit.
 */
static void
test_groups(size_t n, size_t d, size_t k)
{
	int32_t    *group = unit_alloc(n, sizeof(int32_t));
	float	   *x = grouped_rows(n, d, k, group);
	fc_rows		rows = {.x = x,.n = n,.d = d};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = unit_alloc(k * d, sizeof(double)),.weights = unit_alloc(k, sizeof(double)),
	.labels = unit_alloc(n, sizeof(int32_t))};
	double	   *again = unit_alloc(k * d, sizeof(double));
	fc_arena	arena = unit_arena();
	double		noise = 0.05 * 0.05 * (double) (n - k) * (double) d;

	fc_kmeans(&rows, k, NULL, &options, &arena, &result);
	CHECK(fabs(sse_of(x, n, d, result.centroids, result.labels) - result.sse) < 1e-3 * result.sse, "SSE %g", result.sse);
	CHECK(result.sse < 20.0 * noise, "SSE %g of noise %g", result.sse, noise);
	for (size_t r = 0; r < n; r += 97)
		for (size_t j = 0; j < k; j++)
		{
			int32_t		other = (int32_t) j;

			CHECK(sse_of(x + r * d, 1, d, result.centroids, &result.labels[r]) <= sse_of(x + r * d, 1, d, result.centroids, &other) + 1e-6,
				  "row %zu is nearer to %zu", r, j);
		}
	memcpy(again, result.centroids, k * d * sizeof(double));
	fc_kmeans(&rows, k, NULL, &options, &arena, &result);
	CHECK(memcmp(again, result.centroids, k * d * sizeof(double)) == 0, "a second run gives other centroids");
}

/*
 * Returns the SSE of a search divided by the noise around the groups, with as
 * many clusters as groups; *work receives the pairs compared.
 */
static double
excess_of_search(size_t n, size_t d, size_t groups, fc_kmeans_effort effort, double *work)
{
	int32_t    *group = unit_alloc(n, sizeof(int32_t));
	float	   *x = grouped_rows(n, d, groups, group);
	fc_rows		rows = {.x = x,.n = n,.d = d};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = unit_alloc(groups * d, sizeof(double)),.weights = unit_alloc(groups, sizeof(double))};

	options.effort = effort;
	fc_kmeans(&rows, groups, NULL, &options, unit_work(), &result);
	*work = (double) result.compared;
	return result.sse / (0.05 * 0.05 * (double) (n - groups) * (double) d);
}

/* Rounds of splits and merges find nearly all groups that the start missed. */
static void
test_split_merge(void)
{
	double		work;
	/* work above MIN_WIDE_WORK */
	double		in_many_dimensions = excess_of_search(8000, 256, 1000, FC_BALANCED, &work);
	double		in_few_dimensions = excess_of_search(12000, 12, 500, FC_BALANCED, &work);

	CHECK(in_many_dimensions < 1.1, "in many dimensions: %g times the noise", in_many_dimensions);
	CHECK(in_few_dimensions < 1.1, "in few dimensions: %g times the noise", in_few_dimensions);
}

/*
 * More effort means more work; a thorough search takes four times the work of
 * a balanced one and is never worse, and a fast one is worse by no more than
 * 50 %.
 */
static void
test_efforts(size_t n, size_t d, size_t groups)
{
	double		work[3];
	double		fast = excess_of_search(n, d, groups, FC_FAST, &work[0]);
	double		balanced = excess_of_search(n, d, groups, FC_BALANCED, &work[1]);
	double		thorough = excess_of_search(n, d, groups, FC_THOROUGH, &work[2]);

	CHECK(work[0] < work[1] && 3.5 * work[1] <= work[2], "%zu clusters: work %g, %g, %g", groups, work[0], work[1], work[2]);
	CHECK(thorough <= balanced && fast <= 1.5 * balanced, "%zu clusters: %g, %g, %g times the noise", groups, fast, balanced, thorough);
}

/*
 * Estimates of the work agree with measured seconds to a factor of 2, at 4e9
 * multiply-adds per second, for each search of nearest centroids and each
 * effort.
 */
static void
test_operations(void)
{
	static const struct
	{
		size_t		n;
		size_t		d;
		size_t		k;
		fc_kmeans_effort effort;
		double		seconds;
	}			measured[] = {
		{60000, 256, 1024, FC_FAST, 2.0}, {60000, 256, 1024, FC_BALANCED, 3.3}, {60000, 256, 1024, FC_THOROUGH, 13.2}, {200000, 128, 4096, FC_BALANCED, 20.2},
		{81920, 30, 4096, FC_BALANCED, 13.0}, {20480, 8, 1024, FC_FAST, 0.08}, {20480, 8, 1024, FC_BALANCED, 0.32}, {81920, 2, 4096, FC_BALANCED, 0.62},
		{2000, 30, 64, FC_BALANCED, 0.039}, {2000, 64, 64, FC_BALANCED, 0.029}, {2000, 64, 64, FC_THOROUGH, 0.116}, {5120, 784, 256, FC_BALANCED, 1.66}
	};

	for (size_t i = 0; i < sizeof(measured) / sizeof(*measured); i++)
	{
		fc_kmeans_options options = fc_kmeans_defaults();
		double		ratio;

		options.effort = measured[i].effort;
		ratio = fc_kmeans_operations(measured[i].n, measured[i].d, measured[i].k, &options) / (4e9 * measured[i].seconds);
		CHECK(ratio > 0.5 && ratio < 2.0, "%zu x %zu, k = %zu: %g times the work", measured[i].n, measured[i].d, measured[i].k, ratio);
	}
}

/*
 * Estimates for micro-clusters, from given centroids (starts 0, 12 steps) or
 * from seeds (starts 1, 4 steps): means of measured seconds of tables with and
 * without clusters.
 */
static void
test_short_operations(void)
{
	static const struct
	{
		size_t		n;
		size_t		d;
		size_t		k;
		int			starts;
		int			steps;
		double		seconds;
	}			measured[] = {
		{100000, 2, 10000, 0, 12, 0.31}, {100000, 10, 20000, 0, 12, 3.6}, {100000, 50, 10000, 0, 12, 16.3}, {30000, 10, 20000, 0, 12, 0.65},
		{10000, 384, 2730, 0, 12, 0.68}, {30000, 384, 2000, 0, 12, 3.6}, {9950, 2, 4975, 1, 4, 0.29}, {20000, 10, 10000, 1, 4, 2.05},
		{20000, 50, 10000, 1, 4, 10.5}, {2730, 384, 1365, 1, 4, 0.85}
	};

	for (size_t i = 0; i < sizeof(measured) / sizeof(*measured); i++)
	{
		fc_kmeans_options options = fc_kmeans_defaults();
		double		ratio;

		options.n_init = measured[i].starts;
		options.iterations = measured[i].steps;
		ratio = fc_kmeans_operations(measured[i].n, measured[i].d, measured[i].k, &options) / (4e9 * measured[i].seconds);
		CHECK(ratio > 0.5 && ratio < 2.0, "%zu x %zu, k = %zu: %g times the work", measured[i].n, measured[i].d, measured[i].k, ratio);
	}
}

/*
 * Copies of rows and rows of weight 0 give finite centroids; 100 distinct rows
 * have an SSE of 0.
 */
static void
test_no_gain(void)
{
	enum {N = 2000, D = 64, K = 256};
	int32_t    *group = unit_alloc(N, sizeof(int32_t));
	float	   *x = grouped_rows(N, D, 2 * K, group);
	double	   *weight = unit_alloc(N, sizeof(double));
	fc_rows		rows = {.x = x,.weight = weight,.n = N,.d = D};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = unit_alloc(K * D, sizeof(double)),.weights = unit_alloc(K, sizeof(double))};
	fc_arena	arena = unit_arena();

	for (size_t r = 0; r < N; r++)
	{
		weight[r] = r % 5 == 0 ? 0.0 : 1.0;
		if (r % 7 == 0)
			memcpy(x + r * D, x, D * sizeof(float));
	}
	fc_kmeans(&rows, K, NULL, &options, &arena, &result);
	CHECK(fc_all_finite(result.centroids, K * D), "centroids are not finite");
	for (size_t r = 0; r < N; r++)
		memcpy(x + r * D, x + r % 100 * D, D * sizeof(float));
	fc_kmeans(&rows, K, NULL, &options, &arena, &result);
	CHECK(result.sse < 1e-6, "100 distinct rows: SSE %g", result.sse);
}

/*
 * Rows of weight 0 and fewer distinct rows than clusters give finite
 * centroids.
 */
static void
test_few_rows(void)
{
	enum {N = 900, D = 64, K = 300};
	float	   *x = unit_alloc(N * D, sizeof(float));
	double	   *weight = unit_alloc(N, sizeof(double));
	double	   *centroids = unit_alloc(K * D, sizeof(double));
	fc_rows		rows = {.x = x,.weight = weight,.n = N,.d = D};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = centroids,.weights = unit_alloc(K, sizeof(double))};

	for (size_t r = 0; r < N; r++)
	{
		weight[r] = r % 3 == 0 ? 0.0 : 1.0;
		for (size_t i = 0; i < D; i++)
			x[r * D + i] = (float) ((r % 100) * (i + 1) % 17);
	}
	fc_kmeans(&rows, K, NULL, &options, unit_work(), &result);
	CHECK(fc_all_finite(centroids, K * D), "centroids are not finite");
}

/*
 * Clusters that moved slightly and were shuffled keep their numbers, and every
 * number is used once; some clusters are new.
 */
static void
test_numbers(size_t k, size_t d)
{
	fc_rng		rng = fc_rng_start(3, k);
	double	   *old = unit_alloc(k * d, sizeof(double));
	double	   *new = unit_alloc(k * d, sizeof(double));
	int32_t    *number = unit_alloc(k, sizeof(int32_t));
	unsigned char *seen = unit_alloc(k, 1);

	for (size_t i = 0; i < k * d; i++)
		old[i] = fc_rng_normal(&rng);
	for (size_t j = 0; j < k; j++)
		for (size_t i = 0; i < d; i++)
			new[j * d + i] = j % 50 == 0 ? 3.0 * fc_rng_normal(&rng) : old[(j + 5) % k * d + i] + 0.01 * fc_rng_normal(&rng);
	fc_pair_clusters(old, k, new, k, d, unit_work(), number);
	fc_complete_numbers(number, k, unit_work());
	for (size_t j = 0; j < k; j++)
	{
		CHECK(number[j] >= 0 && number[j] < (int32_t) k && seen[number[j]]++ == 0, "number %d is out of range or used twice", number[j]);
		CHECK(j % 50 == 0 || number[j] == (int32_t) ((j + 5) % k), "cluster %zu is %d", j, number[j]);
	}
}

int
main(void)
{
	test_groups(6000, 64, 256);
	test_groups(3000, 101, 300);
	test_groups(3000, 8, 1100);
	test_split_merge();
	test_efforts(4000, 64, 300);
	test_efforts(5000, 4, 40);
	test_efforts(3000, 8, 5);
	test_operations();
	test_short_operations();
	test_no_gain();
	test_few_rows();
	test_numbers(700, 80);
	test_numbers(600, 3);
	return unit_finish();
}
