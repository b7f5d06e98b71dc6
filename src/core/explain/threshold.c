/* threshold.c - a number between two values of a feature, as short as people write it; see threshold.h */
#include "explain/threshold.h"

#include <math.h>

/* Digits of a double, and one for the difference of two. */
#define MOST_DIGITS	18

/* Is there a multiple of up / down with low <= t < high?  Then the one nearest to their middle; one of up and down is 1. */
static bool
find_multiple(double low, double high, double up, double down, double *t)
{
	double		nearest = nearbyint((low / 2.0 + high / 2.0) / up * down);

	for (int i = 0; i < 3; i++)
	{
		static const double places[3] = {0.0, -1.0, 1.0};

		*t = (nearest + places[i]) * up / down;
		if (low <= *t && *t < high)
			return true;
	}
	return false;
}

/* The number of the coarsest power of ten as its unit; how many digits it has, 0 when there is none. */
static int
coarsest_decimal(double low, double high, double *t)
{
	int			first = (int) floor(log10(fmax(fabs(low), fabs(high)))) + 1;

	*t = 0.0;
	if (low <= 0.0 && 0.0 < high)
		return 1;
	for (int e = first; e >= first - MOST_DIGITS; e--)
		if (find_multiple(low, high, e > 0 ? pow(10.0, e) : 1.0, e < 0 ? pow(10.0, -e) : 1.0, t))
			return (int) floor(log10(fabs(*t))) - e + 1;
	return 0;
}

/* The number of fewest digits, one from the inner half where that has as few; low where there is none. */
static double
shortest_decimal(double low, double high)
{
	double		quarter = high / 4.0 - low / 4.0;
	double		t;
	double		inner;
	int			digits = coarsest_decimal(low, high, &t);
	int			inner_digits = coarsest_decimal(low + quarter, high - quarter, &inner);

	if (digits == 0)
		return low;
	return inner_digits > 0 && inner_digits <= digits ? inner : t;
}

/* Whole days, hours, minutes, seconds, or else a decimal. */
static double
shortest_time(double low, double high)
{
	static const double steps[] = {86400.0, 3600.0, 60.0, 1.0};
	double		t;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (find_multiple(low, high, steps[i], 1.0, &t))
			return t;
	return shortest_decimal(low, high);
}

static double
shortest_day(double low, double high)
{
	double		t;

	return find_multiple(low, high, 1.0, 1.0, &t) ? t : shortest_decimal(low, high);
}

static double
to_log(double x)
{
	return copysign(log1p(fabs(x)), x);
}

static double
from_log(double y)
{
	return copysign(expm1(fabs(y)), y);
}

fc_threshold
fc_short_threshold(fc_axis_kind kind, double low, double high)
{
	fc_threshold t = {low, low};

	switch (kind)
	{
		case FC_AXIS_LOG:
			t.shown = shortest_decimal(from_log(low), from_log(high));
			t.raw = to_log(t.shown);
			if (!isfinite(t.shown) || !(low <= t.raw && t.raw < high))
				t = (fc_threshold) {low, from_log(low)};
			return t;
		case FC_AXIS_DAYS:
			t.shown = shortest_day(low, high);
			break;
		case FC_AXIS_SECONDS:
			t.shown = shortest_time(low, high);
			break;
		case FC_AXIS_FLAG:
			t.shown = low <= 0.5 && 0.5 < high ? 0.5 : shortest_decimal(low, high);
			break;
		default:
			t.shown = shortest_decimal(low, high);
	}
	t.raw = t.shown;
	return t;
}
