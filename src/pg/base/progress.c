/*
 * progress.c - what a long step says while it works.
 *
 * A step is announced by its name and belongs to the transaction that announced it: after an error
 * the next transaction has another start, and nothing is reported for the old step.
 */
#include "pg/base/progress.h"

#include "access/xact.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

int			fastclust_progress_interval = 10000;

static struct
{
	char		name[256];		/* empty: no step */
	TimestampTz transaction;	/* that announced it */
	TimestampTz begun;
	TimestampTz reported;
}			step;

void
report_progress(void)
{
	TimestampTz now;

	if (step.name[0] == '\0' || fastclust_progress_interval == 0)
		return;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(step.reported, now, fastclust_progress_interval) ||
		step.transaction != GetCurrentTransactionStartTimestamp())
		return;
	step.reported = now;
	ereport(NOTICE,
			(errmsg("%s, %.0f s so far", step.name, (double) (now - step.begun) / USECS_PER_SEC)));
}

/* (name): the step that begins; NULL: the last one has ended. */
PG_FUNCTION_INFO_V1(fastclust_announce_step);
Datum
fastclust_announce_step(PG_FUNCTION_ARGS)
{
	step.name[0] = '\0';
	if (!PG_ARGISNULL(0))
		text_to_cstring_buffer(PG_GETARG_TEXT_PP(0), step.name, sizeof(step.name));
	step.transaction = GetCurrentTransactionStartTimestamp();
	step.begun = step.reported = GetCurrentTimestamp();
	PG_RETURN_VOID();
}
