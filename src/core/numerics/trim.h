/*
 * trim.h - which rows of a sample are not outliers.
 */
#ifndef FC_NUMERICS_TRIM_H
#define FC_NUMERICS_TRIM_H

#include "base/fc.h"

size_t		fc_trim_worksize(size_t rows, size_t d);

/*
 * inliers (rows) lists, in order, the rows of positive weight among the `fraction` of the
 * weight nearest to the median, in units of the median absolute deviation; count says
 * how many.  weight NULL means all 1.  FC_EEMPTY when the weights sum to 0.
 */
fc_status	fc_trim(const double *x, const double *weight, size_t rows, size_t d, double fraction,
					fc_arena *arena, size_t *inliers, size_t *count);

#endif							/* FC_NUMERICS_TRIM_H */
