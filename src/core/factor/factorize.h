/*
 * factorize.h - approximates an operator's centroids by a product with fewer
 * parameters.
 *
 * With U the centroids around the offset (their weighted mean when centered:
 * subtracting a constant from rows and centroids changes no label), W their
 * weights:
 *     palm4msa      sparse factors, palm.h
 *     hierarchical  sparse factors from the hierarchical start, internal.h
 *     butterfly     sparse factors of fixed support, internal.h
 *     svd           two dense factors, internal.h
 *     prune         one sparse factor, internal.h
 *     auto          the cheapest that keeps the labels of a sample's rows
 */
#ifndef FC_FACTOR_FACTORIZE_H
#define FC_FACTOR_FACTORIZE_H

#include "factor/palm.h"
#include "numerics/weighted_rows.h"

/* The best product within one budget, as judged by auto. */
typedef struct fc_factorize_trial
{
	fc_method	method;
	size_t		values;			/* values stored in all factors together */

	/*
	 * share, 0 .. 1, of the rows' weight that keeps the labels of the
	 * operator
	 */
	double		agreement;

	/*
	 * lower bound of the agreement for rows of the same distribution, at a
	 * confidence of 95 % (Wilson 1927, one-sided, with the effective number
	 * of rows (sum w)^2 / sum w^2)
	 */
	double		lowest;
	/* sum of squares, relative to the unfactored operator; 1 if both are 0 */
	double		sse_ratio;
	size_t		rows;			/* number of rows compared */
} fc_factorize_trial;

/*
 * default number of factors of palm4msa, instead of log2(min(k, d)) (Giffon et
 * al. 2019): two factors are closer to the centroids with fewer values, and a
 * row passes through them in a third of the time
 */
#define FC_PALM_FACTORS	((size_t) 2)

typedef struct fc_factorize_options
{
	fc_method	method;
	int			factors;		/* Q; 0: FC_PALM_FACTORS for palm4msa,
								 * otherwise log2(min(k, d)) */

	/*
	 * minimum non-zeros per row and column of a factor; 0: 3, or as many as
	 * the budget allows
	 */
	int			sparsity;

	/*
	 * maximum values in all factors together; 0: as many as sparsity allows
	 */
	double		budget;
	bool		centered;		/* subtracts the weighted mean; default true */
	fc_palm_options palm;

	/* rows of d columns that auto judges by */
	const fc_weighted_rows *sample;

	/*
	 * maximum sum of squares of the sample for auto, relative to the
	 * operator; 0: no limit
	 */
	double		sse_ratio;
	/* called by auto after each budget; NULL: not called */
	void		(*tried) (void *ctx, const fc_factorize_trial *trial);
	void	   *tried_ctx;
} fc_factorize_options;

fc_factorize_options fc_factorize_defaults(void);

/* Returns an estimate of the multiply-adds of fc_factorize. */
double		fc_factorize_operations(const fc_operator *op,
									const fc_factorize_options *options);

/*
 * Return the minimum budget that a method can keep, given its factors and
 * sparsity: one rank for svd, one value per line of every factor (but
 * `sparsity` for the longest factor, if given) for palm4msa and hierarchical,
 * otherwise 1.
 */
size_t		fc_factorize_min_budget(const fc_operator *op,
									const fc_factorize_options *options);
size_t		fc_min_budget(size_t k, size_t d, size_t count, size_t sparsity);

/*
 * Factors an operator. out: factors, offset and half norms in the arena,
 * weights from op; out->factorization points to `from`, which receives the
 * errors and, for auto, the agreement. Weights below 1 % of their mean are
 * raised to it, so that no centroid is free to attract other rows.
 */
void		fc_factorize(const fc_operator *op, const fc_factorize_options *options,
						 fc_arena *arena, fc_operator *out, fc_factorization *from);

/*
 * Method auto chooses by measurement. Budgets rise by 1/16, 1/8, 1/4, 1/2 of k
 * d, or there is only the given budget, or the one of a given sparsity. At
 * each budget svd, prune and, where k d Q is small enough, palm4msa with two
 * factors (equal numbers of values) and with Q, and hierarchical
 * (FC_AUTO_SWEEPS) are tried. Their labels are compared with the dense
 * operator's on half of the judged rows, FC_JUDGED_ROWS or fewer, drawn at
 * random from the sample. The search ends at the first budget whose best
 * product keeps FC_AUTO_LABELS of the labels; the other half, which had no
 * part in the choice, must promise that share for all rows. Candidates within
 * FC_AUTO_TIE of the best are ordered by cost, where a sparse value counts as
 * FC_SPARSE_COST dense ones. If no candidate is good enough, the operator
 * stays dense.
 */
#define FC_AUTO_WORK	((size_t) 1 << 21)	/* maximum k d Q for palm4msa; the
											 * next one for hierarchical */
#define FC_AUTO_HIERARCHICAL	((size_t) 1 << 17)
#define FC_AUTO_SWEEPS			20	/* maximum sweeps of palm4MSA in a trial */
#define FC_AUTO_LABELS			0.98	/* minimum share of labels that a
										 * product must keep */

/* difference of that share within which the cheaper product wins */
#define FC_AUTO_TIE				0.005

#define FC_JUDGED_ROWS	((size_t) 8000)
#define FC_SPARSE_COST			1.5 /* cost of a sparse value, in dense values */

/*
 * Stores the factors of a training product as floats; the scale is spread
 * evenly over the factors.
 */
void
			fc_store_factors(const fc_factors *factors, fc_arena *arena, fc_operator *out);

/*
 * Returns || W^(1/2) (U - V) || / || W^(1/2) U || for the stored factors of
 * op, or 0 if U is 0. Scratch: fc_operator_scratch.
 */
double		fc_relative_error(const fc_target *target, const fc_operator *op,
							  fc_scratch scratch);

#endif							/* FC_FACTOR_FACTORIZE_H */
