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
 * Number of axes that an iteration has in addition to the requested ones. With
 * more axes, the iteration converges in fewer rounds, which take longer. A
 * guess.
 */
#define FC_EIGEN_SPARE	10

/*
 * Computes the r <= n greatest eigenvalues (values, descending) and
 * eigenvectors (vectors, r x n, orthonormal rows) of the symmetric matrix a (n
 * x n; destroyed). Up to order FC_EIGEN_WHOLE the result is LAPACK's. Beyond
 * that order it is iterated, and r must be at most FC_EIGEN_WHOLE -
 * FC_EIGEN_SPARE.
 *
 * Let theta and u be the approximate eigenvalues and eigenvectors. The
 * iteration ends when all residuals ||A u - theta u|| are below 1e-9 theta_1,
 * when a round has increased sum theta^2 (the share of ||A||^2 that the r
 * pairs explain) by less than 1e-8 of itself, or after 100 rounds. If
 * eigenvalues are about equal, it may have found any of their axes.
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
 * Computes the n <= d leading principal axes of x (rows x d, centred). The
 * rows of basis (n x d) are the eigenvectors of x' x for its n greatest
 * eigenvalues, in descending order. They are orthonormal to 1e-6, and the
 * entry of largest magnitude in each is positive. If the rank of x is less
 * than n, the last rows complete an orthonormal set.
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
