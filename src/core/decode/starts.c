/*
 * starts.c - where the climbs begin.
 *
 *     range      uniform in the box
 *     sample     pilot rows, without repetition while they last
 *     kmeans++   pilot rows drawn with probability w_i min_j |x_i - c_j|^2, c_j the atoms so far
 *     default    sample centroids if they all find room, then pilot rows, every fourth start and those
 *                without rows uniform in the box (sketch-and-shift) or normal with the rows'
 *                mean and deviation: rows may have moved since the pilot was taken
 *
 * Compressive K-means, s3.2 (range, sample, k++).
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#define RANDOM_START_PERIOD 4
#define COORDINATE 16			/* multiplications that a random number costs, about */

static double
draw_coordinate(fc_decoding *d, bool uniform, size_t l)
{
	if (uniform)
		return d->lower[l] + (d->upper[l] - d->lower[l]) * fc_rng_uniform(&d->rng);
	return d->middle[l] + d->stddev[l] * fc_rng_normal(&d->rng);
}

/* The turn-th of a random order of the rows that is made as it goes. */
static const double *
draw_row(fc_decoding *d, size_t turn)
{
	size_t		place = turn % d->rows;
	size_t		other = place + fc_rng_below(&d->rng, d->rows - place);
	size_t		chosen = d->permutation[other];

	d->permutation[other] = d->permutation[place];
	d->permutation[place] = chosen;
	return d->row + chosen * d->n;
}

/* row_distance = w_i min_j |x_i - c_j|^2, w_i without atoms; *total their sum. */
static void
measure_rows(fc_decoding *d, const fc_mixture *chosen, double *total)
{
	size_t		done = 0;

	*total = 0.0;
	for (size_t i = 0; i < d->rows; i++)
	{
		double		nearest = chosen->count > 0 ? INFINITY : 1.0;

		fc_check_every(&done, chosen->count * d->n);
		for (size_t c = 0; c < chosen->count; c++)
			nearest = fmin(nearest, fc_squared_distance(d->row + i * d->n, chosen->center + c * d->n, d->n));
		d->row_distance[i] = d->row_weight[i] * nearest;
		*total += d->row_distance[i];
	}
}

static const double *
draw_far_row(fc_decoding *d, double total)
{
	double		target = total * fc_rng_uniform(&d->rng);
	size_t		i = 0;

	while (i + 1 < d->rows && target > d->row_distance[i])
		target -= d->row_distance[i++];
	return d->row + i * d->n;
}

/* count points to start from (count x n), clipped to the box; chosen holds the atoms so far. */
void
fc_draw_starts(fc_decoding *d, const fc_mixture *chosen, size_t count, double *start)
{
	fc_init		init = d->options.init;
	size_t		sample_centroids = init == FC_INIT_DEFAULT && d->sample_centroids < count ? d->sample_centroids : 0;
	bool		rows = d->rows > 0 && init != FC_INIT_RANGE;
	bool		uniform = init == FC_INIT_RANGE || d->uniform_starts;
	double		total = 0.0;
	size_t		done = 0;

	if (rows && init == FC_INIT_KMEANSPP)
		measure_rows(d, chosen, &total);
	for (size_t i = 0; i < d->rows; i++)
		d->permutation[i] = i;
	for (size_t i = 0; i < count; i++)
	{
		double	   *point = start + i * d->n;

		fc_check_every(&done, COORDINATE * d->n);
		if (i < sample_centroids)
			memcpy(point, d->sample_centroid + i * d->n, d->n * sizeof(double));
		else if (total > 0.0)
			memcpy(point, draw_far_row(d, total), d->n * sizeof(double));
		else if (rows && (init != FC_INIT_DEFAULT || i % RANDOM_START_PERIOD != 0))
			memcpy(point, draw_row(d, i - sample_centroids), d->n * sizeof(double));
		else
			for (size_t l = 0; l < d->n; l++)
				point[l] = draw_coordinate(d, uniform, l);
		for (size_t l = 0; l < d->n; l++)
			point[l] = fc_clip(point[l], d->lower[l], d->upper[l]);
	}
}

fc_status
fc_warm_start(fc_decoding *d, fc_width_mode mode, fc_mixture *mixture, double *cost)
{
	fc_status	status;

	mixture->count = d->initial;
	memcpy(mixture->center, d->sample_centroid, d->initial * d->n * sizeof(double));
	for (size_t i = 0; i < d->initial; i++)
	{
		mixture->variance[i] = 0.0;
		for (size_t l = 0; l < d->n; l++)
			mixture->center[i * d->n + l] = fc_clip(mixture->center[i * d->n + l], d->lower[l], d->upper[l]);
	}
	if (d->initial == 0)
		return fc_residual(d, mixture, cost);
	status = fc_fit_weights(d, mixture);
	return status == FC_OK ? fc_refine(d, mode, FC_MID_ITERATIONS, mixture, cost) : status;
}
