/*
 * internal.h - declarations shared by the files of core/operator: scores of a
 * row, rows of the product, rounding bounds, rearranged factors.
 *
 * Slices ("sliced ELLPACK"): 16 rows of a sparse factor are stored together,
 * entry by entry, and multiplied with one vector at a time. Each lane of a
 * vector register belongs to another row of the factor, so lanes need not be
 * added up. Rows are sorted by length, and long rows are cut, so that padding
 * is small. Slices are made from the bytes once per query; otherwise factors
 * are applied row by row.
 *
 * Blocks: FC_BLOCK_ROWS rows of data are stored coordinate by coordinate, so
 * that an entry of a factor is multiplied by contiguous values. Blocks in
 * double have FC_BLOCK8 vectors. The product of a single vector in double
 * takes the same operations in the same order as in a block, and gives the
 * same bits.
 */
#ifndef FC_OPERATOR_INTERNAL_H
#define FC_OPERATOR_INTERNAL_H

#include "operator/operator.h"

#define SMALLEST_SQUARE	1e-30	/* smallest square that a float represents
								 * precisely */

/* Computes y = A x for a sparse factor. */
void		fc_sparse_apply(const fc_factor *a, const float *x, float *y);

/*
 * Squared lengths that are known once a row has been multiplied by the
 * factors.
 */
typedef struct fc_scored
{
	double		square;			/* ||x - o||^2 */
	double		inner;			/* squared length of the output of the last
								 * factor, if there are several factors */

	/*
	 * square of the rounding bound inside the factors: sum over the factors q
	 * of (error_q * ||input of factor q||)^2
	 */
	double		variance;
} fc_scored;

/*
 * Computes the scores ||v_j||^2 / 2 - v_j . (x - o) of a product through its
 * factors, in double. Returns their address inside the scratch space.
 */
const double *fc_operator_score_double(const fc_operator *op, const double *x,
									   float *scratch);

/*
 * Computes V (x - o), and stores it in the scratch space after the d floats of
 * the shifted row x - o. Returns the squared lengths.
 */
fc_scored	fc_operator_score(const fc_operator *op, const double *x, float *scratch);

/*
 * Computes V (x - o) like fc_operator_score, but from a shifted row x - o that
 * is already at the start of the scratch space; square is ||x - o||^2.
 */
fc_scored	fc_operator_score_shifted(const fc_operator *op, double square, float *scratch);

/* Returns true for a codebook without exact centroids. */
static inline bool
fc_operator_is_plain(const fc_operator *op)
{
	return fc_operator_is_codebook(op) && op->exact.values == NULL;
}

/*
 * Returns the operator that decides labels: op itself, or the codebook of the
 * exact centroids, built in *book, if op->exact.rerank is FC_RERANK_EXACT.
 */
const fc_operator *fc_operator_deciding(const fc_operator *op, fc_operator *book);

/*
 * Returns the number of floats of scratch space that op->pruning needs for n
 * rows.
 */
size_t		fc_operator_pruned_scratch(const fc_operator *op, size_t n);

/*
 * Returns the length of the longest vector that a factor takes as its input.
 */
size_t		fc_operator_widest(const fc_operator *op);

/* ---- rounding bounds, derived in rounding_bounds.c ---- */

/*
 * Returns an upper bound on |rounded - exact| for any score of a row; INFINITY
 * if floats may overflow.
 */
double		fc_operator_rounding(const fc_operator *op, fc_scored scored);

/*
 * Returns an upper bound on |rounded - exact| for any score of a row x, where
 * length is ||x - o||, for a codebook whose rows are no longer than
 * max_row_norm. Sums may be taken in any order.
 */
double		fc_codebook_rounding(size_t d, double max_row_norm, double length);

/* Returns ||offset||; 0 for NULL. */
double		fc_offset_length(const double *offset, size_t d);

/* ---- factors in slices and blocks ---- */

/*
 * Number of lanes in a slice; each holds a row of the factor, or a piece of a
 * long row.
 */
#define FC_SLICE	16

/*
 * Number of rows of data per block. A larger block shares each read of a
 * factor's entry among more rows, but does not fit in the cache. A guess.
 */
#define FC_BLOCK_ROWS	32

typedef struct fc_sell
{
	size_t		rows;			/* number of rows; 0: the factor is applied as
								 * stored */

	/*
	 * start of each slice and end of the last one, in units of FC_SLICE
	 * entries. There are (rows + added) / FC_SLICE slices, rounded up
	 */
	const uint32_t *start;
	const float *values;
	const uint64_t *columns;	/* column indices, four of 16 bits per word,
								 * lowest first */
	size_t		added;			/* number of lanes after the rows, for further
								 * pieces of long rows */
	const uint32_t *target;		/* `added` indices: lane to which each piece
								 * is added */
	/* index of the row of each lane; NULL if results stay in lane order */
	const uint32_t *order;
} fc_sell;

struct fc_operator_sell
{
	fc_sell		factor[FC_MAX_FACTORS];
};

/*
 * Computes y = A x, and returns ||y||^2. scratch has a->rows + a->added
 * floats. If a->order is NULL, scratch must be y.
 */
float		fc_sell_apply(const fc_sell *a, const float *x, float *y, float *scratch);

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
void		fc_block_apply(const fc_factor *a, const float *x, float *y, float *squares);

/*
 * Computes y = A x for FC_BLOCK_ROWS rows x, but stores for each row only its
 * two lowest scores half_norms[j] - y_j and the index j of the lowest.
 */
void		fc_block_lowest(const fc_factor *a, const float *half_norms, const float *x,
							float *lowest, float *second, int32_t *label);

/* ---- products in double ---- */

/* Number of vectors that a factor multiplies together in double. */
#define FC_BLOCK8	8

/* Computes y (rows x FC_BLOCK8) = F x (columns x FC_BLOCK8). */
void		fc_block8_apply(const fc_factor *factor, const double *x, double *y);

/* Computes y (columns x FC_BLOCK8) = x' F for x of rows x FC_BLOCK8. */
void		fc_block8_apply_left(const fc_factor *factor, const double *x, double *y);

/*
 * Compute the products of fc_block8_apply and fc_block8_apply_left for one
 * vector.
 */
void		fc_single_apply(const fc_factor *factor, const double *x, double *y);
void		fc_single_apply_left(const fc_factor *factor, const double *x, double *y);

/*
 * Arrays for FC_BLOCK8 rows at a time, inside scratch space of
 * fc_operator_scratch floats.
 */
typedef struct fc_operator_block8
{
	double	   *block;			/* two buffers of widest x FC_BLOCK8 */
	double	   *weights[FC_MAX_FACTORS];	/* one array per factor, with a
											 * double for each of its rows */
	float	   *rows;			/* FC_BLOCK8 x d: rows of the product */
} fc_operator_block8;

fc_operator_block8 fc_operator_block8_work(const fc_operator *op, float *scratch);

/*
 * Computes `count` <= FC_BLOCK8 rows of the product from `first` on, and
 * stores them in rows (count x d). If weights is not NULL, computes sums for
 * each factor f > 0. weights[f] has one value per row of the factor. Let p be
 * row first + lane of the product of the factors 0 .. f - 1. sums[f][lane]
 * receives sum_r weights[f][r] p_r^2.
 */
void		fc_operator_rows(const fc_operator *op, size_t first, size_t count,
							 double *const *weights, float *scratch,
							 double (*sums)[FC_BLOCK8], float *rows);

#endif							/* FC_OPERATOR_INTERNAL_H */
