/*
 * test_palm.c - sparse algebra, projections and palm4MSA.
 *
 * Known results: products agree with dense loops, projections with a sort, and
 * the Hadamard matrix of order 32 is five factors with two non-zeros per row
 * and column, to 1e-10. Properties: the objective never rises, and results
 * repeat to the bit.
 */
#include "factor/internal.h"
#include "unit.h"

static double *
dense_of(const fc_sparse *a)
{
	double	   *x = unit_alloc(a->rows * a->columns, sizeof(double));

	for (size_t r = 0; r < a->rows; r++)
		for (size_t p = a->row_start[r]; p < a->row_start[r + 1]; p++)
			x[r * a->columns + a->column[p]] = a->value[p];
	return x;
}

static double
relative_distance(const double *a, const double *b, size_t n)
{
	double		rest = 0;
	double		whole = 0;

	for (size_t i = 0; i < n; i++)
	{
		rest += (a[i] - b[i]) * (a[i] - b[i]);
		whole += a[i] * a[i];
	}
	return sqrt(rest / whole);
}

/* ---- sparse algebra ---- */

/*
 * Makes a random sparse matrix with the s largest entries of each row and
 * column.
 */
static fc_sparse_pair
random_sparse(fc_arena *arena, size_t rows, size_t columns, size_t s, uint64_t seed)
{
	fc_constraint constraint = {s, s};
	double	   *dense = unit_normals(rows * columns, 0.0, 1.0, seed);
	fc_sparse_pair a;

	fc_sparse_pair_take(arena, rows, columns, fc_constraint_capacity(&constraint, rows, columns), &a);
	fc_constraint_project(&constraint, dense, arena, &a.plain);
	fc_sparse_pair_changed(&a);
	return a;
}

/*
 * Transposes are exact, and tiles of rows assemble to the transposed matrix.
 */
static void
test_algebra(void)
{
	fc_sparse_pair a = random_sparse(unit_work(), 37, 53, 3, 1);
	double	   *dense = dense_of(&a.plain);
	double	   *turned = dense_of(&a.transposed);
	double	   *z = unit_alloc(53 * 37, sizeof(double));

	for (size_t r = 0; r < 37; r++)
		for (size_t c = 0; c < 53; c++)
			CHECK(dense[r * 53 + c] == turned[c * 37 + r], "the transpose is wrong at %zu, %zu", r, c);
	/*
	 * cut a matrix into tiles of rows, transpose them and assemble them again
	 */
	for (size_t first = 0; first < 37; first += FC_TILE_COLUMNS)
	{
		size_t		count = 37 - first < FC_TILE_COLUMNS ? 37 - first : FC_TILE_COLUMNS;
		double	   *tile = unit_alloc(53 * FC_TILE_COLUMNS, sizeof(double));

		fc_tile_rows(dense, 53, 53, first, count, tile);
		fc_tile_to_columns(tile, 53, first, count, z, 37);
	}
	CHECK(memcmp(z, turned, 53 * 37 * sizeof(double)) == 0, "tiles do not assemble to the transposed matrix");
}

/* ---- projections ---- */

/*
 * Returns true if entry (r, c) is among the s largest of its row or column;
 * the lowest index is first among equal entries.
 */
static bool
among_largest(const double *x, size_t rows, size_t columns, size_t r, size_t c, size_t s)
{
	double		size = fabs(x[r * columns + c]);
	size_t		before_row = 0;
	size_t		before_column = 0;

	for (size_t i = 0; i < columns; i++)
		before_row += fabs(x[r * columns + i]) > size || (fabs(x[r * columns + i]) == size && i < c);
	for (size_t i = 0; i < rows; i++)
		before_column += fabs(x[i * columns + c]) > size || (fabs(x[i * columns + c]) == size && i < r);
	return size > 0 && (before_row < s || before_column < s);
}

/*
 * The projection keeps the s largest entries of each row and column, with many
 * ties.
 */
static void
test_lines(void)
{
	static const size_t sparsity[] = {1, 2, 5, 16, 17, 25, 100};

	for (size_t t = 0; t < sizeof(sparsity) / sizeof(*sparsity); t++)
	{
		size_t		s = sparsity[t];
		fc_constraint constraint = {s, s};
		fc_arena	arena = unit_arena();
		double	   *x = unit_normals(40 * 33, 0.0, 1.0, 7 + t);
		double	   *kept;
		fc_sparse	a;

		for (size_t i = 0; i < 40 * 33; i++)
			x[i] = nearbyint(2 * x[i]);
		fc_sparse_take(&arena, 40, 33, fc_constraint_capacity(&constraint, 40, 33), &a);
		fc_constraint_project(&constraint, x, &arena, &a);
		kept = dense_of(&a);
		for (size_t r = 0; r < 40; r++)
			for (size_t c = 0; c < 33; c++)
			{
				double		expected = among_largest(x, 40, 33, r, c, s) ? x[r * 33 + c] : 0;

				CHECK(kept[r * 33 + c] == expected, "s %zu: entry %zu, %zu is %g, not %g", s, r, c, kept[r * 33 + c], expected);
			}
	}
}

/*
 * The same projection from tiles, which short lists use, gives the same
 * entries.
 */
static void
test_largest(void)
{
	enum {ROWS = 41, COLUMNS = 75};

	for (size_t s = 1; s <= FC_SHORT_LIST; s += 5)
	{
		fc_constraint constraint = {s, FC_SHORT_LIST + 1 - s};
		fc_arena	arena = unit_arena();
		double	   *x = unit_normals(ROWS * COLUMNS, 0.0, 1.0, 70 + s);
		fc_sparse	a[2];
		fc_largest	lists;

		for (size_t i = 0; i < ROWS * COLUMNS; i++)
			x[i] = nearbyint(2 * x[i]);
		for (int i = 0; i < 2; i++)
			fc_sparse_take(&arena, ROWS, COLUMNS, fc_constraint_capacity(&constraint, ROWS, COLUMNS), &a[i]);
		fc_constraint_project(&constraint, x, &arena, &a[0]);
		fc_largest_take(&arena, ROWS, COLUMNS, &lists);
		fc_largest_start(&lists, ROWS, COLUMNS, constraint.per_row, constraint.per_column);
		for (size_t first = 0; first < COLUMNS; first += FC_TILE_COLUMNS)
		{
			size_t		count = COLUMNS - first < FC_TILE_COLUMNS ? COLUMNS - first : FC_TILE_COLUMNS;
			double		tile[ROWS * FC_TILE_COLUMNS];

			fc_tile_columns(x, COLUMNS, ROWS, first, count, tile);
			fc_largest_offer(&lists, tile, ROWS, first, count);
		}
		fc_largest_gather(&lists, &a[1]);
		CHECK(a[0].nonzeros == a[1].nonzeros && memcmp(a[0].row_start, a[1].row_start, (ROWS + 1) * sizeof(uint32_t)) == 0, "s %zu: counts", s);
		for (size_t p = 0; p < a[0].nonzeros; p++)
			CHECK(a[0].column[p] == a[1].column[p] && a[0].value[p] == a[1].value[p], "s %zu: entry %zu", s, p);
	}
}

static int
falling(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x > y ? -1 : x < y;
}

/* The projection to 100 entries keeps the largest ones. */
static void
test_total(void)
{
	fc_arena	arena = unit_arena();
	double	   *x = unit_normals(30 * 20, 0.0, 1.0, 3);
	double	   *sizes = unit_alloc(600, sizeof(double));
	fc_sparse	a;

	for (size_t i = 0; i < 600; i++)
		sizes[i] = fabs(x[i]);
	qsort(sizes, 600, sizeof(double), falling);
	fc_sparse_take(&arena, 30, 20, 100, &a);
	fc_largest_of_all(x, 100, &arena, &a);
	CHECK(a.nonzeros == 100, "%zu entries", a.nonzeros);
	for (size_t p = 0; p < a.nonzeros; p++)
		CHECK(fabs(a.value[p]) >= sizes[99], "entry %zu is not among the largest", p);
}

/* ---- matching pursuit ---- */

/* Returns s' G s - 2 s' b. */
static double
quadratic(const double *gram, const double *b, size_t n, const uint32_t *column, const double *value, size_t count)
{
	double		sum = 0;

	for (size_t i = 0; i < count; i++)
	{
		sum -= 2 * value[i] * b[column[i]];
		for (size_t j = 0; j < count; j++)
			sum += value[i] * value[j] * gram[column[i] * n + column[j]];
	}
	return sum;
}

/*
 * Planted supports of an incoherent dictionary are recovered to 1e-9; a line
 * is never worse than its old support; equal atoms are not used together.
 */
static void
test_pursuit(void)
{
	enum {N = 24, ROWS = 60};
	double	   *l = unit_normals((size_t) ROWS * N, 0.0, 1.0, 11);
	double		gram[N * N] = {0};
	fc_omp		pursuit;

	for (size_t r = 0; r < ROWS; r++)
		l[r * N + N - 1] = l[r * N];	/* the last atom equals the first */
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			for (size_t r = 0; r < ROWS; r++)
				gram[i * N + j] += l[r * N + i] * l[r * N + j];
	fc_omp_start(gram, N, unit_work(), &pursuit);
	for (uint32_t t = 0; t < 20; t++)
	{
		uint32_t	planted[3] = {t % 7 + 1, t % 6 + 8, t % 8 + 14};
		double		s[3] = {3, -2, 1 + t};
		double		b[N] = {0};
		uint32_t	old[2] = {planted[0], 23};
		uint32_t	column[8];
		double		value[8];
		double		zeros[3] = {0};
		fc_line		before = {old, zeros, 1.0, 2};
		fc_line		known = {planted, zeros, 1.0, 3};
		size_t		count;

		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < 3; j++)
				b[i] += gram[i * N + planted[j]] * s[j];
		count = fc_omp_line(&pursuit, b, 3, &before, 8, column, value);
		CHECK(count == 3, "%zu entries", count);
		for (size_t i = 0; i < count; i++)
			CHECK(column[i] == planted[i] && fabs(value[i] - s[i]) < 1e-9, "entry %zu: %g at %u", i, value[i], column[i]);
		count = fc_omp_line(&pursuit, b, 1, &known, 8, column, value);
		CHECK(count == 3 && quadratic(gram, b, N, column, value, count) <= quadratic(gram, b, N, planted, s, 3) + 1e-9, "the line is worse than before");
		count = fc_omp_line(&pursuit, b, 8, &before, 2, column, value);
		CHECK(count <= 2, "%zu entries in a room of 2", count);
	}
	{
		double		b[N] = {0};
		uint32_t	column[N];
		double		value[N];
		fc_line		none = {0};

		CHECK(fc_omp_line(&pursuit, b, 5, &none, N, column, value) == 0, "entries are chosen for a right side of 0");
		memcpy(b, gram, sizeof(b));
		CHECK(fc_omp_line(&pursuit, b, 5, &none, N, column, value) == 1 && fabs(value[0] - 1) < 1e-12, "two equal atoms are chosen");
	}
}

/*
 * Two atoms at an angle of 1e-4: the component of u across them is not
 * represented by huge coefficients that cancel, unless the old line did.
 */
static void
test_dependent_atoms(void)
{
	double		gram[9] = {1, 1, 0, 1, 1 + 1e-8, 0, 0, 0, 1};
	double		b[3] = {1, 1 + 1e-4, 0.5};
	double		values[2] = {-9999, 10000};
	uint32_t	columns[2] = {0, 1};
	uint32_t	column[3];
	double		value[3];
	fc_line		none = {0};
	fc_line		before = {columns, values, 1.0, 2};
	fc_omp		pursuit;
	size_t		count;

	fc_omp_start(gram, 3, unit_work(), &pursuit);
	count = fc_omp_line(&pursuit, b, 3, &none, 3, column, value);
	CHECK(count == 2 && column[1] == 2, "the third atom does not follow the first of the pair");
	for (size_t i = 0; i < count; i++)
		CHECK(fabs(value[i]) < 2, "coefficient %g", value[i]);
	b[2] = 0;
	count = fc_omp_line(&pursuit, b, 2, &before, 3, column, value);
	CHECK(quadratic(gram, b, 3, column, value, count) <= quadratic(gram, b, 3, columns, values, 2) + 1e-9, "the line is worse than before");
}

/* ---- palm4MSA ---- */

typedef struct history
{
	int			sweeps;
	double		last;
	bool		rose;
} history;

static void
watch(void *ctx, int sweep, double objective, size_t nonzeros)
{
	history    *h = ctx;

	CHECK(nonzeros > 0, "the factors have no entries");
	h->rose |= sweep > 1 && objective > h->last + 1e-15;
	h->last = objective;
	h->sweeps = sweep;
}

static void
take_lines(fc_arena *arena, size_t k, size_t d, size_t count, size_t s, fc_factors *factors)
{
	fc_constraint constraint[FC_MAX_FACTORS];

	for (size_t q = 0; q < count; q++)
		constraint[q] = (fc_constraint) {s, s};
	fc_factors_take(arena, k, d, count, constraint, factors);
}

/*
 * Returns the product lambda S_1 .. S_Q (k x d), multiplied factor by factor.
 */
static double *
product_of(const fc_factors *factors)
{
	double	   *v = dense_of(&factors->factor[0].plain);
	size_t		k = factors->factor[0].plain.rows;

	for (size_t q = 1; q < factors->count; q++)
	{
		const fc_sparse *s = &factors->factor[q].plain;
		double	   *next = unit_alloc(k * s->columns, sizeof(double));

		for (size_t j = 0; j < k; j++)
			for (size_t r = 0; r < s->rows; r++)
				for (size_t p = s->row_start[r]; p < s->row_start[r + 1]; p++)
					next[j * s->columns + s->column[p]] += v[j * s->rows + r] * s->value[p];
		v = next;
	}
	for (size_t i = 0; i < k * factors->factor[factors->count - 1].plain.columns; i++)
		v[i] *= factors->lambda;
	return v;
}

/* Returns || W^(1/2) (U - V) ||^2, computed from the product. */
static double
objective_of(const fc_target *target, const fc_factors *factors)
{
	double	   *v = product_of(factors);
	double		sum = 0;

	for (size_t j = 0; j < target->k; j++)
		for (size_t i = 0; i < target->d; i++)
		{
			double		rest = target->u[j * target->d + i] - v[j * target->d + i];

			sum += (target->weight ? target->weight[j] : 1) * rest * rest;
		}
	return sum;
}

/*
 * Makes centroids like natural ones: mixtures of a few smooth patterns, plus
 * noise.
 */
static double *
patterns(size_t k, size_t d, uint64_t seed)
{
	double	   *u = unit_normals(k * d, 0.0, 1.0, seed);
	double	   *mix = unit_normals(k * 4, 0.0, 1.0, seed + 1);

	for (size_t j = 0; j < k; j++)
		for (size_t i = 0; i < d; i++)
		{
			u[j * d + i] *= 0.2;
			for (size_t r = 0; r < 4; r++)
				u[j * d + i] += mix[j * 4 + r] * sin((double) ((r + 1) * (i + 3 * j % 5)) * 6.3 / (double) d);
		}
	return u;
}

/*
 * The objective never rises, agrees with the product to 1e-9, and does not
 * rise after a warm start.
 */
static void
test_monotone(void)
{
	static const size_t shapes[][4] = {{20, 50, 4, 2}, {50, 20, 4, 3}, {33, 33, 5, 2}, {7, 90, 1, 4}, {1, 8, 1, 1}, {64, 5, 2, 2}};

	for (size_t t = 0; t < sizeof(shapes) / sizeof(*shapes); t++)
		for (int weighted = 0; weighted < 4; weighted++)
		{
			size_t		k = shapes[t][0];
			size_t		d = shapes[t][1];
			fc_arena	arena;
			double	   *u = patterns(k, d, t);
			double	   *weight = unit_normals(k, 0.0, 1.0, 40 + t);
			fc_target	target = {u, weighted % 2 ? weight : NULL, k, d};
			history		h = {0};
			fc_palm_options options = fc_palm_defaults();
			fc_palm_result result;
			fc_palm_result more;
			fc_factors	factors;
			double		checked;

			for (size_t j = 0; j < k; j++)
				weight[j] = weight[j] * weight[j] * 10;
			take_lines(unit_work(), k, d, shapes[t][2], shapes[t][3], &factors);
			options.sweeps = 60;
			options.pursuit = weighted < 2;
			options.progress = watch;
			options.progress_ctx = &h;
			arena = unit_arena();
			fc_palm(&target, &options, &arena, &factors, &result);
			CHECK(!h.rose && h.sweeps == result.sweeps, "shape %zu, weighted %d: the objective rose", t, weighted);
			checked = objective_of(&target, &factors);
			CHECK(fabs(checked - result.objective) < 1e-9 * checked + 1e-12, "objective %g is %g", result.objective, checked);
			for (size_t q = 0; q < factors.count; q++)
				CHECK(factors.factor[q].plain.nonzeros <= factors.factor[q].plain.capacity, "a factor exceeds its capacity");
			options.warm = true;
			h.sweeps = 0;
			fc_palm(&target, &options, &arena, &factors, &more);
			CHECK(more.objective <= result.objective * (1 + 1e-12) + 1e-20, "a warm start rose from %g to %g", result.objective, more.objective);
		}
}

/*
 * Solving lines by pursuit gives an objective below 90 % of that of gradient
 * steps.
 */
static void
test_better(void)
{
	double		relative[2];
	double	   *u = patterns(40, 120, 8);
	fc_target	target = {u, NULL, 40, 120};

	for (int pursuit = 0; pursuit < 2; pursuit++)
	{
		fc_arena	arena = unit_arena();
		fc_palm_options options = fc_palm_defaults();
		fc_palm_result result;
		fc_factors	factors;

		take_lines(&arena, 40, 120, 5, 3, &factors);
		options.sweeps = 100;
		options.pursuit = pursuit;
		fc_palm(&target, &options, &arena, &factors, &result);
		relative[pursuit] = result.relative;
	}
	CHECK(relative[1] < 0.9 * relative[0], "relative objectives %g with gradient steps, %g with pursuit", relative[0], relative[1]);
}

/* A single dense factor without a limit is U itself. */
static void
test_whole(void)
{
	fc_arena	arena = unit_arena();
	double	   *u = unit_normals(6 * 9, 0.0, 1.0, 5);
	fc_target	target = {u, NULL, 6, 9};
	fc_palm_options options = fc_palm_defaults();
	fc_palm_result result;
	fc_factors	factors;

	take_lines(&arena, 6, 9, 1, 9, &factors);
	fc_palm(&target, &options, &arena, &factors, &result);
	CHECK(result.relative < 1e-25, "relative objective %g", result.relative);
	memset(u, 0, 6 * 9 * sizeof(double));
	fc_factors_start(&factors);
	fc_palm(&target, &options, &arena, &factors, &result);
	CHECK(result.objective == 0, "the objective of a zero matrix is not 0");
}

/* ---- known factorisations ---- */

/* Returns H_n = H_2 (x) H_(n/2). */
static double *
hadamard(size_t n)
{
	double	   *h = unit_alloc(n * n, sizeof(double));

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			h[i * n + j] = __builtin_popcountll(i & j) % 2 ? -1 : 1;
	return h;
}

/*
 * Checks the number of factors, the relative error of their product (1e-10),
 * and that each row and column has two entries.
 */
static void
check_hadamard(const fc_target *target, const fc_factors *factors, size_t count, const char *how)
{
	double	   *v = product_of(factors);
	double		error = relative_distance(target->u, v, 32 * 32);

	CHECK(factors->count == count && error < 1e-10, "%s: %zu factors, relative error %g", how, factors->count, error);
	for (size_t q = 0; q < factors->count; q++)
		for (int side = 0; side < 2; side++)
		{
			const fc_sparse *s = side ? &factors->factor[q].transposed : &factors->factor[q].plain;

			for (size_t r = 0; r < s->rows; r++)
				CHECK(s->row_start[r + 1] - s->row_start[r] == 2, "%s: factor %zu has %u entries in a line", how, q,
					  s->row_start[r + 1] - s->row_start[r]);
		}
}

/* Both methods find the factors of the Hadamard matrix. */
static void
test_hadamard(void)
{
	double	   *u = hadamard(32);
	fc_target	target = {u, NULL, 32, 32};
	fc_arena	arena;
	fc_palm_options options = fc_palm_defaults();
	fc_palm_result result;
	fc_factors	factors;

	take_lines(unit_work(), 32, 32, 5, 2, &factors);
	arena = unit_arena();
	fc_hierarchical(&target, &options, &arena, &factors, &result);
	check_hadamard(&target, &factors, 5, "hierarchical");
	arena = unit_arena();
	fc_butterfly(&target, &arena, &factors);
	check_hadamard(&target, &factors, 5, "butterfly");
}

/*
 * Products of any shape have the right size and are no worse than zero;
 * hierarchical factorisation repeats to the bit.
 */
static void
test_shapes(void)
{
	static const size_t shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 5}, {3, 3}, {5, 12}, {12, 5}, {31, 70}, {70, 31}};

	for (size_t t = 0; t < sizeof(shapes) / sizeof(*shapes); t++)
	{
		size_t		k = shapes[t][0];
		size_t		d = shapes[t][1];
		size_t		count = fc_factor_count(k, d);
		double	   *u = patterns(k, d, 9 + t);
		double		square = 0;
		double		objective[2];
		fc_target	target = {u, NULL, k, d};
		fc_arena	arena = unit_arena();
		fc_factors	factors;

		for (size_t i = 0; i < k * d; i++)
			square += u[i] * u[i];
		fc_butterfly(&target, &arena, &factors);
		CHECK(factors.factor[0].plain.rows == k && factors.factor[factors.count - 1].plain.columns == d, "the product has a wrong shape");
		for (size_t q = 1; q < factors.count; q++)
			CHECK(factors.factor[q].plain.rows == factors.factor[q - 1].plain.columns, "factors do not fit each other");
		CHECK(objective_of(&target, &factors) <= square * (1 + 1e-12), "the butterfly is worse than zero");
		for (int run = 0; run < 2; run++)
		{
			fc_palm_options options = fc_palm_defaults();
			fc_palm_result result;

			options.sweeps = 10;
			take_lines(unit_work(), k, d, count, 2, &factors);
			arena = unit_arena();
			fc_hierarchical(&target, &options, &arena, &factors, &result);
			objective[run] = result.objective;
		}
		CHECK(objective[0] == objective[1] && objective[0] <= square, "objective %g, then %g of %g", objective[0], objective[1], square);
	}
}

int
main(void)
{
	test_algebra();
	test_lines();
	test_largest();
	test_total();
	test_pursuit();
	test_dependent_atoms();
	test_monotone();
	test_better();
	test_whole();
	test_hadamard();
	test_shapes();
	return unit_finish();
}
