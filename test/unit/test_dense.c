/* test_dense.c - positive definite systems of more than one call, eigenvalues of matrices out of range */
#include "numerics/dense.h"
#include "unit.h"

#define ORDER	3100			/* one call of LAPACK no longer */

/* A = I + x x' / n, whose inverse is I - x x' / (n + x'x). */
static void
fill(double *a, const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			a[i * n + j] = (i == j ? 1.0 : 0.0) + x[i] * x[j] / (double) n;
}

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
	CHECK(fc_solve_positive(a, n, solution, 1), "positive definite");
	for (size_t i = 0; i < n; i++)
		error = fmax(error, fabs(solution[i] - (b[i] - x[i] * along / ((double) n + square))));
	CHECK(error <= 1e-12 * worst, "off by %g of %g", error, worst);
	fill(a, x, n);
	a[(n - 1) * n + n - 1] = -1.0;
	CHECK(!fc_solve_positive(a, n, b, 1), "not positive definite");
}

/* Eigenvalues scale with the matrix, whose squares would leave the range of doubles. */
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

int
main(void)
{
	test_solve();
	test_scaled_eigen(1.0);
	test_scaled_eigen(0x1p-900);
	test_scaled_eigen(0x1p900);
	return unit_finish();
}
