/*
 * internal.h - the inner loops of an operator at work on one row or a tile.
 *
 * A dot product is summed in 16 lanes, coordinate i in lane i mod 16, by fused multiply-add
 * where the machine has it: its bits depend on the two vectors alone, not on the place
 * of the row in the matrix.
 */
#ifndef FC_OPERATOR_INTERNAL_H
#define FC_OPERATOR_INTERNAL_H

#include "operator/operator.h"

/* y = A x; A is rows x columns without gaps. */
void		fc_dense_apply(const float *a, size_t rows, size_t columns, const float *x, float *y);

/* y = A x for compressed rows. */
void		fc_sparse_apply(const fc_factor *a, const float *x, float *y);

/* y += scale * x, n values. */
void		fc_axpy(double scale, const float *x, size_t n, double *y);

/* sum of x^2 in float. */
float		fc_float_square(const float *x, size_t n);

/* out = x - offset rounded to float (offset NULL is 0); returns ||out||^2 in double. */
double		fc_shift_row(const double *x, const double *offset, size_t d, float *out);

/* ||x - offset - v||^2 in double. */
double		fc_row_distance(const double *x, const double *offset, const float *v, size_t d);

/* ||x - y||; squares that overflow or vanish are taken again to scale. */
double		fc_length_between(const double *x, const double *y, size_t d);

/* The smallest and second smallest of half_norms[j] - dots[j], continued; label is first + j of the smallest. */
void		fc_two_lowest(const float *dots, const float *half_norms, size_t count, size_t first,
						  float *lowest, float *second, int32_t *label);

/*
 * How many of half_norms[j] - dots[j] are at most bound above the lowest (not above it, for
 * NaN)?  When it is one, label is its number; lowest is always set.
 */
size_t		fc_count_lowest(const float *dots, const float *half_norms, size_t count, double bound,
							float *lowest, int32_t *label);

/* What is known of a row once it has been multiplied. */
typedef struct fc_scored
{
	double		square;			/* ||x - o||^2 */
	double		inner;			/* ||y_Q||^2, behind the last factor when there are several */
	double		variance;		/* square of the bound of the rounding inside the factors: sum of (error_q ||y_(q+1)||)^2 */
} fc_scored;

/* Scores ||v_j||^2 / 2 - v_j . (x - o) of a product by its factors in double; in the scratch, behind what rows of the product take. */
const double *fc_operator_score_double(const fc_operator *op, const double *x, float *scratch);

/* V (x - o) behind the d floats of the shifted row in the scratch. */
fc_scored	fc_operator_score(const fc_operator *op, const double *x, float *scratch);

/* The label of a row with dots = V (x - o), however rounded; dots may lie in the scratch. */
size_t		fc_operator_choose(const fc_operator *op, const double *x, fc_scored scored, const float *dots, float *scratch);

/* v_j, d floats: in the operator itself when it has one dense factor, else at the scratch's end. */
const float *fc_operator_product_row(const fc_operator *op, size_t j, float *scratch);

/* The longest vector between two factors, or at either end of a product. */
size_t		fc_operator_widest(const fc_operator *op);

static inline bool
fc_operator_is_codebook(const fc_operator *op)
{
	return op->factors == 1 && op->factor[0].row_start == NULL;
}

/* ---- rounding bounds, derived in rounding.c ---- */

/* Bound of |rounded - exact| of any score of a row; INFINITY where floats overflow. */
double		fc_operator_rounding(const fc_operator *op, fc_scored scored);

/* The same for a codebook whose rows are at most reach long, summed in any order. */
double		fc_codebook_rounding(size_t d, double reach, double length);

#endif							/* FC_OPERATOR_INTERNAL_H */
