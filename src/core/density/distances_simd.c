/*
 * distances_simd.c - squared distances between points, in doubles; see
 * internal.h
 */
#include "density/internal.h"

#include "base/simd.h"

typedef double vdouble __attribute__((vector_size(FC_VECTOR_BYTES)));

/* Number of SIMD vectors that hold one coordinate of the points of a tile. */
#define VECTORS	(FC_POINT_TILE * sizeof(double) / FC_VECTOR_BYTES)

/*
 * Number of points whose distances to a tile are summed together, so that the
 * sums fit the registers. A guess.
 */
#define TOGETHER	4

/*
 * Computes the squared distances from `count` points x to a tile. The compiler
 * knows `count`, because it inlines each call.
 */
static inline __attribute__((always_inline))
void
distances_to_tile(const double *tile, size_t d, const double *x, size_t count,
				  double *squared, size_t stride)
{
	vdouble		sum[TOGETHER][VECTORS] = {{{0.0}}};

	for (size_t c = 0; c < d; c++)
		for (size_t v = 0; v < VECTORS; v++)
		{
			vdouble		at;

			memcpy(&at, tile + c * FC_POINT_TILE + v * FC_POINT_TILE / VECTORS, sizeof(at));
			for (size_t q = 0; q < count; q++)
				sum[q][v] += (at - x[q * d + c]) * (at - x[q * d + c]);
		}
	for (size_t q = 0; q < count; q++)
		memcpy(squared + q * stride, sum[q], sizeof(sum[q]));
}

FC_CLONES
void
fc_point_distances(const fc_point_tiles *points, const double *x, size_t count,
				   double *squared)
{
	size_t		d = points->d;
	size_t		stride = fc_point_lanes(points->n);

	for (size_t i = 0; i < points->n; i += FC_POINT_TILE)
	{
		const double *tile = points->x + i * d;
		size_t		q = 0;

		for (; q + TOGETHER <= count; q += TOGETHER)
			distances_to_tile(tile, d, x + q * d, TOGETHER, squared + q * stride + i, stride);
		for (; q < count; q++)
			distances_to_tile(tile, d, x + q * d, 1, squared + q * stride + i, stride);
	}
}
