/*
 * labels.c - write_labels: the rows of a query into a table, many at a time.
 *
 * CREATE TABLE AS and INSERT write row by row, in one process, and log each row.  Here a thousand rows are gathered and written at once, with a
 * record in the log for each page, as COPY does: half of the time.  Parallel workers may read and predict, for only the leader writes.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "tcop/dest.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/progress.h"

#define BATCH_ROWS	1000

typedef struct row_writer
{
	DestReceiver receiver;		/* first: the executor knows this part alone */
	Relation	relation;
	CommandId	command;
	BulkInsertState bulk;
	MemoryContext context;		/* of one batch */
	int			count;
	TupleTableSlot *rows[BATCH_ROWS];
} row_writer;

/* ---- rows as the executor gives them ---- */

/* A transaction gets its number now: parallel plans run where none can be assigned. */
static void
begin_rows(DestReceiver *receiver, int operation, TupleDesc row)
{
	(void) GetCurrentTransactionId();
	((row_writer *) receiver)->command = GetCurrentCommandId(true);
}

static void
write_batch(row_writer *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	table_multi_insert(writer->relation, writer->rows, writer->count, writer->command, 0, writer->bulk);
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->context);
	for (int i = 0; i < writer->count; i++)
		ExecClearTuple(writer->rows[i]);
	writer->count = 0;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *receiver)
{
	row_writer *writer = (row_writer *) receiver;

	ExecCopySlot(writer->rows[writer->count++], slot);
	if (writer->count == BATCH_ROWS)
		write_batch(writer);
	report_progress_of_rows();
	return true;
}

static void
end_rows(DestReceiver *receiver)
{
	row_writer *writer = (row_writer *) receiver;

	if (writer->count > 0)
		write_batch(writer);
}

static void
no_more_rows(DestReceiver *receiver)
{
}

static void
write_many(Relation relation, SPIPlanPtr plan)
{
	row_writer *writer = palloc0(sizeof(row_writer));

	writer->receiver = (DestReceiver) {receive_row, begin_rows, end_rows, no_more_rows, DestIntoRel};
	writer->relation = relation;
	writer->bulk = GetBulkInsertState();
	writer->context = AllocSetContextCreate(CurrentMemoryContext, "fastclust rows", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < BATCH_ROWS; i++)
		writer->rows[i] = table_slot_create(relation, NULL);
	execute_into(plan, &writer->receiver);
	for (int i = 0; i < BATCH_ROWS; i++)
		ExecDropSingleTupleTableSlot(writer->rows[i]);
	FreeBulkInsertState(writer->bulk);
	table_finish_bulk_insert(relation, 0);
}

/* ---- which tables take them so ---- */

/* Is nothing to be done, asked or refused for a single row? */
static bool
is_plain(Relation relation)
{
	return relation->rd_rel->relkind == RELKIND_RELATION && !RELATION_IS_OTHER_TEMP(relation) && !relation->rd_rel->relhasindex &&
		!relation->rd_rel->relispartition && !relation->rd_rel->relrowsecurity && relation->trigdesc == NULL && relation->rd_rules == NULL &&
		RelationGetDescr(relation)->constr == NULL &&
		pg_class_aclcheck(RelationGetRelid(relation), GetUserId(), ACL_INSERT) == ACLCHECK_OK;
}

/* Has the table the columns of the query, and no others? */
static bool
has_columns_of(TupleDesc table, TupleDesc query)
{
	bool		same = table->natts == query->natts;

	for (int i = 0; same && i < table->natts; i++)
	{
		Form_pg_attribute ours = TupleDescAttr(table, i);
		Form_pg_attribute theirs = TupleDescAttr(query, i);

		same = !ours->attisdropped && ours->atttypid == theirs->atttypid && ours->atttypmod == theirs->atttypmod &&
			strcmp(NameStr(ours->attname), NameStr(theirs->attname)) == 0;
	}
	return same;
}

/* By the names of its columns, with all that the table does for a row. */
static void
write_each(Relation relation, TupleDesc row, const char *query)
{
	StringInfoData insert;

	initStringInfo(&insert);
	appendStringInfo(&insert, "INSERT INTO %s (", relation_name(RelationGetRelid(relation)));
	for (int i = 0; i < row->natts; i++)
		appendStringInfo(&insert, "%s%s", i > 0 ? ", " : "", quote_identifier(NameStr(TupleDescAttr(row, i)->attname)));
	appendStringInfo(&insert, ") %s", query);
	SPI_execute(insert.data, false, 0);
}

/* Of its table, or of some of its columns: no other's table is locked. */
static void
check_insert(Oid relation)
{
	if (pg_class_aclcheck(relation, GetUserId(), ACL_INSERT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relation, GetUserId(), ACL_INSERT, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relation)), get_rel_name(relation));
}

/* (target, query): how many rows of the query were written. */
SQL_FUNCTION(fastclust_write_rows)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation	relation;
	SPIPlanPtr	plan;
	TupleDesc	row;
	uint64		written;

	PreventCommandIfReadOnly("INSERT");
	check_insert(PG_GETARG_OID(0));
	relation = table_open(PG_GETARG_OID(0), RowExclusiveLock);
	SPI_connect();
	plan = SPI_prepare_cursor(query, 0, NULL, CURSOR_OPT_PARALLEL_OK);
	if (plan == NULL || !SPI_is_cursor_plan(plan))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query gives no rows")));
	row = ((CachedPlanSource *) linitial(SPI_plan_get_plan_sources(plan)))->resultDesc;
	if (SPI_HAS_RECEIVERS && is_plain(relation) && has_columns_of(RelationGetDescr(relation), row))
		write_many(relation, plan);
	else
		write_each(relation, row, query);
	written = SPI_processed;
	SPI_finish();
	table_close(relation, NoLock);
	PG_RETURN_INT64((int64) written);
}

/* ---- write_labels ---- */

/* The name of a table in the search_path of the caller: that of one that exists, or of one to be made. */
static char *
target_name(text *target)
{
	RangeVar   *name = makeRangeVarFromNameList(textToQualifiedNameList(target));
	Oid			relation = RangeVarGetRelid(name, NoLock, true);
	Oid			schema = OidIsValid(relation) ? get_rel_namespace(relation) : RangeVarGetCreationNamespace(name);

	return quote_qualified_identifier(get_namespace_name_or_temp(schema), name->relname);
}

/* (model, relation, target, options); the rest is SQL with a search_path of its own. */
SQL_FUNCTION(fastclust_write_labels)
{
	static const char *const names[] = {"model", "relation", "target", "options"};
	Oid			types[] = {TEXTOID, REGCLASSOID, TEXTOID, JSONBOID};
	Oid			function;

	for (int i = 0; i < lengthof(names); i++)
		require_argument(fcinfo, i, names[i]);
	function = LookupFuncName(list_make2(makeString(pstrdup("fastclust_internal")), makeString(pstrdup("label_rows"))), lengthof(types), types, false);
	return OidFunctionCall4(function, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), CStringGetTextDatum(target_name(PG_GETARG_TEXT_PP(2))), PG_GETARG_DATUM(3));
}
