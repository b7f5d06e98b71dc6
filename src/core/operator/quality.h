/*
 * quality.h - how compact and how well separated clusters are, from weighted rows, which are the centroids of another operator.
 *
 * a_i and b_i are the distances of row i to its nearest centroid and to the next one, w_i its weight, m the mean of all rows:
 *     silhouette = mean of (b_i - a_i) / b_i                       (simplified: Hruschka, de Castro, Campello 2004)
 *     davies_bouldin = max_l (S_j + S_l) / ||c_j - c_l||,  S_j = mean of a_i  (Davies, Bouldin 1979)
 *     spread = sqrt(mean of a_i^2 / d)
 *     explained = 1 - sum w_i a_i^2 / sum w_i ||x_i - m||^2
 * each over the rows of a cluster.  Those of all clusters are over all rows; the index is then the mean of the clusters that have rows.
 */
#ifndef FC_OPERATOR_QUALITY_H
#define FC_OPERATOR_QUALITY_H

#include "operator/operator.h"

/* What is not defined is NAN: all but weight without rows, silhouette and davies_bouldin of a single cluster, explained of equal rows. */
typedef struct fc_quality
{
	double		weight;
	double		silhouette;
	double		davies_bouldin;
	double		spread;
	double		explained;
} fc_quality;

/*
 * max_{l != i} (sums_i / weights_i + sums_l / weights_l) / ||c_i - c_l|| over clusters with weight; 0 where there is no other.
 * centroids: k x d.
 */
void		fc_davies_bouldin_of(const double *centroids, size_t k, size_t d, size_t i, const double *weights, const double *sums,
								 double *worst);

/*
 * Each of op's k clusters, and all of them; rows->k rows of op->d.  scratch: fc_quality_scratch.  Cost: two distances to all centroids
 * a row, and k^2 d.
 */
size_t		fc_quality_scratch(const fc_operator *op, const fc_operator *rows);
fc_status	fc_quality_measure(const fc_operator *op, const fc_operator *rows, fc_scratch scratch, fc_arena *arena,
							   fc_quality *clusters, fc_quality *all);

#endif							/* FC_OPERATOR_QUALITY_H */
