/*
 * live_deltas.c - rows appended to live_deltas, and taken out as sums of each group and bucket.
 *
 * They are inserted as rows of the catalog are, below privileges and policies: whoever may write the table adds to them
 * through the triggers, and in no other way.  Most statements write one row, so that an executor would cost more than it.
 * Thousands of deltas are a row or two each: each is read by the index, deleted and added in one go.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opfamily.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/drift/drift_value.h"
#include "pg/live/live.h"
#include "pg/sketch/sketch_value.h"

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
	values[DELTA_AT] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	nulls[DELTA_LIVE_ID] = nulls[DELTA_AT] = false;
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

/* ---- taking them out ---- */

/* The columns of what comes out. */
enum
{
	TAKEN_GROUP,
	TAKEN_BUCKET,
	TAKEN_SKETCH,				/* a pair: added, removed */
	TAKEN_CAME = TAKEN_SKETCH + 2,
	TAKEN_WENT,
	TAKEN_DELTAS,
	TAKEN_COUNTS,				/* a pair */
	TAKEN_COLUMNS = TAKEN_COUNTS + 2
};

/* One of the order of whole numbers that begins with live_id and has all rows. */
static bool
finds_deltas(Relation index)
{
	return index->rd_index->indisvalid && index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indkey.values[0] == DELTA_LIVE_ID + 1
		&& index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID && RelationGetIndexPredicate(index) == NIL;
}

/* The index that finds the deltas of a live sketch; without one they are searched. */
static Oid
index_of_deltas(Relation deltas)
{
	List	   *indexes = RelationGetIndexList(deltas);
	ListCell   *cell;
	Oid			result = InvalidOid;

	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (finds_deltas(index))
			result = RelationGetRelid(index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return result;
}

/* A sum, as a row of the result. */
static void
put_sum(void *argument, const live_delta *delta)
{
	Datum		values[TAKEN_COLUMNS] = {0};
	bool		nulls[TAKEN_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	set_column(values, nulls, TAKEN_GROUP, delta->group);
	set_bucket(values, nulls, TAKEN_BUCKET, delta->bucket);
	for (int i = 0; i < 2; i++)
	{
		set_column(values, nulls, TAKEN_SKETCH + i, delta->sides[i].sketch);
		set_column(values, nulls, TAKEN_COUNTS + i, delta->sides[i].counts);
	}
	put_row(argument, values, nulls);
}

/* A table that came or went, as a row of the result. */
static void
put_table(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	Datum		taken[TAKEN_COLUMNS] = {0};
	bool		none[TAKEN_COLUMNS];

	if (nulls[DELTA_CAME] && nulls[DELTA_WENT])
		return;
	memset(none, true, sizeof(none));
	taken[TAKEN_CAME] = values[DELTA_CAME];
	none[TAKEN_CAME] = nulls[DELTA_CAME];
	taken[TAKEN_WENT] = values[DELTA_WENT];
	none[TAKEN_WENT] = nulls[DELTA_WENT];
	put_row(fcinfo, taken, none);
}

static const void *
detoasted(Datum value, bool null)
{
	return null ? NULL : PG_DETOAST_DATUM_PACKED(value);
}

static void
count_values(live_changes *changes, const Datum *values, const bool *nulls)
{
	live_delta	delta = {
		.group = detoasted(values[DELTA_GROUP], nulls[DELTA_GROUP]),
		.bucket = nulls[DELTA_BUCKET] ? DT_NOBEGIN : DatumGetTimestampTz(values[DELTA_BUCKET])
	};
	bool		counts = false;

	for (int i = 0; i < 2; i++)
	{
		delta.sides[i] = (live_side) {
			.rows = detoasted(values[DELTA_ROWS + i], nulls[DELTA_ROWS + i]),
			.sketch = nulls[DELTA_SKETCH + i] ? NULL : aligned_value(values[DELTA_SKETCH + i]),
			.counts = nulls[DELTA_COUNTS + i] ? NULL : aligned_value(values[DELTA_COUNTS + i])
		};
		counts = counts || delta.sides[i].rows != NULL || delta.sides[i].sketch != NULL;
	}
	if (counts)
		live_count_delta(changes, &delta);
}

/* False where another session has taken it, which is so when the live sketch was dropped. */
static bool
delete_delta(Relation deltas, ItemPointer place)
{
	TM_FailureData failure;
	TM_Result	result = table_tuple_delete(deltas, place, GetCurrentCommandId(true), GetActiveSnapshot(), InvalidSnapshot, true, &failure, false);

	if (result != TM_Ok && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent delete")));
	return result == TM_Ok;
}

static int64
take_deltas(Relation deltas, int64 id, live_changes *changes, FunctionCallInfo fcinfo)
{
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "fastclust delta", ALLOCSET_DEFAULT_SIZES);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum	   *values = palloc(sizeof(Datum) * (Size) RelationGetDescr(deltas)->natts);
	bool	   *nulls = palloc(sizeof(bool) * (Size) RelationGetDescr(deltas)->natts);
	int64		taken = 0;

	ScanKeyInit(&key, DELTA_LIVE_ID + 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
	scan = systable_beginscan(deltas, index_of_deltas(deltas), true, GetActiveSnapshot(), 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(deltas), values, nulls);
		if (nulls[DELTA_LOST] && delete_delta(deltas, &tuple->t_self))
		{
			taken++;
			put_table(fcinfo, values, nulls);
			count_values(changes, values, nulls);
			if (live_changes_are_large(changes))
				live_take_changes(changes, put_sum, fcinfo);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	systable_endscan(scan);
	live_take_changes(changes, put_sum, fcinfo);
	return taken;
}

/*
 * (live_id, spec, drift_spec, parted): rows (group, bucket, added, removed, came, went, deltas, added_counts, removed_counts), of sums,
 * of tables, and one of the number of deltas.  drift_spec NULL: without counts; parted: of groups or buckets.  A group and bucket may come more than once.  Whoever calls it holds the live sketch.
 */
SQL_FUNCTION(fastclust_take_deltas)
{
	live_sketch live = {.id = PG_GETARG_INT64(0)};
	Datum		values[TAKEN_COLUMNS] = {0};
	bool		nulls[TAKEN_COLUMNS];
	Relation	deltas;

	require_argument(fcinfo, 0, "live_id");
	require_argument(fcinfo, 1, "spec");
	live.spec = SPEC_ARG(1);
	live.drift_spec = PG_ARGISNULL(2) ? NULL : DRIFT_SPEC_ARG(2);
	live.grouped = live.bucketed = PG_GETARG_BOOL(3);
	fastclust_begin_rows(fcinfo);
	deltas = live_open_deltas(live_deltas_id(), RowExclusiveLock);
	memset(nulls, true, sizeof(nulls));
	values[TAKEN_DELTAS] = Int64GetDatum(take_deltas(deltas, live.id, live_begin_changes(&live), fcinfo));
	nulls[TAKEN_DELTAS] = false;
	put_row(fcinfo, values, nulls);
	table_close(deltas, NoLock);
	return (Datum) 0;
}
