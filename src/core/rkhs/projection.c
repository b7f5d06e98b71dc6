/*
 * projection.c - the final step that all methods share, the cost of each
 * method, and the stored bytes; see projection.h.
 */
#include "rkhs/projection.h"

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/principal.h"

/* Number of rows per tile, between two interrupt checks. A guess. */
#define TILE	256

/* ---- cost (measured) ---- */

double
fc_kernel_operations(fc_kernel_method method, size_t n, size_t d,
					 size_t columns)
{
	double		rows = (double) n;
	double		read = rows * (double) columns * (double) (columns + d);

	switch (method)
	{
		case FC_KERNEL_ONE_PASS:
			return 0.15 * rows * rows * (double) (d + columns);
		case FC_KERNEL_NYSTROEM:
			return read;
		case FC_KERNEL_CHOLESKY:
			return 2.7 * read;
		case FC_KERNEL_EXACT:
			return rows * rows * (100.0 + (double) d + 2.0 * (double) columns);
	}
	return 0.0;
}

/* ---- coordinates, from a factor of the kernel matrix ---- */

size_t
fc_inverse_root(const double *values, const double *vectors, size_t count,
				size_t m, double floor, double *t)
{
	size_t		found = 0;

	while (found < count && values[found] > 0.0 &&
		   values[found] > floor * values[0])
		found++;
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < found; j++)
			t[i * found + j] = vectors[j * m + i] / sqrt(values[j]);
	return found;
}

typedef struct embed_work
{
	double	   *gram;			/* q x q Gram matrix E' E */
	double	   *tile;			/* TILE x q rows of E */
	double	   *values;			/* q eigenvalues of the Gram matrix */
	double	   *vectors;		/* q x q eigenvectors of the Gram matrix */
	double	   *deciding;		/* q values: entry of largest magnitude so far
								 * in each column of Y; in the result, this
								 * entry is positive */
} embed_work;

/*
 * Multiplies up to TILE rows of w, from row `start` on, by t, and stores the
 * products in `tile`. Returns the number of rows.
 */
static size_t
make_tile(const double *w, size_t start, size_t n, size_t m, size_t ldw,
		  const double *t, size_t q, double *tile)
{
	fc_product	p = {
		.m = smaller(TILE, n - start),
		.n = q,
		.k = m,
		.alpha = 1.0,
		.lda = ldw
	};

	fc_multiply(&p, w + start * ldw, t, tile);
	return p.m;
}

/*
 * Computes y = root * E V row by row. Records in k->deciding the entry of
 * largest magnitude in each column, which decides the sign of the column.
 */
static void
write_coordinates(const double *w, size_t n, size_t m, size_t ldw,
				  const double *t, size_t q, size_t found, double root,
				  embed_work *k, fc_embedding *result)
{
	memset(k->deciding, 0, q * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = make_tile(w, start, n, m, ldw, t, q, k->tile);

		fc_check();
		for (size_t i = 0; i < rows; i++)
		{
			float	   *y = result->y + (start + i) * result->rank;

			memset(y, 0, result->rank * sizeof(float));
			for (size_t j = 0; j < found; j++)
			{
				double		value = (root * cblas_ddot((int) q, k->tile + i * q, 1,
													   k->vectors + j * q, 1));

				y[j] = (float) value;
				if (fc_decides_sign(value, k->deciding[j]))
					k->deciding[j] = value;
			}
		}
	}
}

double
fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw,
				const double *t, size_t q, double scale, fc_arena *arena,
				fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		found = 0;
	double		rest = 0.0;
	embed_work	k;

	memset(result->eigenvalues, 0, result->rank * sizeof(double));
	if (q == 0)					/* K is 0, or has no positive eigenvalue */
	{
		memset(result->y, 0, n * result->rank * sizeof(float));
		return 0.0;
	}
	k.gram = FC_TAKE_ZEROED(arena, q * q, double);
	k.tile = FC_TAKE(arena, TILE * q, double);
	k.values = FC_TAKE(arena, q, double);
	k.vectors = FC_TAKE(arena, q * q, double);
	k.deciding = FC_TAKE(arena, q, double);
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = make_tile(w, start, n, m, ldw, t, q, k.tile);

		fc_rank_update_transposed(q, rows, k.tile, q, k.gram);
	}
	fc_mirror_lower(k.gram, q);
	fc_leading_eigen(k.gram, q, q, arena, k.values, k.vectors);
	for (; found < q && found < result->rank &&
		 k.values[found] > 1e-14 * k.values[0];
		 found++)
		result->eigenvalues[found] = scale * k.values[found];
	for (size_t j = found; j < q; j++)
		rest += k.values[j] * k.values[j];
	write_coordinates(w, n, m, ldw, t, q, found, sqrt(scale), &k, result);
	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		for (size_t j = 0; j < found; j++)
			if (k.deciding[j] < 0.0)
				result->y[i * result->rank + j] = -result->y[i * result->rank + j];
	}
	fc_arena_release(arena, used);
	return rest;
}

/* ---- bytes ---- */

size_t
fc_kernel_projection_size(size_t n, size_t rank)
{
	size_t		row = sizeof(int64_t) + rank * sizeof(float);
	size_t		rows;
	size_t		size;

	if (__builtin_mul_overflow(n, row, &rows) ||
		__builtin_add_overflow(rows,
							   sizeof(fc_kernel_projection_header) +
							   rank * sizeof(double) + 7,
							   &size))
		return SIZE_MAX;
	return size & ~(size_t) 7;
}

double *
fc_kernel_projection_eigenvalues(const fc_kernel_projection_header *header)
{
	return (double *) (header + 1);
}

int64_t *
fc_kernel_projection_ids(const fc_kernel_projection_header *header)
{
	return (int64_t *) (fc_kernel_projection_eigenvalues(header) +
						header->rank);
}

float *
fc_kernel_projection_rows(const fc_kernel_projection_header *header)
{
	return (float *) (fc_kernel_projection_ids(header) + header->n);
}

static bool
header_valid(const fc_kernel_projection_header *header)
{
	return header->version == FC_KERNEL_PROJECTION_VERSION &&
		header->method >= FC_KERNEL_ONE_PASS &&
		header->method <= FC_KERNEL_EXACT &&
		fc_kernel_check(&header->kernel) == FC_OK && header->n >= 1 &&
		header->d >= 1 && header->rank >= 1 &&
		header->rank <= FC_MAX_KERNEL_RANK &&
		((header->oversampling == 0 && header->probes == 0) ||
		 header->method == FC_KERNEL_ONE_PASS) &&
		(header->relative_error == -1.0 || header->relative_error >= 0.0) &&
		isfinite(header->relative_error) && header->error_deviation >= 0.0 &&
		isfinite(header->error_deviation);
}

fc_status
fc_kernel_projection_check(const void *bytes, size_t size)
{
	const fc_kernel_projection_header *header = bytes;
	const double *eigenvalues;
	const int64_t *ids;
	const float *y;

	if (size < sizeof(fc_kernel_projection_header) || !header_valid(header) ||
		size != fc_kernel_projection_size(header->n, header->rank))
		return FC_EFORMAT;
	eigenvalues = fc_kernel_projection_eigenvalues(header);
	ids = fc_kernel_projection_ids(header);
	y = fc_kernel_projection_rows(header);
	for (size_t j = 0; j < header->rank; j++)
		if (!(eigenvalues[j] >= 0.0 && isfinite(eigenvalues[j])) ||
			(j > 0 && eigenvalues[j] > eigenvalues[j - 1]))
			return FC_EFORMAT;
	for (size_t i = 1; i < header->n; i++)
		if (ids[i] <= ids[i - 1])
			return FC_EFORMAT;
	return fc_zero_padding(y + header->n * header->rank,
						   (const char *) bytes + size) &&
		fc_all_finite_float(y, header->n * header->rank)
		? FC_OK
		: FC_EFORMAT;
}
