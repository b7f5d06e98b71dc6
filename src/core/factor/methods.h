/*
 * methods.h - the other ways to fewer parameters: palm4MSA from the hierarchical start, butterflies, truncated SVD, pruning.
 */
#ifndef FC_FACTOR_METHODS_H
#define FC_FACTOR_METHODS_H

#include "factor/palm.h"

/*
 * Factors found one after the other (Le Magoarou & Gribonval 2016; Giffon et al. 2019, supplement E).
 * U = S_1 R_1, R_1 = S_2 R_2, ..: each split is a palm4MSA of two factors whose residual R_i
 * starts at zero and keeps max(s, max(k, d) / 2^i) entries of every row and column, followed
 * by palm4MSA of all factors found so far.  The chain is peeled from the longer side, so for
 * d >= k the work is done on U'.  Weights count only in the last refinement.
 *
 * factors: taken (fc_factors_take); their entries are overwritten.
 */
void		fc_hierarchical(const fc_target *target, const fc_palm_options *options,
							fc_arena *arena, fc_factors *factors, fc_palm_result *result);

/*
 * Fixed butterfly supports, by rank-1 approximations (Zheng, Riccietti & Gribonval 2021-24).
 * U = S_1 M, S_1 pairing row i with row i + k/2, M block-diagonal over two halves of the columns;
 * then each block in turn, until blocks are two rows high.  Every inner index owns a 2-row
 * piece of U, whose best rank-1 approximation is known in closed form: no iteration,
 * 2 k d log2 k operations.  About 2 non-zeros a row; the fit depends on the order of clusters and
 * columns.  For k > d the work is done on U'.  factors gets log2(min(k, d)) factors, rounded up;
 * between them vectors are no longer than 2 min(k, d).
 */
void		fc_butterfly(const fc_target *target, fc_arena *arena, fc_factors *factors);

/*
 * U = left right, left k x rank, right rank x d with orthonormal rows: the best of that rank in
 * the weighted norm (singular vectors of W^(1/2) U to 1e-6).  *relative is
 * || W^(1/2) (U - left right) || / || W^(1/2) U ||.  rank <= d; ranks above min(k, d) gain nothing.
 */
void		fc_lowrank(const fc_target *target, size_t rank, uint64_t seed,
					   fc_arena *arena, float *left, float *right, double *relative);

/* The rank whose left and right together hold at most `budget` values; at least 1. */
size_t		fc_rank_within(size_t k, size_t d, size_t budget);

/*
 * The relative error of the truncated SVD of the target with as many values, for comparison with other factors.
 * 1 when they do not suffice for one rank, unless that leaves nothing.
 */
double		fc_equal_svd(const fc_target *target, size_t values, uint64_t seed, fc_arena *arena);

/* One factor (k x d): the `budget` entries of U largest by sqrt(weight) |u|. */
void		fc_prune(const fc_target *target, size_t budget, fc_arena *arena, fc_factors *factors);

#endif							/* FC_FACTOR_METHODS_H */
