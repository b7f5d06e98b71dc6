/*
 * nystroem.h - what the one-pass projection is compared with: Nystrom from uniform columns,
 * and the exact eigendecomposition.
 */
#ifndef FC_RKHS_NYSTROEM_H
#define FC_RKHS_NYSTROEM_H

#include "rkhs/embed.h"
#include "rkhs/kernel.h"

/* Relative floor of a pseudo-inverse by eigendecomposition, values in double. */
#define FC_PSEUDO_INVERSE_FLOOR	1e-12

/*
 * Nystrom (Williams, Seeger 2001): C = m columns of K chosen uniformly without replacement, M their
 * m rows, K ~ C M_r^+ C' with M_r the best approximation of rank r of M.  C is stored (8 n m bytes).
 * More columns than rows are all of them.  With m > 512 M's eigenvectors are iterated.
 */
size_t		fc_nystroem_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t columns);
fc_status	fc_nystroem_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t columns, uint64_t seed,
								fc_arena *arena, fc_embedding *result);

/* K ~ U_r L_r U_r' from K itself, stored (8 n^2 bytes): for n up to a few thousand. */
size_t		fc_kernel_eigen_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank);
fc_status	fc_kernel_eigen_project(const fc_kernel *kernel, const fc_kernel_input *input,
									fc_arena *arena, fc_embedding *result);

/* out (left->n x right->n) = K / scale between exact rows prepared together. */
void		fc_kernel_matrix(const fc_kernel_rows *left, const fc_kernel_rows *right, double *out);

#endif							/* FC_RKHS_NYSTROEM_H */
