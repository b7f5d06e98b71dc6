/*
 * fc_leading_eigen.h - the greatest eigenvalues of a symmetric matrix, and their eigenvectors.
 */
#ifndef FC_LEADING_EIGEN_H
#define FC_LEADING_EIGEN_H

#include "fc.h"

/* Orders up to this go to LAPACK whole, which cannot be interrupted; larger ones are iterated. */
#define FC_EIGEN_WHOLE	512

/* Axes carried beside the wanted ones when iterating: r is at most FC_EIGEN_WHOLE - FC_EIGEN_SPARE then. */
#define FC_EIGEN_SPARE	10

size_t		fc_leading_eigen_worksize(size_t n, size_t r);

/*
 * values (r, descending) and vectors (r x n, orthonormal rows) of the symmetric matrix a (n x n;
 * destroyed).  r <= n.  Iterated, residuals ||A u - theta u|| fall below 1e-9 theta_1, or 300 rounds
 * pass (eigenvalues next to each other: the values are right, the vectors span almost the right space).
 * FC_ENUMERIC when LAPACK fails.
 */
fc_status	fc_leading_eigen(double *a, size_t n, size_t r, const fc_tick *tick, fc_arena *arena,
							 double *values, double *vectors);

#endif							/* FC_LEADING_EIGEN_H */
