/*
 * kdtree.h - points in a balanced tree of boxes, and the nearest of very many
 * points in few dimensions, row by row.
 *
 * Points are split by selection along the longest side of the box of some of
 * them; each leaf but the last has as many. The tree is implicit: leaves first
 * .. last - 1 of a node are halved; leaf i is node 2 i, the node that splits
 * before leaf i is 2 i - 1.
 *
 * A search goes down to the nearer child first and skips boxes that are
 * farther than the nearest point so far. How many leaves that leaves is up to
 * the rows: few where they are in clusters, all of them where they fill dozens
 * of dimensions.
 *
 * Friedman, Bentley, Finkel 1977 (k-d trees).
 */
#ifndef FC_NUMERICS_KDTREE_H
#define FC_NUMERICS_KDTREE_H

#include "base/fc.h"

/* Leaves first .. last - 1. */
typedef struct fc_node
{
	size_t		first;
	size_t		last;
	size_t		depth;
} fc_node;

static inline bool
fc_node_is_leaf(fc_node a)
{
	return a.last - a.first == 1;
}

static inline size_t
fc_node_middle(fc_node a)
{
	return (a.first + a.last) / 2;
}

static inline fc_node
fc_node_left(fc_node a)
{
	return (fc_node)
	{
		a.first, fc_node_middle(a), a.depth + 1
	};
}

static inline fc_node
fc_node_right(fc_node a)
{
	return (fc_node)
	{
		fc_node_middle(a), a.last, a.depth + 1
	};
}

typedef struct fc_kdtree
{
	size_t		n;
	size_t		d;
	size_t		leaf;			/* points of a leaf */
	size_t		leaves;
	uint32_t   *order;			/* n: numbers of points, by leaves */
	size_t		width;			/* of a box, d at least */
	/* 2 width a node: least and greatest coordinates, without bounds beyond d */
	float	   *box;
} fc_kdtree;

static inline fc_node
fc_kdtree_root(const fc_kdtree *tree)
{
	return (fc_node)
	{
		0, tree->leaves, 0
	};
}

static inline float *
fc_kdtree_box(const fc_kdtree *tree, fc_node a)
{
	return tree->box +
		(fc_node_is_leaf(a) ? 2 * a.first : 2 * fc_node_middle(a) - 1) * 2 *
		tree->width;
}

/* The memory of a tree of n points, 1 at least, then their order and boxes. */
void		fc_kdtree_take(fc_arena *arena, size_t n, size_t d, size_t leaf,
						   size_t width, fc_kdtree *tree);
void		fc_kdtree_build(fc_kdtree *tree, const float *points);

/* ---- the nearest of very many points ---- */

#define FC_BOXES_LEAF		64
#define FC_BOXES_LANES		8
#define FC_BOXES_DIMENSIONS	32	/* at most */

typedef struct fc_boxes
{
	/*
	 * leaves of FC_BOXES_LEAF points, boxes as wide as d up to a multiple of
	 * FC_BOXES_LANES
	 */
	fc_kdtree	tree;
	float	   *packs;			/* leaves x d x FC_BOXES_LEAF */
} fc_boxes;

/* Are boxes likely to gain? */
bool		fc_boxes_suit(size_t k, size_t d);

/* The memory of boxes of k points, then their making of points (k x d). */
void		fc_boxes_take(fc_arena *arena, size_t k, size_t d, fc_boxes *boxes);
void		fc_boxes_build(fc_boxes *boxes, const float *points);

/*
 * The nearest point to x (d), lowest of equals; its squared distance in float
 * and that of the nearest other, up to four times the first and `margin`: how
 * much farther it is would take a search of most boxes where points are in
 * groups far apart.
 */
size_t		fc_boxes_nearest_two(const fc_boxes *boxes, const float *x, float margin,
								 float squared[2]);

#endif							/* FC_NUMERICS_KDTREE_H */
