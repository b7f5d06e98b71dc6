/*
 * test_partial.c - labels of rows with missing values equal those of all
 * distances over the observed values, with packs, without, and with a k-d
 * tree; a filled row keeps its label and its distance; samples keep NaN
 */
#include "operator/coreset.h"
#include "operator/fit.h"
#include "operator/mixture.h"
#include "operator/partial.h"
#include "operators.h"
#include "unit.h"

/* Returns x with each value missing with probability `share`. */
static void
draw_row(fc_rng *rng, const double *near, size_t d, double share, double *x)
{
	for (size_t i = 0; i < d; i++)
		x[i] = fc_rng_uniform(rng) < share ? NAN : near[i] + fc_rng_normal(rng);
}

static double
gap_of(const double *centroid, const double *x, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; i < d; i++)
		sum += isnan(x[i]) ? 0.0 : (x[i] - centroid[i]) * (x[i] - centroid[i]);
	return sum;
}

/*
 * Checks the label of a row, and that its filled copy has that label and that
 * distance. centroids: the coordinates of the operator in double.
 */
static void
check_row(const fc_operator *op, const double *centroids, const double *x, fc_scratch scratch)
{
	double	   *filled = unit_alloc(op->d, sizeof(double));
	size_t		label = fc_partial_assign(op, x, scratch);
	double		distance = fc_partial_distance(op, label, x);
	size_t		best = 0;

	for (size_t j = 1; j < op->k; j++)
		best = gap_of(centroids + j * op->d, x, op->d) < gap_of(centroids + best * op->d, x, op->d) ? j : best;
	CHECK(label == best, "k %zu, d %zu: %zu, not %zu", op->k, op->d, label, best);
	CHECK(fabs(distance - gap_of(centroids + best * op->d, x, op->d)) <= 1e-12 * (1.0 + distance), "%g", distance);
	memcpy(filled, x, op->d * sizeof(double));
	fc_partial_fill(op, label, filled);
	CHECK(fc_all_finite(filled, op->d), "a value is still missing");
	CHECK(fc_operator_assign(op, filled, scratch) == label, "the filled row has another label");
	CHECK(fabs(fc_operator_distance(op, label, filled, scratch) - distance) <= 1e-9 * (1.0 + distance), "%g", distance);
}

/* form 0: rows of the codebook, 1: packs, 2: a k-d tree */
static void
test_labels(size_t k, size_t d, int form, double shift)
{
	fc_rng		rng = fc_rng_start(k + d, 0);
	double	   *centroids = unit_alloc(k * d, sizeof(double));
	double	   *weights = unit_alloc(k, sizeof(double));
	double	   *x = unit_alloc(d, sizeof(double));
	fc_arena	arena = unit_arena();
	codebook	c;
	fc_scratch	scratch;

	for (size_t i = 0; i < k * d; i++)
		centroids[i] = shift + 3 * fc_rng_normal(&rng);
	c = make_codebook(centroids, weights, k, d);
	fc_operator_centroids(&c.op, NULL, NULL, unit_scratch(fc_operator_scratch(&c.op)), centroids);
	if (form == 1)
		fc_operator_pack(&c.op, &arena);
	if (form == 2)
		fc_operator_prune(&c.op, &arena);
	CHECK((c.op.packs != NULL) == (form == 1) && (c.op.kdtree != NULL) == (form == 2), "form %d", form);
	CHECK(fc_partial_suits(&c.op), "a codebook");
	scratch = unit_scratch(fc_operator_scratch(&c.op) + fc_partial_scratch(&c.op));
	for (int r = 0; r < 100; r++)
	{
		draw_row(&rng, centroids + (size_t) r % k * d, d, r % 3 == 0 ? 0.1 : 0.6, x);
		check_row(&c.op, centroids, x, scratch);
	}
	for (size_t i = 0; i < d; i++)
		x[i] = NAN;
	CHECK(fc_partial_observed(x, d) == 0 && fc_partial_assign(&c.op, x, scratch) == 0, "a row without values");
}

/* Equal distances give the lowest label; the nearest are in order. */
static void
test_ties(void)
{
	const double centroids[] = {5, 0, 1, 2, 1, 4, 1, 0, 9, 9};
	const double weights[] = {1, 1, 1, 1, 1};
	codebook	c = make_codebook(centroids, weights, 5, 2);
	fc_scratch	scratch = unit_scratch(fc_operator_scratch(&c.op) + fc_partial_scratch(&c.op));
	const double x[] = {2, NAN};
	const double spreads[] = {1, 1, 1, 1, 1};
	double		distances[3];
	double		p[5];
	int32_t		clusters[3];

	CHECK(fc_partial_assign(&c.op, x, scratch) == 1, "%zu", fc_partial_assign(&c.op, x, scratch));
	fc_partial_nearest(&c.op, x, 3, clusters, distances);
	CHECK(clusters[0] == 1 && clusters[1] == 2 && clusters[2] == 3, "%d %d %d", clusters[0], clusters[1], clusters[2]);
	CHECK(distances[0] == 1 && distances[2] == 1, "%g", distances[0]);
	fc_operator_responsibilities(&c.op, spreads, x, scratch, p);
	CHECK(p[1] == p[2] && p[2] == p[3] && p[0] < p[1] && fabs(p[0] / p[1] - exp(-4.0)) < 1e-12, "%g %g", p[0], p[1]);
}

/* A missing value counts as the center in the importance of a row. */
static void
test_sample(void)
{
	const double center[] = {1, 2, 3};
	const double rows[] = {4, NAN, 3, 4, 2, 3, NAN, NAN, NAN};
	uint64_t	hashes[] = {5, 5, 5};
	double		ranks[3];
	fc_coreset *state = unit_alloc(1, fc_coreset_bytes(3, 0, 4));

	fc_coreset_init(3, 4, 4, 1, center, 2.0, INFINITY, FC_EUCLIDEAN, false, state);
	fc_coreset_ranks(state, hashes, rows, 3, ranks);
	CHECK(ranks[0] == ranks[1], "%g, %g", ranks[0], ranks[1]);
	CHECK(fabs(ranks[2] / ranks[0] - (0.5 + 9.0 / 4.0) / 0.5) < 1e-12, "%g", ranks[2] / ranks[0]);
	for (int r = 0; r < 3; r++)
		fc_coreset_take(state, ranks[r] * (1.0 + r), rows + 3 * r);
	state->count = 3;
	CHECK(fc_coreset_check(state, fc_coreset_bytes(3, 0, 4)) == FC_OK, "missing values are refused");
}

/* Means and quantiles of rows with missing values are scaled to all values. */
static void
test_fit(void)
{
	const double centroids[] = {0, 0, 10, 10};
	const double weights[] = {1, 1, 1, 1};
	const float values[] = {3, 99, 0, 4, 10, 10, 99, 8};
	const uint64_t missing[] = {2, 0, 0, 1};
	codebook	c = make_codebook(centroids, weights, 2, 2);
	fc_weighted_rows rows = {.n = 4,.d = 2,.values = values,.weights = weights,.missing = missing};
	double		batch[FC_FIT_BATCH * 2];
	int32_t		labels[4];
	double		squares[4];
	const double factors[] = {2, 1, 1, 2};
	const double place = 1.0;
	double		mean;
	double		error;
	double		means[2];
	double		cluster_weights[2];
	double		greatest;
	fc_fit		fit = {4, 2, weights, labels, squares, factors, NULL};
	fc_arena	arena = unit_arena();

	fc_fit_rows(&c.op, &rows, unit_scratch(fc_fit_scratch(&c.op)), batch, labels, squares);
	CHECK(labels[0] == 0 && labels[1] == 0 && labels[2] == 1 && labels[3] == 1, "labels");
	CHECK(squares[0] == 9 && squares[1] == 16 && squares[2] == 0 && squares[3] == 4, "%g %g", squares[0], squares[3]);
	fc_fit_means(&fit, &mean, &error, means, cluster_weights);
	CHECK(mean == 29.0 / 4.0 && means[0] == (18.0 + 16.0) / 2.0 && means[1] == 4.0, "%g %g", mean, means[0]);
	fc_fit_quantiles(&fit, &place, 1, &arena, &greatest);
	CHECK(fabs(greatest - sqrt(18.0)) < 1e-12, "%g", greatest);
}

int
main(void)
{
	const size_t ds[] = {1, 2, 5, 15, 16, 17, 40};

	for (size_t i = 0; i < sizeof(ds) / sizeof(ds[0]); i++)
		for (int form = 0; form < 2; form++)
		{
			test_labels(1, ds[i], form, 0.0);
			test_labels(7, ds[i], form, 1e4);
			test_labels(130, ds[i], form, 0.0);
		}
	test_labels(9000, 4, 2, 0.0);
	test_labels(9000, 3, 2, 1e5);
	test_ties();
	test_sample();
	test_fit();
	return unit_finish();
}
