/*
 * internal.h - shared by the files of an operator: scores of a row, rows of
 * the product, bounds of rounding, factors arranged.
 *
 * One row: 16 rows of a factor at a time, entry by entry ("sliced ELLPACK"),
 * so that lanes are rows and no sum is folded; rows cut and sorted by length,
 * so that little is padded. It is made once per query from the bytes; without
 * one, factors are applied row by row.
 *
 * Blocks: FC_BLOCK_ROWS rows stored coordinate by coordinate, so that an entry
 * of a factor meets a contiguous run. In double, FC_BLOCK8 vectors go
 * coordinate by coordinate; a vector alone goes through the same operations in
 * the same order as in a block: the same bits.
 */
#ifndef FC_OPERATOR_INTERNAL_H
#define FC_OPERATOR_INTERNAL_H

#include "operator/operator.h"

/* y = A x for compressed rows. */
void		fc_sparse_apply(const fc_factor *a, const float *x, float *y);

/* The lengths of a row, known once it has been multiplied. */
typedef struct fc_scored
{
	double		square;			/* ||x - o||^2 */
	double		inner;			/* ||y_Q||^2, behind the last factor when
								 * there are several */

	/*
	 * square of the bound of the rounding inside the factors: sum of (error_q
	 * ||y_(q+1)||)^2
	 */
	double		variance;
} fc_scored;

/*
 * Scores ||v_j||^2 / 2 - v_j . (x - o) of a product by its factors in double;
 * in the scratch, behind the room for rows of the product.
 */
const double *fc_operator_score_double(const fc_operator *op, const double *x,
									   float *scratch);

/* V (x - o) behind the d floats of the shifted row in the scratch. */
fc_scored
			fc_operator_score(const fc_operator *op, const double *x, float *scratch);

/*
 * The same where the row lies there already, and square is that of its length.
 */
fc_scored
			fc_operator_score_shifted(const fc_operator *op, double square, float *scratch);

/* A codebook whose rows alone tell labels. */
static inline bool
fc_operator_is_plain(const fc_operator *op)
{
	return fc_operator_is_codebook(op) && op->exact.values == NULL;
}

/*
 * The operator that labels come from: itself, or the codebook of exact
 * centroids that are all compared, which is made in *book.
 */
const fc_operator *fc_operator_deciding(const fc_operator *op, fc_operator *book);

/* Floats with which n rows go through op->screen. */
size_t		fc_operator_screened_scratch(const fc_operator *op, size_t n);

/* The longest vector between two factors, or at either end of a product. */
size_t		fc_operator_widest(const fc_operator *op);

/* ---- rounding bounds, derived in rounding_bounds.c ---- */

/*
 * Bound of |rounded - exact| of any score of a row; INFINITY where floats
 * overflow.
 */
double		fc_operator_rounding(const fc_operator *op, fc_scored scored);

/*
 * The same for a codebook whose rows are at most max_row_norm long, summed in
 * any order.
 */
double		fc_codebook_rounding(size_t d, double max_row_norm, double length);

/* ||offset||, NULL for 0. */
double		fc_offset_length(const double *offset, size_t d);

/* ---- factors in slices and blocks ---- */

#define FC_SLICE	16			/* rows of a slice */
#define FC_BLOCK_ROWS	32		/* rows of a block */

typedef struct fc_sell
{
	size_t		rows;			/* 0: the factor is applied as it is stored */
	/* (rows + added) / FC_SLICE rounded up, + 1: in units of FC_SLICE entries */
	const uint32_t *start;
	const float *values;
	const uint64_t *columns;	/* four columns of 16 bits a word, lowest
								 * first */
	size_t		added;			/* lanes behind the rows, pieces of long ones */
	const uint32_t *target;		/* added: the lane each belongs to */
	/* rows: which row a lane is; NULL: they stay in the order of the lanes */
	const uint32_t *order;
} fc_sell;

struct fc_operator_sell
{
	fc_sell		factor[FC_MAX_FACTORS];
};

/*
 * y = A x; returns ||y||^2. Room: rows + added floats, y itself when a->order
 * is NULL.
 */
float		fc_sell_apply(const fc_sell *a, const float *x, float *y, float *room);

/*
 * out[c * FC_BLOCK_ROWS + r] = rows[r * columns + c] for 8 rows, at lanes
 * first .. first + 7 of a block.
 */
void		fc_block_fill(const float *rows, size_t columns, size_t first, float *out);

/* out[r * rows + c] = block[c * FC_BLOCK_ROWS + r]: back to rows. */
void		fc_block_empty(const float *block, size_t rows, float *out);

/*
 * y (rows blocks) = A x (columns blocks); squares (FC_BLOCK_ROWS, or NULL) are
 * ||y||^2 of each lane.
 */
void
			fc_block_apply(const fc_factor *a, const float *x, float *y, float *squares);

/*
 * The same, of which only the two lowest half_norms[j] - y_j and the j of the
 * lowest are kept; FC_BLOCK_ROWS each.
 */
void
			fc_block_lowest(const fc_factor *a, const float *half_norms, const float *x,
							float *lowest, float *second, int32_t *label);

/* ---- products in double ---- */

#define FC_BLOCK8	8

/* y (rows x FC_BLOCK8) = F x (columns x FC_BLOCK8). */
void		fc_block8_apply(const fc_factor *factor, const double *x, double *y);

/* y (columns x FC_BLOCK8) = x' F for x of rows x FC_BLOCK8. */
void		fc_block8_apply_left(const fc_factor *factor, const double *x, double *y);

/* The same for one vector. */
void		fc_single_apply(const fc_factor *factor, const double *x, double *y);
void		fc_single_apply_left(const fc_factor *factor, const double *x, double *y);

/*
 * Where FC_BLOCK8 rows are worked on in a scratch of fc_operator_scratch
 * floats.
 */
typedef struct fc_operator_block8
{
	double	   *block;			/* 2 x widest x FC_BLOCK8 */
	double	   *weights[FC_MAX_FACTORS];	/* a double for each row of each
											 * factor */
	float	   *rows;			/* FC_BLOCK8 x d */
} fc_operator_block8;

fc_operator_block8
			fc_operator_block8_work(const fc_operator *op, float *scratch);

/*
 * rows (count x d, count <= FC_BLOCK8) = rows first .. of the product.
 * weights, or NULL: for each factor f > 0 one value a row of it; sums[f][lane]
 * = sum_r weights[f][r] p_r^2 then, p row first + lane of F_0 .. F_(f - 1).
 */
void		fc_operator_rows(const fc_operator *op, size_t first, size_t count,
							 double *const *weights, float *scratch,
							 double (*sums)[FC_BLOCK8], float *rows);

#endif							/* FC_OPERATOR_INTERNAL_H */
