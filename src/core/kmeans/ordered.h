/*
 * ordered.h - k-means of rows as they were collected: doubles, in any order and of any size.
 *
 * Rows are put in the order of a hash of their values, so that the answer depends on the rows alone, and become
 * floats around their mean, times a power of 2 that brings them below 1: their squares neither under- nor overflow.
 */
#ifndef FC_KMEANS_ORDERED_H
#define FC_KMEANS_ORDERED_H

#include "kmeans/kmeans.h"

typedef struct fc_ordering
{
	double	   *mean;			/* d, from the caller */
	double		most;			/* the greatest magnitude around the mean */
	double		scale;			/* a power of 2; ordered row = (row - mean) scale */
} fc_ordering;

#define FC_ORDERED_LIMIT	0x1p126	/* of `most` */

/* Bytes of work of fc_order_rows; the ordered rows are the caller's. */
size_t		fc_order_rows_worksize(size_t n);

/* ordered (n x d) of x (n x d).  FC_EFAR when rows are FC_ORDERED_LIMIT from their mean, which `most` then says. */
fc_status	fc_order_rows(const double *x, size_t n, size_t d, fc_arena *arena, float *ordered, fc_ordering *ordering);

/* points (k x d) back from where ordered rows are. */
void		fc_unorder_points(const fc_ordering *ordering, size_t k, size_t d, double *points);

/* Bytes fc_kmeans_collected takes from its arena at most. */
size_t		fc_kmeans_collected_worksize(size_t n, size_t d, size_t k);

/* fc_kmeans of n x d rows by fc_order_rows; the result is in the units of x. */
fc_status	fc_kmeans_collected(const double *x, size_t n, size_t d, size_t k, const fc_kmeans_options *options,
								fc_arena *arena, fc_ordering *ordering, fc_kmeans_result *result);

/*
 * fc_kmeans of rows around an origin (d, or NULL: 0) that may be of any size: x (n x d, changed) is taken times
 * the power of 2 that brings it below 1.  initial (k x d, changed, or NULL) and the centroids are in the units and from
 * the origin of the user.  trim: the share of the weight left out, as fc_kmeans_trimmed, or 0.
 */
fc_status	fc_kmeans_around(float *x, const double *weight, size_t n, size_t d, size_t k, const double *origin, double *initial,
							 double trim, const fc_kmeans_options *options, fc_arena *arena, fc_kmeans_result *result);

/* Floats times the power of 2 that brings them below 1, which is returned. */
double		fc_scale_rows(float *x, size_t count);

#endif							/* FC_KMEANS_ORDERED_H */
