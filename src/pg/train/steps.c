/* steps.c - the steps of a training as people see them: notices, training_progress, training_log */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/base/values.h"
#include "pg/train/train.h"

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

void
reject_no_rows(const training *t)
{
	char	   *condition = text_option(t->options, "where");

	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("%s has no rows with all features%s%s%s", t->source.relation, t->source.cosine ? " and a direction" : "",
					condition == NULL ? "" : " where ", condition == NULL ? "" : condition)));
}
