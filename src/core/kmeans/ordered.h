/*
 * ordered.h - k-means of rows as they were collected: doubles, in any order
 * and of any magnitude.
 *
 * Rows are sorted by a hash of their values, so that the answer depends on the
 * rows alone. Then they are converted to floats: the mean is subtracted, and
 * the differences are scaled by a power of 2 to magnitudes below 1, so that
 * their squares neither underflow nor overflow.
 */
#ifndef FC_KMEANS_ORDERED_H
#define FC_KMEANS_ORDERED_H

#include "kmeans/kmeans.h"

typedef struct fc_ordering
{
	double	   *mean;			/* d values, memory of the caller */
	double		max;			/* greatest absolute difference between a
								 * coordinate and its mean */
	double		scale;			/* a power of 2; ordered row = (row - mean) *
								 * scale */
} fc_ordering;

/*
 * Limit that fc_ordering.max must stay below, so that differences of rows are
 * finite floats.
 */
#define FC_ORDERED_LIMIT	0x1p126

/*
 * Orders, centres and scales x (n x d) into ordered (n x d). weights: NULL, or
 * an array that receives the weights of the ordered rows; each row of x then
 * has d + 1 values, the last of which is its weight. Returns FC_EFAR if a
 * coordinate is FC_ORDERED_LIMIT or more from its mean; `max` of ordering then
 * holds the greatest difference.
 */
fc_status	fc_order_rows(const double *x, size_t n, size_t d, fc_arena *arena,
						  float *ordered, double *weights, fc_ordering *ordering);

/*
 * Converts points (k x d) from the coordinates of ordered rows back to the
 * original ones.
 */
void		fc_unorder_points(const fc_ordering *ordering, size_t k, size_t d,
							  double *points);

/*
 * Returns an upper bound on the number of bytes that fc_kmeans_collected takes
 * from its arena.
 */
size_t		fc_kmeans_collected_worksize(size_t n, size_t d, size_t k);

/*
 * Runs fc_kmeans on rows x (n x d) after fc_order_rows, whose status it
 * returns. weighted: true if the weight of a row follows its d values. The
 * centroids are converted back to the coordinates of x, but the SSE is of the
 * scaled rows.
 */
fc_status	fc_kmeans_collected(const double *x, size_t n, size_t d, bool weighted, size_t k,
								const fc_kmeans_options *options, fc_arena *arena,
								fc_ordering *ordering, fc_kmeans_result *result);

/*
 * Runs fc_kmeans on rows x (n x d) of any magnitude, from which the origin (d
 * values, or NULL: 0) was subtracted. Rows of extreme magnitudes are copied
 * and scaled by a power of 2; the SSE is of the scaled rows. initial (k x d,
 * or NULL) and the resulting centroids are not scaled, and include the origin;
 * initial is overwritten. trim: fraction of the weight to leave out, as in
 * fc_kmeans_trimmed, or 0. Returns FC_EEMPTY when the weights sum to 0.
 */
fc_status	fc_kmeans_around(const float *x, const double *weight, size_t n, size_t d,
							 size_t k, const double *origin, double *initial,
							 double trim, const fc_kmeans_options *options,
							 fc_arena *arena, fc_kmeans_result *result);

/*
 * Multiplies floats by the power of 2 that makes their magnitudes less than 1,
 * and returns this power.
 */
double		fc_scale_rows(float *x, size_t count);

/*
 * ---- wide rows on their leading principal axes ----
 *
 * The centroids of k separated clusters span k - 1 axes. These are the leading
 * principal axes if the clusters are farther apart than the noise of the rows
 * in any single direction (Ding & He 2004). The other axes hold noise: a
 * search on the leading ones is faster by d / axes, and meets fewer false
 * minima.
 */

/*
 * Minimum number of dimensions of wide rows. A search on their leading
 * principal axes is faster by the factor d / axes, but computing the axes and
 * a last k-means in all dimensions take time (bench/cosine.py,
 * bench/topics.py).
 */
#define FC_AXES_WIDE	128

/*
 * Returns the number of principal axes for a number of clusters: as many as
 * clusters, or d if rows are not wide or 2 * clusters exceeds d.
 */
static inline size_t
fc_axes_for(size_t d, size_t clusters)
{
	return d >= FC_AXES_WIDE && d >= 2 * clusters ? clusters : d;
}

/*
 * Projects the rows onto their leading axes, y (n x axes), after subtracting
 * their mean, or the center of the sphere if `sphere` is not NULL. *lost
 * receives the mean squared length of the rows' components outside these axes.
 * Centroids on the sphere are projected onto a sphere of the same radius.
 */
void		fc_rows_on_axes(const fc_rows *rows, size_t axes, const fc_sphere *sphere,
							fc_arena *arena, float *y, double *lost);

/*
 * Runs fc_kmeans on the rows projected by fc_rows_on_axes, and refines the
 * clusters in all dimensions.
 */
void		fc_kmeans_on_axes(const fc_rows *rows, size_t k,
							  const fc_kmeans_options *options, fc_arena *arena,
							  fc_kmeans_result *result);

/*
 * ---- all rows except the farthest out ----
 *
 * Cuesta-Albertos, Gordaliza and Matran 1997:
 *
 *     min over C and R of sum_{i in R} w_i min_j ||x_i - c_j||^2,
 *         the rows of R having 1 - trim of the weight
 *
 * The search starts with k-means of the rows nearest to the median
 * (numerics/selection.h). Then R becomes the rows nearest to the centroids,
 * and Lloyd's steps continue on R. Both are repeated until R stays the same;
 * neither raises the sum.
 *
 * Arguments are as in fc_kmeans; trim: 0 to 0.5. The result's weights and sse
 * refer to R, and labels must be NULL. initial is a further start on the rows
 * nearest to the median; if n_init is 0, it is the only start, and R begins
 * with the rows nearest to the centroids in initial. R has at least k rows, or
 * all rows if there are fewer.
 */
void		fc_kmeans_trimmed(const fc_rows *rows, size_t k, double trim,
							  const double *initial, const fc_kmeans_options *options,
							  fc_arena *arena, fc_kmeans_result *result);

#endif							/* FC_KMEANS_ORDERED_H */
