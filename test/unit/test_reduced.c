/*
 * test_reduced.c - wide rows on their leading principal axes keep their gaps
 * to 5 %, and k-means that starts there finds planted clusters in all
 * dimensions
 */
#include "kmeans/ordered.h"
#include "unit.h"

#define N	600
#define D	160
#define K	5
#define NOISE	0.05

/*
 * Returns rows of K groups around a common point, at least 3 apart, in turn;
 * unit: scaled to length 1.
 */
static float *
planted_rows(bool unit)
{
	fc_rng		rng = fc_rng_start(11, unit);
	float	   *center = unit_alloc(K * D, sizeof(float));
	float	   *x = unit_alloc(N * D, sizeof(float));

	for (size_t i = 0; i < K * D; i++)
		center[i] = (float) (fc_rng_normal(&rng) + (unit ? 0.0 : 2.0));
	for (size_t r = 0; r < N; r++)
	{
		double		square = 0.0;

		for (size_t c = 0; c < D; c++)
		{
			x[r * D + c] = center[r % K * D + c] + (float) (NOISE * fc_rng_normal(&rng));
			square += (double) x[r * D + c] * (double) x[r * D + c];
		}
		for (size_t c = 0; c < D && unit; c++)
			x[r * D + c] /= (float) sqrt(square);
	}
	return x;
}

static double
mean_square(const float *x, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; i < N * d; i++)
		sum += (double) x[i] * (double) x[i];
	return sum / N;
}

static double
gap(const float *x, size_t d, size_t a, size_t b)
{
	double		sum = 0.0;

	for (size_t c = 0; c < d; c++)
	{
		double		difference = (double) x[a * d + c] - (double) x[b * d + c];

		sum += difference * difference;
	}
	return sum;
}

/* Only wide rows are reduced, and only to half as many axes or fewer. */
static void
test_axes(void)
{
	CHECK(fc_axes_for(FC_AXES_WIDE - 1, 5) == FC_AXES_WIDE - 1, "narrow rows are reduced");
	CHECK(fc_axes_for(FC_AXES_WIDE, FC_AXES_WIDE / 2) == FC_AXES_WIDE / 2, "half as many axes are not used");
	CHECK(fc_axes_for(FC_AXES_WIDE, FC_AXES_WIDE / 2 + 1) == FC_AXES_WIDE, "too many axes are used");
}

/*
 * Variance kept and variance lost add up to the total. K axes keep the gaps
 * between K groups and lose the noise of the other axes.
 */
static void
test_rows(const fc_sphere *sphere)
{
	float	   *x = planted_rows(sphere != NULL);
	float	   *y = unit_alloc(N * K, sizeof(float));
	fc_rows		rows = {.x = x,.n = N,.d = D};
	fc_arena	arena = unit_arena();
	double		all = 0.0;
	double		lost;

	fc_rows_on_axes(&rows, K, sphere, &arena, y, &lost);
	CHECK(arena.allocated == 0, "the arena is still in use");
	if (sphere != NULL)
		all = mean_square(x, D);
	for (size_t c = 0; c < D && sphere == NULL; c++)
	{
		double		sum = 0.0;
		double		square = 0.0;

		for (size_t r = 0; r < N; r++)
		{
			sum += (double) x[r * D + c] / N;
			square += (double) x[r * D + c] * (double) x[r * D + c] / N;
		}
		all += square - sum * sum;
	}
	CHECK(fabs(mean_square(y, K) + lost - all) < 1e-4 * all, "%g kept, %g lost of %g", mean_square(y, K), lost, all);
	CHECK(lost < (sphere != NULL ? 1.0 : NOISE * NOISE * D), "%g lost", lost);
	for (size_t r = 1; r < N; r += 7)
		CHECK(r % K == 0 || fabs(gap(y, K, 0, r) - gap(x, D, 0, r)) < 0.05 * gap(x, D, 0, r), "gap %g is %g", gap(x, D, 0, r), gap(y, K, 0, r));
}

typedef struct clustering
{
	double		centroids[K * D];
	double		weights[K];
	int32_t		labels[N];
	fc_kmeans_result result;
} clustering;

static void
cluster(const fc_rows *rows, const fc_sphere *sphere, fc_arena *arena, clustering *c)
{
	fc_kmeans_options options = fc_kmeans_defaults();

	options.sphere = sphere;
	c->result = (fc_kmeans_result) {.centroids = c->centroids,.weights = c->weights,.labels = c->labels};
	fc_kmeans_on_axes(rows, K, &options, arena, &c->result);
}

/*
 * The groups are found in all dimensions: centroids are weighted means and the
 * SSE belongs to them.
 */
static void
test_search(const double *weight)
{
	static clustering c;
	float	   *x = planted_rows(false);
	fc_rows		rows = {.x = x,.weight = weight,.n = N,.d = D};
	fc_arena	arena = unit_arena();
	double		total = 0.0;
	double		sse = 0.0;

	cluster(&rows, NULL, &arena, &c);
	CHECK(arena.allocated == 0, "the arena is still in use");
	for (size_t r = 0; r < N; r++)
	{
		double		w = weight != NULL ? weight[r] : 1.0;

		CHECK(c.labels[r] == c.labels[r % K] && (r % K == 0 || c.labels[r] != c.labels[r - 1]), "row %zu has label %d", r, c.labels[r]);
		total += w;
		for (size_t i = 0; i < D; i++)
		{
			double		difference = (double) x[r * D + i] - c.centroids[(size_t) c.labels[r] * D + i];

			sse += w * difference * difference;
		}
	}
	CHECK(fabs(sse - c.result.sse) < 1e-6 * sse && fabs(sse / total - NOISE * NOISE * D) < 0.1 * NOISE * NOISE * D, "SSE %g is %g", c.result.sse, sse);
	for (size_t j = 0; j < K; j++)
		CHECK(weight != NULL || fabs(c.weights[j] - N / K) < 1e-9, "weight %g", c.weights[j]);
}

#define WIDE_N	1500
#define WIDE_D	300
#define WIDE_K	10
#define LOUD	30				/* columns with more variance than the centroids have */

/*
 * Clusters of unequal sizes that the leading axes do not show are found by
 * exchanges in all dimensions.
 */
static void
test_loud_columns(void)
{
	fc_rng		rng = fc_rng_start(13, 0);
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = unit_alloc(WIDE_K * WIDE_D, sizeof(double)),.weights = unit_alloc(WIDE_K, sizeof(double))};
	fc_arena	arena = unit_arena();
	float	   *center = unit_alloc(WIDE_K * WIDE_D, sizeof(float));
	float	   *x = unit_alloc(WIDE_N * WIDE_D, sizeof(float));
	fc_rows		rows = {.x = x,.n = WIDE_N,.d = WIDE_D};
	int32_t    *truth = unit_alloc(WIDE_N, sizeof(int32_t));

	for (size_t i = 0; i < WIDE_K * WIDE_D; i++)
		center[i] = (float) (0.8 * fc_rng_normal(&rng));
	for (size_t r = 0; r < WIDE_N; r++)
	{
		double		place = fc_rng_uniform(&rng);

		truth[r] = (int32_t) (WIDE_K * place * sqrt(place));
		for (size_t c = 0; c < WIDE_D; c++)
			x[r * WIDE_D + c] = center[(size_t) truth[r] * WIDE_D + c] + (float) ((c < LOUD ? 3.0 : 1.0) * fc_rng_normal(&rng));
	}
	result.labels = unit_alloc(WIDE_N, sizeof(int32_t));
	for (options.seed = 0; options.seed < 5; options.seed++)
	{
		int32_t		of[WIDE_K];
		size_t		wrong = 0;

		memset(of, -1, sizeof(of));
		fc_kmeans_on_axes(&rows, WIDE_K, &options, &arena, &result);
		CHECK(arena.allocated == 0, "the arena is still in use");
		for (size_t r = 0; r < WIDE_N; r++)
		{
			if (of[truth[r]] < 0)
				of[truth[r]] = result.labels[r];
			wrong += of[truth[r]] != result.labels[r];
		}
		for (size_t a = 0; a < WIDE_K; a++)
			for (size_t b = 0; b < a; b++)
				CHECK(of[a] != of[b], "seed %d: clusters %zu and %zu are one", (int) options.seed, a, b);
		CHECK(wrong <= WIDE_N / 500, "seed %d: %zu rows elsewhere", (int) options.seed, wrong);
	}
}

/* Centroids are on the sphere of the rows. */
static void
test_sphere(void)
{
	static clustering c;
	fc_sphere	sphere = {NULL, 1.0};
	float	   *x = planted_rows(true);
	fc_rows		rows = {.x = x,.n = N,.d = D};

	cluster(&rows, &sphere, unit_work(), &c);
	for (size_t j = 0; j < K; j++)
	{
		double		square = 0.0;

		for (size_t i = 0; i < D; i++)
			square += c.centroids[j * D + i] * c.centroids[j * D + i];
		CHECK(fabs(square - 1.0) < 1e-6, "length %g", sqrt(square));
	}
	for (size_t r = 0; r < N; r++)
		CHECK(c.labels[r] == c.labels[r % K], "row %zu", r);
}

int
main(void)
{
	const fc_sphere sphere = {NULL, 1.0};
	double		weight[N];

	for (size_t r = 0; r < N; r++)
		weight[r] = 0.5 + (double) (r % 4);
	test_axes();
	test_rows(NULL);
	test_rows(&sphere);
	test_search(NULL);
	test_search(weight);
	test_sphere();
	test_loud_columns();
	return unit_finish();
}
