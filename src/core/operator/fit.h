/*
 * fit.h - how well an operator fits weighted rows, and how well separated its
 * clusters are.
 *
 *     f_i = ||x_i - c_l(i)||^2,   mean = sum w_i f_i / W,   W = sum w_i
 *
 * l(i) is the label of row i. The rows are a sample of the rows of a table
 * (coreset.h), and w_i is the weight of the table's rows that row i
 * represents. The standard error of the mean is the error of its difference
 * from the mean over the table:
 *     sqrt(sum w_i (w_i - u_i) (f_i - mean)^2) / W
 * where u_i is the weight of row i itself: 1, or w_i / counts_i.
 *
 * Let a_i and b_i be the distances of row i to its nearest and its second
 * nearest centroid, w_i its weight, and m the mean of all rows:
 *     silhouette = mean of (b_i - a_i) / b_i
 *                  (simplified: Hruschka, de Castro, Campello 2004); 0 for
 *                  a cluster of a single row of weight 1 or less
 *     davies_bouldin = max_l (S_j + S_l) / ||c_j - c_l||, S_j = mean of a_i
 *                  (Davies, Bouldin 1979)
 *     spread = sqrt(mean of a_i^2 / d)
 *     explained = 1 - sum w_i a_i^2 / sum w_i ||x_i - m||^2
 * Means and sums are over the rows of one cluster. The totals are over all
 * rows; the total of davies_bouldin is the mean over the clusters that have
 * rows.
 */
#ifndef FC_OPERATOR_FIT_H
#define FC_OPERATOR_FIT_H

#include "numerics/weighted_rows.h"
#include "operator/operator.h"

/*
 * Maximum number of rows that are assigned together. A larger number is
 * faster, and needs more memory. A guess.
 */
#define FC_FIT_BATCH	64

/*
 * Computes the labels (-1: no cluster) of rows with op->d values, and the
 * squared distances to their nearest centroids. Missing values of a row are
 * left out of its distances if fc_partial_suits (partial.h); otherwise they
 * are replaced by fill values. scratch has fc_fit_scratch floats, batch
 * FC_FIT_BATCH x d doubles.
 */
size_t		fc_fit_scratch(const fc_operator *op);
void		fc_fit_rows(const fc_operator *op, const fc_weighted_rows *rows,
						fc_scratch scratch, double *batch, int32_t *labels,
						double *squares);

typedef struct fc_fit
{
	size_t		n;
	size_t		k;				/* number of clusters; labels are 0 .. k - 1 */
	const double *weights;
	const int32_t *labels;
	const double *squares;

	/*
	 * n values: d / number of observed values of the row, which multiplies
	 * its squared distance where rows are compared with each other. NULL: no
	 * value is missing
	 */
	const double *factors;
	const double *counts;		/* n values: `counts` of fc_weighted_rows;
								 * NULL: u_i is 1 */
} fc_fit;

/* Returns the squared distance of row i, multiplied by its factor. */
static inline double
fc_fit_square(const fc_fit *fit, size_t i)
{
	return fit->factors == NULL ? fit->squares[i] : fit->squares[i] * fit->factors[i];
}

/*
 * Computes the mean of f and its standard error. cluster_weights receives the
 * weight of each of k clusters. cluster_means receives the mean of f times
 * factor over the rows of each cluster; a cluster without rows gets the mean
 * of all rows.
 */
void		fc_fit_means(const fc_fit *fit, double *mean, double *error,
						 double *cluster_means, double *cluster_weights);

/*
 * Computes the quantiles of sqrt(f times factor) for `count` ascending
 * probabilities in places, 0 to 1. They are the quantiles of percentile_cont
 * if all weights are 1.
 */
void		fc_fit_quantiles(const fc_fit *fit, const double *places, size_t count,
							 fc_arena *arena, double *quantiles);

/*
 * Comparison of two operators on the same rows. mean_a and mean_b are trimmed
 * means of f: each leaves out the rows farthest from their centroids, with the
 * fraction `trim` of W. error is the standard error of the difference of the
 * untrimmed means, if the rows are independent draws from one distribution:
 * sqrt(sum w^2 (f_a - f_b - mean(f_a - f_b))^2) / W. changed is the fraction
 * of W with different labels.
 */
typedef struct fc_comparison
{
	double		mean_a;
	double		mean_b;
	double		error;
	double		changed;
} fc_comparison;

void		fc_fit_compare(const fc_fit *a, const fc_fit *b, double trim,
						   fc_arena *arena, fc_comparison *result);

/* ---- clusters ---- */

/*
 * Quality of one cluster or of all. Undefined measures are NAN. If there are
 * no rows, only weight is defined. If there is one cluster, silhouette and
 * davies_bouldin are undefined. If all rows are equal, explained is undefined.
 */
typedef struct fc_quality
{
	double		weight;
	double		silhouette;
	double		davies_bouldin;
	double		spread;
	double		explained;
} fc_quality;

/*
 * Returns the mean, over the clusters i of positive weight, of max_{l != i}
 * (sums_i / weights_i + sums_l / weights_l) / ||c_i - c_l||; 0 if there is no
 * other cluster. centroids: k x d. sums: k sums of the weighted distances of
 * rows to their centroid. worst (k, or NULL) receives the maximum of each
 * cluster.
 */
double		fc_davies_bouldin(const double *centroids, size_t k, size_t d,
							  const double *weights, const double *sums, double *worst);

/*
 * Computes the quality of each of op's k clusters, and of all together; rows
 * have op->d values. scratch has fc_fit_scratch floats. Cost: finding the two
 * nearest centroids of each row, and k^2 d multiply-adds.
 */
void		fc_quality_measure(const fc_operator *op, const fc_weighted_rows *rows,
							   fc_scratch scratch, fc_arena *arena,
							   fc_quality *clusters, fc_quality *all);

/* ---- a search through buckets ---- */

/*
 * The recall of a search through buckets.
 *
 * Each row is in the bucket of its nearest centroid. A query reads the rows of
 * the `probes` buckets with the nearest centroids. Its recall is the share of
 * its nearest rows found in these buckets.
 */
typedef struct fc_search
{
	size_t		queries;		/* number of queries, 1 .. rows; the queries
								 * are the first rows, and no query finds
								 * itself */

	/*
	 * number of nearest rows to find, 1 .. rows - 1. A number that is not an
	 * integer is rounded up, and its fraction is the weight of the last row
	 */
	double		neighbours;
	size_t		probes;			/* number of buckets read per query, 1 .. k */
} fc_search;

typedef struct fc_search_result
{
	double		recall;			/* mean recall of the queries, 0 .. 1 */
	double		read;			/* mean share of the rows that a query reads,
								 * 0 .. 1 */
	int32_t    *label;			/* rows->n: bucket of each row; the caller
								 * provides label, count and square */
	double	   *count;			/* k: number of rows per bucket */
	double	   *square;			/* k: sum of the squared distances of each
								 * bucket's rows to its centroid */
} fc_search_result;

/*
 * Measures the recall for the rows, ignoring their weights. The nearest rows
 * are found by float products: among rows whose distances agree up to
 * rounding, either may count. Time: queries x rows x d.
 */
void		fc_search_recall(const fc_operator *op, const fc_weighted_rows *rows,
							 const fc_search *search, fc_arena *arena,
							 fc_search_result *result);

#endif							/* FC_OPERATOR_FIT_H */
