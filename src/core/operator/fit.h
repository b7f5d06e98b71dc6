/*
 * fit.h - how well an operator fits weighted rows, and how well separated its
 * clusters are.
 *
 *     f_i = ||x_i - c_l(i)||^2,   mean = sum w_i f_i / W,   W = sum w_i
 *
 * The rows stand for W rows (coreset.h). The standard error of the mean is
 * that of its difference from the mean of all of those:
 *     sqrt(sum w_i (w_i - 1) (f_i - mean)^2) / W
 *
 * a_i and b_i are the distances of row i to its nearest centroid and to the
 * next one, w_i its weight, m the mean of all rows:
 *     silhouette = mean of (b_i - a_i) / b_i
 *                  (simplified: Hruschka, de Castro, Campello 2004)
 *     davies_bouldin = max_l (S_j + S_l) / ||c_j - c_l||, S_j = mean of a_i
 *                  (Davies, Bouldin 1979)
 *     spread = sqrt(mean of a_i^2 / d)
 *     explained = 1 - sum w_i a_i^2 / sum w_i ||x_i - m||^2
 * each over the rows of a cluster. Those of all clusters are over all rows;
 * the index is then the mean of the clusters that have rows.
 */
#ifndef FC_OPERATOR_FIT_H
#define FC_OPERATOR_FIT_H

#include "numerics/weighted_rows.h"
#include "operator/operator.h"

#define FC_FIT_BATCH	64		/* rows that are assigned together */

/*
 * Labels, -1 of no cluster, and squared distances to the nearest centroids, of
 * the rows (n of op->d); scratch: fc_fit_scratch floats; batch: FC_FIT_BATCH x
 * d doubles.
 */
size_t		fc_fit_scratch(const fc_operator *op);
void		fc_fit_rows(const fc_operator *op, const fc_weighted_rows *rows,
						fc_scratch scratch, double *batch, int32_t *labels,
						double *squares);

typedef struct fc_fit
{
	size_t		n;
	size_t		k;				/* labels of the operator */
	const double *weights;
	const int32_t *labels;
	const double *squares;
} fc_fit;

/*
 * Mean, its standard error, and of each of k clusters the mean (that of all
 * where it has no rows) and the weight.
 */
void		fc_fit_means(const fc_fit *fit, double *mean, double *error,
						 double *cluster_means, double *cluster_weights);

/*
 * Quantiles of sqrt(f) at `count` places, from 0 to 1 and ascending, as
 * percentile_cont for weights of 1.
 */
void		fc_fit_quantiles(const fc_fit *fit, const double *places, size_t count,
							 fc_arena *arena, double *quantiles);

/*
 * Two operators on the same rows. The means leave out the share `trim` of W
 * that is farthest from each; error is the standard error of the difference of
 * the means as those of rows of the same law, sqrt(sum w^2 (f_a - f_b - their
 * mean)^2) / W; changed is the share of W with another label.
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
 * Undefined figures are NAN: all but weight without rows, silhouette and
 * davies_bouldin of a single cluster, explained of equal rows.
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
 * The mean over clusters of weight of max_{l != i} (sums_i / weights_i +
 * sums_l / weights_l) / ||c_i - c_l||; 0 where there is no other. centroids: k
 * x d. worst (k, or NULL): those of the clusters.
 */
double
			fc_davies_bouldin(const double *centroids, size_t k, size_t d,
							  const double *weights, const double *sums, double *worst);

/*
 * Each of op's k clusters, and all of them; the rows are of op->d. scratch:
 * fc_fit_scratch. Cost: two distances to all centroids a row, and k^2 d.
 */
void		fc_quality_measure(const fc_operator *op, const fc_weighted_rows *rows,
							   fc_scratch scratch, fc_arena *arena,
							   fc_quality *clusters, fc_quality *all);

/* ---- a search through buckets ---- */

/*
 * The recall of a search through buckets.
 *
 * Each row is in the bucket of its nearest centroid. A query reads the rows of
 * the `probes` buckets whose centroids are nearest to it. Its recall is the
 * part of its nearest rows that lie there.
 */
typedef struct fc_search
{
	size_t		queries;		/* the first so many rows ask, 1 .. rows; none
								 * finds itself */

	/*
	 * how many nearest rows count, 1 .. rows - 1; a fraction counts the last
	 * one in part
	 */
	double		neighbours;
	size_t		probes;			/* 1 .. k */
} fc_search;

typedef struct fc_search_result
{
	double		recall;			/* 0 .. 1, the mean of the queries */
	double		read;			/* the mean part of the rows that a query
								 * reads */
	int32_t    *label;			/* rows->n: their buckets; this and the next
								 * two from the caller */
	double	   *count;			/* k: rows of a bucket */
	double	   *square;			/* k: the sum of their squared distances to
								 * its centroid */
} fc_search_result;

/*
 * Of the rows that `rows` stands for. The nearest of them are found by
 * products of floats: of two at distances that agree to rounding either may
 * count. Time: queries x rows x d.
 */
void		fc_search_recall(const fc_operator *op, const fc_weighted_rows *rows,
							 const fc_search *search, fc_arena *arena,
							 fc_search_result *result);

#endif							/* FC_OPERATOR_FIT_H */
