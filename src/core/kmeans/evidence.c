/*
 * evidence.c - how well k clusters describe rows; see evidence.h
 *
 * Cost: two searches of k-means on n / 2 rows, 2 n k d multiply-adds.
 */
#include "kmeans/evidence.h"

#include <string.h>

#include "base/rng.h"
#include "kmeans/valleys.h"
#include "numerics/assignment.h"
#include "numerics/rows.h"

#define STREAM_HALVES	7

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

/* What is kept of all steps; rows NULL to measure. */
static halves
take_halves(const fc_rows *rows, size_t n, size_t d, size_t k, fc_arena *arena)
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
		part->rows = (fc_rows) {.x = rows == NULL ? NULL : h.x + side * (n / 2) * d,.n = side == 0 ? n / 2 : n - n / 2,.d = d};
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

static fc_status
fit_half(halves *h, evidence_half *part, const fc_kmeans_options *options, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_kmeans_result result = {.centroids = part->centroids,.weights = part->weights};
	fc_status	status = fc_kmeans(&part->rows, h->k, NULL, options, arena, &result);

	fc_arena_release(arena, mark);
	part->cost = 0.0;
	if (status != FC_OK)
		return status;
	part->valleys = fc_valleys_start(part->centroids, h->k, h->d, arena);
	return FC_OK;
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
static fc_status
measure_agreement(halves *h, fc_arena *arena, double *agreement, size_t *returning)
{
	fc_status	status;

	memset(h->counts, 0, h->k * h->k * sizeof(double));
	for (size_t i = 0; i < h->n; i++)
		h->counts[(size_t) h->part[0].labels[i] * h->k + (size_t) h->part[1].labels[i]]++;
	status = fc_match_labels(h->counts, h->k, h->k, arena, h->number);
	*agreement = 0.0;
	*returning = 0;
	for (size_t j = 0; status == FC_OK && j < h->k; j++)
	{
		double		common = h->counts[j * h->k + (size_t) h->number[j]];
		double		either = (double) (h->part[0].valleys.rows[j] + h->part[1].valleys.rows[h->number[j]]) - common;

		*agreement += common / (double) h->n;
		*returning += common >= FC_EVIDENCE_OVERLAP * either && common > 0.0;
	}
	return status;
}

fc_status
fc_kmeans_evidence(const fc_rows *rows, size_t k, const fc_kmeans_options *options, fc_arena *arena,
				   fc_evidence *evidence)
{
	halves		h = take_halves(rows, rows->n, rows->d, k, arena);
	size_t		returning = 0;
	fc_status	status = rows->n < 2 ? FC_EEMPTY : FC_OK;

	if (status == FC_OK)
		deal_rows(rows, options->seed, &h);
	evidence->cost = evidence->separated = 0.0;
	for (size_t side = 0; side < 2 && status == FC_OK; side++)
	{
		size_t		separated = 0;

		status = fit_half(&h, &h.part[side], options, arena);
		if (status == FC_OK)
			judge_rows(&h, &h.part[side], side);
		if (status == FC_OK)
			fc_valleys_count(&h.part[side].valleys, arena, &separated);
		evidence->cost += h.part[side].cost / (double) h.n;
		evidence->separated += 0.5 * (double) separated;
	}
	if (status == FC_OK)
		status = measure_agreement(&h, arena, &evidence->agreement, &returning);
	evidence->found = (double) returning < evidence->separated ? (double) returning : evidence->separated;
	return status;
}
