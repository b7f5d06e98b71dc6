/*
 * plane.h - the centroids of an operator on a plane, for pictures.
 *
 *     m = sum w_j c_j / W,   p_j = (a . (c_j - m), b . (c_j - m))
 *
 * a and b are the principal axes of the centroids, each counted w_j times: no other plane shows a larger share
 *     sum w_j ||p_j||^2 / sum w_j ||c_j - m||^2
 * of what separates the clusters.
 */
#ifndef FC_OPERATOR_PLANE_H
#define FC_OPERATOR_PLANE_H

#include "operator/operator.h"

/* Bytes fc_operator_plane takes from its arena. */

/*
 * places (k x 2) = p_j, to the rounding of float products; shown: the share of each axis, both 0 where all
 * centroids are one point.  In one dimension there is no b: the second coordinates are 0.  Weights that add up to 0 or
 * to no finite number count as equal.  FC_ENUMERIC.
 */
fc_status	fc_operator_plane(const fc_operator *op, fc_arena *arena, double *places, double shown[2]);

#endif							/* FC_OPERATOR_PLANE_H */
