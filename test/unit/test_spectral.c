/*
 * test_spectral.c - kernel values and products agree with double arithmetic to
 * single precision; features chosen from rows separate rings and bars and are
 * plain for blobs
 */
#include "kernels.h"
#include "rkhs/map.h"
#include "rkhs/projection.h"
#include "rkhs/values.h"

#define N		1200
#define MAX_CODE	200

typedef struct spectral_choice
{
	size_t		landmark[MAX_CODE];
	fc_spectral s;
} spectral_choice;

static void
choose(const double *x, size_t k, spectral_choice *c)
{
	fc_arena	arena = unit_arena();

	c->s = (fc_spectral) {.landmark = c->landmark,.t = unit_alloc(fc_spectral_rank(k, MAX_CODE) * MAX_CODE, sizeof(double))};
	fc_spectral_choose(x, N, 2, k, MAX_CODE, 3, &arena, &c->s);
	CHECK(arena.allocated == 0, "the arena is still in use");
}

/* Computes y = t kappa(U, x), scaled to length 1 if the features are unit. */
static void
features(const spectral_choice *c, const double *x, size_t row, double *y)
{
	const fc_spectral *s = &c->s;
	double		square = 0.0;

	for (size_t j = 0; j < s->rank; j++)
	{
		y[j] = 0.0;
		for (size_t i = 0; i < s->landmarks; i++)
			y[j] += s->t[j * s->landmarks + i] * kernel_of_rows(&s->kernel, x + s->landmark[i] * 2, x + row * 2, 2);
		square += y[j] * y[j];
	}
	for (size_t j = 0; j < s->rank && s->unit; j++)
		y[j] /= sqrt(square);
}

/*
 * Returns rows of cluster r % k: circles around the origin, bars ten times as
 * long as their distance, or blobs.
 */
static double *
planted(size_t k, int shape)
{
	fc_rng		rng = fc_rng_start(5, (uint64_t) shape);
	double	   *x = unit_alloc(N * 2, sizeof(double));

	for (size_t r = 0; r < N; r++)
	{
		double		cluster = (double) (r % k);
		double		angle = TWO_PI * fc_rng_uniform(&rng);
		double		radius = 0.2 + cluster + 0.04 * fc_rng_normal(&rng);

		x[r * 2] = shape == 0 ? radius * cos(angle) : shape == 1 ? 10.0 * fc_rng_uniform(&rng) : 8.0 * cos(cluster) + fc_rng_normal(&rng);
		x[r * 2 + 1] = shape == 0 ? radius * sin(angle) : shape == 1 ? cluster + 0.08 * fc_rng_normal(&rng) : 8.0 * sin(cluster) + fc_rng_normal(&rng);
	}
	return x;
}

/*
 * Features of the same cluster have nearly the same direction, features of
 * different clusters do not.
 */
static void
test_shapes(size_t k, int shape)
{
	double	   *x = planted(k, shape);
	double		first[8][8];
	double		y[8];
	spectral_choice c;

	choose(x, k, &c);
	CHECK(c.s.unit && c.s.rank == k && c.s.cost < FC_SPECTRAL_CLEAR, "shape %d: cost %g", shape, c.s.cost);
	for (size_t r = 0; r < k; r++)
		features(&c, x, r, first[r]);
	for (size_t r = k; r < N; r++)
	{
		features(&c, x, r, y);
		for (size_t j = 0; j < k; j++)
		{
			double		cosine = 0.0;

			for (size_t i = 0; i < k; i++)
				cosine += first[j][i] * y[i];
			CHECK(r % k == j ? cosine > 0.8 : cosine < 0.5, "shape %d, row %zu: cosine %g with cluster %zu", shape, r, cosine, j);
		}
	}
}

/*
 * Blobs, a single cluster and more clusters than are tried get plain features.
 */
static void
test_plain(size_t k, size_t rank)
{
	double	   *x = planted(k, 2);
	spectral_choice c;

	choose(x, k, &c);
	CHECK(!c.s.unit && isnan(c.s.cost), "k %zu is plain", k);
	CHECK(c.s.rank <= rank && c.s.rank >= 10 && c.s.rank <= c.s.landmarks, "rank %zu", c.s.rank);
	/* inner products of features approximate the kernel */
	for (size_t r = 0; r < N && k == 3; r += 97)
	{
		double		y[MAX_CODE];
		double		square = 0.0;

		features(&c, x, r, y);
		for (size_t j = 0; j < c.s.rank; j++)
			square += y[j] * y[j];
		CHECK(fabs(square - 1.0) < 0.05, "row %zu: %g", r, square);
	}
}

/* Equal rows have a single landmark. */
static void
test_degenerate(void)
{
	double	   *x = unit_alloc(N * 2, sizeof(double));
	spectral_choice c;

	choose(x, 2, &c);
	CHECK(!c.s.unit && c.s.landmarks == 1 && c.s.rank == 1, "equal rows");
	x = planted(2, 0);
	choose(x, 2, &c);
}

/* Valid kernels pass, and every invalid field is refused. */
static void
test_check(void)
{
	fc_kernel	bad;

	for (size_t i = 0; i < TEST_KERNELS; i++)
		CHECK(fc_kernel_check(&test_kernels[i]) == FC_OK, "kernel %zu refused", i);
#define REFUSED(change) \
	bad = square_kernel; change; CHECK(fc_kernel_check(&bad) == FC_EFORMAT, "accepted: %s", #change)
	REFUSED(bad.version = 2);
	REFUSED(bad.kind = 0);
	REFUSED(bad.kind = 5);
	REFUSED(bad.padding = 1);
	REFUSED(bad.degree = 0);
	REFUSED(bad.degree = FC_MAX_DEGREE + 1);
	REFUSED(bad.gamma = 0.0);
	REFUSED(bad.gamma = NAN);
	REFUSED(bad.gamma = INFINITY);
	REFUSED(bad.coef0 = -1.0);
	REFUSED(bad.coef0 = -0.0);
	REFUSED(bad.kind = FC_KERNEL_RBF);
	REFUSED(bad.kind = FC_KERNEL_LINEAR);
}

/*
 * The exponential has a relative error below 3e-7 over its range, and is
 * clamped outside.
 */
static void
test_exponential(void)
{
	float		zeros[32] = {0};
	float		values[32];
	double		worst = 0.0;

	for (double from = -87.0; from < 0.0; from += 0.01)
	{
		for (int i = 0; i < 32; i++)
			values[i] = (float) (from + 0.0003 * i);
		(void) fc_exponential_values(values, 32, 0.0f, zeros);
		for (int i = 0; i < 32; i++)
		{
			double		exact = exp(fmin((double) (float) (from + 0.0003 * i), 0.0));

			worst = fmax(worst, fabs((double) values[i] / exact - 1.0));
		}
	}
	CHECK(worst < 3e-7, "relative error %g", worst);
	for (int i = 0; i < 32; i++)
		values[i] = i % 2 == 0 ? -1e30f : 1.0f;
	(void) fc_exponential_values(values, 31, 0.0f, zeros);
	for (int i = 0; i < 31; i++)
		CHECK(i % 2 == 0 ? values[i] > 0.0f && values[i] < 1e-37f : values[i] == 1.0f, "%d: %g", i, (double) values[i]);
}

/* Every entry of every block agrees with the kernel computed in double. */
static void
test_blocks(const fc_kernel *kernel, size_t n, size_t d, double shift, bool exact, double tolerance)
{
	double	   *x = unit_normals(n * d, shift, 1.0, n + d);
	double	   *k = kernel_matrix(kernel, x, n, d);
	fc_kernel_input input = {.doubles = x,.n = n,.d = d};
	fc_kernel_rows rows;
	fc_status	status = fc_kernel_prepare(kernel, &input, exact, unit_work(), &rows);
	double	   *capacity = unit_alloc(FC_KERNEL_BLOCK * FC_KERNEL_BLOCK, sizeof(double));
	float	   *block = unit_alloc(FC_KERNEL_BLOCK * FC_KERNEL_BLOCK, sizeof(float));

	CHECK(status == FC_OK, "status %d", (int) status);
	for (size_t a = 0; a < n && status == FC_OK; a += FC_KERNEL_BLOCK)
		for (size_t b = 0; b < n; b += FC_KERNEL_BLOCK)
		{
			size_t		na = n - a < FC_KERNEL_BLOCK ? n - a : FC_KERNEL_BLOCK;
			size_t		nb = n - b < FC_KERNEL_BLOCK ? n - b : FC_KERNEL_BLOCK;
			double		sum = fc_kernel_block(&rows, a, na, b, nb, capacity, block);
			double		check = 0.0;

			if (exact)
				fc_kernel_block_exact(&rows, a, na, &rows, b, nb, capacity, nb);
			for (size_t i = 0; i < na * nb; i++)
			{
				double		value = exact ? capacity[i] : (double) block[i];

				check += value * value;
				CHECK(fabs(value - k[(a + i / nb) * n + b + i % nb] / rows.scale) < tolerance,
					  "kernel %d degree %d, n %zu, d %zu: %g, exactly %g", kernel->kind, kernel->degree, n, d, value,
					  k[(a + i / nb) * n + b + i % nb] / rows.scale);
			}
			CHECK(fabs(sum - check) <= 1e-5 * check, "sum of squares %g, not %g", sum, check);
		}
	for (size_t i = 0; i < n && status == FC_OK; i++)
		CHECK(fabs(fc_kernel_diagonal(&rows, i) - k[i * n + i] / rows.scale) < tolerance, "diagonal %zu", i);
}

/*
 * Products with K agree with plain sums to 2e-6 n, and interrupts are checked
 * for each block.
 */
static void
test_multiply(const fc_kernel *kernel, size_t n, size_t d, size_t c)
{
	double	   *x = unit_normals(n * d, 0.3, 1.0, n);
	double	   *k = kernel_matrix(kernel, x, n, d);
	fc_kernel_input input = {.doubles = x,.n = n,.d = d};
	fc_arena	arena = unit_arena();
	int8_t	   *o = unit_alloc(n * c, sizeof(int8_t));
	double	   *w = unit_alloc(n * c, sizeof(double));
	size_t		columns[8] = {0, 1, 5, 6, 9, 11, 12, 13};
	fc_kernel_rows rows;
	double		square;
	double		exact_square = 0.0;
	size_t		blocks = (n + FC_KERNEL_BLOCK - 1) / FC_KERNEL_BLOCK;

	CHECK(fc_kernel_prepare(kernel, &input, false, &arena, &rows) == FC_OK, "not prepared");
	fc_sign_columns(7, columns, c, 0, 0, n, o);
	unit_checked = 0;
	fc_interrupt_check = unit_check;
	fc_kernel_multiply(&rows, o, c, &arena, w, &square);
	fc_interrupt_check = NULL;
	CHECK((size_t) unit_checked == blocks * (blocks + 1) / 2, "%ld interrupt checks, %zu blocks", unit_checked, blocks);
	for (size_t i = 0; i < n; i++)
		for (size_t s = 0; s < c; s++)
		{
			double		sum = 0.0;

			for (size_t j = 0; j < n; j++)
				sum += k[i * n + j] * (double) o[j * c + s];
			CHECK(fabs(sum / rows.scale - w[i * c + s]) < 2e-6 * (double) n, "w[%zu, %zu]: %g, exactly %g", i, s, w[i * c + s], sum / rows.scale);
		}
	for (size_t i = 0; i < n * n; i++)
		exact_square += k[i] * k[i] / rows.scale / rows.scale;
	CHECK(fabs(square / exact_square - 1.0) < 1e-5, "||K||^2 = %g, exactly %g", square, exact_square);
}

/*
 * Values that no embedding could represent are refused; zero rows are
 * accepted.
 */
static void
test_ranges(void)
{
	double		x[4] = {1e40, 0, 0, 1};
	double		zero[4] = {0};
	fc_kernel_input input = {.doubles = x,.n = 2,.d = 2};
	fc_arena	arena = unit_arena();
	fc_kernel_rows rows;

	CHECK(fc_kernel_prepare(&square_kernel, &input, false, &arena, &rows) == FC_EFAR, "1e160 accepted");
	x[0] = x[3] = 1e-40;
	CHECK(fc_kernel_prepare(&square_kernel, &input, false, &arena, &rows) == FC_EFAR, "1e-160 accepted");
	x[0] = 1e-30;
	CHECK(fc_kernel_prepare(&test_kernels[0], &input, false, &arena, &rows) == FC_OK, "1e-60 refused");
	x[0] = 1e300;
	CHECK(fc_kernel_prepare(&test_kernels[1], &input, false, &arena, &rows) == FC_OK, "cosine of 1e300 refused");
	CHECK(fabs((double) rows.x[0] - 1.0) < 1e-6, "not a unit row: %g", (double) rows.x[0]);
	input.doubles = zero;
	for (size_t i = 0; i < TEST_KERNELS; i++)
		CHECK(fc_kernel_prepare(&test_kernels[i], &input, false, &arena, &rows) == FC_OK, "zero rows: kernel %zu", i);
}

/*
 * Columns of the whole Hadamard matrix are orthogonal. Choices are distinct
 * and in order, and complete if all are requested.
 */
static void
test_columns(void)
{
	size_t		columns[12];
	int8_t	   *o = unit_alloc(64 * 16, 1);
	int8_t	   *part = unit_alloc(64 * 16, 1);

	fc_choose_distinct(3, 64, 12, columns);
	for (size_t s = 1; s < 12; s++)
		CHECK(columns[s] > columns[s - 1] && columns[s] < 64, "column %zu", columns[s]);
	fc_sign_columns(3, columns, 12, 4, 0, 64, o);
	for (size_t s = 0; s < 12; s++)
		for (size_t t = 0; t <= s; t++)
		{
			double		dot = 0.0;

			for (size_t i = 0; i < 64; i++)
				dot += (double) o[i * 16 + s] * (double) o[i * 16 + t];
			CHECK(dot == (s == t ? 64.0 : 0.0), "columns %zu, %zu: %g", s, t, dot);
		}
	for (size_t first = 0; first < 64; first += 5)
		fc_sign_columns(3, columns, 12, 4, first, 64 - first < 5 ? 64 - first : 5, part + first * 16);
	CHECK(memcmp(o, part, 64 * 16) == 0, "a row depends on its tile");
	fc_choose_distinct(9, 12, 12, columns);
	for (size_t s = 0; s < 12; s++)
		CHECK(columns[s] == s, "column %zu of 12: %zu", s, columns[s]);
}

int
main(void)
{
	test_shapes(2, 0);
	test_shapes(3, 0);
	test_shapes(3, 1);
	test_plain(1, 10);
	test_plain(3, 10);
	test_plain(FC_SPECTRAL_CLUSTERS + 1, 153);
	test_degenerate();
	test_check();
	test_exponential();
	for (size_t i = 0; i < TEST_KERNELS; i++)
	{
		test_blocks(&test_kernels[i], 1, 1, 0.0, false, 1e-6);
		test_blocks(&test_kernels[i], 131, 3, 0.5, false, 3e-6);
		test_blocks(&test_kernels[i], 131, 3, 0.5, true, 1e-13);
		test_blocks(&test_kernels[i], 40, 257, 0.1, false, test_kernels[i].kind == FC_KERNEL_RBF ? 1e-4 : 3e-6);
		test_multiply(&test_kernels[i], 300, 5, 8);
	}
	/*
	 * rbf does not depend on where the rows are, and detects that floats are
	 * not precise enough
	 */
	test_blocks(&test_kernels[6], 131, 3, 1e6, false, 1e-5);
	test_blocks(&(fc_kernel) {FC_KERNEL_VERSION, FC_KERNEL_RBF, 0, 0, 1e4, 0.0}, 131, 2, 0.0, false, 1e-6);
	test_ranges();
	test_columns();
	return unit_finish();
}
