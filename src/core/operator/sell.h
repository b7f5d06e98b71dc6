/*
 * sell.h - sparse factors arranged for products with one row or with a block of rows.
 *
 * One row: 16 rows of a factor at a time, entry by entry ("sliced ELLPACK"), so that lanes
 * are rows and no sum is folded; rows cut and sorted by length, so that little is padded.  It is
 * made once per query from the bytes; without one, factors are applied row by row.
 *
 * Blocks: FC_BLOCK_ROWS rows stored coordinate by coordinate, so that an entry of a factor meets
 * a contiguous run.
 */
#ifndef FC_OPERATOR_SELL_H
#define FC_OPERATOR_SELL_H

#include "operator/operator.h"

#define FC_SLICE	16			/* rows of a slice */
#define FC_BLOCK_ROWS	32			/* rows of a block */

typedef struct fc_sell
{
	size_t		rows;			/* 0: the factor is applied as it is stored */
	const uint32_t *start;		/* (rows + added) / FC_SLICE rounded up, + 1: in units of FC_SLICE entries */
	const float *values;
	const uint64_t *columns;	/* four columns of 16 bits a word, lowest first */
	size_t		added;			/* lanes behind the rows, pieces of long ones */
	const uint32_t *target;		/* added: the lane each belongs to */
	const uint32_t *order;		/* rows: which row a lane is; NULL: they stay in the order of the lanes */
} fc_sell;

struct fc_operator_sell
{
	fc_sell		factor[FC_MAX_FACTORS];
};

/* y = A x; returns ||y||^2.  Room: rows + added floats, y itself when a->order is NULL. */
float		fc_sell_apply(const fc_sell *a, const float *x, float *y, float *room);

/* out[c * FC_BLOCK_ROWS + r] = rows[r * columns + c] for 8 rows, at lanes first .. first + 7 of a block. */
void		fc_block_fill(const float *rows, size_t columns, size_t first, float *out);

/* out[r * rows + c] = block[c * FC_BLOCK_ROWS + r]: back to rows. */
void		fc_block_empty(const float *block, size_t rows, float *out);

/* y (rows blocks) = A x (columns blocks); squares (FC_BLOCK_ROWS, or NULL) are ||y||^2 of each lane. */
void		fc_block_apply(const fc_factor *a, const float *x, float *y, float *squares);

/* The same, of which only the two lowest half_norms[j] - y_j and the j of the lowest are kept; FC_BLOCK_ROWS each. */
void		fc_block_lowest(const fc_factor *a, const float *half_norms, const float *x,
							float *lowest, float *second, int32_t *label);

#endif							/* FC_OPERATOR_SELL_H */
