/*
 * factorize.h - approximates an operator's centroids by a product with fewer
 * parameters.
 *
 * U is the k x d matrix of the centroids minus the offset, and W is the
 * diagonal matrix of their weights. If `centered` is set, the offset is the
 * weighted mean of the centroids. Subtracting a constant from rows and
 * centroids changes no label. The methods are:
 *     palm4msa      sparse factors, palm.h
 *     hierarchical  sparse factors from the hierarchical start, internal.h
 *     butterfly     sparse factors of fixed support, internal.h
 *     svd           two dense factors, internal.h
 *     prune         one sparse factor, internal.h
 *     auto          the cheapest product that keeps the labels of sample rows
 */
#ifndef FC_FACTOR_FACTORIZE_H
#define FC_FACTOR_FACTORIZE_H

#include "factor/palm.h"
#include "numerics/weighted_rows.h"

/*
 * Result of a trial of method "auto": the size of one candidate product, and
 * how well it keeps the labels and the SSE of sample rows.
 */
typedef struct fc_factorize_trial
{
	fc_method	method;
	size_t		values;			/* number of values stored in all factors
								 * together */

	/*
	 * fraction, 0 .. 1, of the total weight of the rows whose label is the
	 * same as with the unfactored operator
	 */
	double		agreement;

	/*
	 * lower confidence bound (95 %, one-sided) of the agreement on further
	 * rows of the same distribution (Wilson 1927, with the effective number
	 * of rows (sum w)^2 / sum w^2)
	 */
	double		lowest;
	/* SSE, relative to the SSE of the unfactored operator; 1 if both are 0 */
	double		sse_ratio;
	size_t		rows;			/* number of rows compared */
} fc_factorize_trial;

/*
 * Default number of factors of palm4msa. Giffon et al. (2019) use log2(min(k,
 * d)). Two factors approximate the centroids better with fewer values, and
 * multiply a row in a third of the time (bench/factors.py, bench/rows.py).
 */
#define FC_PALM_FACTORS	((size_t) 2)

typedef struct fc_factorize_options
{
	fc_method	method;
	int			factors;		/* number of factors Q; 0: FC_PALM_FACTORS for
								 * palm4msa, otherwise log2(min(k, d)) */

	/*
	 * number of largest entries that each row and each column of a factor
	 * keeps; 0: as many as the budget allows, or 3 if there is no budget
	 */
	int			sparsity;

	/*
	 * maximum number of values in all factors together; 0: limited by
	 * sparsity alone
	 */
	double		budget;
	bool		centered;		/* true (the default): subtract the weighted
								 * mean of the centroids */
	fc_palm_options palm;

	/* sample of rows (d columns) on which auto compares the labels */
	const fc_weighted_rows *sample;

	/*
	 * maximum SSE of the sample with a product that auto chooses, relative to
	 * the SSE with the operator; 0: no limit
	 */
	double		sse_ratio;
	/* called after each budget that auto tries, or NULL */
	void		(*tried) (void *ctx, const fc_factorize_trial *trial);
	void	   *tried_ctx;
} fc_factorize_options;

/*
 * fc_factorize_defaults returns the default options. fc_factorize_published
 * returns the options of palm4msa and hierarchical as Giffon et al. print
 * them, with sparsity 2: log2(min(k, d)) factors of the centroids themselves,
 * unweighted, 300 sweeps.
 */
fc_factorize_options fc_factorize_defaults(void);
fc_factorize_options fc_factorize_published(void);

/* Returns the estimated number of multiply-adds of fc_factorize. */
double		fc_factorize_operations(const fc_operator *op,
									const fc_factorize_options *options);

/*
 * fc_factorize_min_budget returns the smallest budget that the method of the
 * options can meet: k + d values (rank 1) for svd, fc_min_budget for palm4msa
 * and hierarchical, otherwise 1. fc_min_budget returns the number of values of
 * `count` factors that keep one entry per row and one per column. If sparsity
 * is not 0, the factor with the longest side keeps `sparsity` entries per row
 * and per column instead.
 */
size_t		fc_factorize_min_budget(const fc_operator *op,
									const fc_factorize_options *options);
size_t		fc_min_budget(size_t k, size_t d, size_t count, size_t sparsity);

/*
 * Factors an operator. *out receives factors, offset and half norms in the
 * arena, and shares the weights of op. out->factorization points to *from,
 * which receives the errors. *from also receives the agreement, which is -1
 * unless the method is auto. The fit raises weights below 1 % of their mean to
 * that value. Otherwise, a centroid with hardly any weight could be displaced
 * at no cost and attract rows of other clusters.
 */
void		fc_factorize(const fc_operator *op, const fc_factorize_options *options,
						 fc_arena *arena, fc_operator *out, fc_factorization *from);

/*
 * Method auto chooses by measurement. It tries budgets of 1/16, 1/8, 1/4 and
 * 1/2 of k d. If a budget or a sparsity is given, it tries only this budget,
 * or the budget that the sparsity implies. At each budget, it tries svd and
 * prune. Let Q be the number of factors in the options or, if they set none,
 * its default. If k d Q is small enough, auto also tries hierarchical with Q
 * factors, palm4msa with Q factors, and palm4msa with two factors that have
 * about equally many values. A trial takes at most FC_AUTO_SWEEPS sweeps.
 *
 * At most FC_JUDGED_ROWS rows are drawn at random from the sample. On one half
 * of them, the labels by each product are compared with the labels by the
 * dense operator, and the best product of a budget is chosen. A product within
 * the limit sse_ratio is better than one above it; otherwise, the product with
 * more equal labels is better. If the agreement of two products differs by at
 * most FC_AUTO_TIE, the product of lower cost is better; a sparse value costs
 * as much as FC_SPARSE_COST dense ones.
 *
 * The search ends at the first budget whose best product keeps FC_AUTO_LABELS
 * of the labels on the first half of the rows, has a lower confidence bound of
 * at least FC_AUTO_LABELS on the other half, is within the limit sse_ratio,
 * and costs less than the dense operator. If there is no such product, the
 * operator stays dense, unless a budget or a sparsity was given.
 */

/*
 * Maximum k d Q (Q: number of factors) for which auto tries palm4msa. A larger
 * one allows trials with a larger k or d, which take longer. A guess.
 */
#define FC_AUTO_WORK	((size_t) 1 << 21)

/*
 * Maximum k d Q (Q: number of factors) for which auto tries hierarchical,
 * which takes longer than palm4msa. A guess.
 */
#define FC_AUTO_HIERARCHICAL	((size_t) 1 << 17)

/*
 * Maximum number of sweeps of palm4MSA in a trial. With more sweeps, products
 * are closer to the centroids, and trials take proportionally longer. A guess.
 */
#define FC_AUTO_SWEEPS	20

/*
 * Minimum share of labels that a product must keep, 0 to 1. A larger one keeps
 * more labels, but products have more values (bench/factors.py,
 * bench/tuned.py).
 */
#define FC_AUTO_LABELS	0.98

/*
 * Difference of agreement up to which the cheaper of two products is chosen.
 * With a larger difference, products have fewer values and keep fewer labels.
 * A guess.
 */
#define FC_AUTO_TIE	0.005

/*
 * Maximum number of rows on which auto compares labels. With more rows, the
 * agreement is estimated more exactly; each row costs k d multiply-adds per
 * product. A guess.
 */
#define FC_JUDGED_ROWS	((size_t) 8000)

/*
 * Cost of a value of a sparse factor, relative to a value of a dense factor.
 * With a larger cost, auto prefers products of dense factors
 * (bench/factors.py, bench/tuned.py).
 */
#define FC_SPARSE_COST	1.5

/*
 * Sets the factors of *out to copies, in floats, of the factors of a training
 * product. lambda is distributed over the factors, so that all have the same
 * norm.
 */
void		fc_store_factors(const fc_factors *factors, fc_arena *arena, fc_operator *out);

/*
 * Returns || W^(1/2) (U - V) || / || W^(1/2) U ||, where V is the product of
 * the stored factors of op; 0 if U is 0. scratch has fc_operator_scratch(op)
 * floats.
 */
double		fc_relative_error(const fc_target *target, const fc_operator *op,
							  fc_scratch scratch);

#endif							/* FC_FACTOR_FACTORIZE_H */
