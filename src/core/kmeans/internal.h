/*
 * internal.h - what the seeding and the Lloyd steps of fc_kmeans share.
 */
#ifndef FC_KMEANS_INTERNAL_H
#define FC_KMEANS_INTERNAL_H

#include "base/rng.h"
#include "kmeans/exchange.h"
#include "kmeans/kmeans.h"
#include "kmeans/nearest.h"
#include "numerics/screen.h"

#define MAX_DRAWS	64			/* candidates a centroid; 2 + log k stays below */
#define CHECKED_ROWS	((size_t) 1 << 16)	/* simple work on that many between two checks */

typedef struct fc_kmeans_tree
{
	size_t		blocks;			/* leaves */
	float	   *box;			/* 2 d a node: least and greatest coordinates */
	double	   *mass;			/* a node: sum of w near of its rows */
	float	   *farthest;		/* a node: greatest near of its rows */
	uint32_t   *list;			/* 5 k: centroids that may be nearest, by level */
	float	   *centroids;		/* k x d: those of a leaf */
	float	   *half;			/* k */
} fc_kmeans_tree;

/* Arrays of n are in the order of the tree, where there is one, else in the caller's. */
struct fc_kmeans_work
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
	fc_arena   *arena;			/* of the start (branches.h) and the screens of many clusters in many dimensions */
	bool		branching;		/* starts come from there */
	fc_screen	screen;			/* its records last from step to step */
	bool		exchanging;		/* rounds of exchanges follow the start, rather than of breathing */
	fc_exchange exchange;
};

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
fc_status	fc_kmeans_assign(fc_kmeans_work *w, const double *centroids);

/* Bytes of w->spare that fc_kmeans_assign takes. */
size_t		fc_kmeans_screen_worksize(size_t k, size_t d);

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
fc_status	fc_kmeans_descend(fc_kmeans_work *w, const fc_kmeans_stop *stop, int *iterations, double *objective);

/*
 * The mean in centroid j comes onto the sphere; by W times the square of the way, which comes back, the SSE of its cluster rises.  A mean
 * at the center has no direction and stays there.
 */
double		fc_kmeans_to_sphere(const fc_kmeans_work *w, size_t j);

/* k-means++ centroids in w->centroid. */
fc_status	fc_kmeans_seed(fc_kmeans_work *w, fc_rng *rng);

/* `count` more centroids behind the w->k there are, near being the squared distances to those; k counts them. */
fc_status	fc_kmeans_add(fc_kmeans_work *w, fc_rng *rng, size_t count);

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
fc_status	fc_kmeans_breathe(fc_kmeans_work *w, fc_rng *rng, const fc_kmeans_options *options, double *sse);

/* The row of a block at which the sums of w_i near_i pass `rest`; the last one with mass, if rounding overshoots. */
static inline size_t
fc_kmeans_draw_in_block(const fc_kmeans_work *w, size_t start, double rest)
{
	size_t		chosen = start;

	for (size_t i = start; i < start + fc_kmeans_block(w, start); i++)
	{
		double		mass = fc_kmeans_weight(w, i) * (double) w->near[i];

		if (mass <= 0.0)
			continue;
		chosen = i;
		if (rest < mass)
			break;
		rest -= mass;
	}
	return chosen;
}

#endif							/* FC_KMEANS_INTERNAL_H */
