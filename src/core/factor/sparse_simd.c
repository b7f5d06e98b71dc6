/*
 * sparse_simd.c - a sparse matrix times a tile: FC_TILE_COLUMNS sums stay in registers while
 * the non-zeros of a row pass by, each a multiple of one contiguous row of the tile.
 */
#include "factor/sparse.h"

#include "base/simd.h"

#define LANES	(FC_VECTOR_BYTES / 8)
#define PARTS	(FC_TILE_COLUMNS / LANES)

typedef double vdouble __attribute__((vector_size(FC_VECTOR_BYTES), aligned(8), may_alias));

FC_CLONES
void
fc_sparse_tile(const fc_sparse *a, const double *x, double *y)
{
	for (size_t r = 0; r < a->rows; r++)
	{
		vdouble		sum[PARTS] = {{0}};

		for (size_t p = a->row_start[r]; p < a->row_start[r + 1]; p++)
		{
			const double *from = x + (size_t) a->column[p] * FC_TILE_COLUMNS;
			double		value = a->value[p];

			for (size_t i = 0; i < PARTS; i++)
				sum[i] += *(const vdouble *) (from + LANES * i) * value;
		}
		for (size_t i = 0; i < PARTS; i++)
			*(vdouble *) (y + r * FC_TILE_COLUMNS + LANES * i) = sum[i];
	}
}
