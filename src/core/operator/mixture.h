/*
 * mixture.h - the clusters of an operator as round Gaussians: how probable
 * each is for a row, and random rows of the mixture.
 *
 * With weights w_j and deviations s_j per dimension:
 *     p_j = u_j / sum_l u_l,  u_j = w_j s_j^-d exp(-||x - c_j||^2 / (2 s_j^2))
 * A deviation is raised to FC_MIN_SPREAD times the root of the weighted mean
 * of s^2 if it is smaller. Where all s are 0, the nearest clusters share the
 * probability by their weights. The most probable cluster is the nearest one
 * where weights and deviations are equal.
 */
#ifndef FC_OPERATOR_MIXTURE_H
#define FC_OPERATOR_MIXTURE_H

#include "operator/operator.h"

#define FC_MIN_SPREAD 1e-3

/*
 * Computes p (k) of x (d doubles). spreads are k values, finite and not
 * negative; scratch: fc_operator_scratch. The sum is 1 up to k roundings.
 * Cost: k distances.
 */
void
			fc_operator_responsibilities(const fc_operator *op, const double *spreads,
										 const double *x, fc_scratch scratch, double *p);

/*
 * Draws rows (count x op->d): a cluster by its weight, then its centroid plus
 * spreads[cluster] (k, per dimension, not negative) times standard normals.
 * The rows depend on the seed alone. shares: room for k. Returns FC_EWEIGHT if
 * the weights are all 0.
 */
fc_status	fc_operator_draw(const fc_operator *op, const double *spreads,
							 uint64_t seed, size_t count, fc_scratch scratch,
							 double *shares, double *rows);

#endif							/* FC_OPERATOR_MIXTURE_H */
