/* fc_nystroem.c - uniform Nystrom and the exact eigendecomposition; see the header */
#include "fc_nystroem.h"

#include <math.h>
#include <string.h>

#include "fc_leading_eigen.h"
#include "fc_random_columns.h"
#include "fc_sizes.h"

#define TILE	128

typedef struct work
{
	size_t		m;
	size_t		pairs;			/* eigenpairs wanted of the inner matrix */
	size_t	   *chosen;			/* m */
	double	   *columns;		/* n x m */
	double	   *inner;			/* m x m */
	double	   *values;			/* pairs */
	double	   *vectors;		/* pairs x m */
	double	   *t;				/* m x pairs */
} work;

static fc_status
take_work(fc_arena *arena, size_t n, size_t rank, size_t columns, work *k)
{
	k->m = smaller(columns, n);
	k->pairs = smaller(rank, k->m);
	k->chosen = FC_TAKE(arena, k->m, size_t);
	k->columns = FC_TAKE(arena, n * k->m, double);
	k->inner = FC_TAKE(arena, k->m * k->m, double);
	k->values = FC_TAKE(arena, k->pairs, double);
	k->vectors = FC_TAKE(arena, k->pairs * k->m, double);
	k->t = FC_TAKE(arena, k->m * k->pairs, double);
	return k->chosen != NULL && k->columns != NULL && k->inner != NULL && k->values != NULL &&
		k->vectors != NULL && k->t != NULL ? FC_OK : FC_ENOMEMORY;
}

size_t
fc_nystroem_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t columns)
{
	fc_arena	endless = {.base = (char *) 64,.size = SIZE_MAX / 4};
	size_t		rows = fc_kernel_rows_size(kernel, n, d, true);
	size_t		selected = fc_kernel_rows_size(kernel, smaller(columns, n), d, true);
	work		k;

	if (rows > SIZE_MAX / 8 || n > UINT32_MAX || columns > UINT32_MAX ||
		take_work(&endless, n, rank, columns, &k) != FC_OK)
		return SIZE_MAX;
	return endless.used + 128 + rows +
		larger(selected, larger(fc_leading_eigen_worksize(k.m, k.pairs), fc_kernel_embed_worksize(k.pairs)));
}

fc_status
fc_kernel_matrix(const fc_kernel_rows *left, const fc_kernel_rows *right, const fc_tick *tick, double *out)
{
	for (size_t a = 0; a < left->n; a += TILE)
		for (size_t b = 0; b < right->n; b += TILE)
		{
			if (fc_ticked(tick))
				return FC_INTERRUPTED;
			fc_kernel_block_exact(left, a, smaller(TILE, left->n - a), right, b, smaller(TILE, right->n - b),
								  out + a * right->n + b, right->n);
		}
	return FC_OK;
}

static fc_status
sample_columns(const fc_kernel_rows *rows, uint64_t seed, const fc_tick *tick, fc_arena *arena, work *k)
{
	size_t		used = arena->used;
	fc_kernel_rows selected;
	fc_status	status;

	fc_choose_distinct(seed, rows->n, k->m, k->chosen);
	status = fc_kernel_select_rows(rows, k->chosen, k->m, tick, arena, &selected);
	if (status == FC_OK)
		status = fc_kernel_matrix(rows, &selected, tick, k->columns);
	for (size_t j = 0; j < k->m && status == FC_OK; j++)
		memcpy(k->inner + j * k->m, k->columns + k->chosen[j] * k->m, k->m * sizeof(double));
	arena->used = used;
	return status;
}

fc_status
fc_nystroem_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t columns, uint64_t seed,
					const fc_tick *tick, fc_arena *arena, fc_embedding *result)
{
	size_t		used = arena->used;
	size_t		kept;
	fc_kernel_rows rows;
	work		k;
	fc_status	status = fc_kernel_prepare(kernel, input, true, tick, arena, &rows);

	if (status == FC_OK)
		status = take_work(arena, input->n, result->rank, columns, &k);
	if (status == FC_OK)
		status = sample_columns(&rows, seed, tick, arena, &k);
	if (status == FC_OK)
		status = fc_leading_eigen(k.inner, k.m, k.pairs, tick, arena, k.values, k.vectors);
	if (status == FC_OK)
	{
		kept = fc_inverse_root(k.values, k.vectors, k.pairs, k.m, FC_PSEUDO_INVERSE_FLOOR, k.t);
		status = fc_kernel_embed(k.columns, input->n, k.m, k.m, k.t, kept, rows.scale, tick, arena, result);
	}
	result->relative_error = -1.0;
	arena->used = used;
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

static fc_status
take_exact(fc_arena *arena, size_t n, size_t rank, exact_work *k)
{
	k->pairs = smaller(rank, n);
	k->matrix = FC_TAKE(arena, n * n, double);
	k->values = FC_TAKE(arena, k->pairs, double);
	k->vectors = FC_TAKE(arena, k->pairs * n, double);
	k->axes = FC_TAKE(arena, n * k->pairs, double);
	k->roots = FC_TAKE(arena, k->pairs * k->pairs, double);
	return k->matrix != NULL && k->values != NULL && k->vectors != NULL && k->axes != NULL && k->roots != NULL
		? FC_OK : FC_ENOMEMORY;
}

size_t
fc_kernel_eigen_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank)
{
	fc_arena	endless = {.base = (char *) 64,.size = SIZE_MAX / 4};
	size_t		rows = fc_kernel_rows_size(kernel, n, d, true);
	exact_work	k;

	if (rows > SIZE_MAX / 8 || n > UINT32_MAX || take_exact(&endless, n, rank, &k) != FC_OK)
		return SIZE_MAX;
	return endless.used + 128 + rows + larger(fc_leading_eigen_worksize(n, k.pairs), fc_kernel_embed_worksize(k.pairs));
}

static fc_status
sum_squares(const double *matrix, size_t n, const fc_tick *tick, double *square)
{
	*square = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t j = 0; j < n; j++)
			*square += matrix[i * n + j] * matrix[i * n + j];
	}
	return FC_OK;
}

/* axes = vectors', roots = diag(values^1/2) over the *positive positive ones. */
static fc_status
positive_pairs(size_t n, const fc_tick *tick, exact_work *k, size_t *positive)
{
	size_t		kept = 0;

	while (kept < k->pairs && k->values[kept] > FC_PSEUDO_INVERSE_FLOOR * k->values[0])
		kept++;
	memset(k->roots, 0, kept * kept * sizeof(double));
	for (size_t j = 0; j < kept; j++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		k->roots[j * kept + j] = sqrt(k->values[j]);
		for (size_t i = 0; i < n; i++)
			k->axes[i * kept + j] = k->vectors[j * n + i];
	}
	*positive = kept;
	return FC_OK;
}

fc_status
fc_kernel_eigen_project(const fc_kernel *kernel, const fc_kernel_input *input,
						const fc_tick *tick, fc_arena *arena, fc_embedding *result)
{
	size_t		used = arena->used;
	size_t		n = input->n;
	double		square = 0.0;
	double		explained = 0.0;
	size_t		kept;
	fc_kernel_rows rows;
	exact_work	k;
	fc_status	status = fc_kernel_prepare(kernel, input, true, tick, arena, &rows);

	if (status == FC_OK)
		status = take_exact(arena, n, result->rank, &k);
	if (status == FC_OK)
		status = fc_kernel_matrix(&rows, &rows, tick, k.matrix);
	if (status == FC_OK)
		status = sum_squares(k.matrix, n, tick, &square);
	if (status == FC_OK)
		status = fc_leading_eigen(k.matrix, n, k.pairs, tick, arena, k.values, k.vectors);
	if (status == FC_OK)
		status = positive_pairs(n, tick, &k, &kept);
	if (status == FC_OK)
		status = fc_kernel_embed(k.axes, n, kept, kept, k.roots, kept, rows.scale, tick, arena, result);
	for (size_t j = 0; j < result->rank && status == FC_OK; j++)
		explained += result->eigenvalues[j] / rows.scale * (result->eigenvalues[j] / rows.scale);
	if (status == FC_OK)
		result->relative_error = square > 0.0 ? sqrt(fmax(1.0 - explained / square, 0.0)) : 0.0;
	arena->used = used;
	return status;
}
