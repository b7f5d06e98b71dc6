/* pivoted_cholesky.c - landmarks by randomly pivoted Cholesky; see the header */
#include "rkhs/pivoted_cholesky.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "base/rng.h"
#include "base/pieces.h"
#include "base/sizes.h"
#include "numerics/leading_eigen.h"

#define TILE		1024
#define STREAM		3
#define EXHAUSTED_SHARE	1e-12	/* of the trace: what is left is rounding */

typedef struct pivoted_cholesky_work
{
	size_t		n;
	size_t		m;
	fc_kernel_rows rows;
	double	   *factor;			/* n x m */
	double	   *residual;		/* n: diagonal of K - F F' */
	double	   *column;			/* TILE */
	double	   *pivot_row;		/* m */
} pivoted_cholesky_work;

static void
take_work(fc_arena *arena, size_t n, size_t m, pivoted_cholesky_work *k)
{
	k->n = n;
	k->m = smaller(m, n);
	k->factor = FC_TAKE(arena, n * k->m, double);
	k->residual = FC_TAKE(arena, n, double);
	k->column = FC_TAKE(arena, TILE, double);
	k->pivot_row = FC_TAKE(arena, k->m, double);
}

size_t
fc_pivoted_cholesky_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t m)
{
	fc_arena	measure = fc_arena_measure();
	pivoted_cholesky_work k;

	if (n > UINT32_MAX || m > UINT32_MAX)
		return SIZE_MAX;
	take_work(&measure, n, m, &k);
	fc_arena_reserve(&measure, fc_kernel_rows_size(kernel, n, d, true));
	return fc_arena_measured(&measure);
}

static void
sum_residual(const pivoted_cholesky_work *k, double *sum)
{
	*sum = 0.0;
	for (size_t i = 0; i < k->n; i++)
	{
		if (i % 65536 == 0)
			fc_check();
		*sum += k->residual[i];
	}
}

/* The first place where the running sum passes target and something is left. */
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

/* Column j of the factor from pivot s. */
static void
add_column(pivoted_cholesky_work *k, size_t j, size_t s)
{
	double		root = sqrt(k->residual[s]);

	memcpy(k->pivot_row, k->factor + s * k->m, j * sizeof(double));
	for (size_t start = 0; start < k->n; start += TILE)
	{
		size_t		count = smaller(TILE, k->n - start);

		fc_check();
		fc_kernel_block_exact(&k->rows, start, count, &k->rows, s, 1, k->column, 1);
		if (j > 0)
			cblas_dgemv(CblasRowMajor, CblasNoTrans, (int) count, (int) j, -1.0, k->factor + start * k->m, (int) k->m,
						k->pivot_row, 1, 1.0, k->column, 1);
		for (size_t i = 0; i < count; i++)
		{
			double		value = k->column[i] / root;

			k->factor[(start + i) * k->m + j] = value;
			k->residual[start + i] = fmax(k->residual[start + i] - value * value, 0.0);
		}
	}
	k->residual[s] = 0.0;
}

/* Pivots and the factor's first *found columns. */
static void
factorise(pivoted_cholesky_work *k, uint64_t seed, size_t *pivots, size_t *found)
{
	fc_rng		rng = fc_rng_start(seed, STREAM);
	double		trace = 0.0;

	*found = 0;
	for (size_t i = 0; i < k->n; i++)
	{
		if (i % TILE == 0)
			fc_check();
		k->residual[i] = fc_kernel_diagonal(&k->rows, i);
		trace += k->residual[i];
	}
	while (*found < k->m)
	{
		double		left;
		size_t		s;

		sum_residual(k, &left);
		if (!(left > EXHAUSTED_SHARE * trace))
			return;
		s = draw_pivot(k, fc_rng_uniform(&rng) * left);
		add_column(k, *found, s);
		if (pivots != NULL)
			pivots[*found] = s;
		(*found)++;
	}
}

static fc_status
start(const fc_kernel *kernel, const fc_kernel_input *input, size_t m, fc_arena *arena, pivoted_cholesky_work *k)
{
	fc_status	status = fc_kernel_prepare(kernel, input, true, arena, &k->rows);

	if (status == FC_OK)
		take_work(arena, input->n, m, k);
	return status;
}

fc_status
fc_pivoted_cholesky_landmarks(const fc_kernel *kernel, const fc_kernel_input *input, size_t m, uint64_t seed,
							  fc_arena *arena, size_t *pivots, size_t *found)
{
	fc_mark		used = fc_arena_mark(arena);
	pivoted_cholesky_work k;
	fc_status	status = start(kernel, input, m, arena, &k);

	if (status == FC_OK)
		factorise(&k, seed, pivots, found);
	for (size_t j = 0; status == FC_OK && input->order != NULL && j < *found; j++)
		pivots[j] = input->order[pivots[j]];
	fc_arena_release(arena, used);
	return status;
}

/* ---- an embedding ---- */

size_t
fc_pivoted_cholesky_project_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t m)
{
	size_t		columns = smaller(m, n);
	size_t		pairs = smaller(rank, columns);
	fc_arena	measure = fc_arena_measure();

	fc_arena_reserve(&measure, fc_pivoted_cholesky_worksize(kernel, n, d, m));
	fc_arena_reserve(&measure, (columns + 2 * pairs + 1) * columns * sizeof(double) + 6 * 64);
	fc_arena_reserve(&measure, fc_leading_eigen_worksize(columns, pairs));
	fc_arena_reserve(&measure, fc_kernel_embed_worksize(pairs));
	return fc_arena_measured(&measure);
}

/* gram = F' F of the first `found` columns */
static fc_status
factor_gram(const pivoted_cholesky_work *k, size_t found, double *gram)
{
	fc_status	status = FC_OK;

	fc_clear_pieces(gram, found * found * sizeof(double));
	for (size_t first = 0; first < k->n && status == FC_OK; first += TILE)
		status = fc_rank_update_transposed(found, smaller(TILE, k->n - first), 1.0, k->factor + first * k->m, k->m,
										   gram);
	if (status == FC_OK)
		fc_mirror_lower(gram, found);
	return status;
}

static fc_status
reduce(const pivoted_cholesky_work *k, size_t found, fc_arena *arena, fc_embedding *result)
{
	size_t		pairs = smaller(result->rank, found);
	double	   *gram = FC_TAKE(arena, found * found, double);
	double	   *values = FC_TAKE(arena, pairs, double);
	double	   *vectors = FC_TAKE(arena, pairs * found, double);
	double	   *t = FC_TAKE(arena, pairs * found, double);
	fc_status	status = FC_OK;

	if (status == FC_OK && found > 0)
		status = factor_gram(k, found, gram);
	if (status == FC_OK && found > 0)
		status = fc_leading_eigen(gram, found, pairs, arena, values, vectors);
	for (size_t i = 0; i < found && status == FC_OK; i++)
	{
		fc_check();
		for (size_t j = 0; j < pairs; j++)
			t[i * pairs + j] = vectors[j * found + i];
	}
	if (status == FC_OK)
		status = fc_kernel_embed(k->factor, k->n, found, k->m, t, pairs, k->rows.scale, arena, result);
	return status;
}

fc_status
fc_pivoted_cholesky_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t m, uint64_t seed,
							fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		found = 0;
	pivoted_cholesky_work k;
	fc_status	status = start(kernel, input, m, arena, &k);

	if (status == FC_OK)
		factorise(&k, seed, NULL, &found);
	if (status == FC_OK)
		status = reduce(&k, found, arena, result);
	result->relative_error = -1.0;
	fc_arena_release(arena, used);
	return status;
}
