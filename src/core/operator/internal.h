/* internal.h - what the files of an operator share: scores of a row, rows of the product, bounds of rounding. */
#ifndef FC_OPERATOR_INTERNAL_H
#define FC_OPERATOR_INTERNAL_H

#include "operator/operator.h"

/* y = A x for compressed rows. */
void		fc_sparse_apply(const fc_factor *a, const float *x, float *y);

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
size_t		fc_operator_choose(const fc_operator *op, const double *x, fc_scored scored, const float *dots, fc_scratch scratch);

/* A codebook whose rows alone tell labels. */
static inline bool
fc_operator_is_plain(const fc_operator *op)
{
	return fc_operator_is_codebook(op) && op->exact.values == NULL;
}

/* Labels of rows (n x d), at most FC_SCREEN_ROWS of them, by op->screen; -1 where another way is better.  Scratch: fc_operator_screened_scratch. */
size_t		fc_operator_screened_scratch(const fc_operator *op, size_t n);
void		fc_operator_assign_screened(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels);

/* The longest vector between two factors, or at either end of a product. */
size_t		fc_operator_widest(const fc_operator *op);

/* ---- rounding bounds, derived in rounding.c ---- */

/* Bound of |rounded - exact| of any score of a row; INFINITY where floats overflow. */
double		fc_operator_rounding(const fc_operator *op, fc_scored scored);

/* The same for a codebook whose rows are at most max_row_norm long, summed in any order. */
double		fc_codebook_rounding(size_t d, double max_row_norm, double length);

#endif							/* FC_OPERATOR_INTERNAL_H */
