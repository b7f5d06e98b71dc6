/* test_bounds.c - rows of very many clusters that stay without a search */
#include "unit.h"

#include <math.h>

#include "base/rng.h"
#include "kmeans/kmeans.h"

#define N	13000
#define D	6
#define K	4200

static double
square_to(const float *x, const double *c)
{
	double		sum = 0.0;

	for (size_t i = 0; i < D; i++)
		sum += ((double) x[i] - c[i]) * ((double) x[i] - c[i]);
	return sum;
}

/* After steps and exchanges labels are of the nearest centroids, in groups and without, and few distances were taken. */
static void
test_labels(bool groups, double per_step)
{
	fc_rng		rng = fc_rng_start(6, groups);
	float	   *x = unit_alloc(N * D, sizeof(float));
	fc_rows		rows = {.x = x,.n = N,.d = D};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = unit_alloc(K * D, sizeof(double)),.weights = unit_alloc(K, sizeof(double)),.labels = unit_alloc(N, sizeof(int32_t))};
	fc_arena	arena = unit_arena();

	for (size_t i = 0; i < N * D; i++)
		x[i] = groups && i >= 2000 * D ? x[i - 2000 * D] + (float) (0.02 * fc_rng_normal(&rng)) : (float) fc_rng_normal(&rng);
	CHECK(fc_kmeans(&rows, K, NULL, &options, &arena, &result) == FC_OK, "k-means");
	for (size_t r = 0; r < N; r += 3)
	{
		double		own = square_to(x + r * D, result.centroids + (size_t) result.labels[r] * D);
		double		least = INFINITY;

		for (size_t j = 0; j < K; j++)
			least = fmin(least, square_to(x + r * D, result.centroids + j * D));
		CHECK(own <= least + 1e-5 * (least + 1.0), "row %zu: %g, not %g", r, own, least);
	}
	CHECK((double) result.compared < per_step * N, "%g distances a row", (double) result.compared / N);
	unit_arena_free(&arena);
	free(x), free(result.centroids), free(result.weights), free(result.labels);
}

int
main(void)
{
	test_labels(false, 40000.0);
	test_labels(true, 15000.0);
	return unit_finish();
}
