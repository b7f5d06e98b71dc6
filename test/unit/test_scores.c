/* test_scores.c - adjusted Rand index and normalised mutual information: known answers, identities */
#include "operator/contingency.h"
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

/* Answers of scikit-learn's adjusted_rand_score and normalized_mutual_info_score. */
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
	CHECK(fabs(rand[0] - rand[1]) < 1e-14 && fabs(information[0] - information[1]) < 1e-14, "symmetric");
	CHECK(fabs(rand[0]) < 0.05 && information[0] >= 0.0 && information[0] < 0.1, "independent labels: %g, %g", rand[0], information[0]);
}

/* 1e11 rows: pair counts near 1e22 and their product near 1e43 keep their digits. */
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
	CHECK(fabs(information[0] - information[1]) < 1e-14, "information does not depend on the number of rows");
	CHECK(fabs(rand[0] - rand[1]) < 1e-4, "rand %g, %g", rand[0], rand[1]);
	large[0] = (fc_cell) {0, 0, INT64_C(60000000000)};
	large[1] = (fc_cell) {7, 9, INT64_C(40000000000)};
	scores(large, 2, &rand[0], &information[0]);
	CHECK(rand[0] == 1.0 && fabs(information[0] - 1.0) < 1e-14, "equal labellings: %.17g, %.17g", rand[0], information[0]);
}

int
main(void)
{
	test_known();
	test_symmetry();
	test_large();
	return unit_finish();
}
