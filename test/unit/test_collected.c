/*
 * test_collected.c - k-means and the start of QK-means on collected rows do
 * not depend on the order of the rows, and work in units from 1e-200 to 1e30.
 * Scans and farthest rows agree with one row at a time, to 1e-12; renumbered
 * operators keep rows and distances to the bit.
 */
#include "factor/sample.h"
#include "kmeans/ordered.h"
#include "numerics/principal.h"
#include "operator/bytes.h"
#include "operator/codebook.h"
#include "random_operator.h"

#define N	900
#define D	6
#define K	4

/*
 * Returns rows of K clusters of equal size, 20 deviations apart: the rows of
 * cluster j begin with about 20 j.
 */
static double *
cluster_rows(size_t n, double unit, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 21);
	double	   *x = unit_alloc(n * D, sizeof(double));

	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < D; i++)
			x[r * D + i] = unit * (fc_rng_normal(&rng) + (i == 0 ? 20.0 * (double) (r % K) : 0.0));
	return x;
}

/* Returns the same rows in another order. */
static double *
shuffled(const double *x, size_t n)
{
	double	   *y = unit_alloc(n * D, sizeof(double));

	for (size_t r = 0; r < n; r++)
		memcpy(y + r * D, x + (r * 7 + 3) % n * D, D * sizeof(double));
	return y;
}

/* ---- k-means ---- */

typedef struct clustering
{
	double		centroids[K * D];
	double		weights[K];
	double		mean[D];
} clustering;

static clustering
cluster(const double *x, size_t n)
{
	clustering	c;
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = c.centroids,.weights = c.weights};
	fc_ordering ordering = {.mean = c.mean};
	fc_status	status = fc_kmeans_collected(x, n, D, false, K, &options, unit_work(), &ordering, &result);

	CHECK(status == FC_OK, "k-means: %d", (int) status);
	return c;
}

/*
 * The centroids are equal to the bit for any order of the rows, and each
 * planted cluster is found to 0.02 of the distance between clusters.
 */
static void
test_kmeans(double unit)
{
	double	   *x = cluster_rows(N, unit, 1);
	double	   *y = shuffled(x, N);
	clustering	a = cluster(x, N);
	clustering	b = cluster(y, N);
	bool		found[K] = {false};

	CHECK(memcmp(&a, &b, sizeof(a)) == 0, "unit %g: centroids depend on the order of the rows", unit);
	for (size_t j = 0; j < K; j++)
	{
		double		place = a.centroids[j * D] / unit / 20.0;

		CHECK(fabs(place - rint(place)) < 0.02 && a.weights[j] == N / K, "unit %g: centroid %zu at %g, weight %g", unit, j, place, a.weights[j]);
		found[(size_t) rint(place) % K] = true;
	}
	CHECK(found[0] && found[1] && found[2] && found[3], "unit %g: a cluster is missing", unit);
}

/* Rows that floats cannot represent are refused with FC_EFAR. */
static void
test_far_rows(void)
{
	double		x[2 * D] = {0x1p130};
	fc_kmeans_options options = fc_kmeans_defaults();
	clustering	c;
	fc_kmeans_result result = {.centroids = c.centroids,.weights = c.weights};
	fc_ordering ordering = {.mean = c.mean};
	fc_arena	arena = unit_arena();
	fc_status	status = fc_kmeans_collected(x, 2, D, false, 1, &options, &arena, &ordering, &result);

	CHECK(status == FC_EFAR && ordering.max == 0x1p129, "status %d, most %g", (int) status, ordering.max);
	arena = unit_arena();
}

/*
 * Weighted rows given as differences from an origin, in any unit: centroids
 * include the origin, to 0.3 deviations.
 */
static void
test_around(double unit, double trim)
{
	double	   *x = cluster_rows(N, unit, 1);
	float	   *rows = unit_alloc(N * D, sizeof(float));
	double	   *weight = unit_alloc(N, sizeof(double));
	double		origin[D] = {100 * unit, 0, -7 * unit, 0, 0, 0};
	double		initial[K * D] = {0};
	fc_kmeans_options options = fc_kmeans_defaults();
	clustering	c;
	fc_kmeans_result result = {.centroids = c.centroids,.weights = c.weights};
	fc_arena	arena = unit_arena();
	fc_status	status;

	for (size_t i = 0; i < N * D; i++)
		rows[i] = (float) x[i];
	for (size_t r = 0; r < N; r++)
		weight[r] = 2.0;
	for (size_t j = 0; j < K; j++)
		initial[j * D] = origin[0] + 20.0 * unit * (double) j;
	options.n_init = 0;
	status = fc_kmeans_around(rows, weight, N, D, K, origin, initial, trim, &options, &arena, &result);
	CHECK(status == FC_OK, "k-means: %d", (int) status);
	for (size_t j = 0; j < K; j++)
		CHECK(fabs(c.centroids[j * D] - origin[0] - 20.0 * unit * (double) j) < 0.3 * unit && fabs(c.centroids[j * D + 2] - origin[2]) < 0.3 * unit &&
			  (trim > 0.0 || c.weights[j] == 2.0 * N / K), "unit %g: centroid %zu at %g", unit, j, c.centroids[j * D] / unit);
	memset(weight, 0, N * sizeof(double));
	CHECK(fc_kmeans_around(rows, weight, N, D, K, origin, initial, trim, &options, &arena, &result) == FC_EEMPTY, "weights with sum 0 are accepted");
}

/* Centering subtracts the mean of each column. */
static void
test_center(void)
{
	float		x[3 * 2] = {1, 100, 2, 200, 3, 600};

	fc_center_rows(x, 3, 2);
	CHECK(x[0] == -1 && x[2] == 0 && x[4] == 1 && x[1] == -200 && x[3] == -100 && x[5] == 300, "%g %g %g", (double) x[1], (double) x[3], (double) x[5]);
}

/* ---- the start of QK-means ---- */

typedef struct start
{
	fc_status	status;
	double		mean[D];
	double	   *centroids;		/* k x D */
	double	   *measured;
	size_t		count;
} start;

static start
make_start(const double *x, size_t n, size_t k, const fc_start_options *options)
{
	start		s = {.count = fc_measured_rows(n, k),.centroids = unit_alloc(k * D, sizeof(double))};
	fc_ordering ordering = {.mean = s.mean};

	s.measured = unit_alloc(s.count * D, sizeof(double));
	s.status = fc_qkmeans_start(x, n, D, k, options, unit_work(), &ordering, s.centroids, s.measured);
	return s;
}

/*
 * Returns the mean squared distance of about 500 rows to their nearest
 * centroid, divided by D: 1 is the variance of a cluster.
 */
static double
scatter(const double *x, size_t n, const double *centroids, size_t k)
{
	double		sum = 0;
	size_t		count = 0;

	for (size_t r = 0; r < n; r += n / 500 + 1, count++)
		sum += unit_min_square(x + r * D, centroids, k, D);
	return sum / (double) count / D;
}

/* Returns true if the row is one of the n rows of x, to 1e-5. */
static bool
is_row(const double *row, const double *x, size_t n)
{
	for (size_t r = 0; r < n; r++)
	{
		double		gap = 0;

		for (size_t i = 0; i < D; i++)
			gap = fmax(gap, fabs(row[i] - x[r * D + i]));
		if (gap < 1e-5)
			return true;
	}
	return false;
}

/*
 * The start is k-means on all rows, or on some of them if there are many. It
 * is the same to the bit for any order of the rows, and leaves a squared
 * distance below `limit`.
 */
static void
test_start(size_t n, size_t k, double limit)
{
	double	   *x = cluster_rows(n, 1.0, 2);
	double	   *y = shuffled(x, n);
	start		a = make_start(x, n, k, &(fc_start_options) {FC_START_KMEANS, NULL, 5});
	start		b = make_start(y, n, k, &(fc_start_options) {FC_START_KMEANS, NULL, 5});
	double		found = scatter(x, n, a.centroids, k);

	CHECK(a.status == FC_OK && b.status == FC_OK, "start: %d %d", (int) a.status, (int) b.status);
	CHECK(memcmp(a.centroids, b.centroids, k * D * sizeof(double)) == 0, "%zu rows: the start depends on their order", n);
	CHECK(memcmp(a.measured, b.measured, a.count * D * sizeof(double)) == 0, "%zu rows: the measured rows depend on their order", n);
	CHECK(found < limit, "%zu rows, %zu clusters: mean square distance %g of a cluster's", n, k, found);
	for (size_t r = 0; r < a.count; r += a.count / 10)
		CHECK(is_row(a.measured + r * D, x, n), "measured row %zu is not in the sample", r);
}

/*
 * A uniform start draws different rows of the sample; given centroids are used
 * unchanged.
 */
static void
test_other_starts(void)
{
	double	   *x = cluster_rows(N, 1.0, 3);
	start		uniform = make_start(x, N, 20, &(fc_start_options) {FC_START_UNIFORM, NULL, 5});
	start		given = make_start(x, N, 20, &(fc_start_options) {FC_START_GIVEN, x, 0});
	double		zeros[D] = {0};

	CHECK(uniform.status == FC_OK && given.status == FC_OK, "start: %d %d", (int) uniform.status, (int) given.status);
	for (size_t j = 0; j < 20; j++)
		CHECK(is_row(uniform.centroids + j * D, x, N), "centroid %zu is not a row", j);
	for (size_t j = 1; j < 20; j++)
		CHECK(!is_row(uniform.centroids + j * D, uniform.centroids, j), "centroid %zu is drawn twice", j);
	CHECK(memcmp(given.centroids, x, 20 * D * sizeof(double)) == 0, "given centroids change");
	CHECK(fc_greatest_magnitude(x, zeros, 1, D) == fmax(fmax(fmax(fabs(x[0]), fabs(x[1])), fmax(fabs(x[2]), fabs(x[3]))), fmax(fabs(x[4]), fabs(x[5]))),
		  "the greatest magnitude is wrong");
}

/* ---- scans ---- */

/* Makes a random operator with half norms and weights 1, 2, ... */
static random_operator
weighted_operator(size_t k, const pattern *kinds, size_t factors, uint64_t seed)
{
	random_operator o = make_operator(k, D, 8, kinds, factors, seed);
	double	   *weights = unit_alloc(k, sizeof(double));

	for (size_t j = 0; j < k; j++)
		weights[j] = (double) (j + 1);
	o.op.weights = weights;
	return o;
}

/*
 * A scan gives the labels of single rows, and their SSE and means to 1e-12;
 * the farthest rows come in descending order of distance.
 */
static void
test_scan(size_t factors)
{
	const pattern kinds[2] = {DENSE, factors == 1 ? DENSE : HUBS};
	random_operator o = weighted_operator(12, kinds, factors, factors);
	double	   *x = cluster_rows(N, 0.1, 4);
	double		sse = 0;
	double		expected = 0;
	double		weights[12];
	double		means[12 * D];
	double		count[12] = {0};
	double		sums[12 * D] = {0};
	double		rows[5 * D];
	double		last = INFINITY;
	size_t		found = 0;
	fc_arena	arena = unit_arena();
	fc_status	status = fc_scan_rows(&o.op, x, N, &arena, &sse, weights, means);

	CHECK(status == FC_OK, "scan: %d", (int) status);
	for (size_t r = 0; r < N; r++)
	{
		size_t		j = fc_operator_assign(&o.op, x + r * D, o.scratch);

		expected += fc_operator_distance(&o.op, j, x + r * D, o.scratch);
		count[j]++;
		for (size_t i = 0; i < D; i++)
			sums[j * D + i] += x[r * D + i];
	}
	CHECK(fabs(sse - expected) <= 1e-12 * expected, "SSE %.17g, not %.17g", sse, expected);
	for (size_t j = 0; j < 12; j++)
	{
		CHECK(weights[j] == count[j], "cluster %zu has %g rows, not %g", j, weights[j], count[j]);
		for (size_t i = 0; i < D && count[j] > 0; i++)
			CHECK(fabs(means[j * D + i] - sums[j * D + i] / count[j]) < 1e-12, "the mean of cluster %zu is wrong", j);
	}
	arena = unit_arena();
	status = fc_farthest_rows(&o.op, x, N, 5, &arena, rows, &found);
	CHECK(status == FC_OK && found == 5, "farthest: %d, %zu", (int) status, found);
	for (size_t f = 0; f < found; f++)
	{
		double		distance = fc_operator_distance(&o.op, fc_operator_assign(&o.op, rows + f * D, o.scratch), rows + f * D, o.scratch);
		size_t		farther = 0;

		for (size_t r = 0; r < N; r++)
			farther += fc_operator_distance(&o.op, fc_operator_assign(&o.op, x + r * D, o.scratch), x + r * D, o.scratch) > distance;
		CHECK(farther == f && distance <= last, "row %zu of the farthest: %zu are farther", f, farther);
		last = distance;
	}
}

/* ---- operators ---- */

/*
 * Cluster j becomes cluster place[j] with the same row, weight and exact
 * centroid, to the bit. Equal, negative and too high numbers are refused; gaps
 * are allowed.
 */
static void
test_renumber(const pattern *kinds, size_t factors, bool exact)
{
	random_operator o = weighted_operator(9, kinds, factors, 6);
	const pattern dense[1] = {DENSE};
	random_operator source = weighted_operator(9, dense, 1, 7);
	const int32_t place[9] = {3, 1, 0, 8, 7, 2, 6, 4, 5};
	const int32_t twice[9] = {3, 1, 0, 8, 7, 2, 6, 4, 4};
	const int32_t negative[9] = {3, 1, 0, 8, 7, 2, 6, -1, 4};
	const int32_t high[9] = {3, 1, 0, 8, 7, 2, 6, FC_MAX_NUMBERS, 4};
	const int32_t apart[9] = {13, 1, 0, 100, 27, 2, 26, 14, 25};	/* order of rank, with gaps */
	const int32_t rank[9] = {3, 1, 0, 8, 7, 2, 6, 4, 5};
	fc_arena	arena = unit_arena();
	fc_operator moved;
	fc_scratch	scratch;
	double		before[D];
	double		after[D];

	if (exact)
		fc_operator_keep_exact(&o.op, &source.op, 3, unit_work());
	CHECK(fc_operator_renumber(&o.op, twice, &arena, &moved) == FC_EFORMAT, "two equal numbers are accepted");
	CHECK(fc_operator_renumber(&o.op, negative, &arena, &moved) == FC_EFORMAT, "a negative number is accepted");
	CHECK(fc_operator_renumber(&o.op, high, &arena, &moved) == FC_EFORMAT, "a number that is too high is accepted");
	CHECK(fc_operator_renumber(&o.op, apart, &arena, &moved) == FC_OK && fc_operator_labels(&moved) == 101, "numbers with gaps are refused");
	for (size_t j = 0; j < 9; j++)
		CHECK(fc_operator_number(&moved, (size_t) rank[j]) == apart[j] && o.op.weights[j] == moved.weights[rank[j]],
			  "row %zu is cluster %d, not %d", j, (int) fc_operator_number(&moved, (size_t) rank[j]), (int) apart[j]);
	CHECK(fc_operator_renumber(&o.op, place, &arena, &moved) == FC_OK && moved.number == NULL, "renumbering fails");
	scratch = unit_scratch(fc_operator_scratch(&o.op));
	for (size_t j = 0; j < 9; j++)
	{
		fc_operator_row(&o.op, j, scratch, before);
		fc_operator_row(&moved, (size_t) place[j], scratch, after);
		CHECK(memcmp(before, after, sizeof(before)) == 0, "row %zu changes", j);
		CHECK(o.op.weights[j] == moved.weights[place[j]] && o.op.half_norms[j] == moved.half_norms[place[j]], "the weight or half norm of row %zu changes", j);
		CHECK(fc_operator_distance(&o.op, j, before, scratch) == fc_operator_distance(&moved, (size_t) place[j], before, scratch), "the distance of row %zu changes", j);
	}
}

/* Centroids in units are center plus scale times the row, to the bit. */
static void
test_centroids(void)
{
	const pattern kinds[2] = {DENSE, HUBS};
	random_operator o = weighted_operator(9, kinds, 2, 6);
	const double center[D] = {1, 2, 3, 4, 5, 6};
	const double scale[D] = {2, 2, 2, 2, 2, 0.5};
	double		centroids[9 * D];
	double		row[D];

	fc_operator_centroids(&o.op, center, scale, o.scratch, centroids);
	for (size_t j = 0; j < 9; j++)
	{
		fc_operator_row(&o.op, j, o.scratch, row);
		for (size_t i = 0; i < D; i++)
			CHECK(centroids[j * D + i] == center[i] + scale[i] * row[i], "centroid %zu, %zu", j, i);
	}
}

int
main(void)
{
	const pattern dense[1] = {DENSE};
	const pattern sparse[2] = {HUBS, DENSE};

	test_kmeans(1.0);
	test_kmeans(1e-200);
	test_kmeans(1e30);
	test_far_rows();
	test_around(1.0, 0.0);
	test_around(1e-25, 0.0);
	test_around(1e25, 0.0);
	test_around(1e-25, 0.05);
	test_around(1e25, 0.05);
	test_center();
	test_start(3000, K, 1.1);
	test_start(60000, 2000, 1.0);
	test_other_starts();
	test_scan(1);
	test_scan(2);
	test_renumber(dense, 1, false);
	test_renumber(sparse, 2, false);
	test_renumber(sparse, 2, true);
	test_centroids();
	return unit_finish();
}
