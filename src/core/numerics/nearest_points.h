/* nearest_points.h - for each of many points the nearest of many others */
#ifndef FC_NUMERICS_NEAREST_POINTS_H
#define FC_NUMERICS_NEAREST_POINTS_H

#include "base/fc.h"

/* Bytes for points among at most k. */
size_t		fc_nearest_points_worksize(size_t k, size_t d);

/*
 * nearest[i]: the number of the nearest of k centroids (k x d) to point i (n x d), lowest of equals; centroids that differ by less
 * than the rounding of floats of their distance from the origin may stand for each other.
 */
void		fc_nearest_points(const double *points, size_t n, const double *centroids, size_t k, size_t d,
							  fc_arena *arena, int32_t *nearest);

#endif							/* FC_NUMERICS_NEAREST_POINTS_H */
