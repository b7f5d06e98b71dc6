/*
 * density.h - clusters without a number: dense regions of any shape, and the
 * noise between them, from bubbles.
 *
 * A bubble sums up the rows nearest to one of many centroids: n, sum x, sum
 * |x|^2. The mean squared distance from a point p to the rows of bubble b is
 * exactly |p - mean_b|^2 + square_b. Sort the bubbles by it: a ball of that
 * radius holds all bubbles before b and half of b; between two of them the
 * squared radius is linear in the rows. So
 *
 *     r_M(a) = radius of the ball about mean_a that holds M rows
 *
 * needs sums alone, and every threshold is a number of rows, in which no
 * dimension and no volume enter (R = min_rows):
 *
 *     K  = max(0.35 R, 5 N / m)           the scale of density: of N rows a
 *                                         ball of K spans a few bubbles
 *     K' = K + sqrt(K (Z + n_a))          more than chance and the grain of
 *                                         the bubble explain;
 *                                         Z = 2.1 ln(N / K),
 *                                         on a band 36, on a line 60
 *     K" = K + (noise - 0.5) (K' - K)     rows whose r_K" is beyond the reach
 *                                         of their cluster are noise
 *
 * The minimum spanning tree of e_ab = max(r_K(a), r_K(b), |mean_a - mean_b|)
 * joins bubbles from the densest regions on. Two parts with R rows each that
 * join where e > r_K'(peak) of both are two clusters, and all splits are the
 * condensed tree. clusters.c has the rest, noise.c the reach of clusters.
 *
 * Breunig, Kriegel, Kroeger, Sander 2001 (data bubbles); Campello, Moulavi,
 * Sander 2013 (mutual reachability, the tree); Campello, Moulavi, Zimek,
 * Sander 2015 (outlier scores).
 */
#ifndef FC_DENSITY_DENSITY_H
#define FC_DENSITY_DENSITY_H

#include "base/fc.h"

/* Bubbles of a scan; all positive n. */
typedef struct fc_bubbles
{
	size_t		m;				/* 1 at least */
	size_t		d;
	const double *n;			/* m: rows, perhaps weighted */
	const double *mean;			/* m x d: best near the origin, for
								 * differences are taken */
	const double *square;		/* m: mean squared distance of the bubble's
								 * rows to its mean */
} fc_bubbles;

typedef struct fc_density_options
{
	double		min_rows;		/* R: a cluster has as many, 10 at least */
	double		noise;			/* how strict: 0 lax, 2 strict */
} fc_density_options;

/* A cluster: a leaf of the condensed tree. */
typedef struct fc_density_cluster
{
	size_t		peak;			/* its densest bubble */
	double		rows;			/* at its birth, above the split that it comes
								 * from */
	double		reach;			/* rows farther from their centroid are noise */
} fc_density_cluster;

/*
 * Two nodes that are one below this density: clusters are nodes 0 .. k - 1,
 * the split i is node k + i.
 */
typedef struct fc_density_split
{
	int32_t		left;
	int32_t		right;
	double		radius;			/* of the valley between them */
	double		rows;			/* of both */
} fc_density_split;

/* The arrays are the arena's. */
typedef struct fc_density
{
	size_t		k;				/* clusters, 1 at least, the largest first */
	fc_density_cluster *cluster;
	fc_density_split *split;	/* k - 1, the densest valley first */
	int32_t    *label;			/* m: the cluster of a bubble, -1: noise */
	int32_t    *home;			/* m: the cluster whose peak it is measured
								 * against, noise or not */
	double	   *radius;			/* m: r_K */
} fc_density;

/* Time is O(m^2 d), memory O(m d). */
void		fc_density_clusters(const fc_bubbles *bubbles,
								const fc_density_options *options, fc_arena *arena,
								fc_density *found);

/*
 * One density: bubbles whose ball of min_rows rows has at most radius `scale`
 * are dense, and two of them are of one cluster when their rows come within
 * it: |mean_a - mean_b| - s_a - s_b <= scale. label[a] is the number of its
 * cluster, the largest first, or -1; radius[a] that of its ball; both m.
 * Returns how many. Ester, Kriegel, Sander, Xu 1996 (DBSCAN).
 */
size_t
			fc_density_at_scale(const fc_bubbles *bubbles, double min_rows, double scale,
								fc_arena *arena, int32_t *label, double *radius);

#endif							/* FC_DENSITY_DENSITY_H */
