/*
 * lloyd.c - rows, and Lloyd's steps.
 *
 * With W_j, S_j the weight and sum of cluster j the objective after an update is
 * sum w ||x||^2 - sum_j ||S_j||^2 / W_j, so steps need no extra pass for it.  Sums are double.  On a sphere the
 * nearest point to the rows of a cluster is that of their mean's direction (Dhillon & Modha 2001).  Once the rounding bound of scores
 * exceeds VISIBLE_SSE_SHARE of the mean squared distance, rows are assigned with care (search.c).
 *
 * Lloyd 1982.
 */
#include "kmeans/internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "numerics/rows.h"

#define DISTANCE_ROUNDING	4e-6f	/* float rounding of a squared distance, relative to ||x||^2 */
#define SUMMED_STEPS		16		/* steps after which all rows are summed again */
#define FAR_OUT				1e6		/* a row at more than so many times the root mean square is far out */
#define PATIENCE			20.0	/* falls as large as the last that an SSE to be beaten may be away */
#define VISIBLE_SSE_SHARE	1e-2	/* share of the SSE that rounding may cost before it matters */

/* ---- rows ---- */

void
fc_kmeans_measure_rows(fc_kmeans_work *w)
{
	fc_kmeans_rows *rows = &w->rows;
	size_t		d = rows->d;

	rows->norm = FC_TAKE(w->arena, rows->n, float);
	rows->packs = d <= FC_PACK_DIMENSIONS ? FC_TAKE(w->arena, (rows->n + FC_PACK) * d, float) : NULL;
	for (size_t i = 0; i < rows->n; i++)
	{
		double		weight = fc_kmeans_weight(w, i);
		double		square = fc_row_square(rows->x + i * d, d);

		fc_check_every(&w->done, 2 * d);
		if (rows->packs != NULL && i % FC_PACK == 0)
			fc_kmeans_pack(rows->x + i * d, smaller(FC_PACK, rows->n - i), d, rows->packs + i * d);
		rows->norm[i] = (float) square;
		rows->total += weight;
		rows->spread += weight * square;
		rows->length = fmax(rows->length, sqrt(square));
		if (weight > fc_kmeans_weight(w, rows->heaviest))
			rows->heaviest = i;
	}
}

/* ---- Lloyd's steps ---- */

/*
 * Sums, weights and counts of the clusters of w->label.  From rows that moved alone, where the rounding that they
 * leave behind stays small: few steps after the sums of all rows, and no row too far out.
 */
static void
sum_clusters(fc_kmeans_work *w, int step)
{
	const fc_kmeans_rows *rows = &w->rows;
	fc_cluster_sums sums = {w->sum, w->weight, w->count};

	if (step % SUMMED_STEPS == 0 || rows->length * rows->length * rows->total > FAR_OUT * FAR_OUT * rows->spread)
	{
		memset(w->sum, 0, w->k * rows->d * sizeof(double));
		memset(w->weight, 0, w->k * sizeof(double));
		memset(w->count, 0, w->k * sizeof(size_t));
		memset(w->summed_in, 0xff, rows->n * sizeof(int32_t));
	}
	w->visited += rows->n;
	for (size_t start = 0; start < rows->n; start += FC_TILE_ROWS)
	{
		size_t		count = fc_kmeans_block(w, start);

		fc_check_every(&w->done, count * rows->d);
		if (memcmp(w->label + start, w->summed_in + start, count * sizeof(int32_t)) != 0)
			fc_kmeans_sum(rows->x + start * rows->d, rows->d, w->label + start, rows->weight == NULL ? NULL : rows->weight + start,
						  count, w->summed_in + start, &sums);
	}
}

/* Rows by falling distance from their centroids; those within the rounding of ||x||^2 are left out, as they gain nothing. */
static size_t
rank_far_rows(fc_kmeans_work *w, fc_keyed *far)
{
	size_t		count = 0;

	for (size_t i = 0; i < w->rows.n; i++)
	{
		float		distance = w->careful ? w->near[i] : w->rows.norm[i] + 2.0f * w->near[i];	/* not NaN: rows are finite */
		float		rounding = w->careful ? 0.0f : DISTANCE_ROUNDING * w->rows.norm[i];

		fc_check_every(&w->done, 8);
		if (distance > 0.0f && distance > rounding && fc_kmeans_weight(w, i) > 0.0)
			far[count++] = (fc_keyed) {~fc_number_key((double) distance), i};
	}
	fc_sort(far, count, far + w->rows.n);
	return count;
}

/* Give cluster j the row alone, unless that empties another cluster. */
static void
move_row(fc_kmeans_work *w, size_t j, size_t row)
{
	size_t		d = w->rows.d;
	size_t		donor = (size_t) w->label[row];
	double		weight = fc_kmeans_weight(w, row);

	if (w->count[donor] < 2)
		return;
	fc_axpy(-weight, w->rows.x + row * d, d, w->sum + donor * d);
	fc_axpy(weight, w->rows.x + row * d, d, w->sum + j * d);
	w->weight[donor] -= weight;
	w->weight[j] = weight;
	w->count[donor]--;
	w->count[j]++;
	w->label[row] = (int32_t) j;
	w->summed_in[row] = (int32_t) j;
}

/* Empty clusters take the farthest rows; when no row is far they copy a row and stay empty. */
static void
fill_empty(fc_kmeans_work *w)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	size_t		d = w->rows.d;
	fc_keyed   *far = NULL;
	size_t		count = 0;
	size_t		next = 0;

	for (size_t j = 0; j < w->k; j++)
	{
		if (w->count[j] > 0)
			continue;
		if (far == NULL)
		{
			far = FC_TAKE(w->arena, 2 * w->rows.n, fc_keyed);
			count = rank_far_rows(w, far);
		}
		if (next < count)
			move_row(w, j, far[next++].value);
		for (size_t c = 0; c < d && w->count[j] == 0; c++)
			w->centroid[j * d + c] = (double) w->rows.x[w->rows.heaviest * d + c];
	}
	fc_arena_release(w->arena, mark);
}

double
fc_kmeans_to_sphere(const fc_kmeans_work *w, size_t j)
{
	double	   *centroid = w->centroid + j * w->rows.d;
	const double *center = w->sphere->center;
	double		square = 0.0;
	double		length;

	for (size_t c = 0; c < w->rows.d; c++)
	{
		double		gap = centroid[c] - (center != NULL ? center[c] : 0.0);

		square += gap * gap;
	}
	length = sqrt(square);
	for (size_t c = 0; c < w->rows.d && length > 0.0; c++)
	{
		double		at = center != NULL ? center[c] : 0.0;

		centroid[c] = at + (centroid[c] - at) * (w->sphere->radius / length);
	}
	return length > 0.0 ? (length - w->sphere->radius) * (length - w->sphere->radius) : 0.0;
}

/* centroid = means of the clusters of w->label; returns their SSE, by the formula above. */
static double
update(fc_kmeans_work *w, int step)
{
	size_t		d = w->rows.d;
	double		objective = w->rows.spread;

	sum_clusters(w, step);
	fill_empty(w);
	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		fc_check_every(&w->done, 2 * d);
		if (w->count[j] == 0)
			continue;
		for (size_t c = j * d; c < (j + 1) * d; c++)
		{
			w->centroid[c] = w->sum[c] / w->weight[j];
			square += w->sum[c] * w->centroid[c];
		}
		objective -= square;
		if (w->sphere != NULL)
			objective += w->weight[j] * fc_kmeans_to_sphere(w, j);
	}
	return objective;
}

int
fc_kmeans_descend(fc_kmeans_work *w, const fc_kmeans_stop *stop, double *objective)
{
	double		previous = DBL_MAX;
	bool		falling = true;
	int			steps = 0;

	fc_kmeans_assign(w);
	for (*objective = DBL_MAX; steps < stop->steps && falling; previous = *objective)
	{
		*objective = update(w, steps++);
		falling = previous - *objective > stop->tolerance * previous &&
			*objective - stop->beat < PATIENCE * (previous - *objective);
		if (!w->careful && 4.0 * fc_kmeans_score_rounding(w) * w->rows.total > VISIBLE_SSE_SHARE * *objective)
			falling = w->careful = true;
		fc_kmeans_assign(w);
	}
	return steps;
}

void
fc_kmeans_measure(fc_kmeans_work *w, double *sse)
{
	size_t		d = w->rows.d;

	*sse = 0.0;
	memset(w->weight, 0, w->k * sizeof(double));
	for (size_t i = 0; i < w->rows.n; i++)
	{
		size_t		j = (size_t) w->label[i];
		double		weight = fc_kmeans_weight(w, i);
		double		distance = fc_kmeans_distance(w->rows.x + i * d, w->centroid + j * d, d);

		fc_check_every(&w->done, 2 * d);
		w->weight[j] += weight;
		*sse += weight * distance;
		w->near[i] = (float) distance;
	}
}
