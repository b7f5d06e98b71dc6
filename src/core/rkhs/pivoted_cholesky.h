/*
 * pivoted_cholesky.h - landmarks by randomly pivoted Cholesky.
 *
 * Chen, Epperly, Tropp, Webber (2025), Randomly pivoted Cholesky, algorithm 2.1: the next pivot is
 * drawn with probability proportional to the diagonal of what is left of K,
 *     f = (K(:, s) - F F(s, :)') / sqrt(residual_s),   residual -= f^2.
 * (m + 1) n kernel values, m^2 n multiplications, 8 n m bytes.
 */
#ifndef FC_RKHS_PIVOTED_CHOLESKY_H
#define FC_RKHS_PIVOTED_CHOLESKY_H

#include "rkhs/embed.h"
#include "rkhs/kernel.h"

/* Places (of the input) of at most m pivots, in the order drawn; fewer (*found) when K is used up. */
size_t		fc_pivoted_cholesky_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t m);
fc_status	fc_pivoted_cholesky_landmarks(const fc_kernel *kernel, const fc_kernel_input *input, size_t m, uint64_t seed,
										  fc_arena *arena, size_t *pivots, size_t *found);

/* K ~ F F', reduced to its best approximation of rank r. */
size_t		fc_pivoted_cholesky_project_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t m);
fc_status	fc_pivoted_cholesky_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t m, uint64_t seed,
										fc_arena *arena, fc_embedding *result);

#endif							/* FC_RKHS_PIVOTED_CHOLESKY_H */
