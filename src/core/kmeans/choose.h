/*
 * choose.h - the number of clusters: one rule over the evidence of several.
 *
 *     stability(k) = agreement(k) found(k) / k                (evidence.h)
 *
 * Wide rows are seen on their leading principal axes (ordered.h).  Numbers are tried from 1 up in steps of a fifth, and around the number of separated clusters where that is less than k.  k is clear
 * when its stability is FC_CLEAR_STABILITY at least and its last cluster gains FC_CLEAR_GAIN times as much as the next.  Of those, the one with the most clusters found, less those that are not, is
 * chosen.  Where none is clear, the elbow of the cost is: the point of its curve that is farthest below the line through its ends.
 */
#ifndef FC_KMEANS_CHOOSE_H
#define FC_KMEANS_CHOOSE_H

#include "kmeans/evidence.h"

#define FC_CLEAR_STABILITY	0.85
#define FC_CLEAR_GAIN		2.0
#define FC_CHOOSE_ROWS		20	/* of the rows for each cluster at most */
#define FC_TRIED_MAX		256

typedef struct fc_tried
{
	size_t		k;
	fc_evidence evidence;
	double		gain;			/* share of the cost that one more cluster takes away, since the number tried before */
	double		stability;		/* NaN for k = 1 */
} fc_tried;

typedef struct fc_choice
{
	fc_tried	tried[FC_TRIED_MAX];	/* by k */
	size_t		count;
	size_t		chosen;			/* of tried */
	bool		clear;
} fc_choice;

/* From 1 to max_k, but no more than one cluster for FC_CHOOSE_ROWS rows and FC_EVIDENCE_CLUSTERS. */
size_t		fc_choose_k_most(size_t n, size_t max_k);

/* About the multiply-adds of fc_choose_k. */
double		fc_choose_k_operations(size_t n, size_t d, size_t max_k);

/*
 * trim: the share of the rows farthest from their median (numerics/selection.h) that is left out; options: of each search.  There
 * are rows.
 */
void		fc_choose_k(const fc_rows *rows, size_t max_k, double trim, const fc_kmeans_options *options, fc_arena *arena,
						fc_choice *choice);

#endif							/* FC_KMEANS_CHOOSE_H */
