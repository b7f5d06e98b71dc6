/*
 * ordered.c - k-means of rows in double precision and in any order, of rows
 * with many dimensions on their principal axes, and of all rows except the
 * farthest; see ordered.h
 *
 * Principal axes cost n d^2 multiply-adds if d <= 512, n^2 d if n <= 512, else
 * 18 n d (axes + 10). A search on these axes and Lloyd's steps in d dimensions
 * follow. A trimmed search leaves out the farthest rows; each change of R, the
 * set of the remaining rows, costs n k d more multiply-adds.
 */
#include "kmeans/ordered.h"

#include <limits.h>

#include "base/sort.h"
#include "numerics/principal.h"
#include "numerics/rows.h"
#include "numerics/selection.h"
#include "numerics/span.h"

/*
 * Minimum exponent of the greatest magnitude, so that the scale stays finite
 * in float.
 */
#define MIN_FLOAT_EXPONENT	(-120)

/*
 * Rows are not copied and scaled if their scale is between 1 / MODERATE and
 * MODERATE: squares of rows and of small differences are then far within the
 * range of floats. With a smaller one, more rows are copied, which costs two
 * passes over the rows. A guess.
 */
#define MODERATE	0x1p20

/*
 * Minimum exponent of the greatest magnitude, so that the scale stays finite
 * in double.
 */
#define MIN_EXPONENT	(-1000)

/*
 * Maximum number of changes of R, the rows that are not left out (ordered.h).
 * Each change continues k-means from the present centroids. With fewer
 * changes, a search may stop before R is stable. A guess.
 */
#define MAX_TRIM_CHANGES	30

size_t
fc_kmeans_collected_worksize(size_t n, size_t d, size_t k)
{
	double		axes = (double) fc_axes_for(d, 2 * k);
	double		wide = (axes < (double) d
						? (double) n * (8.0 * (double) d + 12.0 * axes) +
						40.0 * (double) d * axes
						: 0.0);

	return (size_t) fmin((double) fc_kmeans_worksize(n, d, k) +
						 4.0 * (double) n * ((double) d + 2.0) + wide,
						 FC_EXP2(62));
}

/* ---- rows as they were collected ---- */

/*
 * Computes the mean of the first d of each row's `width` values, summed in the
 * given order.
 */
static void
set_mean(const double *x, size_t n, size_t d, size_t width, const fc_keyed *order,
		 double *mean)
{
	memset(mean, 0, d * sizeof(double));
	for (size_t r = 0; r < n; r++)
	{
		fc_check();
		for (size_t i = 0; i < d; i++)
			mean[i] += x[order[r].value * width + i];
	}
	for (size_t i = 0; i < d; i++)
		mean[i] /= (double) n;
}

static fc_status
set_scale(const double *x, size_t n, size_t d, size_t width, fc_ordering *ordering)
{
	double		max = 0;
	int			exponent;

	for (size_t r = 0; r < n; r++)
	{
		fc_check();
		for (size_t i = 0; i < d; i++)
			max = fmax(max, fabs(x[r * width + i] - ordering->mean[i]));
	}
	ordering->max = max;
	if (!(max < FC_ORDERED_LIMIT))
		return FC_EFAR;
	(void) frexp(max, &exponent);
	exponent = exponent > MIN_EXPONENT ? exponent : MIN_EXPONENT;
	ordering->scale = max > 0 ? ldexp(1.0, -exponent) : 1.0;
	return FC_OK;
}

fc_status
fc_order_rows(const double *x, size_t n, size_t d, fc_arena *arena,
			  float *ordered, double *weights, fc_ordering *ordering)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_keyed   *order = FC_TAKE(arena, 2 * n, fc_keyed);
	size_t		width = d + (weights != NULL);
	fc_status	status;

	fc_sort_rows(x, n, width * sizeof(double), order);
	set_mean(x, n, d, width, order, ordering->mean);
	status = set_scale(x, n, d, width, ordering);
	for (size_t r = 0; status == FC_OK && r < n; r++)
	{
		const double *row = x + order[r].value * width;

		fc_check();
		if (weights != NULL)
			weights[r] = row[d];
		for (size_t i = 0; i < d; i++)
			ordered[r * d + i] = (float) ((row[i] - ordering->mean[i]) *
										  ordering->scale);
	}
	fc_arena_release(arena, used);
	return status;
}

void
fc_unorder_points(const fc_ordering *ordering, size_t k, size_t d,
				  double *points)
{
	for (size_t j = 0; j < k; j++)
		for (size_t i = 0; i < d; i++)
			points[j * d + i] = points[j * d + i] / ordering->scale +
				ordering->mean[i];
}

/* ---- principal axes ---- */

/*
 * Returns the rows relative to their mean or to the center of the sphere:
 * a copy, unless the center is 0.
 */
static const float *
centered_rows(const fc_rows *rows, const fc_sphere *sphere, fc_arena *arena)
{
	size_t		d = rows->d;
	float	   *x;

	if (sphere != NULL && sphere->center == NULL)
		return rows->x;
	x = FC_TAKE(arena, rows->n * d, float);
	memcpy(x, rows->x, rows->n * d * sizeof(float));
	if (sphere == NULL)
		fc_center_rows(x, rows->n, d);
	for (size_t i = 0; sphere != NULL && i < rows->n; i++)
	{
		fc_check();
		for (size_t c = 0; c < d; c++)
			x[i * d + c] = (float) ((double) x[i * d + c] - sphere->center[c]);
	}
	return x;
}

static double
mean_square(const float *x, size_t n, size_t d)
{
	double		square = 0.0;

	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		square += fc_row_square(x + i * d, d) / (double) n;
	}
	return square;
}

/*
 * Computes y = x A' (n x count), where A are the axes, and the mean squared
 * length of the rows of y.
 */
static void
project_rows(const float *x, size_t n, size_t d, const float *axes,
			 size_t count, float *y, double *square)
{
	*square = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		fc_dense_apply(axes, count, d, x + i * d, y + i * count);
		*square += fc_row_square(y + i * count, count) / (double) n;
	}
}

void
fc_rows_on_axes(const fc_rows *rows, size_t axes, const fc_sphere *sphere,
				fc_arena *arena, float *y, double *lost)
{
	fc_mark		mark = fc_arena_mark(arena);
	const float *x = centered_rows(rows, sphere, arena);
	float	   *basis = FC_TAKE(arena, axes * rows->d, float);
	double		whole = mean_square(x, rows->n, rows->d);
	double		left = 0.0;

	fc_principal_axes(x, rows->n, rows->d, axes, 0, arena, basis);
	project_rows(x, rows->n, rows->d, basis, axes, y, &left);
	fc_arena_release(arena, mark);
	*lost = fmax(whole - left, 0.0);
}

/*
 * Computes the weighted mean of the rows of each label. The mean of a cluster
 * without weight is a copy of the first row.
 */
static void
means_of_labels(const fc_rows *rows, const int32_t *labels, size_t k,
				double *weights, double *means)
{
	memset(means, 0, k * rows->d * sizeof(double));
	memset(weights, 0, k * sizeof(double));
	for (size_t i = 0; i < rows->n; i++)
	{
		double		weight = rows->weight != NULL ? rows->weight[i] : 1.0;

		fc_check();
		weights[labels[i]] += weight;
		fc_axpy(weight, rows->x + i * rows->d, rows->d,
				means + (size_t) labels[i] * rows->d);
	}
	for (size_t j = 0; j < k; j++)
		for (size_t c = 0; c < rows->d; c++)
			means[j * rows->d + c] = weights[j] > 0.0
				? means[j * rows->d + c] / weights[j]
				: (double) rows->x[c];
}

void
fc_kmeans_on_axes(const fc_rows *rows, size_t k,
				  const fc_kmeans_options *options, fc_arena *arena,
				  fc_kmeans_result *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		axes = fc_axes_for(rows->d, 2 * k);
	fc_kmeans_options search = *options;
	fc_kmeans_options refine = *options;
	fc_sphere	centered;
	fc_rows		reduced = {.weight = rows->weight,.n = rows->n,.d = axes};
	float	   *y = FC_TAKE(arena, rows->n * axes, float);
	int32_t    *labels = FC_TAKE(arena, rows->n, int32_t);
	double	   *start = FC_TAKE(arena, k * rows->d, double);
	fc_kmeans_result found = {
		.centroids = FC_TAKE(arena, k * axes, double),
		.weights = result->weights,
		.labels = labels
	};
	double		lost;

	if (options->sphere != NULL)
	{
		centered = (fc_sphere)
		{
			NULL, options->sphere->radius
		};
		search.sphere = &centered;
	}
	refine.n_init = 0;
	refine.rounds = options->n_init < 0 && options->rounds < 0 ? INT_MAX : 0;
	fc_rows_on_axes(rows, axes, options->sphere, arena, y, &lost);
	reduced.x = y;
	fc_kmeans(&reduced, k, NULL, &search, arena, &found);
	means_of_labels(rows, labels, k, result->weights, start);
	fc_kmeans(rows, k, start, &refine, arena, result);
	fc_arena_release(arena, mark);
}

/* ---- trimming ---- */

typedef struct trimming
{
	const fc_rows *rows;
	size_t		k;
	double		trim;
	float	   *x;				/* n x d: the rows of R, the set of the rows
								 * that are not left out */
	double	   *weight;			/* n: weights of the rows of R */
	size_t	   *inside;			/* n: indices of the rows of R, ascending */
	size_t		count;
	float	   *rounded;		/* k x d: the centroids in float */
	fc_keyed   *nearest;		/* n: rows, sorted by the squared distance to
								 * the nearest centroid */
	fc_keyed   *scratch;
} trimming;

static trimming
take_trimming(const fc_rows *rows, size_t k, fc_arena *arena)
{
	trimming	t = {.rows = rows,.k = k};

	t.x = FC_TAKE(arena, rows->n * rows->d, float);
	t.weight = FC_TAKE(arena, rows->n, double);
	t.inside = FC_TAKE(arena, rows->n, size_t);
	t.rounded = FC_TAKE(arena, k * rows->d, float);
	t.nearest = FC_TAKE(arena, rows->n, fc_keyed);
	t.scratch = FC_TAKE(arena, rows->n, fc_keyed);
	return t;
}

static double
weight_of(const fc_rows *rows, size_t i)
{
	return rows->weight == NULL ? 1.0 : rows->weight[i];
}

/*
 * Sets R to the rows nearest to the median, with 1 - trim of the weight. If
 * these are fewer than k rows, sets R to all rows.
 */
static void
begin_inside(trimming *t, fc_arena *arena)
{
	const fc_rows *rows = t->rows;
	fc_mark		mark = fc_arena_mark(arena);
	double	   *x = FC_TAKE(arena, rows->n * rows->d, double);

	fc_widen(rows->x, rows->n * rows->d, x);
	fc_trim(x, rows->weight, rows->n, rows->d, 1.0 - t->trim, arena, t->inside,
			&t->count);
	for (size_t i = 0; t->count < t->k && i < rows->n; i++)
		t->inside[i] = i;
	if (t->count < t->k)
		t->count = rows->n;
	fc_arena_release(arena, mark);
}

/*
 * Sets R to the rows with the shortest distances to their nearest centroids,
 * with 1 - trim of the weight and at least k rows. Sets *changed to true if R
 * differs from before.
 */
static void
nearest_inside(trimming *t, const double *centroids, bool *changed)
{
	const fc_rows *rows = t->rows;
	double		left = 0.0;
	size_t		count = 0;

	fc_narrow(centroids, t->k * rows->d, t->rounded);
	for (size_t i = 0; i < rows->n; i++)
	{
		double		min = INFINITY;

		fc_check();
		for (size_t j = 0; j < t->k; j++)
			min = fmin(min, fc_row_gap(rows->x + i * rows->d,
									   t->rounded + j * rows->d, rows->d));
		t->nearest[i] = (fc_keyed)
		{
			fc_number_key(min), i
		};
		left += weight_of(rows, i) * (1.0 - t->trim);
	}
	fc_sort(t->nearest, rows->n, t->scratch);
	for (; count < rows->n && (left > 0.0 || count < t->k); count++)
	{
		left -= weight_of(rows, t->nearest[count].value);
		t->nearest[count].key = t->nearest[count].value;
	}
	fc_sort(t->nearest, count, t->scratch);
	*changed = count != t->count;
	for (size_t r = 0; r < count; r++)
	{
		*changed = *changed || t->inside[r] != t->nearest[r].value;
		t->inside[r] = t->nearest[r].value;
	}
	t->count = count;
}

static void
fit_inside(trimming *t, const double *initial, const fc_kmeans_options *options,
		   fc_arena *arena, fc_kmeans_result *result)
{
	const fc_rows *rows = t->rows;
	fc_rows		inside = {
		.x = t->x,
		.weight = t->weight,
		.n = t->count,
		.d = rows->d
	};

	for (size_t r = 0; r < t->count; r++)
	{
		memcpy(t->x + r * rows->d, rows->x + t->inside[r] * rows->d,
			   rows->d * sizeof(float));
		t->weight[r] = weight_of(rows, t->inside[r]);
	}
	fc_kmeans(&inside, t->k, initial, options, arena, result);
}

void
fc_kmeans_trimmed(const fc_rows *rows, size_t k, double trim,
				  const double *initial, const fc_kmeans_options *options,
				  fc_arena *arena, fc_kmeans_result *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	trimming	t = take_trimming(rows, k, arena);
	fc_kmeans_options go_on = *options;
	bool		changed = true;

	t.trim = trim;
	go_on.n_init = 0;
	if (initial != NULL && options->n_init == 0)
		nearest_inside(&t, initial, &changed);
	else
		begin_inside(&t, arena);
	fit_inside(&t, initial, options, arena, result);
	for (int i = 0; i < MAX_TRIM_CHANGES && changed; i++)
	{
		nearest_inside(&t, result->centroids, &changed);
		if (changed)
			fit_inside(&t, result->centroids, &go_on, arena, result);
	}
	fc_arena_release(arena, mark);
}

/* ---- choice of the method ---- */

/*
 * Sets options->sphere to the sphere of unit vectors in the coordinates of the
 * scaled rows, (x - origin) * scale. Does nothing unless the metric is cosine.
 * center has space for d values, and is used if there is an origin.
 */
static void
place_sphere(const double *origin, double scale, size_t d, double *center,
			 fc_sphere *sphere, fc_kmeans_options *options)
{
	if (options->metric != FC_COSINE)
		return;
	for (size_t i = 0; origin != NULL && i < d; i++)
		center[i] = -origin[i] * scale;
	*sphere = (fc_sphere)
	{
		origin != NULL ? center : NULL, scale
	};
	options->sphere = sphere;
}

static void search(const fc_rows *rows, size_t k, const double *initial,
				   const fc_kmeans_options *options, fc_arena *arena,
				   fc_kmeans_result *result);

/*
 * Searches few sparse rows in the space that they span, and refines the
 * clusters in all dimensions. Returns false, without a result, if the rows are
 * too many or not sparse, or if the sphere has a center.
 */
static bool
search_in_span(const fc_rows *rows, size_t k, const fc_kmeans_options *options,
			   fc_arena *arena, fc_kmeans_result *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_rows		spanned = {.weight = rows->weight,.n = rows->n,.d = rows->n};
	fc_kmeans_options refine = *options;
	double	   *start;
	fc_kmeans_result found = {.weights = result->weights};

	if (options->sphere != NULL && options->sphere->center != NULL)
		return false;
	spanned.x = fc_span_coordinates(rows->x, rows->n, rows->d, arena);
	if (spanned.x == NULL)
		return false;
	start = FC_TAKE(arena, k * rows->d, double);
	found.centroids = FC_TAKE(arena, k * rows->n, double);
	found.labels = FC_TAKE(arena, rows->n, int32_t);
	search(&spanned, k, NULL, options, arena, &found);
	means_of_labels(rows, found.labels, k, result->weights, start);
	refine.n_init = refine.rounds = 0;
	fc_kmeans(rows, k, start, &refine, arena, result);
	fc_arena_release(arena, mark);
	return true;
}

/*
 * Searches wide rows without initial centroids in the space that they span if
 * they are few and sparse, else on their leading principal axes. Searches
 * other rows directly.
 */
static void
search(const fc_rows *rows, size_t k, const double *initial,
	   const fc_kmeans_options *options, fc_arena *arena,
	   fc_kmeans_result *result)
{
	if (initial == NULL && fc_axes_for(rows->d, 2 * k) < rows->d)
	{
		if (!search_in_span(rows, k, options, arena, result))
			fc_kmeans_on_axes(rows, k, options, arena, result);
	}
	else
		fc_kmeans(rows, k, initial, options, arena, result);
}

fc_status
fc_kmeans_collected(const double *x, size_t n, size_t d, bool weighted, size_t k,
					const fc_kmeans_options *options, fc_arena *arena,
					fc_ordering *ordering, fc_kmeans_result *result)
{
	float	   *ordered = FC_TAKE(arena, n * d, float);
	double	   *center = FC_TAKE(arena, d, double);
	double	   *weights = weighted ? FC_TAKE(arena, n, double) : NULL;
	fc_rows		rows = {.x = ordered,.weight = weights,.n = n,.d = d};
	fc_kmeans_options placed = *options;
	fc_sphere	sphere;
	fc_status	status = fc_order_rows(x, n, d, arena, ordered, weights, ordering);

	if (status != FC_OK)
		return status;
	place_sphere(ordering->mean, ordering->scale, d, center, &sphere, &placed);
	search(&rows, k, NULL, &placed, arena, result);
	fc_unorder_points(ordering, k, d, result->centroids);
	return FC_OK;
}

/* Returns the power of 2 that makes the magnitudes of the floats less than 1. */
static double
scale_of_rows(const float *x, size_t count)
{
	double		max = 0.0;
	int			exponent;

	for (size_t i = 0; i < count; i++)
		max = fc_greater(max, fabs((double) x[i]));
	(void) frexp(max, &exponent);
	exponent = exponent > MIN_FLOAT_EXPONENT ? exponent : MIN_FLOAT_EXPONENT;
	return max > 0.0 ? ldexp(1.0, -exponent) : 1.0;
}

double
fc_scale_rows(float *x, size_t count)
{
	double		scale = scale_of_rows(x, count);

	for (size_t i = 0; i < count; i++)
		x[i] *= (float) scale;
	return scale;
}

/*
 * Returns x multiplied by a power of 2, so that squares neither overflow nor
 * vanish, and sets *scale to this factor. Returns x itself and the factor 1 if
 * no scaling is needed, else a copy.
 */
static const float *
scaled_rows(const float *x, size_t count, fc_arena *arena, double *scale)
{
	float	   *scaled;

	*scale = scale_of_rows(x, count);
	if (*scale >= 1.0 / MODERATE && *scale <= MODERATE)
	{
		*scale = 1.0;
		return x;
	}
	scaled = FC_TAKE(arena, count, float);
	for (size_t i = 0; i < count; i++)
		scaled[i] = x[i] * (float) *scale;
	return scaled;
}

fc_status
fc_kmeans_around(const float *x, const double *weight, size_t n, size_t d, size_t k,
				 const double *origin, double *initial, double trim,
				 const fc_kmeans_options *options, fc_arena *arena,
				 fc_kmeans_result *result)
{
	double		scale;
	const float *in_unit = scaled_rows(x, n * d, arena, &scale);
	double	   *center = FC_TAKE(arena, d, double);
	fc_rows		scaled = {.x = in_unit,.weight = weight,.n = n,.d = d};
	fc_kmeans_options placed = *options;
	fc_sphere	sphere;

	if (!(fc_weight_sum(weight, n) > 0.0))
		return FC_EEMPTY;
	place_sphere(origin, scale, d, center, &sphere, &placed);
	for (size_t i = 0; initial != NULL && i < k * d; i++)
		initial[i] = (initial[i] - (origin != NULL ? origin[i % d] : 0.0)) *
			scale;
	if (trim > 0.0)
		fc_kmeans_trimmed(&scaled, k, trim, initial, &placed, arena, result);
	else
		search(&scaled, k, initial, &placed, arena, result);
	for (size_t i = 0; i < k * d; i++)
		result->centroids[i] = result->centroids[i] / scale +
			(origin != NULL ? origin[i % d] : 0.0);
	return FC_OK;
}
