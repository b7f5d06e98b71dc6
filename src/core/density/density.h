/*
 * density.h - clustering without a given number of clusters: dense regions of
 * any shape, and the noise between them, from micro-clusters.
 *
 * A micro-cluster (a data bubble of Breunig et al.) summarizes the rows
 * nearest to one of many centroids by n, sum x and sum |x|^2. The mean squared
 * distance from a point p to the rows of micro-cluster b is exactly |p -
 * mean_b|^2 + square_b. Let the micro-clusters be sorted by this distance. A
 * ball around p whose squared radius is the mean squared distance of b is
 * taken to hold all micro-clusters before b, and half the rows of b. Between
 * two micro-clusters, the squared radius is interpolated linearly in the
 * number of rows. Then
 *
 *     r_M(a) = radius of the ball around mean_a that holds M rows
 *
 * needs only these sums, and every threshold is a number of rows, independent
 * of dimension and volume. Let there be N rows in m micro-clusters, n_a of
 * them in micro-cluster a. Let R = min_rows and w = copies. A place is a point
 * at which equal rows lie.
 *
 *     K  = max(5, 0.35 R, 5 N / m, 5 w)
 *     K' = K + sqrt(K (w Z + n_a))
 *     K" = K + (noise - 0.5) (K' - K)
 *
 * A ball of K rows measures density. It spans a few micro-clusters of average
 * size, and a few places of w equal rows each. At the radius at which a ball
 * in a valley holds K rows, a ball around the peak of a cluster must hold more
 * than K' rows: K' - K rows may be due to chance, or to the size n_a of the
 * micro-cluster. Chance adds whole places of w rows, not single rows; hence
 * the factor w. Z is 2.1 ln(N / K), but 36 on a narrow band and 60 on a line.
 * Rows are noise if their r_K" exceeds the reach of their cluster, a radius
 * (noise.c).
 *
 * The minimum spanning tree with edge lengths e_ab = max(r_K(a), r_K(b),
 * |mean_a - mean_b|) joins micro-clusters from the densest regions to the
 * sparsest. If two components of R rows each join at an edge with e > r_K' of
 * both peaks, they are two clusters. All splits together are the condensed
 * tree. clusters.c has the details, noise.c the reach of clusters.
 *
 * Breunig, Kriegel, Kroeger, Sander 2001 (data bubbles); Campello, Moulavi,
 * Sander 2013 (mutual reachability, the tree); Campello, Moulavi, Zimek,
 * Sander 2015 (outlier scores).
 */
#ifndef FC_DENSITY_DENSITY_H
#define FC_DENSITY_DENSITY_H

#include "base/fc.h"

/* Micro-clusters of a scan, all with n > 0. */
typedef struct fc_micro_clusters
{
	size_t		m;				/* number of micro-clusters, minimum 1 */
	size_t		d;
	const double *n;			/* m values: number of rows, or sum of their
								 * weights */
	const double *mean;			/* m x d means; differences between them are
								 * most precise if they are near the origin */
	const double *square;		/* m values: mean squared distance of a
								 * micro-cluster's rows to its mean */
} fc_micro_clusters;

typedef struct fc_density_options
{
	double		min_rows;		/* R: minimum number of rows in a cluster, 10
								 * or more */
	double		noise;			/* strictness about noise, from 0 (lax) to 2
								 * (strict) */

	/*
	 * w: mean number of rows that are equal to a row, itself included,
	 * averaged over all rows; 1: all rows differ (fc_density_copies)
	 */
	double		copies;
} fc_density_options;

/* A cluster, which is a leaf of the condensed tree. */
typedef struct fc_density_cluster
{
	size_t		peak;			/* index of the densest micro-cluster of the
								 * cluster */

	/*
	 * number of rows of the cluster that are denser than the valley of the
	 * split that separates the cluster from others
	 */
	double		rows;

	/*
	 * distance beyond which rows are noise. A row is noise if its distance to
	 * the centroid of its micro-cluster exceeds `reach`. A micro-cluster is
	 * noise if its radius r_K" (see above) exceeds `reach`.
	 */
	double		reach;
} fc_density_cluster;

/*
 * A split of the condensed tree: two nodes that are joined at a lower density.
 * Nodes 0 .. k - 1 are clusters, node k + i is split i.
 */
typedef struct fc_density_split
{
	int32_t		left;
	int32_t		right;
	double		radius;			/* radius r_K of the ball of K rows in the
								 * valley between the two nodes */
	double		rows;			/* number of rows of both nodes together */
} fc_density_split;

/* Result of fc_density_clusters; its arrays are allocated in the arena. */
typedef struct fc_density
{
	size_t		k;				/* number of clusters, minimum 1; the largest
								 * cluster comes first */
	fc_density_cluster *cluster;
	fc_density_split *split;	/* k - 1 splits, the one with the densest
								 * valley first */
	int32_t    *label;			/* m values: cluster of each micro-cluster;
								 * -1: noise */
	int32_t    *peak_cluster;	/* m values: cluster of each micro-cluster;
								 * for noise, the cluster to which it would
								 * belong */
	double	   *radius;			/* m values: r_K, the radius of the ball of K
								 * rows around each micro-cluster */
} fc_density;

/*
 * Minimum share of all rows, 0 to 1, that equal rows need to form a cluster of
 * their own; fewer equal rows count as repetitions. A smaller one makes more
 * such clusters; a larger one lets many equal rows hide clusters of fewer rows.
 * A guess.
 */
#define FC_HEAVY_PLACE	0.05

/*
 * Returns an estimate of option `copies` from a sample of n rows x (n x d).
 * Leaves out rows whose place has at least the share FC_HEAVY_PLACE of the
 * weight. Each row of the sample represents several rows of the table. weights
 * (n): sum of the weights of these rows; counts (n): their number, or NULL if
 * each of them has the weight 1.
 */
double		fc_density_copies(const float *x, const double *weights, const double *counts,
							  size_t n, size_t d, fc_arena *arena);

/*
 * Finds the clusters and the noise of micro-clusters, in time O(m^2 d) and
 * memory O(m d).
 */
void		fc_density_clusters(const fc_micro_clusters *micro_clusters,
								const fc_density_options *options, fc_arena *arena,
								fc_density *found);

/*
 * Finds the clusters at a single density. A micro-cluster is dense if its ball
 * of min_rows rows has a radius of at most `scale`. Two dense micro-clusters
 * share a cluster under two conditions: |mean_a - mean_b| - s_a - s_b <=
 * scale, where s is the square root of `square`; and the nearest two of their
 * rows are expected to be within `scale`, too. Sets label[a] to the cluster's
 * index, the largest cluster first, or to -1 for noise. Sets radius[a] to the
 * radius of the ball (m values each). Returns the number of clusters. Ester,
 * Kriegel, Sander, Xu 1996 (DBSCAN).
 */
size_t		fc_density_at_scale(const fc_micro_clusters *micro_clusters, double min_rows,
								double scale, fc_arena *arena, int32_t *label,
								double *radius);

#endif							/* FC_DENSITY_DENSITY_H */
