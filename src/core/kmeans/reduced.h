/*
 * reduced.h - wide rows on their leading principal axes.
 *
 * The centroids of k separated clusters lie on k - 1 axes, which are the leading ones where clusters are farther apart than
 * rows are noisy in any one direction (Ding & He 2004).  What is left out is noise: a search there is quicker by
 * d / axes, and meets fewer false minima.
 */
#ifndef FC_KMEANS_REDUCED_H
#define FC_KMEANS_REDUCED_H

#include "kmeans/kmeans.h"

#define FC_REDUCED_WIDE		128	/* from so many dimensions on */

/* Axes for so many clusters; d where rows are not wide, or the axes not few. */
size_t		fc_reduced_axes(size_t d, size_t clusters);

/*
 * y (n x axes): the rows about their mean, or about the center of the sphere that they lie on (NULL: none), on their leading axes;
 * *lost: the mean square that these leave out.  Centroids on the sphere are on one of the same radius there.
 */
size_t		fc_reduce_worksize(size_t n, size_t d, size_t axes);
fc_status	fc_reduce_rows(const fc_rows *rows, size_t axes, const fc_sphere *sphere, fc_arena *arena, float *y,
							   double *lost);

/* fc_kmeans from starts on these axes, refined in all dimensions. */
size_t		fc_kmeans_reduced_worksize(size_t n, size_t d, size_t k);
fc_status	fc_kmeans_reduced(const fc_rows *rows, size_t k, const fc_kmeans_options *options,
							  fc_arena *arena, fc_kmeans_result *result);

#endif							/* FC_KMEANS_REDUCED_H */
