/*
 * mixture.h - the clusters of an operator as spherical Gaussians: the
 * probability of each cluster for a row, and random rows of the mixture.
 *
 * With weights w_j and standard deviations s_j per dimension:
 *     p_j = u_j / sum_l u_l,  u_j = w_j s_j^-d exp(-||x - c_j||^2 / (2 s_j^2))
 * A standard deviation is raised to FC_MIN_SPREAD times the square root of the
 * weighted mean of s^2 if it is smaller. If all s are 0, the nearest clusters
 * have probabilities in proportion to their weights. If weights and deviations
 * are equal, the most probable cluster is the nearest one.
 */
#ifndef FC_OPERATOR_MIXTURE_H
#define FC_OPERATOR_MIXTURE_H

#include "operator/operator.h"

/*
 * Minimum standard deviation of a cluster, relative to the square root of the
 * weighted mean of s^2. A smaller one gives the rows of tight clusters
 * probabilities of exactly 0 and 1. A guess.
 */
#define FC_MIN_SPREAD	1e-3

/*
 * Sets p (k values) to the probabilities of the clusters for row x (d
 * doubles). A missing value is NaN, which is allowed if fc_partial_suits. In
 * the formula above, d is then the number of observed values. spreads are the
 * k standard deviations s_j, finite and not negative; scratch has
 * fc_operator_scratch floats. The sum of p is 1 up to k roundings. Cost: k
 * distances.
 */
void		fc_operator_responsibilities(const fc_operator *op, const double *spreads,
										 const double *x, fc_scratch scratch, double *p);

/*
 * Number of virtual rows that fc_relative_distance adds to each cluster. Their
 * variance is between the variance of the cluster and the common variance. A
 * larger number moves the scales of clusters with few rows closer to the
 * common scale. With 0, a cluster of equal rows has no scale. A guess.
 */
#define FC_COMMON_ROWS	10.0

/* Returns the mean of s_j^2, weighted by w_j; 0 if all weights are 0. */
double		fc_common_square(const double *weights, const double *spreads, size_t k);

/*
 * Returns the distance of a row from its nearest centroid j in units of a
 * standard deviation s. s is between the standard deviation s_j of the cluster
 * and the common one, c:
 *
 *     sqrt(square / (d s^2)),
 *     s^2 = (w_j t^2 + FC_COMMON_ROWS t c) / (w_j + FC_COMMON_ROWS),
 *     t = max(s_j, FC_MIN_SPREAD c),   c^2 = common
 *
 * The FC_COMMON_ROWS virtual rows have the variance t c, the geometric mean of
 * t^2 and c^2: the variance c^2 would blur a cluster that is a hundred times as
 * tight as others. Returns 0 if the row equals the centroid up to rounding;
 * otherwise infinity if s is 0. weight is w_j, spread is s_j, common is the
 * result of fc_common_square, and square is the squared distance of the row.
 */
double		fc_relative_distance(const fc_operator *op, size_t j, double weight,
								 double spread, double common, double square);

/*
 * Draws rows (count x op->d). For each row, draws a cluster with a probability
 * in proportion to its weight, and adds spreads[cluster] times standard normal
 * variates to its centroid. spreads holds k standard deviations per dimension,
 * not negative. The rows depend on the seed alone. shares is scratch space for
 * k values. Returns FC_EWEIGHT if the weights are all 0.
 */
fc_status	fc_operator_draw(const fc_operator *op, const double *spreads,
							 uint64_t seed, size_t count, fc_scratch scratch,
							 double *shares, double *rows);

#endif							/* FC_OPERATOR_MIXTURE_H */
