/*
 * scan.h - one scan of QK-means over rows in memory: a step of Lloyd, and the rows farthest from their centroids.
 *
 * An operator is taken as it will be stored, so that a scan of memory and one by lloyd_step_agg round alike.
 */
#ifndef FC_FACTOR_SCAN_H
#define FC_FACTOR_SCAN_H

#include "operator/operator.h"

/* Bytes fc_scan_rows takes from its arena at most. */

/*
 * *sse of op over x (n x d); per cluster the weight of its rows and (k x d) their means.  FC_EFORMAT when the
 * factors are too large for floats.
 */
fc_status	fc_scan_rows(const fc_operator *op, const double *x, size_t n, fc_arena *arena,
						 double *sse, double *weights, double *means);

/* Bytes fc_farthest_rows takes from its arena at most. */

/*
 * The `count` rows farthest from their centroids, farthest first, ties in the order of a hash of their values, whatever
 * the order of x; *found: how many there are.
 */
fc_status	fc_farthest_rows(const fc_operator *op, const double *x, size_t n, size_t count, fc_arena *arena,
							 double *rows, size_t *found);

#endif							/* FC_FACTOR_SCAN_H */
