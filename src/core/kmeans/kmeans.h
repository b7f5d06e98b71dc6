/*
 * kmeans.h - weighted k-means in memory: k-means++, Lloyd's steps, and a
 * search beyond the first local minimum.
 */
#ifndef FC_KMEANS_KMEANS_H
#define FC_KMEANS_KMEANS_H

#include "numerics/metric.h"

/*
 * Rows to cluster: n rows in d dimensions, float, row-major without gaps. A
 * NULL weight means weights of 1.
 */
typedef struct fc_rows
{
	const float *x;
	const double *weight;
	size_t		n;
	size_t		d;
} fc_rows;

/*
 * A sphere that contains all centroids, in the coordinates of the rows: center
 * (d; NULL: the origin) and radius.
 */
typedef struct fc_sphere
{
	const double *center;
	double		radius;
} fc_sphere;

/* Effort of a search: its budget, and the minimum gain of its rounds. */
typedef enum fc_kmeans_effort
{
	FC_BALANCED = 0,
	FC_FAST,					/* a quarter of the budget of a balanced
								 * search, and no rounds of trial moves
								 * (split_merge.c) */

	/*
	 * a balanced search, then further starts with three times its
	 * multiply-adds; the SSE is never higher than after the balanced search
	 */
	FC_THOROUGH,

	/*
	 * many small problems: half the time of a balanced search, with fewer and
	 * smaller rounds of breathing
	 */
	FC_BRIEF
} fc_kmeans_effort;

#define FC_KMEANS_SEARCH	(-1)	/* starts and rounds as the budget allows */

typedef struct fc_kmeans_options
{
	/*
	 * number of k-means++ starts; FC_KMEANS_SEARCH (the default): one or
	 * more, as the budget allows
	 */
	int			n_init;
	int			rounds;			/* maximum number of rounds per start;
								 * FC_KMEANS_SEARCH (the default): unlimited
								 * where n_init is FC_KMEANS_SEARCH too, else
								 * 0 */

	/*
	 * multiply-adds after which no start or round begins; 0 (the default):
	 * chosen by the search (see fc_kmeans) where n_init is FC_KMEANS_SEARCH,
	 * else unlimited
	 */
	double		budget;
	int			iterations;		/* maximum number of Lloyd steps per start or
								 * round; default 100 */

	/*
	 * relative fall of the SSE below which Lloyd's steps stop; default 1e-4.
	 * A search in rounds (split_merge.c) uses a larger value in steps that
	 * later steps refine. After rounds of breathing k-means, the best start
	 * is refined until the fall is below a tenth of this value.
	 */
	double		tolerance;
	double		margin;			/* relative fall of the SSE that a later start
								 * needs to win; default 0 */
	fc_kmeans_effort effort;
	uint64_t	seed;

	/*
	 * metric of fc_kmeans_collected and fc_kmeans_around: FC_COSINE puts
	 * centroids on the unit sphere
	 */
	fc_metric	metric;

	/*
	 * maximum weight of a cluster (split_merge.c); 0 (the default): no limit
	 */
	double		max;
	/* sphere that fc_kmeans moves the means onto; NULL: means are not moved */
	const fc_sphere *sphere;
} fc_kmeans_options;

typedef struct fc_kmeans_result
{
	double	   *centroids;		/* k x d, memory of the caller */
	double	   *weights;		/* k: weight of each cluster's rows, memory of
								 * the caller */
	int32_t    *labels;			/* n, memory of the caller, or NULL */
	double		sse;			/* sum over the rows of weight times squared
								 * distance to the labelled centroid */
	int			iterations;		/* Lloyd steps of the winning start before its
								 * rounds of splits and merges or of breathing */
	uint64_t	compared;		/* number of comparisons in all starts: rows
								 * with centroids, and centroids with each
								 * other */
	int			winner;			/* number of the winning start: 0 is the given
								 * initial centroids, i the i-th k-means++
								 * start */
} fc_kmeans_result;

fc_kmeans_options fc_kmeans_defaults(void);

/*
 * Returns the estimated cost of fc_kmeans in multiply-adds of doubles. The
 * cost of a search of wide rows is that of fc_kmeans_on_axes (ordered.h).
 */
double		fc_kmeans_operations(size_t n, size_t d, size_t k,
								 const fc_kmeans_options *options);

/*
 * Returns an upper bound on the number of bytes that fc_kmeans takes from its
 * arena.
 */
size_t		fc_kmeans_worksize(size_t n, size_t d, size_t k);

/*
 * Minimizes sum_i w_i min_j ||x_i - c_j||^2 over the k centroids. initial (k x
 * d, or NULL) is a start of its own, tried first; with n_init = 0 it is the
 * only start.
 *
 * The default budget of a search is min(14, 5 + k) times the cost of its first
 * start, or 5 times where d > 32. Where d > 32, a budget below 1e9
 * multiply-adds is tripled, up to this number. The budget is at least 1e8
 * multiply-adds, which allow 20 starts or more if n k is small. FC_FAST takes
 * a quarter of this budget. A Lloyd step costs n (k d + 16) multiply-adds. The
 * search ends early once three of its starts reach the same lowest SSE.
 *
 * k may exceed the number of distinct rows: surplus clusters then get weight 0
 * and a copy of a row. The caller should centre the rows, as arithmetic is in
 * float. The same rows in the same order, seed and options give the same
 * answer; with another order, other rows are drawn, and the search may end in
 * another minimum. The caller ensures that there are rows and that their
 * weights sum to more than 0.
 */
void		fc_kmeans(const fc_rows *rows, size_t k, const double *initial,
					  const fc_kmeans_options *options, fc_arena *arena,
					  fc_kmeans_result *result);

#endif							/* FC_KMEANS_KMEANS_H */
