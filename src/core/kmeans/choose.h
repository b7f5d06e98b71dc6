/*
 * choose.h - the choice of the number of clusters, from the evidence for
 * several numbers.
 *
 *     stability(k) = agreement(k) found(k) / k
 *
 * The evidence comes from two halves of the rows (evidence.h). Wide rows are
 * first projected onto FC_CHOOSE_AXES principal axes (ordered.h). Numbers are
 * tried from 1 up in steps of a fifth, and where the logarithm of the cost
 * bends. Each search continues from the centroids of the next lower number
 * tried. The gain of a number is the relative fall of the cost per cluster
 * that is added.
 *
 * A number k is stable when its stability reaches FC_CLEAR_STABILITY and its
 * last cluster is needed. This is so in two cases: the gain of k is
 * FC_CLEAR_GAIN times the gain of one more cluster; or all k clusters are
 * found, and at most k of k + 1 clusters are separated. Clusters of repeated
 * values, without spread, are not stable.
 *
 * The finest number is the stable one with the greatest difference between the
 * clusters found and the clusters not found. A smaller stable number is a
 * level when two conditions hold: more than half of its clusters contain
 * several of the finest clusters, and four fifths of these are far apart. A
 * cluster is far apart if its distance to the others is FC_LEVEL_GAP times the
 * distance between the finest clusters within it. Distances are edges of the
 * minimum spanning tree of the finest centroids (single linkage). The smallest
 * level is chosen, and the next level, or the finest number, is the second
 * number. Without a level, the finest number is chosen. Hence a greater max_k
 * changes nothing once it is large enough.
 *
 * The choice is clear unless its clusters hide others (evidence.h) or it has a
 * rival. A rival is a greater number with one of two properties:
 *
 *     more of its clusters are found than the chosen number has, and at
 *     least half of them
 *
 *     both halves give the same clusters, its gain is at least half the gain
 *     of the chosen number and FC_CLEAR_GAIN times the next gain, and its cost
 *     is lower than if lines were merely divided
 *
 * Numbers that only divide chosen clusters, if these are far apart, are no
 * rivals. A level has no rivals. The verdict is FC_K_LIMIT when the greatest
 * number tried is chosen: because it is the finest, or because its clusters
 * are well separated and the cost still falls fast. If no number is stable,
 * the choice is the number with the greatest product of agreement and
 * log(cost(1) / cost(k)) / log(k); for a uniform distribution the second
 * factor is 2 / d.
 *
 * Two halves of a small table have too few rows for this evidence. Below
 * FC_FEW_ROWS rows, up to FC_FEW_CLUSTERS numbers are therefore tried on all
 * rows first (few_rows.c), unless many coordinates have few values that are
 * repeated. The number with the greatest mean silhouette is chosen, among
 * numbers whose clusters have FC_FEW_PER_CLUSTER rows each. It is clear under
 * two conditions. The silhouette is above FC_FEW_SILHOUETTE, or along a single
 * axis above FC_FEW_LINE_SILHOUETTE. The labels by the centroids of resamples
 * agree with the labels of the rows by an adjusted Rand index above
 * FC_FEW_STABILITY.
 *
 * In many dimensions all rows are about equally far from each other.
 * Silhouettes of k clusters of wide rows are therefore compared on the leading
 * k principal axes. Whether the best number is clear depends on the silhouette
 * on the leading k - 1 axes, which the centroids of separated clusters span.
 *
 * If the number is not clear and there are several dimensions, the evidence of
 * two halves is used, too. The choice of the halves replaces the other one if
 * it is clear, or if more numbers were tried on the halves.
 *
 * Cost: 2 FC_CHOOSE_PASSES n k d multiply-adds for each number k tried.
 */
#ifndef FC_KMEANS_CHOOSE_H
#define FC_KMEANS_CHOOSE_H

#include "kmeans/evidence.h"

/*
 * Minimum stability of a stable number of clusters, 0 to 1. With a larger
 * minimum, fewer numbers are stable; with a smaller minimum, numbers are
 * stable by chance (bench/number.py, bench/tuned.py).
 */
#define FC_CLEAR_STABILITY	0.85

/*
 * Minimum ratio of the gain of k clusters to the gain of k + 1 clusters for
 * the last of the k clusters to be needed (see above). With a smaller ratio, k
 * may be stable although it splits a cluster in two (bench/number.py).
 */
#define FC_CLEAR_GAIN	2.0

/*
 * Maximum cost of clusters that consist of repeated values, relative to the
 * cost of a single cluster. A guess.
 */
#define FC_NO_SPREAD	1e-6

/*
 * Minimum distance of a cluster of a level from the other clusters of the
 * level. A level is a stable number of clusters below the finest one (see
 * above). The distance is relative to the greatest distance between
 * neighbouring finest clusters within the cluster. A smaller minimum finds
 * levels in evenly spread clusters (bench/number.py).
 */
#define FC_LEVEL_GAP	1.5

/*
 * Number of principal axes onto which wide rows are projected. Fewer axes are
 * faster, but more clusters than axes cannot be separated (bench/number.py).
 */
#define FC_CHOOSE_AXES	64

/*
 * Budget of the search on one half, in passes over all rows. More passes take
 * longer; doubling the number changes no choice (bench/number.py,
 * bench/tuned.py).
 */
#define FC_CHOOSE_PASSES	20.0

/*
 * Minimum number of rows per cluster, which limits the numbers tried. With
 * fewer rows, more numbers are tried, whose stability varies by chance
 * (bench/number.py).
 */
#define FC_CHOOSE_ROWS	20

/*
 * Number of rows below which the rule for few rows tries numbers on all rows
 * first. With a larger one, this rule is also used for tables whose halves are
 * large enough for the evidence of two halves. A guess.
 */
#define FC_FEW_ROWS	400

/*
 * Fraction of coordinates with few, repeated values above which the rule for
 * few rows is not used. With a larger one, numbers of clusters that only
 * differ in flags count as clear. With a smaller one, the rule is not used for
 * wide tables of rounded numbers. A guess.
 */
#define FC_REPEATED_SHARE	0.1

/*
 * Minimum number of rows per cluster, and maximum number of clusters, in the
 * rule for few rows. With fewer rows, clusters are found by chance; more
 * clusters take longer. Guesses.
 */
#define FC_FEW_PER_CLUSTER	3
#define FC_FEW_CLUSTERS	10

/*
 * Conditions for a clear number in the rule for few rows, each at most 1: the
 * minimum mean silhouette in several dimensions, the minimum mean silhouette
 * along one axis, and the minimum agreement of resamples. Smaller ones call
 * more numbers clear by chance. With these values, 15 of 4,000 structureless
 * tables of 15 to 48 rows are clear, 13 of them lognormal. Of 2,000
 * structureless columns of 15 to 100 rows, 29 are clear, 27 of them lognormal;
 * at a silhouette of 0.7, 237 are clear.
 */
#define FC_FEW_SILHOUETTE	0.7
#define FC_FEW_LINE_SILHOUETTE	0.83
#define FC_FEW_STABILITY	0.9

/* Maximum number of values of k that are tried, the length of an array. */
#define FC_TRIED_MAX	256

typedef struct fc_tried
{
	size_t		k;
	fc_evidence evidence;

	/*
	 * relative fall of the cost per cluster added since the next lower number
	 * tried; NaN for the first number
	 */
	double		gain;
	double		stability;		/* stability, 0 to 1; for few rows an adjusted
								 * Rand index; NaN for k = 1 */
} fc_tried;

typedef enum fc_k_verdict
{
	FC_K_UNCLEAR,
	FC_K_CLEAR,
	FC_K_LIMIT
} fc_k_verdict;

typedef struct fc_choice
{
	fc_tried	tried[FC_TRIED_MAX];	/* numbers tried, by ascending k */
	size_t		count;
	size_t		chosen;			/* index in tried of the chosen number */

	/*
	 * second choice if the chosen number is a level (see above): the next
	 * greater level or, without one, the finest number. 0 if no level was
	 * chosen. Also 0 if the second choice would be the greatest number tried,
	 * because there are probably more clusters.
	 */
	size_t		second;
	size_t		hidden;			/* number of the chosen clusters that probably
								 * contain several clusters: their rows,
								 * projected onto a line, have a deep valley
								 * (evidence.h) */
	size_t		rival;			/* a greater number that may be the right one;
								 * 0: no such number */
	bool		few;			/* true: chosen by the rule for few rows */
	bool		apart;			/* true: the silhouette is high enough for a
								 * clear number; set only by the rule for few
								 * rows */
	fc_k_verdict verdict;
} fc_choice;

/* Estimates the multiply-adds of fc_choose_k. */
double		fc_choose_k_operations(size_t n, size_t d, size_t max_k);

/*
 * Chooses a number of clusters from 1 to max_k. The caller ensures that there
 * are rows. halved: true if the first half of the rows and the second half
 * must not be mixed (fc_halves_deal). trim: fraction of the rows to leave out,
 * which are farthest from the median (numerics/selection.h). apart: d flags of
 * two-valued coordinates that are known to separate clusters, or NULL.
 * options: settings of each search, except its budget, tolerance, and numbers
 * of starts, rounds and steps.
 */
void		fc_choose_k(const fc_rows *rows, bool halved, size_t max_k, double trim,
						const bool *apart, const fc_kmeans_options *options,
						fc_arena *arena, fc_choice *choice);

/*
 * Chooses a number of clusters by the rule for few rows. Memory: n^2 doubles.
 * Cost: 45 runs of k-means for each number tried.
 */
void		fc_choose_of_few(const fc_rows *rows, size_t max_k,
							 const fc_kmeans_options *options, fc_arena *arena,
							 fc_choice *choice);

#endif							/* FC_KMEANS_CHOOSE_H */
