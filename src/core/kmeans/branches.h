/*
 * branches.h - a start for many clusters: a tree of k-means.
 *
 * A node's rows are clustered into some branches, and each branch gets a number of leaves in proportion to its SSE, a cluster
 * a leaf.  With b branches a node costs n d b multiply-adds a step, a level n d b, where all k at once cost n d k.
 */
#ifndef FC_KMEANS_BRANCHES_H
#define FC_KMEANS_BRANCHES_H

#include "kmeans/kmeans.h"

#define FC_BRANCHES_CLUSTERS	256	/* a tree from so many clusters on, */
#define FC_BRANCHES_DIMENSIONS	64	/* and dimensions; in few, kmeans/tree.h makes k-means++ cheap, */
#define FC_BRANCHES_MANY	4096	/* but not of so many clusters */
#define FC_BRANCHES_WORK		2e9	/* and n k d: below, k-means++ takes less than a second, and misses fewer of many small groups */

/* May a tree be wanted of some number of rows? */
static inline bool
fc_kmeans_wants_branches(size_t k, size_t d)
{
	return k >= (d >= FC_BRANCHES_DIMENSIONS ? FC_BRANCHES_CLUSTERS : FC_BRANCHES_MANY);
}

#define FC_BRANCHES_MOST	64		/* of a node */

/* The k-means of nodes: fc_kmeans, its options, and the bytes it takes of the rows for FC_BRANCHES_MOST clusters. */
typedef struct fc_branch_method
{
	fc_status	(*cluster) (const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options,
							fc_arena *arena, fc_kmeans_result *result);
	fc_kmeans_options options;	/* one start */
} fc_branch_method;

size_t		fc_kmeans_branch_worksize(size_t n, size_t d, size_t k, size_t method_worksize);

/* centroids (k x d).  Fewer rows than clusters: surplus ones are copies.  The same rows in the same order and seed: the same answer. */
fc_status	fc_kmeans_branch(const fc_rows *rows, size_t k, const fc_branch_method *method, fc_arena *arena, double *centroids);

#endif							/* FC_KMEANS_BRANCHES_H */
