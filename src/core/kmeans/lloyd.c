/*
 * lloyd.c - Lloyd's steps.
 *
 * With W_j, S_j the weight and sum of cluster j the objective after an update is
 * sum w ||x||^2 - sum_j ||S_j||^2 / W_j, so steps need no extra pass for it.  Sums are double.  On a sphere the
 * nearest point to the rows of a cluster is that of their mean's direction (Dhillon & Modha 2001).
 *
 * Once the rounding bound of scores exceeds VISIBLE_SSE_SHARE of the mean squared distance, rows are
 * assigned with care (assign.c).
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

/*
 * Sums, weights and counts of the clusters of w->label.  From rows that moved alone, where the rounding of what they
 * leave behind stays small: few steps after the sums of all rows, and no row too far out.
 */
static void
sum_clusters(fc_kmeans_work *w, int step)
{
	fc_cluster_sums sums = {w->sum, w->weight, w->count};

	if (step % SUMMED_STEPS == 0 || w->length * w->length * w->total > FAR_OUT * FAR_OUT * w->spread)
	{
		memset(w->sum, 0, w->k * w->d * sizeof(double));
		memset(w->weight, 0, w->k * sizeof(double));
		memset(w->count, 0, w->k * sizeof(size_t));
		memset(w->summed_in, 0xff, w->n * sizeof(int32_t));
	}
	w->visited += w->n;
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		const float *x = w->rows->x + (w->order == NULL ? start * w->d : 0);

		fc_check();
		fc_kmeans_sum(x, w->d, w->order == NULL ? NULL : w->order + start, w->label + start,
								   w->weight_in_order == NULL ? NULL : w->weight_in_order + start,
								   fc_kmeans_block(w, start), w->summed_in + start, &sums);
	}
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
static void
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
		if (i % CHECKED_ROWS == CHECKED_ROWS - 1)
			fc_check();
	}
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
	fc_axpy(-weight, x, w->d, w->sum + donor * w->d);
	fc_axpy(weight, x, w->d, w->sum + j * w->d);
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
	float		buffer[FC_PACK_DIMENSIONS];
	const float *heaviest = fc_kmeans_row(w, w->heaviest, buffer);
	size_t		empty = 0;
	size_t		slot = 0;

	for (size_t j = 0; j < w->k; j++)
		empty += w->count[j] == 0;
	if (empty == 0)
		return;
	find_farthest(w, empty);
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
}

double
fc_kmeans_to_sphere(const fc_kmeans_work *w, size_t j)
{
	double	   *centroid = w->centroid + j * w->d;
	const double *center = w->sphere->center;
	double		square = 0.0;
	double		length;

	for (size_t c = 0; c < w->d; c++)
	{
		double		gap = centroid[c] - (center != NULL ? center[c] : 0.0);

		square += gap * gap;
	}
	length = sqrt(square);
	for (size_t c = 0; c < w->d && length > 0.0; c++)
	{
		double		at = center != NULL ? center[c] : 0.0;

		centroid[c] = at + (centroid[c] - at) * (w->sphere->radius / length);
	}
	return length > 0.0 ? (length - w->sphere->radius) * (length - w->sphere->radius) : 0.0;
}

/* centroid = means of the clusters of w->label; objective = their SSE, by the formula above. */
static void
update(fc_kmeans_work *w, int step, double *objective)
{
	sum_clusters(w, step);
	fill_empty(w);
	*objective = w->spread;
	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		if (j % FC_TILE_ROWS == 0)
			fc_check();
		if (w->count[j] == 0)
			continue;
		for (size_t c = j * w->d; c < (j + 1) * w->d; c++)
		{
			w->centroid[c] = w->sum[c] / w->weight[j];
			square += w->sum[c] * w->centroid[c];
		}
		*objective -= square;
		if (w->sphere != NULL)
			*objective += w->weight[j] * fc_kmeans_to_sphere(w, j);
	}
}

void
fc_kmeans_measure(fc_kmeans_work *w, const double *centroids, double *weights, double *sse)
{
	float		buffer[FC_PACK_DIMENSIONS];

	*sse = 0.0;
	memset(weights, 0, w->k * sizeof(double));
	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		rows = fc_kmeans_block(w, start);

		fc_check();
		for (size_t i = start; i < start + rows; i++)
		{
			size_t		j = (size_t) w->label[i];
			double		weight = fc_kmeans_weight(w, i);
			double		distance = fc_kmeans_distance(fc_kmeans_row(w, i, buffer), centroids + j * w->d, w->d);

			weights[j] += weight;
			*sse += weight * distance;
			w->near[i] = (float) distance;
		}
	}
}

void
fc_kmeans_descend(fc_kmeans_work *w, const fc_kmeans_stop *stop, int *iterations, double *objective)
{
	double		previous = DBL_MAX;
	bool		falling = true;

	fc_kmeans_assign(w, w->centroid);
	*objective = DBL_MAX;
	for (*iterations = 0; *iterations < stop->steps && falling; ++*iterations)
	{
		update(w, *iterations, objective);
		falling = previous - *objective > stop->tolerance * previous &&
			*objective - stop->beat < PATIENCE * (previous - *objective);
		if (!w->careful && 4.0 * fc_kmeans_score_rounding(w) * w->total > VISIBLE_SSE_SHARE * *objective)
			falling = w->careful = true;
		previous = *objective;
		fc_kmeans_assign(w, w->centroid);
	}
}
