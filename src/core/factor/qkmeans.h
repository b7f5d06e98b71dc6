/*
 * qkmeans.h - QK-means: k-means whose centroids are a product of sparse
 * factors (Giffon et al. 2019, Alg. 1).
 *
 * Each iteration assigns every row with V = lambda S_1 .. S_Q, takes the means
 * u_j and sizes n_j of the clusters, and improves the factors by palm4MSA on
 *     sum_j n_j ||u_j - o - lambda (S_1 .. S_Q)_j||^2
 * from where they are. As sum ||x - v_j||^2 = sum ||x - u_j||^2 + n_j ||u_j -
 * v_j||^2 over a cluster's rows, neither half of an iteration raises the
 * objective sum_x min_j ||x - o - v_j||^2.
 *
 * The rows are the caller's: this file sees them through two callbacks. Their
 * squared distances are finite.
 */
#ifndef FC_FACTOR_QKMEANS_H
#define FC_FACTOR_QKMEANS_H

#include "factor/factorize.h"

typedef struct fc_row_source
{
	void	   *ctx;

	/*
	 * One scan: *sse of op over the rows; per cluster the weight of its rows
	 * and (k x d) their means.
	 */
	void		(*scan) (void *ctx, const fc_operator *op, double *sse, double *weights,
						 double *means);

	/*
	 * The `count` rows, of all or of a sample, farthest from their centroids,
	 * farthest first; how many there are into *found.
	 */
	void		(*farthest) (void *ctx, const fc_operator *op, size_t count,
							 double *rows, size_t *found);
} fc_row_source;

typedef struct fc_qkmeans_step
{
	int			iteration;		/* 0: the start */
	double		objective;		/* SSE of the rows to the operator's own rows */
	double		wcss;			/* SSE to the means of its labels */
	size_t		nonzeros;
	size_t		empty;			/* clusters without rows */
} fc_qkmeans_step;

/*
 * k d up to which AUTO tries the hierarchical start, which costs up to a
 * hundred times more.
 */
#define FC_QKMEANS_HIERARCHICAL	((size_t) 1 << 18)

typedef struct fc_qkmeans_options
{
	int			iterations;		/* 10 */
	double		tolerance;		/* stop when the objective falls by less,
								 * relative; 1e-6 */
	int			factors;		/* as in factorize.h */
	int			sparsity;
	double		budget;

	/*
	 * how the start is factored: PALM4MSA, HIERARCHICAL, or AUTO, the better
	 * of the two
	 */
	fc_method	start;
	/* the start factored already, with these constraints, or NULL */
	const fc_factors *warm_factors;
	int			start_sweeps;	/* of each palm4MSA of the start; 50 */
	fc_palm_options palm;		/* of an iteration: 10 sweeps at most,
								 * tolerance 1e-2 */
	/* after each scan of op, or NULL */
	void		(*log) (void *ctx, const fc_qkmeans_step *step, const fc_operator *op);
	void	   *log_ctx;
} fc_qkmeans_options;

fc_qkmeans_options fc_qkmeans_defaults(void);

/* How many factors there will be. */
size_t
			fc_qkmeans_factors(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * About the multiply-adds of QK-means of n rows, without the k-means of its
 * start.
 */
double		fc_qkmeans_operations(size_t n, size_t k, size_t d,
								  const fc_qkmeans_options *options);

/* About the bytes an arena holds, the result included; at least as many. */
size_t
			fc_qkmeans_worksize(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * start: k x d centroids; offset: d, kept as the operator's. out: views into
 * the arena, with the sizes of the clusters as weights; from: filled, the
 * errors those of the operator against the means of its labels. A cluster
 * without rows is given the farthest row that the source finds, if the
 * objective does not rise for it.
 */
void		fc_qkmeans(const double *start, const double *offset, size_t k, size_t d,
					   const fc_row_source *source, const fc_qkmeans_options *options,
					   fc_arena *arena, fc_operator *out, fc_factorization *from);

/*
 * Iteration 0 alone: the factored start, in the arena, and the measures of one
 * scan of it.
 */
void
			fc_qkmeans_try(const double *start, const double *offset, size_t k, size_t d,
						   const fc_row_source *source, const fc_qkmeans_options *options,
						   fc_arena *arena, fc_factors *factors, fc_qkmeans_step *step);

/* ---- how many values factors may hold, chosen by trial on a sample ---- */

/*
 * Random centroids are no product of few sparse factors, smooth or repeated
 * ones are; nothing but trying tells. So the start is factored at rising
 * sparsities and each product is compared, on the sample, with the start as it
 * is.
 */

/* An operator over the rows of a sample. */
typedef struct fc_measure
{
	double		objective;		/* SSE to the operator's rows */
	double		wcss;			/* SSE to the means of its labels */
	double		scatter;		/* SSE to the mean of all rows */
} fc_measure;

void		fc_measure_operator(const fc_operator *op, const fc_row_source *sample,
								fc_arena *arena, fc_measure *measure);

/* The same for k x d centroids as they are; as many bytes again. */
void		fc_measure_start(const double *start, const double *offset, size_t k,
							 size_t d, const fc_row_source *sample, fc_arena *arena,
							 fc_measure *measure);

/*
 * a / b, where sums below 1e-6 of the scatter count as that: clusters without
 * spread have no ratio.
 */
double		fc_measure_ratio(double a, double b, double scatter);

typedef struct fc_trial
{
	int			factors;
	int			sparsity;
	size_t		nonzeros;
	double		objective;		/* of the factored start / of the start */
	double		wcss;			/* the same of the means of the labels */
} fc_trial;

typedef struct fc_trials
{
	const fc_measure *dense;	/* of the start */
	size_t		most_bytes;		/* for a trial and for the steps after it */
	void		(*tried) (void *ctx, const fc_trial *trial);	/* or NULL */
	void	   *tried_ctx;
} fc_trials;

/* SSE over the start's that ends the search for a sparsity */
#define FC_CLOSE_SSE_RATIO		1.1

/* the same of FC_LARGE_CENTROIDS centroids, whose rows take long to label */
#define FC_NEAR_SSE_RATIO		1.5

/* SSE to the means of labels, over the start's, of labels that are as good */
#define FC_SAME_LABELS_SSE_RATIO	1.02

#define FC_LARGE_CENTROIDS	((size_t) 1 << 16)	/* k d */
#define FC_TRIAL_WORK	((double) (1 << 29))	/* multiplications of a sweep:
												 * sparsity^2 min(k, d) (k +
												 * d) */

/*
 * Sets factors, sparsity and budget of *options, given with sparsity and
 * budget 0. Two factors (measured: at equal values closer than more of them)
 * unless options->factors says how many; sparsity s = 2, 3, 4, 6, 9, 13 .. on
 * the longest factor and as many values for the other one, while the product
 * has fewer than k d values and a sweep fewer than FC_TRIAL_WORK
 * multiplications. Taken is the first that is within FC_CLOSE_SSE_RATIO of the
 * start's SSE on the sample. When none is: of FC_LARGE_CENTROIDS centroids the
 * closest, if within FC_NEAR_SSE_RATIO, or else the sparsest whose labels are
 * as good (FC_SAME_LABELS_SSE_RATIO); failing these, one factor of all k d
 * values. With options->factors given every factor has sparsity s, and the
 * closest of all is the last resort. options->log is not called.
 * options->warm_factors is the product that ended the search, in the arena, or
 * NULL.
 */
void
			fc_qkmeans_choose(const double *start, const double *offset, size_t k, size_t d,
							  const fc_row_source *sample, const fc_trials *trials,
							  fc_arena *arena, fc_qkmeans_options *options);

#endif							/* FC_FACTOR_QKMEANS_H */
