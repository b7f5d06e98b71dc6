/*
 * principal.h - the greatest eigenvalues of a symmetric matrix and their
 * eigenvectors; principal axes of centred rows.
 */
#ifndef FC_NUMERICS_PRINCIPAL_H
#define FC_NUMERICS_PRINCIPAL_H

#include "base/fc.h"

/*
 * Maximum order of an eigenproblem that LAPACK solves in one call, which
 * cannot be interrupted; larger ones are iterated, less exactly. A guess.
 */
#define FC_EIGEN_WHOLE	512

/*
 * Number of axes that an iteration has besides the requested ones, so r is at
 * most FC_EIGEN_WHOLE - FC_EIGEN_SPARE. With more axes, the iteration
 * converges in fewer rounds, which take longer. A guess.
 */
#define FC_EIGEN_SPARE	10

/*
 * Computes the r <= n greatest eigenvalues (values, descending) and vectors (r
 * x n, orthonormal rows) of the symmetric matrix a (n x n; destroyed). Up to
 * order FC_EIGEN_WHOLE the result is LAPACK's. Beyond that order an iteration
 * ends when all residuals ||A u - theta u|| are below 1e-9 theta_1, when sum
 * theta^2 (the share of ||A||^2 that the r pairs explain) has grown by less
 * than 1e-8 of itself in a round, or after 100 rounds. It may then have found
 * any of the axes of eigenvalues that are about equal.
 */
void		fc_leading_eigen(double *a, size_t n, size_t r, fc_arena *arena,
							 double *values, double *vectors);

/* Subtracts the mean from n x d floats, in place. */
void		fc_center_rows(float *x, size_t n, size_t d);

/*
 * Returns an upper bound on the number of bytes that fc_principal_axes takes
 * from its arena for up to `rows` rows.
 */
size_t		fc_principal_worksize(size_t rows, size_t d, size_t n);

/*
 * Computes basis (n x d, rows orthonormal to 1e-6), n <= d: the eigenvectors
 * of A' A, A = x (rows x d, centred), for its n greatest eigenvalues in
 * descending order. The entry of largest magnitude is positive. If the rank of
 * A is less than n, the remaining rows complete an orthonormal set.
 */
void		fc_principal_axes(const float *x, size_t rows, size_t d, size_t n,
							  uint64_t seed, fc_arena *arena, float *basis);

/*
 * Returns true if the entry `value` decides the sign of a vector that is known
 * up to its sign. `before` is the entry that has decided so far. The entry of
 * largest magnitude decides, and is made positive. Entries that are equal up
 * to rounding (of symmetric data) would leave the choice to the processor, so
 * a later entry takes over only when it is larger by a thousandth.
 */
static inline bool
fc_decides_sign(double value, double before)
{
	return fabs(value) > 1.001 * fabs(before);
}

#endif							/* FC_NUMERICS_PRINCIPAL_H */
