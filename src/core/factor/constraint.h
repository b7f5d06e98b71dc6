/*
 * constraint.h - the set sparse factors are held to, and the projection on it: the union of the largest entries of every row
 * and of every column ("splincol"), at unit Frobenius norm (a separate lambda carries the scale).
 */
#ifndef FC_FACTOR_CONSTRAINT_H
#define FC_FACTOR_CONSTRAINT_H

#include "factor/sparse.h"

typedef struct fc_constraint
{
	size_t		per_row;		/* at least this many of a row, of a column */
	size_t		per_column;
} fc_constraint;

/* Entries a matrix within the set can have. */
size_t		fc_constraint_capacity(const fc_constraint *constraint, size_t rows, size_t columns);

/*
 * a = the entries of dense (rows x columns of a) that the constraint keeps; of all, the `total` largest.
 * Of equal magnitudes the lowest column of a row, the lowest row of a column, the lowest place of all is kept.  Zeros are
 * not stored.
 */
void		fc_constraint_project(const fc_constraint *constraint, const double *dense, fc_arena *arena, fc_sparse *a);
void		fc_largest_of_all(const double *dense, size_t total, fc_arena *arena, fc_sparse *a);

/* ---- the same of a matrix that is seen once, tile by tile (columns first .. in all rows), without storing it ---- */

#define FC_SHORT_LIST	16		/* entries of a list kept by insertion */

typedef struct fc_entry
{
	double		value;
	uint32_t	place;
} fc_entry;

typedef struct fc_largest
{
	size_t		per_row;		/* 0: not in use */
	size_t		per_column;
	fc_entry   *in_row;			/* rows x per_row, falling; values of 0 where there is none */
	fc_entry   *in_column;		/* columns x per_column */
	double	   *least;			/* rows: the size of the last entry */
	fc_entry   *bucket;			/* columns x per_column */
	uint32_t   *start;			/* rows + 1 */
} fc_largest;

/* Room for matrices of at most so many rows and columns, with lists of FC_SHORT_LIST. */
void		fc_largest_take(fc_arena *arena, size_t rows, size_t columns, fc_largest *lists);

/* Before the first tile of a matrix. */
void		fc_largest_start(fc_largest *lists, size_t rows, size_t columns, size_t per_row, size_t per_column);

/* Columns first .. first + count (at most FC_TILE_COLUMNS), in rising order: a tile of `rows` rows (palm_simd.c). */
void		fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows, size_t first, size_t count);

/* The union of the lists, after the last tile; a has the shape of the matrix and room for all. */
void		fc_largest_gather(const fc_largest *lists, fc_sparse *a);

#endif							/* FC_FACTOR_CONSTRAINT_H */
