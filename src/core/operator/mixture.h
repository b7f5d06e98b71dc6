/*
 * mixture.h - the clusters of an operator as round Gaussians: how probable
 * each is for a row, and rows drawn from them.
 *
 * With weights w_j and deviations s_j per dimension:
 *     p_j = w_j s_j^-d exp(-||x - c_j||^2 / (2 s_j^2)) / sum_l (the same of l)
 * A deviation counts as at least FC_LEAST_SPREAD of the root of the weighted
 * mean of s^2. Where all s are 0, the nearest clusters share the probability
 * by their weights. The most probable cluster is the nearest one where weights
 * and deviations are equal.
 */
#ifndef FC_OPERATOR_MIXTURE_H
#define FC_OPERATOR_MIXTURE_H

#include "operator/operator.h"

#define FC_LEAST_SPREAD 1e-3

/*
 * p (k). x is d doubles; spreads are k, finite and not negative; scratch:
 * fc_operator_scratch. The sum is 1 to k roundings. Cost: k distances.
 */
void
			fc_operator_responsibilities(const fc_operator *op, const double *spreads,
										 const double *x, fc_scratch scratch, double *p);

/*
 * rows (count x op->d): a cluster by its weight, its centroid plus
 * spreads[cluster] (k, per dimension, at least 0) times standard normals. A
 * function of the seed alone. shares: room for k. FC_EWEIGHT without weight.
 */
fc_status	fc_operator_draw(const fc_operator *op, const double *spreads,
							 uint64_t seed, size_t count, fc_scratch scratch,
							 double *shares, double *rows);

#endif							/* FC_OPERATOR_MIXTURE_H */
