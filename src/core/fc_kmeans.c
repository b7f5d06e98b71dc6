/*
 * fc_kmeans.c - weighted k-means in memory: greedy k-means++ starts and Lloyd steps.
 *
 *     min over C of sum_i w_i min_j ||x_i - c_j||^2
 *
 * Seeding draws 2 + log k candidates a centroid with probability w_i D_i^2 and keeps the
 * one that lowers the objective most.  A Lloyd step costs n k d multiply-adds in float;
 * sums are double.  With W_j, S_j the weight and sum of cluster j the objective after an
 * update is sum w ||x||^2 - sum_j ||S_j||^2 / W_j, so steps need no extra pass for it.
 *
 * Rows are visited in blocks of FC_TILE_ROWS, dot products in tiles of fixed shape: the
 * answer depends on the seed and the rows alone.
 *
 * Lloyd 1982; Arthur, Vassilvitskii 2007 (k-means++, greedy variant of section 5).
 */
#include "fc_kmeans.h"

#include <math.h>
#include <string.h>

#include "fc_blas.h"
#include "fc_kmeans_kernel.h"
#include "fc_rng.h"

#define BLOCK		FC_TILE_ROWS
#define MAX_DRAWS	64			/* candidates a centroid; 2 + log k stays below */

typedef struct work
{
	const fc_rows *rows;
	const fc_tick *tick;
	size_t		k;
	size_t		n;
	size_t		d;
	size_t		draws;			/* candidates a centroid */
	bool		packed;			/* d is small: use packs rather than BLAS */
	double		spread;			/* sum of w ||x||^2 */
	float	   *packs;			/* packs of FC_PACK rows, when packed */
	float	   *norm;			/* n: ||x||^2, when not packed */
	float	   *near;			/* n: squared distance to the nearest seed, or best score */
	int32_t    *label;			/* n */
	double	   *potential;		/* one a block: sum of w near */
	double	   *centroid;		/* k x d */
	float	   *rounded;		/* k x d: the centroids in float */
	float	   *half;			/* k: ||c||^2 / 2 */
	double	   *sum;			/* k x d */
	double	   *weight;			/* k */
	size_t	   *count;			/* k: rows of positive weight */
	size_t	   *far_row;		/* k: heap of the farthest rows */
	float	   *far_distance;	/* k */
	float	   *candidate;		/* draws x d */
	float	   *tile;			/* FC_TILE_ROWS x FC_TILE_CENTROIDS */
} work;

fc_kmeans_options
fc_kmeans_defaults(void)
{
	fc_kmeans_options options = {.n_init = 5,.iterations = 100,.tolerance = 1e-4,.margin = 0.0,.seed = 0};

	return options;
}

static inline double
weight_of(const work *w, size_t i)
{
	return w->rows->weight == NULL ? 1.0 : w->rows->weight[i];
}

static inline size_t
block_rows(const work *w, size_t start)
{
	return w->n - start < BLOCK ? w->n - start : BLOCK;
}

/* The one list of what the arena holds; fc_kmeans_worksize runs it on an endless arena. */
static fc_status
take_work(fc_arena *arena, size_t n, size_t d, size_t k, work *w)
{
	size_t		packs = (n + FC_PACK - 1) / FC_PACK * FC_PACK;

	w->n = n;
	w->d = d;
	w->k = k;
	w->draws = 2 + (size_t) log((double) k);
	w->packed = d <= FC_PACK_DIMENSIONS;
	w->packs = FC_TAKE(arena, w->packed ? packs * d : 0, float);
	w->norm = FC_TAKE(arena, w->packed ? 0 : n, float);
	w->near = FC_TAKE(arena, packs, float);
	w->label = FC_TAKE(arena, packs, int32_t);
	w->potential = FC_TAKE(arena, n / BLOCK + 1, double);
	w->centroid = FC_TAKE(arena, k * d, double);
	w->rounded = FC_TAKE(arena, k * d, float);
	w->half = FC_TAKE(arena, k, float);
	w->sum = FC_TAKE(arena, k * d, double);
	w->weight = FC_TAKE(arena, k, double);
	w->count = FC_TAKE(arena, k, size_t);
	w->far_row = FC_TAKE(arena, k, size_t);
	w->far_distance = FC_TAKE(arena, k, float);
	w->candidate = FC_TAKE(arena, w->draws * d, float);
	w->tile = FC_TAKE(arena, (size_t) FC_TILE_ROWS * FC_TILE_CENTROIDS, float);
	return w->tile == NULL || arena->wanted > arena->size ? FC_ENOMEMORY : FC_OK;
}

size_t
fc_kmeans_worksize(size_t n, size_t d, size_t k)
{
	fc_arena	endless = {.base = (char *) 64,.size = SIZE_MAX};
	work		w;

	if (take_work(&endless, n, d, k, &w) != FC_OK)
		return SIZE_MAX;
	return endless.used + 64;	/* the caller's base may not be aligned */
}

/* Norms, packs and the spread about the origin. */
static fc_status
prepare_rows(work *w)
{
	for (size_t start = 0; start < w->n; start += BLOCK)
	{
		size_t		rows = block_rows(w, start);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		for (size_t i = start; i < start + rows; i++)
		{
			const float *x = w->rows->x + i * w->d;
			double		square = 0.0;

			for (size_t c = 0; c < w->d; c++)
				square += (double) x[c] * (double) x[c];
			w->spread += weight_of(w, i) * square;
			if (!w->packed)
				w->norm[i] = (float) square;
		}
		for (size_t i = start; w->packed && i < start + rows; i += FC_PACK)
			fc_kmeans_pack(w->rows->x + i * w->d, start + rows - i < FC_PACK ? start + rows - i : FC_PACK,
						   w->d, w->packs + i * w->d);
	}
	return FC_OK;
}

/* tile[r][j] = x_(start + r) . c_j for count <= FC_TILE_CENTROIDS centroids. */
static void
multiply_tile(work *w, size_t start, size_t rows, const float *centroids, size_t count)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) w->d,
				1.0f, w->rows->x + start * w->d, (int) w->d, centroids, (int) w->d,
				0.0f, w->tile, FC_TILE_CENTROIDS);
}

/* ---- assignment ---- */

static fc_status
assign_block(work *w, size_t start, size_t rows)
{
	if (w->packed)
	{
		for (size_t i = start; i < start + rows; i += FC_PACK)
			fc_kmeans_pack_nearest(w->packs + i * w->d, w->d, w->rounded, w->half, w->k,
								   w->near + i, w->label + i);
		return fc_ticked(w->tick) ? FC_INTERRUPTED : FC_OK;
	}
	for (size_t i = start; i < start + rows; i++)
	{
		w->near[i] = INFINITY;
		w->label[i] = 0;
	}
	for (size_t first = 0; first < w->k; first += FC_TILE_CENTROIDS)
	{
		size_t		count = w->k - first < FC_TILE_CENTROIDS ? w->k - first : FC_TILE_CENTROIDS;

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		multiply_tile(w, start, rows, w->rounded + first * w->d, count);
		fc_kmeans_tile_nearest(w->tile, rows, count, w->half, first, w->near + start, w->label + start);
	}
	return FC_OK;
}

/* label = argmin_j (||c_j||^2 / 2 - x . c_j), near = that score. */
static fc_status
assign(work *w, const double *centroids)
{
	fc_status	status = FC_OK;

	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		for (size_t c = 0; c < w->d; c++)
		{
			float		value = (float) centroids[j * w->d + c];

			w->rounded[j * w->d + c] = value;
			square += (double) value * (double) value;
		}
		w->half[j] = (float) (0.5 * square);
		if (j % BLOCK == BLOCK - 1 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
	}
	for (size_t start = 0; start < w->n && status == FC_OK; start += BLOCK)
		status = assign_block(w, start, block_rows(w, start));
	return status;
}

/* ---- seeding ---- */

/* Squared distances of a block to `count` candidates, candidate-major in the tile. */
static void
candidate_distances(work *w, size_t start, size_t rows, const float *candidates, size_t count,
					const float *norms)
{
	float	   *tile = w->tile;

	if (w->packed)
	{
		for (size_t q = 0; q < count; q++)
			for (size_t i = 0; i < rows; i += FC_PACK)
				fc_kmeans_pack_distance(w->packs + (start + i) * w->d, w->d, candidates + q * w->d,
										tile + q * BLOCK + i);
		return;
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, (int) rows, (int) w->d,
				1.0f, candidates, (int) w->d, w->rows->x + start * w->d, (int) w->d, 0.0f, tile, BLOCK);
	for (size_t q = 0; q < count; q++)
		for (size_t r = 0; r < rows; r++)
		{
			float		square = w->norm[start + r] + norms[q] - 2.0f * tile[q * BLOCK + r];

			tile[q * BLOCK + r] = square > 0.0f ? square : 0.0f;
		}
}

/* total[q] = sum_i w_i min(near_i, distance to candidate q); with `keep` near takes the minimum. */
static fc_status
try_candidates(work *w, const float *candidates, size_t count, bool keep, double *total)
{
	float		norms[MAX_DRAWS];

	for (size_t q = 0; q < count; q++)
		norms[q] = cblas_sdot((int) w->d, candidates + q * w->d, 1, candidates + q * w->d, 1);
	memset(total, 0, count * sizeof(double));
	for (size_t start = 0; start < w->n; start += BLOCK)
	{
		size_t		rows = block_rows(w, start);
		double		part = 0.0;

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		candidate_distances(w, start, rows, candidates, count, norms);
		for (size_t q = 0; q < count; q++)
		{
			part = fc_kmeans_potential(w->tile + q * BLOCK, w->near + start,
									   w->rows->weight == NULL ? NULL : w->rows->weight + start, rows, keep);
			total[q] += part;
		}
		if (keep)
			w->potential[start / BLOCK] = part;
	}
	return FC_OK;
}

/* Forget all seeds: every row is at distance 1, so rows are drawn by weight. */
static double
level_potential(work *w)
{
	double		total = 0.0;

	for (size_t start = 0; start < w->n; start += BLOCK)
	{
		size_t		rows = block_rows(w, start);
		double		part = 0.0;

		for (size_t i = start; i < start + rows; i++)
		{
			w->near[i] = 1.0f;
			part += weight_of(w, i);
		}
		w->potential[start / BLOCK] = part;
		total += part;
	}
	return total;
}

/* A row with probability w_i near_i / total: first its block, then the row. */
static size_t
draw_row(const work *w, fc_rng *rng, double total)
{
	double		rest = fc_rng_uniform(rng) * total;
	size_t		chosen = 0;
	size_t		start = 0;

	for (size_t s = 0; s < w->n; s += BLOCK)	/* the last block with mass, if rounding overshoots */
	{
		double		mass = w->potential[s / BLOCK];

		if (mass <= 0.0)
			continue;
		start = s;
		if (rest < mass)
			break;
		rest -= mass;
	}
	for (size_t i = start; i < start + block_rows(w, start); i++)
	{
		double		mass = weight_of(w, i) * (double) w->near[i];

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
static fc_status
seed_one(work *w, fc_rng *rng, size_t j, double *total)
{
	size_t		draws = j == 0 ? 1 : w->draws;
	size_t		best = 0;
	double		totals[MAX_DRAWS];
	fc_status	status = FC_OK;

	if (!(*total > 0.0))
		*total = level_potential(w);	/* every row is a seed already: repeat some */
	for (size_t q = 0; q < draws; q++)
		memcpy(w->candidate + q * w->d, w->rows->x + draw_row(w, rng, *total) * w->d, w->d * sizeof(float));
	if (j == 0)
		for (size_t i = 0; i < w->n; i++)
			w->near[i] = INFINITY;
	if (draws > 1)
		status = try_candidates(w, w->candidate, draws, false, totals);
	for (size_t q = 1; q < draws && status == FC_OK; q++)
		if (totals[q] < totals[best])
			best = q;
	if (status == FC_OK)
		status = try_candidates(w, w->candidate + best * w->d, 1, true, total);
	for (size_t c = 0; c < w->d; c++)
		w->centroid[j * w->d + c] = (double) w->candidate[best * w->d + c];
	return status;
}

static fc_status
seed_centroids(work *w, fc_rng *rng)
{
	double		total = level_potential(w);
	fc_status	status = FC_OK;

	for (size_t j = 0; j < w->k && status == FC_OK; j++)
		status = seed_one(w, rng, j, &total);
	return status;
}
