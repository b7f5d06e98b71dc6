/*
 * lowrank.h - the two plain ways to fewer parameters: truncated SVD and pruning.
 */
#ifndef FC_FACTOR_LOWRANK_H
#define FC_FACTOR_LOWRANK_H

#include "factor/palm.h"

/* Bytes fc_lowrank takes. */
size_t		fc_lowrank_worksize(size_t k, size_t d, size_t rank);

/*
 * U = left right, left k x rank, right rank x d with orthonormal rows: the best of that rank in
 * the weighted norm (singular vectors of W^(1/2) U to 1e-6).  *relative is
 * || W^(1/2) (U - left right) || / || W^(1/2) U ||.  rank <= d; ranks above min(k, d) gain nothing.
 */
fc_status	fc_lowrank(const fc_target *target, size_t rank, uint64_t seed,
					   fc_arena *arena, float *left, float *right, double *relative);

/* The rank whose left and right together hold at most `budget` values; at least 1. */
size_t		fc_rank_within(size_t k, size_t d, size_t budget);

/*
 * The relative error of the truncated SVD of the target with as many values: what any factors are to be compared with.  1 when they do
 * not suffice for one rank, unless that leaves nothing.
 */
size_t		fc_equal_svd_worksize(size_t k, size_t d);
fc_status	fc_equal_svd(const fc_target *target, size_t values, uint64_t seed, fc_arena *arena,
						 double *relative);

/* a (k x d) = the `budget` entries of U largest by sqrt(weight) |u|. */
void		fc_prune(const fc_target *target, size_t budget, fc_arena *arena, fc_sparse_pair *a);

#endif							/* FC_FACTOR_LOWRANK_H */
