/*
 * live_trigger.c - the triggers of live sketches, which append the changes of
 * a statement to live_deltas
 *
 * A trigger runs in the session that writes the table. Expressions are
 * evaluated with the rights of that session's role, so that no code of the
 * writer or of the table's owner runs with other rights. The resulting numbers
 * are written without checks of privileges.
 *
 * AFTER ROW triggers of a leaf see every change of the leaf, even if the
 * statement names a parent table, or if logical replication applies the
 * change. They collect the changes of a leaf in memory. After the statement,
 * the statement trigger of the table that the statement names writes the
 * changes to live_deltas. The end of the (sub)transaction writes the changes
 * that no statement trigger has written.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "replication/logicalworker.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/live/live.h"

#define ROW_EVENTS(event) (TRIGGER_FIRED_FOR_ROW(event) && TRIGGER_FIRED_AFTER(event))
#define STATEMENT_EVENTS(event) \
	(TRIGGER_FIRED_FOR_STATEMENT(event) && \
	 (TRIGGER_FIRED_BY_TRUNCATE(event) ? TRIGGER_FIRED_BEFORE(event) : TRIGGER_FIRED_AFTER(event)))

/* Changes of a leaf that are not written yet. */
typedef struct pending_changes
{
	live_sketch *live;
	int			level;			/* nesting level of the subtransaction that
								 * made the changes */
	Oid			trigger;		/* OID of the row trigger; InvalidOid for the
								 * rows of a restored leaf */
	bool		busy;			/* true while an expression of the live sketch
								 * is being evaluated */
	MemoryContext context;		/* owns everything in this struct */
	live_evaluation *evaluation;	/* NULL if all expressions are plain
									 * columns */
	live_changes *changes;
} pending_changes;

static List *pendings = NIL;	/* pending_changes of all subtransactions, in
								 * TopTransactionContext */

/* ---- a row ---- */

/*
 * Returns the value of an expression for the row in the slot. The live sketch
 * must have this expression.
 */
static Datum
value_of(const pending_changes *p, int expression, ExprContext *context,
		 TupleTableSlot *slot, bool *null)
{
	if (p->live->plain[expression] != 0)
		return slot_getattr(slot, p->live->plain[expression], null);
	return ExecEvalExprSwitchContext(p->evaluation->states[expression], context,
									 null);
}

static void
count_values(const pending_changes *p, ExprContext *context,
			 TupleTableSlot *slot, int sign)
{
	bool		null;
	Datum vector;
	text	   *group = NULL;
	TimestampTz bucket = DT_NOBEGIN;

	if (p->live->filtered &&
		(!DatumGetBool(value_of(p, LIVE_FILTER, context, slot, &null)) || null))
		return;
	vector = value_of(p, LIVE_VECTOR, context, slot, &null);

	if (null)
		return;
	if (p->live->grouped)
	{
		Datum		value = value_of(p, LIVE_GROUP, context, slot, &null);

		if (null)
			return;
		group = DatumGetTextPP(value);
	}
	if (p->live->bucketed)
	{
		bucket = DatumGetTimestampTz(value_of(p, LIVE_BUCKET, context, slot,
											  &null));
		if (null)
			return;
	}
	live_count_row(p->changes, sign, vector, group, bucket);
}

/*
 * Counts the row in the slot. An expression may change tables with live
 * sketches while it is evaluated, and so call this function again. Therefore
 * each call has an expression context of its own.
 */
static void
count_row(pending_changes *p, TupleTableSlot *slot, int sign)
{
	ExprContext *context = NULL;
	bool		busy = p->busy;

	if (p->evaluation != NULL)
	{
		context = CreateStandaloneExprContext();
		context->ecxt_per_query_memory = p->evaluation->context;
		context->ecxt_scantuple = slot;
	}
	p->busy = true;
	count_values(p, context, slot, sign);
	p->busy = busy;
	if (context != NULL)
		FreeExprContext(context, true);
}

/*
 * Returns true if the columns that the expressions read are equal in both
 * rows. Compares bytes, so equal values may count as different.
 */
static bool
same_columns(const live_sketch *live, TupleTableSlot *a, TupleTableSlot *b)
{
	int			number = -1;

	while ((number = bms_next_member(live->columns, number)) >= 0)
	{
		Form_pg_attribute attribute = TupleDescAttr(a->tts_tupleDescriptor,
													number - 1);
		bool		a_null;
		bool		b_null;
		Datum		x = slot_getattr(a, number, &a_null);
		Datum		y = slot_getattr(b, number, &b_null);

		if (a_null != b_null ||
			(!a_null &&
			 !datumIsEqual(x, y, attribute->attbyval, attribute->attlen)))
			return false;
	}
	return true;
}

/* Adds the name of the live sketch to the context of an error. */
static void
name_live_sketch(void *argument)
{
	const live_sketch *live = argument;

	errcontext("live sketch \"%s\" of %s", live->name, live->leaf_name);
}

/* ---- pending changes ---- */

/*
 * Returns false if this transaction has dropped the trigger that collected the
 * changes, because it dropped the live sketch or the table, or counted all
 * rows again.
 */
static bool
has_trigger(const pending_changes *p)
{
	Relation	table = try_relation_open(p->live->leaf, NoLock);
	bool		found = !OidIsValid(p->trigger);

	if (table == NULL)
		return false;
	for (int i = 0; table->trigdesc != NULL && i < table->trigdesc->numtriggers;
		 i++)
		found |= table->trigdesc->triggers[i].tgoid == p->trigger;
	relation_close(table, NoLock);
	return found;
}

/*
 * Records why triggers can no longer maintain the counts of the leaf. Readers
 * of the live sketch get the reason as an error; writers of the table get no
 * error.
 */
static void
write_lost(const live_sketch *live)
{
	live_delta	delta = {
		.id = live->id,
		.leaf = live->leaf,
		.bucket = DT_NOBEGIN,
		.lost = live->lost
	};
	live_writer *writer = live_begin_deltas(live);

	live_write_delta(writer, &delta);
	live_end_deltas(writer);
}

/*
 * Writes the changes that the current subtransaction has collected. Each
 * subtransaction has changes of its own, so that ROLLBACK TO a savepoint
 * discards only the changes since the savepoint.
 *
 * A busy entry remains in the list: one of its expressions is being evaluated,
 * and has itself changed tables with live sketches.
 *
 * There may be no active snapshot at the end of a (sub)transaction. One is
 * pushed then, because storing large values needs it.
 */
static void
write_pending(void)
{
	int			level = GetCurrentTransactionNestLevel();
	bool		pushes = pendings != NIL && !ActiveSnapshotSet();

	if (pushes)
		PushActiveSnapshot(GetTransactionSnapshot());
	for (int i = list_length(pendings) - 1; i >= 0; i--)
	{
		pending_changes *p = list_nth(pendings, i);

		if (p->level != level)
			continue;
		if (!has_trigger(p))
			;
		else if (p->live->lost != NULL)
			write_lost(p->live);
		else
			live_write_changes(p->changes);
		if (p->busy)
			continue;
		pendings = list_delete_ptr(pendings, p);
		live_end_evaluation(p->live, p->evaluation);
		MemoryContextDelete(p->context);
	}
	if (pushes)
		PopActiveSnapshot();
}

static void
end_transaction(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		write_pending();
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
			 event == XACT_EVENT_PREPARE)
	{
		pendings = NIL;
		live_free_retired();
	}
}

static void
end_subtransaction(SubXactEvent event, SubTransactionId id,
				   SubTransactionId parent, void *argument)
{
	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		write_pending();
	for (int i = list_length(pendings) - 1;
		 event == SUBXACT_EVENT_ABORT_SUB && i >= 0; i--)
	{
		pending_changes *p = list_nth(pendings, i);

		if (p->level >= GetCurrentTransactionNestLevel())
			/* the memory of p is freed at the end of the transaction */
			pendings = list_delete_ptr(pendings, p);
	}
}

static pending_changes *
begin_pending(live_sketch *live, Oid trigger)
{
	static bool hooked = false;
	MemoryContext context = AllocSetContextCreate(TopTransactionContext,
												  "fastclust pending changes",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	pending_changes *p = palloc0(sizeof(pending_changes));

	if (!hooked)
	{
		RegisterXactCallback(end_transaction, NULL);
		RegisterSubXactCallback(end_subtransaction, NULL);
		hooked = true;
	}
	p->live = live;
	p->trigger = trigger;
	p->level = GetCurrentTransactionNestLevel();
	p->context = context;
	if (live->lost == NULL)
	{
		p->evaluation = live_begin_evaluation(live, context);
		p->changes = live_begin_changes(live);
	}
	MemoryContextSwitchTo(TopTransactionContext);
	pendings = lappend(pendings, p);
	MemoryContextSwitchTo(old);
	return p;
}

static pending_changes *
pending_of(live_sketch *live, Oid trigger)
{
	int			level = GetCurrentTransactionNestLevel();
	ListCell   *cell;

	foreach(cell, pendings)
	{
		pending_changes *p = lfirst(cell);

		if (p->live == live && p->level == level)
			return p;
	}
	return begin_pending(live, trigger);
}

/*
 * Takes (id). Returns true if this transaction has changes that are not in
 * live_deltas yet. A reader in the same transaction would miss them, and gets
 * an error. Readers in other transactions see neither the rows nor the deltas.
 *
 * Changes are not written yet during a statement. After a statement, they are
 * not written yet if the table that the statement names has no statement
 * trigger of the live sketch. One case is a statement on a parent table if
 * only a partition has a live sketch. Another case is a table to which a
 * subscription applies rows.
 */
PG_FUNCTION_INFO_V1(fastclust_live_pending);
Datum
fastclust_live_pending(PG_FUNCTION_ARGS)
{
	ListCell   *cell;

	foreach(cell, pendings)
	{
		const pending_changes *p = lfirst(cell);

		if (p->live->id == PG_GETARG_INT64(0) && has_trigger(p))
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}

/* ---- the triggers ---- */

static void
count_change(live_sketch *live, const TriggerData *trigger)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = name_live_sketch,
		.arg = live
	};
	bool		update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
	int			level;
	pending_changes *p;

	error_context_stack = &callback;
	level = live->settings ? fix_settings(FIX_ALL) : -1;
	p = pending_of(live, trigger->tg_trigger->tgoid);
	count_row(p, trigger->tg_trigslot,
			  TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ? 1 : -1);
	if (update)
		count_row(p, trigger->tg_newslot, 1);
	if (live_changes_are_large(p->changes))
		live_write_changes(p->changes);
	error_context_stack = callback.previous;
	if (level >= 0)
		AtEOXact_GUC(true, level);
}

/* ---- a leaf of a restored dump ---- */

static void
count_table(live_sketch *live, Relation table)
{
	pending_changes *p = pending_of(live, InvalidOid);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TableScanDesc scan = begin_table_scan(table, snapshot);

	while (live->lost == NULL &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		count_row(p, slot, 1);
		if (live_changes_are_large(p->changes))
			live_write_changes(p->changes);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	write_pending();
}

/*
 * Takes (id, leaf, role). Counts the rows of the leaf with the rights of the
 * role, as if the role inserted them now. Invalidates the relation, because
 * sessions may have cached that the table is not a leaf.
 */
PG_FUNCTION_INFO_V1(fastclust_count_rows);
Datum
fastclust_count_rows(PG_FUNCTION_ARGS)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = name_live_sketch
	};
	Relation	table;
	live_sketch *live;
	Oid			caller;
	int			context;
	int			level;

	table = existing_relation(PG_GETARG_OID(1), ShareRowExclusiveLock);
	if (table->rd_tableam == NULL)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
				errmsg("\"%s\" is not a table that stores rows",
					   RelationGetRelationName(table)));
	CacheInvalidateRelcache(table);
	CommandCounterIncrement();
	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(PG_GETARG_OID(2), context |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	live = live_sketch_of(PG_GETARG_INT64(0), table, fcinfo->flinfo->fn_oid);
	if (live != NULL)
	{
		callback.arg = live;
		error_context_stack = &callback;
		level = fix_settings(live->settings ? FIX_ALL : 0);
		count_table(live, table);
		AtEOXact_GUC(true, level);
		error_context_stack = callback.previous;
	}
	SetUserIdAndSecContext(caller, context);
	table_close(table, NoLock);
	PG_RETURN_VOID();
}

/* ---- TRUNCATE ---- */

/*
 * Query for TRUNCATE. For each group and bucket of the leaf, appends a delta
 * that counts all added rows as removed, and all removed rows as added, so
 * that both sums become equal. The query does not subtract the sums:
 * subtraction raises an error if more rows were removed than added, as in a
 * live sketch that has missed changes. No other transaction writes the table
 * until this one ends.
 */
static const char all_of_leaf[] = "INSERT INTO live_deltas (live_id, leaf, group_value,"
" bucket, added, removed, added_counts, removed_counts)"
" SELECT $1, $2, p.group_value, p.bucket, p.removed, p.added, p.removed_counts, p.added_counts"
" FROM live_sums($1, ARRAY[$2::oid]) p";

/*
 * Counts a TRUNCATE of a leaf: runs the query all_of_leaf with the rights of
 * the extension's owner, under the latest snapshot.
 */
static void
count_truncate(const live_sketch *live, Oid owner)
{
	Oid			caller;
	int			context;
	int			level;

	write_pending();
	SPI_connect();
	level = fix_settings(FIX_ALL);
	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	live_execute(all_of_leaf, live->id, live->leaf, false);
	SetUserIdAndSecContext(caller, context);
	AtEOXact_GUC(true, level);
	SPI_finish();
}

/* ---- the triggers' function ---- */

PG_FUNCTION_INFO_V1(fastclust_live_change);
Datum
fastclust_live_change(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	live_sketch *live;

	if (!CALLED_AS_TRIGGER(fcinfo) || trigger->tg_trigger->tgnargs != 1 ||
		!(ROW_EVENTS(trigger->tg_event) || STATEMENT_EVENTS(trigger->tg_event)))
		ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				errmsg("function %s can only be called by the triggers of live sketches",
					   "live_change"),
				errhint("Make a live sketch with keep_sketch."));
	if (TRIGGER_FIRED_FOR_STATEMENT(trigger->tg_event) &&
		!TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
	{
		write_pending();
		return PointerGetDatum(NULL);
	}
	live = live_sketch_of_trigger(trigger, fcinfo->flinfo->fn_oid);
	if (live == NULL)			/* keep_sketch did not make the trigger, or
								 * the table is not a leaf of the live sketch */
		return PointerGetDatum(NULL);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) &&
		same_columns(live, trigger->tg_trigslot, trigger->tg_newslot))
		return PointerGetDatum(NULL);	/* the columns that the expressions
										 * read are unchanged */
	if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		count_truncate(live, function_owner(fcinfo->flinfo->fn_oid));
	else if (live->lost != NULL)
		(void) pending_of(live, trigger->tg_trigger->tgoid);
	else
		count_change(live, trigger);
	return PointerGetDatum(NULL);
}

/* ---- rows of a publisher ---- */

/*
 * BEFORE ROW trigger of the tables that store the sums of live sketches. Skips
 * a row of sums that a subscription copies from the publisher: the triggers of
 * the subscriber compute the sums from the replicated rows of its own tables.
 */
PG_FUNCTION_INFO_V1(fastclust_skip_replicated);
Datum
fastclust_skip_replicated(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event))
		ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				errmsg("function %s can only be called by the triggers of live sketches",
					   "skip_replicated"));
	if (IsLogicalWorker())
		return PointerGetDatum(NULL);
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event)
						   ? trigger->tg_newtuple
						   : trigger->tg_trigtuple);
}
