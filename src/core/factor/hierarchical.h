/*
 * hierarchical.h - factors found one after the other (Le Magoarou & Gribonval 2016;
 * Giffon et al. 2019, supplement E).
 */
#ifndef FC_FACTOR_HIERARCHICAL_H
#define FC_FACTOR_HIERARCHICAL_H

#include "factor/palm.h"

/*
 * U = S_1 R_1, R_1 = S_2 R_2, ..: each split is a palm4MSA of two factors whose residual R_i
 * starts at zero and keeps max(s, max(k, d) / 2^i) entries of every row and column, followed
 * by palm4MSA of all factors found so far.  The chain is peeled from the longer side, so for
 * d >= k the work is done on U'.  Weights count only in the last refinement.
 *
 * factors: taken (fc_factors_take) with FC_LINES constraints; their entries are overwritten.
 */
size_t		fc_hierarchical_worksize(const fc_target *target, const fc_factors *factors);
fc_status	fc_hierarchical(const fc_target *target, const fc_palm_options *options,
							fc_arena *arena, fc_factors *factors, fc_palm_result *result);

#endif							/* FC_FACTOR_HIERARCHICAL_H */
