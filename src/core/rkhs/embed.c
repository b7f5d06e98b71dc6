/* embed.c - from a factor of the kernel matrix to coordinates; see the header */
#include "rkhs/embed.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/leading_eigen.h"
#include "numerics/sign.h"

#define TILE	256

size_t
fc_inverse_root(const double *values, const double *vectors, size_t count, size_t m, double floor, double *t)
{
	size_t		found = 0;

	while (found < count && values[found] > 0.0 && values[found] > floor * values[0])
		found++;
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < found; j++)
			t[i * found + j] = vectors[j * m + i] / sqrt(values[j]);
	return found;
}

typedef struct embed_work
{
	double	   *gram;			/* q x q */
	double	   *tile;			/* TILE x q */
	double	   *values;			/* q */
	double	   *vectors;		/* q x q */
	double	   *deciding;		/* q: the entry of each column, so far, that decides its sign */
} embed_work;

static void
take_work(fc_arena *arena, size_t q, embed_work *k)
{
	k->gram = FC_TAKE(arena, q * q, double);
	k->tile = FC_TAKE(arena, TILE * q, double);
	k->values = FC_TAKE(arena, q, double);
	k->vectors = FC_TAKE(arena, q * q, double);
	k->deciding = FC_TAKE(arena, q, double);
}

size_t
fc_kernel_embed_worksize(size_t q)
{
	fc_arena	measure = fc_arena_measure();
	embed_work	k;

	take_work(&measure, q, &k);
	fc_arena_reserve(&measure, fc_leading_eigen_worksize(q, q));
	return fc_arena_measured(&measure);
}

/* tile = *rows rows start .. of w times t */
static fc_status
make_tile(const double *w, size_t start, size_t n, size_t m, size_t ldw, const double *t, size_t q,
		  double *tile, size_t *rows)
{
	fc_product	p = {.m = n - start < TILE ? n - start : TILE,.n = q,.k = m,.alpha = 1.0,.lda = ldw,.ldb = q,.ldc = q};

	*rows = p.m;
	return fc_multiply(&p, w + start * ldw, t, tile);
}

static fc_status
sum_gram(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, embed_work *k)
{
	memset(k->gram, 0, q * q * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows;
		fc_status	status = make_tile(w, start, n, m, ldw, t, q, k->tile, &rows);

		if (status == FC_OK)
			status = fc_rank_update_transposed(q, rows, 1.0, k->tile, q, k->gram);
		if (status != FC_OK)
			return status;
	}
	fc_mirror_lower(k->gram, q);
	return FC_OK;
}

/* y = root x E V, row by row; remembers the entry of each column that decides its sign. */
static fc_status
write_coordinates(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, size_t found, double root,
				  embed_work *k, fc_embedding *result)
{
	memset(k->deciding, 0, q * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows;
		fc_status	status = make_tile(w, start, n, m, ldw, t, q, k->tile, &rows);

		if (status != FC_OK)
			return status;
		fc_check();
		for (size_t i = 0; i < rows; i++)
		{
			float	   *y = result->y + (start + i) * result->rank;

			memset(y, 0, result->rank * sizeof(float));
			for (size_t j = 0; j < found; j++)
			{
				double		value = root * cblas_ddot((int) q, k->tile + i * q, 1, k->vectors + j * q, 1);

				y[j] = (float) value;
				if (fc_decides_sign(value, k->deciding[j]))
					k->deciding[j] = value;
			}
		}
	}
	return FC_OK;
}

static void
fix_signs(size_t n, size_t found, const embed_work *k, fc_embedding *result)
{
	for (size_t i = 0; i < n; i++)
	{
		if (i % TILE == 0)
			fc_check();
		for (size_t j = 0; j < found; j++)
			if (k->deciding[j] < 0.0)
				result->y[i * result->rank + j] = -result->y[i * result->rank + j];
	}
}

fc_status
fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, double scale,
				fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		found = 0;
	embed_work k;
	fc_status	status = FC_OK;

	take_work(arena, q, &k);
	memset(result->eigenvalues, 0, result->rank * sizeof(double));
	if (q == 0)					/* K is 0, or has no positive eigenvalue */
		memset(result->y, 0, n * result->rank * sizeof(float));
	if (q == 0 || status != FC_OK)
	{
		fc_arena_release(arena, used);
		return status;
	}
	status = sum_gram(w, n, m, ldw, t, q, &k);
	if (status == FC_OK)
		status = fc_leading_eigen(k.gram, q, q, arena, k.values, k.vectors);
	while (status == FC_OK && found < q && found < result->rank && k.values[found] > 1e-14 * k.values[0])
	{
		result->eigenvalues[found] = scale * k.values[found];
		found++;
	}
	if (status == FC_OK)
		status = write_coordinates(w, n, m, ldw, t, q, found, sqrt(scale), &k, result);
	if (status == FC_OK)
		fix_signs(n, found, &k, result);
	fc_arena_release(arena, used);
	return status;
}
