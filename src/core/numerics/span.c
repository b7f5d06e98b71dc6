/* span.c - coordinates of few sparse rows; see span.h */
#include "numerics/span.h"

#include "base/simd.h"

/*
 * Coordinates are computed for at most MAX_ROWS rows, which must have at least
 * MIN_DIMENSIONS dimensions per row. The Cholesky factor takes rows^3 / 3
 * multiply-adds. Guesses.
 */
#define MAX_ROWS	1024
#define MIN_DIMENSIONS	8

/*
 * Maximum number of multiply-adds for the Gram matrix, per value of the n x d
 * matrix of rows. The methods that use the coordinates take tens of
 * multiply-adds per value. A guess.
 */
#define MAX_PRODUCTS	4.0

/*
 * A row counts as lying in the span of the earlier rows if its component
 * outside this span is as small as a rounding error: if the square of the
 * component is at most this share of the row's squared length.
 */
#define MIN_PIVOT	1e-10

/*
 * Counts the nonzero values of each column. Sets first[c] to the position of
 * the first value of column c in a list of all nonzero values by column;
 * first[d] is the length of the list. Returns false if the Gram matrix would
 * take too many multiply-adds.
 */
static bool
count_columns(const float *x, size_t n, size_t d, size_t *first)
{
	double		products = 0.0;

	memset(first, 0, (d + 1) * sizeof(size_t));
	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		for (size_t c = 0; c < d; c++)
			first[c + 1] += x[i * d + c] != 0.0f;
	}
	for (size_t c = 0; c < d; c++)
	{
		products += (double) first[c + 1] * (double) first[c + 1];
		first[c + 1] += first[c];
	}
	return products <= MAX_PRODUCTS * (double) n * (double) d;
}

/*
 * Adds the dot products of all pairs of rows to the lower triangle of gram (n
 * x n). `first` comes from count_columns; first[c] becomes the end of column c
 * in the list of nonzero values.
 */
static void
add_products(const float *x, size_t n, size_t d, size_t *first, fc_arena *arena, double *gram)
{
	uint32_t   *row = FC_TAKE(arena, first[d] + 1, uint32_t);
	double	   *value = FC_TAKE(arena, first[d] + 1, double);

	/* list the nonzero values by column, within a column by row */
	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		for (size_t c = 0; c < d; c++)
			if (x[i * d + c] != 0.0f)
			{
				row[first[c]] = (uint32_t) i;
				value[first[c]++] = (double) x[i * d + c];
			}
	}
	for (size_t c = 0; c < d; c++)
	{
		fc_check();
		for (size_t p = c > 0 ? first[c - 1] : 0; p < first[c]; p++)
			for (size_t q = c > 0 ? first[c - 1] : 0; q <= p; q++)
				gram[row[p] * n + row[q]] += value[p] * value[q];
	}
}

/*
 * Replaces the lower triangle of the Gram matrix (n x n, stored by column) by
 * its Cholesky factor. `square` holds the squared lengths of the n rows. Column
 * j becomes 0 if row j lies in the span of earlier rows, which is assumed if
 * pivot j is at most MIN_PIVOT * square[j].
 */
FC_CLONES
static void
factorise(double *columns, const double *square, size_t n)
{
	for (size_t j = 0; j < n; j++)
	{
		double	   *column = columns + j * n;
		double		pivot = column[j];
		double		scale = pivot > MIN_PIVOT * square[j] ? 1.0 / sqrt(pivot) : 0.0;

		fc_check();
		for (size_t i = j; i < n; i++)
			column[i] *= scale;
		for (size_t k = j + 1; k < n; k++)
			for (size_t i = k; i < n && column[k] != 0.0; i++)
				columns[k * n + i] -= column[k] * column[i];
	}
}

const float *
fc_span_coordinates(const float *x, size_t n, size_t d, fc_arena *arena)
{
	fc_mark		before = fc_arena_mark(arena);
	fc_mark		mark;
	float	   *y;
	size_t	   *first;
	double	   *gram;
	double	   *square;

	if (n > MAX_ROWS || d < MIN_DIMENSIONS * n)
		return NULL;
	y = FC_TAKE(arena, n * n, float);
	mark = fc_arena_mark(arena);
	first = FC_TAKE(arena, d + 1, size_t);
	if (!count_columns(x, n, d, first))
	{
		fc_arena_release(arena, before);
		return NULL;
	}
	gram = FC_TAKE(arena, n * n, double);
	square = FC_TAKE(arena, n, double);
	memset(gram, 0, n * n * sizeof(double));
	add_products(x, n, d, first, arena, gram);
	for (size_t i = 0; i < n; i++)
	{
		square[i] = gram[i * n + i];
		for (size_t j = 0; j < i; j++)
			gram[j * n + i] = gram[i * n + j];
	}
	factorise(gram, square, n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			y[i * n + j] = j <= i ? (float) gram[j * n + i] : 0.0f;
	fc_arena_release(arena, mark);
	return y;
}
