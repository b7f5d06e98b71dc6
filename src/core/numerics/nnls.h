/*
 * nnls.h - non-negative least squares on the normal equations.
 *
 *     min over x >= 0 of  x' G x / 2 - b' x,   G symmetric positive definite
 */
#ifndef FC_NUMERICS_NNLS_H
#define FC_NUMERICS_NNLS_H

#include "base/fc.h"

/* Bytes fc_nnls takes from its arena at most. */

/*
 * gram is count x count with leading dimension stride >= count, rhs is count.
 * start marks the variables to try first as positive, NULL means all.
 * The optimum satisfies x >= 0, G x - b >= 0, x'(G x - b) = 0 to rounding.
 * FC_ENUMERIC when G is not positive definite even with a small ridge.
 */
fc_status	fc_nnls(const double *gram, size_t stride, const double *rhs, size_t count,
					const bool *start, fc_arena *arena, double *x);

#endif							/* FC_NUMERICS_NNLS_H */
