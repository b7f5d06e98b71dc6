/*
 * internal.h - declarations shared by the files of fc_kmeans: rows, the state
 * of a search, methods that find the nearest centroids.
 */
#ifndef FC_KMEANS_INTERNAL_H
#define FC_KMEANS_INTERNAL_H

#include "base/rng.h"
#include "base/sort.h"
#include "kmeans/kmeans.h"

/*
 * ---- inner loops over one block of rows: nearest_simd.c ----
 *
 * In few dimensions (d <= FC_PACK_DIMENSIONS), the loops work on packs:
 * FC_PACK rows stored dimension by dimension, so that a vector lane is a row.
 * In more dimensions, BLAS computes tiles of dot products, and the loops
 * search each tile for the lowest scores.
 */

/*
 * Number of rows in a pack. A larger pack makes better use of the vector
 * registers, as long as it fits them (bench/speed.py).
 */
#define FC_PACK	32

/*
 * Maximum number of dimensions for packs. With more dimensions, BLAS is used,
 * because the overhead of its calls is then small. A guess.
 */
#define FC_PACK_DIMENSIONS	32

/*
 * Numbers of rows and of centroids in one matrix product. Larger tiles make
 * better use of BLAS, but do not fit the second-level cache. A guess.
 */
#define FC_TILE_ROWS	256
#define FC_TILE_CENTROIDS	256

/*
 * Transposes rows into a pack: sets packed[c * FC_PACK + r] to x[r][c] for r <
 * rows, and the rest of the pack to 0.
 */
void		fc_kmeans_pack(const float *x, size_t rows, size_t d, float *packed);

/*
 * Sets best[r] and label[r] of FC_PACK rows to the min and argmin over j of
 * the score half_norms[j] - x_r . c_j, where half_norms[j] is ||c_j||^2 / 2.
 */
void		fc_kmeans_pack_nearest(const float *packed, size_t d,
								   const float *centroids, const float *half_norms,
								   size_t k, float *best, int32_t *label);

/*
 * Sets best[r] and label[r] of FC_PACK rows to the min and argmin over j of
 * ||x_r - c_j||^2.
 */
void		fc_kmeans_pack_closest(const float *packed, size_t d, const float *centroids,
								   size_t k, float *best, int32_t *label);

/* Sets distance[r] of FC_PACK rows to ||x_r - c||^2. */
void		fc_kmeans_pack_distance(const float *packed, size_t d, const float *c,
									float *distance);

/*
 * Updates best and label of `rows` rows with the centroids first .. first +
 * count - 1, whose scores are half_norms[first + j] - dots[r *
 * FC_TILE_CENTROIDS + j]. Ties go to the lower index.
 */
void		fc_kmeans_tile_nearest(const float *dots, size_t rows, size_t count,
								   const float *half_norms, size_t first, float *best,
								   int32_t *label);

/* ---- rows, and the state of a search ---- */

/*
 * Rows of a search. A search with a k-d tree sorts them by the cells of the
 * tree; other searches keep the order of the caller.
 */
typedef struct fc_kmeans_rows
{
	const float *x;				/* n x d */
	const double *weight;		/* n: weights; NULL: all are 1, until
								 * fc_kmeans_measure_rows sets them */
	size_t		n;
	size_t		d;
	const uint32_t *order;		/* n: index of each row among the caller's
								 * rows; NULL: rows are in the order of the
								 * caller */
	float	   *packs;			/* packs of FC_PACK rows; NULL if d exceeds
								 * FC_PACK_DIMENSIONS */
	float	   *norm;			/* n: ||x||^2 */
	double		total;			/* sum of the weights */
	double		spread;			/* sum of weight * ||x||^2 */
	double		length;			/* greatest ||x|| of all rows */
	size_t		heaviest;		/* index of a row with the maximum weight */
} fc_kmeans_rows;

typedef struct fc_kmeans_work fc_kmeans_work;

/* A method that finds the nearest centroids of all rows (search.c). */
typedef struct fc_kmeans_search
{
	/*
	 * true for many clusters in many dimensions, where drawing seeds from all
	 * rows would cost more than the Lloyd steps
	 */
	bool		wide;

	/*
	 * Prepares the search, and may change the order of the rows. It is called
	 * before anything else reads them. NULL: nothing to prepare.
	 */
	void		(*arrange_rows) (fc_kmeans_work *w);
	/* Sets w->label and w->near of all rows by the centroids in w->rounded. */
	void		(*nearest_of_rows) (fc_kmeans_work *w);
} fc_kmeans_search;

/* Gain of splitting each cluster, and cost of merging it with another. */
typedef struct fc_splits
{
	uint32_t   *row;			/* n: indices of the rows of positive weight,
								 * grouped by cluster */
	size_t	   *first;			/* k + 1: index in row of each cluster's first
								 * row */
	double	   *gain;			/* k: lower bound on the SSE reduction of a
								 * split */

	/*
	 * k: upper bound on the SSE increase of a merge with the partner;
	 * INFINITY if there is no other cluster
	 */
	double	   *cost;

	/*
	 * k: the cluster with which a cluster would be merged: the nearest other
	 * cluster, or the one with the lowest cost of merging; the cluster itself
	 * if it is the only one. merge_down sets it to SIZE_MAX for a cluster
	 * that was merged.
	 */
	size_t	   *partner;
	bool	   *taken;			/* k: true once a cluster was split or joined
								 * in this round */
	fc_keyed   *by_gain;		/* k: clusters by falling gain, or by falling
								 * weight in rounds that balance */
	fc_keyed   *by_cost;		/* k: clusters by rising cost */
	fc_keyed   *scratch;		/* k: scratch for sorting */
	float	   *direction;		/* d: normal of the plane that splits a
								 * cluster */
	double	   *sums;			/* 2 d: weighted sums of the rows on either
								 * side of the plane */
	double		weight[2];		/* weights of the rows on either side of the
								 * plane */
} fc_splits;

/* State of k-means++. */
typedef struct fc_seeding
{
	size_t		draws;			/* number of candidates drawn per centroid */
	double		total;			/* sum over the rows of their weight times
								 * fc_kmeans_work.near */
	double	   *potential;		/* n / FC_TILE_ROWS values, rounded up: the
								 * part of total in each block of FC_TILE_ROWS
								 * rows */
	float	   *candidate;		/* draws x d: rows drawn as candidates */

	/*
	 * squared distances to the candidates: draws x n, or with packs draws x
	 * FC_TILE_ROWS, for one block of rows at a time
	 */
	float	   *distance;
} fc_seeding;

/* Limits on a search. Gains and tolerances are relative falls of the SSE. */
typedef struct fc_effort
{
	double		budget;			/* budget of a search, relative to FC_BALANCED */
	double		further;		/* multiply-adds of further starts after a
								 * search, as a multiple of the multiply-adds
								 * of the search */

	/* Rounds of splits and merges: */
	double		start_tolerance;	/* tolerance of Lloyd's steps before the
									 * rounds */
	double		sure_gain;		/* gain below which a round of sure moves
								 * (split_merge.c) is the last */
	int			max_trial_failures; /* number of failed trials (split_merge.c)
									 * that ends the rounds; 0: no trials */
	double		max_trial_work; /* number of multiply-adds of a failed trial
								 * above which it is the last trial */
	double		end_tolerance;	/* tolerance of Lloyd's steps after the rounds */
	double		typical_steps;	/* number of Lloyd steps that take as long as
								 * all rounds (measured) */

	/* Rounds of breathing: */
	size_t		breath;			/* maximum number of centroids that a round
								 * adds */
	int			failures_to_shrink; /* consecutive failed rounds after which
									 * rounds add one centroid less */
	int			max_breath_failures;	/* consecutive failed rounds that end
										 * the search */
	int			coarse_steps;	/* maximum number of Lloyd steps with the
								 * added centroids */
} fc_effort;

struct fc_kmeans_work
{
	fc_kmeans_rows rows;
	const fc_kmeans_search *search;
	void	   *searched;		/* state of `search`, set by its arrange_rows */
	fc_arena   *arena;

	/* State of the search: */
	fc_kmeans_options options;	/* options of the caller; FC_KMEANS_SEARCH is
								 * replaced by numbers */

	/*
	 * multiply-adds after which no round or start begins; 0: the first start
	 * has not set it yet
	 */
	double		budget;
	const fc_effort *effort;

	/*
	 * true if seeds are drawn from a sample of the rows, instead of all rows,
	 * if there are enough rows
	 */
	bool		wide;
	bool		split_merge;	/* true: rounds of splits and merges; false:
								 * rounds of breathing */

	/*
	 * maximum number of centroids that a round of breathing adds: the lesser
	 * of effort->breath and half of k, rounded up; 0 if k is 1
	 */
	size_t		breath;
	fc_rng		rng;			/* random numbers of the current start */
	uint64_t	compared;		/* number of comparisons so far: rows with
								 * centroids, and centroids with each other */

	/*
	 * number of row visits so far, each of which costs STEP_OVERHEAD: 1 per
	 * row and Lloyd step, 1/4 per row and candidate of k-means++
	 */
	uint64_t	visited;
	double		spent;			/* multiply-adds spent until the last call of
								 * fc_kmeans_measure */

	/* State of the assignment of rows: */
	bool		careful;		/* true once the rounding error of scores is
								 * too large; distances are then compared
								 * instead */

	/*
	 * n: squared distance to the nearest seed or centroid; after an
	 * assignment that is not careful, the lowest score of the row instead
	 */
	float	   *near;
	int32_t    *label;
	int32_t    *summed_in;		/* n: cluster whose sums include the row; -1:
								 * none */
	float	   *near_best;		/* n: squared distances to the centroids that
								 * a round starts from */
	int32_t    *label_best;		/* n: labels by the centroids that a round
								 * starts from */

	/*
	 * 2 n: rows far from their centroids, and scratch; NULL until a cluster
	 * is empty
	 */
	fc_keyed   *far;

	/*
	 * Values per centroid; the arrays have room for the centroids that a
	 * round of breathing adds:
	 */
	size_t		k;
	double	   *centroid;		/* k x d */
	double	   *best;			/* k x d: centroids that a round starts from */
	float	   *rounded;		/* k x d: the centroids in float */
	float	   *half;			/* k: ||c||^2 / 2 */

	/*
	 * bound on the rounding error of a score (see operator/rounding_bounds.c)
	 */
	double		score_rounding;
	double	   *sum;			/* k x d: sums of weight * x */
	double	   *weight;			/* k: sum of the weights of each cluster */
	size_t	   *count;			/* k: number of rows of positive weight per
								 * cluster */
	double		sse;			/* SSE by the last step or measurement */
	float	   *tile;			/* FC_TILE_ROWS x FC_TILE_CENTROIDS dot
								 * products */
	fc_seeding	seeding;
	fc_splits	splits;
};

/*
 * Cost of a Lloyd step per row besides comparisons, in multiply-adds, for the
 * budgets of searches. A guess.
 */
#define STEP_OVERHEAD	16.0

/* ---- inner loops over the rows of a search: nearest_simd.c ---- */

/*
 * Updates the sums of the clusters for rows first .. last - 1 whose label
 * differs from summed_in: subtracts them from the sums of the old cluster,
 * adds them to the sums of the new one, and sets summed_in to label.
 */
void		fc_kmeans_sum(fc_kmeans_work *w, size_t first, size_t last);

/*
 * Returns the sum of weight * min(near, distance) over rows first .. last - 1,
 * the potential with another seed. If `update`, stores the minima in near.
 */
double		fc_kmeans_potential(const fc_kmeans_work *w, const float *distance,
								size_t first, size_t last, bool update);

/* ---- search.c ---- */

const fc_kmeans_search *fc_kmeans_choose_search(const fc_kmeans_rows *rows, size_t k);

/* ---- lloyd.c ---- */

/*
 * Computes the packs, norms and totals of w->rows. If there are no weights,
 * sets them to 1.
 */
void		fc_kmeans_measure_rows(fc_kmeans_work *w);

/*
 * Sets w->centroid to w->k seeds, drawn from w->rows by k-means++. The caller
 * releases the arena.
 */
void		fc_kmeans_seed(fc_kmeans_work *w);

/*
 * Adds `count` centroids, drawn by k-means++, after the w->k existing ones,
 * and increases w->k. w->near must hold the rows' squared distances to the
 * existing ones.
 */
void		fc_kmeans_add(fc_kmeans_work *w, size_t count);

/* Computes rounded, half and score_rounding from the centroids. */
void		fc_kmeans_round(fc_kmeans_work *w);

/*
 * Calls fc_kmeans_round, then sets w->label and w->near of all rows. Sets
 * w->sse to DBL_MAX, because the SSE is not known.
 */
void		fc_kmeans_assign(fc_kmeans_work *w);

/*
 * Takes up to `steps` Lloyd steps from w->label. Stops when the SSE falls by
 * less than the share `tolerance`, or when it is unlikely to fall below `beat`
 * (INFINITY: no such limit). Returns the number of steps. On return, labels
 * refer to the final centroids, but w->sse and w->weight to the clusters
 * before the last assignment.
 */
int			fc_kmeans_descend(fc_kmeans_work *w, int steps, double tolerance, double beat);

/*
 * Computes from w->label the weight of each cluster, w->near (squared
 * distances to w->centroid) and w->sse, row by row in double. Updates
 * w->spent.
 */
void		fc_kmeans_measure(fc_kmeans_work *w);

/*
 * Moves the centroids onto options.sphere, unless it is NULL. Then labels the
 * rows, and measures them by fc_kmeans_measure.
 */
void		fc_kmeans_converge(fc_kmeans_work *w);

/* ---- split_merge.c ---- */

/*
 * Runs rounds, starting from w->centroid, which must have been measured. On
 * return, w->centroid holds the best centroids and w->sse their SSE. Runs at
 * most options.rounds rounds, and starts no round once the budget is spent.
 */
void		fc_kmeans_rounds(fc_kmeans_work *w);

/*
 * Runs balancing rounds, starting from w->centroid, which must have been
 * measured. On return, w->centroid holds the centroids whose largest cluster
 * has the smallest weight. Once no cluster exceeds options.max, Lloyd's steps
 * lower the SSE as long as this remains true.
 */
void		fc_kmeans_balance(fc_kmeans_work *w);

#endif							/* FC_KMEANS_INTERNAL_H */
