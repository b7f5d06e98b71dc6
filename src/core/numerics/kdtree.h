/*
 * kdtree.h - k-d trees: points in a balanced tree of bounding boxes, and a
 * search for the nearest of very many points in few dimensions.
 *
 * A node splits its points by selection along the longest side of the bounding
 * box of a sample of them. All leaves but the last have the same size. The
 * tree is implicit: a node is a range of leaves, first .. last - 1, and its
 * children are the halves of the range. Leaf i has number 2 i, and the node
 * whose right child begins with leaf i has number 2 i - 1.
 *
 * A search visits the nearer child first and skips boxes that are farther than
 * the nearest point so far. It visits few leaves if the points are in
 * clusters, and all leaves if the points fill dozens of dimensions.
 *
 * Friedman, Bentley, Finkel 1977 (k-d trees).
 */
#ifndef FC_NUMERICS_KDTREE_H
#define FC_NUMERICS_KDTREE_H

#include "base/fc.h"

/* A node, given by its leaves first .. last - 1. */
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
	size_t		leaf;			/* number of points per leaf; the last leaf
								 * may have fewer */
	size_t		leaves;
	uint32_t   *order;			/* n indices of points, grouped by leaf */
	size_t		width;			/* number of coordinates per corner of a box,
								 * d or more */

	/*
	 * 2 * width values per node: the lowest and the highest coordinates;
	 * unbounded in coordinates beyond d
	 */
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

/*
 * Allocates a tree of n >= 1 points; fc_kdtree_build then sets its order and
 * boxes.
 */
void		fc_kdtree_take(fc_arena *arena, size_t n, size_t d, size_t leaf,
						   size_t width, fc_kdtree *tree);
void		fc_kdtree_build(fc_kdtree *tree, const float *points);

/* ---- the nearest of very many points ---- */

/*
 * Maximum number of points in a leaf. A larger leaf compares more points one
 * by one, a smaller one needs a deeper tree. Halving or doubling it changes
 * nothing (bench/tuned.py).
 */
#define FC_PACKED_LEAF	64

/*
 * Number of coordinates of a box that are compared together, a vector of 8
 * floats.
 */
#define FC_PACKED_LANES	8

/*
 * The second nearest point of a row is searched only up to this multiple of
 * the squared distance of the nearest one. With a larger value, it is found
 * more often, in more time. A guess.
 */
#define FC_PACKED_REACH	4.0f

/*
 * Maximum number of dimensions for a packed k-d tree. In more dimensions,
 * boxes exclude few points. A guess.
 */
#define FC_PACKED_DIMENSIONS	32

typedef struct fc_packed_kdtree
{
	/*
	 * tree with FC_PACKED_LEAF points per leaf; the width of its boxes is d,
	 * rounded up to a multiple of FC_PACKED_LANES
	 */
	fc_kdtree	tree;
	float	   *packs;			/* leaves x d x FC_PACKED_LEAF: coordinates of
								 * the points of each leaf */
} fc_packed_kdtree;

/*
 * Returns true if a packed k-d tree is likely to be faster than other searches
 * among k points in d dimensions.
 */
bool		fc_packed_kdtree_suits(size_t k, size_t d);

/*
 * Allocates a packed tree of k points, which fc_packed_kdtree_build then fills
 * from points (k x d).
 */
void		fc_packed_kdtree_take(fc_arena *arena, size_t k, size_t d, fc_packed_kdtree *kdtree);
void		fc_packed_kdtree_build(fc_packed_kdtree *kdtree, const float *points);

/*
 * Returns the index of the point nearest to x (d coordinates); ties go to the
 * lowest index. Coordinates of x that are NaN do not count. Sets squared[0] to
 * the squared distance of this point, in float. Sets squared[1] to the squared
 * distance of the second nearest point, but at most to reach * squared[0] +
 * margin, where reach > 1. Without this limit, most boxes would be searched if
 * the points form well separated groups.
 */
size_t		fc_packed_kdtree_nearest_two(const fc_packed_kdtree *kdtree, const float *x,
										 float reach, float margin, float squared[2]);

#endif							/* FC_NUMERICS_KDTREE_H */
