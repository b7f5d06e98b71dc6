/* selection.c - numbers parted about a place of their order, and outliers; see selection.h */
#include "numerics/selection.h"

#include <math.h>

#include "base/rng.h"

static inline float
value_of(fc_coordinate c, uint32_t row)
{
	return c.x[row * c.d];
}

static inline void
swap(uint32_t *a, uint32_t *b)
{
	uint32_t	t = *a;

	*a = *b;
	*b = t;
}

static float
median_of_three(float a, float b, float c)
{
	return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

void
fc_part_rows(fc_coordinate c, uint32_t *order, size_t first, size_t last, size_t place)
{
	while (last - first > 1)
	{
		float		pivot = median_of_three(value_of(c, order[first]), value_of(c, order[first + (last - first) / 2]), value_of(c, order[last - 1]));
		size_t		low = first;
		size_t		middle = first;
		size_t		high = last;

		fc_check();
		while (middle < high)	/* less | equal | unseen | greater */
		{
			float		value = value_of(c, order[middle]);

			if (value < pivot)
				swap(&order[low++], &order[middle++]);
			else if (value > pivot)
				swap(&order[middle], &order[--high]);
			else
				middle++;
		}
		if (place < low)
			last = low;
		else if (place < high)
			break;
		else
			first = high;
	}
}

/* ---- outliers ---- */

/*
 * Outliers by their distance from the median in robust units.
 *
 *     r_i^2 = sum_c ((x_ic - med_c) / s_c)^2,   s_c = 1.4826 median_i |x_ic - med_c|
 *
 * A dimension that is constant for half the rows has s_c = 0 and takes its standard
 * deviation instead; one that is constant for all counts nothing.  Quantiles are lower
 * weighted ones: the least value with at least that share of the weight at or below it,
 * so a row of weight 2 is the row twice.  Selection partitions around random pivots:
 * rows x d steps in all (Hoare 1961, "Find").  1.4826 makes s_c the standard deviation
 * of a normal law (Hampel 1974).
 */
#define COLUMNS		8			/* gathered together: one cache line of a row */
#define MAD_UNIT	1.4826

typedef struct weighed
{
	double		value;
	double		weight;
} weighed;

typedef struct trim_work
{
	const double *x;
	const double *weight;
	size_t		rows;
	size_t		d;
	double		total;			/* of the weights */
	fc_rng		rng;			/* pivots; the answer does not depend on them */
	weighed    *column;			/* COLUMNS x rows */
	double	   *median;			/* d */
	double	   *unit;			/* d: 1 / s_c, or 0 */
	double	   *distance;		/* rows */
} trim_work;

static inline double
weight_of(const trim_work *w, size_t i)
{
	return w->weight == NULL ? 1.0 : w->weight[i];
}

static inline void
swap_weighed(weighed *a, weighed *b)
{
	weighed		t = *a;

	*a = *b;
	*b = t;
}

/* The least value with at least `target` of the weight at or below it; reorders a. */
static double
select_weighed(weighed *a, size_t n, double target, fc_rng *rng)
{
	for (;;)
	{
		double		pivot = a[fc_rng_below(rng, n)].value;
		double		below = 0.0;
		double		equal = 0.0;
		size_t		low = 0;
		size_t		middle = 0;
		size_t		high = n;

		while (middle < high)	/* less | equal | unseen | greater */
			if (a[middle].value < pivot)
			{
				below += a[middle].weight;
				swap_weighed(&a[low++], &a[middle++]);
			}
			else if (a[middle].value > pivot)
				swap_weighed(&a[middle], &a[--high]);
			else
				equal += a[middle++].weight;
		if (target <= below && low > 0)
			n = low;
		else if (target <= below + equal || high == n)
			return pivot;
		else
		{
			target -= below + equal;
			a += high;
			n -= high;
		}
	}
}

/* Median and unit of one gathered column. */
static void
measure_column(trim_work *w, weighed *column, double *median, double *unit)
{
	double		half = 0.5 * w->total;
	double		first = 0.0;
	double		second = 0.0;
	double		scale;

	*median = select_weighed(column, w->rows, half, &w->rng);
	for (size_t i = 0; i < w->rows; i++)
	{
		double		deviation = column[i].value - *median;

		first += column[i].weight * deviation;
		second += column[i].weight * deviation * deviation;
		column[i].value = fabs(deviation);
	}
	scale = MAD_UNIT * select_weighed(column, w->rows, half, &w->rng);
	if (!(scale > 0.0))
	{
		double		mean = first / w->total;

		scale = sqrt(fmax(second / w->total - mean * mean, 0.0));
	}
	*unit = scale > 0.0 ? 1.0 / scale : 0.0;
}

static void
measure_columns(trim_work *w)
{
	for (size_t start = 0; start < w->d; start += COLUMNS)
	{
		size_t		columns = w->d - start < COLUMNS ? w->d - start : COLUMNS;

		for (size_t i = 0; i < w->rows; i++)
			for (size_t c = 0; c < columns; c++)
				w->column[c * w->rows + i] = (weighed) {w->x[i * w->d + start + c], weight_of(w, i)};
		for (size_t c = 0; c < columns; c++)
		{
			fc_check();
			measure_column(w, w->column + c * w->rows, w->median + start + c, w->unit + start + c);
		}
	}
}

static void
measure_rows(trim_work *w)
{
	for (size_t i = 0; i < w->rows; i++)
	{
		double		sum = 0.0;

		fc_check();
		for (size_t c = 0; c < w->d; c++)
		{
			double		deviation = (w->x[i * w->d + c] - w->median[c]) * w->unit[c];

			sum += deviation * deviation;
		}
		w->distance[i] = sum;
		w->column[i] = (weighed) {sum, weight_of(w, i)};
	}
}

double
fc_weight_sum(const double *weight, size_t n)
{
	double		sum = weight == NULL ? (double) n : 0.0;

	for (size_t i = 0; weight != NULL && i < n; i++)
		sum += weight[i];
	return sum;
}

void
fc_trim(const double *x, const double *weight, size_t rows, size_t d, double fraction,
		fc_arena *arena, size_t *inliers, size_t *count)
{
	trim_work w = {.x = x,.weight = weight,.rows = rows,.d = d,.total = fc_weight_sum(weight, rows)};
	fc_mark		used = fc_arena_mark(arena);
	double		limit;

	*count = 0;
	w.rng = fc_rng_start(rows, 0);
	w.median = FC_TAKE(arena, d, double);
	w.unit = FC_TAKE(arena, d, double);
	w.distance = FC_TAKE(arena, rows, double);
	w.column = FC_TAKE(arena, COLUMNS * rows, weighed);
	measure_columns(&w);
	measure_rows(&w);
	limit = select_weighed(w.column, rows, fraction * w.total, &w.rng);
	for (size_t i = 0; i < rows; i++)
		if (w.distance[i] <= limit && weight_of(&w, i) > 0.0)
			inliers[(*count)++] = i;
	fc_arena_release(arena, used);
}
