/*
 * distances_simd.c - distances from one point to many, one dimension at a
 * time; see internal.h
 */
#include "density/internal.h"

#include "base/simd.h"

/*
 * Number of points whose squared distances are summed in one pass, so that the
 * sums fit the first-level cache. A guess.
 */
#define BLOCK	512

FC_CLONES
void
fc_point_distances(const fc_point_columns *points, const double *x,
				   double *squared)
{
	for (size_t first = 0; first < points->n; first += BLOCK)
	{
		size_t		count = (points->n - first < BLOCK ? points->n - first : BLOCK);
		double	   *sum = squared + first;

		for (size_t i = 0; i < count; i++)
			sum[i] = 0.0;
		for (size_t c = 0; c < points->d; c++)
		{
			const double *column = points->x + c * points->stride + first;

			for (size_t i = 0; i < count; i++)
				sum[i] += (column[i] - x[c]) * (column[i] - x[c]);
		}
	}
}
