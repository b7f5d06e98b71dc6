/*
 * qkmeans.h - QK-means: k-means whose centroids are a product of sparse
 * factors (Giffon et al. 2019, Alg. 1).
 *
 * Let o be the offset and V = lambda S_1 .. S_Q the product, whose rows are
 * v_j. Each iteration assigns every row to its nearest centroid o + v_j, takes
 * the means u_j and sizes n_j of the clusters, and improves the current
 * factors by palm4MSA on
 *     sum_j n_j ||u_j - o - lambda (S_1 .. S_Q)_j||^2
 * For the rows of a cluster, sum ||x - o - v_j||^2 = sum ||x - u_j||^2 + n_j
 * ||u_j - o - v_j||^2. Hence neither the assignment nor palm4MSA raises the
 * objective sum_x min_j ||x - o - v_j||^2.
 *
 * The caller owns the rows; this file reads them through two callbacks. The
 * squared distances between rows must be finite.
 */
#ifndef FC_FACTOR_QKMEANS_H
#define FC_FACTOR_QKMEANS_H

#include "factor/factorize.h"

/*
 * Small clusters, counted from the cluster weights. Clusters have collapsed if
 * more than a quarter of them have one row or none, although there are at
 * least 4 rows per cluster on average.
 */
typedef struct fc_small_clusters
{
	size_t		empty;			/* number of clusters without rows */
	size_t		single;			/* number of other clusters with a weight of
								 * at most 1, a single row */
	double		largest;		/* share of the rows in the largest cluster */
	bool		collapsed;
}			fc_small_clusters;

fc_small_clusters fc_count_small(const double *weights, size_t k);

/*
 * Returns an upper bound on the number of bytes that splitting clusters by
 * means of n sample rows takes from the arena.
 */
size_t		fc_split_worksize(size_t n, size_t k, size_t d);

typedef struct fc_row_source
{
	void	   *ctx;

	/*
	 * scans the rows once; computes the sum of their squared distances to the
	 * centroids of op, and the weight and mean (k x d) of each cluster
	 */
	void		(*scan) (void *ctx, const fc_operator *op, double *sse, double *weights,
						 double *means);

	/*
	 * rows (sample_rows x d) with which large clusters are split, whose mean
	 * is close to the offset; sample_rows is 0 if clusters are never split
	 */
	const double *sample;
	size_t		sample_rows;

	/*
	 * finds the `count` rows that are farthest from their centroids, among
	 * all rows or a sample, farthest first; sets *found to the number of rows
	 * found
	 */
	void		(*farthest) (void *ctx, const fc_operator *op, size_t count,
							 double *rows, size_t *found);
} fc_row_source;

typedef struct fc_qkmeans_step
{
	int			iteration;		/* index of the iteration, 0 for the start */
	double		objective;		/* sum of squared distances of the rows to the
								 * centroids of the operator */
	double		wcss;			/* sum of squared distances of the rows to the
								 * means of their clusters */
	size_t		nonzeros;
	size_t		empty;			/* number of clusters without rows */
} fc_qkmeans_step;

/*
 * Maximum k d for which AUTO also tries the hierarchical start, which costs up
 * to a hundred times as much as plain palm4MSA. A guess.
 */
#define FC_QKMEANS_HIERARCHICAL	((size_t) 1 << 18)

typedef struct fc_qkmeans_options
{
	int			iterations;		/* maximum number of iterations; default 10 */
	double		tolerance;		/* minimum relative decrease of the objective
								 * per iteration; default 1e-6 */
	int			factors;		/* factors, sparsity and budget are defined as
								 * in fc_factorize_options */
	int			sparsity;
	double		budget;

	/*
	 * method that factors the initial centroids: PALM4MSA, HIERARCHICAL, or
	 * AUTO, the better of the two
	 */
	fc_method	start;

	/*
	 * factors of the initial centroids that meet the constraints; NULL:
	 * factors are computed
	 */
	const fc_factors *warm_factors;
	int			start_sweeps;	/* maximum sweeps of each palm4MSA that
								 * factors the initial centroids; default 50 */
	fc_palm_options palm;		/* options of palm4MSA in an iteration;
								 * default 10 sweeps, tolerance 1e-2 */
	/* called after each iteration with its operator, or NULL */
	void		(*log) (void *ctx, const fc_qkmeans_step *step, const fc_operator *op);
	void	   *log_ctx;
} fc_qkmeans_options;

/*
 * fc_qkmeans_defaults returns the default options. fc_qkmeans_published
 * returns the options of Giffon et al. with sparsity 2: log2(min(k, d))
 * factors, the hierarchical start, and palm4MSA as printed with 300 sweeps and
 * tolerance 1e-6. Empty clusters then stay empty.
 */
fc_qkmeans_options fc_qkmeans_defaults(void);
fc_qkmeans_options fc_qkmeans_published(void);

/* Returns the number of factors that the options imply. */
size_t		fc_qkmeans_factors(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * Returns the estimated number of multiply-adds of QK-means on n rows, without
 * the k-means that computes its start.
 */
double		fc_qkmeans_operations(size_t n, size_t k, size_t d,
								  const fc_qkmeans_options *options);

/*
 * Returns an upper estimate of the number of bytes that QK-means takes from
 * the arena, including its result.
 */
size_t		fc_qkmeans_worksize(size_t k, size_t d, const fc_qkmeans_options *options);

/*
 * Runs QK-means. start has k x d centroids; offset (d values) becomes the
 * operator's offset. *out points into the arena; its weights are the sizes of
 * the clusters. *from receives the errors of the operator, relative to the
 * means of its clusters.
 *
 * An empty cluster receives one of the farthest rows that the source finds,
 * unless this raises the objective.
 *
 * If the clusters have collapsed (fc_small_clusters) and the source has a
 * sample, clusters with one row or none are replaced. For that, k-means splits
 * the largest clusters in the sample, and the new means are factored. If the
 * objective of their product is higher than before, the old product is
 * restored.
 */
void		fc_qkmeans(const double *start, const double *offset, size_t k, size_t d,
					   const fc_row_source *source, const fc_qkmeans_options *options,
					   fc_arena *arena, fc_operator *out, fc_factorization *from);

/*
 * Runs iteration 0 alone: factors the start and measures the product in one
 * scan. *factors points into the arena.
 */
void		fc_qkmeans_try(const double *start, const double *offset, size_t k, size_t d,
						   const fc_row_source *source, const fc_qkmeans_options *options,
						   fc_arena *arena, fc_factors *factors, fc_qkmeans_step *step);

/* ---- the number of values, chosen by trials on a sample ---- */

/*
 * A product of few sparse factors can approximate smooth or repetitive
 * centroids closely, but not random ones, and only a trial shows how closely.
 * The start is therefore factored with increasing sparsity, and each product
 * is compared with the unfactored start on the sample.
 */

/* Sums of squares of an operator over the rows of a sample. */
typedef struct fc_measure
{
	double		objective;		/* sum of squared distances of the rows to the
								 * centroids of the operator */
	double		wcss;			/* sum of squared distances of the rows to the
								 * means of their clusters */
	double		scatter;		/* sum of squared distances of the rows to the
								 * mean of all rows */
} fc_measure;

void		fc_measure_operator(const fc_operator *op, const fc_row_source *sample,
								fc_arena *arena, fc_measure *measure);

/*
 * Measures k x d unfactored centroids, which are copied to the arena as
 * floats.
 */
void		fc_measure_start(const double *start, const double *offset, size_t k,
							 size_t d, const fc_row_source *sample, fc_arena *arena,
							 fc_measure *measure);

/*
 * Returns the ratio a / b of two sums of squares. A divisor b below 1e-6 *
 * scatter is raised to that value. If a is below it, too, returns 1, because
 * clusters without spread have no meaningful ratio.
 */
double		fc_measure_ratio(double a, double b, double scatter);

typedef struct fc_trial
{
	int			factors;
	int			sparsity;
	size_t		nonzeros;
	double		objective;		/* SSE of the factored start, relative to the
								 * SSE of the unfactored start */
	double		wcss;			/* sum of squares around the means of its
								 * clusters, relative to the unfactored start */
} fc_trial;

typedef struct fc_trials
{
	const fc_measure *dense;	/* sums of squares of the unfactored start */
	size_t		max_bytes;		/* maximum memory in bytes of a trial and of
								 * the iterations after it */
	void		(*tried) (void *ctx, const fc_trial *trial);	/* called after each
																 * trial, or NULL */
	void	   *tried_ctx;
} fc_trials;

/*
 * SSE of a product, relative to the SSE of the unfactored centroids, at which
 * the trials of increasing sparsity end. A smaller ratio gives closer
 * products, which have more values and take longer (bench/factors.py,
 * bench/tuned.py).
 */
#define FC_CLOSE_SSE_RATIO	1.1

/*
 * Maximum SSE of an accepted product, relative to the SSE of the unfactored
 * centroids, if k d is at least FC_LARGE_CENTROIDS: labelling a row with
 * unfactored centroids of this size takes long. With a larger ratio, products
 * farther from the centroids are accepted. A guess.
 */
#define FC_NEAR_SSE_RATIO	1.5

/*
 * Maximum sum of squares around the means of the clusters of a product,
 * relative to the sum for the unfactored centroids, at which the labels of
 * both count as equally good. A larger ratio accepts products with fewer
 * values. A guess.
 */
#define FC_SAME_LABELS_SSE_RATIO	1.02

/* Minimum k d of large centroids. A guess. */
#define FC_LARGE_CENTROIDS	((size_t) 1 << 16)

/*
 * Maximum number of multiplications of a sweep, sparsity^2 min(k, d) (k + d).
 * A larger one allows trials of greater sparsity for a large k or d, which
 * take longer. A guess.
 */
#define FC_TRIAL_WORK	((double) (1 << 29))

/*
 * Chooses factors, sparsity and budget of *options; sparsity and budget must
 * be 0 on entry. options->log is not called.
 *
 * Trials factor the centroids in `start` with sparsity s = 2, 3, 4, 6, 9, 13
 * .. They end at the first close product, whose SSE on the sample is at most
 * FC_CLOSE_SSE_RATIO times the SSE of `start`. They also end when s would
 * exceed 24, when the product would have k d values or more, when a sweep
 * would need more than FC_TRIAL_WORK multiplications, or when memory would
 * exceed trials->max_bytes.
 *
 * If options->factors is 0, products have two factors, because products of
 * more factors with equally many values were measured to be farther from
 * `start`. s is the sparsity of the longer factor, and the other factor has as
 * many values. The result is the first of these that exists:
 *     the close product;
 *     if k d >= FC_LARGE_CENTROIDS, the product with the lowest SSE, provided
 *         that it is at most FC_NEAR_SSE_RATIO times the SSE of `start`;
 *     if k d >= FC_LARGE_CENTROIDS, the sparsest product with equally good
 *         labels (FC_SAME_LABELS_SSE_RATIO);
 *     one factor with all k d values.
 *
 * If options->factors is set, every factor has sparsity s, and the result is
 * the product with the lowest SSE. options->warm_factors receives the close
 * product, in the arena, or NULL if there is no such product.
 */
void		fc_qkmeans_choose(const double *start, const double *offset, size_t k, size_t d,
							  const fc_row_source *sample, const fc_trials *trials,
							  fc_arena *arena, fc_qkmeans_options *options);

#endif							/* FC_FACTOR_QKMEANS_H */
