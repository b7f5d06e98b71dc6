/*
 * nystroem.c - uniform Nystrom, the exact eigendecomposition, and randomly
 * pivoted Cholesky; see projection.h
 */
#include "rkhs/projection.h"

#include "base/blas.h"
#include "base/rng.h"
#include "numerics/dense.h"
#include "numerics/principal.h"

/*
 * Number of values of a column of the kernel matrix that are computed between
 * two interrupt checks. A guess.
 */
#define TILE	1024

/* Random stream of the pivots. */
#define STREAM	3

/*
 * Share of the trace of K at or below which the trace of the residual counts
 * as rounding error, and no more pivots are drawn.
 */
#define EXHAUSTED_SHARE	1e-12

typedef struct nystroem_work
{
	size_t		m;
	size_t		pairs;			/* number of eigenpairs of the inner matrix to
								 * compute */
	size_t	   *chosen;			/* indices of the m chosen columns */
	double	   *columns;		/* n x m columns of K */
	double	   *inner;			/* m x m: the chosen rows of `columns` */
	double	   *values;			/* eigenvalues of `inner`, one per pair */
	double	   *vectors;		/* pairs x m eigenvectors of `inner` */
	double	   *t;				/* m x pairs: inverse square root of `inner` */
} nystroem_work;

void
fc_kernel_matrix(const fc_kernel_rows *left, const fc_kernel_rows *right,
				 double *out)
{
	for (size_t a = 0; a < left->n; a += FC_KERNEL_BLOCK)
		for (size_t b = 0; b < right->n; b += FC_KERNEL_BLOCK)
		{
			fc_check();
			fc_kernel_block_exact(left, a,
								  smaller(FC_KERNEL_BLOCK, left->n - a), right,
								  b, smaller(FC_KERNEL_BLOCK, right->n - b),
								  out + a * right->n + b, right->n);
		}
}

static void
sample_columns(const fc_kernel_rows *rows, uint64_t seed, fc_arena *arena,
			   nystroem_work *k)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_kernel_rows selected;

	fc_choose_distinct(seed, rows->n, k->m, k->chosen);
	fc_kernel_select_rows(rows, k->chosen, k->m, arena, &selected);
	fc_kernel_matrix(rows, &selected, k->columns);
	for (size_t j = 0; j < k->m; j++)
		memcpy(k->inner + j * k->m, k->columns + k->chosen[j] * k->m,
			   k->m * sizeof(double));
	fc_arena_release(arena, used);
}

void
fc_nystroem_project(const fc_kernel_rows *rows, size_t columns, uint64_t seed,
					fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		found;
	nystroem_work k = {.m = smaller(columns, rows->n)};

	k.pairs = smaller(result->rank, k.m);
	k.chosen = FC_TAKE(arena, k.m, size_t);
	k.columns = FC_TAKE(arena, rows->n * k.m, double);
	k.inner = FC_TAKE(arena, k.m * k.m, double);
	k.values = FC_TAKE(arena, k.pairs, double);
	k.vectors = FC_TAKE(arena, k.pairs * k.m, double);
	k.t = FC_TAKE(arena, k.m * k.pairs, double);
	sample_columns(rows, seed, arena, &k);
	fc_leading_eigen(k.inner, k.m, k.pairs, arena, k.values, k.vectors);
	found = fc_inverse_root(k.values, k.vectors, k.pairs, k.m,
							FC_PSEUDO_INVERSE_FLOOR, k.t);
	result->relative_error = -1.0;
	result->error_deviation = 0.0;
	(void) fc_kernel_embed(k.columns, rows->n, k.m, k.m, k.t, found, rows->scale,
						   arena, result);
	fc_arena_release(arena, used);
}

/* ---- exact ---- */

static double
sum_squares(const double *x, size_t rows, size_t columns)
{
	double		sum = 0.0;

	for (size_t i = 0; i < rows; i++)
	{
		fc_check();
		for (size_t j = 0; j < columns; j++)
			sum += x[i * columns + j] * x[i * columns + j];
	}
	return sum;
}

void
fc_kernel_eigen_project(const fc_kernel_rows *rows, fc_arena *arena,
						fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		n = rows->n;
	double		square;
	double		explained;
	size_t		found;
	size_t		pairs = smaller(result->rank, n);
	double	   *matrix = FC_TAKE(arena, n * n, double);
	double	   *values = FC_TAKE(arena, pairs, double);
	double	   *vectors = FC_TAKE(arena, pairs * n, double);

	/* K ~ U L U'; axes is U L^-1/2 (n x pairs), diagonal is L (pairs x pairs) */
	double	   *axes = FC_TAKE(arena, n * pairs, double);
	double	   *diagonal = FC_TAKE(arena, pairs * pairs, double);

	fc_kernel_matrix(rows, rows, matrix);
	square = sum_squares(matrix, n, n);
	fc_leading_eigen(matrix, n, pairs, arena, values, vectors);
	found = fc_inverse_root(values, vectors, pairs, n, FC_PSEUDO_INVERSE_FLOOR,
							axes);
	memset(diagonal, 0, found * found * sizeof(double));
	for (size_t j = 0; j < found; j++)
		diagonal[j * found + j] = values[j];
	(void) fc_kernel_embed(axes, n, found, found, diagonal, found, rows->scale, arena,
						   result);
	explained = sum_squares(result->eigenvalues, 1, result->rank) /
		rows->scale / rows->scale;
	result->error_deviation = 0.0;
	result->relative_error = square > 0.0
		? sqrt(fmax(1.0 - explained / square, 0.0))
		: 0.0;
	fc_arena_release(arena, used);
}

/* ---- pivoted Cholesky ---- */

typedef struct pivoted_cholesky_work
{
	const fc_kernel_rows *rows;
	size_t		n;
	size_t		m;
	double	   *factor;			/* n x m factor F */
	double	   *residual;		/* n values: diagonal of K - F F' */
	double	   *column;			/* TILE values of the current column */
	double	   *pivot_row;		/* m values: row of the pivot in F */
} pivoted_cholesky_work;

static pivoted_cholesky_work
take_pivoted(fc_arena *arena, const fc_kernel_rows *rows, size_t m)
{
	size_t		max = smaller(m, rows->n);

	return (pivoted_cholesky_work)
	{
		.rows = rows,
			.n = rows->n,
			.m = max,
			.factor = FC_TAKE(arena, rows->n * max,
							  double),
			.residual = FC_TAKE(arena, rows->n, double),
			.column = FC_TAKE(arena, TILE, double),
			.pivot_row = FC_TAKE(arena, max, double)
	};
}

/*
 * Returns the next pivot: the first index with a positive residual at which
 * the running sum of the residuals exceeds target, or else the last index with
 * a positive residual. target: a random number below the sum of all residuals.
 */
static size_t
draw_pivot(const pivoted_cholesky_work *k, double target)
{
	size_t		last = 0;

	for (size_t i = 0; i < k->n; i++)
		if (k->residual[i] > 0.0)
		{
			last = i;
			target -= k->residual[i];
			if (target < 0.0)
				break;
		}
	return last;
}

/*
 * Computes column j of the factor F for the pivot s, and subtracts the squares
 * of its values from the residuals.
 */
static void
add_column(pivoted_cholesky_work *k, size_t j, size_t s)
{
	double		root = sqrt(k->residual[s]);

	memcpy(k->pivot_row, k->factor + s * k->m, j * sizeof(double));
	for (size_t start = 0; start < k->n; start += TILE)
	{
		size_t		count = smaller(TILE, k->n - start);

		fc_check();
		fc_kernel_block_exact(k->rows, start, count, k->rows, s, 1, k->column,
							  1);
		if (j > 0)
			cblas_dgemv(CblasRowMajor, CblasNoTrans, (int) count, (int) j, -1.0,
						k->factor + start * k->m, (int) k->m, k->pivot_row, 1,
						1.0, k->column, 1);
		for (size_t i = 0; i < count; i++)
		{
			double		value = k->column[i] / root;

			k->factor[(start + i) * k->m + j] = value;
			k->residual[start + i] = fmax(k->residual[start + i] -
										  value * value,
										  0.0);
		}
	}
	k->residual[s] = 0.0;
}

/*
 * Draws up to m pivots and computes the columns of the factor F. Stores the
 * pivots in `pivots` unless it is NULL. Returns the number of columns, which
 * is less than m if K is exhausted.
 */
static size_t
factorise(pivoted_cholesky_work *k, uint64_t seed, size_t *pivots)
{
	fc_rng		rng = fc_rng_start(seed, STREAM);
	double		trace = 0.0;
	size_t		found = 0;

	for (size_t i = 0; i < k->n; i++)
	{
		fc_check();
		k->residual[i] = fc_kernel_diagonal(k->rows, i);
		trace += k->residual[i];
	}
	while (found < k->m)
	{
		double		left = 0.0;
		size_t		s;

		for (size_t i = 0; i < k->n; i++)
			left += k->residual[i];
		if (!(left > EXHAUSTED_SHARE * trace))
			break;
		s = draw_pivot(k, fc_rng_uniform(&rng) * left);
		add_column(k, found, s);
		if (pivots != NULL)
			pivots[found] = s;
		found++;
	}
	return found;
}

size_t
fc_pivoted_cholesky_landmarks(const fc_kernel_rows *rows, size_t m,
							  uint64_t seed, fc_arena *arena, size_t *pivots)
{
	fc_mark		used = fc_arena_mark(arena);
	pivoted_cholesky_work k = take_pivoted(arena, rows, m);
	size_t		found = factorise(&k, seed, pivots);

	fc_arena_release(arena, used);
	return found;
}

/*
 * Returns the `pairs` leading eigenvectors of F' F as the columns of a matrix
 * (found x pairs), where F is the first `found` columns of the factor.
 */
static double *
factor_axes(const pivoted_cholesky_work *k, size_t found, size_t pairs,
			fc_arena *arena)
{
	double	   *gram = FC_TAKE_ZEROED(arena, found * found, double);
	double	   *values = FC_TAKE(arena, pairs, double);
	double	   *vectors = FC_TAKE(arena, pairs * found, double);
	double	   *axes = FC_TAKE(arena, pairs * found, double);

	fc_rank_update_transposed(found, k->n, k->factor, k->m, gram);
	fc_mirror_lower(gram, found);
	fc_leading_eigen(gram, found, pairs, arena, values, vectors);
	for (size_t i = 0; i < found; i++)
	{
		fc_check();
		for (size_t j = 0; j < pairs; j++)
			axes[i * pairs + j] = vectors[j * found + i];
	}
	return axes;
}

void
fc_pivoted_cholesky_project(const fc_kernel_rows *rows, size_t m, uint64_t seed,
							fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	pivoted_cholesky_work k = take_pivoted(arena, rows, m);
	size_t		found = factorise(&k, seed, NULL);
	size_t		pairs = smaller(result->rank, found);
	double	   *axes = found > 0 ? factor_axes(&k, found, pairs, arena) : NULL;

	result->relative_error = -1.0;
	result->error_deviation = 0.0;
	(void) fc_kernel_embed(k.factor, k.n, found, k.m, axes, pairs, rows->scale, arena,
						   result);
	fc_arena_release(arena, used);
}
