/* test_nnls.c - non-negative least squares: optimality conditions, ranks, faults */
#include "numerics/dense.h"
#include "unit.h"

/* G = B B' / columns, b random: full rank when columns >= count */
static void
random_problem(size_t count, size_t columns, uint64_t seed, double *gram, double *rhs)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *b = unit_alloc(count * columns, sizeof(double));
	double	   *y = unit_alloc(columns, sizeof(double));

	for (size_t i = 0; i < count * columns; i++)
		b[i] = fc_rng_normal(&rng);
	for (size_t j = 0; j < columns; j++)
		y[j] = fc_rng_normal(&rng);
	for (size_t i = 0; i < count; i++)
	{
		rhs[i] = columns < count ? 0.0 : cos((double) i);	/* keep b in the range of G */
		for (size_t l = 0; l < columns; l++)
			rhs[i] += b[i * columns + l] * y[l];
		for (size_t j = 0; j < count; j++)
		{
			gram[i * count + j] = 0.0;
			for (size_t l = 0; l < columns; l++)
				gram[i * count + j] += b[i * columns + l] * b[j * columns + l] / (double) columns;
		}
		rhs[i] /= (double) columns;
	}
}

/* x >= 0, y = G x - b >= 0, x'y = 0, each to tolerance */
static void
check_optimal(size_t count, const double *gram, const double *rhs, const double *x, double tolerance)
{
	double		complementarity = 0.0;

	for (size_t i = 0; i < count; i++)
	{
		double		y = -rhs[i];

		for (size_t j = 0; j < count; j++)
			y += gram[i * count + j] * x[j];
		CHECK(x[i] >= 0.0, "x[%zu] = %g", i, x[i]);
		CHECK(y >= -tolerance, "count %zu: y[%zu] = %g", count, i, y);
		complementarity += x[i] * y;
	}
	CHECK(fabs(complementarity) <= tolerance, "count %zu: x'y = %g", count, complementarity);
}

static void
test_optimality(size_t count, size_t columns, uint64_t seed, double tolerance)
{
	double	   *gram = unit_alloc(count * count, sizeof(double));
	double	   *rhs = unit_alloc(count, sizeof(double));
	double	   *x = unit_alloc(count, sizeof(double));
	fc_arena	arena = unit_arena();

	random_problem(count, columns, seed, gram, rhs);
	fc_nnls(gram, rhs, count, &arena, x);
	CHECK(arena.held == 0, "arena not released: %zu", arena.held);
	check_optimal(count, gram, rhs, x, tolerance);
}

/* Coinciding columns: the sum of their weights is what matters. */
static void
test_duplicates(void)
{
	double		gram[9] = {1, 1, 0, 1, 1, 0, 0, 0, 1};
	double		rhs[3] = {2, 2, -1};
	double		x[3];

	fc_nnls(gram, rhs, 3, unit_work(), x);
	CHECK(fabs(x[0] + x[1] - 2.0) < 1e-6, "sum %g", x[0] + x[1]);
	CHECK(x[2] == 0.0, "x[2] = %g", x[2]);
}

static int failures;

static void
count_failure(void)
{
	failures++;
}

static void
test_faults(void)
{
	double		indefinite[4] = {1, 4, 4, 1};
	double		rhs[2] = {1, 1};
	double		x[2];

	fc_numeric_failure = count_failure;
	fc_nnls(indefinite, rhs, 2, unit_work(), x);
	CHECK(failures > 0, "indefinite accepted");
	fc_numeric_failure = NULL;
}

int
main(void)
{
	for (size_t count = 1; count <= 40; count++)
		test_optimality(count, count + 5, count, 1e-8);
	test_optimality(30, 10, 7, 1e-6);
	test_optimality(200, 260, 3, 1e-7);
	test_duplicates();
	test_faults();
	return unit_finish();
}
