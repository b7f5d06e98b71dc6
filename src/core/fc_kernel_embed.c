/* fc_kernel_embed.c - from a factor of the kernel matrix to coordinates; see the header */
#include "fc_kernel_embed.h"

#include <math.h>
#include <string.h>

#include "fc_blas.h"
#include "fc_dense.h"
#include "fc_leading_eigen.h"

#define TILE	256

size_t
fc_inverse_root(const double *values, const double *vectors, size_t count, size_t m, double floor, double *t)
{
	size_t		kept = 0;

	while (kept < count && values[kept] > 0.0 && values[kept] > floor * values[0])
		kept++;
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < kept; j++)
			t[i * kept + j] = vectors[j * m + i] / sqrt(values[j]);
	return kept;
}

typedef struct work
{
	double	   *gram;			/* q x q */
	double	   *tile;			/* TILE x q */
	double	   *values;			/* q */
	double	   *vectors;		/* q x q */
	double	   *largest;		/* q: the entry of largest magnitude of each column so far */
} work;

static fc_status
take_work(fc_arena *arena, size_t q, work *k)
{
	k->gram = FC_TAKE(arena, q * q, double);
	k->tile = FC_TAKE(arena, TILE * q, double);
	k->values = FC_TAKE(arena, q, double);
	k->vectors = FC_TAKE(arena, q * q, double);
	k->largest = FC_TAKE(arena, q, double);
	return k->gram != NULL && k->tile != NULL && k->values != NULL && k->vectors != NULL && k->largest != NULL
		? FC_OK : FC_ENOMEMORY;
}

size_t
fc_kernel_embed_worksize(size_t q)
{
	fc_arena	endless = {.base = (char *) 64,.size = SIZE_MAX};
	work		k;

	return take_work(&endless, q, &k) == FC_OK ? endless.used + 64 + fc_leading_eigen_worksize(q, q) : SIZE_MAX;
}

/* tile = *rows rows start .. of w times t */
static fc_status
make_tile(const double *w, size_t start, size_t n, size_t m, size_t ldw, const double *t, size_t q,
		  const fc_tick *tick, double *tile, size_t *rows)
{
	fc_product	p = {.m = n - start < TILE ? n - start : TILE,.n = q,.k = m,.alpha = 1.0,.lda = ldw,.ldb = q,.ldc = q};

	*rows = p.m;
	return fc_multiply(&p, w + start * ldw, t, tick, tile);
}

static fc_status
sum_gram(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, const fc_tick *tick, work *k)
{
	memset(k->gram, 0, q * q * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows;
		fc_status	status = make_tile(w, start, n, m, ldw, t, q, tick, k->tile, &rows);

		if (status == FC_OK)
			status = fc_rank_update_transposed(q, rows, 1.0, k->tile, q, tick, k->gram);
		if (status != FC_OK)
			return status;
	}
	return fc_mirror_lower(k->gram, q, tick);
}

/* y = root x E V, row by row; remembers the largest entry of each column. */
static fc_status
write_coordinates(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, size_t kept, double root,
				  const fc_tick *tick, work *k, fc_embedding *result)
{
	memset(k->largest, 0, q * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows;
		fc_status	status = make_tile(w, start, n, m, ldw, t, q, tick, k->tile, &rows);

		if (status != FC_OK)
			return status;
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t i = 0; i < rows; i++)
		{
			float	   *y = result->y + (start + i) * result->rank;

			memset(y, 0, result->rank * sizeof(float));
			for (size_t j = 0; j < kept; j++)
			{
				double		value = root * cblas_ddot((int) q, k->tile + i * q, 1, k->vectors + j * q, 1);

				y[j] = (float) value;
				if (fabs(value) > fabs(k->largest[j]))
					k->largest[j] = value;
			}
		}
	}
	return FC_OK;
}

static fc_status
fix_signs(size_t n, size_t kept, const fc_tick *tick, const work *k, fc_embedding *result)
{
	for (size_t i = 0; i < n; i++)
	{
		if (i % TILE == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t j = 0; j < kept; j++)
			if (k->largest[j] < 0.0)
				result->y[i * result->rank + j] = -result->y[i * result->rank + j];
	}
	return FC_OK;
}

fc_status
fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, double scale,
				const fc_tick *tick, fc_arena *arena, fc_embedding *result)
{
	size_t		used = arena->used;
	size_t		kept = 0;
	work		k;
	fc_status	status = take_work(arena, q, &k);

	memset(result->eigenvalues, 0, result->rank * sizeof(double));
	if (q == 0)					/* K is 0, or has no positive eigenvalue */
		memset(result->y, 0, n * result->rank * sizeof(float));
	if (q == 0 || status != FC_OK)
	{
		arena->used = used;
		return status;
	}
	status = sum_gram(w, n, m, ldw, t, q, tick, &k);
	if (status == FC_OK)
		status = fc_leading_eigen(k.gram, q, q, tick, arena, k.values, k.vectors);
	while (status == FC_OK && kept < q && kept < result->rank && k.values[kept] > 1e-14 * k.values[0])
	{
		result->eigenvalues[kept] = scale * k.values[kept];
		kept++;
	}
	if (status == FC_OK)
		status = write_coordinates(w, n, m, ldw, t, q, kept, sqrt(scale), tick, &k, result);
	if (status == FC_OK)
		status = fix_signs(n, kept, tick, &k, result);
	arena->used = used;
	return status;
}
