/*
 * leading_eigen.h - the greatest eigenvalues of a symmetric matrix, and their eigenvectors.
 */
#ifndef FC_NUMERICS_LEADING_EIGEN_H
#define FC_NUMERICS_LEADING_EIGEN_H

#include "base/fc.h"

/* Orders up to this go to LAPACK whole, which cannot be interrupted; larger ones are iterated. */
#define FC_EIGEN_WHOLE	512

/* Axes carried beside the wanted ones when iterating: r is at most FC_EIGEN_WHOLE - FC_EIGEN_SPARE then. */
#define FC_EIGEN_SPARE	10

size_t		fc_leading_eigen_worksize(size_t n, size_t r);

/*
 * values (r, descending) and vectors (r x n, orthonormal rows) of the symmetric matrix a (n x n;
 * destroyed).  r <= n.  Iterated, it ends when residuals ||A u - theta u|| are below 1e-9 theta_1, or when
 * sum theta^2 (what the r pairs explain of ||A||^2) grew by less than 1e-8 of itself in a round, 100 at most:
 * in a spectrum that hardly falls, which of many equal axes are found does not matter.
 * The longest step without a check is the QR of r + 10 rows of length n: 0.2 s at r = 500, n = 10 000.
 * FC_ENUMERIC when LAPACK fails.
 */
fc_status	fc_leading_eigen(double *a, size_t n, size_t r, fc_arena *arena,
							 double *values, double *vectors);

#endif							/* FC_NUMERICS_LEADING_EIGEN_H */
