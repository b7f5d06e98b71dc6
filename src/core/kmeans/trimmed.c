/*
 * trimmed.c - k-means of all rows but those farthest out; see trimmed.h
 *
 * Cost: a search of k-means, and n k d multiply-adds for each change of R.
 */
#include "kmeans/trimmed.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "numerics/rows.h"
#include "numerics/trim.h"

#define MOST_CHANGES	30		/* of R */

typedef struct trimming
{
	const fc_rows *rows;
	size_t		k;
	double		trim;
	float	   *x;				/* n x d: the rows of R */
	double	   *weight;			/* n: theirs */
	size_t	   *inside;			/* n: their numbers, ascending */
	size_t		count;
	float	   *rounded;		/* k x d: the centroids */
	fc_keyed   *nearest;		/* n: rows by their squared distance */
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

/* R by the distance from the median; all rows where that leaves too few. */
static fc_status
begin_inside(trimming *t, fc_arena *arena)
{
	const fc_rows *rows = t->rows;
	fc_mark		mark = fc_arena_mark(arena);
	double	   *x = FC_TAKE(arena, rows->n * rows->d, double);
	fc_status	status;

	fc_widen(rows->x, rows->n * rows->d, x);
	status = fc_trim(x, rows->weight, rows->n, rows->d, 1.0 - t->trim, arena, t->inside, &t->count);
	for (size_t i = 0; status == FC_OK && t->count < t->k && i < rows->n; i++)
		t->inside[i] = i;
	if (t->count < t->k)
		t->count = rows->n;
	fc_arena_release(arena, mark);
	return status;
}

/* R by the distance from the nearest centroid; did it change? */
static void
nearest_inside(trimming *t, const double *centroids, bool *changed)
{
	const fc_rows *rows = t->rows;
	double		left = 0.0;
	size_t		count = 0;
	size_t		done = 0;

	for (size_t c = 0; c < t->k * rows->d; c++)
		t->rounded[c] = (float) centroids[c];
	for (size_t i = 0; i < rows->n; i++)
	{
		double		least = INFINITY;

		fc_check_every(&done, t->k * rows->d);
		for (size_t j = 0; j < t->k; j++)
			least = fmin(least, fc_row_gap(rows->x + i * rows->d, t->rounded + j * rows->d, rows->d));
		t->nearest[i].value = i;
		memcpy(&t->nearest[i].key, &least, sizeof(double)); /* not negative: bits are ordered as numbers */
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

static fc_status
fit_inside(trimming *t, const double *initial, const fc_kmeans_options *options, fc_arena *arena, fc_kmeans_result *result)
{
	const fc_rows *rows = t->rows;
	fc_rows		inside = {.x = t->x,.weight = t->weight,.n = t->count,.d = rows->d};

	for (size_t r = 0; r < t->count; r++)
	{
		memcpy(t->x + r * rows->d, rows->x + t->inside[r] * rows->d, rows->d * sizeof(float));
		t->weight[r] = weight_of(rows, t->inside[r]);
	}
	return fc_kmeans(&inside, t->k, initial, options, arena, result);
}

fc_status
fc_kmeans_trimmed(const fc_rows *rows, size_t k, double trim, const double *initial, const fc_kmeans_options *options,
				  fc_arena *arena, fc_kmeans_result *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	trimming	t = take_trimming(rows, k, arena);
	fc_kmeans_options go_on = *options;
	bool		changed = true;
	fc_status	status = FC_OK;

	t.trim = trim;
	go_on.n_init = 0;
	if (initial != NULL && options->n_init == 0)
		nearest_inside(&t, initial, &changed);
	else
		status = begin_inside(&t, arena);
	if (status == FC_OK)
		status = fit_inside(&t, initial, options, arena, result);
	for (int i = 0; i < MOST_CHANGES && status == FC_OK; i++)
	{
		nearest_inside(&t, result->centroids, &changed);
		if (!changed)
			break;
		status = fit_inside(&t, result->centroids, &go_on, arena, result);
	}
	fc_arena_release(arena, mark);
	return status;
}
