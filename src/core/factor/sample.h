/*
 * sample.h - rows in memory for QK-means: the centroids it starts from and the
 * rows it measures on; one scan, a step of Lloyd; the rows farthest from their
 * centroids.
 */
#ifndef FC_FACTOR_SAMPLE_H
#define FC_FACTOR_SAMPLE_H

#include "kmeans/ordered.h"
#include "operator/operator.h"

typedef enum fc_start_kind
{
	FC_START_KMEANS,			/* k-means of the sample */
	FC_START_UNIFORM,			/* rows of the sample as they are */
	FC_START_GIVEN				/* the caller's centroids */
} fc_start_kind;

typedef struct fc_start_options
{
	fc_start_kind kind;
	const double *given;		/* k x d, or NULL */
	uint64_t	seed;
} fc_start_options;

#define FC_LEAST_SAMPLE			2000	/* rows that a start is made of and
										 * measured on at least */
#define FC_SAMPLE_PER_K			20	/* the same for each cluster */

/* So many of n sampled rows, or all, are measured on. */
size_t		fc_start_measured(size_t n, size_t k);

/*
 * start (k x d); ordering: its mean is the offset; measured: fc_start_measured
 * rows, evenly from the n x d of the sample in an order by their values.
 * FC_EFAR as fc_order_rows.
 */
fc_status
			fc_qkmeans_start(const double *sample, size_t n, size_t d, size_t k,
							 const fc_start_options *options, fc_arena *arena,
							 fc_ordering *ordering, double *start, double *measured);

/* The greatest magnitude of a coordinate of n x d points around the offset. */
double		fc_greatest_magnitude(const double *points, const double *offset,
								  size_t n, size_t d);

/* ---- scans ---- */

/*
 * *sse of op over x (n x d); per cluster the weight of its rows and (k x d)
 * their means. An operator is taken as it will be stored, so that a scan of
 * memory and one by lloyd_step_agg round alike. FC_EFORMAT when the factors
 * are too large for floats.
 */
fc_status
			fc_scan_rows(const fc_operator *op, const double *x, size_t n, fc_arena *arena,
						 double *sse, double *weights, double *means);

/*
 * The `count` rows farthest from their centroids, farthest first, ties in the
 * order of a hash of their values, whatever the order of x; *found: how many
 * there are.
 */
fc_status
			fc_farthest_rows(const fc_operator *op, const double *x, size_t n, size_t count,
							 fc_arena *arena, double *rows, size_t *found);

#endif							/* FC_FACTOR_SAMPLE_H */
