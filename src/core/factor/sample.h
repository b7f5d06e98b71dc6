/*
 * sample.h - rows in memory for QK-means: computes the initial centroids,
 * scans the rows, and finds the rows farthest from their centroids.
 */
#ifndef FC_FACTOR_SAMPLE_H
#define FC_FACTOR_SAMPLE_H

#include "kmeans/ordered.h"
#include "operator/operator.h"

typedef enum fc_start_kind
{
	FC_START_KMEANS,			/* k-means of the sample */
	FC_START_UNIFORM,			/* rows drawn from the sample */
	FC_START_GIVEN				/* centroids of the caller */
} fc_start_kind;

typedef struct fc_start_options
{
	fc_start_kind kind;
	const double *given;		/* k x d centroids; NULL unless kind is
								 * FC_START_GIVEN */
	uint64_t	seed;
} fc_start_options;

/*
 * Minimum number of sample rows from which initial centroids are computed,
 * unless the data have fewer. With more rows, the centroids are better and
 * take longer. A guess.
 */
#define FC_MIN_SAMPLE	2000

/* Minimum number of sample rows per initial centroid. A guess. */
#define FC_SAMPLE_PER_K	20

/*
 * Returns the number of rows, of n sample rows, on which the errors of the
 * start and of its products are measured.
 */
size_t		fc_measured_rows(size_t n, size_t k);

/*
 * Computes the initial centroids `start` (k x d) from a sample (n x d). Orders
 * the sample by fc_order_rows, which sets *ordering; ordering->mean serves as
 * the offset of the operator. Copies fc_measured_rows(n, k) rows, at even
 * intervals of this order, to `measured`. Returns FC_EFAR if fc_order_rows
 * does.
 */
fc_status	fc_qkmeans_start(const double *sample, size_t n, size_t d, size_t k,
							 const fc_start_options *options, fc_arena *arena,
							 fc_ordering *ordering, double *start, double *measured);

/*
 * Runs k-means with k-means++ starts on n centred rows of d floats. The number
 * of starts and steps falls with n k d, which bounds the time (sample.c).
 * Computes k x d centroids and the weights of their clusters.
 */
void		fc_cluster_sample(const float *x, size_t n, size_t d, size_t k,
							  uint64_t seed, fc_arena *arena, double *centroids,
							  double *weights);

/*
 * Returns the greatest absolute difference between a coordinate of n x d
 * points and the same coordinate of the offset.
 */
double		fc_greatest_magnitude(const double *points, const double *offset,
								  size_t n, size_t d);

/* ---- scans ---- */

/*
 * Computes the SSE of op over x (n x d), and the weight and mean (k x d) of
 * each cluster. The operator is converted to its stored form, so that a scan
 * in memory rounds like one by lloyd_step_agg. Returns FC_EFORMAT if the
 * factors are too large for floats.
 */
fc_status	fc_scan_rows(const fc_operator *op, const double *x, size_t n, fc_arena *arena,
						 double *sse, double *weights, double *means);

/*
 * Finds the `count` rows farthest from their centroids, farthest first; ties
 * go by a hash of their values, so that the order of x does not matter. Sets
 * *found to the number of rows found. Returns FC_EFORMAT if the factors are
 * too large for floats.
 */
fc_status	fc_farthest_rows(const fc_operator *op, const double *x, size_t n, size_t count,
							 fc_arena *arena, double *rows, size_t *found);

#endif							/* FC_FACTOR_SAMPLE_H */
