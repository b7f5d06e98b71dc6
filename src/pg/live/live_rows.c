/*
 * live_rows.c - rows of deltas that are stored in a bytea, sums and
 * differences of deltas, and the buckets of times
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/base/memory.h"
#include "pg/drift/drift_value.h"
#include "pg/live/live.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/*
 * Returns the size in bytes of one stored row of d dimensions. Raises an error
 * if the bytes are not a whole number of such rows.
 */
static Size
kept_row_bytes(const unsigned char *bytes, Size size, Size d)
{
	Size		width = size > 0 ? bytes[0] : 0;

	if ((width != sizeof(float) && width != sizeof(double)) ||
		(size - LIVE_ROWS_FRONT) % (d * width) != 0)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("%zu bytes are not a whole number of rows of %zu dimensions", size, d));
	return d * width;
}

static fc_row
kept_row(const unsigned char *bytes, Size at)
{
	fc_row		row = {.weight = FC_ONE_WEIGHT};

	if (bytes[0] == sizeof(float))
		row.floats = (const float *) (bytes + at);
	else
		row.doubles = (const double *) (bytes + at);
	return row;
}

void
live_add_rows(const fc_prepared *prepared, fc_sketch *sketch,
			  const unsigned char *bytes, Size size)
{
	Size		row_bytes = kept_row_bytes(bytes, size, prepared->d);
	fc_sketch_view view = fc_sketch_view_of(sketch);

	for (Size at = LIVE_ROWS_FRONT; at < size; at += row_bytes)
	{
		fc_row		row = kept_row(bytes, at);

		check_status(fc_sketch_add(prepared, &row, &view));
	}
}

fc_drift_counts *
live_count_rows(const fc_drift_spec *spec, fc_drift_counts *counts,
				const unsigned char *bytes, Size size)
{
	const fc_drift_prepared *prepared = drift_prepared_of_spec(spec);
	Size		row_bytes = kept_row_bytes(bytes, size, spec->dim);

	for (Size at = LIVE_ROWS_FRONT; at < size; at += row_bytes)
	{
		fc_row		row = kept_row(bytes, at);

		counts = drift_counts_add_row(prepared, row.doubles, row.floats, 1,
									  counts);
	}
	return counts;
}

/*
 * Takes (state, spec, rows, sketch). Transition function: adds the rows and
 * the sketch, unless they are NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_live_sum);
Datum
fastclust_live_sum(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 1, "spec");
	if (PG_ARGISNULL(2) && PG_ARGISNULL(3))
		return unchanged_state(fcinfo);
	state = PG_ARGISNULL(0) ? sketch_unpack(NULL, SPEC_ARG(1))
		: sketch_unpack(SKETCH_ARG(0), NULL);
	if (!PG_ARGISNULL(2))
	{
		const bytea *rows = PG_GETARG_BYTEA_PP(2);

		live_add_rows(prepared_of_spec(fc_sketch_spec(state)), state,
					  (const unsigned char *) VARDATA_ANY(rows),
					  VARSIZE_ANY_EXHDR(rows));
	}
	if (!PG_ARGISNULL(3))
		state = sketch_combined(state, sketch_pack(SKETCH_ARG(3)), 1);
	PG_RETURN_POINTER(state);
}

/*
 * Takes (state, drift_spec, rows, counts). Transition function: adds the rows
 * and the counts, unless they are NULL. If drift_spec is NULL, the state
 * remains NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_live_count);
Datum
fastclust_live_count(PG_FUNCTION_ARGS)
{
	fc_drift_spec *spec;
	fc_drift_counts *state;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1) || (PG_ARGISNULL(2) && PG_ARGISNULL(3)))
		return unchanged_state(fcinfo);
	spec = DRIFT_SPEC_ARG(1);
	state = PG_ARGISNULL(0) ? new_drift_counts(spec, 0)
		: drift_counts_unpack(DRIFT_COUNTS_ARG(0));
	if (!PG_ARGISNULL(2))
	{
		const bytea *rows = PG_GETARG_BYTEA_PP(2);

		state = live_count_rows(spec, state,
								(const unsigned char *) VARDATA_ANY(rows),
								VARSIZE_ANY_EXHDR(rows));
	}
	if (!PG_ARGISNULL(3))
		state = drift_counts_combined(state,
									  drift_counts_pack(DRIFT_COUNTS_ARG(3)),
									  1);
	PG_RETURN_POINTER(state);
}

/*
 * Takes (sketch, counts, spec, drift_spec). Returns true if the sketch and the
 * counts were made with these specs. Counts and drift_spec may both be NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_is_live_group);
Datum
fastclust_is_live_group(PG_FUNCTION_ARGS)
{
	bool		sketched = (!PG_ARGISNULL(0) && !PG_ARGISNULL(2) &&
							fc_spec_same(fc_sketch_spec(SKETCH_ARG(0)), SPEC_ARG(2)));
	bool		counted = (!PG_ARGISNULL(1) && !PG_ARGISNULL(3) &&
						   fc_drift_counts_of_spec(DRIFT_COUNTS_ARG(1),
												   DRIFT_SPEC_ARG(3)));

	PG_RETURN_BOOL(sketched &&
				   (counted || (PG_ARGISNULL(1) && PG_ARGISNULL(3))));
}

/*
 * Takes (added, removed). Returns the sketch of the rows that were added and
 * not removed, or NULL if no row remains. Raises an error if more rows were
 * removed than added. The minimum and maximum of each column are unknown in
 * the result, which therefore depends only on the present rows.
 */
PG_FUNCTION_INFO_V1(fastclust_live_difference);
Datum
fastclust_live_difference(PG_FUNCTION_ARGS)
{
	fc_sketch  *left = PG_ARGISNULL(0) ? NULL : sketch_pack(SKETCH_ARG(0));
	fc_sketch  *removed = PG_ARGISNULL(1) ? NULL : sketch_pack(SKETCH_ARG(1));
	int64		came = left == NULL ? 0 : left->count;
	int64		went = removed == NULL ? 0 : removed->count;

	if (went > came)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("a live sketch counts more removed rows than added rows"),
				errdetail("It counts %lld added and %lld removed rows.",
						  (long long) came, (long long) went),
				errhint("Rows of its table changed while the triggers did not fire. Recount the live sketch with rebuild_sketch."));
	if (went == came)
		PG_RETURN_NULL();
	left = sketch_copy(left);
	if (removed != NULL)
		left = sketch_combined(left, removed, -1);
	sketch_forget_bounds(left);
	PG_RETURN_POINTER(sketch_pack(left));
}

/*
 * Takes (state, sketch, weight). Transition function: adds the rows of the
 * sketch, each with this weight. Adds nothing if the sketch is NULL or the
 * weight is 0.
 */
PG_FUNCTION_INFO_V1(fastclust_weighted_merge);
Datum
fastclust_weighted_merge(PG_FUNCTION_ARGS)
{
	int64		weight;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 2, "weight");
	check_status(fc_weight_on_grid(PG_GETARG_FLOAT8(2), &weight));
	if (PG_ARGISNULL(1) || weight == 0)
		return unchanged_state(fcinfo);
	PG_RETURN_POINTER(sketch_combined_weighted(PG_ARGISNULL(0) ? NULL
											   : SKETCH_ARG(0),
											   sketch_pack(SKETCH_ARG(1)),
											   weight));
}

/*
 * Takes (time, width), where the width has no months. Returns the start of the
 * bucket that contains the time; an infinite time is its own bucket. Buckets
 * are counted from a Monday, so that weeks begin on Mondays.
 */
PG_FUNCTION_INFO_V1(fastclust_bucket_of_time);
Datum
fastclust_bucket_of_time(PG_FUNCTION_ARGS)
{
	const int64 monday = 2 * USECS_PER_DAY; /* 2000-01-03 */
	TimestampTz time = PG_GETARG_TIMESTAMPTZ(0);
	const Interval *interval = PG_GETARG_INTERVAL_P(1);
	int64		width;
	int64		past;

	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &width) ||
		pg_add_s64_overflow(width, interval->time, &width))
		width = 0;
	check_count("width", width, 1, PG_INT64_MAX);
	if (TIMESTAMP_NOT_FINITE(time))
		PG_RETURN_TIMESTAMPTZ(time);
	past = (time - monday) % width;
	if (past < 0)
		past += width;
	if (time < MIN_TIMESTAMP + past)
		PG_RETURN_TIMESTAMPTZ(MIN_TIMESTAMP);
	PG_RETURN_TIMESTAMPTZ(time - past);
}
