/*
 * largest.h - the largest entries of every row and of every column of a matrix that is seen
 * once, tile by tile (columns first .. in all rows): FC_LINES (constraint.h) without storing the matrix.
 */
#ifndef FC_FACTOR_LARGEST_H
#define FC_FACTOR_LARGEST_H

#include "factor/sparse.h"

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

/* Room for matrices of at most so many rows, columns, entries of a line (FC_SHORT_LIST at most). */
size_t		fc_largest_worksize(size_t rows, size_t columns, size_t per_line);
void		fc_largest_take(fc_arena *arena, size_t rows, size_t columns, size_t per_line, fc_largest *lists);

/* Before the first tile of a matrix. */
void		fc_largest_start(fc_largest *lists, size_t rows, size_t columns, size_t per_row, size_t per_column);

/* Columns first .. first + count (at most FC_TILE_COLUMNS), in rising order: a tile of `rows` rows. */
void		fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows, size_t first, size_t count);

/* The union of the lists, after the last tile; a has the shape of the matrix and room for all. */
void		fc_largest_gather(const fc_largest *lists, fc_sparse *a);

#endif							/* FC_FACTOR_LARGEST_H */
