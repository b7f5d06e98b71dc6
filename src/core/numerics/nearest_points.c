/* nearest_points.c - all scores by BLAS, in tiles; see nearest_points.h */
#include "numerics/nearest_points.h"

#include <math.h>

#include "base/sizes.h"
#include "numerics/dense.h"

#define TILE	((size_t) 256)		/* points, and centroids, of one product */

size_t
fc_nearest_points_worksize(size_t k, size_t d)
{
	(void) d;
	return (k + TILE * TILE) * sizeof(double) + 1024;
}

/* Continues the nearest of `rows` points with the centroids first .. + count. */
static void
compare_tile(const double *dots, const double *half, size_t rows, size_t first, size_t count, double *best, int32_t *nearest)
{
	for (size_t r = 0; r < rows; r++)
		for (size_t j = 0; j < count; j++)
			if (half[first + j] - dots[r * TILE + j] < best[r])
			{
				best[r] = half[first + j] - dots[r * TILE + j];
				nearest[r] = (int32_t) (first + j);
			}
}

void
fc_nearest_points(const double *points, size_t n, const double *centroids, size_t k, size_t d,
				  fc_arena *arena, int32_t *nearest)
{
	fc_mark		used = fc_arena_mark(arena);
	double	   *half = FC_TAKE(arena, k, double);	/* ||c||^2 / 2 */
	double	   *dots = FC_TAKE(arena, TILE * TILE, double);
	double		best[TILE];

	for (size_t j = 0; j < k; j++)
	{
		half[j] = 0.0;
		for (size_t i = j * d; i < (j + 1) * d; i++)
			half[j] += 0.5 * centroids[i] * centroids[i];
	}
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = smaller(TILE, n - start);

		for (size_t r = 0; r < rows; r++)
		{
			best[r] = INFINITY;
			nearest[start + r] = 0;
		}
		for (size_t first = 0; first < k; first += TILE)
		{
			fc_product	product = {.transpose_b = true,.m = rows,.n = smaller(TILE, k - first),.k = d,.alpha = 1.0,.lda = d,.ldb = d,.ldc = TILE};

			(void) fc_multiply(&product, points + start * d, centroids + first * d, dots);
			compare_tile(dots, half, rows, first, product.n, best, nearest + start);
		}
	}
	fc_arena_release(arena, used);
}
