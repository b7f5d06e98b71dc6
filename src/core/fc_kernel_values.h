/*
 * fc_kernel_values.h - the elementwise part of kernel blocks: dot products become values, in place.
 */
#ifndef FC_KERNEL_VALUES_H
#define FC_KERNEL_VALUES_H

#include "fc.h"

/* values = (values + coef0)^degree, degree >= 1; returns the sum of their squares. */
double		fc_power_values(float *values, size_t count, int degree, float coef0);

/* values = exp(values - left - right[i]), relative error 2e-7, at least exp(-87); the exponent is taken as <= 0. */
double		fc_exponential_values(float *values, size_t count, float left, const float *right);

/* to += from, converted. */
void		fc_add_floats(const float *from, size_t count, double *to);

#endif							/* FC_KERNEL_VALUES_H */
