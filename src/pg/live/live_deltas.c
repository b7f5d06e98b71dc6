/*
 * live_deltas.c - rows appended to live_deltas.
 *
 * They are inserted as rows of the catalog are, below privileges and policies: whoever may write the table adds to them
 * through the triggers, and in no other way.  Most statements write one row, so that an executor would cost more than it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

#include "pg/base/compat.h"
#include "pg/live/live.h"

struct live_writer
{
	Relation	relation;
	List	   *indexes;		/* open, of Relation */
	TupleTableSlot *slot;
};

Oid
live_deltas_id(void)
{
	return get_relname_relid("live_deltas", get_namespace_oid("fastclust_internal", false));
}

Relation
live_open_deltas(Oid id, LOCKMODE mode)
{
	Relation	relation = OidIsValid(id) ? try_relation_open(id, mode) : NULL;

	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table fastclust_internal.live_deltas is no more")));
	if (RelationGetDescr(relation)->natts < DELTA_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the tables of live sketches are those of another version of fastclust"),
				 errhint("ALTER EXTENSION fastclust UPDATE brings them up to date.")));
	return relation;
}

live_writer *
live_begin_deltas(const live_sketch *live)
{
	live_writer *writer = palloc0(sizeof(live_writer));
	ListCell   *cell;

	writer->relation = live_open_deltas(live->deltas, RowExclusiveLock);
	foreach(cell, RelationGetIndexList(writer->relation))
		writer->indexes = lappend(writer->indexes, index_open(lfirst_oid(cell), RowExclusiveLock));
	writer->slot = MakeSingleTupleTableSlot(RelationGetDescr(writer->relation), &TTSOpsVirtual);
	return writer;
}

/* A column by its pointer; NULL: there is none. */
static void
set_column(TupleTableSlot *slot, int column, const void *pointer)
{
	slot->tts_values[column] = PointerGetDatum(pointer);
	slot->tts_isnull[column] = pointer == NULL;
}

/* The entry of an index of columns; live_deltas has no other. */
static void
insert_entry(Relation index, Relation relation, TupleTableSlot *slot)
{
	IndexInfo  *info = BuildIndexInfo(index);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	if (!info->ii_ReadyForInserts)
		return;
	if (info->ii_Expressions != NIL || info->ii_Predicate != NIL || info->ii_Unique || info->ii_ExclusionOps != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" of live_deltas is not one of columns alone", RelationGetRelationName(index)),
				 errhint("Drop it.")));
	FormIndexDatum(info, slot, NULL, values, nulls);
	insert_index_entry(index, values, nulls, &slot->tts_tid, relation, info);
	end_index_entries(index, info);
}

void
live_write_delta(live_writer *writer, const live_delta *delta)
{
	TupleTableSlot *slot = writer->slot;
	ListCell   *cell;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
	set_column(slot, DELTA_GROUP, delta->group);
	set_column(slot, DELTA_ADDED_ROWS, delta->added_rows);
	set_column(slot, DELTA_REMOVED_ROWS, delta->removed_rows);
	set_column(slot, DELTA_ADDED, delta->added);
	set_column(slot, DELTA_REMOVED, delta->removed);
	set_column(slot, DELTA_ADDED_COUNTS, delta->added_counts);
	set_column(slot, DELTA_REMOVED_COUNTS, delta->removed_counts);
	set_column(slot, DELTA_LOST, delta->lost == NULL ? NULL : cstring_to_text(delta->lost));
	slot->tts_values[DELTA_LIVE_ID] = Int64GetDatum(delta->id);
	slot->tts_isnull[DELTA_LIVE_ID] = false;
	slot->tts_values[DELTA_AT] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	slot->tts_isnull[DELTA_AT] = false;
	slot->tts_values[DELTA_BUCKET] = TimestampTzGetDatum(delta->bucket);
	slot->tts_isnull[DELTA_BUCKET] = TIMESTAMP_IS_NOBEGIN(delta->bucket);
	ExecStoreVirtualTuple(slot);
	table_tuple_insert(writer->relation, slot, GetCurrentCommandId(true), 0, NULL);
	foreach(cell, writer->indexes)
		insert_entry(lfirst(cell), writer->relation, slot);
}

void
live_end_deltas(live_writer *writer)
{
	ListCell   *cell;

	ExecDropSingleTupleTableSlot(writer->slot);
	foreach(cell, writer->indexes)
		index_close(lfirst(cell), NoLock);
	list_free(writer->indexes);
	relation_close(writer->relation, NoLock);
	pfree(writer);
	CommandCounterIncrement();	/* who reads the live sketch in this transaction sees them */
}
