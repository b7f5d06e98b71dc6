/*
 * nodes.h - nodes of the tree of boxes (tree.h).
 *
 * The tree is implicit: blocks first .. last of a node are halved.  A leaf is node 2 block, the node that
 * splits before a block is 2 block - 1.
 */
#ifndef FC_KMEANS_NODES_H
#define FC_KMEANS_NODES_H

#include "kmeans/internal.h"

#define FC_NODE_TRIALS	8		/* nodes of a level that may fail to tell anything before it is given up */

/* Blocks first .. last - 1 below a node. */
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

static inline size_t
fc_node_number(fc_node a)
{
	return fc_node_is_leaf(a) ? 2 * a.first : 2 * fc_node_middle(a) - 1;
}

static inline fc_node
fc_node_left(fc_node a)
{
	return (fc_node) {a.first, fc_node_middle(a), a.depth + 1};
}

static inline fc_node
fc_node_right(fc_node a)
{
	return (fc_node) {fc_node_middle(a), a.last, a.depth + 1};
}

static inline fc_node
fc_node_root(const fc_kmeans_work *w)
{
	return (fc_node) {0, w->tree.blocks, 0};
}

/* How well boxes have done at each level: where few of them told anything, they are not asked again. */
typedef struct fc_levels
{
	size_t		asked[64];
	size_t		told[64];
} fc_levels;

static inline bool
fc_levels_useful(const fc_levels *seen, size_t depth)
{
	return seen->asked[depth] < FC_NODE_TRIALS || seen->told[depth] * FC_NODE_TRIALS >= seen->asked[depth];
}

#endif							/* FC_KMEANS_NODES_H */
