/* change_points_fn.c - change_points: when did the rows of dated sketches change? */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "drift/changes.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/sketch/sketch_value.h"

#define QUERY_HINT	"A query is one SELECT of a time and a sketch, such as 'SELECT day, s FROM daily'."

/* Error callback: PostgreSQL's errors about the shape of a query have no hint. */
static void
hint_query(void *unused)
{
	switch (geterrcode())
	{
		case ERRCODE_SYNTAX_ERROR:
		case ERRCODE_INVALID_COLUMN_REFERENCE:
		case ERRCODE_CANNOT_COERCE:
			errhint(QUERY_HINT);
	}
}

/* Dates and sketches of the query, those of two rows at least; how many. */
static Size
read_dated_sketches(const char *query, Oid sketch_type, TimestampTz **dates, const fc_sketch ***days)
{
	Size		count = 0;
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = hint_query};
	SPIPlanPtr	plan;

	error_context_stack = &callback;
	/* the caller's query, with his rights and his search_path */
	plan = SPI_prepare_cursor(psprintf("SELECT q.at::pg_catalog.timestamptz, q.s::fastclust.sketch FROM (%s\n) q(at, s) ORDER BY 1", query), 0, NULL, 0);
	error_context_stack = callback.previous;
	if (plan == NULL || !SPI_is_cursor_plan(plan) || SPI_execute_plan(plan, NULL, NULL, true, 0) != SPI_OK_SELECT ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) != TIMESTAMPTZOID || SPI_gettypeid(SPI_tuptable->tupdesc, 2) != sketch_type)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must be one SELECT of dates and sketches"),
				 errhint(QUERY_HINT)));
	*dates = palloc(Max(1, SPI_processed) * sizeof(TimestampTz));
	*days = palloc(Max(1, SPI_processed) * sizeof(fc_sketch *));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		null[2];
		Datum		date = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null[0]);
		Datum		value = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &null[1]);
		const fc_sketch *sketch = null[0] || null[1] ? NULL : sketch_closed((fc_sketch *) aligned_value(value));

		CHECK_FOR_INTERRUPTS();
		if (sketch == NULL || sketch->count < 2 || !(fc_sketch_total_weight(sketch) > 0))
			continue;
		if (count > 0 && !fc_spec_same(fc_sketch_spec((*days)[0]), fc_sketch_spec(sketch)))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("the sketches are not of one sketch_spec"),
					 errhint("Use sketch_agg(x, (SELECT model_spec(model))) for all of them.")));
		(*dates)[count] = DatumGetTimestampTz(date);
		(*days)[count++] = sketch;
	}
	return count;
}

/* (query): rows (changed_at, found_at, p_value, effect, dimension, shift) */
static Datum
change_points(FunctionCallInfo fcinfo)
{
	TimestampTz *dates;
	const fc_sketch **days;
	fc_change  *changes;
	fc_arena	arena;
	Size		count;
	Size		found;

	require_argument(fcinfo, 0, "query");
	fastclust_begin_rows(fcinfo);
	SPI_connect();
	count = read_dated_sketches(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("sketch"), ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo->fn_oid))),
								&dates, &days);
	if (count <= FC_CHANGE_HISTORY)
		ereport(NOTICE,
				(errmsg("%zu sketches of two rows or more are too few: the first that is judged is number %d", count, FC_CHANGE_HISTORY + 1)));
	changes = palloc(Max(1, count) * sizeof(fc_change));
	arena = make_arena("change_points");
	fc_find_changes(days, count, &arena, changes, &found);
	for (Size i = 0; i < found; i++)
	{
		const fc_change *change = &changes[i];
		Datum		values[6] = {TimestampTzGetDatum(dates[change->first]), TimestampTzGetDatum(dates[change->found]), Float8GetDatum(change->p_value),
		Float8GetDatum(change->effect), Int32GetDatum((int32) change->column + 1), Float8GetDatum(change->shift)};

		put_row(fcinfo, values, (bool[]) {false, false, false, isnan(change->effect), false, false});
	}
	release_arena(&arena);
	SPI_finish();
	return (Datum) 0;
}

SQL_FUNCTION(fastclust_change_points)
{
	return call_like_language(change_points, fcinfo);
}
