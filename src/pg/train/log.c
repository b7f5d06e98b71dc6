/*
 * log.c - reports the steps of a training as notices, in training_progress and
 * in training_log
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/base/progress.h"
#include "pg/train/log.h"
#include "pg/train/query.h"

TimestampTz
begin_step(const training *t, const char *step)
{
	announce_step(t->options->quiet ? NULL
				  : psprintf("model \"%s\" version %d: %s",
							 t->model, t->version, step),
				  t->model_id, t->model, step,
				  strcmp(step, "sketch") == 0 || strstr(step, "scan ") != NULL
				  ? t->estimate
				  : 0,
				  t->begun);
	return GetCurrentTimestamp();
}

void
log_step(const training *t, const char *step, TimestampTz begun,
		 double objective, const char *note)
{
	double		seconds = (((double) GetCurrentTimestamp() - (double) begun) /
						   USECS_PER_SEC);
	query_argument arguments[] = {
		{"int8", Int64GetDatum(t->model_id)},
		{"int4", Int32GetDatum(t->version)},
		{"text", CStringGetTextDatum(step)},
		{"float8", Float8GetDatum(objective), isnan(objective)},
		{"float8", Float8GetDatum(seconds)},
		text_argument(note)
	};

	end_step();
	run_query("SELECT write_step($1, $2, $3, $4, $5, $6)", lengthof(arguments),
			  arguments, 0);
	if (!t->options->quiet)
		ereport(NOTICE,
				errmsg("model \"%s\" version %d: %s%s%s%s (%.2f s)", t->model,
					   t->version, step, note == NULL ? "" : ", ",
					   note == NULL ? "" : note,
					   isnan(objective)
					   ? ""
					   : psprintf(", mean squared distance %.6g",
								  objective),
					   seconds));
}
