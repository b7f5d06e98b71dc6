/*
 * selection.c - partitioning of rows by a coordinate, and outliers; see
 * selection.h
 */
#include "numerics/selection.h"

#include "base/sort.h"

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
fc_partition_rows(fc_coordinate c, uint32_t *order, size_t first, size_t last,
				  size_t place)
{
	while (last - first > 1)
	{
		float		pivot = median_of_three(value_of(c, order[first]),
											value_of(c, order[first +
															  (last - first) / 2]),
											value_of(c, order[last - 1]));
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
 * Outliers are rows far from the median in robust units. The distance r_i of
 * row i is given by
 *     r_i^2 = sum_c ((x_ic - med_c) / s_c)^2,
 *     s_c = 1.4826 median_i |x_ic - med_c|
 *
 * The factor 1.4826 makes s_c the standard deviation if the values are
 * normally distributed (Hampel 1974). If a dimension is constant for half the
 * rows, s_c is 0 and the standard deviation is used instead. A dimension that
 * is constant for all rows is ignored. A quantile is the lowest value such
 * that the rows up to this value have at least the given share of the weight,
 * so a row of weight 2 counts as two rows. Cost: two sorts per column.
 */
#define MAD_UNIT	1.4826

typedef struct trim_work
{
	const double *x;
	const double *weight;
	size_t		rows;
	size_t		d;
	double		total;			/* sum of the weights */
	double	   *median;			/* d values: median of each dimension */
	double	   *unit;			/* d values: 1 / s_c, or 0 for a constant
								 * dimension */
	double	   *value;			/* `rows` values: a column, then squared
								 * distances */
	fc_keyed   *order;			/* 2 * rows entries: rows sorted by value, and
								 * scratch space */
} trim_work;

static inline double
weight_of(const trim_work *w, size_t i)
{
	return w->weight == NULL ? 1.0 : w->weight[i];
}

/*
 * Returns the lowest value such that the rows up to this value have a total
 * weight of at least `target`.
 */
static double
weighted_quantile(trim_work *w, double target)
{
	double		below = 0.0;
	size_t		i = 0;

	fc_sort_numbers(w->value, w->rows, w->order, w->order + w->rows);
	for (; i + 1 < w->rows &&
		 (below += weight_of(w, w->order[i].value)) < target;)
		i++;
	return w->value[w->order[i].value];
}

/* Computes the median and the unit of column c. */
static void
measure_column(trim_work *w, size_t c)
{
	double		half = 0.5 * w->total;
	double		first = 0.0;
	double		second = 0.0;
	double		scale;

	for (size_t i = 0; i < w->rows; i++)
		w->value[i] = w->x[i * w->d + c];
	w->median[c] = weighted_quantile(w, half);
	for (size_t i = 0; i < w->rows; i++)
	{
		double		deviation = w->value[i] - w->median[c];

		first += weight_of(w, i) * deviation;
		second += weight_of(w, i) * deviation * deviation;
		w->value[i] = fabs(deviation);
	}
	scale = MAD_UNIT * weighted_quantile(w, half);
	if (!(scale > 0.0))
	{
		double		mean = first / w->total;

		scale = sqrt(fmax(second / w->total - mean * mean, 0.0));
	}
	w->unit[c] = scale > 0.0 ? 1.0 / scale : 0.0;
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
			double		deviation = ((w->x[i * w->d + c] - w->median[c]) *
									 w->unit[c]);

			sum += deviation * deviation;
		}
		w->value[i] = sum;
	}
}

void
fc_trim(const double *x, const double *weight, size_t rows, size_t d,
		double fraction, fc_arena *arena, size_t *inliers, size_t *count)
{
	trim_work	w = {
		.x = x,
		.weight = weight,
		.rows = rows,
		.d = d,
		.total = fc_weight_sum(weight, rows)
	};
	fc_mark		used = fc_arena_mark(arena);
	double		limit;

	*count = 0;
	w.median = FC_TAKE(arena, d, double);
	w.unit = FC_TAKE(arena, d, double);
	w.value = FC_TAKE(arena, rows, double);
	w.order = FC_TAKE(arena, 2 * rows, fc_keyed);
	for (size_t c = 0; c < d; c++)
		measure_column(&w, c);
	measure_rows(&w);
	limit = weighted_quantile(&w, fraction * w.total);
	for (size_t i = 0; i < rows; i++)
		if (w.value[i] <= limit && weight_of(&w, i) > 0.0)
			inliers[(*count)++] = i;
	fc_arena_release(arena, used);
}
