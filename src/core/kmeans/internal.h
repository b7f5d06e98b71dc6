/*
 * internal.h - the state of fc_kmeans, and its parts.
 */
#ifndef FC_KMEANS_INTERNAL_H
#define FC_KMEANS_INTERNAL_H

#include "base/rng.h"
#include "base/sort.h"
#include "kmeans/kmeans.h"
#include "numerics/kdtree.h"
#include "numerics/screen.h"

#define MAX_DRAWS	64			/* candidates a centroid; 2 + log k stays below */
#define CHECKED_ROWS	((size_t) 1 << 16)	/* simple work on that many between two checks */

/*
 * ---- the inner loops over one block of rows: nearest_simd.c ----
 *
 * Small dimensions (d <= FC_PACK_DIMENSIONS) work on packs: FC_PACK rows stored dimension by dimension, so that a vector lane is a row.
 * Large dimensions take their dot products from BLAS and scan tiles of them.
 */
#define FC_PACK				32	/* rows of a pack */
#define FC_PACK_DIMENSIONS	32	/* packs beat BLAS up to here */
#define FC_TILE_ROWS		256	/* rows x centroids of one matrix product */
#define FC_TILE_CENTROIDS	256

/* packed[c * FC_PACK + r] = x[r][c], or x[chosen[r]][c] unless chosen is NULL; rows beyond `rows` are zero. */
void		fc_kmeans_pack(const float *x, const uint32_t *chosen, size_t rows, size_t d, float *packed);

/* best[r], label[r] = min and argmin over j of half_norms[j] - x_r . c_j; FC_PACK rows. */
void		fc_kmeans_pack_nearest(const float *packed, size_t d, const float *centroids,
								   const float *half_norms, size_t k, float *best, int32_t *label);

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
 * Rows x[chosen[r]], or x[r] where chosen is NULL, to the sums of their clusters label[r], and out of those of
 * before[r] unless it is -1; before = label then.  weight NULL means all 1.
 */
void		fc_kmeans_sum(const float *x, size_t d, const uint32_t *chosen, const int32_t *label, const double *weight,
						  size_t rows, int32_t *before, fc_cluster_sums *sums);

/* best[r], label[r] = min and argmin over j of ||x_r - c_j||^2; FC_PACK rows. */
void		fc_kmeans_pack_closest(const float *packed, size_t d, const float *centroids, size_t k,
								   float *best, int32_t *label);

/* sum of (x - c)^2 in double. */
double		fc_kmeans_distance(const float *x, const double *c, size_t d);

/* sum of w min(near, distance); with update, near takes that minimum.  weight NULL means all 1. */
double		fc_kmeans_potential(const float *distance, float *near, const double *weight, size_t rows, bool update);

/* ---- the state of a search ---- */

typedef struct fc_exchange
{
	uint32_t   *row;			/* n, or NULL: rows by cluster */
	size_t	   *first;			/* k + 1: where a cluster's rows begin */
	double	   *gain;			/* k: by how much a split lowers the SSE at least */
	bool	   *paired;			/* k */
	fc_keyed   *ranks;			/* 3 k: by gains, by costs, and scratch */
	float	   *direction;		/* d */
	double	   *sums;			/* 2 d */
} fc_exchange;

typedef struct fc_kmeans_tree
{
	fc_kdtree	rows;			/* its leaves are blocks */
	uint32_t   *list;			/* 5 k: centroids that may be nearest, by level */
	float	   *centroids;		/* k x d: those of a leaf */
	float	   *half;			/* k */
} fc_kmeans_tree;

/* Arrays of n are in the order of the tree, where there is one, else in the caller's. */
typedef struct fc_kmeans_work
{
	const fc_rows *rows;
	const fc_sphere *sphere;	/* NULL: centroids are means */
	size_t		done;			/* work since the last check (fc_check_every) */
	size_t		k;
	size_t		n;
	size_t		d;
	size_t		draws;			/* candidates a centroid */
	bool		packed;			/* d is small: use packs rather than BLAS */
	uint64_t	compared;		/* pairs of a row and a centroid */
	double		budget;			/* multiply-adds; no round and no start begins beyond */
	uint64_t	paired;			/* pairs of centroids that might merge */
	uint64_t	visited;		/* rows of all Lloyd steps */
	bool		careful;		/* rounding of scores would show: compare distances */
	double		spread;			/* sum of w ||x||^2 */
	double		total;			/* sum of w */
	double		length;			/* max ||x|| */
	double		max_centroid_norm;	/* max ||c|| of the centroids last rounded */
	float	   *packs;			/* packs of FC_PACK rows, when packed */
	uint32_t   *order;			/* n: the caller's numbers of the rows, NULL without a tree */
	const double *weight_in_order;	/* n, or NULL: all 1 */
	double	   *weighted;		/* n: room for them */
	fc_kmeans_tree tree;
	float	   *norm;			/* n: ||x||^2 */
	size_t		heaviest;		/* a row of the greatest weight */
	float	   *near;			/* n: squared distance to the nearest seed, or best score, or distance when careful */
	float	   *kept;			/* n: near of w->best */
	int32_t    *label;			/* n */
	int32_t    *summed_in;		/* n: the cluster whose sums hold the row, or -1 */
	double	   *potential;		/* one a block: sum of w near */
	double	   *centroid;		/* k x d */
	double	   *best;			/* k x d: the centroids that a round starts from */
	double	   *merge_cost;		/* k: what the SSE gains at most when a cluster joins its partner */
	size_t	   *partner;		/* k */
	float	   *rounded;		/* k x d: the centroids in float */
	float	   *half;			/* k: ||c||^2 / 2 */
	double	   *sum;			/* k x d */
	double	   *weight;			/* k */
	size_t	   *count;			/* k: rows of positive weight */
	size_t	   *far_row;		/* k: heap of the farthest rows */
	float	   *far_distance;	/* k */
	float	   *candidate;		/* draws x d */
	float	   *distance;		/* draws x n: squared distances to the candidates, when not packed */
	float	   *tile;			/* FC_TILE_ROWS x FC_TILE_CENTROIDS */
	fc_arena   *arena;			/* of the start (branches.c) and the screens of many clusters in many dimensions */
	bool		branching;		/* starts come from there */
	fc_screen	screen;			/* its records last from step to step */
	bool		exchanging;		/* rounds of exchanges follow the start, rather than of breathing */
	fc_exchange exchange;
} fc_kmeans_work;

static inline double
fc_kmeans_weight(const fc_kmeans_work *w, size_t i)
{
	return w->weight_in_order == NULL ? 1.0 : w->weight_in_order[i];
}

/* Row i, in the order of the tree: where it is, or a copy in buffer (FC_PACK_DIMENSIONS). */
static inline const float *
fc_kmeans_row(const fc_kmeans_work *w, size_t i, float *buffer)
{
	const float *pack = w->packs + i / FC_PACK * FC_PACK * w->d + i % FC_PACK;

	if (w->order == NULL)
		return w->rows->x + i * w->d;
	for (size_t c = 0; c < w->d; c++)
		buffer[c] = pack[c * FC_PACK];
	return buffer;
}

static inline size_t
fc_kmeans_block(const fc_kmeans_work *w, size_t start)
{
	return w->n - start < FC_TILE_ROWS ? w->n - start : FC_TILE_ROWS;
}

/* Bound of the rounding of a score (operator/build.c). */
double		fc_kmeans_score_rounding(const fc_kmeans_work *w);

/* label = argmin_j ||x - c_j||, near = its score, or its squared distance when careful. */
void		fc_kmeans_assign(fc_kmeans_work *w, const double *centroids);

/* Weights and SSE of w->label about the given centroids, row by row in double; near = the squared distances. */
void		fc_kmeans_measure(fc_kmeans_work *w, const double *centroids, double *weights, double *sse);

/* When Lloyd's steps end. */
typedef struct fc_kmeans_stop
{
	int			steps;			/* so many at most */
	double		tolerance;		/* the SSE falls by less than this share */
	double		beat;			/* the SSE is not about to fall below this; INFINITY: go on */
} fc_kmeans_stop;

/*
 * Lloyd steps from w->centroid.  Labels are of the centroids it leaves there; objective is the SSE of the last
 * update, weight its clusters' weights.
 */
void		fc_kmeans_descend(fc_kmeans_work *w, const fc_kmeans_stop *stop, int *iterations, double *objective);

/*
 * The mean in centroid j comes onto the sphere; by W times the square of the way, which comes back, the SSE of its cluster rises.  A mean
 * at the center has no direction and stays there.
 */
double		fc_kmeans_to_sphere(const fc_kmeans_work *w, size_t j);

/* Rows that seeds are drawn from: all n, or some. */
size_t		fc_kmeans_part(size_t n, size_t d, size_t k);

/* x (most x d): one row of each of `most` equal shares of the weight, in their order; how many. */
size_t		fc_kmeans_draw_part(const fc_kmeans_work *w, fc_rng *rng, size_t most, float *x);

/* Cluster b joins a: its centroid and weight are those of both. */
void		fc_kmeans_join(fc_kmeans_work *w, size_t a, size_t b);

/* k-means++ centroids in w->centroid. */
void		fc_kmeans_seed(fc_kmeans_work *w, fc_rng *rng);

/* `count` more centroids behind the w->k there are, near being the squared distances to those; k counts them. */
void		fc_kmeans_add(fc_kmeans_work *w, fc_rng *rng, size_t count);

/* Centroids that a round of breathing adds to k at most. */
size_t		fc_kmeans_breath(size_t k);

/* What a Lloyd step costs a row besides its comparisons, in multiply-adds, about. */
#define STEP_OVERHEAD	16.0

/* The multiply-adds so far. */
static inline double
fc_kmeans_spent(const fc_kmeans_work *w)
{
	return ((double) w->compared + (double) w->paired) * (double) w->d + STEP_OVERHEAD * (double) w->visited;
}

/*
 * Rounds of breathing (breathe.c) from w->centroid, of SSE *sse and with near measured; the best centroids and their
 * SSE come back.  At most options->rounds, and none begins once w->budget is spent.
 */
void		fc_kmeans_breathe(fc_kmeans_work *w, fc_rng *rng, const fc_kmeans_options *options, double *sse);

/* ---- tree.c ---- */

/* Is a tree worth its making? */
bool		fc_kmeans_wants_tree(size_t n, size_t d, size_t k);

/* The memory of a tree of n rows in d dimensions, and of k clusters. */
void		fc_kmeans_tree_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_kmeans_tree *tree);

/* label and near of all rows, as fc_kmeans_pack_nearest or, when careful, _closest against w->rounded. */
void		fc_kmeans_tree_assign(fc_kmeans_work *w);

/* ---- branches.c ---- */

#define FC_BRANCHES_MOST	64		/* of a node */

/* fc_kmeans, which clusters the rows of a node. */
typedef fc_status fc_kmeans_method(const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options, fc_arena *arena, fc_kmeans_result *result);

/* centroids (k x d) of rows of positive weight.  Fewer rows than clusters: surplus ones are copies.  The same rows, order and seed: the same answer. */
void		fc_kmeans_branch(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids);
size_t		fc_kmeans_branch_worksize(size_t n, size_t d, size_t k, size_t method_worksize);

/* ---- exchange.c ---- */

bool		fc_kmeans_wants_exchange(size_t n, size_t d, size_t k);

void		fc_kmeans_exchange_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_exchange *exchange);

/* Rounds from w->centroid, of SSE *sse and with label, near and weight measured; the best centroids, measured, and their SSE come back. */
void		fc_kmeans_exchange(fc_kmeans_work *w, const fc_kmeans_options *options, double *sse);

/* ---- parts of a round, which even.c has as well ---- */

/* Rows of positive weight by their labels. */
void		fc_exchange_gather(fc_kmeans_work *w);

/* The nearest other cluster of each, and what a join with it costs. */
void		fc_exchange_costs(fc_kmeans_work *w);

/* Numbers of clusters by values of at least 0. */
void		fc_exchange_rank(fc_kmeans_work *w, const double *values, bool falling, fc_keyed *ranks);

/* Two pieces of cluster j, in its places of w->rounded and w->sum, and what that gains, 0 where it has none; the weight of the larger. */
void		fc_exchange_split(fc_kmeans_work *w, size_t j, double *larger_side);

/* The centroid of cluster j at the mean of its rows, if it has any. */
void		fc_exchange_center(fc_kmeans_work *w, size_t j);

/* The pieces moved so that the plane between them halves the cluster, where its rows let it. */
void		fc_exchange_halve(fc_kmeans_work *w, size_t j, int halvings);

/* Clusters a and b become one, and the centroid of b goes to a piece of the third. */
void		fc_exchange_move(fc_kmeans_work *w, size_t a, size_t b, size_t split);

/* ---- even.c ---- */

/* From w->centroid to the most even centroids that rounds came to, the least SSE of those that have no cluster of more than `most`. */
void		fc_kmeans_even(fc_kmeans_work *w, double most);

#endif							/* FC_KMEANS_INTERNAL_H */
