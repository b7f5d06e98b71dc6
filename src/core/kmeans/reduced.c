/*
 * reduced.c - wide rows on their leading principal axes; see reduced.h
 *
 * Cost: n d^2 multiply-adds, or 32 n d axes where d > 512; then a search on so many axes and Lloyd's steps in d dimensions.
 */
#include "kmeans/reduced.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/pieces.h"
#include "base/sizes.h"
#include "numerics/principal.h"
#include "numerics/rows.h"

size_t
fc_reduced_axes(size_t d, size_t clusters)
{
	return d >= FC_REDUCED_WIDE && d >= 2 * clusters ? clusters : d;
}

size_t
fc_reduce_worksize(size_t n, size_t d, size_t axes)
{
	fc_arena	measure = fc_arena_measure();

	(void) FC_TAKE(&measure, n * d, float);
	(void) FC_TAKE(&measure, axes * d, float);
	fc_arena_reserve(&measure, fc_principal_worksize(n, d, axes));
	return fc_arena_measured(&measure);
}

/* The mean square of rows, about their mean or the center of the sphere, in place. */
static void
center_wide_rows(float *x, size_t n, size_t d, const fc_sphere *sphere, double *square)
{
	size_t		done = 0;

	if (sphere == NULL)
		fc_center_rows(x, n, d);
	*square = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		fc_check_every(&done, d);
		for (size_t c = 0; sphere != NULL && sphere->center != NULL && c < d; c++)
			x[i * d + c] = (float) ((double) x[i * d + c] - sphere->center[c]);
		*square += fc_row_square(x + i * d, d) / (double) n;
	}
}

/* y (n x axes) = x A'; *square is its mean square. */
static void
project_rows(const float *x, size_t n, size_t d, const float *axes, size_t count, float *y, double *square)
{
	size_t		done = 0;

	*square = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		fc_check_every(&done, d * count);
		fc_dense_apply(axes, count, d, x + i * d, y + i * count);
		*square += fc_row_square(y + i * count, count) / (double) n;
	}
}

fc_status
fc_reduce_rows(const fc_rows *rows, size_t axes, const fc_sphere *sphere, fc_arena *arena, float *y, double *lost)
{
	fc_mark		mark = fc_arena_mark(arena);
	float	   *x = FC_TAKE(arena, rows->n * rows->d, float);
	float	   *basis = FC_TAKE(arena, axes * rows->d, float);
	double		whole = 0.0;
	double		left = 0.0;
	fc_status	status;

	fc_copy_pieces(x, rows->x, rows->n * rows->d * sizeof(float));
	center_wide_rows(x, rows->n, rows->d, sphere, &whole);
	status = fc_principal_axes(x, rows->n, rows->d, axes, 0, arena, basis);
	if (status == FC_OK)
		project_rows(x, rows->n, rows->d, basis, axes, y, &left);
	fc_arena_release(arena, mark);
	*lost = fmax(whole - left, 0.0);
	return status;
}

/* ---- a search ---- */

typedef struct reduced_work
{
	float	   *y;				/* n x axes */
	int32_t    *labels;			/* n */
	double	   *centroids;		/* k x axes */
	double	   *start;			/* k x d */
} reduced_work;

static void
take_work(size_t n, size_t d, size_t k, size_t axes, fc_arena *arena, reduced_work *w)
{
	w->y = FC_TAKE(arena, n * axes, float);
	w->labels = FC_TAKE(arena, n, int32_t);
	w->centroids = FC_TAKE(arena, k * axes, double);
	w->start = FC_TAKE(arena, k * d, double);
}

size_t
fc_kmeans_reduced_worksize(size_t n, size_t d, size_t k)
{
	fc_arena	measure = fc_arena_measure();
	size_t		axes = fc_reduced_axes(d, 2 * k);
	reduced_work w;

	take_work(n, d, k, axes, &measure, &w);
	fc_arena_reserve(&measure, larger(fc_reduce_worksize(n, d, axes), fc_kmeans_worksize(n, d, k)));
	return fc_arena_measured(&measure);
}

/* Weighted means of the rows of each label; a cluster without rows has the first row. */
static void
means_of_labels(const fc_rows *rows, const int32_t *labels, size_t k, double *weights, double *means)
{
	size_t		done = 0;

	memset(means, 0, k * rows->d * sizeof(double));
	memset(weights, 0, k * sizeof(double));
	for (size_t i = 0; i < rows->n; i++)
	{
		double		weight = rows->weight != NULL ? rows->weight[i] : 1.0;

		fc_check_every(&done, rows->d);
		weights[labels[i]] += weight;
		fc_axpy(weight, rows->x + i * rows->d, rows->d, means + (size_t) labels[i] * rows->d);
	}
	for (size_t j = 0; j < k; j++)
		for (size_t c = 0; c < rows->d; c++)
			means[j * rows->d + c] = weights[j] > 0.0 ? means[j * rows->d + c] / weights[j] : (double) rows->x[c];
}

fc_status
fc_kmeans_reduced(const fc_rows *rows, size_t k, const fc_kmeans_options *options,
				  fc_arena *arena, fc_kmeans_result *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		axes = fc_reduced_axes(rows->d, 2 * k);
	fc_kmeans_options search = *options;
	fc_kmeans_options refine = *options;
	fc_sphere	centered;
	fc_rows		reduced = {.weight = rows->weight,.n = rows->n,.d = axes};
	fc_kmeans_result found;
	reduced_work w;
	double		lost;
	fc_status	status;

	take_work(rows->n, rows->d, k, axes, arena, &w);
	if (options->sphere != NULL)
	{
		centered = (fc_sphere) {NULL, options->sphere->radius};
		search.sphere = &centered;
	}
	refine.n_init = 0;
	refine.rounds = options->n_init < 0 && options->rounds < 0 ? INT_MAX : 0;
	status = fc_reduce_rows(rows, axes, options->sphere, arena, w.y, &lost);
	reduced.x = w.y;
	found = (fc_kmeans_result) {.centroids = w.centroids,.weights = result->weights,.labels = w.labels};
	if (status == FC_OK)
		status = fc_kmeans(&reduced, k, NULL, &search, arena, &found);
	if (status == FC_OK)
		means_of_labels(rows, w.labels, k, result->weights, w.start);
	if (status == FC_OK)
		status = fc_kmeans(rows, k, w.start, &refine, arena, result);
	fc_arena_release(arena, mark);
	return status;
}
