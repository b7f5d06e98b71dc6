/*
 * progress.c - what a long step says while it works.
 *
 * A step is announced by its name and belongs to the transaction that announced it: after an error
 * the next transaction has another start, and nothing is reported for the old step.
 */
#include "pg/base/progress.h"

#include "access/xact.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/progress_board.h"

#define MOST_ROWS	1e18		/* as a bigint */

int			fastclust_progress_interval = 10000;

static struct
{
	char		name[256];		/* empty: no step, or a quiet one */
	double		rows_about;		/* of the scan that it is; 0: none */
	TimestampTz transaction;	/* that announced it */
	TimestampTz begun;
	TimestampTz reported;
}			step;

/* ", about 40 % of the rows"; the rows of parallel workers may not be known. */
static const char *
part_done(void)
{
	bool		all;
	uint64		rows = rows_on_board(&all);
	double		percent = step.rows_about > 0 ? 100.0 * (double) rows / step.rows_about : 0.0;

	if (rows == 0 || percent < 0.5)
		return "";
	return psprintf(", %s %.0f %% of the rows", all ? "about" : "at least", Min(percent, 100.0));
}

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
			(errmsg("%s, %.0f s so far%s", step.name, (double) (now - step.begun) / USECS_PER_SEC, part_done())));
}

void
report_rows(void)
{
	count_on_board(PROGRESS_ROWS);
	report_progress();
}

static void
copy_name(text *name, char *to, int size)
{
	int			bytes = pg_mbcliplen(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), size - 1);

	memcpy(to, VARDATA_ANY(name), bytes);
	to[bytes] = '\0';
}

/*
 * (name, model_id, model, step, rows_about, begun): the step of a training that began then begins.  The name stands in notices, NULL: no notices.
 * About so many rows will be scanned, NULL: none.  The step NULL: the last one has ended.
 */
PG_FUNCTION_INFO_V1(fastclust_announce_step);
Datum
fastclust_announce_step(PG_FUNCTION_ARGS)
{
	board_entry entry = {.pid = MyProcPid,.role = GetUserId(),.database = MyDatabaseId};

	step.name[0] = '\0';
	step.rows_about = 0;
	if (PG_ARGISNULL(3))
	{
		end_step_on_board();
		PG_RETURN_VOID();
	}
	require_argument(fcinfo, 1, "model_id");
	require_argument(fcinfo, 2, "model");
	require_argument(fcinfo, 5, "begun");
	if (!PG_ARGISNULL(0))
		copy_name(PG_GETARG_TEXT_PP(0), step.name, sizeof(step.name));
	entry.model_id = PG_GETARG_INT64(1);
	copy_name(PG_GETARG_TEXT_PP(2), entry.model, BOARD_NAME);
	copy_name(PG_GETARG_TEXT_PP(3), entry.step, BOARD_STEP);
	entry.rows_about = step.rows_about = PG_ARGISNULL(4) ? 0 : Min(PG_GETARG_FLOAT8(4), MOST_ROWS);
	entry.begun = PG_GETARG_TIMESTAMPTZ(5);
	if (TIMESTAMP_NOT_FINITE(entry.begun))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("begun must be a finite time")));
	entry.step_begun = step.begun = step.reported = GetCurrentTimestamp();
	step.transaction = GetCurrentTransactionStartTimestamp();
	post_on_board(&entry);
	PG_RETURN_VOID();
}
