/*
 * kmeans.h - weighted k-means in memory: k-means++, Lloyd, and a search beyond
 * the first minimum.
 */
#ifndef FC_KMEANS_KMEANS_H
#define FC_KMEANS_KMEANS_H

#include "numerics/metric.h"

/*
 * n rows in d dimensions, float, row-major without gaps; weight NULL means all
 * 1.
 */
typedef struct fc_rows
{
	const float *x;
	const double *weight;
	size_t		n;
	size_t		d;
} fc_rows;

/*
 * Centroids lie on it: center (d, NULL: 0) and radius in the coordinates of
 * the rows.
 */
typedef struct fc_sphere
{
	const double *center;
	double		radius;
} fc_sphere;

/* When a search ends: the budget, and how much a round has to gain. */
typedef enum fc_kmeans_effort
{
	FC_BALANCED = 0,
	FC_FAST,
	FC_THOROUGH,

	/*
	 * of many small problems: half the time of a balanced search, whose
	 * rounds tell as much as they do there
	 */
	FC_BRIEF
} fc_kmeans_effort;

#define FC_KMEANS_SEARCH	(-1)	/* starts and rounds as the budget allows */

typedef struct fc_kmeans_options
{
	/*
	 * k-means++ starts; FC_KMEANS_SEARCH (the default): as the budget allows,
	 * one at least
	 */
	int			n_init;
	int			rounds;			/* rounds of breathing a start at most;
								 * FC_KMEANS_SEARCH (the default): any number
								 * where n_init is FC_KMEANS_SEARCH too, else
								 * none */
	double
				budget;			/* multiply-adds; once they are spent no start
								 * or round begins.  0 (the default): where
								 * n_init is FC_KMEANS_SEARCH as below, else
								 * any number */
	int			iterations;		/* Lloyd steps a start or round at most; 100 */
	double
				tolerance;		/* stop when the SSE falls by less, relative;
								 * 1e-4.  A search stops earlier before and in
								 * rounds, and takes the best of it to a tenth
								 * of this */
	double		margin;			/* a later start wins only if better by this,
								 * relative; 0 */
	fc_kmeans_effort effort;
	uint64_t	seed;

	/*
	 * of fc_kmeans_collected and fc_kmeans_around: cosine puts centroids on
	 * the unit sphere
	 */
	fc_metric	metric;
	/* no cluster shall have more weight (split_merge.c); 0, the default: any */
	double		most;
	/* of fc_kmeans: the means come onto it; NULL: they stay where they are */
	const fc_sphere *sphere;
} fc_kmeans_options;

typedef struct fc_kmeans_result
{
	double	   *centroids;		/* k x d, from the caller */
	double	   *weights;		/* k: the weight of each cluster's rows, from
								 * the caller */
	int32_t    *labels;			/* n, from the caller, or NULL */
	double		sse;			/* sum of weight x squared distance, of the
								 * labels above */
	int			iterations;		/* Lloyd steps of the winning start before its
								 * rounds */
	uint64_t	compared;		/* pairs of a row and a centroid, over all
								 * starts */
	int			winner;			/* 0: the given initial centroids; i: the i-th
								 * k-means++ start */
} fc_kmeans_result;

fc_kmeans_options fc_kmeans_defaults(void);

/* About the multiply-adds of fc_kmeans. */
double		fc_kmeans_operations(size_t n, size_t d, size_t k,
								 const fc_kmeans_options *options);

/* Bytes fc_kmeans takes from its arena at most. */
size_t		fc_kmeans_worksize(size_t n, size_t d, size_t k);

/*
 * min over C of sum_i w_i min_j ||x_i - c_j||^2. initial (k x d) is a start of
 * its own, tried first, or NULL; with initial and n_init = 0 only it is
 * refined.
 *
 * A search costs as much as min(14, 5 + k) plain starts like its first, or 5
 * where d > 32, and 1e8 multiply-adds at least: 20 starts and more where n k
 * is small. A Lloyd step costs n (k d + 16). The search ends before when three
 * of its starts end at the same SSE.
 *
 * k may exceed the number of distinct rows: surplus clusters then get weight 0
 * and a copy of a row. Rows should be centred by the caller (float
 * arithmetic). The same rows in the same order, seed and options give the same
 * answer; in another order other rows are drawn, and another minimum may be
 * found. There are rows, and their weights sum to more than 0.
 */
void		fc_kmeans(const fc_rows *rows, size_t k, const double *initial,
					  const fc_kmeans_options *options, fc_arena *arena,
					  fc_kmeans_result *result);

#endif							/* FC_KMEANS_KMEANS_H */
