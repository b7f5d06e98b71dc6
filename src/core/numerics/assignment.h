/*
 * assignment.h - the assignment problem, and the pairing of new clusters with
 * the old clusters that they continue.
 */
#ifndef FC_NUMERICS_ASSIGNMENT_H
#define FC_NUMERICS_ASSIGNMENT_H

#include "base/fc.h"

/*
 * Solves the assignment problem: the cheapest pairing of rows and columns,
 * minimising sum_i cost[i, column_of_row[i]] with no column used twice. cost
 * is rows x columns, finite. If there are more rows than columns, the surplus
 * rows get -1. Ties go to the lowest column. It uses shortest augmenting paths
 * (R. Jonker, A. Volgenant 1987) in O(min^2 max) time, where min and max are
 * the lower and the higher of rows and columns.
 */
void		fc_assignment(const double *cost, size_t rows, size_t columns,
						  fc_arena *arena, int32_t *column_of_row);

/*
 * Maximum number of clusters, before or after, for which fc_pair_clusters
 * finds the best pairs, in cubic time. If there are more clusters both before
 * and after, it pairs mutual nearest neighbours, which may miss the best
 * pairs. A guess.
 */
#define FC_MAX_EXACT_PAIRS	((size_t) 512)

/*
 * fc_pair_clusters sets number[j], for each of k_new new clusters, to the
 * index of the old cluster (of k_old) that it continues, or to -1. No index
 * occurs twice. fc_pair_clusters_worksize returns an upper bound on the number
 * of bytes that fc_pair_clusters takes from the arena.
 *
 * The cost of a pair is r / (1 + r) with r = 4 ||new_j - old_i||^2 / s_i^2,
 * where s_i is the distance of old_i to its nearest other cluster. The cost
 * saturates, so a single cluster that moved far away does not change the pairs
 * of the other clusters, as it could with squared distances.
 *
 * With more than 512 clusters before and after, mutual nearest neighbours are
 * paired, then mutual nearest neighbours among the remaining clusters, for at
 * most ten rounds.
 */
size_t		fc_pair_clusters_worksize(size_t k_old, size_t k_new);
void		fc_pair_clusters(const double *old, size_t k_old, const double *new,
							 size_t k_new, size_t d, fc_arena *arena, int32_t *number);

/*
 * Sets number[j] to -1 if new cluster j and its old cluster i = number[j] are
 * far apart: i is not the old cluster nearest to j, and j is not the new
 * cluster nearest to i. fc_pair_clusters makes such a pair when nearer
 * clusters are already paired with others.
 */
void		fc_part_far_pairs(const double *old, size_t k_old, const double *new,
							  size_t k_new, size_t d, int32_t *number);

/*
 * Sets number[j] to the old label that new label j continues, or to -1, so
 * that as many rows as possible keep their label. counts (k_new x k_old) is
 * the contingency table: number of rows with new label j and old label i.
 */
void		fc_pair_labels(const double *counts, size_t k_old, size_t k_new,
						   fc_arena *arena, int32_t *number);

/*
 * Completes the numbers from fc_pair_clusters or fc_pair_labels to a
 * permutation of 0 .. k - 1: numbers that are -1, or too high for k clusters,
 * are replaced by the unused numbers in ascending order.
 */
void		fc_complete_numbers(int32_t *number, size_t k, fc_arena *arena);

/*
 * Finds, for each of k >= 1 centroids (k x d), the nearest other centroid and
 * its distance; ties go to the lowest index. For k = 1, sets the index to -1
 * and the distance to NaN.
 */
void		fc_nearest_others(const double *centroids, size_t k, size_t d,
							  int32_t *nearest, double *distance);

#endif							/* FC_NUMERICS_ASSIGNMENT_H */
