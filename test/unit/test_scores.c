/*
 * test_scores.c - adjusted Rand index and normalised mutual information agree
 * with scikit-learn to 1e-14. Rows drawn from clusters have their shares,
 * means and spreads, to 5 standard errors.
 */
#include "operator/codebook.h"
#include "operator/contingency.h"
#include "operator/mixture.h"
#include "operators.h"
#include "unit.h"

#define MAX_CELLS 8

typedef struct known
{
	const char *what;
	fc_cell		cells[MAX_CELLS];
	size_t		n;
	double		rand;
	double		information;
} known;

/*
 * Results of scikit-learn's adjusted_rand_score and
 * normalized_mutual_info_score.
 */
static const known answers[] = {
	{"two single clusters", {{0, 0, 7}}, 1, 1, 1},
	{"one row", {{3, -2, 1}}, 1, 1, 1},
	{"one against many", {{0, 0, 3}, {0, 1, 2}, {0, 5, 4}}, 3, 0, 0},
	{"many against one", {{0, 0, 3}, {1, 0, 2}, {5, 0, 4}}, 3, 0, 0},
	{"relabelled", {{0, 2, 3}, {1, 0, 2}, {2, 1, 4}}, 3, 1, 1},
	{"all alone", {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}}, 3, 1, 1},
	{"alone against one", {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}, 3, 0, 0},
	{"crossed", {{0, 0, 5}, {0, 1, 5}, {1, 0, 5}, {1, 1, 5}}, 4, -0.055555555555555552, 0},
	{"overlap", {{0, 0, 50}, {0, 1, 3}, {1, 1, 40}, {1, 2, 7}, {2, 0, 1}, {2, 2, 60}}, 6, 0.81233557406219259, 0.78678385592981803},
	{"negative labels", {{-5, -1, 2}, {-5, 9, 3}, {-1, -1, 4}, {7, 9, 1}, {7, 11, 6}}, 5, 0.547244094488189, 0.64296880735616435},
	{"worse than chance", {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}, 4, -0.5, 0},
};

static void
scores(const fc_cell *cells, size_t n, double *rand, double *information)
{
	fc_arena	arena = unit_arena();

	CHECK(fc_adjusted_rand(cells, n, &arena, rand) == FC_OK, "status");
	CHECK(fc_normalized_mutual_information(cells, n, &arena, information) == FC_OK, "status");
}

/* Both scores have the known values. */
static void
test_known(void)
{
	for (size_t q = 0; q < sizeof(answers) / sizeof(answers[0]); q++)
	{
		double		rand;
		double		information;

		scores(answers[q].cells, answers[q].n, &rand, &information);
		CHECK(fabs(rand - answers[q].rand) < 1e-14, "%s: %.17g", answers[q].what, rand);
		CHECK(fabs(information - answers[q].information) < 1e-14, "%s: %.17g", answers[q].what, information);
	}
}

/* Swapping the labellings or renaming clusters changes nothing. */
static void
test_symmetry(void)
{
	fc_rng		rng = fc_rng_start(3, 0);
	fc_cell		cells[60];
	fc_cell		swapped[60];
	double		rand[2];
	double		information[2];

	for (int i = 0; i < 60; i++)
		cells[i] = (fc_cell) {i / 10, i % 10, (int64_t) fc_rng_below(&rng, 50) + 1};
	for (int i = 0; i < 60; i++)	/* sorted by the other label, renamed in reverse */
		swapped[i] = (fc_cell) {i / 6 - 4, i % 6, cells[(5 - i % 6) * 10 + i / 6].count};
	scores(cells, 60, &rand[0], &information[0]);
	scores(swapped, 60, &rand[1], &information[1]);
	CHECK(fabs(rand[0] - rand[1]) < 1e-14 && fabs(information[0] - information[1]) < 1e-14, "scores change when labellings are swapped");
	CHECK(fabs(rand[0]) < 0.05 && information[0] >= 0.0 && information[0] < 0.1, "independent labels: %g, %g", rand[0], information[0]);
}

/*
 * 1e11 rows: pair counts near 1e22 and their products near 1e43 keep their
 * digits.
 */
static void
test_large(void)
{
	fc_cell		small[] = {{0, 0, 50000}, {0, 1, 3000}, {1, 1, 40000}, {1, 2, 7000}};
	fc_cell		large[4];
	double		rand[2];
	double		information[2];

	memcpy(large, small, sizeof(small));
	for (int i = 0; i < 4; i++)
		large[i].count *= 1000000;
	scores(small, 4, &rand[0], &information[0]);
	scores(large, 4, &rand[1], &information[1]);
	CHECK(fabs(information[0] - information[1]) < 1e-14, "information depends on the number of rows");
	CHECK(fabs(rand[0] - rand[1]) < 1e-4, "rand %g, %g", rand[0], rand[1]);
	large[0] = (fc_cell) {0, 0, INT64_C(60000000000)};
	large[1] = (fc_cell) {7, 9, INT64_C(40000000000)};
	scores(large, 2, &rand[0], &information[0]);
	CHECK(rand[0] == 1.0 && fabs(information[0] - 1.0) < 1e-14, "equal labellings: %.17g, %.17g", rand[0], information[0]);
}

#define K 4
#define D 3
#define ROWS 20000

static const double centroids[K * D] = {0, 0, 0, 100, 0, 0, 0, 100, 0, 100, 100, 100};
static const double weights[K] = {5, 0, 3, 2};
static const double spreads[K] = {1, 2, 0, 4};

static fc_status
draw(uint64_t seed, const double *w, double *rows)
{
	fc_operator op;
	double		max;
	double		shares[K];
	float	   *scratch;

	view_codebook(FC_EUCLIDEAN, centroids, w, K, D, unit_work(), &op, &max);
	scratch = unit_uncleared(fc_operator_scratch(&op) * sizeof(float));
	return fc_operator_draw(&op, spreads, seed, ROWS, (fc_scratch) {scratch, fc_operator_scratch(&op)}, shares, rows);
}

/*
 * Returns the cluster whose centroid is within 50 in each dimension; K if
 * there is no such cluster.
 */
static size_t
nearest(const double *row)
{
	for (size_t j = 0; j < K; j++)
		if (fabs(row[0] - centroids[j * D]) < 50 && fabs(row[1] - centroids[j * D + 1]) < 50 && fabs(row[2] - centroids[j * D + 2]) < 50)
			return j;
	return K;
}

/*
 * Drawn rows have the planted shares, means and spreads, and depend on the
 * seed.
 */
static void
test_drawn(void)
{
	double	   *rows = unit_uncleared(ROWS * D * sizeof(double));
	double	   *again = unit_uncleared(ROWS * D * sizeof(double));
	double		count[K + 1] = {0};
	double		sum[K + 1] = {0};
	double		squares[K + 1] = {0};

	CHECK(draw(7, weights, rows) == FC_OK, "drawing fails");
	CHECK(draw(7, weights, again) == FC_OK && memcmp(rows, again, ROWS * D * sizeof(double)) == 0, "the same seed gives other rows");
	CHECK(draw(8, weights, again) == FC_OK && memcmp(rows, again, ROWS * D * sizeof(double)) != 0, "another seed gives the same rows");
	CHECK(draw(7, (double[K]) {0}, again) == FC_EWEIGHT, "weights of 0 are accepted");
	for (size_t i = 0; i < ROWS; i++)
	{
		size_t		j = nearest(rows + i * D);

		count[j]++;
		for (size_t c = 0; c < D; c++)
		{
			double		x = j < K ? rows[i * D + c] - centroids[j * D + c] : 0;

			sum[j] += x;
			squares[j] += x * x;
		}
	}
	CHECK(count[K] == 0 && count[1] == 0, "%g rows of no cluster, %g of one without weight", count[K], count[1]);
	for (size_t j = 0; j < K; j++)
	{
		double		n = D * fmax(count[j], 1);

		CHECK(fabs(count[j] - ROWS * weights[j] / 10) < 5 * sqrt(ROWS * 0.25), "%g rows of cluster %zu", count[j], j);
		CHECK(fabs(sum[j] / n) <= 5 * spreads[j] / sqrt(n), "mean of cluster %zu: %g", j, sum[j] / n);
		CHECK(count[j] == 0 || fabs(sqrt(squares[j] / n) - spreads[j]) <= 5 * spreads[j] / sqrt(n), "spread of cluster %zu: %g", j, sqrt(squares[j] / n));
	}
}

int
main(void)
{
	test_known();
	test_symmetry();
	test_large();
	test_drawn();
	return unit_finish();
}
