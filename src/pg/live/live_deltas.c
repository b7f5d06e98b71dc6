/*
 * live_deltas.c - rows appended to live_deltas.
 *
 * They are inserted as the apply of a subscription does it, below privileges and policies: whoever may write the table
 * adds to them through the triggers, and in no other way.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "pg/base/compat.h"
#include "pg/live/live.h"

/* The columns of live_deltas; later versions of the extension add behind. */
enum
{
	DELTA_LIVE_ID,
	DELTA_AT,
	DELTA_GROUP,
	DELTA_BUCKET,
	DELTA_ADDED_ROWS,
	DELTA_REMOVED_ROWS,
	DELTA_ADDED,
	DELTA_REMOVED,
	DELTA_LOST,
	DELTA_COLUMNS
};

struct live_writer
{
	Relation	relation;
	EState	   *estate;
	ResultRelInfo *result;
	TupleTableSlot *slot;
};

live_writer *
live_begin_deltas(void)
{
	live_writer *writer = palloc(sizeof(live_writer));
	MemoryContext old;
	Oid			relation = get_relname_relid("live_deltas", get_namespace_oid("fastclust", false));

	if (!OidIsValid(relation))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table fastclust.live_deltas is no more")));
	writer->relation = table_open(relation, RowExclusiveLock);
	if (RelationGetDescr(writer->relation)->natts < DELTA_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the tables of live sketches are those of another version of fastclust"),
				 errhint("ALTER EXTENSION fastclust UPDATE brings them up to date.")));
	writer->estate = CreateExecutorState();
	old = MemoryContextSwitchTo(writer->estate->es_query_cxt);
	writer->result = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->result, writer->relation, 0, NULL, 0);
	ExecOpenIndices(writer->result, false);
	writer->slot = MakeSingleTupleTableSlot(RelationGetDescr(writer->relation), &TTSOpsVirtual);
	MemoryContextSwitchTo(old);
	return writer;
}

/* A column by its pointer; NULL: there is none. */
static void
set_column(TupleTableSlot *slot, int column, const void *pointer)
{
	slot->tts_values[column] = PointerGetDatum(pointer);
	slot->tts_isnull[column] = pointer == NULL;
}

void
live_write_delta(live_writer *writer, const live_delta *delta)
{
	TupleTableSlot *slot = writer->slot;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
	set_column(slot, DELTA_GROUP, delta->group);
	set_column(slot, DELTA_ADDED_ROWS, delta->added_rows);
	set_column(slot, DELTA_REMOVED_ROWS, delta->removed_rows);
	set_column(slot, DELTA_ADDED, delta->added);
	set_column(slot, DELTA_REMOVED, delta->removed);
	set_column(slot, DELTA_LOST, delta->lost == NULL ? NULL : cstring_to_text(delta->lost));
	slot->tts_values[DELTA_LIVE_ID] = Int64GetDatum(delta->id);
	slot->tts_isnull[DELTA_LIVE_ID] = false;
	slot->tts_values[DELTA_AT] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	slot->tts_isnull[DELTA_AT] = false;
	slot->tts_values[DELTA_BUCKET] = TimestampTzGetDatum(delta->bucket);
	slot->tts_isnull[DELTA_BUCKET] = TIMESTAMP_IS_NOBEGIN(delta->bucket);
	ExecStoreVirtualTuple(slot);
	insert_row(writer->result, writer->estate, slot);
	ResetPerTupleExprContext(writer->estate);
}

void
live_end_deltas(live_writer *writer)
{
	ExecDropSingleTupleTableSlot(writer->slot);
	ExecCloseIndices(writer->result);
	FreeExecutorState(writer->estate);
	table_close(writer->relation, NoLock);
	pfree(writer);
	CommandCounterIncrement();	/* who reads the live sketch in this transaction sees them */
}
