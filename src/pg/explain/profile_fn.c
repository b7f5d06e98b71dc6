/* profile_fn.c - profile_of_centroids: centroids beside the means of all rows; shown_value: a value as people read it */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "explain/explain.h"
#include "numerics/assignment.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/explain/explain.h"
#include "pg/operator/operator_value.h"

fc_axis_kind *
read_axis_kinds(Datum datum, Size d)
{
	double	   *numbers = read_float8_array(datum, (int) d, "kinds");
	fc_axis_kind *kinds = palloc(d * sizeof(fc_axis_kind));

	for (Size i = 0; i < d; i++)
	{
		check_count("kind", (int64) numbers[i], FC_AXIS_NUMBER, FC_AXIS_FLAG);
		kinds[i] = (fc_axis_kind) numbers[i];
	}
	return kinds;
}

/* ---- profile ---- */

#define MOST_COMPARED	1e9		/* values, for nearest centroids */

/*
 * (op, center, scale, means, deviations, kinds, most): rows (cluster, dimension, value, overall, difference, lift, place, apart), place 1 for
 * the most telling dimension: of each cluster the first `most`, and as many that set it apart most from the nearest other one, where clusters are
 * not too many to compare all pairs.  NULL center and scale: 0 and 1.
 */
SQL_FUNCTION(fastclust_profile_of_centroids)
{
	fc_operator op;
	fc_arena	arena;
	fc_profile_cell *cells;
	fc_axis_kind *kinds;
	double	   *part[4];
	double	   *centroids;
	double	   *distances;
	int32	   *nearest;
	Size		most;

	fastclust_begin_rows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(3) || PG_ARGISNULL(4) || PG_ARGISNULL(5) || PG_ARGISNULL(6))
		return (Datum) 0;
	open_operator(OPERATOR_ARG(0), &op);
	for (int i = 0; i < 4; i++)
		part[i] = numbers_argument(fcinfo, 1 + i, op.d, ((const char *[]) {"center", "scale", "means", "deviations"})[i]);
	kinds = read_axis_kinds(PG_GETARG_DATUM(5), op.d);
	check_count("most", PG_GETARG_INT32(6), 1, INT32_MAX);
	most = Min((Size) PG_GETARG_INT32(6), op.d);
	arena = make_arena("profile");
	cells = palloc(op.d * sizeof(fc_profile_cell));
	nearest = palloc(op.k * sizeof(int32));
	distances = palloc(op.k * sizeof(double));
	memset(nearest, -1, op.k * sizeof(int32));
	if ((double) op.k * (double) op.k * (double) op.d <= MOST_COMPARED)
	{
		centroids = centroids_in_units(&op, NULL, NULL);
		fc_nearest_others(centroids, op.k, op.d, nearest, distances);
		pfree(centroids);
	}
	centroids = centroids_in_units(&op, part[0], part[1]);
	for (Size j = 0; j < op.k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_profile_cluster(kinds, centroids + j * op.d, nearest[j] < 0 ? NULL : centroids + (Size) nearest[j] * op.d, part[2], part[3], op.d, &arena, cells);
		for (Size i = 0; i < op.d; i++)
		{
			const fc_profile_cell *cell = &cells[i];
			Datum		values[8] = {Int32GetDatum((int32) j), Int32GetDatum((int32) cell->axis + 1), Float8GetDatum(cell->value),
				Float8GetDatum(cell->overall), Float8GetDatum(cell->difference), Float8GetDatum(cell->lift), Int32GetDatum((int32) i + 1),
				Float8GetDatum(cell->apart)};
			bool		nulls[8] = {false, false, false, false, isnan(cell->difference), isnan(cell->lift), false, false};

			if (i < most || cell->apart_place < most)
				put_row(fcinfo, values, nulls);
		}
	}
	return (Datum) 0;
}

/* ---- values as people read them ---- */

/* The fewest digits that tell a double. */
static char *
shortest_number(double x)
{
	char	   *digits = palloc(DOUBLE_SHORTEST_DECIMAL_LEN);

	double_to_shortest_decimal_buf(x, digits);
	return digits;
}

/* With all its digits, or with four, or those before the point in groups of three. */
static char *
shown_number(double x, bool exact)
{
	char		digits[64];
	StringInfoData grouped;
	int			length;

	if (exact || !(fabs(x) < 1e15))
		return shortest_number(x);
	if (fabs(x) < 999.95)
	{
		snprintf(digits, sizeof(digits), "%.4g", x);
		return shortest_number(strtod(digits, NULL));
	}
	length = snprintf(digits, sizeof(digits), "%.0f", fabs(x));
	initStringInfo(&grouped);
	appendStringInfoString(&grouped, x < 0 ? "-" : "");
	for (int i = 0; i < length; i++)
	{
		appendStringInfoChar(&grouped, digits[i]);
		if ((length - 1 - i) % 3 == 0 && i + 1 < length)
			appendStringInfoChar(&grouped, ',');
	}
	return grouped.data;
}

static char *
shown_share(double x, bool exact)
{
	if (exact)
		return shortest_number(x);
	if (x > 0 && x < 0.0005)
		return pstrdup("< 0.1 %");
	return psprintf(fabs(x) < 0.0995 ? "%.2g %%" : "%.0f %%", round(1000 * x) / 10);
}

/* Days from 2000-01-01 on. */
static char *
shown_date(double days)
{
	int			year;
	int			month;
	int			day;

	j2date((int) floor(days) + POSTGRES_EPOCH_JDATE, &year, &month, &day);
	return psprintf("%04d-%02d-%02d%s", year > 0 ? year : 1 - year, month, day, year > 0 ? "" : " BC");
}

/* ".25" of as many digits as are not 0; nothing of 0. */
static char *
shown_fraction(int microseconds)
{
	char	   *digits;
	size_t		length;

	if (microseconds == 0)
		return "";
	digits = psprintf(".%06d", microseconds);
	for (length = strlen(digits); digits[length - 1] == '0'; length--)
		digits[length - 1] = '\0';
	return digits;
}

/* Seconds from there on: the nearest minute, or exactly, down to the microsecond, as far as it is not 0. */
static char *
shown_timestamp(double seconds, bool exact)
{
	double		whole = exact ? floor(seconds) : round(seconds / 60) * 60;
	int			micro = exact ? (int) Min(floor((seconds - whole) * 1e6 + 0.25), 999999) : 0;
	double		days = floor(whole / 86400);
	int			left = (int) (whole - 86400 * days);
	char	   *date = shown_date(days);

	if (exact && left == 0 && micro == 0)
		return date;
	if ((left % 60 == 0 && micro == 0) || !exact)
		return psprintf("%s %02d:%02d", date, left / 3600, left / 60 % 60);
	return psprintf("%s %02d:%02d:%02d%s", date, left / 3600, left / 60 % 60, left % 60, shown_fraction(micro));
}

/* "3 days 04:00:00": the nearest second, or exactly the last microsecond that is not after it. */
static char *
shown_interval(double seconds, bool exact)
{
	double		units = exact ? floor(seconds * 1e6 + 0.25) : round(seconds) * 1e6;
	double		size = floor(fabs(units) / 1e6);
	int			micro = (int) (fabs(units) - 1e6 * size);
	double		days = floor(size / 86400);
	int			left = (int) (size - 86400 * days);
	char	   *sign = units < 0 ? "-" : "";
	char	   *time = psprintf("%02d:%02d:%02d%s", left / 3600, left / 60 % 60, left % 60, shown_fraction(micro));

	if (days < 1)
		return psprintf("%s%s", sign, time);
	return psprintf("%s%.0f day%s%s%s", sign, days, days == 1 ? "" : "s", left > 0 || micro > 0 ? " " : "", left > 0 || micro > 0 ? time : "");
}

/* (value, kind, exact) */
SQL_FUNCTION(fastclust_shown_value)
{
	double		x = PG_GETARG_FLOAT8(0);
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool		exact = PG_GETARG_BOOL(2);
	char	   *shown = NULL;

	if (strcmp(kind, "category") == 0 || strcmp(kind, "boolean") == 0)
		shown = shown_share(x, exact);
	else if (strcmp(kind, "date") == 0 && x >= DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE && x < DATE_END_JULIAN - POSTGRES_EPOCH_JDATE)
		shown = shown_date(exact ? x : round(x));
	else if (strcmp(kind, "timestamp") == 0 && x >= (DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE) * 86400.0 && x < (TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE) * 86400.0)
		shown = shown_timestamp(x, exact);
	else if (strcmp(kind, "interval") == 0 && fabs(x) < 1e12)
		shown = shown_interval(x, exact);
	else if (strcmp(kind, "year") == 0 && !exact && x >= 1000 && x < 3000)
		shown = psprintf("%.0f", x);
	else
		shown = shown_number(x, exact);
	PG_RETURN_TEXT_P(cstring_to_text(shown));
}
