/*
 * evidence.h - how well k clusters describe rows: the evidence for a number of
 * clusters.
 *
 * The rows are dealt into two halves at random; k-means of each half gives
 * centroids C_0 and C_1.
 *
 *     cost       the mean squared distance of each half's rows to the
 *                centroids of the other
 *     agreement  the share of the rows that C_0 and C_1 give the same cluster,
 *                with their numbers matched (Ben-Hur, Elisseeff and Guyon
 *                2002; Lange, Roth, Braun and Buhmann 2004)
 *     separated  the clusters that a valley of the density divides from every
 *                other (below), the mean of C_0 and C_1
 *     found      the same, but no more than come back: matched clusters with
 *                FC_EVIDENCE_OVERLAP of their rows in common (Hennig 2007)
 *
 * A coordinate of at most FC_FEW_VALUES values, such as a flag or a category,
 * has gaps between them that are no valleys of a density. Valleys are looked
 * for with such values spread evenly, by the mean step between them to either
 * side (L. Theis, A. van den Oord and M. Bethge 2016). So clusters are apart
 * that differ in several columns, not cells of one text column and its NULLs.
 *
 * Cells of k-means in one flat law have no valleys in few dimensions, and no
 * agreement in many.
 */
#ifndef FC_KMEANS_EVIDENCE_H
#define FC_KMEANS_EVIDENCE_H

#include "kmeans/kmeans.h"

typedef struct fc_evidence
{
	double		cost;
	double		agreement;		/* 0 to 1 */
	double		separated;		/* 0 to k */
	double		found;			/* 0 to k */
} fc_evidence;

/* Jaccard's coefficient from which on two clusters are the same */
#define FC_EVIDENCE_OVERLAP		0.8

#define FC_FEW_VALUES			16	/* values of a coordinate up to which they
									 * are spread */
#define FC_EVIDENCE_CLUSTERS	1024	/* clusters at most, as counts of all
										 * pairs are kept */

/* Rows in random order, the halves one behind the other. */
typedef struct fc_halves
{
	float	   *x;				/* n x d */

	/*
	 * the same with values that repeat spread, or x: where valleys are looked
	 * for
	 */
	float	   *y;
	size_t		n;
	size_t		d;
} fc_halves;

/*
 * Weights are not looked at. There are two rows at least. apart: d,
 * coordinates whose values are not spread, or NULL.
 */
fc_halves	fc_halves_deal(const fc_rows *rows, const bool *apart, uint64_t seed,
						   fc_arena *arena);

/* Of either half. */
typedef struct fc_half_centroids
{
	size_t		k;
	double	   *of[2];			/* k x d */
} fc_half_centroids;

/*
 * k is found->k, at most half of the rows and FC_EVIDENCE_CLUSTERS; found has
 * room. The searches go on from fewer clusters and rows far from these; NULL:
 * there are none.
 */
void		fc_kmeans_evidence(const fc_halves *halves, const fc_half_centroids *fewer,
							   const fc_kmeans_options *options, fc_arena *arena,
							   const fc_half_centroids *found, fc_evidence *evidence);

/*
 * Which clusters are apart: where the density of the rows has a valley between
 * two centroids.
 *
 * Rows of clusters i and j are seen along the line through the centroids, at
 *
 *     t(x) = (||x - c_i||^2 - ||x - c_j||^2) / (2 ||c_i - c_j||^2),
 *         -1/2 at c_i, 0 at the border, 1/2 at c_j.
 *
 * Counts in a window of FC_VALLEY_WINDOW have a valley at v when
 *
 *     count(v) <= FC_VALLEY_DEPTH m   and
 *     m - count(v) >= FC_VALLEY_ERRORS sqrt(m + count(v)),
 *
 * m the lesser of the greatest counts on either side of v. Without a valley
 * the two are one. Two normal laws of equal weight, 4 deviations apart, have
 * 0.29 of their peaks between them; cells of k-means in one flat law have
 * about 1, and 0.5 to 0.7 in the plane, where cells are narrow at their
 * border.
 */
/* count in a valley over the lesser of its peaks, at most */
#define FC_VALLEY_DEPTH			0.6

#define FC_VALLEY_ERRORS		2.0 /* standard errors of a valley at least */
#define FC_VALLEY_ROWS			8	/* rows of a cluster at least */

/* bins of a pair on one side of the border, for t from -0.75 to 0 */
#define FC_VALLEY_BINS			15

#define FC_VALLEY_WIDTH			0.05	/* width of a bin */
#define FC_VALLEY_WINDOW		4	/* bins of a window */

typedef struct fc_valleys
{
	size_t		k;
	double	   *slope;			/* k x k: 1 / (2 ||c_i - c_j||^2), 0 for equal
								 * centroids */

	/*
	 * k x k x FC_VALLEY_BINS: rows of the first cluster along the line to the
	 * second
	 */
	uint32_t   *counts;
	size_t	   *rows;			/* k */
} fc_valleys;

/* No rows yet; centroids: k x d. */
fc_valleys
			fc_valleys_start(const double *centroids, size_t k, size_t d, fc_arena *arena);

/* A row of cluster `label`, its squared distances to the k centroids. */
void		fc_valleys_add(fc_valleys *valleys, const double *squares, size_t label);

/*
 * How many clusters are left when those without a valley between them are
 * joined.
 */
void
			fc_valleys_count(const fc_valleys *valleys, fc_arena *arena, size_t *separated);

/*
 * Clusters that hide in others (hidden.c): lumps of rows along a line.
 *
 * k-means does not part a small cluster from a large one where a cut through
 * the large one gains more, nor clusters that differ in one column of many.
 * Rows of a cluster are seen along each coordinate, and along FC_HIDDEN_AXES
 * principal axes of their correlations. Counts in windows of a quarter of
 * their deviation, or of a half or all of it, have a valley as above, deeper
 * by FC_HIDDEN_DEPTH and FC_HIDDEN_ERRORS. The gap is from the first peak on
 * one side of a valley to the first on the other.
 *
 * A cluster hides others when a gap in it is FC_HIDDEN_SHARE of that on the
 * line to its nearest neighbour, with values that repeat spread, or without
 * their coordinates.
 *
 * Cost: n (d + 64) d multiply-adds.
 */
#define FC_HIDDEN_AXES			3	/* principal axes that a cluster is seen
									 * along */

/* count in a valley over the lesser of its peaks, at most */
#define FC_HIDDEN_DEPTH			0.3

#define FC_HIDDEN_ERRORS		4.0 /* standard errors of a valley at least */
#define FC_HIDDEN_SHARE			0.5 /* share of the gap to the nearest cluster */

/* How many of the k clusters (centroids k x d) hide others? */
void		fc_count_hidden(const fc_halves *rows, const double *centroids, size_t k,
							fc_arena *arena, size_t *hidden);

#endif							/* FC_KMEANS_EVIDENCE_H */
