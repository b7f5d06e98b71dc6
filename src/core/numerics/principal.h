/*
 * principal.h - the leading principal axes of a cloud of centred rows.
 */
#ifndef FC_NUMERICS_PRINCIPAL_H
#define FC_NUMERICS_PRINCIPAL_H

#include "base/fc.h"

/* Eigenproblems up to this size are handed to LAPACK whole; it cannot be interrupted. */
#define FC_PRINCIPAL_EXACT	512

/* n x d floats less their mean, in place. */
void		fc_center_rows(float *x, size_t n, size_t d);

/* Bytes for at most that many rows. */
size_t		fc_principal_worksize(size_t rows, size_t d, size_t n);

/*
 * basis (n x d, rows orthonormal to 1e-6): eigenvectors of A' A, A = x (rows x d, centred),
 * for its n greatest eigenvalues, greatest first; the entry of largest magnitude is
 * positive.  When A has rank below n the rest completes an orthonormal set.  n <= d.
 * FC_ENUMERIC when LAPACK fails.
 */
fc_status	fc_principal_axes(const float *x, size_t rows, size_t d, size_t n, uint64_t seed,
							  fc_arena *arena, float *basis);

#endif							/* FC_NUMERICS_PRINCIPAL_H */
