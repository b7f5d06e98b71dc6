/*
 * selection.h - partitions row indices by one coordinate (quickselect with the
 * median of three and three-way partitions), and selects the rows of a sample
 * that are not outliers.
 *
 * Partitioning takes time linear in the number of rows, or log2(n) times as
 * long if the values first rise and then fall along the index array. Hoare
 * 1961 (FIND); Dijkstra 1976 (the Dutch national flag).
 */
#ifndef FC_NUMERICS_SELECTION_H
#define FC_NUMERICS_SELECTION_H

#include "base/fc.h"

/* One coordinate of rows: row r has value x[r * d]. */
typedef struct fc_coordinate
{
	const float *x;
	size_t		d;
} fc_coordinate;

/*
 * Permutes entries first .. last - 1 of `order`, an array of row indices, so
 * that no entry before `place` has a greater value than any entry from `place`
 * on.
 */
void		fc_partition_rows(fc_coordinate c, uint32_t *order, size_t first, size_t last,
							  size_t place);

/*
 * Writes to `inliers`, in ascending order, the indices of the rows that are
 * nearest to the median and together have the share `fraction` of the weight.
 * Distances are in units of the median absolute deviation. Rows of weight 0
 * are left out. *count is the number of inliers. A NULL weight means weights
 * of 1. The caller ensures that the weights sum to more than 0.
 */
void		fc_trim(const double *x, const double *weight, size_t rows, size_t d,
					double fraction, fc_arena *arena, size_t *inliers, size_t *count);

#endif							/* FC_NUMERICS_SELECTION_H */
