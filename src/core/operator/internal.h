/*
 * internal.h - shared by the files of an operator: scores of a row, rows of
 * the product, rounding bounds, rearranged factors.
 *
 * One row: 16 rows of a factor at a time, entry by entry ("sliced ELLPACK"),
 * so that lanes are rows and sums need no folding. Rows are cut and sorted by
 * length, so that padding is small. This form is made from the bytes once per
 * query; otherwise factors are applied row by row.
 *
 * Blocks: FC_BLOCK_ROWS rows stored coordinate by coordinate, so that an entry
 * of a factor meets a contiguous run. In double, FC_BLOCK8 vectors go
 * coordinate by coordinate; a single vector goes through the same operations
 * in the same order as in a block, and gives the same bits.
 */
#ifndef FC_OPERATOR_INTERNAL_H
#define FC_OPERATOR_INTERNAL_H

#include "operator/operator.h"

/* Computes y = A x for compressed rows. */
void		fc_sparse_apply(const fc_factor *a, const float *x, float *y);

/* Lengths of a row that are known once it has been multiplied. */
typedef struct fc_scored
{
	double		square;			/* ||x - o||^2 */
	double		inner;			/* ||y_Q||^2, the output of the last factor if
								 * there are several */

	/*
	 * square of the bound of rounding inside the factors: sum of (error_q
	 * ||y_(q+1)||)^2
	 */
	double		variance;
} fc_scored;

/*
 * Computes the scores ||v_j||^2 / 2 - v_j . (x - o) of a product through its
 * factors, in double. Returns their address in the scratch, behind the room
 * for rows of the product.
 */
const double *fc_operator_score_double(const fc_operator *op, const double *x,
									   float *scratch);

/*
 * Computes V (x - o) into the scratch, behind the d floats of the shifted row.
 */
fc_scored
			fc_operator_score(const fc_operator *op, const double *x, float *scratch);

/*
 * Computes the same products from a shifted row at the start of the scratch;
 * square is its squared length.
 */
fc_scored
			fc_operator_score_shifted(const fc_operator *op, double square, float *scratch);

/* Returns true for a codebook without exact centroids. */
static inline bool
fc_operator_is_plain(const fc_operator *op)
{
	return fc_operator_is_codebook(op) && op->exact.values == NULL;
}

/*
 * Returns the operator that decides labels: op itself, or the codebook of
 * exact centroids, built in *book, if all of these are compared.
 */
const fc_operator *fc_operator_deciding(const fc_operator *op, fc_operator *book);

/* Returns the floats of scratch that n rows need for op->pruning. */
size_t		fc_operator_pruned_scratch(const fc_operator *op, size_t n);

/*
 * Returns the length of the longest vector between two factors, or at either
 * end of a product.
 */
size_t		fc_operator_widest(const fc_operator *op);

/* ---- rounding bounds, derived in rounding_bounds.c ---- */

/*
 * Returns a bound of |rounded - exact| for any score of a row; INFINITY where
 * floats overflow.
 */
double		fc_operator_rounding(const fc_operator *op, fc_scored scored);

/*
 * Returns the same bound for a codebook whose rows are no longer than
 * max_row_norm, summed in any order.
 */
double		fc_codebook_rounding(size_t d, double max_row_norm, double length);

/* Returns ||offset||; 0 for NULL. */
double		fc_offset_length(const double *offset, size_t d);

/* ---- factors in slices and blocks ---- */

#define FC_SLICE	16			/* rows per slice */
#define FC_BLOCK_ROWS	32		/* rows per block */

typedef struct fc_sell
{
	size_t		rows;			/* rows; 0: the factor is applied as stored */

	/*
	 * first entry of each slice in units of FC_SLICE, and the end: (rows +
	 * added) / FC_SLICE rounded up, + 1
	 */
	const uint32_t *start;
	const float *values;
	const uint64_t *columns;	/* four 16-bit columns per word, lowest first */
	size_t		added;			/* lanes behind the rows: further pieces of
								 * long rows */
	const uint32_t *target;		/* added: the lane that each piece is added to */
	/* rows: row number of each lane; NULL if results stay in lane order */
	const uint32_t *order;
} fc_sell;

struct fc_operator_sell
{
	fc_sell		factor[FC_MAX_FACTORS];
};

/*
 * Computes y = A x; returns ||y||^2. Room: rows + added floats, y itself if
 * a->order is NULL.
 */
float		fc_sell_apply(const fc_sell *a, const float *x, float *y, float *room);

/*
 * Copies 8 rows to lanes first .. first + 7 of a block: out[c * FC_BLOCK_ROWS
 * + r] = rows[r * columns + c].
 */
void		fc_block_fill(const float *rows, size_t columns, size_t first, float *out);

/*
 * Copies a block back to rows: out[r * rows + c] = block[c * FC_BLOCK_ROWS +
 * r].
 */
void		fc_block_empty(const float *block, size_t rows, float *out);

/*
 * Computes y (rows x FC_BLOCK_ROWS) = A x (columns x FC_BLOCK_ROWS); squares
 * (FC_BLOCK_ROWS, or NULL) receive ||y||^2 per lane.
 */
void
			fc_block_apply(const fc_factor *a, const float *x, float *y, float *squares);

/*
 * Computes A x and keeps only the two lowest half_norms[j] - y_j and the j of
 * the lowest; FC_BLOCK_ROWS values each.
 */
void
			fc_block_lowest(const fc_factor *a, const float *half_norms, const float *x,
							float *lowest, float *second, int32_t *label);

/* ---- products in double ---- */

#define FC_BLOCK8	8

/* Computes y (rows x FC_BLOCK8) = F x (columns x FC_BLOCK8). */
void		fc_block8_apply(const fc_factor *factor, const double *x, double *y);

/* Computes y (columns x FC_BLOCK8) = x' F for x of rows x FC_BLOCK8. */
void		fc_block8_apply_left(const fc_factor *factor, const double *x, double *y);

/* Compute the same products for one vector. */
void		fc_single_apply(const fc_factor *factor, const double *x, double *y);
void		fc_single_apply_left(const fc_factor *factor, const double *x, double *y);

/*
 * Arrays for FC_BLOCK8 rows at a time, inside a scratch of fc_operator_scratch
 * floats.
 */
typedef struct fc_operator_block8
{
	double	   *block;			/* two buffers of widest x FC_BLOCK8 */
	double	   *weights[FC_MAX_FACTORS];	/* per factor, one double for each
											 * of its rows */
	float	   *rows;			/* FC_BLOCK8 x d: rows of the product */
} fc_operator_block8;

fc_operator_block8
			fc_operator_block8_work(const fc_operator *op, float *scratch);

/*
 * Computes rows (count x d, count <= FC_BLOCK8) = rows first .. of the
 * product. weights may be NULL; otherwise weights[f] has one value per row of
 * factor f > 0, and sums[f][lane] = sum_r weights[f][r] p_r^2, p row first +
 * lane of F_0 .. F_(f - 1).
 */
void		fc_operator_rows(const fc_operator *op, size_t first, size_t count,
							 double *const *weights, float *scratch,
							 double (*sums)[FC_BLOCK8], float *rows);

#endif							/* FC_OPERATOR_INTERNAL_H */
