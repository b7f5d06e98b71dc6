/*
 * principal.h - the greatest eigenvalues of a symmetric matrix and their
 * eigenvectors; principal axes of a cloud of centred rows.
 */
#ifndef FC_NUMERICS_PRINCIPAL_H
#define FC_NUMERICS_PRINCIPAL_H

#include "base/fc.h"

/*
 * Eigenproblems up to this order go to LAPACK whole, which cannot be
 * interrupted; larger ones are iterated.
 */
#define FC_EIGEN_WHOLE	512

/*
 * Axes carried beside the wanted ones when iterating: r is at most
 * FC_EIGEN_WHOLE - FC_EIGEN_SPARE then.
 */
#define FC_EIGEN_SPARE	10

/*
 * values (r, descending) and vectors (r x n, orthonormal rows) of the
 * symmetric matrix a (n x n; destroyed). r <= n. Iterated, it ends when
 * residuals ||A u - theta u|| are below 1e-9 theta_1, or when sum theta^2 (the
 * part of ||A||^2 that the r pairs explain) grew by less than 1e-8 of itself
 * in a round, 100 at most: in a spectrum that hardly falls, which of many
 * equal axes are found does not matter.
 */
void		fc_leading_eigen(double *a, size_t n, size_t r, fc_arena *arena,
							 double *values, double *vectors);

/* n x d floats less their mean, in place. */
void		fc_center_rows(float *x, size_t n, size_t d);

/* Bytes for at most that many rows. */
size_t		fc_principal_worksize(size_t rows, size_t d, size_t n);

/*
 * basis (n x d, rows orthonormal to 1e-6): eigenvectors of A' A, A = x (rows x
 * d, centred), for its n greatest eigenvalues, greatest first; the entry of
 * largest magnitude is positive. When A has rank below n the rest completes an
 * orthonormal set. n <= d.
 */
void		fc_principal_axes(const float *x, size_t rows, size_t d, size_t n,
							  uint64_t seed, fc_arena *arena, float *basis);

/*
 * Does value decide the sign of a vector that is known but for its sign, when
 * before decided of the entries so far? The largest in magnitude does, and is
 * made positive. Entries that are equal but for rounding (of symmetric data)
 * would leave the choice to the processor, so a later entry takes over only
 * when it is larger by a thousandth.
 */
static inline bool
fc_decides_sign(double value, double before)
{
	return fabs(value) > 1.001 * fabs(before);
}

#endif							/* FC_NUMERICS_PRINCIPAL_H */
