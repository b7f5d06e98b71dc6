/*
 * qkmeans.h - QK-means: k-means whose centroids are a product of sparse factors
 * (Giffon et al. 2019, Alg. 1).
 *
 * Each iteration assigns every row with V = lambda S_1 .. S_Q, takes the means u_j and sizes n_j of the
 * clusters, and improves the factors by palm4MSA on
 *     sum_j n_j ||u_j - o - lambda (S_1 .. S_Q)_j||^2
 * from where they are.  As sum ||x - v_j||^2 = sum ||x - u_j||^2 + n_j ||u_j - v_j||^2 over a cluster's rows,
 * neither half of an iteration raises the objective sum_x min_j ||x - o - v_j||^2.
 *
 * The rows are the caller's: this file sees them through two callbacks.
 */
#ifndef FC_FACTOR_QKMEANS_H
#define FC_FACTOR_QKMEANS_H

#include "factor/factorize.h"

typedef struct fc_row_source
{
	void	   *ctx;

	/* One scan: *sse of op over the rows; per cluster the weight of its rows and (k x d) their means. */
	fc_status	(*scan) (void *ctx, const fc_operator *op, double *sse, double *weights, double *means);

	/* The `count` rows, of all or of a sample, farthest from their centroids, farthest first; how many there are into *found. */
	fc_status	(*farthest) (void *ctx, const fc_operator *op, size_t count, double *rows, size_t *found);
} fc_row_source;

typedef struct fc_qkmeans_step
{
	int			iteration;		/* 0: the start */
	double		objective;		/* SSE of the rows to the operator's own rows */
	double		wcss;			/* SSE to the means of its labels */
	size_t		nonzeros;
	size_t		empty;			/* clusters without rows */
} fc_qkmeans_step;

/* k d up to which AUTO tries the hierarchical start, which costs up to a hundred times more. */
#define FC_QKMEANS_HIERARCHICAL	((size_t) 1 << 18)

typedef struct fc_qkmeans_options
{
	int			iterations;		/* 10 */
	double		tolerance;		/* stop when the objective falls by less, relative; 1e-6 */
	int			factors;		/* as in factorize.h */
	int			sparsity;
	double		budget;
	fc_method	start;			/* how the start is factored: PALM4MSA, HIERARCHICAL, or AUTO, the better of the two */
	const fc_factors *warm_factors;	/* the start factored already, with these constraints, or NULL */
	int			start_sweeps;	/* of each palm4MSA of the start; 50 */
	fc_palm_options palm;		/* of an iteration: 10 sweeps at most, tolerance 1e-2 */
	void		(*log) (void *ctx, const fc_qkmeans_step *step, const fc_operator *op);	/* after each scan of op, or NULL */
	void	   *log_ctx;
} fc_qkmeans_options;

fc_qkmeans_options fc_qkmeans_defaults(void);

/* How many factors there will be. */
size_t		fc_qkmeans_factors(size_t k, size_t d, const fc_qkmeans_options *options);

/* What an arena holds, the result included. */
size_t		fc_qkmeans_worksize(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * start: k x d centroids; offset: d, kept as the operator's.  out: views into the arena, with
 * the sizes of the clusters as weights; from: filled, the errors those of the operator against the
 * means of its labels.  A cluster without rows is given the farthest row that the source finds,
 * if the objective does not rise for it.
 */
fc_status	fc_qkmeans(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *source,
					   const fc_qkmeans_options *options, fc_arena *arena,
					   fc_operator *out, fc_factorization *from);

/* Iteration 0 alone: the start factored, in the arena, and what one scan says of it. */
fc_status	fc_qkmeans_try(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *source,
						   const fc_qkmeans_options *options, fc_arena *arena,
						   fc_factors *factors, fc_qkmeans_step *step);

#endif							/* FC_FACTOR_QKMEANS_H */
