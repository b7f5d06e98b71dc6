/*
 * test_dense.c - linear algebra and arrays: positive definite systems solved
 * in several calls (1e-12), eigenvalues at the limits of doubles (1e-14),
 * optimality of non-negative least squares, partial orders of rows, and stable
 * sorts
 */
#include "base/sort.h"
#include "numerics/dense.h"
#include "numerics/selection.h"
#include "unit.h"

#define ORDER	3100			/* order from which a system needs more than one LAPACK call */

/* Fills a with I + x x' / n, whose inverse is I - x x' / (n + x'x). */
static void
fill(double *a, const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			a[i * n + j] = (i == j ? 1.0 : 0.0) + x[i] * x[j] / (double) n;
}

/*
 * The solution of a large system is exact to 1e-12; an indefinite matrix is
 * refused.
 */
static void
test_solve(void)
{
	size_t		n = ORDER;
	double	   *a = unit_alloc(n * n, sizeof(double));
	double	   *x = unit_alloc(n, sizeof(double));
	double	   *b = unit_alloc(n, sizeof(double));
	double	   *solution = unit_alloc(n, sizeof(double));
	fc_rng		rng = fc_rng_start(1, 0);
	double		square = 0.0;
	double		along = 0.0;
	double		worst = 0.0;
	double		error = 0.0;

	for (size_t i = 0; i < n; i++)
	{
		x[i] = fc_rng_normal(&rng);
		b[i] = fc_rng_normal(&rng);
		square += x[i] * x[i];
		along += x[i] * b[i];
		worst = fmax(worst, fabs(b[i]));
	}
	fill(a, x, n);
	memcpy(solution, b, n * sizeof(double));
	CHECK(fc_solve_positive(a, n, solution, 1), "a positive definite matrix is refused");
	for (size_t i = 0; i < n; i++)
		error = fmax(error, fabs(solution[i] - (b[i] - x[i] * along / ((double) n + square))));
	CHECK(error <= 1e-12 * worst, "off by %g of %g", error, worst);
	fill(a, x, n);
	a[(n - 1) * n + n - 1] = -1.0;
	CHECK(!fc_solve_positive(a, n, b, 1), "an indefinite matrix is accepted");
}

/*
 * Eigenvalues scale with the matrix, to 1e-14, even if squares of its entries
 * leave the range of doubles.
 */
static void
test_scaled_eigen(double unit)
{
	double		a[9] = {2 * unit, unit, 0, unit, 2 * unit, unit, 0, unit, 2 * unit};
	double		wanted[3] = {2.0 - sqrt(2.0), 2.0, 2.0 + sqrt(2.0)};
	double		values[3];
	double	   *work = unit_alloc(fc_eigen_work(3), sizeof(double));
	int		   *integers = unit_alloc(fc_eigen_integers(3), sizeof(int));

	fc_symmetric_eigen(a, 3, values, work, integers);
	for (size_t i = 0; i < 3; i++)
		CHECK(fabs(values[i] / unit - wanted[i]) <= 1e-14, "unit %g: %.17g, wanted %.17g", unit, values[i] / unit, wanted[i]);
}

/* Makes G = B B' / columns with random B, of full rank if columns >= count. */
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
		rhs[i] = columns < count ? 0.0 : cos((double) i);	/* keeps b in the range of G */
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

/* Checks x >= 0, y = G x - b >= 0 and x'y = 0, each to the tolerance. */
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

/*
 * The result of non-negative least squares satisfies the optimality
 * conditions.
 */
static void
test_optimality(size_t count, size_t columns, uint64_t seed, double tolerance)
{
	double	   *gram = unit_alloc(count * count, sizeof(double));
	double	   *rhs = unit_alloc(count, sizeof(double));
	double	   *x = unit_alloc(count, sizeof(double));
	fc_arena	arena = unit_arena();

	random_problem(count, columns, seed, gram, rhs);
	fc_nnls(gram, rhs, count, &arena, x);
	CHECK(arena.allocated == 0, "arena not released: %zu", arena.allocated);
	check_optimal(count, gram, rhs, x, tolerance);
}

/* Equal columns: only the sum of their weights is determined, to 1e-6. */
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

/* An indefinite matrix calls fc_numeric_failure. */
static void
test_faults(void)
{
	double		indefinite[4] = {1, 4, 4, 1};
	double		rhs[2] = {1, 1};
	double		x[2];

	fc_numeric_failure = count_failure;
	fc_nnls(indefinite, rhs, 2, unit_work(), x);
	CHECK(failures > 0, "an indefinite matrix is not reported");
	fc_numeric_failure = NULL;
}

#define D	3

static float
shaped(int shape, size_t i, size_t n, fc_rng *rng)
{
	switch (shape)
	{
		case 0:
			return (float) i;
		case 1:
			return (float) (n - i);
		case 2:
			return (float) (i < n / 2 ? i : n - i);	/* up to the middle, then down */
		case 3:
			return 1.0f;
		case 4:
			return (float) fc_rng_below(rng, 5);
		default:
			return (float) fc_rng_normal(rng);
	}
}

/*
 * Checks that order is a permutation and that the rows before `place` are not
 * greater than the others.
 */
static void
check_parted(const float *x, const uint32_t *order, size_t n, size_t place, int shape)
{
	char	   *seen = unit_alloc(n, 1);
	bool		parted = true;

	for (size_t i = 0; i < n; i++)
	{
		CHECK(order[i] < n && !seen[order[i]]++, "shape %d: row %u is repeated or out of range", shape, order[i]);
		for (size_t low = 0; low < place && i >= place && n <= 300; low++)
			parted = parted && x[order[low] * D] <= x[order[i] * D];
	}
	CHECK(parted, "shape %d, n %zu: rows are not partitioned at %zu", shape, n, place);
}

/*
 * Rows of several shapes are partitioned at a place, with few interrupt
 * checks.
 */
static void
test_shape(int shape, size_t n, size_t place)
{
	fc_rng		rng = fc_rng_start(7, n + place);
	float	   *x = unit_alloc(n * D, sizeof(float));
	uint32_t   *order = unit_alloc(n, sizeof(uint32_t));

	for (size_t i = 0; i < n; i++)
	{
		x[i * D] = shaped(shape, i, n, &rng);
		order[i] = (uint32_t) i;
	}
	unit_checked = 0;
	fc_interrupt_check = unit_check;
	fc_partition_rows((fc_coordinate) {x, D}, order, 0, n, place);
	fc_interrupt_check = NULL;
	check_parted(x, order, n, place, shape);
	CHECK(unit_checked <= 100, "shape %d n %zu place %zu: %ld interrupt checks", shape, n, place, unit_checked);
}

/*
 * The sort is a stable permutation, for keys with few or many different bits.
 */
static void
test_sorted(size_t n, uint64_t mask)
{
	fc_keyed   *items = unit_alloc(n, sizeof(fc_keyed));
	fc_keyed   *scratch = unit_alloc(n, sizeof(fc_keyed));
	char	   *seen = unit_alloc(n, 1);
	fc_rng		rng = fc_rng_start(n, mask);

	for (size_t i = 0; i < n; i++)
		items[i] = (fc_keyed) {((uint64_t) fc_rng_word(&rng) << 32 | fc_rng_word(&rng)) & mask, i};
	fc_sort(items, n, scratch);
	for (size_t i = 0; i < n; i++)
	{
		CHECK(i == 0 || items[i - 1].key < items[i].key ||
			  (items[i - 1].key == items[i].key && items[i - 1].value < items[i].value), "n %zu: item %zu is out of order", n, i);
		seen[items[i].value]++;
	}
	for (size_t i = 0; i < n; i++)
		CHECK(seen[i] == 1, "n %zu: item %zu was lost", n, i);
}

/* Sorting many items checks for interrupts once per pass or more often. */
static void
test_checks(void)
{
	size_t		n = 600000;
	fc_keyed   *items = unit_alloc(n, sizeof(fc_keyed));
	fc_keyed   *scratch = unit_alloc(n, sizeof(fc_keyed));

	for (size_t i = 0; i < n; i++)
		items[i].key = (n - i) % 1000;
	fc_interrupt_check = unit_check;
	fc_sort(items, n, scratch);
	fc_interrupt_check = NULL;
	CHECK(unit_checked >= 2, "%ld interrupt checks", unit_checked);
}

/*
 * Distinct rows are counted exactly up to a limit, even if one kind occurs
 * once.
 */
static void
test_distinct(size_t n, size_t kinds)
{
	float	   *rows = unit_alloc(n * 3, sizeof(float));
	fc_keyed   *items = unit_alloc(2 * n, sizeof(fc_keyed));

	for (size_t r = 0; r < n; r++)
		rows[r * 3 + 1] = (float) (r == n - 1 ? kinds - 1 : r % (kinds - 1));
	for (size_t max = 1; max < 2 * kinds; max += 3)
	{
		size_t		distinct;

		fc_count_distinct(rows, n, 3 * sizeof(float), max, items, &distinct);
		CHECK(distinct == (max < kinds ? max : kinds), "%zu of %zu kinds, up to %zu", distinct, kinds, max);
	}
}

int
main(void)
{
	static const size_t lengths[] = {0, 1, 2, 3, 255, 1000, 70000};

	test_solve();
	test_scaled_eigen(1.0);
	test_scaled_eigen(0x1p-900);
	test_scaled_eigen(0x1p900);
	for (size_t count = 1; count <= 40; count++)
		test_optimality(count, count + 5, count, 1e-8);
	test_optimality(30, 10, 7, 1e-6);
	test_optimality(200, 260, 3, 1e-7);
	test_duplicates();
	test_faults();
	for (int shape = 0; shape < 6; shape++)
	{
		static const size_t sizes[] = {1, 2, 3, 7, 300};

		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (size_t place = 0; place < sizes[s]; place += 1 + sizes[s] / 5)
				test_shape(shape, sizes[s], place);
		test_shape(shape, 400000, 100);
		test_shape(shape, 400000, 200000);
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
	{
		test_sorted(lengths[i], UINT64_MAX);
		test_sorted(lengths[i], 0);
		test_sorted(lengths[i], 0x3f);
		test_sorted(lengths[i], UINT64_C(0xff00000000000300));
	}
	test_checks();
	test_distinct(1000, 5);
	test_distinct(40, 40);
	return unit_finish();
}
