/*
 * exchange.h - centroids leave where they are hardly missed for where they gain most, many at a time.
 *
 * Lloyd's steps move no centroid from a group of rows that has two to two groups that share one.  A round of exchanges does: each
 * cluster is split in two, which lowers the SSE by its gain, and is joined with the nearest other, which raises it by its
 * cost.  The greatest gains are paired with the least costs, and no cluster is in two pairs.
 *
 *     sure     gains are above costs: the SSE falls by their differences, before the Lloyd steps that follow
 *     trials   gains over costs are above their medians' ratio: only the Lloyd steps that follow tell, and a round in vain is
 *              undone.  Where rows fill space evenly a split gains less than a join costs, and yet most cells could be moved.
 *
 * Cost of a round: k^2 d multiply-adds, 8 n d, and a few Lloyd steps.
 *
 * Kaukoranta, Franti, Nevalainen 1998 (iterative split and merge); trials as in Fritzke 2020 (breathing k-means).
 */
#ifndef FC_KMEANS_EXCHANGE_H
#define FC_KMEANS_EXCHANGE_H

#include "base/sort.h"
#include "kmeans/kmeans.h"

#define FC_EXCHANGE_CLUSTERS	256	/* rounds from so many clusters on; of fewer, breathing moves as many */
#define FC_EXCHANGE_WIDE	128		/* or dimensions: k-means++ and breathing draw rows by their distances, which are all alike there */
#define FC_EXCHANGE_ROWS		3	/* and so many rows a cluster; of fewer, gains and costs are those of single rows */

typedef struct fc_kmeans_work fc_kmeans_work;

typedef struct fc_exchange
{
	uint32_t   *row;			/* n, or NULL: rows by cluster */
	size_t	   *first;			/* k + 1: where a cluster's rows begin */
	double	   *gain;			/* k: by how much a split lowers the SSE at least */
	bool	   *paired;			/* k */
	fc_keyed   *ranks;			/* 3 k: by gains, by costs, and scratch */
	float	   *direction;		/* d */
	double	   *sums;			/* 2 d */
} fc_exchange;

bool		fc_kmeans_wants_exchange(size_t n, size_t d, size_t k);

void		fc_kmeans_exchange_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_exchange *exchange);

/* Rounds from w->centroid, of SSE *sse and with label, near and weight measured; the best centroids, measured, and their SSE come back. */
fc_status	fc_kmeans_exchange(fc_kmeans_work *w, const fc_kmeans_options *options, double *sse);

/* ---- parts of a round, which even.h has as well ---- */

/* Rows of positive weight by their labels. */
void		fc_exchange_gather(fc_kmeans_work *w);

/* The nearest other cluster of each, and what a join with it costs. */
void		fc_exchange_costs(fc_kmeans_work *w);

/* Numbers of clusters by values of at least 0. */
void		fc_exchange_rank(fc_kmeans_work *w, const double *values, bool falling, fc_keyed *ranks);

/* Two pieces of cluster j, in its places of w->rounded and w->sum, and what that gains, 0 where it has none; the weight of the larger. */
void		fc_exchange_split(fc_kmeans_work *w, size_t j, double *larger_side);

/* The centroid of cluster j at the mean of its rows, if it has any. */
void		fc_exchange_center(fc_kmeans_work *w, size_t j);

/* The pieces moved so that the plane between them halves the cluster, where its rows let it. */
void		fc_exchange_halve(fc_kmeans_work *w, size_t j, int halvings);

/* Clusters a and b become one, and the centroid of b goes to a piece of the third. */
void		fc_exchange_move(fc_kmeans_work *w, size_t a, size_t b, size_t split);

#endif							/* FC_KMEANS_EXCHANGE_H */
