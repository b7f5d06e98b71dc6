/*
 * sparse.h - sparse matrices in double, for training factors.
 *
 * Compressed rows that change their support in place (capacity is fixed), products with
 * tiles of FC_TILE_COLUMNS columns that stay in cache, and products with single vectors.  A tile is
 * rows x FC_TILE_COLUMNS without gaps; columns that do not exist are zero.
 */
#ifndef FC_FACTOR_SPARSE_H
#define FC_FACTOR_SPARSE_H

#include "base/fc.h"

#define FC_TILE_COLUMNS		32

typedef struct fc_sparse
{
	size_t		rows;
	size_t		columns;
	size_t		nonzeros;
	size_t		capacity;		/* entries there is room for */
	uint32_t   *row_start;		/* rows + 1 */
	uint32_t   *column;			/* rising within a row */
	double	   *value;
} fc_sparse;

/* A matrix and its transpose, kept together. */
typedef struct fc_sparse_pair
{
	fc_sparse	plain;
	fc_sparse	transposed;
} fc_sparse_pair;

/* An empty (zero) matrix, pair. */
void		fc_sparse_take(fc_arena *arena, size_t rows, size_t columns, size_t capacity, fc_sparse *a);
void		fc_sparse_pair_take(fc_arena *arena, size_t rows, size_t columns, size_t capacity, fc_sparse_pair *a);

/* to = from; same shape, capacity enough. */
void		fc_sparse_copy(const fc_sparse *from, fc_sparse *to);

/* to = from'; shape swapped, capacity enough. */
void		fc_sparse_transpose(const fc_sparse *from, fc_sparse *to);

/* Bring the transpose of a pair up to date. */
void		fc_sparse_pair_changed(fc_sparse_pair *a);

/* Ones on the diagonal; capacity at least min(rows, columns). */
void		fc_sparse_identity(fc_sparse *a);

/* a *= scale; Frobenius norm. */
void		fc_sparse_scale(fc_sparse *a, double scale);
double		fc_sparse_norm(const fc_sparse *a);

/* y (rows) = a x. */
void		fc_sparse_vector(const fc_sparse *a, const double *x, double *y);

/* ---- tiles ---- */

/* tile (rows x FC_TILE_COLUMNS) = columns first .. first + count of a matrix of that many rows, stride apart. */
void		fc_tile_columns(const double *matrix, size_t stride, size_t rows, size_t first, size_t count, double *tile);

/* tile (columns x FC_TILE_COLUMNS) = the transpose of rows first .. first + count. */
void		fc_tile_rows(const double *matrix, size_t stride, size_t columns, size_t first, size_t count, double *tile);

/* The same two backwards: tile to matrix. */
void		fc_tile_to_columns(const double *tile, size_t rows, size_t first, size_t count, double *matrix, size_t stride);
void		fc_tile_to_rows(const double *tile, size_t columns, size_t first, size_t count, double *matrix, size_t stride);

#endif							/* FC_FACTOR_SPARSE_H */
