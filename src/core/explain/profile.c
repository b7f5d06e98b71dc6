/*
 * profile.c - differences of a centroid from the mean of all rows; see
 * explain.h
 */
#include "explain/explain.h"

#include "base/sort.h"

/*
 * Absolute value of a centroid's coordinate, in standard deviations, below
 * which it counts as 0. Centroids are stored as floats, so that such a value
 * is only their rounding error.
 */
#define ROUNDING	1e-7

/* Largest argument for which exp is finite. */
#define MAX_LOG	709.0

/* Converts a stored value to the units shown to users. */
static double
own_unit(fc_axis_kind kind, double raw)
{
	if (kind == FC_AXIS_LOG)
		return copysign(expm1(fmin(fabs(raw), MAX_LOG)), raw);
	if (kind == FC_AXIS_FLAG)
		return fmin(1.0, fmax(0.0, raw));
	return raw;
}

/* Returns q log(q / p), or 0 if q is 0. */
static double
divergence_term(double q, double p)
{
	return q > 0.0 ? q * log(q / p) : 0.0;
}

static double
telling(fc_axis_kind kind, const fc_profile_cell *cell)
{
	double		q = cell->value;
	double		p = cell->overall;

	if (isnan(cell->difference))
		return 0.0;
	if (kind != FC_AXIS_FLAG || !(p > 0.0 && p < 1.0))
		return fabs(cell->difference);
	return sqrt(2.0 * fmax(0.0, divergence_term(q, p) +
						   divergence_term(1.0 - q, 1.0 - p)));
}

static fc_profile_cell
cell_of(fc_axis_kind kind, uint32_t axis, double centroid, const double *other,
		double mean, double deviation)
{
	fc_profile_cell cell = {.axis = axis,.difference = NAN,.lift = NAN};

	if (deviation > 0.0 && other != NULL)
		cell.apart = (centroid - *other) / deviation;
	if (fabs(centroid) < ROUNDING * deviation)
		centroid = 0.0;
	cell.value = own_unit(kind, centroid);
	cell.overall = own_unit(kind, mean);
	if (deviation > 0.0)
		cell.difference = (centroid - mean) / deviation;
	if (kind == FC_AXIS_FLAG && cell.overall > 0.0)
		cell.lift = cell.value / cell.overall;
	cell.telling = telling(kind, &cell);
	return cell;
}

/*
 * Returns the cell of a cyclic column. Each pointer has two values, for the
 * cosine and the sine; `other` may be NULL. The fields `value` and `overall`
 * remain 0.
 */
static fc_profile_cell
cyclic_cell(uint32_t axis, const double *centroid, const double *other,
			const double *mean, const double *deviation)
{
	fc_profile_cell cell = {.axis = axis,.difference = NAN,.lift = NAN};
	double		scale = hypot(deviation[0], deviation[1]);

	if (!(scale > 0.0))
		return cell;
	cell.telling = hypot(centroid[0] - mean[0], centroid[1] - mean[1]) / scale;
	cell.difference = copysign(cell.telling, mean[0] * centroid[1] -
							   mean[1] * centroid[0]);
	if (other != NULL)
		cell.apart = hypot(centroid[0] - other[0], centroid[1] - other[1]) / scale;
	return cell;
}

/*
 * Sorts the axes of d cells by |apart| or by `telling`, the greatest first;
 * the value of each item is an axis.
 */
static void
sort_axes(const fc_profile_cell *cells, bool by_apart, size_t d,
		  fc_keyed *items, fc_keyed *scratch)
{
	for (size_t i = 0; i < d; i++)
		items[i] = (fc_keyed)
	{
		~fc_number_key(by_apart ? fabs(cells[i].apart)
					   : cells[i].telling),
			i
	};
	fc_sort(items, d, scratch);
}

void
fc_profile_cluster(const fc_axis_kind *kinds, const double *centroid,
				   const double *other, const double *mean,
				   const double *deviation, size_t d, fc_arena *arena,
				   fc_profile_cell *cells)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_profile_cell *unsorted = FC_TAKE(arena, d, fc_profile_cell);
	fc_keyed   *items = FC_TAKE(arena, d, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, d, fc_keyed);

	for (size_t i = 0; i < d; i++)
	{
		const double *there = other != NULL ? other + i : NULL;

		unsorted[i] = (fc_profile_cell)
		{
			.axis = (uint32_t) i,.telling = -1.0
		};
		if (i + 1 < d && kinds[i + 1] == FC_AXIS_SINE)
			unsorted[i] = cyclic_cell((uint32_t) i, centroid + i, there, mean + i, deviation + i);
		else if (kinds[i] != FC_AXIS_SINE)
			unsorted[i] = cell_of(kinds[i], (uint32_t) i, centroid[i], there, mean[i],
								  deviation[i]);
	}
	sort_axes(unsorted, true, d, items, scratch);
	for (size_t i = 0; i < d; i++)
		unsorted[items[i].value].apart_place = i;
	sort_axes(unsorted, false, d, items, scratch);
	for (size_t i = 0; i < d; i++)
		cells[i] = unsorted[items[i].value];
	fc_arena_release(arena, mark);
}
