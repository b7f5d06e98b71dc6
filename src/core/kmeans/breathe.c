/*
 * breathe.c - rounds that lift a solution of Lloyd's steps out of its local minimum.
 *
 * A round adds m centroids where rows are far from theirs, takes a few Lloyd steps with k + m, merges clusters
 * back to k, and goes on with Lloyd's steps; it is undone unless the SSE fell.  Centroids so move from regions that
 * have too many to regions that have too few, several at a time.  m shrinks after FAILURES rounds in vain.
 *
 *     added     as greedy k-means++ goes on from k seeds (seed.c)
 *     merged    the two clusters that cost least together, again and again: W_a W_b / (W_a + W_b) ||c_a - c_b||^2
 *               is what their union adds to the SSE
 *
 * Cost of a round: (2 + log k) n m d, ten to thirty Lloyd steps, k^2 d.
 *
 * Fritzke 2020 (breathing k-means; there the centroids of the lowest utility leave, here clusters merge as in
 * Ward 1963: no second nearest centroid is needed).
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#define BREATH			5		/* centroids that a round adds at first; half of k, if that is less */
#define FAILURES		2		/* rounds in vain with m */
#define GAIN			1e-4	/* a round that lowers the SSE by less, relative, was in vain */
#define COARSE_STEPS	5		/* Lloyd steps with k + m centroids */
#define COARSE_TOLERANCE	1e-3
#define COARSER			3.0		/* times the tolerance ends the steps of a round: the best goes on (kmeans.c) */

size_t
fc_kmeans_breath(size_t k)
{
	size_t		half = k > 1 ? (k + 1) / 2 : 0;

	return half < BREATH ? half : BREATH;
}

/* ---- merging ---- */

static double
cost_of_merging(const fc_kmeans_work *w, size_t a, size_t b)
{
	double		both = w->weight[a] + w->weight[b];
	double		distance = 0.0;

	for (size_t i = 0; i < w->d; i++)
	{
		double		gap = w->centroid[a * w->d + i] - w->centroid[b * w->d + i];

		distance += gap * gap;
	}
	return both > 0.0 ? w->weight[a] * w->weight[b] / both * distance : 0.0;
}

static void
offer_partner(fc_kmeans_work *w, size_t j, size_t other)
{
	double		cost = cost_of_merging(w, j, other);

	if (cost < w->merge_cost[j])
	{
		w->merge_cost[j] = cost;
		w->partner[j] = other;
	}
}

static void
find_partner(fc_kmeans_work *w, size_t j)
{
	w->merge_cost[j] = INFINITY;
	w->partner[j] = j == 0 ? 1 : 0;
	for (size_t other = 0; other < w->k; other++)
		if (other != j)
			offer_partner(w, j, other);
	w->paired += w->k;
	fc_check_every(&w->done, w->k * w->d);
}

void
fc_kmeans_join(fc_kmeans_work *w, size_t a, size_t b)
{
	double		both = w->weight[a] + w->weight[b];

	for (size_t i = 0; i < w->d && both > 0.0; i++)
		w->centroid[a * w->d + i] = (w->weight[a] * w->centroid[a * w->d + i] + w->weight[b] * w->centroid[b * w->d + i]) / both;
	w->weight[a] = both;
}

/* The last cluster takes the place of cluster b. */
static void
replace_by_last(fc_kmeans_work *w, size_t b)
{
	size_t		last = w->k - 1;

	memmove(w->centroid + b * w->d, w->centroid + last * w->d, w->d * sizeof(double));
	w->weight[b] = w->weight[last];
	w->merge_cost[b] = w->merge_cost[last];
	w->partner[b] = w->partner[last];
	w->k--;
}

/* Merge the two clusters that cost least; others whose partner is gone look for a new one. */
static void
merge_cheapest(fc_kmeans_work *w)
{
	size_t		last = w->k - 1;
	size_t		cheapest = 0;
	size_t		a;
	size_t		b;

	for (size_t j = 1; j < w->k; j++)
		if (w->merge_cost[j] < w->merge_cost[cheapest])
			cheapest = j;
	a = w->partner[cheapest] < cheapest ? w->partner[cheapest] : cheapest;
	b = w->partner[cheapest] > cheapest ? w->partner[cheapest] : cheapest;
	fc_kmeans_join(w, a, b);
	replace_by_last(w, b);
	for (size_t j = 0; j < w->k; j++)
	{
		bool		lost = j == a || w->partner[j] == a || w->partner[j] == b;

		if (w->partner[j] == last)
			w->partner[j] = b;
		if (lost)
			find_partner(w, j);
		else
			offer_partner(w, j, a);
		fc_check_every(&w->done, w->d);
	}
}

static void
merge_down(fc_kmeans_work *w, size_t k)
{
	for (size_t j = 0; j < w->k; j++)
		find_partner(w, j);
	while (w->k > k)
		merge_cheapest(w);
}

/* ---- rounds ---- */

/* k + m centroids and back, to a minimum of SSE *sse; hopeless ones are left before. */
static void
breathe_once(fc_kmeans_work *w, fc_rng *rng, size_t m, const fc_kmeans_stop *stop, double *sse)
{
	fc_kmeans_stop coarse = {COARSE_STEPS, COARSE_TOLERANCE, INFINITY};
	size_t		k = w->k;
	int			steps;

	fc_kmeans_add(w, rng, m);
	fc_kmeans_descend(w, &coarse, &steps, sse);
	merge_down(w, k);
	fc_kmeans_descend(w, stop, &steps, sse);
	fc_kmeans_measure(w, w->centroid, w->weight, sse);
}

/* w's centroids and near are the best, or the best become w's. */
static void
keep_or_undo(fc_kmeans_work *w, bool keep)
{
	memcpy(keep ? w->best : w->centroid, keep ? w->centroid : w->best, w->k * w->d * sizeof(double));
	memcpy(keep ? w->kept : w->near, keep ? w->near : w->kept, w->n * sizeof(float));
}

void
fc_kmeans_breathe(fc_kmeans_work *w, fc_rng *rng, const fc_kmeans_options *options, double *sse)
{
	size_t		m = fc_kmeans_breath(w->k);
	int			failures = 0;

	keep_or_undo(w, true);
	for (int round = 0; round < options->rounds && m > 0 && *sse > 0.0 && fc_kmeans_spent(w) < w->budget; round++)
	{
		fc_kmeans_stop stop = {options->iterations, COARSER * options->tolerance, *sse};
		double		now;

		breathe_once(w, rng, m, &stop, &now);
		failures = now < *sse * (1.0 - GAIN) ? 0 : failures + 1;
		keep_or_undo(w, now < *sse);
		*sse = fmin(now, *sse);
		if (failures == FAILURES)
		{
			failures = 0;
			m--;
		}
	}
}
