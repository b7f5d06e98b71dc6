/*
 * selection.h - numbers partitioned around a place in their order, through an
 * index: quickselect with the median of three, three ways; and the rows of a
 * sample that are not outliers.
 *
 * Time is linear in the count; log2(n) times that when the numbers rise and
 * fall again. Hoare 1961 (FIND); Dijkstra 1976 (the Dutch national flag).
 */
#ifndef FC_NUMERICS_SELECTION_H
#define FC_NUMERICS_SELECTION_H

#include "base/fc.h"

/* One coordinate of rows: row r has value x[r d]. */
typedef struct fc_coordinate
{
	const float *x;
	size_t		d;
} fc_coordinate;

/*
 * Permutes entries first .. last - 1 of order, numbers of rows, so that no
 * entry before `place` has a greater value than any entry from `place` on.
 */
void		fc_partition_rows(fc_coordinate c, uint32_t *order, size_t first, size_t last,
							  size_t place);

/*
 * Lists in inliers (rows), in order, the rows of positive weight among the
 * `fraction` of the weight nearest to the median, in units of the median
 * absolute deviation; count is their number. A NULL weight means weights of 1.
 * The caller ensures that the weights sum to more than 0.
 */
void		fc_trim(const double *x, const double *weight, size_t rows, size_t d,
					double fraction, fc_arena *arena, size_t *inliers, size_t *count);

#endif							/* FC_NUMERICS_SELECTION_H */
