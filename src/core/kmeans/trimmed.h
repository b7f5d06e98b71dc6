/*
 * trimmed.h - k-means of all rows but those farthest out (Cuesta-Albertos, Gordaliza and Matran 1997).
 *
 *     min over C and R of sum_{i in R} w_i min_j ||x_i - c_j||^2,   the rows of R having 1 - trim of the weight
 *
 * k-means of the rows nearest to the median (trim.h) is the start.  Then R becomes the rows nearest to the centroids, and
 * Lloyd's steps go on from those, until R stays: neither raises the sum.
 */
#ifndef FC_KMEANS_TRIMMED_H
#define FC_KMEANS_TRIMMED_H

#include "kmeans/kmeans.h"

#define FC_TRIM_MOST	0.5

/*
 * As fc_kmeans; trim: 0 to FC_TRIM_MOST.  The result's weights and sse are those of R, labels must be NULL.  initial is a start as well
 * with that of the median, or alone where n_init is 0.  R has k rows at least, if there are.
 */
fc_status	fc_kmeans_trimmed(const fc_rows *rows, size_t k, double trim, const double *initial, const fc_kmeans_options *options,
							  fc_arena *arena, fc_kmeans_result *result);

#endif							/* FC_KMEANS_TRIMMED_H */
