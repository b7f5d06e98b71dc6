/*
 * evidence.c - how well k clusters describe rows; see evidence.h
 *
 * Cost: two searches of k-means on n / 2 rows, 2 n k d multiply-adds.
 */
#include "kmeans/evidence.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "numerics/assignment.h"
#include "numerics/rows.h"

#define STREAM_HALVES	7
#define PLACES	(2 * FC_VALLEY_BINS - FC_VALLEY_WINDOW + 1) /* windows along a line */

/* ---- valleys ---- */

fc_valleys
fc_valleys_start(const double *centroids, size_t k, size_t d, fc_arena *arena)
{
	fc_valleys	valleys = {.k = k,.slope = FC_TAKE(arena, k * k, double),.counts = FC_TAKE(arena, k * k * FC_VALLEY_BINS, uint32_t),.rows = FC_TAKE(arena, k, size_t)};

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

/* ---- halves ---- */

typedef struct evidence_half
{
	fc_rows		rows;
	double	   *centroids;		/* k x d */
	double	   *weights;		/* k */
	int32_t    *labels;			/* n, of all rows */
	fc_valleys	valleys;
	double		cost;			/* sum over the rows of the other half */
} evidence_half;

typedef struct halves
{
	size_t		n;
	size_t		d;
	size_t		k;
	float	   *x;				/* n x d, in random order: the halves one behind the other */
	float	   *rounded;		/* k x d: the centroids of one half in float */
	double	   *squares;		/* k: of a row */
	double	   *counts;			/* k x k: rows by their two labels */
	int32_t    *number;			/* k */
	evidence_half part[2];
} halves;

/* The memory of all steps. */
static halves
take_halves(size_t n, size_t d, size_t k, fc_arena *arena)
{
	halves		h = {.n = n,.d = d,.k = k};

	h.x = FC_TAKE(arena, n * d, float);
	h.rounded = FC_TAKE(arena, k * d, float);
	h.squares = FC_TAKE(arena, k, double);
	h.counts = FC_TAKE(arena, k * k, double);
	h.number = FC_TAKE(arena, k, int32_t);
	for (size_t side = 0; side < 2; side++)
	{
		evidence_half *part = &h.part[side];

		part->centroids = FC_TAKE(arena, k * d, double);
		part->weights = FC_TAKE(arena, k, double);
		part->labels = FC_TAKE(arena, n, int32_t);
		part->rows = (fc_rows) {.x = h.x + side * (n / 2) * d,.n = side == 0 ? n / 2 : n - n / 2,.d = d};
	}
	return h;
}

/* The rows in random order. */
static void
deal_rows(const fc_rows *rows, uint64_t seed, halves *h)
{
	fc_rng		rng = fc_rng_start(seed, STREAM_HALVES);
	size_t		row_size = h->d * sizeof(float);

	for (size_t i = 0; i < h->n; i++)	/* Fisher and Yates, inside out */
	{
		size_t		j = fc_rng_below(&rng, i + 1);

		if (j < i)
			memcpy(h->x + i * h->d, h->x + j * h->d, row_size);
		memcpy(h->x + j * h->d, rows->x + i * h->d, row_size);
	}
}

static void
fit_half(halves *h, evidence_half *part, const fc_kmeans_options *options, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_kmeans_result result = {.centroids = part->centroids,.weights = part->weights};

	fc_kmeans(&part->rows, h->k, NULL, options, arena, &result);
	fc_arena_release(arena, mark);
	part->cost = 0.0;
	part->valleys = fc_valleys_start(part->centroids, h->k, h->d, arena);
}

/* Labels, valleys and cost of all rows by the centroids of one half. */
static void
judge_rows(halves *h, evidence_half *part, size_t side)
{
	size_t		done = 0;

	for (size_t c = 0; c < h->k * h->d; c++)
		h->rounded[c] = (float) part->centroids[c];
	for (size_t i = 0; i < h->n; i++)
	{
		size_t		label = 0;

		fc_check_every(&done, (2 * h->d + FC_VALLEY_BINS) * h->k);
		for (size_t j = 0; j < h->k; j++)
		{
			h->squares[j] = fc_row_gap(h->x + i * h->d, h->rounded + j * h->d, h->d);
			label = h->squares[j] < h->squares[label] ? j : label;
		}
		part->labels[i] = (int32_t) label;
		fc_valleys_add(&part->valleys, h->squares, label);
		if ((i < h->n / 2) != (side == 0))
			part->cost += h->squares[label];
	}
}

/* Rows and clusters that both halves see alike. */
static void
measure_agreement(halves *h, fc_arena *arena, double *agreement, size_t *returning)
{
	memset(h->counts, 0, h->k * h->k * sizeof(double));
	for (size_t i = 0; i < h->n; i++)
		h->counts[(size_t) h->part[0].labels[i] * h->k + (size_t) h->part[1].labels[i]]++;
	fc_match_labels(h->counts, h->k, h->k, arena, h->number);
	*agreement = 0.0;
	*returning = 0;
	for (size_t j = 0; j < h->k; j++)
	{
		double		common = h->counts[j * h->k + (size_t) h->number[j]];
		double		either = (double) (h->part[0].valleys.rows[j] + h->part[1].valleys.rows[h->number[j]]) - common;

		*agreement += common / (double) h->n;
		*returning += common >= FC_EVIDENCE_OVERLAP * either && common > 0.0;
	}
}

void
fc_kmeans_evidence(const fc_rows *rows, size_t k, const fc_kmeans_options *options, fc_arena *arena,
				   fc_evidence *evidence)
{
	halves		h = take_halves(rows->n, rows->d, k, arena);
	size_t		returning;

	FC_ASSERT(rows->n >= 2);
	deal_rows(rows, options->seed, &h);
	evidence->cost = evidence->separated = 0.0;
	for (size_t side = 0; side < 2; side++)
	{
		size_t		separated;

		fit_half(&h, &h.part[side], options, arena);
		judge_rows(&h, &h.part[side], side);
		fc_valleys_count(&h.part[side].valleys, arena, &separated);
		evidence->cost += h.part[side].cost / (double) h.n;
		evidence->separated += 0.5 * (double) separated;
	}
	measure_agreement(&h, arena, &evidence->agreement, &returning);
	evidence->found = (double) returning < evidence->separated ? (double) returning : evidence->separated;
}
