/*
 * responsibility.h - how probable each cluster is for a row.
 *
 * The clusters as round Gaussians of their weights w_j and deviations s_j per dimension:
 *     p_j = w_j s_j^-d exp(-||x - c_j||^2 / (2 s_j^2)) / sum_l (the same of l)
 * A deviation counts as at least FC_LEAST_SPREAD of the root of the weighted mean of s^2.  Where all s are 0, the nearest clusters
 * share the probability by their weights.  The most probable cluster is the nearest one where weights and deviations are equal.
 */
#ifndef FC_OPERATOR_RESPONSIBILITY_H
#define FC_OPERATOR_RESPONSIBILITY_H

#include "operator/operator.h"

#define FC_LEAST_SPREAD 1e-3

/*
 * p (k).  x is d doubles; spreads are k, finite and not negative; scratch: fc_operator_scratch.  The sum is 1 to k roundings.
 * Cost: k distances.
 */
void		fc_operator_responsibilities(const fc_operator *op, const double *spreads, const double *x, fc_scratch scratch, double *p);

#endif							/* FC_OPERATOR_RESPONSIBILITY_H */
