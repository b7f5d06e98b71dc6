/*
 * metric.h - how rows and centroids are compared, and how a row is scaled to
 * unit length.
 *
 *     euclidean       ||x - c||
 *     cosine          ||x / ||x|| - c|| with centroids of length 1, so that only
 *                     the angle between x and c counts
 *     inner_product   -x . c, for labels only
 *
 * All code for the cosine metric scales rows by fc_unit_row, so that the
 * sketch, the label and the sums of a row agree.
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
 * Returns the distance shown to users, given the result of
 * fc_operator_distance; for cosine it is 1 - cos, for inner_product -x . c.
 */
double		fc_metric_distance(fc_metric metric, double measured);

/*
 * Computes unit = x / ||x||, with the length in double and each quotient
 * rounded once. A row gives the same bits on every processor, however it is
 * stored. unit may be x. If a value of x is not finite, a value of unit is not
 * finite either. Returns false, with unit undefined, for a zero vector, which
 * has no direction.
 */
bool		fc_unit_row(const double *x, size_t d, double *unit);

/* Computes the unit row of a row of floats; see fc_unit_row. */
bool		fc_unit_float_row(const float *x, size_t d, double *unit);

/*
 * Scales a sparse row to unit length in place, to the same bits as
 * fc_unit_row. The row has `count` floats (as doubles) at ascending indices,
 * and 0 elsewhere. Returns false for a zero vector.
 */
bool		fc_unit_sparse_row(const uint32_t *indices, size_t count, double *values);

#endif							/* FC_NUMERICS_METRIC_H */
