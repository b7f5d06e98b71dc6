/*
 * seed.c - greedy k-means++: centroids drawn far from one another.
 *
 * Centroid j + 1 is the best of 2 + log k rows drawn with probability w_i D_i^2, where
 * D_i is the distance to the nearest centroid so far; best lowers sum_i w_i D_i^2 most.
 * Small d measures ||x - c||^2 directly, large d by ||x||^2 + ||c||^2 - 2 x . c unless
 * that cancels.
 * Cost: n k d (3 + log k) multiply-adds, n being PART_ROWS k for many clusters in few dimensions: seeds of a random part of the rows
 * cost less than the Lloyd steps that follow, which reach the same SSE.
 *
 * Arthur, Vassilvitskii 2007, section 5 (greedy variant).
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/rng.h"
#include "base/sizes.h"
#include "numerics/rows.h"

#define PART_ROWS		8		/* a cluster */
#define CANCELLED_SHARE	1e-3f	/* below this share of ||x||^2 + ||c||^2 a distance is measured directly */

size_t
fc_kmeans_part(size_t n, size_t d, size_t k)
{
	return fc_kmeans_wants_tree(n, d, k) ? smaller(n, PART_ROWS * k) : n;
}

static inline const double *
block_weights(const fc_kmeans_work *w, size_t start)
{
	return w->weight_in_order == NULL ? NULL : w->weight_in_order + start;
}

/* out[q * stride + r] = squared distance of row start + r to candidate q. */
static void
candidate_distances(fc_kmeans_work *w, size_t start, size_t rows, const float *candidates, size_t count,
					const float *norms, float *out, size_t stride)
{
	w->compared += count * rows;
	if (w->packed)
	{
		for (size_t q = 0; q < count; q++)
			for (size_t i = 0; i < rows; i += FC_PACK)
				fc_kmeans_pack_distance(w->packs + (start + i) * w->d, w->d, candidates + q * w->d,
										out + q * stride + i);
		return;
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, (int) rows, (int) w->d,
				1.0f, candidates, (int) w->d, w->rows->x + start * w->d, (int) w->d, 0.0f, w->tile, FC_TILE_ROWS);
	for (size_t q = 0; q < count; q++)
		for (size_t r = 0; r < rows; r++)
		{
			float		both = w->norm[start + r] + norms[q];
			float		square = both - 2.0f * w->tile[q * FC_TILE_ROWS + r];

			if (square < CANCELLED_SHARE * both)
				square = (float) fc_row_gap(w->rows->x + (start + r) * w->d, candidates + q * w->d, w->d);
			out[q * stride + r] = square;
		}
}

/* total[q] = sum_i w_i min(near_i, squared distance to candidate q). */
static void
try_candidates(fc_kmeans_work *w, size_t count, double *total)
{
	float		norms[MAX_DRAWS];

	for (size_t q = 0; q < count; q++)
		norms[q] = (float) fc_row_square(w->candidate + q * w->d, w->d);
	memset(total, 0, count * sizeof(double));
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		rows = fc_kmeans_block(w, start);
		float	   *out = w->packed ? w->tile : w->distance + start;
		size_t		stride = w->packed ? FC_TILE_ROWS : w->n;

		fc_check();
		candidate_distances(w, start, rows, w->candidate, count, norms, out, stride);
		for (size_t q = 0; q < count; q++)
			total[q] += fc_kmeans_potential(out + q * stride, w->near + start, block_weights(w, start), rows, false);
	}
}

/* near_i = min(near_i, squared distance to candidate q), which try_candidates has measured. */
static void
keep_candidate(fc_kmeans_work *w, size_t q, double *total)
{
	*total = 0.0;
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		rows = fc_kmeans_block(w, start);
		const float *measured = w->packed ? w->tile : w->distance + q * w->n + start;
		double	   *part = w->potential + start / FC_TILE_ROWS;

		fc_check();
		if (w->packed)			/* cheaper to measure again than to store */
			candidate_distances(w, start, rows, w->candidate + q * w->d, 1, NULL, w->tile, FC_TILE_ROWS);
		*part = fc_kmeans_potential(measured, w->near + start, block_weights(w, start), rows, true);
		*total += *part;
	}
}

/* Forget all seeds: every row is at the same distance, so that rows are drawn by weight. */
static void
level_potential(fc_kmeans_work *w, float distance, double *total)
{
	*total = 0.0;
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		rows = fc_kmeans_block(w, start);
		double		part = 0.0;

		fc_check();
		for (size_t i = start; i < start + rows; i++)
		{
			w->near[i] = distance;
			part += fc_kmeans_weight(w, i);
		}
		w->potential[start / FC_TILE_ROWS] = part;
		*total += part;
	}
}

/* A row with probability w_i near_i / total: first its block, then the row. */
static size_t
draw_row(const fc_kmeans_work *w, fc_rng *rng, double total)
{
	double		rest = fc_rng_uniform(rng) * total;
	size_t		start = 0;
	size_t		chosen;

	for (size_t s = 0; s < w->n; s += FC_TILE_ROWS)	/* the last with mass, if rounding overshoots */
	{
		double		mass = w->potential[s / FC_TILE_ROWS];

		if (mass <= 0.0)
			continue;
		start = s;
		if (rest < mass)
			break;
		rest -= mass;
	}
	chosen = start;
	for (size_t i = start; i < start + fc_kmeans_block(w, start); i++)
	{
		double		mass = fc_kmeans_weight(w, i) * (double) w->near[i];

		if (mass <= 0.0)
			continue;
		chosen = i;
		if (rest < mass)
			break;
		rest -= mass;
	}
	return chosen;
}

/* Draw candidates for centroid j and keep the best; total is the potential before and after. */
static void
seed_one(fc_kmeans_work *w, fc_rng *rng, size_t j, double *total)
{
	size_t		draws = j == 0 ? 1 : w->draws;
	size_t		best = 0;
	double		totals[MAX_DRAWS];
	float		buffer[FC_PACK_DIMENSIONS];
	double		none;

	if (!(*total > 0.0))		/* every row is a seed already: repeat some */
		level_potential(w, 1.0f, total);
	for (size_t q = 0; q < draws; q++)
		memcpy(w->candidate + q * w->d, fc_kmeans_row(w, draw_row(w, rng, *total), buffer), w->d * sizeof(float));
	if (j == 0)
		level_potential(w, INFINITY, &none);
	try_candidates(w, draws, totals);
	for (size_t q = 1; q < draws; q++)
		if (totals[q] < totals[best])
			best = q;
	keep_candidate(w, best, total);
	for (size_t c = 0; c < w->d; c++)
		w->centroid[j * w->d + c] = (double) w->candidate[best * w->d + c];
}

size_t
fc_kmeans_draw_part(const fc_kmeans_work *w, fc_rng *rng, size_t most, float *x)
{
	double		share = w->total / (double) most;
	double		next = share * fc_rng_uniform(rng);
	double		passed = 0.0;
	size_t		taken = 0;
	float		buffer[FC_PACK_DIMENSIONS];

	for (size_t i = 0; i < w->n; i++)
		for (passed += fc_kmeans_weight(w, i); taken < most && next < passed; next = share * ((double) taken + fc_rng_uniform(rng)))
			memcpy(x + taken++ * w->d, fc_kmeans_row(w, i, buffer), w->d * sizeof(float));
	return taken;
}

void
fc_kmeans_seed(fc_kmeans_work *w, fc_rng *rng)
{
	double		total;

	level_potential(w, 1.0f, &total);
	for (size_t j = 0; j < w->k; j++)
		seed_one(w, rng, j, &total);
}

void
fc_kmeans_add(fc_kmeans_work *w, fc_rng *rng, size_t count)
{
	double		total = 0.0;

	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		double	   *part = w->potential + start / FC_TILE_ROWS;

		fc_check();
		*part = fc_kmeans_potential(w->near + start, w->near + start, block_weights(w, start), fc_kmeans_block(w, start), false);
		total += *part;
	}
	for (size_t j = 0; j < count; j++)
		seed_one(w, rng, w->k++, &total);
}
