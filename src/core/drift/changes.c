/* changes.c - changes in a series of sketches; see changes.h */
#include "drift/changes.h"

#include "base/blas.h"
#include "drift/internal.h"

/*
 * Number of days in the longest window. A longer window finds smaller lasting
 * changes, but more tests raise all p-values. A guess.
 */
#define MAX_WINDOW	16

/* Number of windows, of 1, 2, 4, 8 and 16 days. */
#define WINDOWS	5

/*
 * Minimum number of earlier days with which a window is compared. With fewer
 * days, changes in close succession are found, but the mean of these days
 * varies more by chance. A guess.
 */
#define MIN_SEGMENT	3

/*
 * Maximum number of moments used per sketch. More moments take longer;
 * doubling the number changes no result (bench/change_points.py,
 * bench/tuned.py).
 */
#define MAX_MOMENTS	256

/*
 * Maximum number of days from which the null distribution is estimated. More
 * days take longer, and hardly improve the estimate. A guess.
 */
#define MAX_NULL_DAYS	256

/*
 * Days after a change during which the earlier null distribution stays in use,
 * because fewer days do not suffice for a new estimate. With more days, rows
 * are judged by an outdated distribution for longer. A guess.
 */
#define NEW_NULL_DAYS	30

/*
 * Share of a column's squared mean below which a variance is rounding error.
 */
#define MIN_SQUARE	1e-20

/*
 * P-value below which a day is an alarm. It is half a percent, divided by the
 * number of days of a year. A larger value finds changes days earlier, with
 * more false alarms (bench/change_points.py, bench/tuned.py).
 */
#define ALARM_P_VALUE	(0.005 / 365.0)

typedef struct change_series
{
	const fc_spec *spec;
	size_t		length;			/* length of the mean waves z of a day, two
								 * numbers per moment used */
	double	   *sum;			/* (days + 1) x length: sums, over the
								 * preceding days, of z times the number of
								 * rows n */
	double	   *rows;			/* days + 1 values: sums of the effective
								 * numbers of rows n = W^2 / sum w^2 */

	/*
	 * (days + 1) x d: sums of n times the column means, relative to the first
	 * day
	 */
	double	   *mean;
	double	   *square;			/* (days + 1) x d: sums of n times the
								 * columns' mean squares, relative to the mean
								 * of the first day */
	double	   *between;		/* d values: variance of a column's means
								 * between days, times the rows of a day */
	double	   *t;				/* MAX_WINDOW x d: |t| of each window and
								 * column */
	double	   *u;				/* MAX_NULL_DAYS x length: deviation of each
								 * day's z from the mean, times sqrt(n) */
	double	   *gram;			/* MAX_NULL_DAYS^2: Gram matrix of the rows of
								 * u */
	double	   *gram2;			/* MAX_NULL_DAYS^2: matrix product gram * gram */
} change_series;

/*
 * Null distribution of n |z - E z|^2 for the mean waves z of a day of n rows.
 * S is the covariance matrix of the moments of a row.
 */
typedef struct day_null
{
	double		trace;			/* tr S */
	fc_wave_null null;
	size_t		days;			/* number of days from which the distribution
								 * was estimated; 0: no estimate yet */
} day_null;

/* ---- the series ---- */

/*
 * Sets row t + 1 of series->mean and series->square: the sums up to day t of
 * the means and mean squares of the columns, where a day is weighted by n, its
 * effective number of rows. All are relative to the column means of the day
 * `first`.
 */
static void
add_columns(const change_series *series, const fc_sketch_view *first,
			const fc_sketch_view *day, size_t t, double n)
{
	size_t		d = series->spec->dim;

	for (size_t i = 0; i < d; i++)
	{
		double		x = fc_sketch_mean(day, i) - fc_sketch_mean(first, i);

		series->mean[(t + 1) * d + i] = series->mean[t * d + i] + n * x;
		series->square[(t + 1) * d + i] = series->square[t * d + i] +
			n * (fc_sketch_variance(day, i) +
				 x * x);
	}
}

static void
read_days(const fc_sketch_view *days, size_t count, fc_arena *arena,
		  change_series *series)
{
	size_t		d = days[0].spec->dim;
	size_t		moments = fc_spec_moments(days[0].spec);
	size_t		stride = (moments + MAX_MOMENTS - 1) / MAX_MOMENTS;
	size_t		taken = (moments + stride - 1) / stride;
	double	   *z = FC_TAKE(arena, 2 * moments, double);

	series->spec = days[0].spec;
	series->length = 2 * taken;
	series->sum = FC_TAKE(arena, (count + 1) * series->length, double);
	series->rows = FC_TAKE(arena, count + 1, double);
	series->mean = FC_TAKE(arena, (count + 1) * d, double);
	series->square = FC_TAKE(arena, (count + 1) * d, double);
	series->between = FC_TAKE(arena, d, double);
	series->t = FC_TAKE(arena, MAX_WINDOW * d, double);
	series->u = FC_TAKE(arena, MAX_NULL_DAYS * series->length, double);
	series->gram = FC_TAKE(arena, MAX_NULL_DAYS * MAX_NULL_DAYS, double);
	series->gram2 = FC_TAKE(arena, MAX_NULL_DAYS * MAX_NULL_DAYS, double);
	for (size_t j = 0; j < series->length; j++)
		series->sum[j] = 0;
	for (size_t i = 0; i < d; i++)
		series->mean[i] = series->square[i] = 0;
	series->rows[0] = 0;
	for (size_t t = 0; t < count; t++)
	{
		double		n = fc_effective_rows(&days[t]);
		const double *before = series->sum + t * series->length;
		double	   *after = series->sum + (t + 1) * series->length;

		fc_check();
		fc_sketch_moments(&days[t], z, z + moments);
		for (size_t j = 0; j < taken; j++)
			for (size_t half = 0; half < 2; half++)
				after[2 * j + half] = before[2 * j + half] +
					n * z[half * moments + j * stride] /
					sqrt((double) taken);
		series->rows[t + 1] = series->rows[t] + n;
		add_columns(series, &days[0], &days[t], t, n);
	}
}

/*
 * Returns the squared distance between the mean waves of days [first, middle)
 * and [middle, end), divided by c. Sets *c = 1/N1 + 1/N2, where N1 and N2 are
 * the effective numbers of rows.
 */
static double
distance(const change_series *series, size_t first, size_t middle, size_t end,
		 double *c)
{
	const double *sum[3] = {
		series->sum + first * series->length,
		series->sum + middle * series->length,
		series->sum + end * series->length
	};
	double		n1 = series->rows[middle] - series->rows[first];
	double		n2 = series->rows[end] - series->rows[middle];
	double		square = 0;

	for (size_t j = 0; j < series->length; j++)
	{
		double		gap = ((sum[2][j] - sum[1][j]) / n2 -
						   (sum[1][j] - sum[0][j]) / n1);

		square += gap * gap;
	}
	*c = 1.0 / n1 + 1.0 / n2;
	return square / *c;
}

/*
 * Returns the mean of a column over days [first, end). Sets *variance to the
 * variance of the column over all rows of these days.
 */
static double
mean_of_days(const change_series *series, size_t first, size_t end,
			 size_t column, double *variance)
{
	size_t		d = series->spec->dim;
	double		n = series->rows[end] - series->rows[first];
	double		mean = ((series->mean[end * d + column] -
						 series->mean[first * d + column]) /
						n);

	*variance = fmax((series->square[end * d + column] -
					  series->square[first * d + column]) /
					 n -
					 mean * mean,
					 0.0);
	return mean;
}

/*
 * Returns Student's t for the difference of a column's means in [middle, end)
 * and [first, middle). The variance used is the largest of the variances of
 * both sides and the variance between days.
 */
static double
student(const change_series *series, size_t first, size_t middle, size_t end,
		size_t column)
{
	double		variance[2];
	double		before = mean_of_days(series, first, middle, column, &variance[0]);
	double		gap = (mean_of_days(series, middle, end, column, &variance[1]) -
					   before);
	double		max = fmax(fmax(variance[0], variance[1]),
						   fmax(series->between[column],
								MIN_SQUARE * before * before));
	double		c = (1.0 / (series->rows[middle] - series->rows[first]) +
					 1.0 / (series->rows[end] - series->rows[middle]));

	return gap == 0 ? 0 : gap / sqrt(c * max);
}

/* ---- the null distribution of a day ---- */

/*
 * Sets series->between for each column: the variance of the means of days
 * [start, end), times the rows of a day.
 */
static void
learn_columns(const change_series *series, size_t start, size_t end)
{
	for (size_t i = 0; i < series->spec->dim; i++)
	{
		double		variance;
		double		mean = mean_of_days(series, start, end, i, &variance);

		series->between[i] = 0;
		for (size_t t = start; t < end; t++)
		{
			double		gap = (mean_of_days(series, t, t + 1, i, &variance) - mean);

			series->between[i] += gap * gap *
				(series->rows[t + 1] - series->rows[t]) /
				(double) (end - start - 1);
		}
	}
}

static void
learn_null(const change_series *series, size_t first, size_t end, day_null *law)
{
	size_t		days = smaller(end - first, MAX_NULL_DAYS);
	size_t		start = end - days;
	double		nu = (double) days - 1.0;
	double		n = series->rows[end] - series->rows[start];
	double		trace[4] = {0};
	int			size = (int) days;
	int			length = (int) series->length;

	for (size_t a = 0; a < days; a++)
	{
		const double *sum = series->sum + (start + a) * series->length;
		double		rows = (series->rows[start + a + 1] - series->rows[start + a]);

		for (size_t j = 0; j < series->length; j++)
			series->u[a * series->length + j] = (sum[series->length + j] - sum[j]) / sqrt(rows) -
				sqrt(rows) *
				(series->sum[end * series->length + j] -
				 series->sum[start * series->length + j]) /
				n;
	}
	fc_check();
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size, size, length,
				1.0, series->u, length, series->u, length, 0.0, series->gram,
				size);
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size,
				1.0, series->gram, size, series->gram, size, 0.0, series->gram2,
				size);
	for (size_t a = 0; a < days; a++)
		trace[1] += series->gram[a * days + a] / nu;
	for (size_t i = 0; i < days * days; i++)
	{
		trace[2] += series->gram[i] * series->gram[i] / (nu * nu);
		trace[3] += series->gram[i] * series->gram2[i] / (nu * nu * nu);
	}
	law->days = days;
	law->trace = trace[1];
	law->null = fc_wave_possible(trace[1],
								 nu * nu / ((nu - 1.0) * (nu + 2.0)) *
								 (trace[2] - trace[1] * trace[1] / nu),
								 pow(nu, 4.0) /
								 ((nu - 1.0) * (nu - 2.0) * (nu + 2.0) * (nu + 4.0)) *
								 (trace[3] - 3.0 / nu * trace[2] * trace[1] +
								  2.0 / (nu * nu) * pow(trace[1], 3.0)));
	law->null.square *= 1.0 + 2.0 / nu;
	law->null.cube *= 1.0 + 6.0 / nu;
	learn_columns(series, start, end);
}

/*
 * Re-estimates the null distribution whenever the number of days since the
 * last change has grown by 1/8. The estimate from before a change stays in use
 * for NEW_NULL_DAYS.
 */
static void
update_null(const change_series *series, size_t first, size_t end,
			size_t *learned, day_null *law)
{
	size_t		days = end - first;

	if (days < FC_CHANGE_HISTORY ||
		(*learned == 0 && law->days > 0 && days < NEW_NULL_DAYS) ||
		days * 8 < *learned * 9)
		return;
	learn_null(series, first, end, law);
	*learned = days;
}

/* ---- a change ---- */

static void
describe_change(const change_series *series, size_t first, const day_null *law,
				const fc_sketch_view *last, fc_arena *arena, fc_change *change)
{
	double		c;
	size_t		end = change->found + 1;
	double		excess = (distance(series, first, change->first, end, &c) -
						  law->trace);
	double		variance[2];

	change->effect = fc_spec_basis(series->spec) != NULL
		? NAN
		: sqrt(fmax(c * excess, 0.0) /
			   fmax(fc_wave_response(last, arena), 1e-30));
	change->column = 0;
	for (size_t i = 1; i < series->spec->dim; i++)
		if (fabs(student(series, first, change->first, end, i)) >
			fabs(student(series, first, change->first, end, change->column)))
			change->column = i;
	change->shift = mean_of_days(series, change->first, end, change->column,
								 &variance[1]) -
		mean_of_days(series, first, change->first, change->column,
					 &variance[0]);
	change->shift /= variance[0] > 0 ? sqrt(variance[0]) : 1.0;
}

/* Returns P(|T| >= t) for Student's t with `freedom` degrees of freedom. */
static double
student_tail(double t, double freedom)
{
	return erfc(sqrt(0.5 * fc_student_square(t * t, freedom)));
}

/*
 * Returns true if the last of the days [first, end) is an alarm. Sets first,
 * found and p_value of *change. If a column has the smallest p-value, the
 * change is placed before the window with the largest |t| of this column.
 * Otherwise it is placed before the window with the largest distance of the
 * waves.
 */
static bool
find_change(const change_series *series, size_t first, size_t end,
			const day_null *law, fc_change *change)
{
	size_t		d = series->spec->dim;
	size_t		windows = smaller(MAX_WINDOW, end - first - MIN_SEGMENT);
	double		square[MAX_WINDOW];
	size_t		column = d;		/* index of the column with the smallest
								 * p-value; d: the waves */
	double		min = 1;
	double		max = -1;
	double		c;

	for (size_t w = 0; w < windows; w++)
	{
		bool		tested = (w & (w + 1)) == 0;
		double		p;

		square[w] = distance(series, first, end - 1 - w, end, &c);
		p = tested ? fc_wave_tail(square[w] - law->trace, &law->null) : 1;
		column = p < min ? d : column;
		min = fmin(min, p);
		for (size_t i = 0; i < d; i++)
		{
			series->t[w * d + i] = fabs(student(series, first, end - 1 - w, end,
												i));
			p = tested ? (double) d * student_tail(series->t[w * d + i],
												   (double) law->days - 1.0)
				: 1;
			column = p < min ? i : column;
			min = fmin(min, p);
		}
	}
	for (size_t w = 0; w < windows; w++)
	{
		double		found = column < d ? series->t[w * d + column] : square[w];

		if (found > max)
			change->first = end - 1 - w;
		max = fmax(max, found);
	}
	change->found = end - 1;
	change->p_value = fmin(1.0, 2.0 * WINDOWS * min);
	return change->p_value < ALARM_P_VALUE;
}

void
fc_find_changes(const fc_sketch_view *days, size_t count, fc_arena *arena,
				fc_change *changes, size_t *found)
{
	change_series series;
	day_null	law = {0};
	size_t		first = 0;
	size_t		learned = 0;

	*found = 0;
	if (count <= FC_CHANGE_HISTORY)
		return;
	read_days(days, count, arena, &series);
	for (size_t t = FC_CHANGE_HISTORY; t < count; t++)
	{
		fc_check();
		update_null(&series, first, t, &learned, &law);
		if (!find_change(&series, first, t + 1, &law, &changes[*found]))
			continue;
		describe_change(&series, first, &law, &days[changes[*found].first - 1],
						arena, &changes[*found]);
		first = changes[(*found)++].first;
		learned = 0;
	}
}
