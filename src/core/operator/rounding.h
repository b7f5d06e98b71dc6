/* rounding.h - what the bounds of rounding are made of, for whoever builds or checks an operator */
#ifndef FC_OPERATOR_ROUNDING_H
#define FC_OPERATOR_ROUNDING_H

#include "operator/block8.h"
#include "operator/internal.h"

/* A bound of the spectral norm of |F|; sums is scratch, a float a column. */
double		fc_magnitude_norm(const fc_factor *factor, float *sums);

/* block8->weights of a product of several factors: sum_r weights[f][r] p_r^2 measures the rounding in factor f that reaches row p of the factors before. */
void		fc_rounding_weights(const fc_operator *op, const fc_operator_block8 *block8, float *scratch);

/* A factor's error from the most its rounding measures; for a codebook, from the length of its longest row. */
double		fc_factor_error(const fc_operator *op, double most);

/* op's max_row_norm, error_relative, error_absolute and max_growth; max_row_norm is the length of the longest row of the product. */
void		fc_rounding_bounds(fc_operator *op, double max_row_norm, float *scratch);

/* ||offset||, NULL for 0. */
double		fc_offset_length(const double *offset, size_t d);

#endif							/* FC_OPERATOR_ROUNDING_H */
