/*
 * assignment.h - the assignment problem, and the old cluster that each new
 * cluster continues.
 */
#ifndef FC_NUMERICS_ASSIGNMENT_H
#define FC_NUMERICS_ASSIGNMENT_H

#include "base/fc.h"

/*
 * Solves the assignment problem: the cheapest pairing of rows and columns,
 * minimising sum_i cost[i, column_of_row[i]] with no column used twice. cost
 * is rows x columns, finite. With more rows than columns the surplus rows get
 * -1. Ties go to the lowest column. Shortest augmenting paths (R. Jonker, A.
 * Volgenant 1987), O(min^2 max) time.
 */
void		fc_assignment(const double *cost, size_t rows, size_t columns,
						  fc_arena *arena, int32_t *column_of_row);

/*
 * Sets number[j] (k_new) to the old cluster, of k_old, that new cluster j
 * continues, or to -1; no number occurs twice.
 *
 * The cost of a pair is r / (1 + r) with r = 4 ||new_j - old_i||^2 / s_i^2,
 * where s_i is the distance of old_i to its nearest other cluster. It
 * saturates, so one cluster that jumped far away does not push the others
 * along a chain (squared distances would).
 *
 * With more than 512 clusters before and after, mutual nearest neighbours are
 * paired, then mutual nearest neighbours among the remaining clusters, for ten
 * rounds.
 */
size_t		fc_pair_clusters_worksize(size_t k_old, size_t k_new);
void		fc_pair_clusters(const double *old, size_t k_old, const double *new,
							 size_t k_new, size_t d, fc_arena *arena, int32_t *number);

/*
 * Sets number as fc_pair_clusters does, from two labels of the same rows.
 * counts (k_new x k_old): rows with new label j and old label i. As many rows
 * as possible keep their number.
 */
void		fc_pair_labels(const double *counts, size_t k_old, size_t k_new,
						   fc_arena *arena, int32_t *number);

/*
 * Completes such numbers to a permutation of 0 .. k - 1: missing numbers, and
 * numbers too high for k clusters, are replaced by the unused ones in order.
 */
void		fc_complete_numbers(int32_t *number, size_t k, fc_arena *arena);

/*
 * Finds for each of k >= 1 centroids (k x d) the nearest other one and its
 * distance; ties go to the lowest. Sets -1 and NaN for k = 1.
 */
void		fc_nearest_others(const double *centroids, size_t k, size_t d,
							  int32_t *nearest, double *distance);

#endif							/* FC_NUMERICS_ASSIGNMENT_H */
