/*
 * boxes.h - the nearest of very many points in few dimensions, row by row: a balanced tree of boxes around the points.
 *
 * Leaves have FC_BOXES_LEAF points each, coordinate by coordinate.  A row goes down to the nearer child first and skips boxes that
 * are farther than the nearest point so far.  How many leaves that leaves is up to the rows: few where they are in clusters, all of
 * them where they fill dozens of dimensions.
 *
 * Friedman, Bentley, Finkel 1977 (k-d trees).
 */
#ifndef FC_NUMERICS_BOXES_H
#define FC_NUMERICS_BOXES_H

#include "base/fc.h"

#define FC_BOXES_LEAF		64
#define FC_BOXES_LANES		8
#define FC_BOXES_DIMENSIONS	32	/* at most */

typedef struct fc_boxes
{
	size_t		k;
	size_t		d;
	size_t		leaves;
	uint32_t   *order;			/* k: numbers of points, by leaves */
	size_t		width;			/* d up to a multiple of FC_BOXES_LANES */
	float	   *box;			/* 2 width a node: least and greatest coordinates, without bounds beyond d */
	float	   *packs;			/* leaves x d x FC_BOXES_LEAF */
} fc_boxes;

/* Are boxes likely to gain? */
bool		fc_boxes_suit(size_t k, size_t d);

/* The memory of boxes of k points, then their making of points (k x d). */
void		fc_boxes_take(fc_arena *arena, size_t k, size_t d, fc_boxes *boxes);
void		fc_boxes_build(fc_boxes *boxes, const float *points);

/*
 * The nearest point to x (d), lowest of equals; its squared distance in float and that of the nearest other, up to four times the first
 * and `margin`: how much farther it is would take a search of most boxes where points are in groups far apart.
 */
size_t		fc_boxes_nearest_two(const fc_boxes *boxes, const float *x, float margin, float squared[2]);

/* Inner loops: squared distances to the points of a leaf, the least of them comes back; and to two boxes; x of width floats there. */
float		fc_boxes_leaf_distances(const float *pack, size_t d, const float *x, float *squared);
void		fc_boxes_distances(const float *const box[2], size_t width, const float *x, float squared[2]);

#endif							/* FC_NUMERICS_BOXES_H */
