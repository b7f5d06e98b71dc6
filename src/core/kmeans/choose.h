/*
 * choose.h - the number of clusters: one rule over the evidence of several.
 *
 *     stability(k) = agreement(k) found(k) / k                (evidence.h)
 *
 * Wide rows are seen on FC_CHOOSE_AXES principal axes (ordered.h). Numbers are
 * tried from 1 up in steps of a fifth, and where the logarithm of the cost
 * bends. Each search goes on from the number tried before it. k is stable when
 * its stability is FC_CLEAR_STABILITY at least and its last cluster gains
 * FC_CLEAR_GAIN times as much as the next, or all k are found and the next is
 * not apart. Clusters without spread are not stable.
 *
 * Of stable numbers the one with most clusters found, less those that are not,
 * is the finest. A lesser one is a level when most of its clusters are
 * FC_LEVEL_GAP times as far from the others as the finest clusters within them
 * are from each other, and more than half have such, by the shortest tree that
 * joins these (single linkage). The least level is chosen, and the next is the
 * second; else the finest. So a greater max_k changes nothing once it is large
 * enough.
 *
 * The chosen number is clear unless its clusters hide others (evidence.h), or
 * a greater number, of which it is no level, finds more clusters, or comes
 * back and bends the cost half as much. It is at the limit when it is the
 * greatest tried. Where no number is stable, the one is chosen whose agreement
 * times log(cost(1) / cost(k)) / log(k) is greatest: in one flat law the
 * latter is 2 / d.
 *
 * Cost: for each number k tried, 2 FC_CHOOSE_PASSES n k d multiply-adds.
 */
#ifndef FC_KMEANS_CHOOSE_H
#define FC_KMEANS_CHOOSE_H

#include "kmeans/evidence.h"

#define FC_CLEAR_STABILITY		0.85	/* stability of a stable number at
										 * least */

/* gain of the last cluster over the gain of one more, at least */
#define FC_CLEAR_GAIN			2.0

/* share of the cost of one cluster: values repeat below it */
#define FC_NO_SPREAD			1e-6

/* distance of clusters over that of the finest within them */
#define FC_LEVEL_GAP			1.5

#define FC_CHOOSE_AXES			64	/* principal axes that wide rows are seen
									 * on */
#define FC_CHOOSE_PASSES		20.0	/* passes over the rows of a half that
										 * a search may cost */
#define FC_CHOOSE_ROWS			20	/* rows per cluster at least */
#define FC_TRIED_MAX			256 /* numbers tried at most */

typedef struct fc_tried
{
	size_t		k;
	fc_evidence evidence;

	/*
	 * share of the cost that one more cluster takes away, since the number
	 * tried before
	 */
	double		gain;
	double		stability;		/* NaN for k = 1 */
} fc_tried;

typedef enum fc_k_verdict
{
	FC_K_UNCLEAR,
	FC_K_CLEAR,
	FC_K_LIMIT
} fc_k_verdict;

typedef struct fc_choice
{
	fc_tried	tried[FC_TRIED_MAX];	/* by k */
	size_t		count;
	size_t		chosen;			/* of tried */
	size_t		second;			/* number of clusters within those, 0: none is
								 * known */
	size_t		hidden;			/* clusters of the chosen that hide others */
	size_t		rival;			/* a greater number that may be the right one,
								 * 0: none */
	fc_k_verdict verdict;
} fc_choice;

/* About the multiply-adds of fc_choose_k. */
double		fc_choose_k_operations(size_t n, size_t d, size_t max_k);

/*
 * trim: the share of the rows farthest from their median
 * (numerics/selection.h) that is left out; apart: d, coordinates of two values
 * that are known to tell clusters, or NULL; options: of each search. There are
 * rows.
 */
void		fc_choose_k(const fc_rows *rows, size_t max_k, double trim,
						const bool *apart, const fc_kmeans_options *options,
						fc_arena *arena, fc_choice *choice);

#endif							/* FC_KMEANS_CHOOSE_H */
