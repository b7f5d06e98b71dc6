/*
 * threshold.c - a number with few digits between two values of a feature, for
 * thresholds; see internal.h
 */
#include "explain/internal.h"

/*
 * Maximum number of digits: 17 for a double, and 1 more for a difference of
 * two doubles.
 */
#define MAX_DIGITS	18

/*
 * Relative rounding error of a value. Rows are stored as floats, as
 * differences from a mean.
 */
#define ROUNDING	0x1p-23

/*
 * Returns the upper limit of a threshold between low and high. The value
 * `high` may have been rounded up. The limit is therefore below high by the
 * rounding error of a float, but by no more than a quarter of the gap between
 * low and high.
 */
static double
below_rounding(double low, double high)
{
	return high -
		fmin(high / 4.0 - low / 4.0, ROUNDING * fmax(fabs(low), fabs(high)));
}

/*
 * Sets *t to a multiple of up / down near the middle of low and high, with low
 * <= *t < high. One of up and down is 1. Returns false, with *t undefined, if
 * there is no such multiple.
 */
static bool
find_multiple(double low, double high, double up, double down, double *t)
{
	double		limit = below_rounding(low, high);
	double		nearest = nearbyint((low / 2.0 + high / 2.0) / up * down);

	for (int i = 0; i < 3; i++)
	{
		static const double places[3] = {0.0, -1.0, 1.0};

		*t = (nearest + places[i]) * up / down;
		if (low <= *t && *t < limit)
			return true;
	}
	return false;
}

/*
 * Sets *t to a number between low and high that is a multiple of the greatest
 * possible power of ten. Returns the number of digits of *t, or 0 if there is
 * no such number.
 */
static int
coarsest_decimal(double low, double high, double *t)
{
	int			first = (int) floor(log10(fmax(fabs(low), fabs(high)))) + 1;

	*t = 0.0;
	if (low <= 0.0 && 0.0 < below_rounding(low, high))
		return 1;
	for (int e = first; e >= first - MAX_DIGITS; e--)
		if (find_multiple(low, high, e > 0 ? pow(10.0, e) : 1.0,
						  e < 0 ? pow(10.0, -e) : 1.0, t))
			return (int) floor(log10(fabs(*t))) - e + 1;
	return 0;
}

/*
 * Returns a number between low and high with the fewest digits. The number is
 * between inner_low and inner_high if this needs no more digits. Returns low
 * if there is no such number.
 */
static double
shortest_decimal(double low, double high, double inner_low, double inner_high)
{
	double		t;
	double		inner;
	int			digits = coarsest_decimal(low, high, &t);
	int			inner_digits = (inner_low < inner_high
								? coarsest_decimal(inner_low, inner_high, &inner)
								: 0);

	if (digits == 0)
		return low;
	return inner_digits > 0 && inner_digits <= digits ? inner : t;
}

/*
 * Tries the steps in order. Sets *t to a multiple of the first step that has
 * one between low and high. Returns false if no step has one.
 */
static bool
find_step(const double *steps, size_t count, double low, double high, double *t)
{
	for (size_t i = 0; i < count; i++)
		if (find_multiple(low, high, steps[i], 1.0, t))
			return true;
	return false;
}

static double
from_log(double y)
{
	return copysign(expm1(fabs(y)), y);
}

fc_threshold
fc_short_threshold(fc_axis_kind kind, double low, double high)
{
	static const double day[] = {1.0};
	static const double times[] = {86400.0, 3600.0, 60.0, 1.0};
	double		quarter = high / 4.0 - low / 4.0;
	fc_threshold t;

	if (kind == FC_AXIS_LOG)
	{
		high = below_rounding(low, high);
		t.shown = shortest_decimal(from_log(low), from_log(high),
								   from_log(low + quarter),
								   from_log(high - quarter));
		t.raw = copysign(log1p(fabs(t.shown)), t.shown);
		return isfinite(t.shown) && low <= t.raw && t.raw < high
			? t
			: (fc_threshold)
		{
			low, from_log(low)
		};
	}
	if (kind == FC_AXIS_FLAG && low <= 0.5 && 0.5 < high)
		t.shown = 0.5;
	else if (!(kind == FC_AXIS_DAYS &&
			   find_step(day, 1, low, high, &t.shown)) &&
			 !(kind == FC_AXIS_SECONDS &&
			   find_step(times, 4, low, high, &t.shown)))
		t.shown = shortest_decimal(low, high, low + quarter, high - quarter);
	t.raw = t.shown;
	return t;
}
