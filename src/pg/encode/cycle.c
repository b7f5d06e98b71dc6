/*
 * cycle.c - the values of cyclic columns: the part of a date or a time that
 * repeats, in a time zone that the encoder stores
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "pg/encode/encode.h"

/* Number of days from 1 January 2000, a Saturday, to the next Monday. */
#define FIRST_MONDAY	2

/* Number of days in a leap year, in which every day of any year occurs. */
#define DAYS_OF_LEAP_YEAR	366

/* Leap year in which the days of all years are numbered. */
#define LEAP_YEAR	2000

pg_tz *
named_zone(const char *name, const char *column)
{
	pg_tz	   *zone = pg_tzset(name);

	if (zone == NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("time zone \"%s\"%s%s is not recognized", name,
					   column != NULL ? " of " : "", column != NULL ? column : ""),
				errhint("pg_timezone_names lists the time zones of this server."));
	return zone;
}

double
period_of_cycle(fc_cycle cycle, fc_feature_kind kind)
{
	if (cycle == FC_CYCLE_DAY)
		return SECS_PER_DAY;
	if (cycle == FC_CYCLE_WEEK)
		return kind == FC_FEATURE_DATE ? 7 : 7 * SECS_PER_DAY;
	return DAYS_OF_LEAP_YEAR;
}

/*
 * Converts seconds since 2000-01-01 00:00 UTC to seconds since 2000-01-01
 * 00:00 of the local time in a time zone.
 */
static double
local_seconds(double seconds, pg_tz *zone)
{
	struct pg_tm time;
	fsec_t		fraction;
	int			offset;

	if (timestamp2tm((Timestamp) rint(seconds * USECS_PER_SEC), &offset, &time,
					 &fraction, NULL, zone) != 0)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				errmsg("timestamp out of range"));
	return seconds - offset;
}

const char *
name_of_zone(pg_tz *zone)
{
	const char *name = pg_get_timezone_name(zone);

	for (int i = 0; i < 2; i++)
	{
		double		moment = i * 182.0 * SECS_PER_DAY;	/* 1 January, 1 July */
		Datum		local = DirectFunctionCall2(timestamptz_zone, CStringGetTextDatum(name),
												TimestampTzGetDatum((TimestampTz)
																	(moment * USECS_PER_SEC)));

		if (DatumGetTimestamp(local) != (Timestamp) (local_seconds(moment, zone) * USECS_PER_SEC))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("time zone \"%s\" is ambiguous", name),
					errdetail("AT TIME ZONE '%s', as rules say it, is an abbreviation with a fixed"
							  " offset.", name),
					errhint("Set TimeZone, or {\"encoder\": {\"zone\": ...}}, to the name of a city, such as"
							" Europe/Paris."));
	}
	return name;
}

void
make_cyclic(const value_reader *reader, fc_cycle cycle, pg_tz *zone, fc_feature_cell *cell)
{
	double		x = cell->number;
	double		day = SECS_PER_DAY;
	int			year;
	int			month;
	int			date;

	if (cycle == FC_CYCLE_NONE || cycle == FC_CYCLE_PERIOD ||
		reader->kind == FC_FEATURE_INTERVAL)
		return;
	if (zone != NULL && reader->source == SOURCE_TIMESTAMPTZ)
		x = local_seconds(x, zone);
	if (reader->kind == FC_FEATURE_DATE)
		day = 1;
	if (cycle == FC_CYCLE_DAY)
		cell->number = fc_in_period(x, day);
	else if (cycle == FC_CYCLE_WEEK)
		cell->number = fc_in_period(x - FIRST_MONDAY * day, 7 * day);
	else
	{
		j2date((int) floor(x / day) + POSTGRES_EPOCH_JDATE, &year, &month, &date);
		cell->number = date2j(LEAP_YEAR, month, date) - date2j(LEAP_YEAR, 1, 1);
	}
}

/*
 * Minimum length, from 0 to 1, of the mean of the two coordinates of a cyclic
 * column. The direction of a shorter mean is not shown as the mean of the
 * column. The mean of 100 random directions is shorter with a probability of
 * 63 %. A guess.
 */
#define MIN_MEAN_LENGTH	0.1

double
cyclic_mean(const fc_encoder_feature *feature, const double mean[2])
{
	return hypot(mean[0], mean[1]) < MIN_MEAN_LENGTH ? get_float8_nan()
		: fc_value_of_angle(feature, mean);
}

/*
 * Takes (encoder, dimension from 1, means). Returns the value of a cyclic
 * column that has the direction of the means of its two coordinates, or NaN if
 * these means are too small to have a direction. Returns NULL if the dimension
 * belongs to a column that is not cyclic.
 */
PG_FUNCTION_INFO_V1(fastclust_cyclic_mean);
Datum
fastclust_cyclic_mean(PG_FUNCTION_ARGS)
{
	fc_encoder	view;
	const fc_encoder_feature *feature = feature_argument(fcinfo, &view);
	double	   *means = read_float8_array(PG_GETARG_DATUM(2), (int) view.dim, "means");

	if (feature->cycle == FC_CYCLE_NONE)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(cyclic_mean(feature, means + feature->first));
}

/* ---- values as text ---- */

const cyclic_kind cyclic_kinds[FC_CYCLIC_KINDS] = {
	{"angle", FC_CYCLE_PERIOD, false},
	{"time of day", FC_CYCLE_DAY, false},
	{"time of week", FC_CYCLE_WEEK, false},
	{"day of week", FC_CYCLE_WEEK, true},
	{"day of year", FC_CYCLE_YEAR, false}
};

const cyclic_kind *
cyclic_kind_of(const fc_encoder_feature *feature)
{
	const cyclic_kind *kind = cyclic_kinds;

	while (kind->cycle != feature->cycle)
		kind++;
	return feature->cycle == FC_CYCLE_WEEK && feature->kind == FC_FEATURE_DATE
		? kind + 1
		: kind;
}

char *
text_of_time(double seconds, bool with_seconds)
{
	int			whole = (int) floor(seconds);
	int			micro = (int) Min(floor((seconds - whole) * USECS_PER_SEC + 0.25), 999999);
	StringInfoData time;

	initStringInfo(&time);
	appendStringInfo(&time, "%02d:%02d", whole / SECS_PER_HOUR, whole / SECS_PER_MINUTE % 60);
	if (with_seconds || whole % SECS_PER_MINUTE > 0 || micro > 0)
		appendStringInfo(&time, ":%02d", whole % SECS_PER_MINUTE);
	if (micro > 0)
	{
		appendStringInfo(&time, ".%06d", micro);
		while (time.data[time.len - 1] == '0')
			time.data[--time.len] = '\0';
	}
	return time.data;
}

char *
text_of_cyclic_value(const cyclic_kind *kind, double x, bool exact, bool literal)
{
	static const char *const weekdays[] = {
		"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
	};
	static const char *const months[] = {
		"January", "February", "March", "April", "May", "June", "July",
		"August", "September", "October", "November", "December"
	};
	bool		days = kind->date || kind->cycle == FC_CYCLE_YEAR;
	double		step = days ? 1 : SECS_PER_MINUTE;
	double		period = period_of_cycle(kind->cycle, kind->date ? FC_FEATURE_DATE
										 : FC_FEATURE_TIMESTAMP);
	int			place;
	int			month;
	char	   *time;

	if (kind->cycle == FC_CYCLE_PERIOD)
		return psprintf("%.12g", x);
	x = fc_in_period(exact ? x : rint(x / step) * step, period);
	place = (int) (days ? x : x / SECS_PER_DAY);
	if (kind->cycle == FC_CYCLE_YEAR)
	{
		j2date(date2j(LEAP_YEAR, 1, 1) + place, &month, &month, &place);
		return literal ? psprintf("'%02d-%02d'", month, place)
			: psprintf("%d %s", place, months[month - 1]);
	}
	if (kind->date)
		return literal ? psprintf("%d", place + 1) : pstrdup(weekdays[place]);
	time = text_of_time(x - (double) place * SECS_PER_DAY, false);
	if (kind->cycle == FC_CYCLE_DAY)
		return literal ? quote_literal_cstr(time) : time;
	return literal ? psprintf("'%d days %s'", place, time)
		: psprintf("%s %s", weekdays[place], time);
}
