/*
 * tree.h - the clusters of an operator joined two by two, by Ward's criterion.
 *
 * Joining a and b, of n_a and n_b rows with the means c_a and c_b, adds
 *     D(a, b) = n_a n_b / (n_a + n_b) ||c_a - c_b||^2
 * to the sum of squares.  The least D comes first.  Chains of nearest neighbours find the same
 * joins (F. Murtagh 1983; Ward's criterion is reducible): time k^2 (d + 1), memory 4 k^2 bytes.
 */
#ifndef FC_OPERATOR_TREE_H
#define FC_OPERATOR_TREE_H

#include "operator/operator.h"

/* A join.  0 .. k - 1 are the clusters; k + i is what join i made.  left < right. */
typedef struct fc_join
{
	int32_t		left;
	int32_t		right;
	double		height;			/* sqrt(2 D): the distance of two single rows; rises from join to join */
	double		weight;			/* of all rows below */
} fc_join;

/* Bytes fc_cluster_tree takes from its arena. */

/*
 * joins (k - 1) in the order of their heights.  Weights are those of the operator; clusters count as equal where these add up
 * to 0 or to no finite number.
 */
void		fc_cluster_tree(const fc_operator *op, fc_arena *arena, fc_join *joins);

/*
 * The clusters of one number joined: centroids (count x d) become their weighted means, weights (count) the sums.  number[j]
 * is below count; a number that no cluster has gets zeros.  Clusters of no weight at all count as equal.  Scratch:
 * fc_operator_scratch floats and d doubles in row.
 */
void		fc_join_clusters(const fc_operator *op, const int32_t *number, size_t count, fc_scratch scratch,
							 double *row, double *centroids, double *weights);

#endif							/* FC_OPERATOR_TREE_H */
