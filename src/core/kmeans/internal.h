/*
 * internal.h - the parts of fc_kmeans: rows, the state of a start, searches of the nearest centroids.
 */
#ifndef FC_KMEANS_INTERNAL_H
#define FC_KMEANS_INTERNAL_H

#include "base/rng.h"
#include "base/sizes.h"
#include "base/sort.h"
#include "kmeans/kmeans.h"

#define CHECKED_ROWS	((size_t) 1 << 16)	/* simple work on that many between two checks */

/*
 * ---- inner loops over one block of rows: nearest_simd.c ----
 *
 * Small dimensions (d <= FC_PACK_DIMENSIONS) work on packs: FC_PACK rows stored dimension by dimension, so that a vector lane is a row.
 * Large dimensions take their dot products from BLAS and scan tiles of them.
 */
#define FC_PACK				32	/* rows of a pack */
#define FC_PACK_DIMENSIONS	32	/* packs beat BLAS up to here */
#define FC_TILE_ROWS		256	/* rows x centroids of one matrix product */
#define FC_TILE_CENTROIDS	256

/* packed[c * FC_PACK + r] = x[r][c]; rows beyond `rows` are zero. */
void		fc_kmeans_pack(const float *x, size_t rows, size_t d, float *packed);

/* best[r], label[r] = min and argmin over j of half_norms[j] - x_r . c_j; FC_PACK rows. */
void		fc_kmeans_pack_nearest(const float *packed, size_t d, const float *centroids,
								   const float *half_norms, size_t k, float *best, int32_t *label);

/* best[r], label[r] = min and argmin over j of ||x_r - c_j||^2; FC_PACK rows. */
void		fc_kmeans_pack_closest(const float *packed, size_t d, const float *centroids, size_t k,
								   float *best, int32_t *label);

/* distance[r] = ||x_r - c||^2; FC_PACK rows. */
void		fc_kmeans_pack_distance(const float *packed, size_t d, const float *c, float *distance);

/*
 * Continue best and label of `rows` rows with the centroids first .. first + count:
 * score = half_norms[first + j] - dots[r * FC_TILE_CENTROIDS + j].  Ties keep the lower one.
 */
void		fc_kmeans_tile_nearest(const float *dots, size_t rows, size_t count, const float *half_norms,
								   size_t first, float *best, int32_t *label);

/* Of each cluster: the sum of w x (d each), the sum of w, rows of positive weight. */
typedef struct fc_cluster_sums
{
	double	   *sum;
	double	   *weight;
	size_t	   *count;
} fc_cluster_sums;

/*
 * Adds rows to the sums of their clusters label[r] and takes them out of those of before[r], unless it is -1; before = label then.
 * weight NULL means all 1.
 */
void		fc_kmeans_sum(const float *x, size_t d, const int32_t *label, const double *weight,
						  size_t rows, int32_t *before, fc_cluster_sums *sums);

/* sum of (x - c)^2 in double. */
double		fc_kmeans_distance(const float *x, const double *c, size_t d);

/* sum of w min(near, distance); with update, near takes that minimum.  weight NULL means all 1. */
double		fc_kmeans_potential(const float *distance, float *near, const double *weight, size_t rows, bool update);

/* ---- rows, and the state of a start ---- */

/* Rows in the order of the search. */
typedef struct fc_kmeans_rows
{
	const float *x;				/* n x d */
	const double *weight;		/* n, or NULL: all 1 */
	size_t		n;
	size_t		d;
	const uint32_t *order;		/* n: the caller's numbers of the rows; NULL: the same */
	float	   *packs;			/* packs of FC_PACK rows; NULL where d is large */
	float	   *norm;			/* n: ||x||^2 */
	double		total;			/* sum of w */
	double		spread;			/* sum of w ||x||^2 */
	double		length;			/* max ||x|| */
	size_t		heaviest;		/* a row of the greatest weight */
} fc_kmeans_rows;

typedef struct fc_kmeans_work fc_kmeans_work;

/* A way to the nearest centroids of all rows: search.c. */
typedef struct fc_kmeans_search
{
	bool		(*suits) (size_t n, size_t d, size_t k);
	void		(*prepare) (fc_kmeans_work *w);	/* before anything reads the rows, whose order may change */
	void		(*assign) (fc_kmeans_work *w);	/* label and near of all rows, of w->rounded */
} fc_kmeans_search;

struct fc_kmeans_work
{
	fc_kmeans_rows rows;
	const fc_kmeans_search *search;
	void	   *searched;		/* made by its prepare */
	const fc_sphere *sphere;	/* NULL: centroids are means */
	fc_arena   *arena;
	size_t		done;			/* work since the last check (fc_check_every) */
	uint64_t	compared;		/* pairs of a row, or of a centroid, and a centroid */
	uint64_t	visited;		/* rows of all Lloyd steps */
	double		budget;			/* multiply-adds; no round and no start begins beyond */
	bool		careful;		/* rounding of scores would show: compare distances */
	double		max_centroid_norm;	/* max ||c|| of the centroids last rounded */
	float	   *near;			/* n: squared distance to the nearest seed, or best score, or distance when careful */
	int32_t    *label;			/* n */
	int32_t    *summed_in;		/* n: the cluster whose sums hold the row, or -1 */
	size_t		k;
	double	   *centroid;		/* k x d */
	double	   *best;			/* k x d: the centroids that a round starts from */
	float	   *rounded;		/* k x d: the centroids in float */
	float	   *half;			/* k: ||c||^2 / 2 */
	double	   *sum;			/* k x d */
	double	   *weight;			/* k */
	size_t	   *count;			/* k: rows of positive weight */
	float	   *tile;			/* FC_TILE_ROWS x FC_TILE_CENTROIDS */
};

static inline double
fc_kmeans_weight(const fc_kmeans_work *w, size_t i)
{
	return w->rows.weight == NULL ? 1.0 : w->rows.weight[i];
}

static inline size_t
fc_kmeans_block(const fc_kmeans_work *w, size_t start)
{
	return smaller(w->rows.n - start, FC_TILE_ROWS);
}

/* Centroids that a round of breathing adds to k at most: half of k, if that is less than 5. */
static inline size_t
fc_kmeans_breath(size_t k)
{
	return k > 1 ? smaller((k + 1) / 2, 5) : 0;
}

/* The cost of a Lloyd step a row besides its comparisons, in multiply-adds, about. */
#define STEP_OVERHEAD	16.0

/* The multiply-adds so far. */
static inline double
fc_kmeans_spent(const fc_kmeans_work *w)
{
	return (double) w->compared * (double) w->rows.d + STEP_OVERHEAD * (double) w->visited;
}

/* ---- lloyd.c ---- */

/* packs, norms and sums of w->rows. */
void		fc_kmeans_measure_rows(fc_kmeans_work *w);

/* When Lloyd's steps end. */
typedef struct fc_kmeans_stop
{
	int			steps;			/* so many at most */
	double		tolerance;		/* the SSE falls by less than this share */
	double		beat;			/* the SSE is not about to fall below this; INFINITY: go on */
} fc_kmeans_stop;

/*
 * Lloyd steps from w->centroid; returns their number.  Labels are of the centroids left there; *objective is the SSE of the last
 * update, weight its clusters' weights.
 */
int			fc_kmeans_descend(fc_kmeans_work *w, const fc_kmeans_stop *stop, double *objective);

/* weight and *sse of w->label about w->centroid, row by row in double; near = the squared distances. */
void		fc_kmeans_measure(fc_kmeans_work *w, double *sse);

/* Moves the mean in centroid j onto the sphere, if it has a direction; returns the square of the way, by W times which the SSE rises. */
double		fc_kmeans_to_sphere(const fc_kmeans_work *w, size_t j);

/* ---- search.c ---- */

const fc_kmeans_search *fc_kmeans_choose_search(size_t n, size_t d, size_t k);

/* label = argmin_j ||x - c_j||, near = its score, or its squared distance when careful. */
void		fc_kmeans_assign(fc_kmeans_work *w);

/* rounded, half and max_centroid_norm of the centroids. */
void		fc_kmeans_round(fc_kmeans_work *w);

/* Bound of the rounding of a score (operator/rounding_bounds.c). */
double		fc_kmeans_score_rounding(const fc_kmeans_work *w);

/* Do searches skip most pairs of a row and a centroid? */
bool		fc_kmeans_wants_tree(size_t n, size_t d, size_t k);
bool		fc_kmeans_wants_bounds(size_t n, size_t d, size_t k);

/* ---- seed.c ---- */

/* k-means++ centroids in w->centroid. */
void		fc_kmeans_seed(fc_kmeans_work *w, fc_rng *rng);

/* `count` more centroids behind the w->k there are, near being the squared distances to those; k counts them. */
void		fc_kmeans_add(fc_kmeans_work *w, fc_rng *rng, size_t count);

/* fc_kmeans, which clusters the rows of a node. */
typedef void fc_kmeans_method(const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options, fc_arena *arena, fc_kmeans_result *result);

/*
 * centroids (k x d) of rows for many clusters.  Fewer rows of positive weight than clusters: surplus ones are copies.  The same rows, order
 * and seed: the same answer.
 */
void		fc_hierarchical_seed(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids);

/* ---- split_merge.c ---- */

/* Clusters about to be split or merged. */
typedef struct fc_splits
{
	uint32_t   *row;			/* n: rows of positive weight, by cluster */
	size_t	   *first;			/* k + 1: where a cluster's rows begin */
	double	   *gain;			/* k: by how much a split lowers the SSE at least */
	double	   *cost;			/* k: by how much the SSE rises at most when a cluster joins its partner */
	size_t	   *partner;		/* k: the nearest other cluster; itself where there is none */
	bool	   *taken;			/* k: no longer to be split or joined */
	fc_keyed   *by_gain;		/* k: clusters, those of greatest gain or weight first */
	fc_keyed   *by_cost;		/* k: those of least cost first */
	fc_keyed   *scratch;		/* k */
	float	   *direction;		/* d: across the plane that splits a cluster */
	double	   *sums;			/* 2 d: of the rows on its sides */
	double		weight[2];		/* of those */
} fc_splits;

fc_splits	fc_take_splits(fc_kmeans_work *w);

/* partner, cost and by_cost of w->centroid; nothing is taken. */
void		fc_find_merges(fc_kmeans_work *w, fc_splits *s);

/* Gathers the rows of clusters. */
void		fc_gather_clusters(fc_kmeans_work *w, fc_splits *s);

/* Sums and weights of the rows of cluster j on both sides of the plane direction . x = limit. */
void		fc_sum_sides(fc_kmeans_work *w, fc_splits *s, size_t j, double limit);

/* Two pieces of cluster j, in its places of w->rounded and w->sum, and gain, 0 where it has none; weight is theirs. */
void		fc_split_cluster(fc_kmeans_work *w, fc_splits *s, size_t j);

/* direction . x of row i */
double		fc_place_along(const fc_kmeans_work *w, const fc_splits *s, size_t i);

/* Numbers of clusters by values of at least 0. */
void		fc_rank_clusters(const fc_kmeans_work *w, const double *values, bool falling, fc_splits *s, fc_keyed *ranks);

/* Joins cluster b to a, and moves the centroid of b to a piece of cluster `split`; all are taken. */
void		fc_move_centroid(fc_kmeans_work *w, fc_splits *s, size_t a, size_t b, size_t split);

/* Would split_merge rounds gain more than breathing? */
bool		fc_kmeans_wants_split_merge(size_t n, size_t d, size_t k);

/*
 * Rounds from w->centroid, of SSE *sse and measured; the best centroids and their SSE come back.  At most
 * options->rounds, and none begins once w->budget is spent.
 */
void		fc_kmeans_breathe(fc_kmeans_work *w, fc_rng *rng, const fc_kmeans_options *options, double *sse);
void		fc_kmeans_split_merge(fc_kmeans_work *w, const fc_kmeans_options *options, double *sse);

/* ---- balanced.c ---- */

/* From w->centroid to the most balanced centroids that rounds came to, the least SSE of those that have no cluster of more than `most`. */
void		fc_kmeans_balance(fc_kmeans_work *w, double most);

#endif							/* FC_KMEANS_INTERNAL_H */
