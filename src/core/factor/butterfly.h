/*
 * butterfly.h - factors with fixed butterfly supports, by rank-1 approximations
 * (Zheng, Riccietti & Gribonval 2021-24).
 */
#ifndef FC_FACTOR_BUTTERFLY_H
#define FC_FACTOR_BUTTERFLY_H

#include "factor/palm.h"

/*
 * U = S_1 M, S_1 pairing row i with row i + k/2, M block-diagonal over two halves of the columns;
 * then each block in turn, until blocks are two rows high.  Every inner index owns a 2-row
 * piece of U, whose best rank-1 approximation is known in closed form: no iteration,
 * 2 k d log2 k operations.  About 2 non-zeros a row; what fits depends on the order of clusters and
 * columns.  For k > d the work is done on U'.  factors gets log2(min(k, d)) factors, rounded up;
 * between them vectors are no longer than 2 min(k, d).
 */
fc_status	fc_butterfly(const fc_target *target, fc_arena *arena, fc_factors *factors);

#endif							/* FC_FACTOR_BUTTERFLY_H */
