/*
 * kmeans.c - weighted k-means in memory: k-means++ starts and Lloyd steps.
 *
 *     min over C of sum_i w_i min_j ||x_i - c_j||^2
 *
 * A Lloyd step costs n k d multiply-adds in float;
 * sums are double.  With W_j, S_j the weight and sum of cluster j the objective after an
 * update is sum w ||x||^2 - sum_j ||S_j||^2 / W_j, so steps need no extra pass for it.
 *
 * Scores ||c||^2/2 - x . c cancel when clusters are close compared with their distance from
 * the origin.  Once the rounding bound of scores exceeds VISIBLE_SSE_SHARE of the mean squared distance,
 * distances are compared instead: ||x - c||^2 itself for packs, in double for rows whose two
 * best scores are within the bound otherwise.
 *
 * Rows are visited in blocks of FC_TILE_ROWS, dot products in tiles of fixed shape: the
 * answer depends on the seed and the rows alone.  Many clusters in few dimensions meet few rows
 * each (tree.h).
 *
 * Lloyd 1982.  Seeding: seed.c.
 */
#include "kmeans/tree.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/rows.h"

#define DISTANCE_ROUNDING	4e-6f	/* float rounding of a squared distance, relative to ||x||^2 */
#define TICKED_ROWS	((size_t) 1 << 16)	/* simple work on that many between two ticks */
#define VISIBLE_SSE_SHARE	1e-2	/* share of the SSE that rounding may cost before it matters */

fc_kmeans_options
fc_kmeans_defaults(void)
{
	fc_kmeans_options options = {.n_init = 5,.iterations = 100,.tolerance = 1e-4,.margin = 0.0,.seed = 0};

	return options;
}

static fc_status
take_work(fc_arena *arena, size_t n, size_t d, size_t k, fc_kmeans_work *w)
{
	size_t		packs = (n + FC_PACK - 1) / FC_PACK * FC_PACK;

	w->n = n;
	w->d = d;
	w->k = k;
	w->draws = 2 + (size_t) log((double) k);
	w->packed = d <= FC_PACK_DIMENSIONS;
	w->packs = FC_TAKE(arena, w->packed ? packs * d : 0, float);
	if (fc_kmeans_wants_tree(n, d, k))
	{
		w->order = FC_TAKE(arena, n, uint32_t);
		w->weight_in_order = w->weighted = FC_TAKE(arena, n, double);
		if (fc_kmeans_tree_take(arena, n, d, k, &w->tree) != FC_OK)
			return FC_ENOMEMORY;
	}
	w->norm = FC_TAKE(arena, n, float);
	w->near = FC_TAKE(arena, packs, float);
	w->label = FC_TAKE(arena, packs, int32_t);
	w->potential = FC_TAKE(arena, n / FC_TILE_ROWS + 1, double);
	w->centroid = FC_TAKE(arena, k * d, double);
	w->rounded = FC_TAKE(arena, k * d, float);
	w->half = FC_TAKE(arena, k, float);
	w->sum = FC_TAKE(arena, k * d, double);
	w->weight = FC_TAKE(arena, k, double);
	w->count = FC_TAKE(arena, k, size_t);
	w->far_row = FC_TAKE(arena, k, size_t);
	w->far_distance = FC_TAKE(arena, k, float);
	w->candidate = FC_TAKE(arena, w->draws * d, float);
	w->distance = FC_TAKE(arena, w->packed ? 0 : w->draws * n, float);
	w->tile = FC_TAKE(arena, (size_t) FC_TILE_ROWS * FC_TILE_CENTROIDS, float);
	return fc_arena_status(arena);
}

size_t
fc_kmeans_worksize(size_t n, size_t d, size_t k)
{
	fc_arena	measure = fc_arena_measure();
	fc_kmeans_work w;

	(void) take_work(&measure, n, d, k, &w);
	return fc_arena_measured(&measure);
}

/* The tree and the weights in its order; without a tree the caller's. */
static fc_status
order_rows(fc_kmeans_work *w)
{
	fc_status	status = FC_OK;

	if (w->order != NULL)
		status = fc_kmeans_tree_build(w);
	if (w->order == NULL || w->rows->weight == NULL)
		w->weight_in_order = w->rows->weight;
	for (size_t i = 0; w->order != NULL && w->rows->weight != NULL && i < w->n && status == FC_OK; i++)
	{
		if (i % TICKED_ROWS == 0 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
		w->weighted[i] = w->rows->weight[w->order[i]];
	}
	return status;
}

static void
pack_rows(fc_kmeans_work *w, size_t first, size_t rows)
{
	float	   *packed = w->packs + first * w->d;

	if (w->order == NULL)
		fc_kmeans_pack(w->rows->x + first * w->d, rows, w->d, packed);
	else
		fc_kmeans_pack_chosen(w->rows->x, w->order + first, rows, w->d, packed);
}

/* Packs, norms and the spread about the origin. */
static fc_status
prepare_rows(fc_kmeans_work *w)
{
	float		buffer[FC_PACK_DIMENSIONS];

	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		stop = start + fc_kmeans_block(w, start);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		for (size_t i = start; w->packed && i < stop; i += FC_PACK)
			pack_rows(w, i, stop - i < FC_PACK ? stop - i : FC_PACK);
		for (size_t i = start; i < stop; i++)
		{
			double		weight = fc_kmeans_weight(w, i);
			double		square = fc_row_square(fc_kmeans_row(w, i, buffer), w->d);

			w->total += weight;
			w->length = fmax(w->length, sqrt(square));
			w->spread += weight * square;
			w->norm[i] = (float) square;
			if (weight > fc_kmeans_weight(w, w->heaviest))
				w->heaviest = i;
		}
	}
	return w->total > 0.0 ? FC_OK : FC_EEMPTY;
}

/* tile[r][j] = x_(start + r) . c_j for count <= FC_TILE_CENTROIDS centroids. */
static void
multiply_tile(fc_kmeans_work *w, size_t start, size_t rows, const float *centroids, size_t count)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) w->d,
				1.0f, w->rows->x + start * w->d, (int) w->d, centroids, (int) w->d,
				0.0f, w->tile, FC_TILE_CENTROIDS);
}

static fc_status
assign_packs(fc_kmeans_work *w, size_t start, size_t rows)
{
	w->compared += rows * w->k;
	for (size_t i = start; i < start + rows; i += FC_PACK)
		if (w->careful)
			fc_kmeans_pack_closest(w->packs + i * w->d, w->d, w->rounded, w->k, w->near + i, w->label + i);
		else
			fc_kmeans_pack_nearest(w->packs + i * w->d, w->d, w->rounded, w->half, w->k,
								   w->near + i, w->label + i);
	return fc_ticked(w->tick) ? FC_INTERRUPTED : FC_OK;
}

/* Bound of the rounding of a score (operator/build.c). */
static double
score_rounding(const fc_kmeans_work *w)
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

static fc_status
assign_tiles(fc_kmeans_work *w, size_t start, size_t rows)
{
	float		second[FC_TILE_ROWS];
	double		bound = 2.0 * score_rounding(w);

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

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		multiply_tile(w, start, rows, w->rounded + first * w->d, count);
		for (size_t r = 0; w->careful && r < rows; r++)
			fc_two_lowest(w->tile + r * FC_TILE_CENTROIDS, w->half + first, count, first,
						  w->near + start + r, second + r, w->label + start + r);
		if (!w->careful)
			fc_kmeans_tile_nearest(w->tile, rows, count, w->half, first, w->near + start, w->label + start);
	}
	for (size_t r = 0; w->careful && r < rows; r++)
	{
		if (r % 16 == 0 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
		resolve_ties(w, start + r, second[r], bound);
	}
	return FC_OK;
}

/* rounded, half and max_centroid_norm of the centroids. */
static fc_status
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
		if (j % FC_TILE_ROWS == FC_TILE_ROWS - 1 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
	}
	return FC_OK;
}

/* label = argmin_j ||x - c_j||, near = its score, or its squared distance when careful. */
static fc_status
assign(fc_kmeans_work *w, const double *centroids)
{
	fc_status	status = round_centroids(w, centroids);

	if (w->order != NULL)
		return status == FC_OK ? fc_kmeans_tree_assign(w) : status;
	for (size_t start = 0; start < w->n && status == FC_OK; start += FC_TILE_ROWS)
		status = w->packed ? assign_packs(w, start, fc_kmeans_block(w, start))
			: assign_tiles(w, start, fc_kmeans_block(w, start));
	return status;
}

/* ---- Lloyd steps ---- */

/* Sums, weights and counts of the clusters of w->label. */
static fc_status
sum_clusters(fc_kmeans_work *w)
{
	float		buffer[FC_PACK_DIMENSIONS];

	memset(w->sum, 0, w->k * w->d * sizeof(double));
	memset(w->weight, 0, w->k * sizeof(double));
	memset(w->count, 0, w->k * sizeof(size_t));
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		rows = fc_kmeans_block(w, start);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		for (size_t i = start; i < start + rows; i++)
		{
			double		weight = fc_kmeans_weight(w, i);
			size_t		j = (size_t) w->label[i];

			if (weight <= 0.0)
				continue;
			fc_kmeans_accumulate(fc_kmeans_row(w, i, buffer), w->d, weight, w->sum + j * w->d);
			w->weight[j] += weight;
			w->count[j]++;
		}
	}
	return FC_OK;
}

/* Restore the heap order of far_distance (smallest first) below `place`. */
static void
sift_down(fc_kmeans_work *w, size_t size, size_t place, float distance, size_t row)
{
	for (size_t child = 2 * place + 1; child < size; child = 2 * place + 1)
	{
		if (child + 1 < size && w->far_distance[child + 1] < w->far_distance[child])
			child++;
		if (distance <= w->far_distance[child])
			break;
		w->far_distance[place] = w->far_distance[child];
		w->far_row[place] = w->far_row[child];
		place = child;
	}
	w->far_distance[place] = distance;
	w->far_row[place] = row;
}

/*
 * The `wanted` rows farthest from their centroids, in a heap with the nearest of them on
 * top.  Distances within the rounding of ||x||^2 count as zero: such rows gain nothing.
 */
static fc_status
find_farthest(fc_kmeans_work *w, size_t wanted)
{
	for (size_t slot = 0; slot < wanted; slot++)
	{
		w->far_distance[slot] = 0.0f;
		w->far_row[slot] = SIZE_MAX;
	}
	for (size_t i = 0; i < w->n; i++)
	{
		float		distance = w->careful ? w->near[i] : w->norm[i] + 2.0f * w->near[i];	/* not NaN: rows are finite */
		float		rounding = w->careful ? 0.0f : DISTANCE_ROUNDING * w->norm[i];

		if (distance > w->far_distance[0] && distance > rounding && fc_kmeans_weight(w, i) > 0.0)
			sift_down(w, wanted, 0, distance, i);
		if (i % TICKED_ROWS == TICKED_ROWS - 1 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
	}
	return FC_OK;
}

/* Give cluster j the row alone, unless that empties another cluster. */
static void
move_row(fc_kmeans_work *w, size_t j, size_t row)
{
	float		buffer[FC_PACK_DIMENSIONS];
	const float *x = fc_kmeans_row(w, row, buffer);
	size_t		donor = (size_t) w->label[row];
	double		weight = fc_kmeans_weight(w, row);

	if (w->count[donor] < 2)
		return;
	fc_kmeans_accumulate(x, w->d, -weight, w->sum + donor * w->d);
	fc_kmeans_accumulate(x, w->d, weight, w->sum + j * w->d);
	w->weight[donor] -= weight;
	w->weight[j] = weight;
	w->count[donor]--;
	w->count[j]++;
	w->label[row] = (int32_t) j;
}

/* Empty clusters take the farthest rows; when no row is far they copy a row and stay empty. */
static fc_status
fill_empty(fc_kmeans_work *w)
{
	float		buffer[FC_PACK_DIMENSIONS];
	const float *heaviest = fc_kmeans_row(w, w->heaviest, buffer);
	size_t		empty = 0;
	size_t		slot = 0;

	for (size_t j = 0; j < w->k; j++)
		empty += w->count[j] == 0;
	if (empty == 0)
		return FC_OK;
	if (find_farthest(w, empty) != FC_OK)
		return FC_INTERRUPTED;
	for (size_t j = 0; j < w->k; j++)
	{
		if (w->count[j] > 0)
			continue;
		if (w->far_row[slot] != SIZE_MAX)
			move_row(w, j, w->far_row[slot]);
		slot++;
		for (size_t c = 0; c < w->d && w->count[j] == 0; c++)
			w->centroid[j * w->d + c] = (double) heaviest[c];
	}
	return FC_OK;
}

/* centroid = means of the clusters of w->label; objective = their SSE, by the formula above. */
static fc_status
update(fc_kmeans_work *w, double *objective)
{
	fc_status	status = sum_clusters(w);

	if (status == FC_OK)
		status = fill_empty(w);
	if (status != FC_OK)
		return status;
	*objective = w->spread;
	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		if (j % FC_TILE_ROWS == 0 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
		if (w->count[j] == 0)
			continue;
		for (size_t c = j * w->d; c < (j + 1) * w->d; c++)
		{
			w->centroid[c] = w->sum[c] / w->weight[j];
			square += w->sum[c] * w->centroid[c];
		}
		*objective -= square;
	}
	return FC_OK;
}

/* Weights and SSE of w->label about the given centroids, row by row in double. */
static fc_status
measure(fc_kmeans_work *w, const double *centroids, double *weights, double *sse)
{
	float		buffer[FC_PACK_DIMENSIONS];

	*sse = 0.0;
	memset(weights, 0, w->k * sizeof(double));
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		rows = fc_kmeans_block(w, start);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		for (size_t i = start; i < start + rows; i++)
		{
			size_t		j = (size_t) w->label[i];
			double		weight = fc_kmeans_weight(w, i);

			weights[j] += weight;
			*sse += weight * fc_kmeans_distance(fc_kmeans_row(w, i, buffer), centroids + j * w->d, w->d);
		}
	}
	return FC_OK;
}

/* Lloyd steps from w->centroid; w->label and sse belong to the centroids it leaves there. */
static fc_status
descend(fc_kmeans_work *w, const fc_kmeans_options *options, int *iterations, double *sse)
{
	fc_status	status = assign(w, w->centroid);
	double		previous = DBL_MAX;
	double		objective = 0.0;
	bool		falling = true;

	for (*iterations = 0; *iterations < options->iterations && falling && status == FC_OK; ++*iterations)
	{
		status = update(w, &objective);
		falling = previous - objective > options->tolerance * previous;
		if (!w->careful && 4.0 * score_rounding(w) * w->total > VISIBLE_SSE_SHARE * objective)
			falling = w->careful = true;
		previous = objective;
		if (status == FC_OK)
			status = assign(w, w->centroid);
	}
	return status == FC_OK ? measure(w, w->centroid, w->weight, sse) : status;
}

/* One start: the given centroids (start 0) or k-means++; it replaces a worse incumbent. */
static fc_status
try_start(fc_kmeans_work *w, int start, const double *initial, const fc_kmeans_options *options,
		  fc_kmeans_result *result)
{
	double		sse = 0.0;
	int			iterations = 0;
	fc_status	status = FC_OK;

	if (start == 0)
		memcpy(w->centroid, initial, w->k * w->d * sizeof(double));
	else
		status = fc_kmeans_seed(w, options->seed, (uint64_t) start);
	if (status == FC_OK)
		status = descend(w, options, &iterations, &sse);
	if (status != FC_OK || (result->winner >= 0 && !(sse < result->sse * (1.0 - options->margin))))
		return status;
	memcpy(result->centroids, w->centroid, w->k * w->d * sizeof(double));
	result->sse = sse;
	result->iterations = iterations;
	result->winner = start;
	return FC_OK;
}

/* Labels, weights and SSE of the centroids that are returned. */
static fc_status
finish(fc_kmeans_work *w, fc_kmeans_result *result)
{
	fc_status	status = assign(w, result->centroids);

	if (status == FC_OK)
		status = measure(w, result->centroids, result->weights, &result->sse);
	for (size_t i = 0; i < w->n && status == FC_OK && result->labels != NULL; i++)
	{
		if (i % TICKED_ROWS == 0 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
		result->labels[w->order != NULL ? w->order[i] : i] = w->label[i];
	}
	return status;
}

fc_status
fc_kmeans(const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options,
		  const fc_tick *tick, fc_arena *arena, fc_kmeans_result *result)
{
	fc_kmeans_work w = {.rows = rows,.tick = tick};
	size_t		used = arena->used;
	int			first = initial != NULL ? 0 : 1;
	int			last = initial == NULL && options->n_init < 1 ? 1 : options->n_init;
	fc_status	status;

	if (rows->n == 0 || k == 0)
		return FC_EEMPTY;
	status = fc_arena_require(arena, fc_kmeans_worksize(rows->n, rows->d, k));
	if (status == FC_OK)
		status = take_work(arena, rows->n, rows->d, k, &w);
	if (status == FC_OK)
		status = order_rows(&w);
	if (status == FC_OK)
		status = prepare_rows(&w);
	result->winner = -1;
	for (int start = first; start <= last && status == FC_OK; start++)
		status = try_start(&w, start, initial, options, result);
	if (status == FC_OK)
		status = finish(&w, result);
	result->compared = w.compared;
	arena->used = used;
	return status;
}
