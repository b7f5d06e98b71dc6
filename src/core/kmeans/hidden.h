/*
 * hidden.h - clusters that hide in others: lumps of rows along a line.
 *
 * k-means does not part a small cluster from a large one where a cut through the large one gains more, nor clusters that differ in one column of
 * many.  Rows of a cluster are seen along each coordinate, and along FC_HIDDEN_AXES principal axes.  Counts in windows of a quarter of their
 * deviation, or of a half or all of it, have a valley as in evidence.h, deeper by FC_HIDDEN_DEPTH and FC_HIDDEN_ERRORS.  The gap is from the first peak on one side of a valley to the first on the other.
 *
 * A cluster hides others when a gap in it is FC_HIDDEN_SHARE of that on the line to its nearest neighbour.
 *
 * Cost: n (d + 64) d multiply-adds.
 */
#ifndef FC_KMEANS_HIDDEN_H
#define FC_KMEANS_HIDDEN_H

#include "base/fc.h"

#define FC_HIDDEN_AXES		3
#define FC_HIDDEN_DEPTH		0.3
#define FC_HIDDEN_ERRORS	4.0
#define FC_HIDDEN_SHARE		0.5

/* The widest gap of n values. */
double		fc_widest_gap(const double *values, size_t n);

/* How many of the k clusters (centroids k x d) of n x d rows hide others? */
void		fc_count_hidden(const float *x, size_t n, size_t d, const double *centroids, size_t k, fc_arena *arena, size_t *hidden);

#endif							/* FC_KMEANS_HIDDEN_H */
