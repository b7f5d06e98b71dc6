/*
 * evidence.h - how well k clusters describe rows: what speaks for a number of clusters.
 *
 * The rows are dealt into two halves at random; k-means of each half gives centroids C_0 and C_1.
 *
 *     cost       the mean squared distance of each half's rows to the centroids of the other
 *     agreement  the share of the rows that C_0 and C_1 give the same cluster, with their numbers matched (Ben-Hur, Elisseeff and
 *                Guyon 2002; Lange, Roth, Braun and Buhmann 2004)
 *     separated  the clusters that a valley of the density divides from every other (valleys.h), the mean of C_0 and C_1
 *     found      the same, but no more than come back: matched clusters with FC_EVIDENCE_OVERLAP of their rows in common (Hennig 2007)
 *
 * Cells of k-means in one flat law have no valleys in few dimensions, and no agreement in many.
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

#define FC_EVIDENCE_OVERLAP		0.8 /* of the rows of either: Jaccard's coefficient */
#define FC_EVIDENCE_CLUSTERS	1024	/* counts along the lines between all pairs are kept */


/* k is at most half of the rows and FC_EVIDENCE_CLUSTERS; weights are not looked at.  FC_EEMPTY for fewer than two rows. */
fc_status	fc_kmeans_evidence(const fc_rows *rows, size_t k, const fc_kmeans_options *options,
							   fc_arena *arena, fc_evidence *evidence);

#endif							/* FC_KMEANS_EVIDENCE_H */
