/*
 * live_deltas.c - rows appended to live_deltas.
 *
 * They are inserted as rows of the catalog are, below privileges and policies: who may write the table adds to them
 * through the triggers, and in no other way.  Most statements write one row, so that an executor would cost more than it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "executor/tuptable.h"
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

/* The table, open.  An error where it is gone, or that of another version. */
static Relation
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
set_column(Datum *values, bool *nulls, int column, const void *pointer)
{
	values[column] = PointerGetDatum(pointer);
	nulls[column] = pointer == NULL;
}

static void
set_bucket(Datum *values, bool *nulls, int column, TimestampTz bucket)
{
	values[column] = TimestampTzGetDatum(bucket);
	nulls[column] = TIMESTAMP_IS_NOBEGIN(bucket);
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
	Datum	   *values = slot->tts_values;
	bool	   *nulls = slot->tts_isnull;
	ListCell   *cell;

	ExecClearTuple(slot);
	memset(nulls, true, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
	values[DELTA_LIVE_ID] = Int64GetDatum(delta->id);
	values[DELTA_LEAF] = ObjectIdGetDatum(delta->leaf);
	values[DELTA_AT] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	nulls[DELTA_LIVE_ID] = nulls[DELTA_LEAF] = nulls[DELTA_AT] = false;
	set_column(values, nulls, DELTA_GROUP, delta->group);
	set_bucket(values, nulls, DELTA_BUCKET, delta->bucket);
	for (int i = 0; i < 2; i++)
	{
		set_column(values, nulls, DELTA_ROWS + i, delta->sides[i].rows);
		set_column(values, nulls, DELTA_SKETCH + i, delta->sides[i].sketch);
		set_column(values, nulls, DELTA_COUNTS + i, delta->sides[i].counts);
	}
	set_column(values, nulls, DELTA_LOST, delta->lost == NULL ? NULL : cstring_to_text(delta->lost));
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
