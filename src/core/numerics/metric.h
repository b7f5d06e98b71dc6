/*
 * metric.h - how rows and centroids are compared, and the one way in which a
 * row comes onto the unit sphere.
 *
 *     euclidean       ||x - c||
 *     cosine          ||x / ||x|| - c||, centroids of length 1: the angle
 *                     alone counts
 *     inner_product   -x . c, for labels only
 *
 * Everything that measures by cosine takes rows from fc_unit_row, so that
 * sketches, labels and sums of a row agree.
 */
#ifndef FC_NUMERICS_METRIC_H
#define FC_NUMERICS_METRIC_H

#include "base/fc.h"

typedef enum fc_metric
{
	FC_EUCLIDEAN = 0,
	FC_COSINE = 1,
	FC_INNER_PRODUCT = 2
} fc_metric;
#define FC_METRICS 3

const char *fc_metric_name(fc_metric metric);

/*
 * The public distance of a row and a centroid, 1 - cos or -x . c, from that of
 * fc_operator_distance.
 */
double		fc_metric_distance(fc_metric metric, double measured);

/*
 * unit = x / ||x||, the length in double, each quotient rounded once: the same
 * bits on every processor and wherever the row stands. unit may be x; where a
 * value is not finite, one of the unit's is not. False, and unit is undefined,
 * for a zero vector, which has no direction.
 */
bool		fc_unit_row(const double *x, size_t d, double *unit);

/* The same of floats. */
bool		fc_unit_float_row(const float *x, size_t d, double *unit);

/*
 * The same, to the bit, of a row that is 0 but for `count` floats (as doubles)
 * at indices that rise; in place.
 */
bool		fc_unit_sparse_row(const uint32_t *indices, size_t count, double *values);

#endif							/* FC_NUMERICS_METRIC_H */
