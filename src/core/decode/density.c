/*
 * density.c - k-means on the fitted density: moments become an SSE.
 *
 * The mixture describes where the rows lie; the centroids that minimise the SSE
 * are not its atoms but the k-means solution of the density.  So: antithetic
 * normal points around each atom (c + tau e and c - tau e, scaled so that their
 * mean and mean square are exactly the atom's), weights alpha_i / points of i,
 * then weighted k-means++ and Lloyd, the k-atom solution being one start.
 *
 * Cost: points x k x n a Lloyd step.
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#include "kmeans/kmeans.h"

#define POINTS 3000
#define FEWEST_PAIRS 4
#define KMEANS_STARTS 12
#define KMEANS_TOLERANCE 1e-4

void
fc_points_take(fc_decoding *d, fc_arena *arena)
{
	fc_points_work *w = &d->points;

	w->capacity = POINTS + 2 * (FEWEST_PAIRS + 1) * d->atoms + fc_calibrate_limit(d);
	w->x = FC_TAKE(arena, w->capacity * d->n, float);
	w->weight = FC_TAKE(arena, w->capacity, double);
	w->labels = FC_TAKE(arena, w->capacity, int32_t);
	w->initial = FC_TAKE(arena, d->k * d->n, double);
	w->centroids = FC_TAKE(arena, d->k * d->n, double);
	w->shares = FC_TAKE(arena, d->k, double);
	w->spreads = FC_TAKE(arena, d->k, double);
}

/* pairs of antithetic points for one atom, from row first of points.x on */
static void
draw_atom(fc_decoding *d, const double *center, double variance, size_t pairs, size_t first)
{
	float	   *x = d->points.x + first * d->n;
	size_t		coordinates = pairs * d->n;
	double		squares = 0.0;
	double		scale;

	for (size_t i = 0; i < coordinates; i++)
	{
		double		e = fc_rng_normal(&d->rng);

		if (i % FC_CHECKED_MOMENTS == FC_CHECKED_MOMENTS - 1)
			fc_check();
		x[i] = (float) e;
		squares += e * e;
	}
	scale = sqrt(variance * (double) coordinates / fmax(squares, 1e-300));
	for (size_t i = 0; i < coordinates; i++)
	{
		double		shift = scale * (double) x[i];

		if (i % FC_CHECKED_MOMENTS == FC_CHECKED_MOMENTS - 1)
			fc_check();
		x[i] = (float) (center[i % d->n] + shift);
		x[coordinates + i] = (float) (center[i % d->n] - shift);
	}
}

/*
 * Append the points of the mixture to the *filled rows of points.x; their weights
 * sum to the mixture's.
 */
void
fc_density_points(fc_decoding *d, const fc_mixture *mixture, size_t *filled)
{
	double		total = 0.0;

	for (size_t i = 0; i < mixture->count; i++)
		total += mixture->weight[i];
	for (size_t i = 0; i < mixture->count; i++)
	{
		double		share = mixture->weight[i] / total;
		size_t		pairs = 1;

		if (!(share > 0.0))
			continue;
		if (mixture->variance[i] > 0.0)
			pairs = (size_t) fmax(ceil(share * POINTS / 2.0), FEWEST_PAIRS);
		draw_atom(d, mixture->center + i * d->n, mixture->variance[i], pairs, *filled);
		for (size_t j = 0; j < 2 * pairs; j++)
			d->points.weight[*filled + j] = mixture->weight[i] / (double) (2 * pairs);
		*filled += 2 * pairs;
	}
}

/* spreads = deviation per dimension of each cluster's points around its centroid */
static void
measure_spreads(fc_decoding *d, size_t count)
{
	fc_points_work *w = &d->points;
	size_t		done = 0;

	memset(w->spreads, 0, d->k * sizeof(double));
	for (size_t i = 0; i < count; i++)
	{
		size_t		cluster = (size_t) w->labels[i];
		double		distance = 0.0;

		fc_check_every(&done, d->n);
		for (size_t l = 0; l < d->n; l++)
		{
			double		difference = (double) w->x[i * d->n + l] - w->centroids[cluster * d->n + l];

			distance += difference * difference;
		}
		w->spreads[cluster] += w->weight[i] * distance;
	}
	for (size_t c = 0; c < d->k; c++)
		w->spreads[c] = w->shares[c] > 0.0 ? sqrt(w->spreads[c] / (w->shares[c] * (double) d->n)) : 0.0;
}

/* Weighted k-means of the first count points; centroids, shares and spreads in d->points. */
fc_status
fc_cluster_points(fc_decoding *d, size_t count, const double *initial, double margin, int iterations)
{
	fc_points_work *w = &d->points;
	fc_rows		rows = {.x = w->x, .weight = w->weight, .n = count, .d = d->n};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = w->centroids, .weights = w->shares, .labels = w->labels};
	fc_status	status;

	options.n_init = KMEANS_STARTS;
	options.iterations = iterations;
	options.tolerance = KMEANS_TOLERANCE;
	options.margin = margin;
	options.seed = d->options.seed;
	status = fc_kmeans(&rows, d->k, initial, &options, d->arena, &result);
	if (status == FC_OK)
		measure_spreads(d, count);
	return status;
}
