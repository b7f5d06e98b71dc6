/*
 * assign.c - the nearest centroid of every row.
 *
 * Scores ||c||^2/2 - x . c cancel when clusters are close compared with their distance from
 * the origin.  Then (work.careful) distances are compared instead: ||x - c||^2 itself for packs, in
 * double for rows whose two best scores are within the bound otherwise.
 *
 * Rows are visited in blocks of FC_TILE_ROWS, dot products in tiles of fixed shape.  Many clusters in few
 * dimensions meet few rows each (tree.c).
 *
 * Cost: n k d multiply-adds in float.
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/sizes.h"
#include "numerics/rows.h"

/* tile[r][j] = x_(start + r) . c_j for count <= FC_TILE_CENTROIDS centroids. */
static void
multiply_tile(fc_kmeans_work *w, size_t start, size_t rows, const float *centroids, size_t count)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) w->d,
				1.0f, w->rows->x + start * w->d, (int) w->d, centroids, (int) w->d,
				0.0f, w->tile, FC_TILE_CENTROIDS);
}

static void
assign_packs(fc_kmeans_work *w, size_t start, size_t rows)
{
	w->compared += rows * w->k;
	for (size_t i = start; i < start + rows; i += FC_PACK)
		if (w->careful)
			fc_kmeans_pack_closest(w->packs + i * w->d, w->d, w->rounded, w->k, w->near + i, w->label + i);
		else
			fc_kmeans_pack_nearest(w->packs + i * w->d, w->d, w->rounded, w->half, w->k,
								   w->near + i, w->label + i);
	fc_check();
}

/* Bound of the rounding of a score (operator/build.c). */
double
fc_kmeans_score_rounding(const fc_kmeans_work *w)
{
	return ((double) w->d + 4.0) * 0x1p-24 * (w->length * w->max_centroid_norm + 0.5 * w->max_centroid_norm * w->max_centroid_norm);
}

/* label and near of row i by distances in double, unless its two lowest scores are apart. */
static void
resolve_ties(fc_kmeans_work *w, size_t i, float second, double bound)
{
	const float *x = w->rows->x + i * w->d;
	size_t		label = (size_t) w->label[i];
	double		best;

	if (second - w->near[i] > bound)
		best = fc_row_gap(x, w->rounded + label * w->d, w->d);
	else
	{
		best = INFINITY;
		for (size_t j = 0; j < w->k; j++)
		{
			double		distance = fc_row_gap(x, w->rounded + j * w->d, w->d);

			if (distance < best)
			{
				best = distance;
				label = j;
			}
		}
	}
	w->near[i] = (float) best;
	w->label[i] = (int32_t) label;
}

static void
assign_tiles(fc_kmeans_work *w, size_t start, size_t rows)
{
	float		second[FC_TILE_ROWS];
	double		bound = 2.0 * fc_kmeans_score_rounding(w);

	w->compared += rows * w->k;
	for (size_t r = 0; r < rows; r++)
	{
		w->near[start + r] = INFINITY;
		w->label[start + r] = 0;
		second[r] = INFINITY;
	}
	for (size_t first = 0; first < w->k; first += FC_TILE_CENTROIDS)
	{
		size_t		count = w->k - first < FC_TILE_CENTROIDS ? w->k - first : FC_TILE_CENTROIDS;

		fc_check();
		multiply_tile(w, start, rows, w->rounded + first * w->d, count);
		for (size_t r = 0; w->careful && r < rows; r++)
			fc_two_lowest(w->tile + r * FC_TILE_CENTROIDS, w->half + first, count, first,
						  w->near + start + r, second + r, w->label + start + r);
		if (!w->careful)
			fc_kmeans_tile_nearest(w->tile, rows, count, w->half, first, w->near + start, w->label + start);
	}
	for (size_t r = 0; w->careful && r < rows; r++)
	{
		if (r % 16 == 0)
			fc_check();
		resolve_ties(w, start + r, second[r], bound);
	}
}

/* rounded, half and max_centroid_norm of the centroids. */
static void
round_centroids(fc_kmeans_work *w, const double *centroids)
{
	w->max_centroid_norm = 0.0;
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
		w->max_centroid_norm = fmax(w->max_centroid_norm, sqrt(square));
		if (j % FC_TILE_ROWS == FC_TILE_ROWS - 1)
			fc_check();
	}
}

/* ---- many clusters in many dimensions ---- */

/* Rows from `first` on. */
typedef struct screened_rows
{
	const fc_kmeans_work *w;
	size_t		first;
} screened_rows;

static double
distance_of(const void *context, size_t row, size_t j)
{
	const screened_rows *rows = context;
	size_t		d = rows->w->d;

	return fc_row_gap(rows->w->rows->x + (rows->first + row) * d, rows->w->rounded + j * d, d);
}

/* A screen of the rounded centroids with the records of the last, and scratch behind it; false: there can be none. */
static bool
open_screen(fc_kmeans_work *w, fc_scratch *scratch)
{
	fc_screen	before = w->screen;
	bool		suits = fc_screen_build(w->rounded, NULL, w->k, w->d, before.k == 0 || before.lead > 0, w->arena, &w->screen);

	memcpy(w->screen.record, before.record, sizeof(before.record));
	if (suits)
		*scratch = fc_take_scratch(w->arena, fc_screen_scratch(&w->screen, FC_SCREEN_ROWS));
	return suits;
}

static void
assign_screened(fc_kmeans_work *w)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_scratch	scratch;
	bool		suits = open_screen(w, &scratch);

	for (size_t start = 0; start < w->n; start += FC_SCREEN_ROWS)
	{
		size_t		count = smaller(FC_SCREEN_ROWS, w->n - start);
		screened_rows context = {w, start};
		fc_screened rows = {.x_float = w->rows->x + start * w->d,.distance = distance_of,.context = &context};
		int			way = suits ? fc_screen_choose(&w->screen) : FC_SCREEN_NONE;
		bool		all = way != FC_SCREEN_NONE;

		if (all)
			fc_screen_assign(&w->screen, way, &rows, count, scratch, w->label + start);
		for (size_t r = start; r < start + count && all; r++)
			all = w->label[r] >= 0;
		for (size_t r = start; r < start + count && all; r++)
		{
			double		square = fc_row_gap(w->rows->x + r * w->d, w->rounded + (size_t) w->label[r] * w->d, w->d);

			w->near[r] = (float) (w->careful ? square : 0.5 * (square - (double) w->norm[r]));
		}
		if (all)
			w->compared += count * w->k;
		else
			assign_tiles(w, start, count);
	}
	fc_arena_release(w->arena, mark);
}

void
fc_kmeans_assign(fc_kmeans_work *w, const double *centroids)
{
	round_centroids(w, centroids);
	if (w->order != NULL)
		fc_kmeans_tree_assign(w);
	else if (fc_screen_suits(w->k, w->d))
		assign_screened(w);
	else
		for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
			(w->packed ? assign_packs : assign_tiles) (w, start, fc_kmeans_block(w, start));
}
