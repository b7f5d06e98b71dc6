/*
 * live_deltas.c - appends rows to the table live_deltas
 *
 * Rows are inserted as the server inserts catalog rows, without checks of
 * privileges or policies. A role that may write a table with a live sketch
 * appends to live_deltas through the triggers, and in no other way. Most
 * statements append a single row, for which starting an executor would cost
 * more than the insertion.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "pg/live/live.h"

struct live_writer
{
	Relation	relation;
	CatalogIndexState indexes;
};

Oid
live_deltas_id(void)
{
	return get_relname_relid("live_deltas",
							 get_namespace_oid("fastclust_internal", false));
}

/*
 * Opens live_deltas. Raises an error if the table does not exist, is not a
 * heap, or lacks columns of this version of the extension.
 */
static Relation
live_open_deltas(Oid id, LOCKMODE mode)
{
	Relation	relation = OidIsValid(id) ? try_relation_open(id, mode) : NULL;

	if (relation == NULL)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
				errmsg("table fastclust_internal.live_deltas does not exist"));
	if (RelationGetDescr(relation)->natts < DELTA_COLUMNS ||
		relation->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("the tables of live sketches belong to another version of fastclust"),
				errhint("Run ALTER EXTENSION fastclust UPDATE."));
	return relation;
}

/*
 * Opens live_deltas with its indexes. The insertion maintains them as indexes
 * of a catalog, which have no expressions, predicates or exclusion
 * constraints. Raises an error if an index of live_deltas has one of them.
 */
live_writer *
live_begin_deltas(const live_sketch *live)
{
	live_writer *writer = palloc(sizeof(live_writer));

	writer->relation = live_open_deltas(live->deltas, RowExclusiveLock);
	writer->indexes = CatalogOpenIndexes(writer->relation);
	for (int i = 0; i < writer->indexes->ri_NumIndices; i++)
	{
		const IndexInfo *info = writer->indexes->ri_IndexRelationInfo[i];

		if (info->ii_Expressions != NIL || info->ii_Predicate != NIL ||
			info->ii_ExclusionOps != NULL)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("index \"%s\" of live_deltas has an expression, a predicate or an exclusion constraint",
						   RelationGetRelationName(writer->indexes->ri_IndexRelationDescs[i])),
					errhint("Drop the index."));
	}
	return writer;
}

/* Sets a column to a pointer; a NULL pointer makes the column NULL. */
static void
set_column(Datum *values, bool *nulls, int column, const void *pointer)
{
	values[column] = PointerGetDatum(pointer);
	nulls[column] = pointer == NULL;
}

void
live_write_delta(live_writer *writer, const live_delta *delta)
{
	TupleDesc	columns = RelationGetDescr(writer->relation);
	Datum	   *values = palloc0(sizeof(Datum) * (Size) columns->natts);
	bool	   *nulls = palloc(sizeof(bool) * (Size) columns->natts);
	HeapTuple	tuple;

	memset(nulls, true, sizeof(bool) * (Size) columns->natts);
	values[DELTA_LIVE_ID] = Int64GetDatum(delta->id);
	values[DELTA_LEAF] = ObjectIdGetDatum(delta->leaf);
	values
		[DELTA_AT] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	nulls[DELTA_LIVE_ID] = nulls[DELTA_LEAF] = nulls[DELTA_AT] = false;
	set_column(values, nulls, DELTA_GROUP, delta->group);
	values[DELTA_BUCKET] = TimestampTzGetDatum(delta->bucket);
	nulls[DELTA_BUCKET] = TIMESTAMP_IS_NOBEGIN(delta->bucket);
	for (int i = 0; i < 2; i++)
	{
		set_column(values, nulls, DELTA_ROWS + i, delta->sides[i].rows);
		set_column(values, nulls, DELTA_SKETCH + i, delta->sides[i].sketch);
		set_column(values, nulls, DELTA_COUNTS + i, delta->sides[i].counts);
	}
	set_column(values, nulls, DELTA_LOST,
			   delta->lost == NULL ? NULL : cstring_to_text(delta->lost));
	tuple = heap_form_tuple(columns, values, nulls);
	CatalogTupleInsertWithInfo(writer->relation, tuple, writer->indexes);
	heap_freetuple(tuple);
}

void
live_end_deltas(live_writer *writer)
{
	CatalogCloseIndexes(writer->indexes);
	relation_close(writer->relation, NoLock);
	pfree(writer);
	CommandCounterIncrement();	/* make the rows visible to readers in this
								 * transaction */
}
