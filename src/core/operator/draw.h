/* draw.h - rows drawn from the clusters of an operator, as if each were a round normal cloud about its centroid. */
#ifndef FC_OPERATOR_DRAW_H
#define FC_OPERATOR_DRAW_H

#include "operator/operator.h"

/*
 * rows (count x op->d): a cluster by its weight, its centroid plus spreads[cluster] (k, per dimension, at least 0) times standard
 * normals.  A function of the seed alone.  shares: room for k.  FC_EWEIGHT without weight.
 */
fc_status	fc_operator_draw(const fc_operator *op, const double *spreads, uint64_t seed, size_t count,
							 fc_scratch scratch, double *shares, double *rows);

#endif							/* FC_OPERATOR_DRAW_H */
