/* residual.h - how well centroids explain a sketch */
#ifndef FC_SKETCH_RESIDUAL_H
#define FC_SKETCH_RESIDUAL_H

#include "sketch/sketch.h"

/*
 * ||z - sum_j w_j E phi(N(c_j, s_j^2 I))|| / ||z||, w the weights normalised: how far the
 * sketch is from the mixture the clusters describe.  centroids are k x d in user units, spreads
 * (k) deviations per dimension in units of the spec's x'.
 */
fc_status	fc_fit_residual(const fc_sketch *sketch, const double *centroids, const double *weights,
							const double *spreads, size_t k, fc_arena *arena, double *residual);

#endif							/* FC_SKETCH_RESIDUAL_H */
