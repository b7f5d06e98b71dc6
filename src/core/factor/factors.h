/*
 * factors.h - lambda S_1 S_2 .. S_Q in training: sparse factors in double, each with its
 * transpose and the set it is held to.
 */
#ifndef FC_FACTOR_FACTORS_H
#define FC_FACTOR_FACTORS_H

#include "factor/constraint.h"
#include "operator/operator.h"

/* lambda S_1 .. S_count, S_q held to constraint[q].  Factor 0 has k rows, the last d columns. */
typedef struct fc_factors
{
	size_t		count;
	double		lambda;
	fc_sparse_pair factor[FC_MAX_FACTORS];
	fc_constraint constraint[FC_MAX_FACTORS];
} fc_factors;

/* Sizes of factor q of `count` factors of a k x d product with min(k, d) between them. */
size_t		fc_factor_rows(size_t k, size_t d, size_t count, size_t q);
size_t		fc_factor_columns(size_t k, size_t d, size_t count, size_t q);

/* The number of factors by default: log2(min(k, d)), at least 1 and at most FC_MAX_FACTORS. */
size_t		fc_factor_count(size_t k, size_t d);

/* Room for factors with these constraints and shapes; then the usual start: S_count zero, the others rectangular identities, lambda 1. */
void		fc_factors_take(fc_arena *arena, size_t k, size_t d, size_t count, const fc_constraint *constraint,
							fc_factors *factors);
void		fc_factors_start(fc_factors *factors);

/*
 * Where S_1 has more rows than columns, its ones in the rows where `length` (k, at least 0; spent) is largest instead of the
 * first: the product starts from these rows of U, and must not find them all zero (the corners of images are).
 */
void		fc_factors_start_rows(fc_factors *factors, double *length);
size_t		fc_factors_nonzeros(const fc_factors *factors);

/* Values that factors held to lines of `sparsity` hold at most; the greatest sparsity within a budget, at least 1. */
size_t		fc_sparsity_budget(size_t k, size_t d, size_t count, size_t sparsity);
size_t		fc_sparsity_within(size_t k, size_t d, size_t count, size_t budget);

/*
 * Constraints for `count` factors: every line keeps `sparsity` (0: 3), or as many as a budget of
 * values (0: none) allows.  Given both, the factor with the longest side keeps to the sparsity
 * and the others share what it leaves.
 */
#define FC_DEFAULT_SPARSITY	3
void		fc_line_constraints(size_t k, size_t d, size_t count, size_t sparsity, double budget,
								fc_constraint *constraint);

/* The longest vector on the way through the product. */
size_t		fc_factors_longest(const fc_factors *factors);

#endif							/* FC_FACTOR_FACTORS_H */
