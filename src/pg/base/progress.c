/*
 * progress.c - estimates of how long work takes, notices during a long step,
 * and a board of the running trainings that other sessions can read
 *
 * A step is announced with its name and belongs to the transaction that
 * announced it. After an error the next transaction has another start time,
 * and the old step is not reported any more.
 *
 * The board is in shared memory: a named segment if the server has them (17
 * and later), else memory that the module requested when it was in
 * shared_preload_libraries. If neither is available, there is no board, and
 * each process counts only its own rows.
 *
 * A process takes a slot of the board when it first writes its training to the
 * board. It keeps the slot until the (sub)transaction of that write ends, or
 * until the process ends. A slot is read and written under its spinlock, which
 * is held only while the slot is copied. Rows are counted without a lock: the
 * leader and its workers add their rows, about a thousand at a time.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/progress.h"

/* Length in bytes to which the name of a model is cut. */
#define BOARD_NAME	256

/* Space for the name of a step, in bytes. */
#define BOARD_STEP	64

/* A running training and its step. */
typedef struct board_entry
{
	int			pid;			/* 0 if the slot is free */
	Oid			role;
	Oid			database;
	int64		model_id;
	char		model[BOARD_NAME];
	char		step[BOARD_STEP];	/* name of the step; empty between two
									 * steps */
	double		rows_about;		/* estimated number of rows of a scan; 0 if
								 * the step is not a scan */
	TimestampTz begun;			/* start of the training */
	TimestampTz step_begun;
	TimestampTz step_ends;		/* estimated end of the step; 0 if unknown */
} board_entry;

/*
 * Maximum number of trainings that are shown; further ones run without being
 * shown. More slots take more shared memory. A guess.
 */
#define BOARD_SLOTS	64

typedef struct board_slot
{
	slock_t		lock;
	board_entry entry;
	pg_atomic_uint64 rows;
} board_slot;

static board_slot *board;		/* array of BOARD_SLOTS slots; NULL if there
								 * is no board, or before it is attached */
static board_slot *mine;		/* slot of this process, or NULL */
static SubTransactionId mine_since;
static uint64 rows_here;		/* number of rows that this process has read
								 * in its present step */
#ifdef SHARED_MEMORY_IS_PRELOADED
static shmem_startup_hook_type previous_startup_hook;
#endif
#ifdef SHARED_MEMORY_IS_REQUESTED_BY_HOOK
static shmem_request_hook_type previous_request_hook;
#endif

/* ---- shared memory ---- */

static void
clear_board(void *memory NAMED_MEMORY_ARGUMENT)
{
	board_slot *slots = memory;

	memset(slots, 0, BOARD_SLOTS * sizeof(board_slot));
	for (int i = 0; i < BOARD_SLOTS; i++)
	{
		SpinLockInit(&slots[i].lock);
		pg_atomic_init_u64(&slots[i].rows, 0);
	}
}

#ifdef SHARED_MEMORY_IS_PRELOADED

static void
make_board(void)
{
	bool		found;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	board = ShmemInitStruct("fastclust progress",
							BOARD_SLOTS * sizeof(board_slot), &found);
	if (!found)
		clear_board(board);
}

static void
request_board(void)
{
#ifdef SHARED_MEMORY_IS_REQUESTED_BY_HOOK
	if (previous_request_hook != NULL)
		previous_request_hook();
#endif
	RequestAddinShmemSpace(BOARD_SLOTS * sizeof(board_slot));
}

void
prepare_board(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
#ifdef SHARED_MEMORY_IS_REQUESTED_BY_HOOK
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_board;
#else
	request_board();
#endif
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = make_board;
}

static bool
has_board(void)
{
	return board != NULL;
}

#else

void
prepare_board(void)
{
}

static bool
has_board(void)
{
	bool		found;

	if (board == NULL)
		board = named_memory("fastclust progress",
							 BOARD_SLOTS * sizeof(board_slot), clear_board,
							 &found);
	return true;
}

#endif

/* ---- slots ---- */

static board_entry
read_slot(board_slot *slot)
{
	board_entry entry;

	SpinLockAcquire(&slot->lock);
	entry = slot->entry;
	SpinLockRelease(&slot->lock);
	return entry;
}

/*
 * Writes an entry to a slot that is free or belongs to this process. Returns
 * false if the slot belongs to another process.
 */
static bool
write_slot(board_slot *slot, const board_entry *entry)
{
	bool		free;

	SpinLockAcquire(&slot->lock);
	free = slot->entry.pid == 0 || slot->entry.pid == MyProcPid;
	if (free)
	{
		slot->entry = *entry;
		pg_atomic_write_u64(&slot->rows, 0);
	}
	SpinLockRelease(&slot->lock);
	return free;
}

static void
leave_board(void)
{
	board_entry nobody = {0};

	if (mine != NULL)
		(void) write_slot(mine, &nobody);
	mine = NULL;
}

static void
leave_at_exit(int code, Datum argument)
{
	leave_board();
}

static void
leave_with_transaction(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		leave_board();
}

static void
leave_with_subtransaction(SubXactEvent event, SubTransactionId id,
						  SubTransactionId parent, void *argument)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && id <= mine_since)
		leave_board();
}

static void
watch_transactions(void)
{
	static bool watched = false;

	if (watched)
		return;
	RegisterXactCallback(leave_with_transaction, NULL);
	RegisterSubXactCallback(leave_with_subtransaction, NULL);
	before_shmem_exit(leave_at_exit, 0);
	watched = true;
}

/*
 * Writes the training of this process and its new step to the board, with a
 * row count of 0. The end of the (sub)transaction removes the entry.
 */
static void
post_on_board(const board_entry *entry)
{
	rows_here = 0;
	if (!has_board())
		return;
	watch_transactions();
	if (mine != NULL)
	{
		(void) write_slot(mine, entry);
		return;
	}
	for (int i = 0; i < BOARD_SLOTS && mine == NULL; i++)
		if (board[i].entry.pid == 0 && write_slot(&board[i], entry))
			mine = &board[i];
	mine_since = GetCurrentSubTransactionId();
}

/* ---- reading ---- */

/*
 * Returns rows (pid, role, model_id, model, step, rows_done, rows_about,
 * begun, step_begun, step_ends) of the trainings in this database. Only the
 * owner of the extension calls it, because not everybody may see the names of
 * models.
 */
PG_FUNCTION_INFO_V1(fastclust_running_trainings);
Datum
fastclust_running_trainings(PG_FUNCTION_ARGS)
{
	fastclust_begin_rows(fcinfo);
	if (!has_board())
	{
		ereport(NOTICE, errmsg("the progress of trainings is not available on this server"),
				errhint("Add fastclust to shared_preload_libraries, and restart the server."));
		return (Datum) 0;
	}
	for (int i = 0; i < BOARD_SLOTS; i++)
	{
		board_entry entry = read_slot(&board[i]);
		bool		in_step = entry.step[0] != '\0';
		bool		scans = in_step && entry.rows_about > 0;
		Datum		values[10] = {
			Int32GetDatum(entry.pid),
			ObjectIdGetDatum(entry.role),
			Int64GetDatum(entry.model_id),
			CStringGetTextDatum(entry.model),
			CStringGetTextDatum(entry.step),
			Int64GetDatum((int64) pg_atomic_read_u64(&board[i].rows)),
			Float8GetDatum(entry.rows_about),
			TimestampTzGetDatum(entry.begun),
			TimestampTzGetDatum(entry.step_begun),
			TimestampTzGetDatum(entry.step_ends)
		};
		bool		nulls[10] = {
			false,
			false,
			false,
			false,
			!in_step,
			!scans,
			!scans,
			false,
			!in_step,
			!in_step || entry.step_ends == 0
		};

		if (entry.pid != 0 && entry.database == MyDatabaseId &&
			BackendPidGetProc(entry.pid) != NULL)
			put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/* ---- steps ---- */

/* Maximum number of rows shown, so that it fits into a bigint. */
#define MAX_SHOWN_ROWS	1e18

/* Maximum number of seconds shown, so that an end fits into a timestamp. */
#define MAX_SHOWN_SECONDS	1e10

/*
 * Numbers of operations are multiply-adds, as the core estimates them. RATE
 * was measured on one core with AVX-512. It is a constant, so that a call is
 * rejected on every machine or on no machine.
 */

/*
 * Number of multiply-adds per second, for estimates of the time. A lower rate
 * would refuse calls that end in time; a higher one would let calls run longer
 * than fastclust.time_budget. bench/endless.py compares the estimates with the
 * time.
 */
#define RATE	4e9

/*
 * Minimum estimated time in seconds that is reported; the true time may be
 * twice as long. With a smaller minimum, there would be more notices. A guess.
 */
#define MIN_REPORTED_SECONDS	2.0

int			fastclust_progress_interval = 10000;
double		fastclust_time_budget = 3600;

static struct
{
	char		name[256];		/* name of the step; empty between steps and
								 * during a quiet step */
	bool		quiet;
	double		rows_about;		/* estimated number of rows of a scan; 0 if
								 * the step is not a scan */
	TimestampTz transaction;	/* start time of the transaction that
								 * announced the step */
	TimestampTz begun;
	TimestampTz ends;			/* estimated end; 0 if unknown */
	TimestampTz reported;
}			step;

/*
 * Returns the progress of the step, as the end of a notice: ", about 40 % of
 * the rows", or ", at least 40 % of the rows" if the rows of parallel workers
 * are unknown. If less than 0.5 % of the rows are done, returns ", 30 s more
 * are expected", or "" if there is no estimate.
 */
static const char *
share_done(TimestampTz now)
{
	/* rows_here does not include rows of parallel workers */
	uint64		rows = (mine != NULL ? pg_atomic_read_u64(&mine->rows) : rows_here);
	double		percent = (step.rows_about > 0
						   ? 100.0 * (double) rows / step.rows_about
						   : 0.0);

	if (rows == 0 || percent < 0.5)
		return step.ends > now
			? psprintf(", %.0f s more are expected",
					   (double) (step.ends - now) / USECS_PER_SEC)
			: "";
	return psprintf(", %s %.0f %% of the rows",
					mine != NULL ? "about" : "at least", Min(percent, 100.0));
}

void
report_progress(void)
{
	TimestampTz now;

	if (step.name[0] == '\0' || fastclust_progress_interval == 0)
		return;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(step.reported, now,
									fastclust_progress_interval) ||
		step.transaction != GetCurrentTransactionStartTimestamp())
		return;
	step.reported = now;
	ereport(NOTICE, errmsg("%s, %.0f s so far%s", step.name,
						   (double) (now - step.begun) / USECS_PER_SEC,
						   share_done(now)));
}

void
report_rows(void)
{
	board_slot *slot = mine;

	/*
	 * The rows are added to the step of this process or, in a parallel
	 * worker, to the step of its leader.
	 */
	rows_here += PROGRESS_ROWS;
	if (IsParallelWorker() && MyProc->lockGroupLeader != NULL && has_board())
		for (int i = 0; i < BOARD_SLOTS; i++)
			if (board[i].entry.pid == MyProc->lockGroupLeader->pid)
				slot = &board[i];
	if (slot != NULL)
		pg_atomic_fetch_add_u64(&slot->rows, (int64) PROGRESS_ROWS);
	report_progress();
}

static void
copy_name(const char *name, char *to, int size)
{
	int			bytes = pg_mbcliplen(name, (int) strlen(name), size - 1);

	memcpy(to, name, bytes);
	to[bytes] = '\0';
}

void
end_step(void)
{
	step.name[0] = '\0';
	step.quiet = false;
	step.ends = 0;
	step.rows_about = 0;
	rows_here = 0;
	if (mine == NULL)
		return;
	SpinLockAcquire(&mine->lock);
	mine->entry.step[0] = '\0';
	mine->entry.rows_about = 0;
	mine->entry.step_ends = 0;
	SpinLockRelease(&mine->lock);
	pg_atomic_write_u64(&mine->rows, 0);
}

void
announce_step(const char *name, int64 model_id, const char *model,
			  const char *step_name, double rows_about, TimestampTz begun)
{
	board_entry entry = {
		.pid = MyProcPid,
		.role = GetUserId(),
		.database = MyDatabaseId,
		.model_id = model_id,
		.begun = begun
	};

	step.name[0] = '\0';
	step.quiet = name == NULL;
	step.ends = 0;
	if (name != NULL)
		copy_name(name, step.name, sizeof(step.name));
	copy_name(model, entry.model, BOARD_NAME);
	copy_name(step_name, entry.step, BOARD_STEP);
	entry.rows_about = step.rows_about = Min(rows_about, MAX_SHOWN_ROWS);
	entry.step_begun = step.begun = step.reported = GetCurrentTimestamp();
	step.transaction = GetCurrentTransactionStartTimestamp();
	post_on_board(&entry);
}

/*
 * Takes (model_id, model, step, rows_about) and announces a step without
 * notices, for functions in SQL; if `step` is NULL, ends it.
 */
PG_FUNCTION_INFO_V1(fastclust_show_step);
Datum
fastclust_show_step(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(2))
		end_step();
	else
		announce_step(NULL, PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0),
					  PG_ARGISNULL(1) ? "" : TextDatumGetCString(PG_GETARG_DATUM(1)),
					  TextDatumGetCString(PG_GETARG_DATUM(2)),
					  PG_ARGISNULL(3) ? 0 : PG_GETARG_FLOAT8(3), GetCurrentTimestamp());
	PG_RETURN_VOID();
}

/* ---- how long work will take ---- */

/*
 * Records that the current step is expected to end after `seconds` seconds,
 * and raises a NOTICE unless the call or the step is quiet. Work outside of a
 * step is treated as a step without a name. Does nothing if the step is
 * already expected to end later.
 */
static void
expect_end(const char *subject, double seconds, const char *text, bool quiet)
{
	bool		here = (step.transaction == GetCurrentTransactionStartTimestamp());
	TimestampTz ends = (GetCurrentTimestamp() +
						(TimestampTz) (Min(seconds, MAX_SHOWN_SECONDS) *
									   USECS_PER_SEC));

	/* the work is part of a step that is expected to end later */
	if (here && (step.name[0] != '\0' || step.quiet) && step.ends >= ends)
		return;
	step.ends = ends;
	if (mine != NULL)
	{
		SpinLockAcquire(&mine->lock);
		mine->entry.step_ends = ends;
		SpinLockRelease(&mine->lock);
	}
	if (!quiet && !(here && step.quiet))
		ereport(NOTICE, errmsg("%s%s%s about %s", here ? step.name : "",
							   here && step.name[0] != '\0' ? ", " : "",
							   subject, text));
}

/*
 * Returns a duration such as "40 seconds". The unit is the largest one for
 * which the number is at least 2.
 */
static const char *
text_of_seconds(double seconds)
{
	static const struct
	{
		double		seconds;
		const char *name;
	}			units[] = {{365.25 * 86400, "years"}, {86400, "days"}, {3600, "hours"},
	{60, "minutes"}, {1, "seconds"}, {1e-3, "ms"}};
	int			i = 0;
	double		count;

	while (i + 1 < lengthof(units) && seconds < 2 * units[i].seconds)
		i++;
	count = seconds / units[i].seconds;

	return psprintf(count < 1e6 ? "%.0f %s" : "%.0e %s", count, units[i].name);
}

void
announce_work(const char *subject, double operations, bool quiet,
			  const char *hint)
{
	double		seconds = operations / RATE;

	if (IsParallelWorker())
		return;
	if (hint != NULL && fastclust_time_budget > 0 &&
		seconds > fastclust_time_budget)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("%s about %s, more than fastclust.time_budget allows",
					   subject, text_of_seconds(seconds)),
				errdetail("The estimate is about %.0e multiply-adds; the budget is %g s.",
						  operations, fastclust_time_budget),
				errhint("%s, or increase fastclust.time_budget.",
						hint));
	if (seconds > MIN_REPORTED_SECONDS)
		expect_end(subject, seconds, text_of_seconds(seconds), quiet);
}
