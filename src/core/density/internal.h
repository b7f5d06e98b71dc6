/*
 * internal.h - shared by the files of density: radii of balls, the spanning
 * tree, parts that join
 */
#ifndef FC_DENSITY_INTERNAL_H
#define FC_DENSITY_INTERNAL_H

#include "density/density.h"

/*
 * Coordinates of points by dimension, so that distances to all of them are one
 * loop a dimension.
 */
typedef struct fc_point_columns
{
	size_t		n;
	size_t		stride;
	size_t		d;
	double	   *x;				/* d x stride */
} fc_point_columns;

fc_point_columns
			fc_point_columns_of(const fc_bubbles *bubbles, fc_arena *arena);

/* squared[i] = |x - point i|^2 */
void		fc_point_distances(const fc_point_columns *points, const double *x,
							   double *squared);

/*
 * squared[t m + a] = r_M(a)^2 of the mass M = mass[t m + a], for `masses` of
 * them a bubble.
 */
void		fc_squared_radii(const fc_bubbles *bubbles, const double *mass,
							 size_t masses, fc_arena *arena, double *squared);

/*
 * An edge of the spanning tree; squares of max(r_K(a), r_K(b), |mean_a -
 * mean_b|) and of |mean_a - mean_b|.
 */
typedef struct fc_edge
{
	double		reach;
	double		length;
	uint32_t	a;
	uint32_t	b;
} fc_edge;

/*
 * m - 1 edges, by their reach, equal ones by length; core: m squares of r_K.
 */
void		fc_spanning_tree(const fc_bubbles *bubbles, const double *core,
							 fc_arena *arena, fc_edge *edges);

/*
 * Disjoint sets of 0 .. n - 1, each with a list of its members without a
 * label.
 */
typedef struct fc_parts
{
	uint32_t   *up;
	uint32_t   *first;			/* of the list of a root; FC_NONE: it is empty */
	uint32_t   *last;
	uint32_t   *next;
} fc_parts;

#define FC_NONE	UINT32_MAX

fc_parts	fc_new_parts(size_t n, fc_arena *arena);
uint32_t	fc_part_of(fc_parts *parts, uint32_t v);

/* y becomes part of x; both are roots. */
void		fc_join_parts(fc_parts *parts, uint32_t x, uint32_t y);

/* The listed members of a root get a label, and leave its list. */
void		fc_label_part(fc_parts *parts, uint32_t part, int32_t c, int32_t *label);

/* ---- thresholds, and noise ---- */

/*
 * rows of a ball over the rows of the ball that it grows to, for its
 * dimension
 */
#define FC_GROWTH_SHARE			0.3

enum thresholds
{
	CORE,						/* r_K */
	SURE,						/* r_K' */
	SURE_ON_LINE,				/* the same of rows on a line */
	TAIL,						/* r_{K / tau} */
	ABOVE,						/* r_K" */
	THRESHOLDS
};

typedef struct density_walk
{
	const fc_bubbles *b;
	const double *radius[THRESHOLDS];	/* squared */
	fc_edge    *edges;			/* m - 1 */
	double		min_rows;
	double		K;
	bool		lattice;
	fc_parts	parts;
	double	   *rows;			/* m: of the part of a root */
	uint32_t   *peak;			/* m */
	int32_t    *node;			/* m: a cluster, or m + the number of a split;
								 * -1: no split yet */
	size_t		splits;
	double		first;			/* squared, of the last split; 0: there is
								 * none */
	fc_density *found;
} density_walk;

/* ln(r_{K / tau} / r_K) */
static inline double
fc_log_growth(double core, double tail)
{
	return core > 0.0 ? 0.5 * log(tail / core) : INFINITY;
}

/*
 * In how many dimensions rows lie, of d, where a ball grows so from K rows to
 * K / tau.
 */
static inline double
fc_dimension(size_t d, double log_growth)
{
	return fmin(fmax(log(1.0 / FC_GROWTH_SHARE) / log_growth, 1.0), (double) d);
}

/*
 * The squared r_K beyond which rows are noise, of each cluster; bubbles have
 * their homes.
 */
void		fc_density_limits(const density_walk *w, fc_arena *arena, double *limit);

#endif							/* FC_DENSITY_INTERNAL_H */
