/*
 * qkmeans.h - QK-means: k-means whose centroids are a product of sparse
 * factors (Giffon et al. 2019, Alg. 1).
 *
 * Each iteration assigns every row with V = lambda S_1 .. S_Q, takes the means
 * u_j and sizes n_j of the clusters, and improves the current factors by
 * palm4MSA on
 *     sum_j n_j ||u_j - o - lambda (S_1 .. S_Q)_j||^2
 * As sum ||x - v_j||^2 = sum ||x - u_j||^2 + n_j ||u_j - v_j||^2 over a
 * cluster's rows, neither half of an iteration raises the objective sum_x
 * min_j ||x - o - v_j||^2.
 *
 * The caller owns the rows: this file reads them through two callbacks. Their
 * squared distances are finite.
 */
#ifndef FC_FACTOR_QKMEANS_H
#define FC_FACTOR_QKMEANS_H

#include "factor/factorize.h"

typedef struct fc_row_source
{
	void	   *ctx;

	/*
	 * one scan of the rows: the SSE to op, and per cluster the weight of its
	 * rows and (k x d) their means
	 */
	void		(*scan) (void *ctx, const fc_operator *op, double *sse, double *weights,
						 double *means);

	/*
	 * finds the `count` rows, of all or of a sample, farthest from their
	 * centroids, farthest first; *found is their number
	 */
	void		(*farthest) (void *ctx, const fc_operator *op, size_t count,
							 double *rows, size_t *found);
} fc_row_source;

typedef struct fc_qkmeans_step
{
	int			iteration;		/* 0 for the start */
	double		objective;		/* SSE of the rows to the operator's own rows */
	double		wcss;			/* SSE of the rows to the means of their
								 * labels */
	size_t		nonzeros;
	size_t		empty;			/* number of clusters without rows */
} fc_qkmeans_step;

/*
 * maximum k d for which AUTO tries the hierarchical start, which costs up to a
 * hundred times more
 */
#define FC_QKMEANS_HIERARCHICAL	((size_t) 1 << 18)

typedef struct fc_qkmeans_options
{
	int			iterations;		/* maximum number of iterations; 10 */
	double		tolerance;		/* minimum relative decrease of the objective
								 * per iteration; 1e-6 */
	int			factors;		/* factors, sparsity and budget as in
								 * factorize.h */
	int			sparsity;
	double		budget;

	/*
	 * factorisation of the start: PALM4MSA, HIERARCHICAL, or AUTO, the better
	 * of the two
	 */
	fc_method	start;

	/*
	 * factors of the start with these constraints, if known; NULL: not yet
	 * factored
	 */
	const fc_factors *warm_factors;
	int			start_sweeps;	/* sweeps of each palm4MSA of the start; 50 */
	fc_palm_options palm;		/* palm4MSA of one iteration: up to 10 sweeps,
								 * tolerance 1e-2 */
	/* called after each scan of op, or NULL */
	void		(*log) (void *ctx, const fc_qkmeans_step *step, const fc_operator *op);
	void	   *log_ctx;
} fc_qkmeans_options;

fc_qkmeans_options fc_qkmeans_defaults(void);

/* Returns the number of factors that the options imply. */
size_t
			fc_qkmeans_factors(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * Returns an estimate of the multiply-adds of QK-means of n rows, without the
 * k-means of its start.
 */
double		fc_qkmeans_operations(size_t n, size_t k, size_t d,
								  const fc_qkmeans_options *options);

/*
 * Returns an upper estimate of the bytes in the arena, the result included.
 */
size_t
			fc_qkmeans_worksize(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * Runs QK-means. start: k x d centroids; offset: d, becomes the operator's.
 * out receives views into the arena, with the sizes of the clusters as
 * weights; from receives the errors of the operator against the means of its
 * labels. A cluster without rows is given the farthest row that the source
 * finds, if this does not raise the objective.
 */
void		fc_qkmeans(const double *start, const double *offset, size_t k, size_t d,
					   const fc_row_source *source, const fc_qkmeans_options *options,
					   fc_arena *arena, fc_operator *out, fc_factorization *from);

/*
 * Runs iteration 0 alone: factors the start, in the arena, and measures it in
 * one scan.
 */
void
			fc_qkmeans_try(const double *start, const double *offset, size_t k, size_t d,
						   const fc_row_source *source, const fc_qkmeans_options *options,
						   fc_arena *arena, fc_factors *factors, fc_qkmeans_step *step);

/* ---- the number of values, chosen by trials on a sample ---- */

/*
 * Random centroids are no product of few sparse factors, smooth or repeated
 * ones are; only a trial can decide. So the start is factored at rising
 * sparsities, and each product is compared with the unfactored start on the
 * sample.
 */

/* Sums of squares of an operator over the rows of a sample. */
typedef struct fc_measure
{
	double		objective;		/* SSE of the rows to the operator's rows */
	double		wcss;			/* SSE of the rows to the means of their
								 * labels */
	double		scatter;		/* SSE of the rows to the mean of all */
} fc_measure;

void		fc_measure_operator(const fc_operator *op, const fc_row_source *sample,
								fc_arena *arena, fc_measure *measure);

/* Measures k x d unfactored centroids; needs as many bytes again. */
void		fc_measure_start(const double *start, const double *offset, size_t k,
							 size_t d, const fc_row_source *sample, fc_arena *arena,
							 fc_measure *measure);

/*
 * Returns a / b, with b raised to 1e-6 of the scatter if it is smaller; 1 if
 * both are smaller: clusters without spread have no ratio.
 */
double		fc_measure_ratio(double a, double b, double scatter);

typedef struct fc_trial
{
	int			factors;
	int			sparsity;
	size_t		nonzeros;
	double		objective;		/* SSE of the factored start, relative to the
								 * start */
	double		wcss;			/* SSE to the means of the labels, relative to
								 * the start */
} fc_trial;

typedef struct fc_trials
{
	const fc_measure *dense;	/* measure of the unfactored start */
	size_t		max_bytes;		/* maximum bytes for a trial and for the steps
								 * after it */
	void		(*tried) (void *ctx, const fc_trial *trial);	/* called after each
																 * trial, or NULL */
	void	   *tried_ctx;
} fc_trials;

/* SSE, relative to the start, that ends the search for a sparsity */
#define FC_CLOSE_SSE_RATIO		1.1

/*
 * maximum SSE, relative to the start, for FC_LARGE_CENTROIDS centroids, whose
 * rows take long to label
 */
#define FC_NEAR_SSE_RATIO		1.5

/*
 * maximum SSE to the means of labels, relative to the start, for labels that
 * count as equally good
 */
#define FC_SAME_LABELS_SSE_RATIO	1.02

#define FC_LARGE_CENTROIDS	((size_t) 1 << 16)	/* minimum k d of large
												 * centroids */
#define FC_TRIAL_WORK	((double) (1 << 29))	/* maximum multiplications of
												 * a sweep: sparsity^2 min(k,
												 * d) (k + d) */

/*
 * Chooses factors, sparsity and budget of *options, given with sparsity and
 * budget 0. Uses two factors (measured: closer than more factors at equal
 * values) unless options->factors is set; sparsity s = 2, 3, 4, 6, 9, 13 .. on
 * the longest factor and as many values for the other one, while the product
 * has fewer than k d values and a sweep no more than FC_TRIAL_WORK
 * multiplications. Takes the first product within FC_CLOSE_SSE_RATIO of the
 * start's SSE on the sample. If there is no such product, takes for
 * FC_LARGE_CENTROIDS centroids the closest one within FC_NEAR_SSE_RATIO, or
 * else the sparsest with equally good labels (FC_SAME_LABELS_SSE_RATIO);
 * failing these, one factor with all k d values. If options->factors is set,
 * every factor has sparsity s, and the closest product is the last resort.
 * options->log is not called. options->warm_factors receives the product that
 * ended the search, in the arena, or NULL.
 */
void
			fc_qkmeans_choose(const double *start, const double *offset, size_t k, size_t d,
							  const fc_row_source *sample, const fc_trials *trials,
							  fc_arena *arena, fc_qkmeans_options *options);

#endif							/* FC_FACTOR_QKMEANS_H */
