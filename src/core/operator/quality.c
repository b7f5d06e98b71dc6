/* quality.c - how compact and how well separated clusters are; see quality.h */
#include "operator/quality.h"

#include <math.h>
#include <string.h>

#include "operator/codebook.h"
#include "operator/fit.h"

/* ---- Davies-Bouldin ---- */

void
fc_davies_bouldin_of(const double *centroids, size_t k, size_t d, size_t i, const double *weights, const double *sums,
					 double *worst)
{
	size_t		done = 0;

	*worst = 0;
	for (size_t j = 0; j < k; j++)
	{
		double		squared = 0;

		fc_check_every(&done, d + 1);
		if (j == i || weights[j] <= 0)
			continue;
		for (size_t t = 0; t < d; t++)
			squared += (centroids[i * d + t] - centroids[j * d + t]) * (centroids[i * d + t] - centroids[j * d + t]);
		*worst = fmax(*worst, (sums[i] / weights[i] + sums[j] / weights[j]) / sqrt(squared));
	}
}

/* ---- sums over rows ---- */

typedef struct quality_sums
{
	double	   *weights;		/* k; so are the next four */
	double	   *distances;		/* w a */
	double	   *squares;		/* w a^2 */
	double	   *silhouettes;
	double	   *totals;			/* w ||x - m||^2 */
	double	   *mean;			/* d: m */
	double	   *row;			/* d */
	double	   *centroids;		/* k x d */
} quality_sums;

static void
take_sums(size_t k, size_t d, fc_arena *arena, quality_sums *sums)
{
	double	  **parts[] = {&sums->weights, &sums->distances, &sums->squares, &sums->silhouettes, &sums->totals};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i] = FC_TAKE(arena, k, double);
	sums->mean = FC_TAKE(arena, d, double);
	sums->row = FC_TAKE(arena, d, double);
	sums->centroids = FC_TAKE(arena, k * d, double);
}

size_t
fc_quality_scratch(const fc_operator *op, const fc_operator *rows)
{
	return fc_fit_scratch(op, rows);
}

static void
find_mean(const fc_operator *rows, fc_scratch scratch, quality_sums *sums)
{
	double		weight = 0.0;
	size_t		done = 0;

	memset(sums->mean, 0, rows->d * sizeof(double));
	for (size_t i = 0; i < rows->k; i++)
	{
		fc_check_every(&done, 2 * rows->d);
		fc_operator_row(rows, i, scratch, sums->row);
		weight += rows->weights[i];
		for (size_t t = 0; t < rows->d && rows->weights[i] > 0.0; t++)
			sums->mean[t] += (sums->row[t] - sums->mean[t]) * rows->weights[i] / weight;
	}
}

/* The row in sums->row, of weight w. */
static void
add_row(const fc_operator *op, double w, fc_scratch scratch, quality_sums *sums)
{
	int32_t		clusters[2];
	double		squares[2] = {0.0, 0.0};
	double		total = 0.0;
	size_t		j;

	fc_operator_nearest(op, sums->row, op->k < 2 ? 1 : 2, scratch, clusters, squares);
	j = (size_t) clusters[0];
	for (size_t t = 0; t < op->d; t++)
		total += (sums->row[t] - sums->mean[t]) * (sums->row[t] - sums->mean[t]);
	sums->weights[j] += w;
	sums->distances[j] += w * sqrt(squares[0]);
	sums->squares[j] += w * squares[0];
	sums->totals[j] += w * total;
	if (squares[1] > 0.0)
		sums->silhouettes[j] += w * (1.0 - sqrt(squares[0] / squares[1]));
}

static void
add_rows(const fc_operator *op, const fc_operator *rows, fc_scratch scratch, quality_sums *sums)
{
	size_t		done = 0;

	memset(sums->weights, 0, op->k * sizeof(double));
	memset(sums->distances, 0, op->k * sizeof(double));
	memset(sums->squares, 0, op->k * sizeof(double));
	memset(sums->silhouettes, 0, op->k * sizeof(double));
	memset(sums->totals, 0, op->k * sizeof(double));
	for (size_t i = 0; i < rows->k; i++)
	{
		fc_check_every(&done, 2 * (op->k + 8) * op->d);
		fc_operator_row(rows, i, scratch, sums->row);
		if (rows->weights[i] > 0.0)
			add_row(op, rows->weights[i], scratch, sums);
	}
}

/* ---- qualities ---- */

static fc_quality
quality_of(double weight, double silhouettes, double squares, double totals, size_t k, size_t d)
{
	fc_quality	q = {weight, NAN, NAN, NAN, NAN};

	if (weight > 0.0)
	{
		q.silhouette = k > 1 ? silhouettes / weight : NAN;
		q.spread = sqrt(squares / weight / (double) d);
	}
	if (totals > 0.0)
		q.explained = 1.0 - squares / totals;
	return q;
}

static fc_status
finish(const fc_operator *op, const quality_sums *sums, fc_quality *clusters, fc_quality *all)
{
	double		weight = 0.0;
	double		silhouettes = 0.0;
	double		squares = 0.0;
	double		totals = 0.0;
	double		index = 0.0;
	size_t		used = 0;

	for (size_t j = 0; j < op->k; j++)
	{
		clusters[j] = quality_of(sums->weights[j], sums->silhouettes[j], sums->squares[j], sums->totals[j], op->k, op->d);
		weight += sums->weights[j];
		silhouettes += sums->silhouettes[j];
		squares += sums->squares[j];
		totals += sums->totals[j];
		used += sums->weights[j] > 0.0;
	}
	*all = quality_of(weight, silhouettes, squares, totals, op->k, op->d);
	for (size_t j = 0; j < op->k && used > 1; j++)
	{
		fc_check();
		if (!(sums->weights[j] > 0.0))
			continue;
		fc_davies_bouldin_of(sums->centroids, op->k, op->d, j, sums->weights, sums->distances,
								 &clusters[j].davies_bouldin);
		index += clusters[j].davies_bouldin / (double) used;
	}
	if (used > 1)
		all->davies_bouldin = index;
	return FC_OK;
}

fc_status
fc_quality_measure(const fc_operator *op, const fc_operator *rows, fc_scratch scratch, fc_arena *arena,
				   fc_quality *clusters, fc_quality *all)
{
	fc_mark		mark = fc_arena_mark(arena);
	quality_sums sums;
	fc_status	status;

	take_sums(op->k, op->d, arena, &sums);
	status = FC_OK;
	if (status == FC_OK)
		find_mean(rows, scratch, &sums);
	if (status == FC_OK)
		add_rows(op, rows, scratch, &sums);
	if (status == FC_OK)
		fc_operator_centroids(op, NULL, NULL, scratch, sums.centroids);
	if (status == FC_OK)
		status = finish(op, &sums, clusters, all);
	fc_arena_release(arena, mark);
	return status;
}
