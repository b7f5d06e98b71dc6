/* fc_operator_kernel.h - the two inner loops of dense operators; see fc_operator_kernel.c */
#ifndef FC_OPERATOR_KERNEL_H
#define FC_OPERATOR_KERNEL_H

#include <stddef.h>

/* y (rows) = A x for row-major A without gaps.  The order of sums depends on columns alone. */
void		fc_dense_rows(const float *a, size_t rows, size_t columns, const float *x, float *y);

/* sum_i (x_i - o_i - v_i)^2 in double; o may be NULL. */
double		fc_squared_distance(const double *x, const double *o, const float *v, size_t d);

#endif							/* FC_OPERATOR_KERNEL_H */
