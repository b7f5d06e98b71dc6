/*
 * internal.h - shared by the files of density: radii of balls, the spanning
 * tree, and disjoint sets
 */
#ifndef FC_DENSITY_INTERNAL_H
#define FC_DENSITY_INTERNAL_H

#include "density/density.h"

/* Number of points in a tile (fc_point_tiles). */
#define FC_POINT_TILE	8

/*
 * Points stored in tiles: a tile has the first coordinates of FC_POINT_TILE
 * points, then their second coordinates, and so on. The last tile is filled up
 * with zeros.
 */
typedef struct fc_point_tiles
{
	size_t		n;
	size_t		d;
	double	   *x;
} fc_point_tiles;

/* Returns the address of coordinate c of point i. */
static inline double *
fc_point_coordinate(const fc_point_tiles *points, size_t i, size_t c)
{
	return &points->x[(i / FC_POINT_TILE * points->d + c) * FC_POINT_TILE +
					  i % FC_POINT_TILE];
}

/*
 * Returns the length of an array for the distances to n points: n, rounded up
 * to whole tiles.
 */
static inline size_t
fc_point_lanes(size_t n)
{
	return (n + FC_POINT_TILE - 1) / FC_POINT_TILE * FC_POINT_TILE;
}

fc_point_tiles fc_point_tiles_of(const fc_micro_clusters *micro_clusters, fc_arena *arena);

/*
 * Computes the squared distances from each of `count` points x (count x d) to
 * all points. squared: count x fc_point_lanes(n).
 */
void		fc_point_distances(const fc_point_tiles *points, const double *x,
							   size_t count, double *squared);

/*
 * Sets squared[t * m + a] to r_M(a)^2, where M = mass[t * m + a], for all m
 * micro-clusters a and all t < masses.
 */
void		fc_squared_radii(const fc_micro_clusters *micro_clusters, const double *mass,
							 size_t masses, fc_arena *arena, double *squared);

/*
 * An edge of the spanning tree: reach is the square of max(r_K(a), r_K(b),
 * |mean_a - mean_b|), length the square of |mean_a - mean_b|.
 */
typedef struct fc_edge
{
	double		reach;
	double		length;
	uint32_t	a;
	uint32_t	b;
} fc_edge;

/*
 * Computes the m - 1 edges of the minimum spanning tree, sorted by reach, ties
 * by length. core: m values of r_K^2.
 */
void		fc_spanning_tree(const fc_micro_clusters *micro_clusters, const double *core,
							 fc_arena *arena, fc_edge *edges);

/*
 * Disjoint sets over 0 .. n - 1 (union-find). The root of each set heads a
 * list of the members that have no label.
 */
typedef struct fc_disjoint_sets
{
	uint32_t   *up;				/* parent of each element; a root is its own
								 * parent */
	uint32_t   *first;			/* first member in the list of a root;
								 * FC_NONE: the list is empty */
	uint32_t   *last;			/* last member in the list of a root */
	uint32_t   *next;			/* next member in the list; FC_NONE: none */
} fc_disjoint_sets;

#define FC_NONE	UINT32_MAX

fc_disjoint_sets fc_new_sets(size_t n, fc_arena *arena);
uint32_t	fc_set_of(fc_disjoint_sets *sets, uint32_t v);

/* Joins set y to set x; both must be roots. */
void		fc_join_sets(fc_disjoint_sets *sets, uint32_t x, uint32_t y);

/*
 * Sets label[v] to c for all members v in the list of root `set`, and empties
 * the list.
 */
void		fc_label_set(fc_disjoint_sets *sets, uint32_t set, int32_t c, int32_t *label);

/* ---- thresholds, and noise ---- */

/*
 * Ratio tau of the numbers of rows in two balls, 0 to 1. The dimension is
 * measured by the growth of the radius from a ball of K rows to a ball of K /
 * tau rows. A smaller ratio measures over a longer range, which varies less by
 * chance and is less local (bench/density.py, bench/tuned.py).
 */
#define FC_GROWTH_SHARE	0.3

/*
 * Indices of the radii of a micro-cluster. r_M is the radius of the ball around
 * its mean that holds M rows. density.h has the formulas for K, K' and K"; tau
 * is FC_GROWTH_SHARE.
 */
enum thresholds
{
	CORE,						/* r_K, which measures the density */
	SURE,						/* r_K'; an edge longer than the r_K' of two
								 * peaks separates them */
	SURE_ON_LINE,				/* r_K' for rows on a line or a narrow band */
	TAIL,						/* r_{K / tau}, for measuring the dimension */
	ABOVE,						/* r_K", compared with the reach of a cluster */
	THRESHOLDS
};

typedef struct density_walk
{
	const fc_micro_clusters *b;
	const double *radius[THRESHOLDS];	/* m squared radii for each index in
										 * enum thresholds */
	fc_edge    *edges;			/* m - 1 edges */
	double		min_rows;
	double		K;				/* number of rows in a ball that measures
								 * density */
	bool		lattice;		/* true: rows are points of a lattice
								 * (clusters.c) */
	fc_disjoint_sets sets;
	double	   *rows;			/* m values: number of rows of the set, valid
								 * at a root */
	uint32_t   *peak;			/* m values: densest micro-cluster of the set,
								 * valid at a root */
	int32_t    *node;			/* m values: index of a cluster, or m + index
								 * of a split; -1: no split yet; valid at a
								 * root */
	size_t		splits;
	double		first;			/* reach (fc_edge) of the last split found,
								 * whose valley is the sparsest; 0: no split */
	fc_density *found;
} density_walk;

/*
 * Returns ln(r_{K / tau} / r_K) from the squared radii core = r_K^2 and tail =
 * r_{K / tau}^2, or infinity where r_K is 0.
 */
static inline double
fc_log_growth(double core, double tail)
{
	return core > 0.0 ? 0.5 * log(tail / core) : INFINITY;
}

/*
 * Returns the dimension, between 1 and d, of the rows around a point.
 * log_growth is the logarithm of the factor by which the radius of a ball
 * grows from K to K / tau rows.
 */
static inline double
fc_dimension(size_t d, double log_growth)
{
	return fmin(fmax(log(1.0 / FC_GROWTH_SHARE) / log_growth, 1.0), (double) d);
}

/*
 * Sets limit[c] to the squared reach of cluster c: micro-clusters of c are
 * noise if the square of their r_K" exceeds it. limit: one value per cluster.
 * found->peak_cluster must be set.
 */
void		fc_density_limits(const density_walk *w, fc_arena *arena, double *limit);

#endif							/* FC_DENSITY_INTERNAL_H */
