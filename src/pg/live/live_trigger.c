/*
 * live_trigger.c - the triggers of live sketches: what a statement changed becomes rows of live_deltas.
 *
 * A trigger runs in the session of whoever writes the table.  The rows of the transition tables are read with that
 * role's rights, so that no code of the writer or of the table's owner runs with others; what comes out, numbers, is
 * written with those of the owner of the extension.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/live/live.h"

#define BLOCK 1024				/* rows between two checks for interrupts */
#define FOLD_AFTER 1000			/* statements of a process; in one transaction twice as many after each fold */

/* The evaluation of a table's rows. */
typedef struct evaluation
{
	const live_sketch *live;
	Relation	relation;
	EState	   *estate;
	ExprContext *context;
	ExprState  *states[LIVE_EXPRESSIONS];
	live_changes *changes;
	int64		rows;
} evaluation;

/* A transition table being read. */
typedef struct rows_reader
{
	Tuplestorestate *store;
	int			pointer;
	TupleTableSlot *slot;
} rows_reader;

/* ---- reading ---- */

static rows_reader
begin_rows(Tuplestorestate *store, Relation relation)
{
	rows_reader reader = {.store = store};

	reader.pointer = tuplestore_alloc_read_pointer(store, EXEC_FLAG_REWIND);
	tuplestore_select_read_pointer(store, reader.pointer);
	tuplestore_rescan(store);
	reader.slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsMinimalTuple);
	return reader;
}

static bool
next_row(rows_reader *reader)
{
	tuplestore_select_read_pointer(reader->store, reader->pointer);
	return tuplestore_gettupleslot(reader->store, true, false, reader->slot);
}

/* The value of an expression that is there. */
static Datum
value_of(evaluation *e, int expression, TupleTableSlot *slot, bool *null)
{
	if (e->live->plain[expression] != 0)
		return slot_getattr(slot, e->live->plain[expression], null);
	return ExecEvalExprSwitchContext(e->states[expression], e->context, null);
}

/* Count the row of the slot. */
static void
count_row(evaluation *e, TupleTableSlot *slot, int sign)
{
	bool		null;
	Datum		vector;
	text	   *group = NULL;
	TimestampTz bucket = DT_NOBEGIN;

	if (++e->rows % BLOCK == 0)
		CHECK_FOR_INTERRUPTS();
	if (e->context != NULL)
	{
		ResetExprContext(e->context);
		e->context->ecxt_scantuple = slot;
	}
	if (e->live->filtered && (!DatumGetBool(value_of(e, LIVE_FILTER, slot, &null)) || null))
		return;
	vector = value_of(e, LIVE_VECTOR, slot, &null);
	if (null)
		return;
	if (e->live->grouped)
	{
		Datum		value = value_of(e, LIVE_GROUP, slot, &null);

		if (null)
			return;
		group = DatumGetTextPP(value);
	}
	if (e->live->bucketed)
	{
		bucket = DatumGetTimestampTz(value_of(e, LIVE_BUCKET, slot, &null));
		if (null)
			return;
	}
	live_count_row(e->changes, sign, vector, group, bucket);
	if (live_changes_are_large(e->changes))
		live_write_changes(e->changes);
}

/* Are the columns that the expressions read the same in both rows?  Byte by byte: "no" may also mean "perhaps". */
static bool
same_columns(const evaluation *e, TupleTableSlot *a, TupleTableSlot *b)
{
	TupleDesc	descriptor = RelationGetDescr(e->relation);
	int			number = -1;

	while ((number = bms_next_member(e->live->columns, number)) >= 0)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, number - 1);
		bool		a_null;
		bool		b_null;
		Datum		x = slot_getattr(a, number, &a_null);
		Datum		y = slot_getattr(b, number, &b_null);

		if (a_null != b_null || (!a_null && !datumIsEqual(x, y, attribute->attbyval, attribute->attlen)))
			return false;
	}
	return true;
}

/* Rows of one transition table. */
static void
count_rows(evaluation *e, Tuplestorestate *store, int sign)
{
	rows_reader reader = begin_rows(store, e->relation);

	while (next_row(&reader))
		count_row(e, reader.slot, sign);
	ExecDropSingleTupleTableSlot(reader.slot);
}

/*
 * Rows of an UPDATE.  An old and a new row that meet here need not be two versions of one row: equal ones
 * cancel each other all the same.
 */
static void
count_updated_rows(evaluation *e, Tuplestorestate *old_store, Tuplestorestate *new_store)
{
	rows_reader old_rows = begin_rows(old_store, e->relation);
	rows_reader new_rows = begin_rows(new_store, e->relation);
	bool		have_old = true;
	bool		have_new = true;

	while (have_old || have_new)
	{
		have_old = have_old && next_row(&old_rows);
		have_new = have_new && next_row(&new_rows);
		if (have_old && have_new && same_columns(e, old_rows.slot, new_rows.slot))
			continue;
		if (have_old)
			count_row(e, old_rows.slot, -1);
		if (have_new)
			count_row(e, new_rows.slot, 1);
	}
	ExecDropSingleTupleTableSlot(old_rows.slot);
	ExecDropSingleTupleTableSlot(new_rows.slot);
}

/* An error of a row names the live sketch. */
static void
name_live_sketch(void *argument)
{
	const evaluation *e = argument;

	errcontext("live sketch \"%s\" of %s", e->live->name, RelationGetRelationName(e->relation));
}

/* Columns need no executor. */
static void
prepare_expressions(evaluation *e)
{
	MemoryContext old;

	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
	{
		if (e->live->expressions[i] == NULL)
			continue;
		if (e->estate == NULL)
		{
			e->estate = CreateExecutorState();
			e->context = GetPerTupleExprContext(e->estate);
		}
		old = MemoryContextSwitchTo(e->estate->es_query_cxt);
		e->states[i] = ExecInitExpr((Expr *) e->live->expressions[i], NULL);
		MemoryContextSwitchTo(old);
	}
}

static void
count_statement(const live_sketch *live, TriggerData *trigger)
{
	evaluation	e = {.live = live, .relation = trigger->tg_relation};
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = name_live_sketch, .arg = &e};
	int			level = live->settings ? live_fix_settings() : -1;

	error_context_stack = &callback;
	prepare_expressions(&e);
	e.changes = live_begin_changes(live);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		count_updated_rows(&e, trigger->tg_oldtable, trigger->tg_newtable);
	else if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		count_rows(&e, trigger->tg_newtable, 1);
	else
		count_rows(&e, trigger->tg_oldtable, -1);
	live_write_changes(e.changes);
	if (e.estate != NULL)
		FreeExecutorState(e.estate);
	error_context_stack = callback.previous;
	if (level >= 0)
		AtEOXact_GUC(true, level);
}

/* ---- TRUNCATE ---- */

/*
 * All of the live sketch goes: what came goes, and what went comes.  No difference is taken, which a live sketch that
 * has lost its table would not have.
 */
static const char all_parts[] =
	"INSERT INTO fastclust_internal.live_deltas (live_id, group_value, bucket, added, removed, added_counts, removed_counts)"
	" SELECT $1, p.group_value, p.bucket, p.removed, p.added, p.removed_counts, p.added_counts FROM fastclust_internal.live_sums($1) p";

/* A query of one or two arguments under the latest snapshot, as a role: of a table that is locked it sees all rows. */
static void
execute_latest(const char *query, int count, const Oid *types, const Datum *values, Oid role, bool read_only)
{
	SPIPlanPtr	plan;
	Oid			caller;
	int			context;

	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
	plan = SPI_prepare(query, count, (Oid *) types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	if (SPI_execute_snapshot(plan, (Datum *) values, NULL, GetLatestSnapshot(), InvalidSnapshot, read_only, false, 0) < 0)
		elog(ERROR, "SPI_execute_snapshot failed for \"%s\"", query);
	SetUserIdAndSecContext(caller, context);
}

/* Why the rows of a part cannot be counted as its owner reads them; NULL: they can. */
static const char *
truncation_problem(const live_sketch *live, Oid part, Oid owner)
{
	const Oid	types[] = {INT8OID, OIDOID};
	const Datum values[] = {Int64GetDatum(live->id), ObjectIdGetDatum(part)};

	execute_latest("SELECT fastclust_internal.truncation_problem($1, $2)", 2, types, values, owner, true);
	return SPI_processed == 1 ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1) : NULL;
}

/* Why the table cannot be followed any more: a reader of the live sketch learns it, whoever writes the table does not. */
static void
write_lost(const live_sketch *live, const char *reason)
{
	live_delta	delta = {.id = live->id, .bucket = DT_NOBEGIN, .lost = reason};
	live_writer *writer = live_begin_deltas(live);

	live_write_delta(writer, &delta);
	live_end_deltas(writer);
}

/* The table's own rows, by group and bucket, as its owner reads them. */
static void
remove_part(const live_sketch *live, Oid table_owner)
{
	const Datum specs[] = {PointerGetDatum(live->spec), PointerGetDatum(live->drift_spec)};
	SPITupleTable *found;
	uint64		count;
	live_writer *writer;

	execute_latest(live->scan, live->drift_spec == NULL ? 1 : 2, live->spec_types, specs, table_owner, true);
	found = SPI_tuptable;
	count = SPI_processed;
	writer = live_begin_deltas(live);
	for (uint64 i = 0; i < count; i++)
	{
		live_delta	delta = {.id = live->id};
		bool		null;
		Datum		value = SPI_getbinval(found->vals[i], found->tupdesc, 1, &null);

		delta.group = null ? NULL : DatumGetTextPP(value);
		value = SPI_getbinval(found->vals[i], found->tupdesc, 2, &null);
		delta.bucket = null ? DT_NOBEGIN : DatumGetTimestampTz(value);
		value = SPI_getbinval(found->vals[i], found->tupdesc, 3, &null);
		if (null)
			continue;
		delta.sides[1].sketch = DatumGetPointer(value);
		value = SPI_getbinval(found->vals[i], found->tupdesc, 4, &null);
		delta.sides[1].counts = null ? NULL : DatumGetPointer(value);
		live_write_delta(writer, &delta);
	}
	live_end_deltas(writer);
}

/*
 * The rows of the table are still there, and nobody else writes it until this transaction ends.  Where they are all
 * that is counted they go as they were counted; those of a part are sketched once more.
 */
static void
count_truncate(const live_sketch *live, TriggerData *trigger, Oid owner)
{
	const Oid	type = INT8OID;
	const Datum id = Int64GetDatum(live->id);
	const char *problem;
	int			level;

	if (trigger->tg_relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return;					/* its rows are its partitions' */
	SPI_connect();
	level = live_fix_settings();
	if (live->whole)
		execute_latest(all_parts, 1, &type, &id, owner, false);
	else if ((problem = truncation_problem(live, RelationGetRelid(trigger->tg_relation), owner)) != NULL)
		write_lost(live, problem);
	else
		remove_part(live, trigger->tg_relation->rd_rel->relowner);
	AtEOXact_GUC(true, level);
	SPI_finish();
}

/* ---- the trigger ---- */

static void
check_protocol(FunctionCallInfo fcinfo)
{
	const TriggerData *trigger = (const TriggerData *) fcinfo->context;

	if (CALLED_AS_TRIGGER(fcinfo) && TRIGGER_FIRED_FOR_STATEMENT(trigger->tg_event) && trigger->tg_trigger->tgnargs == 1 &&
		(TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event) ? TRIGGER_FIRED_BEFORE(trigger->tg_event) : TRIGGER_FIRED_AFTER(trigger->tg_event)) &&
		(trigger->tg_newtable != NULL) == (TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || TRIGGER_FIRED_BY_UPDATE(trigger->tg_event)) &&
		(trigger->tg_oldtable != NULL) == (TRIGGER_FIRED_BY_DELETE(trigger->tg_event) || TRIGGER_FIRED_BY_UPDATE(trigger->tg_event)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("%s is for the triggers of live sketches", "live_change"),
			 errhint("keep_sketch makes them.")));
}

/*
 * Who writes much folds now and then.  Nobody waits for it: a live sketch that another session folds is left out.
 * A transaction of one snapshot could not fold what others have folded since.  One that folds again passes over all that it
 * has taken away, so that its folds get rarer.
 */
static void
fold_at_times(live_sketch *live, Oid function)
{
	Oid			type = INT8OID;
	Datum		value = Int64GetDatum(live->id);
	TransactionId writer = GetTopTransactionIdIfAny();
	int			after = TransactionIdIsValid(writer) && live->folded_in == writer ? live->fold_after : FOLD_AFTER;
	Oid			caller;
	int			context;

	if (++live->changes < after || IsolationUsesXactSnapshot())
		return;
	live->changes = 0;
	live->folded_in = writer;
	live->fold_after = Min(2 * after, INT_MAX / 2);
	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(function_owner(function), context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	if (SPI_execute_with_args("SELECT fastclust_internal.try_fold_live($1)", 1, &type, &value, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "a live sketch could not be folded");
	SPI_finish();
	SetUserIdAndSecContext(caller, context);
}

SQL_FUNCTION(fastclust_live_change)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	live_sketch *live;
	Oid			function;

	check_protocol(fcinfo);
	function = fcinfo->flinfo->fn_oid;
	live_enter();
	PG_TRY();
	{
		live = live_sketch_of_trigger(trigger, function);
		if (live == NULL)
			;					/* another's trigger, or that of a table that is no part any more */
		else if (live->lost != NULL)
			write_lost(live, live->lost);
		else if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
			count_truncate(live, trigger, function_owner(function));
		else
		{
			count_statement(live, trigger);
			fold_at_times(live, function);
		}
	}
	PG_FINALLY();
	{
		live_leave();
	}
	PG_END_TRY();
	return PointerGetDatum(NULL);
}
