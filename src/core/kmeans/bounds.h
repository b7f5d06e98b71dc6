/*
 * bounds.h - the nearest of very many centroids in few dimensions (numerics/boxes.h), from step to step.
 *
 * A row stays in its cluster without a search while its centroid is nearer than any other can be: those were as far as the last
 * search found, or twice as far as its own, less the way that centroids have gone since.  The centroids that went farthest, an eighth of them at most, do not
 * lower this bound: a small tree of boxes tells whether one of them has come near.  Labels are those of a search for every row, up
 * to ties within rounding.
 *
 * Hamerly 2010, with fast centroids apart: an exchange (exchange.h) takes some of them across all rows.
 */
#ifndef FC_KMEANS_BOUNDS_H
#define FC_KMEANS_BOUNDS_H

#include "numerics/boxes.h"

typedef struct fc_kmeans_work fc_kmeans_work;

typedef struct fc_bounds
{
	bool		known;			/* label and other are of the centroids seen */
	float	   *other;			/* n: all centroids but the row's are at least so far away; negative: nothing is known */
	float	   *seen;			/* k x d */
	float	   *moved;			/* k: the way of a centroid since then */
	float		way;			/* of those that are not among the fast ones, at most */
	fc_boxes	fast;
} fc_bounds;

void		fc_kmeans_bounds_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_bounds *bounds);

/* label and near of all rows against w->rounded, as fc_kmeans_assign. */
fc_status	fc_kmeans_assign_in_boxes(fc_kmeans_work *w);

#endif							/* FC_KMEANS_BOUNDS_H */
