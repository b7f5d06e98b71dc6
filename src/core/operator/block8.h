/*
 * block8.h - products of factors in double, for FC_BLOCK8 vectors at a time or one.
 *
 * A block holds FC_BLOCK8 vectors coordinate by coordinate.  A vector alone goes through the same
 * operations in the same order as in a block: the same bits.
 */
#ifndef FC_OPERATOR_BLOCK8_H
#define FC_OPERATOR_BLOCK8_H

#include "operator/operator.h"

#define FC_BLOCK8	8

/* y (rows x FC_BLOCK8) = F x (columns x FC_BLOCK8). */
void		fc_block8_apply(const fc_factor *factor, const double *x, double *y);

/* y (columns x FC_BLOCK8) = x' F for x of rows x FC_BLOCK8. */
void		fc_block8_apply_left(const fc_factor *factor, const double *x, double *y);

/* The same for one vector. */
void		fc_single_apply(const fc_factor *factor, const double *x, double *y);
void		fc_single_apply_left(const fc_factor *factor, const double *x, double *y);

/* Where FC_BLOCK8 rows are worked on in a scratch of fc_operator_scratch floats. */
typedef struct fc_operator_block8
{
	double	   *block;			/* 2 x widest x FC_BLOCK8 */
	double	   *weights[FC_MAX_FACTORS];	/* a double for each row of each factor */
	float	   *rows;			/* FC_BLOCK8 x d */
} fc_operator_block8;

fc_operator_block8 fc_operator_block8_work(const fc_operator *op, float *scratch);

/*
 * rows (count x d, count <= FC_BLOCK8) = rows first .. of the product.  weights, or NULL: for each factor f > 0
 * one value a row of it; sums[f][lane] = sum_r weights[f][r] p_r^2 then, p row first + lane of F_0 .. F_(f - 1).
 */
void		fc_operator_rows(const fc_operator *op, size_t first, size_t count, double *const *weights, float *scratch,
							 double (*sums)[FC_BLOCK8], float *rows);

#endif							/* FC_OPERATOR_BLOCK8_H */
