/*
 * internal.h - the parts of fc_kmeans: rows, the state of a search, ways to
 * the nearest centroids.
 */
#ifndef FC_KMEANS_INTERNAL_H
#define FC_KMEANS_INTERNAL_H

#include "base/rng.h"
#include "base/sort.h"
#include "kmeans/kmeans.h"

/*
 * ---- inner loops over one block of rows: nearest_simd.c ----
 *
 * Small dimensions (d <= FC_PACK_DIMENSIONS) work on packs: FC_PACK rows
 * stored dimension by dimension, so that a vector lane is a row. Large
 * dimensions take their dot products from BLAS and scan tiles of them.
 */
#define FC_PACK				32	/* rows of a pack */
#define FC_PACK_DIMENSIONS	32	/* packs beat BLAS up to here */
#define FC_TILE_ROWS		256 /* rows x centroids of one matrix product */
#define FC_TILE_CENTROIDS	256

/* packed[c * FC_PACK + r] = x[r][c]; rows beyond `rows` are zero. */
void		fc_kmeans_pack(const float *x, size_t rows, size_t d, float *packed);

/*
 * best[r], label[r] = min and argmin over j of half_norms[j] - x_r . c_j;
 * FC_PACK rows.
 */
void		fc_kmeans_pack_nearest(const float *packed, size_t d,
								   const float *centroids, const float *half_norms,
								   size_t k, float *best, int32_t *label);

/*
 * best[r], label[r] = min and argmin over j of ||x_r - c_j||^2; FC_PACK rows.
 */
void
			fc_kmeans_pack_closest(const float *packed, size_t d, const float *centroids,
								   size_t k, float *best, int32_t *label);

/* distance[r] = ||x_r - c||^2; FC_PACK rows. */
void		fc_kmeans_pack_distance(const float *packed, size_t d, const float *c,
									float *distance);

/*
 * Continue best and label of `rows` rows with the centroids first .. first +
 * count: score = half_norms[first + j] - dots[r * FC_TILE_CENTROIDS + j]. Ties
 * keep the lower one.
 */
void		fc_kmeans_tile_nearest(const float *dots, size_t rows, size_t count,
								   const float *half_norms, size_t first, float *best,
								   int32_t *label);

/* ---- rows, and the state of a search ---- */

/* Rows in the order of the search. */
typedef struct fc_kmeans_rows
{
	const float *x;				/* n x d */
	const double *weight;		/* n */
	size_t		n;
	size_t		d;
	const uint32_t *order;		/* n: the caller's numbers of the rows; NULL:
								 * the same */
	float	   *packs;			/* packs of FC_PACK rows; NULL where d is
								 * large */
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
	/*
	 * many clusters in many dimensions: seeds from all rows would cost more
	 * than the steps
	 */
	bool		wide;

	/*
	 * before anything reads the rows, whose order may change; NULL: nothing
	 * to do
	 */
	void		(*arrange_rows) (fc_kmeans_work *w);
	/* label and near of all rows, of w->rounded */
	void		(*nearest_of_rows) (fc_kmeans_work *w);
} fc_kmeans_search;

/* Clusters about to be split or merged. */
typedef struct fc_splits
{
	uint32_t   *row;			/* n: rows of positive weight, by cluster */
	size_t	   *first;			/* k + 1: where a cluster's rows begin */
	double	   *gain;			/* k: by how much a split lowers the SSE at
								 * least */
	/* k: by how much the SSE rises at most when a cluster joins its partner */
	double	   *cost;
	size_t	   *partner;		/* k: the nearest other cluster; itself where
								 * there is none */
	bool	   *taken;			/* k: no longer to be split or joined */
	fc_keyed   *by_gain;		/* k: clusters, those of greatest gain or
								 * weight first */
	fc_keyed   *by_cost;		/* k: those of least cost first */
	fc_keyed   *scratch;		/* k */
	float	   *direction;		/* d: across the plane that splits a cluster */
	double	   *sums;			/* 2 d: of the rows on its sides */
	double		weight[2];		/* of those */
} fc_splits;

/* Of k-means++. */
typedef struct fc_seeding
{
	size_t		draws;			/* candidates a centroid */
	double		total;			/* sum of w near */
	double	   *potential;		/* one a block: sum of w near */
	float	   *candidate;		/* draws x d */

	/*
	 * draws x n: squared distances to the candidates; of packs draws x
	 * FC_TILE_ROWS
	 */
	float	   *distance;
} fc_seeding;

/*
 * How long a search goes on. Gains and tolerances are relative falls of the
 * SSE.
 */
typedef struct fc_effort
{
	double		budget;			/* times the budget of a balanced search */

	/* rounds of splits and merges */
	double		start_tolerance;	/* ends Lloyd's steps before the rounds */
	double		sure_gain;		/* a round that gains less is the last of sure
								 * moves */
	int			max_trial_failures; /* trials that gain little, before the
									 * last */
	double		max_trial_work; /* multiply-adds of a failed trial after which
								 * no other follows */
	double		end_tolerance;	/* ends Lloyd's steps after the rounds */
	double		typical_steps;	/* Lloyd steps that take as long as all rounds
								 * (measured) */

	/* rounds of breathing */
	size_t		breath;			/* centroids that a round adds at most */
	int			failures_to_shrink; /* rounds in vain after which a round adds
									 * one less */
	int			max_breath_failures;	/* rounds in vain, in a row, that end
										 * the search */
	int			coarse_steps;	/* Lloyd steps with the centroids that a round
								 * adds */
} fc_effort;

struct fc_kmeans_work
{
	fc_kmeans_rows rows;
	const fc_kmeans_search *search;
	void	   *searched;		/* made by its arrange_rows */
	fc_arena   *arena;

	/* the state of the search */
	fc_kmeans_options options;	/* with FC_KMEANS_SEARCH spelled out */

	/*
	 * multiply-adds; no round and no start begins beyond.  0: not known
	 * before the first start
	 */
	double		budget;
	const fc_effort *effort;

	/*
	 * seeds are drawn from a part of the rows, as the search says and there
	 * are enough
	 */
	bool		wide;
	bool		split_merge;	/* rounds split and merge, rather than breathe */

	/*
	 * centroids that a round of breathing adds at most: half of k, if that is
	 * less than the effort allows
	 */
	size_t		breath;
	fc_rng		rng;			/* of the start */
	uint64_t	compared;		/* pairs of a row, or of a centroid, and a
								 * centroid */
	uint64_t	visited;		/* rows of all Lloyd steps */
	double		spent;			/* multiply-adds, when last measured */

	/* a row each */
	bool		careful;		/* rounding of scores would show: compare
								 * distances */

	/*
	 * squared distance to the nearest seed, or best score, or distance when
	 * careful
	 */
	float	   *near;
	int32_t    *label;
	int32_t    *summed_in;		/* the cluster whose sums hold the row, or -1 */
	float	   *near_best;		/* squared distances to the centroids that a
								 * round starts from, */
	int32_t    *label_best;		/* and the nearest of these */

	/*
	 * 2 n: rows far from their centroids; NULL before the first cluster was
	 * empty
	 */
	fc_keyed   *far;

	/* a centroid each, the last ones for a round of breathing */
	size_t		k;
	double	   *centroid;		/* k x d */
	double	   *best;			/* k x d: the centroids that a round starts
								 * from */
	float	   *rounded;		/* k x d: the centroids in float */
	float	   *half;			/* k: ||c||^2 / 2 */
	/* bounds the rounding of a score of these (operator/rounding_bounds.c) */
	double		score_rounding;
	double	   *sum;			/* k x d: sums of w x */
	double	   *weight;			/* k: sums of w */
	size_t	   *count;			/* k: rows of positive weight */
	double		sse;			/* as the last step or measurement found it */
	float	   *tile;			/* FC_TILE_ROWS x FC_TILE_CENTROIDS */
	fc_seeding	seeding;
	fc_splits	splits;
};

/*
 * The cost of a Lloyd step a row besides its comparisons, in multiply-adds,
 * about.
 */
#define STEP_OVERHEAD	16.0

/* ---- inner loops over the rows of a search: nearest_simd.c ---- */

/*
 * Adds rows first .. last - 1 to the sums of their clusters and takes them out
 * of those of summed_in, which label becomes.
 */
void		fc_kmeans_sum(fc_kmeans_work *w, size_t first, size_t last);

/*
 * sum of w min(near, distance) of rows first .. last - 1; with update, near
 * takes that minimum.
 */
double		fc_kmeans_potential(const fc_kmeans_work *w, const float *distance,
								size_t first, size_t last, bool update);

/* ---- search.c ---- */

const fc_kmeans_search *fc_kmeans_choose_search(const fc_kmeans_rows *rows, size_t k);

/* ---- lloyd.c ---- */

/* packs, norms and sums of w->rows, and weights of 1 where there are none. */
void		fc_kmeans_measure_rows(fc_kmeans_work *w);

/*
 * Centroids of w->rows by k-means++; the arena is left to the caller to
 * release.
 */
void		fc_kmeans_seed(fc_kmeans_work *w);

/*
 * `count` more centroids behind the w->k there are, near being the squared
 * distances to those; k counts them.
 */
void		fc_kmeans_add(fc_kmeans_work *w, size_t count);

/* rounded, half and score_rounding of the centroids. */
void		fc_kmeans_round(fc_kmeans_work *w);

/* The same, label and near; w->sse is not known. */
void		fc_kmeans_assign(fc_kmeans_work *w);

/*
 * Lloyd steps from w->label, of w->centroid, `steps` at most, until the SSE
 * falls by less than `tolerance` or is not about to fall below `beat`
 * (INFINITY: go on); returns their number. Labels are of the centroids left
 * there; w->sse is the SSE of the last update, weight its clusters' weights.
 */
int
			fc_kmeans_descend(fc_kmeans_work *w, int steps, double tolerance, double beat);

/*
 * weight and w->sse of w->label about w->centroid, row by row in double; near
 * = the squared distances.
 */
void		fc_kmeans_measure(fc_kmeans_work *w);

/* The same, once the centroids lie on the sphere and label is theirs. */
void		fc_kmeans_settle(fc_kmeans_work *w);

/* ---- split_merge.c ---- */

/*
 * Rounds from w->centroid, measured; the best centroids and their SSE come
 * back. At most options.rounds, and none begins once the budget is spent.
 */
void		fc_kmeans_rounds(fc_kmeans_work *w);

/*
 * From w->centroid, settled, to the most balanced centroids that rounds came
 * to, the least SSE of those that have no cluster of more than options.most.
 */
void		fc_kmeans_balance(fc_kmeans_work *w);

#endif							/* FC_KMEANS_INTERNAL_H */
