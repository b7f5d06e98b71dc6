/* valleys.c - which clusters are apart; see valleys.h */
#include "kmeans/valleys.h"

#include <math.h>
#include <string.h>

#define PLACES	(2 * FC_VALLEY_BINS - FC_VALLEY_WINDOW + 1) /* windows along a line */

static fc_valleys
take_valleys(size_t k, fc_arena *arena)
{
	fc_valleys	valleys = {.k = k};

	valleys.slope = FC_TAKE(arena, k * k, double);
	valleys.counts = FC_TAKE(arena, k * k * FC_VALLEY_BINS, uint32_t);
	valleys.rows = FC_TAKE(arena, k, size_t);
	return valleys;
}

fc_valleys
fc_valleys_start(const double *centroids, size_t k, size_t d, fc_arena *arena)
{
	fc_valleys	valleys = take_valleys(k, arena);

	memset(valleys.counts, 0, k * k * FC_VALLEY_BINS * sizeof(uint32_t));
	memset(valleys.rows, 0, k * sizeof(size_t));
	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j <= i; j++)
		{
			double		square = 0.0;

			for (size_t c = 0; c < d; c++)
				square += (centroids[i * d + c] - centroids[j * d + c]) * (centroids[i * d + c] - centroids[j * d + c]);
			valleys.slope[i * k + j] = valleys.slope[j * k + i] = square > 0.0 ? 0.5 / square : 0.0;
		}
	return valleys;
}

void
fc_valleys_add(fc_valleys *valleys, const double *squares, size_t label)
{
	const double *slope = valleys->slope + label * valleys->k;
	uint32_t   *counts = valleys->counts + label * valleys->k * FC_VALLEY_BINS;

	valleys->rows[label]++;
	for (size_t j = 0; j < valleys->k; j++)
	{
		double		bins = (squares[j] - squares[label]) * slope[j] / FC_VALLEY_WIDTH;	/* from the border */

		if (j != label && bins < FC_VALLEY_BINS)
			counts[j * FC_VALLEY_BINS + (bins > 0.0 ? (size_t) bins : 0)]++;
	}
}

/* Counts in windows along the line from the centroid of cluster i to that of j. */
static void
window_counts(const fc_valleys *valleys, size_t i, size_t j, double *window)
{
	const uint32_t *near = valleys->counts + (i * valleys->k + j) * FC_VALLEY_BINS;
	const uint32_t *far = valleys->counts + (j * valleys->k + i) * FC_VALLEY_BINS;

	for (size_t v = 0; v < PLACES; v++)
	{
		window[v] = 0.0;
		for (size_t b = v; b < v + FC_VALLEY_WINDOW; b++)
			window[v] += b < FC_VALLEY_BINS ? near[FC_VALLEY_BINS - 1 - b] : far[b - FC_VALLEY_BINS];
	}
}

static bool
has_valley(const fc_valleys *valleys, size_t i, size_t j)
{
	double		window[PLACES];
	double		greatest_from[PLACES + 1];	/* on the right */
	double		greatest = 0.0; /* on the left */
	bool		meets = false;	/* are there rows on both sides? */

	window_counts(valleys, i, j, window);
	greatest_from[PLACES] = 0.0;
	for (size_t v = PLACES; v-- > 0;)
		greatest_from[v] = fmax(greatest_from[v + 1], window[v]);
	for (size_t v = 0; v < PLACES; v++)
	{
		double		peak = fmin(greatest, greatest_from[v + 1]);

		meets = meets || peak > 0.0;
		if (peak > 0.0 && window[v] <= FC_VALLEY_DEPTH * peak &&
			peak - window[v] >= FC_VALLEY_ERRORS * sqrt(peak + window[v]))
			return true;
		greatest = fmax(greatest, window[v]);
	}
	return !meets;
}

static size_t
root_of(size_t *parent, size_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

void
fc_valleys_count(const fc_valleys *valleys, fc_arena *arena, size_t *separated)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t	   *parent = FC_TAKE(arena, valleys->k, size_t);
	size_t		done = 0;

	*separated = 0;
	for (size_t i = 0; i < valleys->k; i++)
	{
		parent[i] = i;
		if (valleys->rows[i] < FC_VALLEY_ROWS)
			continue;
		++*separated;
		for (size_t j = 0; j < i; j++)
		{
			fc_check_every(&done, 8 * PLACES);
			if (valleys->rows[j] < FC_VALLEY_ROWS || root_of(parent, i) == root_of(parent, j) || has_valley(valleys, i, j))
				continue;
			parent[root_of(parent, i)] = root_of(parent, j);
			--*separated;
		}
	}
	fc_arena_release(arena, mark);
}
