/*
 * factorize.h - an operator's centroids as a product with fewer parameters.
 *
 * With U the centroids around the offset (their weighted mean when centered:
 * subtracting a constant from rows and centroids changes no label), W their
 * weights:
 *     palm4msa      sparse factors, palm.h
 *     hierarchical  the same from the hierarchical start, internal.h
 *     butterfly     sparse factors of fixed support, internal.h
 *     svd           two dense factors, internal.h
 *     prune         one sparse factor, internal.h
 *     auto          the cheapest that keeps the labels of a sample's rows
 */
#ifndef FC_FACTOR_FACTORIZE_H
#define FC_FACTOR_FACTORIZE_H

#include "factor/palm.h"
#include "numerics/weighted_rows.h"

/* The best product of a budget, as auto judged it. */
typedef struct fc_factorize_trial
{
	fc_method	method;
	size_t		values;			/* stored */

	/*
	 * share of the weight of the rows whose labels are those of the operator
	 * as it is
	 */
	double		agreement;

	/*
	 * its lower bound among rows of the same law with a confidence of 95 %
	 * (Wilson 1927, one-sided, by the effective number (sum w)^2 / sum w^2 of
	 * rows)
	 */
	double		lowest;
	/* sum of squares / that of the operator as it is; 1 when both are 0 */
	double		sse_ratio;
	size_t		rows;			/* compared */
} fc_factorize_trial;

/*
 * palm4MSA's own default is log2(min(k, d)) factors (Giffon et al. 2019). Two
 * are closer to the centroids with fewer values, and a row passes through them
 * in a third of the time.
 */
#define FC_PALM_FACTORS	((size_t) 2)

typedef struct fc_factorize_options
{
	fc_method	method;
	int			factors;		/* Q; 0: FC_PALM_FACTORS for palm4msa, else
								 * log2(min(k, d)) */

	/*
	 * least non-zeros of a row and column of a factor; 0: 3, or as many as
	 * the budget allows
	 */
	int			sparsity;
	/* values stored by all factors together; 0: as many as sparsity allows */
	double		budget;
	bool		centered;		/* true */
	fc_palm_options palm;

	/* auto: rows of d columns to judge by */
	const fc_weighted_rows *sample;

	/*
	 * auto: the sample's sum of squares may be so many times that of the
	 * operator; 0: any
	 */
	double		sse_ratio;
	/* auto, after each budget, or NULL */
	void		(*tried) (void *ctx, const fc_factorize_trial *trial);
	void	   *tried_ctx;
} fc_factorize_options;

fc_factorize_options fc_factorize_defaults(void);

/* About the multiply-adds of fc_factorize. */
double		fc_factorize_operations(const fc_operator *op,
									const fc_factorize_options *options);

/*
 * The least options->budget a method can keep to, given options->method,
 * factors and sparsity: one rank for svd, one value a line of every factor
 * (but `sparsity` of the longest, if given) for palm4msa and hierarchical,
 * else 1.
 */
size_t		fc_factorize_least_budget(const fc_operator *op,
									  const fc_factorize_options *options);
size_t		fc_least_budget(size_t k, size_t d, size_t count, size_t sparsity);

/*
 * out: factors, offset and half norms in the arena, weights those of op;
 * out->factorization is `from`, filled: errors, and for auto the agreement.
 * Weights below 1 % of their mean count as that, so that no centroid is left
 * free to catch other rows.
 */
void		fc_factorize(const fc_operator *op, const fc_factorize_options *options,
						 fc_arena *arena, fc_operator *out, fc_factorization *from);

/*
 * auto: the method chosen by measurement. Budgets rise by 1/16, 1/8, 1/4, 1/2
 * of k d (or it is the one given, or that of the sparsity given); at each,
 * svd, prune and, where k d Q is small enough, palm4msa with two factors (as
 * many values in each) and with Q, and hierarchical (FC_AUTO_SWEEPS) are tried
 * and their labels compared with the dense operator's on half of at most
 * FC_JUDGED_ROWS rows of the sample, drawn at random. The first budget whose
 * best keeps FC_AUTO_LABELS of them ends the search; the other half, which had
 * no part in the choice, must promise that share for all rows. Candidates
 * within FC_AUTO_TIE of the best go by cost, a sparse value counting
 * FC_SPARSE_COST dense ones. When none is good enough, the dense operator.
 */
#define FC_AUTO_WORK	((size_t) 1 << 21)	/* k d Q */
#define FC_AUTO_HIERARCHICAL	((size_t) 1 << 17)
#define FC_AUTO_SWEEPS			20	/* sweeps of a trial of auto */
#define FC_AUTO_LABELS			0.98	/* share of labels that a product must
										 * keep */

/* difference of that share within which the cheaper product wins */
#define FC_AUTO_TIE				0.005

#define FC_JUDGED_ROWS	((size_t) 8000)
#define FC_SPARSE_COST			1.5 /* cost of a sparse value in dense ones */

/* Factors of a training product as stored: float, the scale spread evenly. */
void
			fc_store_factors(const fc_factors *factors, fc_arena *arena, fc_operator *out);

/*
 * || W^(1/2) (U - V) || / || W^(1/2) U || for the factors of op as they are
 * stored; scratch: fc_operator_scratch.
 */
double		fc_relative_error(const fc_target *target, const fc_operator *op,
							  fc_scratch scratch);

#endif							/* FC_FACTOR_FACTORIZE_H */
