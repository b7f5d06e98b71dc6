/*
 * progress.c - notices of a long step while it works, and the trainings that run, for other sessions to see.
 *
 * A step is announced by its name and belongs to the transaction that announced it: after an error
 * the next transaction has another start, and nothing is reported for the old step.
 *
 * The board is in shared memory: a named segment on servers that have those (17 and later), else what the module
 * asked for when it was in shared_preload_libraries.  Without either nothing is posted, and rows are counted in this process alone.
 * A slot belongs to a process from its first post to the end of the (sub)transaction of that post, or of the process.
 * A slot is read and written under its spinlock, and never for longer than a copy of it takes.  Rows are
 * counted without a lock: the leader and its workers add theirs, a thousand at a time.
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

#define BOARD_NAME	256
#define BOARD_STEP	64

/* A training and its step. */
typedef struct board_entry
{
	int			pid;			/* 0: nobody's */
	Oid			role;
	Oid			database;
	int64		model_id;
	char		model[BOARD_NAME];
	char		step[BOARD_STEP];	/* empty: between two steps */
	double		rows_about;		/* of the scan that the step is; 0: it is none */
	TimestampTz begun;			/* the training */
	TimestampTz step_begun;
} board_entry;

#define BOARD_SLOTS	64			/* trainings shown at once; more run unseen */

typedef struct board_slot
{
	slock_t		lock;
	board_entry entry;
	pg_atomic_uint64 rows;
} board_slot;

static board_slot *board;		/* BOARD_SLOTS of them; NULL: none, or not attached yet */
static board_slot *mine;		/* this process' slot */
static SubTransactionId mine_since;
static uint64 rows_here;		/* of this process' step */
#ifdef SHARED_MEMORY_IS_PRELOADED
static shmem_startup_hook_type previous_startup_hook;
#endif
#ifdef SHARED_MEMORY_IS_REQUESTED_BY_HOOK
static shmem_request_hook_type previous_request_hook;
#endif

/* ---- the memory ----  */

static void
clear_board(void *memory)
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
	board = ShmemInitStruct("fastclust progress", BOARD_SLOTS * sizeof(board_slot), &found);
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
		board = GetNamedDSMSegment("fastclust progress", BOARD_SLOTS * sizeof(board_slot), clear_board, &found);
	return true;
}

#endif

/* ---- slots ---- */

/* The slot of a process; NULL: it has none. */
static board_slot *
slot_of(int pid)
{
	for (int i = 0; i < BOARD_SLOTS; i++)
		if (board[i].entry.pid == pid)
			return &board[i];
	return NULL;
}

static board_entry
read_slot(board_slot *slot)
{
	board_entry entry;

	SpinLockAcquire(&slot->lock);
	entry = slot->entry;
	SpinLockRelease(&slot->lock);
	return entry;
}

/* Write to a slot that is nobody's or this process': false when it is another's. */
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
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		leave_board();
}

static void
leave_with_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *argument)
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

/* Posts this process' training with a new step, of which no row is done; it is taken down with its (sub)transaction. */
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

static void
end_step_on_board(void)
{
	rows_here = 0;
	if (mine == NULL)
		return;
	SpinLockAcquire(&mine->lock);
	mine->entry.step[0] = '\0';
	mine->entry.rows_about = 0;
	SpinLockRelease(&mine->lock);
	pg_atomic_write_u64(&mine->rows, 0);
}

/* ---- rows ---- */

/* Rows of this process' step so far; *all: those of parallel workers are among them. */
static uint64
rows_on_board(bool *all)
{
	*all = mine != NULL;
	return mine != NULL ? pg_atomic_read_u64(&mine->rows) : rows_here;
}

/* ---- reading ---- */

/*
 * Rows (pid, role, model_id, model, step, rows_done, rows_about, begun, step_begun) of the trainings in this database.  Only the owner of the
 * extension calls it: model names are not for everybody.
 */
SQL_FUNCTION(fastclust_running_trainings)
{

	fastclust_begin_rows(fcinfo);
	if (!has_board())
		return (Datum) 0;
	for (int i = 0; i < BOARD_SLOTS; i++)
	{
		board_entry entry = read_slot(&board[i]);
		bool		in_step = entry.step[0] != '\0';
		bool		scans = in_step && entry.rows_about > 0;
		Datum		values[9] = {Int32GetDatum(entry.pid), ObjectIdGetDatum(entry.role), Int64GetDatum(entry.model_id),
		CStringGetTextDatum(entry.model), CStringGetTextDatum(entry.step), Int64GetDatum((int64) pg_atomic_read_u64(&board[i].rows)),
		Float8GetDatum(entry.rows_about), TimestampTzGetDatum(entry.begun), TimestampTzGetDatum(entry.step_begun)};
		bool		nulls[9] = {false, false, false, false, !in_step, !scans, !scans, false, !in_step};

		if (entry.pid != 0 && entry.database == MyDatabaseId && BackendPidGetProc(entry.pid) != NULL)
			put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/* ---- steps ---- */

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
	board_slot *slot = mine;

	/* Rows of this process' step or, in a parallel worker, of its leader's. */
	rows_here += PROGRESS_ROWS;
	if (IsParallelWorker() && MyProc->lockGroupLeader != NULL && has_board())
		slot = slot_of(MyProc->lockGroupLeader->pid);
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
	step.rows_about = 0;
	end_step_on_board();
}

void
announce_step(const char *name, int64 model_id, const char *model, const char *step_name, double rows_about, TimestampTz begun)
{
	board_entry entry = {.pid = MyProcPid,.role = GetUserId(),.database = MyDatabaseId,.model_id = model_id,.begun = begun};

	step.name[0] = '\0';
	if (name != NULL)
		copy_name(name, step.name, sizeof(step.name));
	copy_name(model, entry.model, BOARD_NAME);
	copy_name(step_name, entry.step, BOARD_STEP);
	entry.rows_about = step.rows_about = Min(rows_about, MOST_ROWS);
	entry.step_begun = step.begun = step.reported = GetCurrentTimestamp();
	step.transaction = GetCurrentTransactionStartTimestamp();
	post_on_board(&entry);
}
