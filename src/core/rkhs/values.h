/*
 * values.h - the elementwise part of kernel blocks: dot products become
 * values, in place; one row against many.
 */
#ifndef FC_RKHS_VALUES_H
#define FC_RKHS_VALUES_H

#include "base/fc.h"

/*
 * values = (values + coef0)^degree, degree >= 1; returns the sum of their
 * squares.
 */
double		fc_power_values(float *values, size_t count, int degree, float coef0);

/*
 * values = exp(values - left - right[i]), relative error 2e-7, at least
 * exp(-87); the exponent is taken as <= 0.
 */
double		fc_exponential_values(float *values, size_t count, float left,
								  const float *right);

/*
 * distances[j] = ||x - offset - v_j||^2 (offset NULL is 0), dots[j] = <x,
 * v_j>, in double, for the k rows of v (k x d).
 */
void		fc_row_distances(const double *x, const double *offset, const float *v,
							 size_t k, size_t d, double *distances);
void
			fc_row_dots(const double *x, const float *v, size_t k, size_t d, double *dots);

/*
 * y = matrix x (rows x columns, by rows): without BLAS, so that new rows get
 * their features without loading it.
 */
void		fc_matrix_apply(const double *matrix, size_t rows, size_t columns,
							const double *x, double *y);

#endif							/* FC_RKHS_VALUES_H */
