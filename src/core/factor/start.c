/* start.c - the centroids that QK-means starts from; see start.h */
#include "factor/start.h"

#include <math.h>
#include <string.h>

#include "base/pieces.h"
#include "base/rng.h"
#include "base/sizes.h"

#define START_STEPS		4		/* Lloyd steps on the sample at least, */
#define MORE_STEPS		25		/* and of each of */
#define MORE_STARTS		5		/* as many starts where few rows, clusters and dimensions make them cheap: */
#define START_WORK		0x1p34	/* multiplications in all */
#define SEEDED_PER_K	((size_t) 4)	/* rows that many centroids are drawn from */
#define UNIFORM_STREAM	2		/* of random numbers */

size_t
fc_start_measured(size_t n, size_t k)
{
	return smaller(n, larger(FC_LEAST_SAMPLE, FC_SAMPLE_PER_K * k));
}

/* Row i of `count` taken evenly from n. */
static size_t
even_row(size_t i, size_t count, size_t n)
{
	return (size_t) ((double) i / (double) count * (double) n);
}

/* How often all rows may be compared with all centroids. */
static double
affordable_steps(size_t n, size_t d, size_t k)
{
	return START_WORK / ((double) n * (double) k * (double) d);
}

static bool
seeds_from_part(size_t n, size_t d, size_t k)
{
	return !(affordable_steps(n, d, k) > MORE_STEPS);
}

typedef struct start_work
{
	float	   *ordered;		/* n x d */
	size_t	   *place;			/* n, for rows as they are */
	float	   *part;			/* part_rows x d, that seeds are drawn from */
	size_t		part_rows;
	double	   *weights;		/* k */
} start_work;

static void
take_work(fc_arena *arena, size_t n, size_t d, size_t k, fc_start_kind kind, start_work *w)
{
	w->part_rows = kind == FC_START_KMEANS && seeds_from_part(n, d, k) ? smaller(n, SEEDED_PER_K * k) : 0;
	w->ordered = FC_TAKE(arena, n * d, float);
	w->place = FC_TAKE(arena, kind == FC_START_UNIFORM ? n : 0, size_t);
	w->part = FC_TAKE(arena, w->part_rows * d, float);
	w->weights = FC_TAKE(arena, kind == FC_START_KMEANS ? k : 0, double);
}

/* Rows drawn without replacement. */
static void
pick_rows(const start_work *w, size_t n, size_t d, size_t k, uint64_t seed, double *start)
{
	fc_rng		rng = fc_rng_start(seed, UNIFORM_STREAM);

	for (size_t i = 0; i < n; i++)
		w->place[i] = i;
	for (size_t j = 0; j < k; j++)
	{
		size_t		other = j + fc_rng_below(&rng, n - j);
		size_t		chosen = w->place[other];

		w->place[other] = w->place[j];
		fc_widen(w->ordered + chosen * d, d, start + j * d);
	}
}

/* Centroids of n rows: Lloyd's steps from `initial` (k x d), or from k-means++ where it is NULL. */
static fc_status
cluster(const float *x, size_t n, size_t d, size_t k, const double *initial, const fc_kmeans_options *options,
		fc_arena *arena, const start_work *w, double *centroids)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_kmeans_result result = {.centroids = centroids,.weights = w->weights};
	fc_rows		rows = {.x = x,.n = n,.d = d};
	fc_status	status = fc_kmeans(&rows, k, initial, options, arena, &result);

	fc_arena_release(arena, used);
	return status;
}

/*
 * k-means of the sample.  The seeds of many centroids, which would cost as much as a dozen of Lloyd's steps, are
 * drawn from a part of it.
 */
static fc_status
cluster_rows(const start_work *w, size_t n, size_t d, size_t k, uint64_t seed, fc_arena *arena, double *start)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	double		steps = affordable_steps(n, d, k);
	fc_status	status;

	options.n_init = (int) fmax(1, fmin(MORE_STARTS, steps / MORE_STEPS));
	options.iterations = (int) fmax(START_STEPS, fmin(MORE_STEPS, steps / options.n_init));
	options.seed = seed;
	if (!seeds_from_part(n, d, k))
		return cluster(w->ordered, n, d, k, NULL, &options, arena, w, start);
	for (size_t i = 0; i < w->part_rows; i++)
		memcpy(w->part + i * d, w->ordered + even_row(i, w->part_rows, n) * d, d * sizeof(float));
	options.iterations = 0;
	status = cluster(w->part, w->part_rows, d, k, NULL, &options, arena, w, start);
	options.n_init = 0;
	options.iterations = START_STEPS;
	return status == FC_OK ? cluster(w->ordered, n, d, k, start, &options, arena, w, start) : status;
}

static void
take_measured(const start_work *w, size_t n, size_t d, size_t k, const fc_ordering *ordering, double *measured)
{
	size_t		count = fc_start_measured(n, k);
	size_t		done = 0;

	for (size_t r = 0; r < count; r++)
	{
		const float *row = w->ordered + even_row(r, count, n) * d;

		fc_check_every(&done, d);
		for (size_t i = 0; i < d; i++)
			measured[r * d + i] = (double) row[i] / ordering->scale + ordering->mean[i];
	}
}

fc_status
fc_qkmeans_start(const double *sample, size_t n, size_t d, size_t k, const fc_start_options *options,
				 fc_arena *arena, fc_ordering *ordering, double *start, double *measured)
{
	start_work	w;
	fc_status	status;

	take_work(arena, n, d, k, options->kind, &w);
	status = fc_order_rows(sample, n, d, arena, w.ordered, ordering);
	if (status == FC_OK)
		take_measured(&w, n, d, k, ordering, measured);
	if (status != FC_OK)
		return status;
	if (options->kind == FC_START_GIVEN)
	{
		fc_copy_pieces(start, options->given, k * d * sizeof(double));
		return FC_OK;
	}
	if (options->kind == FC_START_UNIFORM)
		pick_rows(&w, n, d, k, options->seed, start);
	else
		status = cluster_rows(&w, n, d, k, options->seed, arena, start);
	if (status == FC_OK)
		fc_unorder_points(ordering, k, d, start);
	return status;
}

double
fc_greatest_magnitude(const double *points, const double *offset, size_t n, size_t d)
{
	double		most = 0;

	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < d; i++)
			most = fmax(most, fabs(points[j * d + i] - offset[i]));
	return most;
}
