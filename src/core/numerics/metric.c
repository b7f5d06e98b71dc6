/*
 * metric.c - rows on the unit sphere; see metric.h
 *
 * The squared length is summed in LANES lanes, coordinate i in lane i mod
 * LANES, without fused multiply-add, so that its bits depend on the row alone.
 * Rows whose squares could overflow or vanish are first multiplied by a power
 * of two, which is exact: all multiples of a row by powers of two become the
 * same unit row.
 */
#include "numerics/metric.h"

#include "base/lanes.h"

/*
 * Number of partial sums of a squared length. It is fixed, so that the result
 * does not depend on the length of the machine's vector registers.
 */
#define LANES	8

/* Range of the length of a row whose squares are summed without loss. */
#define SMALLEST	0x1p-400
#define LARGEST	0x1p400

const char *
fc_metric_name(fc_metric metric)
{
	static const char *const names[FC_METRICS] = {
		"euclidean",
		"cosine",
		"inner_product"
	};

	return names[metric];
}

double
fc_metric_distance(fc_metric metric, double measured)
{
	switch (metric)
	{
		case FC_COSINE:
			return 0.5 * measured;	/* ||x - c||^2 = 2 - 2 x . c */
		case FC_INNER_PRODUCT:
			return measured;
		default:
			return sqrt(measured);
	}
}

static double
sum_of_lanes(const vdouble sum[2 * QUAD])
{
	vdouble		half[QUAD];

	for (int i = 0; i < QUAD; i++)
		half[i] = sum[i] + sum[QUAD + i];
	return (FC_LANE(half, DOUBLES, 0) + FC_LANE(half, DOUBLES, 2)) +
		(FC_LANE(half, DOUBLES, 1) + FC_LANE(half, DOUBLES, 3));
}

/* Returns the sum of the squares of x, in LANES lanes. */
static double
square_in_lanes(const double *x, size_t d)
{
	vdouble		sum[2 * QUAD] = {{0}};
	double		tail[LANES] = {0};
	size_t		i = 0;

	for (; i + LANES <= d; i += LANES)
		for (size_t v = 0; v < 2 * QUAD; v++)
			sum[v] += *(const vdouble *) (x + i + v * DOUBLES) *
				*(const vdouble *) (x + i + v * DOUBLES);
	for (size_t lane = 0; i + lane <d; lane ++)
		tail[lane] = x[i + lane] * x[i + lane];
	for (size_t v = 0; v < 2 * QUAD; v++)
		sum[v] += *(const vdouble *) (tail + v * DOUBLES);
	return sum_of_lanes(sum);
}

/*
 * Computes unit = 2^-exponent x, with a greatest magnitude in [1/2, 1).
 * Returns false if all values are 0.
 */
static bool
scale_row(const double *x, size_t d, double *unit)
{
	double		max = 0.0;
	bool		zero = true;
	int			exponent;

	for (size_t i = 0; i < d; i++)
	{
		max = fmax(max, fabs(x[i]));
		zero = zero && x[i] == 0.0;
	}
	if (zero)
		return false;
	(void) frexp(max, &exponent);
	for (size_t i = 0; i < d; i++)
		unit[i] = ldexp(x[i], -exponent);
	return true;
}

bool
fc_unit_row(const double *x, size_t d, double *unit)
{
	double		square = square_in_lanes(x, d);
	double		length;

	if (!(square >= SMALLEST * SMALLEST && square <= LARGEST * LARGEST))
	{
		if (!scale_row(x, d, unit))
			return false;
		x = unit;
		square = square_in_lanes(x, d);
	}
	length = sqrt(square);
	for (size_t i = 0; i < d; i++)
		unit[i] = x[i] / length;
	return true;
}

bool
fc_unit_float_row(const float *x, size_t d, double *unit)
{
	fc_widen(x, d, unit);
	return fc_unit_row(unit, d, unit);
}

bool
fc_unit_sparse_row(const uint32_t *indices, size_t count, double *values)
{
	double		lanes[LANES] = {0};
	double		length;

	for (size_t p = 0; p < count; p++)
		lanes[indices[p] % LANES] += values[p] * values[p];
	length = sqrt(sum_of_lanes((const vdouble *) lanes));
	for (size_t p = 0; length != 0.0 && p < count; p++)
		values[p] /= length;
	return length != 0.0;
}
