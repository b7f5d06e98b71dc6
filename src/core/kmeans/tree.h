/*
 * tree.h - rows in a balanced tree of boxes: few centroids meet few rows.
 *
 * With many clusters in few dimensions nearly all distances are of rows and centroids far
 * apart.  The tree's leaves are blocks of FC_TILE_ROWS rows near each other, consecutive in the order of
 * the tree; every node has the box of its rows.  A set of centroids goes down from the root and loses at each
 * node those that are not nearest to any point of its box.  What is left is compared row by row: the
 * labels are those of all distances, up to ties within rounding.
 *
 * Kanungo, Mount, Netanyahu, Piatko, Silverman, Wu 2002 (the filtering algorithm), on blocks of rows.
 */
#ifndef FC_KMEANS_TREE_H
#define FC_KMEANS_TREE_H

#include "kmeans/internal.h"

#define FC_TREE_LISTS	5			/* times k: 1 + 1 + 3/4 + 9/16 + .. */

/* Is a tree worth its making? */
bool		fc_kmeans_wants_tree(size_t n, size_t d, size_t k);

/* Take its memory (n rows in d dimensions, k clusters), then order the rows: w->order, and the boxes. */
void		fc_kmeans_tree_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_kmeans_tree *tree);
fc_status	fc_kmeans_tree_build(fc_kmeans_work *w);

/* label and near of all rows, as fc_kmeans_pack_nearest or, when careful, _closest against w->rounded. */
fc_status	fc_kmeans_tree_assign(fc_kmeans_work *w);

/* ---- seeding: near is kept with the sum of w near and the greatest near of every node ---- */

/* Every row's near is `value`; the sum of w. */
fc_status	fc_kmeans_tree_level(fc_kmeans_work *w, float value, double *total);

/* The sums of w near and the greatest near of all nodes, anew. */
void		fc_kmeans_tree_sum(fc_kmeans_work *w, double *total);

/* total[q] = the sum with near lowered to the squared distance to w->candidate q; and near is lowered to one's, for good. */
void		fc_kmeans_tree_try(fc_kmeans_work *w, size_t count, double *total);
void		fc_kmeans_tree_keep(fc_kmeans_work *w, const float *candidate, double *total);

/* The row where the running sum of w near passes `rest`. */
size_t		fc_kmeans_tree_draw(const fc_kmeans_work *w, double rest);

#endif							/* FC_KMEANS_TREE_H */
