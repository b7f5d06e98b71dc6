/* ordered.c - k-means of rows as they were collected; see ordered.h */
#include "kmeans/ordered.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/sort.h"
#include "kmeans/reduced.h"
#include "kmeans/trimmed.h"

#define LEAST_FLOAT_EXPONENT	(-120)
#define LEAST_EXPONENT	(-1000)	/* of the greatest magnitude: the scale stays finite */

size_t
fc_order_rows_worksize(size_t n)
{
	fc_arena	measure = fc_arena_measure();

	(void) FC_TAKE(&measure, 2 * n, fc_keyed);
	return fc_arena_measured(&measure);
}

/* The mean, summed in the order of the rows. */
static void
set_mean(const double *x, size_t n, size_t d, const fc_keyed *order, double *mean)
{
	size_t		done = 0;

	memset(mean, 0, d * sizeof(double));
	for (size_t r = 0; r < n; r++)
	{
		fc_check_every(&done, d);
		for (size_t i = 0; i < d; i++)
			mean[i] += x[order[r].value * d + i];
	}
	for (size_t i = 0; i < d; i++)
		mean[i] /= (double) n;
}

static fc_status
set_scale(const double *x, size_t n, size_t d, fc_ordering *ordering)
{
	size_t		done = 0;
	double		most = 0;
	int			exponent;

	for (size_t r = 0; r < n; r++)
	{
		fc_check_every(&done, d);
		for (size_t i = 0; i < d; i++)
			most = fmax(most, fabs(x[r * d + i] - ordering->mean[i]));
	}
	ordering->most = most;
	if (!(most < FC_ORDERED_LIMIT))
		return FC_EFAR;
	(void) frexp(most, &exponent);
	ordering->scale = most > 0 ? ldexp(1.0, -(exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT)) : 1.0;
	return FC_OK;
}

fc_status
fc_order_rows(const double *x, size_t n, size_t d, fc_arena *arena, float *ordered, fc_ordering *ordering)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_keyed   *order = FC_TAKE(arena, 2 * n, fc_keyed);
	size_t		done = 0;
	fc_status	status;

	fc_sort_rows(x, n, d * sizeof(double), order);
	set_mean(x, n, d, order, ordering->mean);
	status = set_scale(x, n, d, ordering);
	for (size_t r = 0; status == FC_OK && r < n; r++)
	{
		const double *row = x + order[r].value * d;

		fc_check_every(&done, d);
		for (size_t i = 0; i < d; i++)
			ordered[r * d + i] = (float) ((row[i] - ordering->mean[i]) * ordering->scale);
	}
	fc_arena_release(arena, used);
	return status;
}

void
fc_unorder_points(const fc_ordering *ordering, size_t k, size_t d, double *points)
{
	for (size_t j = 0; j < k; j++)
		for (size_t i = 0; i < d; i++)
			points[j * d + i] = points[j * d + i] / ordering->scale + ordering->mean[i];
}

/* For cosines the unit sphere, where rows are (x - origin) scale; center is room for d. */
static void
place_sphere(const double *origin, double scale, size_t d, double *center, fc_sphere *sphere, fc_kmeans_options *options)
{
	if (options->metric != FC_COSINE)
		return;
	for (size_t i = 0; i < d; i++)
		center[i] = origin != NULL ? -origin[i] * scale : 0.0;
	*sphere = (fc_sphere) {center, scale};
	options->sphere = sphere;
}

/* Wide rows of length 1 are searched on their leading axes. */
static fc_status
search(const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options,
	   fc_arena *arena, fc_kmeans_result *result)
{
	if (initial == NULL && fc_reduced_axes(rows->d, 2 * k) < rows->d)
		return fc_kmeans_reduced(rows, k, options, arena, result);
	return fc_kmeans(rows, k, initial, options, arena, result);
}

/* What any of them takes. */
static size_t
search_worksize(size_t n, size_t d, size_t k)
{
	return larger(fc_kmeans_worksize(n, d, k), fc_reduced_axes(d, 2 * k) < d ? fc_kmeans_reduced_worksize(n, d, k) : 0);
}

size_t
fc_kmeans_collected_worksize(size_t n, size_t d, size_t k)
{
	fc_arena	measure = fc_arena_measure();

	(void) FC_TAKE(&measure, n * d, float);
	(void) FC_TAKE(&measure, d, double);
	fc_arena_reserve(&measure, larger(fc_order_rows_worksize(n), search_worksize(n, d, k)));
	return fc_arena_measured(&measure);
}

fc_status
fc_kmeans_collected(const double *x, size_t n, size_t d, size_t k, const fc_kmeans_options *options,
					fc_arena *arena, fc_ordering *ordering, fc_kmeans_result *result)
{
	float	   *ordered = FC_TAKE(arena, n * d, float);
	double	   *center = FC_TAKE(arena, d, double);
	fc_rows		rows = {.x = ordered,.n = n,.d = d};
	fc_kmeans_options placed = *options;
	fc_sphere	sphere;
	fc_status	status = fc_order_rows(x, n, d, arena, ordered, ordering);

	if (status == FC_OK)
	{
		place_sphere(ordering->mean, ordering->scale, d, center, &sphere, &placed);
		status = search(&rows, k, NULL, &placed, arena, result);
	}
	if (status == FC_OK)
		fc_unorder_points(ordering, k, d, result->centroids);
	return status;
}

double
fc_scale_rows(float *x, size_t count)
{
	float		most = 0.0f;
	double		scale;
	int			exponent;

	for (size_t i = 0; i < count; i++)
		most = fmaxf(most, fabsf(x[i]));
	(void) frexpf(most, &exponent);
	scale = most > 0.0f ? ldexp(1.0, -(exponent > LEAST_FLOAT_EXPONENT ? exponent : LEAST_FLOAT_EXPONENT)) : 1.0;
	for (size_t i = 0; i < count; i++)
		x[i] *= (float) scale;
	return scale;
}

fc_status
fc_kmeans_around(float *x, const double *weight, size_t n, size_t d, size_t k, const double *origin, double *initial,
				 double trim, const fc_kmeans_options *options, fc_arena *arena, fc_kmeans_result *result)
{
	double		scale = fc_scale_rows(x, n * d);
	double	   *center = FC_TAKE(arena, d, double);
	fc_rows		scaled = {.x = x,.weight = weight,.n = n,.d = d};
	fc_kmeans_options placed = *options;
	fc_sphere	sphere;
	fc_status	status;

	place_sphere(origin, scale, d, center, &sphere, &placed);
	for (size_t i = 0; initial != NULL && i < k * d; i++)
		initial[i] = (initial[i] - (origin != NULL ? origin[i % d] : 0.0)) * scale;
	status = trim > 0.0 ? fc_kmeans_trimmed(&scaled, k, trim, initial, &placed, arena, result) :
		search(&scaled, k, initial, &placed, arena, result);
	for (size_t i = 0; status == FC_OK && i < k * d; i++)
		result->centroids[i] = result->centroids[i] / scale + (origin != NULL ? origin[i % d] : 0.0);
	return status;
}
