/*
 * partial.h - rows with missing coordinates, which are NaN, compared with the
 * centroids of a codebook over their observed coordinates:
 *
 *     D_j(x) = sum over the observed i of (x_i - c_ji)^2
 *
 * If the missing coordinates are replaced by the coordinates of the nearest
 * centroid, the row keeps its label and its distance, so it can be added to
 * Lloyd's sums like any other row (k-POD: Chi, Chi, Baraniuk 2016).
 */
#ifndef FC_OPERATOR_PARTIAL_H
#define FC_OPERATOR_PARTIAL_H

#include "operator/operator.h"

/*
 * Returns true if rows with missing coordinates can be compared with the
 * operator: a codebook with a Euclidean metric, without exact centroids or
 * regions.
 */
bool		fc_partial_suits(const fc_operator *op);

/* Returns the number of observed coordinates of row x (d values). */
size_t		fc_partial_observed(const double *x, size_t d);

/*
 * Returns the number of floats of scratch space for fc_partial_assign. The
 * number does not depend on the prepared forms of the operator.
 */
size_t		fc_partial_scratch(const fc_operator *op);

/*
 * Returns the lowest j with the minimum D_j(x); 0 for a row without observed
 * coordinates. If the operator has packs or a k-d tree (fc_operator_pack,
 * fc_operator_prune), the search is faster. Cost: 2 k multiply-adds for each
 * observed coordinate, or a search of the tree.
 */
size_t		fc_partial_assign(const fc_operator *op, const double *x, fc_scratch scratch);

/* Returns D_j(x) in double. */
double		fc_partial_distance(const fc_operator *op, size_t j, const double *x);

/*
 * Finds the `count` nearest clusters, count >= 1, and their D_j(x), in
 * ascending order.
 */
void		fc_partial_nearest(const fc_operator *op, const double *x, size_t count,
							   int32_t *clusters, double *distances);

/* Replaces the missing coordinates of x by the coordinates of centroid j. */
void		fc_partial_fill(const fc_operator *op, size_t j, double *x);

#endif							/* FC_OPERATOR_PARTIAL_H */
