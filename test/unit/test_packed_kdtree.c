/*
 * test_packed_kdtree.c - the k-d tree finds the nearest points and the labels that a
 * comparison with all points finds; second distances agree to 1e-5
 */
#include "numerics/kdtree.h"
#include "operator/codebook.h"
#include "operator/operator.h"
#include "operators.h"

static float
square_between(const float *a, const float *b, size_t d)
{
	double		sum = 0.0;

	for (size_t c = 0; c < d; c++)
		sum += ((double) a[c] - (double) b[c]) * ((double) a[c] - (double) b[c]);
	return (float) sum;
}

/*
 * Each point's nearest point is itself or an equal point with a lower number.
 * grid: coordinates are small integers, so distances are exact in float and
 * often equal.
 */
static void
test_nearest(size_t k, size_t d, bool grid)
{
	fc_rng		rng = fc_rng_start(5, k + d);
	float	   *points = unit_alloc(k * d, sizeof(float));
	fc_packed_kdtree	kdtree;

	for (size_t i = 0; i < k * d; i++)
		points[i] = grid ? (float) floor(5.0 * fc_rng_uniform(&rng)) : (float) fc_rng_normal(&rng);
	fc_packed_kdtree_take(unit_work(), k, d, &kdtree);
	fc_packed_kdtree_build(&kdtree, points);
	for (size_t r = 0; r < k; r += 1 + k / 50)
	{
		const float *x = points + r * d;
		size_t		first = r;
		float		min = INFINITY;
		float		both[2];

		for (size_t j = 0; j < k; j++)
		{
			float		square = square_between(x, points + j * d, d);

			first = square == 0.0f && j < first ? j : first;
			min = j != r ? fminf(min, square) : min;
		}
		CHECK(fc_packed_kdtree_nearest_two(&kdtree, x, FC_PACKED_REACH, INFINITY, both) == first && both[0] == 0.0f, "k %zu d %zu row %zu: first %g", k, d, r, (double) both[0]);
		CHECK(k == 1 ? both[1] == INFINITY : fabsf(both[1] - min) <= 1e-5f * min, "k %zu d %zu row %zu: second %g, not %g", k, d, r, (double) both[1], (double) min);
		CHECK(fc_packed_kdtree_nearest_two(&kdtree, x, FC_PACKED_REACH, k == 1 ? 1.0f : 0.5f * min, both) == first && both[1] == (k == 1 ? 1.0f : 0.5f * min), "k %zu d %zu row %zu: second %g beyond the margin", k, d, r, (double) both[1]);
	}
}

/*
 * Labels with the tree equal labels without it, for single rows and for
 * batches; some centroids are equal.
 */
static void
test_operator(double unit)
{
	enum {K = 9000, D = 7, N = 300};
	fc_rng		rng = fc_rng_start(4, 4);
	double	   *centroids = unit_alloc(K * D, sizeof(double));
	double	   *weights = unit_alloc(K, sizeof(double));
	double	   *x = unit_alloc(N * D, sizeof(double));
	int32_t    *labels = unit_alloc(N, sizeof(int32_t));
	fc_operator op;
	double		max;
	fc_scratch	scratch;

	for (size_t i = 0; i < K * D; i++)
		centroids[i] = unit * (i >= 100 * D && i < 200 * D ? centroids[i - 100 * D] / unit : 3.0 + fc_rng_normal(&rng));
	for (size_t j = 0; j < K; j++)
		weights[j] = 1.0;
	for (size_t i = 0; i < N * D; i++)
		x[i] = i < 50 * D ? centroids[i] : centroids[i * 11 % (K * D)] + unit * 0.3 * fc_rng_normal(&rng);
	view_codebook(FC_EUCLIDEAN, centroids, weights, K, D, unit_work(), &op, &max);
	fc_operator_prune(&op, unit_work());
	CHECK(op.kdtree != NULL, "the operator has no k-d tree");
	scratch = unit_scratch(fc_operator_batch_scratch(&op, N));
	fc_operator_assign_batch(&op, x, N, scratch, labels);
	for (size_t r = 0; r < N; r++)
	{
		size_t		boxed = fc_operator_assign(&op, x + r * D, scratch);
		fc_operator plain = op;

		plain.kdtree = NULL;
		CHECK(boxed == fc_operator_assign(&plain, x + r * D, scratch) && boxed == (size_t) labels[r], "unit %g, row %zu: %zu", unit, r, boxed);
	}
}

int
main(void)
{
	const size_t k[] = {1, 2, 63, 64, 65, 129, 1000, 5000};
	const size_t d[] = {1, 3, 8, 32};

	for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++)
		for (size_t j = 0; j < sizeof(d) / sizeof(d[0]); j++)
		{
			test_nearest(k[i], d[j], true);
			test_nearest(k[i], d[j], false);
		}
	test_operator(1.0);
	test_operator(1e-18);
	test_operator(1e12);
	return unit_finish();
}
