/*
 * assignment.h - the assignment problem, and which new cluster is which old
 * one.
 */
#ifndef FC_NUMERICS_ASSIGNMENT_H
#define FC_NUMERICS_ASSIGNMENT_H

#include "base/fc.h"

/*
 * The cheapest pairing of rows and columns: minimise sum_i cost[i,
 * column_of_row[i]], no column twice. cost is rows x columns, finite. With
 * more rows than columns the rows left over get -1. Ties go to the lowest
 * column. Shortest augmenting paths (R. Jonker, A. Volgenant 1987), O(min^2
 * max) time.
 */
void		fc_assignment(const double *cost, size_t rows, size_t columns,
						  fc_arena *arena, int32_t *column_of_row);

/*
 * number[j] (k_new): the old cluster that new cluster j continues, or -1; of
 * k_old numbers, none twice.
 *
 * The cost of a pair is r / (1 + r), r = 4 ||new_j - old_i||^2 / s_i^2, s_i
 * the distance of old_i to its nearest other: it saturates, so one cluster
 * that jumped far away does not push those that stayed along a chain (squared
 * distances would).
 *
 * More than 512 clusters before and after: those that are nearest to each
 * other are paired, then those of the others that are, ten times.
 */
size_t		fc_pair_clusters_worksize(size_t k_old, size_t k_new);
void		fc_pair_clusters(const double *old, size_t k_old, const double *new,
							 size_t k_new, size_t d, fc_arena *arena, int32_t *number);

/*
 * The same from labels of the same rows: counts (k_new x k_old) rows with new
 * label j and old label i; as many rows as possible keep their number.
 */
void		fc_pair_labels(const double *counts, size_t k_old, size_t k_new,
						   fc_arena *arena, int32_t *number);

/*
 * Such numbers become a permutation of 0 .. k - 1: those that are none, or too
 * high for k clusters, are the free ones in order.
 */
void		fc_complete_numbers(int32_t *number, size_t k, fc_arena *arena);

/*
 * For each of k >= 1 centroids (k x d) its nearest other, the lowest of
 * equals, and the distance; -1 and NaN for k = 1.
 */
void		fc_nearest_others(const double *centroids, size_t k, size_t d,
							  int32_t *nearest, double *distance);

#endif							/* FC_NUMERICS_ASSIGNMENT_H */
