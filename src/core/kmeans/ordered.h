/*
 * ordered.h - k-means of rows as they were collected: doubles, in any order
 * and of any size.
 *
 * Rows are put in the order of a hash of their values, so that the answer
 * depends on the rows alone, and become floats around their mean, times a
 * power of 2 that brings them below 1: their squares neither under- nor
 * overflow.
 */
#ifndef FC_KMEANS_ORDERED_H
#define FC_KMEANS_ORDERED_H

#include "kmeans/kmeans.h"

typedef struct fc_ordering
{
	double	   *mean;			/* d, from the caller */
	double		most;			/* the greatest magnitude around the mean */
	double		scale;			/* a power of 2; ordered row = (row - mean)
								 * scale */
} fc_ordering;

#define FC_ORDERED_LIMIT	0x1p126 /* of `most` */

/*
 * ordered (n x d) of x (n x d). FC_EFAR when rows are FC_ORDERED_LIMIT from
 * their mean, which `most` then says.
 */
fc_status	fc_order_rows(const double *x, size_t n, size_t d, fc_arena *arena,
						  float *ordered, fc_ordering *ordering);

/* points (k x d) back from where ordered rows are. */
void		fc_unorder_points(const fc_ordering *ordering, size_t k, size_t d,
							  double *points);

/* Bytes fc_kmeans_collected takes from its arena at most. */
size_t		fc_kmeans_collected_worksize(size_t n, size_t d, size_t k);

/*
 * fc_kmeans of n x d rows by fc_order_rows; the result is in the units of x.
 */
fc_status	fc_kmeans_collected(const double *x, size_t n, size_t d, size_t k,
								const fc_kmeans_options *options, fc_arena *arena,
								fc_ordering *ordering, fc_kmeans_result *result);

/*
 * fc_kmeans of rows around an origin (d, or NULL: 0) that may be of any size:
 * x (n x d, changed) is taken times the power of 2 that brings it below 1.
 * initial (k x d, changed, or NULL) and the centroids are in the units and
 * from the origin of the user. trim: the share of the weight left out, as
 * fc_kmeans_trimmed, or 0. FC_EEMPTY when the weights sum to 0.
 */
fc_status	fc_kmeans_around(float *x, const double *weight, size_t n, size_t d,
							 size_t k, const double *origin, double *initial,
							 double trim, const fc_kmeans_options *options,
							 fc_arena *arena, fc_kmeans_result *result);

/* Floats times the power of 2 that brings them below 1, which is returned. */
double		fc_scale_rows(float *x, size_t count);

/*
 * ---- wide rows on their leading principal axes ----
 *
 * The centroids of k separated clusters lie on k - 1 axes, which are the
 * leading ones where clusters are farther apart than rows are noisy in any one
 * direction (Ding & He 2004). The other axes hold noise: a search there is
 * quicker by d / axes, and meets fewer false minima.
 */
#define FC_AXES_WIDE		128 /* from so many dimensions on */

/*
 * Axes for so many clusters; d where rows are not wide, or the axes not few.
 */
static inline size_t
fc_axes_for(size_t d, size_t clusters)
{
	return d >= FC_AXES_WIDE && d >= 2 * clusters ? clusters : d;
}

/*
 * y (n x axes): the rows about their mean, or about the center of the sphere
 * that they lie on (NULL: none), on their leading axes; *lost: the mean square
 * that these leave out. Centroids on the sphere are on one of the same radius
 * there.
 */
void		fc_rows_on_axes(const fc_rows *rows, size_t axes, const fc_sphere *sphere,
							fc_arena *arena, float *y, double *lost);

/* fc_kmeans from starts on these axes, refined in all dimensions. */
void		fc_kmeans_on_axes(const fc_rows *rows, size_t k,
							  const fc_kmeans_options *options, fc_arena *arena,
							  fc_kmeans_result *result);

/*
 * ---- all rows but those farthest out ----
 *
 * Cuesta-Albertos, Gordaliza and Matran 1997:
 *
 *     min over C and R of sum_{i in R} w_i min_j ||x_i - c_j||^2,
 *         the rows of R having 1 - trim of the weight
 *
 * k-means of the rows nearest to the median (numerics/selection.h) is the
 * start. Then R becomes the rows nearest to the centroids, and Lloyd's steps
 * go on from those, until R stays: neither raises the sum.
 *
 * As fc_kmeans; trim: 0 to 0.5. The result's weights and sse are those of R,
 * labels must be NULL. initial is a start as well with that of the median, or
 * alone where n_init is 0. R has k rows at least, if there are.
 */
void		fc_kmeans_trimmed(const fc_rows *rows, size_t k, double trim,
							  const double *initial, const fc_kmeans_options *options,
							  fc_arena *arena, fc_kmeans_result *result);

#endif							/* FC_KMEANS_ORDERED_H */
