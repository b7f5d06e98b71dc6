/* nystroem.c - uniform Nystrom and the exact eigendecomposition; see the header */
#include "rkhs/nystroem.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "numerics/leading_eigen.h"
#include "rkhs/columns.h"

#define TILE	128

typedef struct nystroem_work
{
	size_t		m;
	size_t		pairs;			/* eigenpairs wanted of the inner matrix */
	size_t	   *chosen;			/* m */
	double	   *columns;		/* n x m */
	double	   *inner;			/* m x m */
	double	   *values;			/* pairs */
	double	   *vectors;		/* pairs x m */
	double	   *t;				/* m x pairs */
} nystroem_work;

static void
take_work(fc_arena *arena, size_t n, size_t rank, size_t columns, nystroem_work *k)
{
	k->m = smaller(columns, n);
	k->pairs = smaller(rank, k->m);
	k->chosen = FC_TAKE(arena, k->m, size_t);
	k->columns = FC_TAKE(arena, n * k->m, double);
	k->inner = FC_TAKE(arena, k->m * k->m, double);
	k->values = FC_TAKE(arena, k->pairs, double);
	k->vectors = FC_TAKE(arena, k->pairs * k->m, double);
	k->t = FC_TAKE(arena, k->m * k->pairs, double);
}

size_t
fc_nystroem_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t columns)
{
	fc_arena	measure = fc_arena_measure();
	size_t		selected = fc_kernel_rows_size(kernel, smaller(columns, n), d, true);
	nystroem_work k;

	if (n > UINT32_MAX || columns > UINT32_MAX)
		return SIZE_MAX;
	take_work(&measure, n, rank, columns, &k);
	fc_arena_reserve(&measure, fc_kernel_rows_size(kernel, n, d, true));
	fc_arena_reserve(&measure, larger(selected, larger(fc_leading_eigen_worksize(k.m, k.pairs), fc_kernel_embed_worksize(k.pairs))));
	return fc_arena_measured(&measure);
}

void
fc_kernel_matrix(const fc_kernel_rows *left, const fc_kernel_rows *right, double *out)
{
	for (size_t a = 0; a < left->n; a += TILE)
		for (size_t b = 0; b < right->n; b += TILE)
		{
			fc_check();
			fc_kernel_block_exact(left, a, smaller(TILE, left->n - a), right, b, smaller(TILE, right->n - b),
								  out + a * right->n + b, right->n);
		}
}

static void
sample_columns(const fc_kernel_rows *rows, uint64_t seed, fc_arena *arena, nystroem_work *k)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_kernel_rows selected;

	fc_choose_distinct(seed, rows->n, k->m, k->chosen);
	fc_kernel_select_rows(rows, k->chosen, k->m, arena, &selected);
	fc_kernel_matrix(rows, &selected, k->columns);
	for (size_t j = 0; j < k->m; j++)
		memcpy(k->inner + j * k->m, k->columns + k->chosen[j] * k->m, k->m * sizeof(double));
	fc_arena_release(arena, used);
}

fc_status
fc_nystroem_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t columns, uint64_t seed,
					fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		found;
	fc_kernel_rows rows;
	nystroem_work k;
	fc_status	status = fc_kernel_prepare(kernel, input, true, arena, &rows);

	if (status == FC_OK)
		take_work(arena, input->n, result->rank, columns, &k);
	if (status == FC_OK)
		sample_columns(&rows, seed, arena, &k);
	if (status == FC_OK)
		status = fc_leading_eigen(k.inner, k.m, k.pairs, arena, k.values, k.vectors);
	if (status == FC_OK)
	{
		found = fc_inverse_root(k.values, k.vectors, k.pairs, k.m, FC_PSEUDO_INVERSE_FLOOR, k.t);
		status = fc_kernel_embed(k.columns, input->n, k.m, k.m, k.t, found, rows.scale, arena, result);
	}
	result->relative_error = -1.0;
	fc_arena_release(arena, used);
	return status;
}

/* ---- exact ---- */

typedef struct exact_work
{
	size_t		pairs;
	double	   *matrix;			/* n x n */
	double	   *values;			/* pairs */
	double	   *vectors;		/* pairs x n */
	double	   *axes;			/* n x pairs */
	double	   *roots;			/* pairs x pairs, diagonal */
} exact_work;

static void
take_exact(fc_arena *arena, size_t n, size_t rank, exact_work *k)
{
	k->pairs = smaller(rank, n);
	k->matrix = FC_TAKE(arena, n * n, double);
	k->values = FC_TAKE(arena, k->pairs, double);
	k->vectors = FC_TAKE(arena, k->pairs * n, double);
	k->axes = FC_TAKE(arena, n * k->pairs, double);
	k->roots = FC_TAKE(arena, k->pairs * k->pairs, double);
}

size_t
fc_kernel_eigen_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank)
{
	fc_arena	measure = fc_arena_measure();
	exact_work	k;

	if (n > UINT32_MAX)
		return SIZE_MAX;
	take_exact(&measure, n, rank, &k);
	fc_arena_reserve(&measure, fc_kernel_rows_size(kernel, n, d, true));
	fc_arena_reserve(&measure, larger(fc_leading_eigen_worksize(n, k.pairs), fc_kernel_embed_worksize(k.pairs)));
	return fc_arena_measured(&measure);
}

static void
sum_squares(const double *matrix, size_t n, double *square)
{
	*square = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		for (size_t j = 0; j < n; j++)
			*square += matrix[i * n + j] * matrix[i * n + j];
	}
}

/* axes = vectors', roots = diag(values^1/2) over the *positive positive ones. */
static void
positive_pairs(size_t n, exact_work *k, size_t *positive)
{
	size_t		found = 0;

	while (found < k->pairs && k->values[found] > FC_PSEUDO_INVERSE_FLOOR * k->values[0])
		found++;
	memset(k->roots, 0, found * found * sizeof(double));
	for (size_t j = 0; j < found; j++)
	{
		fc_check();
		k->roots[j * found + j] = sqrt(k->values[j]);
		for (size_t i = 0; i < n; i++)
			k->axes[i * found + j] = k->vectors[j * n + i];
	}
	*positive = found;
}

fc_status
fc_kernel_eigen_project(const fc_kernel *kernel, const fc_kernel_input *input,
						fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		n = input->n;
	double		square = 0.0;
	double		explained = 0.0;
	size_t		found;
	fc_kernel_rows rows;
	exact_work	k;
	fc_status	status = fc_kernel_prepare(kernel, input, true, arena, &rows);

	if (status == FC_OK)
		take_exact(arena, n, result->rank, &k);
	if (status == FC_OK)
		fc_kernel_matrix(&rows, &rows, k.matrix);
	if (status == FC_OK)
		sum_squares(k.matrix, n, &square);
	if (status == FC_OK)
		status = fc_leading_eigen(k.matrix, n, k.pairs, arena, k.values, k.vectors);
	if (status == FC_OK)
		positive_pairs(n, &k, &found);
	if (status == FC_OK)
		status = fc_kernel_embed(k.axes, n, found, found, k.roots, found, rows.scale, arena, result);
	for (size_t j = 0; j < result->rank && status == FC_OK; j++)
		explained += result->eigenvalues[j] / rows.scale * (result->eigenvalues[j] / rows.scale);
	if (status == FC_OK)
		result->relative_error = square > 0.0 ? sqrt(fmax(1.0 - explained / square, 0.0)) : 0.0;
	fc_arena_release(arena, used);
	return status;
}
