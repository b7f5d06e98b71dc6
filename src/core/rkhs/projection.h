/*
 * projection.h - one-pass randomized projection of a kernel matrix.
 *
 * Algorithm 1 of Pourkamali-Anaraki and Becker, A randomized approach to efficient kernel
 * clustering (2016), steps 1 to 6: W = K Omega in one pass over K, Omega = D H R; then
 * K ~ Q B Q' with Q an orthonormal basis of the range of W and B (Q' Omega) = Q' W.
 *
 * With Q from the QR decomposition (all r' columns; step 3 of the paper leaves the choice)
 * Q B Q' = W (Omega' W)^+ W', the Nystrom form of Tropp, Yurtsever, Udell, Cevher (2017):
 * the eigenproblem of Omega' W (r' x r') gives the same matrix without Q, is symmetric and
 * semidefinite by construction, and stays stable where Q' Omega is nearly singular.
 */
#ifndef FC_RKHS_PROJECTION_H
#define FC_RKHS_PROJECTION_H

#include "rkhs/embed.h"
#include "rkhs/kernel.h"

/* rank + oversampling at most. */
#define FC_MAX_KERNEL_COLUMNS	500

/* Columns r' of D H R for n rows: rank + oversampling, the order of H at most. */
size_t		fc_kernel_projection_columns(size_t n, size_t rank, size_t oversampling);

/*
 * Columns of independent random signs that come with r': 4, and as many as fill the last eight.  Held out
 * they tell the error of the projection from the others; then they join Omega.  (The products
 * work by eights, so most of them cost nothing; and with r' = 7 the mean error on data whose
 * eigenvalues r and r + 1 are close falls from 3.5 to 0.1 % above the exact one's.)
 */
size_t		fc_kernel_projection_probes(size_t columns);

size_t		fc_kernel_projection_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t oversampling);

/*
 * Coordinates of n rows (in the order of their ids: that order ties a row to its sign).
 * Memory: 9 bytes a row and column (r' and probes) beside the prepared rows; K is never stored.
 * Interrupt checks: fc_kernel_pairs(n) of the pass over K, then few.  FC_EFAR as fc_kernel_prepare.
 */
fc_status	fc_kernel_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t oversampling, uint64_t seed,
							  fc_arena *arena, fc_embedding *result);

#endif							/* FC_RKHS_PROJECTION_H */
