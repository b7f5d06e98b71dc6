/*
 * values.h - the elementwise part of kernel blocks, which turns dot products
 * into kernel values in place; distances and dot products of one row with many
 * rows.
 */
#ifndef FC_RKHS_VALUES_H
#define FC_RKHS_VALUES_H

#include "base/fc.h"

/*
 * Sets values[i] = (values[i] + coef0)^degree, degree >= 1. Returns the sum of
 * their squares.
 */
double		fc_power_values(float *values, size_t count, int degree, float coef0);

/*
 * Sets values[i] = exp(values[i] - left - right[i]) with a relative error of
 * 2e-7. The exponent is clamped to -87 .. 0. Returns the sum of their squares.
 */
double		fc_exponential_values(float *values, size_t count, float left,
								  const float *right);

/*
 * fc_row_distances sets distances[j] = ||x - offset - v_j||^2 (offset NULL
 * means 0); fc_row_dots sets dots[j] = <x, v_j>. v_j are the k rows of v (k x
 * d); sums are in double precision.
 */
void		fc_row_distances(const double *x, const double *offset, const float *v,
							 size_t k, size_t d, double *distances);
void		fc_row_dots(const double *x, const float *v, size_t k, size_t d, double *dots);

/*
 * Sets y = matrix x (rows x columns, row-major). It does not use BLAS, so that
 * BLAS is not loaded to compute features of new rows.
 */
void		fc_matrix_apply(const double *matrix, size_t rows, size_t columns,
							const double *x, double *y);

#endif							/* FC_RKHS_VALUES_H */
