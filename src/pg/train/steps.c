/* steps.c - the job of a training, and its steps as people see them: notices, training_progress, training_log */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/base/values.h"
#include "pg/train/train.h"

/* ---- the job ---- */

static Datum
field(HeapTupleHeader record, const char *name, bool *null)
{
	return GetAttributeByName(record, name, null);
}

static char *
text_field(HeapTupleHeader record, const char *name)
{
	bool		null;
	Datum		value = field(record, name, &null);

	return null ? NULL : TextDatumGetCString(value);
}

static char *
text_or(HeapTupleHeader record, const char *name, char *missing)
{
	char	   *value = text_field(record, name);

	return value != NULL ? value : missing;
}

training *
open_training(Datum job)
{
	HeapTupleHeader record = DatumGetHeapTupleHeader(job);
	training   *t = palloc0(sizeof(training));
	bool		null;
	Datum		value;

	t->job = PointerGetDatum(record);
	value = field(record, "model_id", &null);
	t->model_id = null ? 0 : DatumGetInt64(value);
	t->model = text_or(record, "model", "");
	value = field(record, "version", &null);
	t->version = null ? 0 : DatumGetInt32(value);
	value = field(record, "source", &null);
	if (null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the source of a training_job must not be NULL")));
	open_source(value, &t->source);
	value = field(record, "k", &null);
	if (!null)
		check_count("k", DatumGetInt32(value), 1, FC_MAX_CLUSTERS);
	t->k = null ? 0 : (Size) DatumGetInt32(value);
	t->method = text_or(record, "method", "kmeans");
	t->note = text_field(record, "note");
	value = field(record, "options", &null);
	t->options = null ? DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"))) : DatumGetJsonbP(value);
	value = field(record, "seed", &null);
	t->seed = null ? 0 : DatumGetInt64(value);
	value = field(record, "estimate", &null);
	t->estimate = null ? 0 : DatumGetFloat8(value);
	value = field(record, "started_at", &null);
	t->begun = null ? 0 : DatumGetTimestampTz(value);
	t->recall = NAN;
	return t;
}

/* ---- steps ---- */

static bool
is_scan(const char *step)
{
	return strcmp(step, "sketch") == 0 || strstr(step, "scan ") != NULL;
}

TimestampTz
begin_step(const training *t, const char *step)
{
	announce_step(flag_option(t->options, "quiet", false) ? NULL : psprintf("model \"%s\" version %d: %s", t->model, t->version, step),
				  t->model_id, t->model, step, is_scan(step) ? t->estimate : 0, t->begun);
	return GetCurrentTimestamp();
}

/* A row of training_log. */
static void
write_step(const training *t, const char *step, double objective, double seconds, const char *note)
{
	query_argument arguments[] = {{"int8", Int64GetDatum(t->model_id)}, {"int4", Int32GetDatum(t->version)}, {"text", CStringGetTextDatum(step)},
	{"float8", Float8GetDatum(objective), isnan(objective)}, {"float8", Float8GetDatum(seconds)},
	{"text", note != NULL ? CStringGetTextDatum(note) : (Datum) 0, note == NULL}};

	run_query("SELECT write_step($1, $2, $3, $4, $5, $6)", lengthof(arguments), arguments, 0);
}

void
log_step(const training *t, const char *step, TimestampTz begun, double objective, const char *note)
{
	double		seconds = ((double) GetCurrentTimestamp() - (double) begun) / USECS_PER_SEC;

	end_step();
	write_step(t, step, objective, seconds, note);
	if (!flag_option(t->options, "quiet", false))
		ereport(NOTICE,
				(errmsg("model \"%s\" version %d: %s%s%s%s (%.2f s)", t->model, t->version, step, note == NULL ? "" : ", ", note == NULL ? "" : note,
						isnan(objective) ? "" : psprintf(", mean squared distance %.6g", objective), seconds)));
}

/* (name, model_id, model, step, rows_about): announce_step; the step NULL: the last one has ended. */
SQL_FUNCTION(fastclust_announce_step)
{
	if (PG_ARGISNULL(3))
		end_step();
	else if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
		announce_step(PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT64(1), text_to_cstring(PG_GETARG_TEXT_PP(2)),
					  text_to_cstring(PG_GETARG_TEXT_PP(3)), PG_ARGISNULL(4) ? 0 : PG_GETARG_FLOAT8(4), GetCurrentTimestamp());
	PG_RETURN_VOID();
}

/* (job, step): its beginning, as begin_step. */
SQL_FUNCTION(fastclust_begin_step)
{
	PG_RETURN_TIMESTAMPTZ(begin_step(open_training(PG_GETARG_DATUM(0)), text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

/* (job, step, begun, objective, note) */
SQL_FUNCTION(fastclust_log_step)
{
	training   *t;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	SPI_connect();
	t = open_training(PG_GETARG_DATUM(0));
	log_step(t, text_to_cstring(PG_GETARG_TEXT_PP(1)), PG_GETARG_TIMESTAMPTZ(2), PG_ARGISNULL(3) ? NAN : PG_GETARG_FLOAT8(3),
			 PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4)));
	SPI_finish();
	PG_RETURN_VOID();
}

void
reject_no_rows(const training *t)
{
	char	   *condition = text_option(t->options, "where");

	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("%s has no rows with all features%s%s%s", t->source.relation, t->source.cosine ? " and a direction" : "",
					condition == NULL ? "" : " where ", condition == NULL ? "" : condition)));
}

/* (job) */
SQL_FUNCTION(fastclust_reject_no_rows)
{
	reject_no_rows(open_training(PG_GETARG_DATUM(0)));
}
