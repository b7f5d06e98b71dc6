/*
 * evidence.h - how well k clusters describe rows: the evidence for a number of
 * clusters.
 *
 * The rows are dealt into two halves at random; k-means of each half gives
 * centroids C_0 and C_1.
 *
 *     cost       the mean squared distance of each half's rows to their
 *                nearest centroids of the other half
 *     agreement  the share of the rows to which C_0 and C_1 give matching
 *                clusters (Ben-Hur, Elisseeff and Guyon 2002; Lange, Roth,
 *                Braun and Buhmann 2004)
 *     separated  the number of clusters that valleys of the density divide
 *                from every other (see below), averaged over C_0 and C_1
 *     found      the lesser of `separated` and the number of reproduced
 *                clusters: matched clusters with FC_EVIDENCE_OVERLAP of their
 *                rows in common (Hennig 2007)
 *
 * A coordinate with at most FC_FEW_VALUES values, such as a flag or a
 * category, has gaps between its values that are not valleys of a density.
 * Random offsets are therefore added to such values before valleys are sought:
 * a uniform random number between minus and plus the mean step between
 * neighbouring values (L. Theis, A. van den Oord and M. Bethge 2016). Hence
 * clusters are separated if they differ in several columns, but not if they
 * differ only in one text column or its NULLs.
 *
 * Valleys and agreement are both needed, because k-means also divides a
 * uniform distribution into clusters. In few dimensions, these clusters agree,
 * but have no valleys between them. In many dimensions, they do not agree.
 */
#ifndef FC_KMEANS_EVIDENCE_H
#define FC_KMEANS_EVIDENCE_H

#include "kmeans/kmeans.h"

typedef struct fc_evidence
{
	double		cost;
	double		agreement;		/* share of the rows, 0 to 1; see above */
	double		separated;		/* number of clusters, 0 to k; see above */
	double		found;			/* number of clusters, 0 to k; see above */
} fc_evidence;

/*
 * Minimum Jaccard coefficient, 0 to 1, of a cluster of C_0 and the matching
 * cluster of C_1 for the cluster to count as reproduced (see above). A larger
 * one requires that the two clusters have more rows in common
 * (bench/number.py).
 */
#define FC_EVIDENCE_OVERLAP	0.8

/*
 * Maximum number of distinct values of a coordinate to which random offsets
 * are added, because repeated values look like peaks. A larger one blurs
 * valleys between the values (bench/number.py).
 */
#define FC_FEW_VALUES	16

/* Maximum number of clusters, because counts of all their pairs are stored. */
#define FC_EVIDENCE_CLUSTERS	1024

/*
 * Stores the distinct values of coordinate c of x (n x d) in `values`. Returns
 * their number, or 0 if there are more than FC_FEW_VALUES.
 */
size_t		fc_few_values(const float *x, size_t n, size_t d, size_t c,
						  float values[FC_FEW_VALUES]);

/* Rows in random order: the first half, then the second. */
typedef struct fc_halves
{
	float	   *x;				/* n x d */

	/*
	 * n x d: rows in which valleys are sought: x with random offsets added to
	 * repeated values, or x itself if no coordinate has few values
	 */
	float	   *y;
	size_t		n;
	size_t		d;
} fc_halves;

/*
 * Deals rows, at least two, into two halves at random. Weights are ignored.
 * halved: true if the first n / 2 rows and the other rows are already two
 * halves, whose rows are only shuffled. apart: d flags, true for coordinates
 * to which no random offsets are added, even if they have few values; NULL: no
 * such coordinates.
 */
fc_halves	fc_halves_deal(const fc_rows *rows, bool halved, const bool *apart, uint64_t seed,
						   fc_arena *arena);

/* Centroids of both halves. */
typedef struct fc_half_centroids
{
	size_t		k;
	double	   *of[2];			/* k x d each */
} fc_half_centroids;

/*
 * Computes the evidence for k = found->k clusters and stores their centroids
 * in the arrays of found; k is at most half the number of rows and at most
 * FC_EVIDENCE_CLUSTERS. The searches start from the centroids in `fewer`,
 * found for a smaller number, and from rows far from these. If fewer is NULL,
 * they start from k-means++ seeds.
 */
void		fc_kmeans_evidence(const fc_halves *halves, const fc_half_centroids *fewer,
							   const fc_kmeans_options *options, fc_arena *arena,
							   const fc_half_centroids *found, fc_evidence *evidence);

/*
 * Valleys: the density of the rows along the line between two centroids shows
 * which clusters are separated.
 *
 * Rows of clusters i and j are projected onto the line through the centroids,
 * at
 *
 *     t(x) = (||x - c_i||^2 - ||x - c_j||^2) / (2 ||c_i - c_j||^2),
 *         -1/2 at c_i, 0 at the border, 1/2 at c_j.
 *
 * The line is divided into bins, and count(v) is the number of rows in the
 * window of FC_VALLEY_WINDOW bins that begins at bin v. There is a valley at v
 * when
 *
 *     count(v) <= FC_VALLEY_DEPTH m   and
 *     m - count(v) >= FC_VALLEY_ERRORS sqrt(m + count(v)),
 *
 * where m is the lesser of the greatest counts on either side of v. Two
 * clusters without a valley between them count as one. Between two normal
 * distributions of equal weight, 4 deviations apart, the count falls to 0.29
 * of the peaks. Between clusters of k-means in a uniform distribution, the
 * count hardly falls, except in the plane: clusters are narrow at their border
 * there, and the count falls to 0.5 to 0.7 of the peaks.
 */

/*
 * Maximum count in a valley, relative to the lesser of its peaks. A larger one
 * separates clusters that overlap, but also clusters between which chance
 * makes a valley (bench/number.py, bench/tuned.py).
 */
#define FC_VALLEY_DEPTH	0.6

/*
 * Minimum depth of a valley, in standard errors. A larger one misses valleys
 * of small clusters, a smaller one finds valleys by chance (bench/number.py).
 */
#define FC_VALLEY_ERRORS	2.0

/*
 * Minimum number of rows of a cluster that can count as separated. With fewer
 * rows, the counts of bins vary by chance (bench/number.py).
 */
#define FC_VALLEY_ROWS	8

/*
 * Number of bins on either side of the border between two clusters, which
 * cover |t| <= 0.75. It is 0.75 / FC_VALLEY_WIDTH.
 */
#define FC_VALLEY_BINS	15

/*
 * Width of a bin, in units of t. Narrower bins give more positions of the
 * windows, and take more memory (bench/number.py).
 */
#define FC_VALLEY_WIDTH	0.05

/*
 * Number of bins in a window. Wider windows average out variations by chance,
 * but also narrow valleys (bench/number.py).
 */
#define FC_VALLEY_WINDOW	4

typedef struct fc_valleys
{
	size_t		k;
	double	   *slope;			/* k x k: 1 / (2 ||c_i - c_j||^2); 0 for equal
								 * centroids */

	/*
	 * k x k x FC_VALLEY_BINS: number of rows of the first cluster in each bin
	 * along the line to the second
	 */
	uint32_t   *counts;
	size_t	   *rows;			/* k: number of rows per cluster */
} fc_valleys;

/* Returns valleys for k centroids (k x d) with all counts 0. */
fc_valleys	fc_valleys_start(const double *centroids, size_t k, size_t d, fc_arena *arena);

/*
 * Counts a row of cluster `label`. squares: squared distances of the row to
 * the k centroids.
 */
void		fc_valleys_add(fc_valleys *valleys, const double *squares, size_t label);

/*
 * Sets *separated to the number of clusters that remain when clusters without
 * a valley between them are joined. Clusters of fewer than FC_VALLEY_ROWS rows
 * do not count.
 */
void		fc_valleys_count(const fc_valleys *valleys, fc_arena *arena, size_t *separated);

/*
 * Hidden clusters (hidden.c): groups of rows along a line through a cluster.
 *
 * k-means does not separate a small cluster from a large one if a split of the
 * large one lowers the cost more, nor clusters that differ in one column of
 * many. Rows of a cluster are projected onto each coordinate, and onto
 * FC_HIDDEN_AXES principal axes of their correlations. Windows have the width
 * of a quarter, a half or one standard deviation of the projections. The
 * counts in them are tested for valleys as described above, but with the
 * stricter FC_HIDDEN_DEPTH and FC_HIDDEN_ERRORS. A gap is the distance between
 * the peaks next to a valley on both sides.
 *
 * A cluster hides others when a gap in it is at least FC_HIDDEN_SHARE of the
 * gap between the cluster and its nearest other cluster. Each cluster is
 * tested twice: with random offsets added to repeated values, and without the
 * coordinates that have repeated values.
 *
 * Cost: n (d + 64) d multiply-adds.
 */

/*
 * Number of principal axes onto which the rows of a cluster are projected.
 * More axes find clusters in more directions; each costs n d multiply-adds
 * (bench/number.py).
 */
#define FC_HIDDEN_AXES	3

/*
 * Maximum count in a valley, relative to the lesser of its peaks. It is lower
 * than FC_VALLEY_DEPTH, because a cluster is projected onto many lines
 * (bench/number.py).
 */
#define FC_HIDDEN_DEPTH	0.3

/*
 * Minimum depth of a valley, in standard errors. It is more than
 * FC_VALLEY_ERRORS, because a cluster is projected onto many lines
 * (bench/number.py).
 */
#define FC_HIDDEN_ERRORS	4.0

/*
 * Minimum gap in a cluster that hides others, relative to the gap to the
 * nearest cluster. A smaller one makes more choices unclear (bench/number.py).
 */
#define FC_HIDDEN_SHARE	0.5

/*
 * Sets *hidden to the number of the k clusters (centroids k x d) that hide
 * others.
 */
void		fc_count_hidden(const fc_halves *rows, const double *centroids, size_t k,
							fc_arena *arena, size_t *hidden);

#endif							/* FC_KMEANS_EVIDENCE_H */
