/*
 * live_ddl.c - reports which subcommands of a DDL command add leaves to tables
 * with live sketches, or change values without firing the triggers; and
 * functions that find, lock and count leaves after a restore
 *
 * The event triggers of sql/live/ddl.sql call these functions only for
 * commands on tables with live sketches, so that other DDL need not even load
 * the library.
 */
#include "postgres.h"

#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lock.h"
#include "tcop/deparse_utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/live/live.h"

/*
 * Returns a phrase for messages about a subcommand of ALTER TABLE after which
 * rows may have changed without firing triggers. Returns NULL for other
 * subcommands.
 */
static const char *
loss_by(const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_AlterColumnType:
			return "was given another type";
#if PG_VERSION_NUM >= 170000
		case AT_SetExpression:
			return "was given another expression";
#endif
		case AT_SetUnLogged:
			return "became unlogged";
		case AT_EnableTrig:
		case AT_EnableTrigAll:
		case AT_EnableTrigUser:
		case AT_EnableReplicaTrig:
		case AT_DisableTrig:
		case AT_DisableTrigAll:
		case AT_DisableTrigUser:
			return "had triggers disabled";
		default:
			return NULL;
	}
}

/*
 * Takes (relation). Returns an array of the OIDs of the table and all its
 * descendants, as the executor would scan them. Returns NULL if the table does
 * not exist.
 */
PG_FUNCTION_INFO_V1(fastclust_scanned_tables);
Datum
fastclust_scanned_tables(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	List	   *tables;
	Datum	   *values;
	int			count = 0;
	ListCell   *cell;

	if (get_rel_name(relation) == NULL)
		PG_RETURN_NULL();
	tables = find_all_inheritors(relation, NoLock, NULL);
	values = palloc(sizeof(Datum) * (Size) list_length(tables));
	foreach(cell, tables)
		values[count++] = ObjectIdGetDatum(lfirst_oid(cell));
	PG_RETURN_ARRAYTYPE_P(construct_array(values, count, OIDOID, sizeof(Oid),
										  true, TYPALIGN_INT));
}

/* ---- leaves of a restored dump ---- */

/*
 * Takes (relation, exclusive). Locks the inheritance tree of a table until the
 * end of the transaction, in shared or exclusive mode. This lock is separate
 * from the locks that statements on a table take.
 */
PG_FUNCTION_INFO_V1(fastclust_lock_tree);
Datum
fastclust_lock_tree(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, fcinfo->flinfo->fn_oid,
					   PG_GETARG_OID(0), 0);
	(void) LockAcquire(&tag, PG_GETARG_BOOL(1) ? ExclusiveLock : ShareLock,
					   false, false);
	PG_RETURN_VOID();
}

static const char uncounted_leaves[] = "SELECT l, u FROM kept_sketches l, uncounted_leaves(l)"
" u WHERE l.id = $1 AND $2 IS NOT NULL";

/*
 * Takes (live_id). Returns rows (live sketch, leaf) for the leaves that have
 * their triggers but are not counted yet. Reads under the latest snapshot.
 */
PG_FUNCTION_INFO_V1(fastclust_restored_leaves);
Datum
fastclust_restored_leaves(PG_FUNCTION_ARGS)
{
	fastclust_begin_rows(fcinfo);
	SPI_connect();
	live_execute(uncounted_leaves, PG_GETARG_INT64(0), InvalidOid, true);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[2];
		bool		nulls[2];

		for (int j = 0; j < 2; j++)
			values[j] = SPI_getbinval(SPI_tuptable->vals[i],
									  SPI_tuptable->tupdesc, j + 1, &nulls[j]);
		put_row(fcinfo, values, nulls);
	}
	SPI_finish();
	return (Datum) 0;
}

/*
 * Takes (statement, live_id). Runs the statement under the latest snapshot,
 * with the id as $1. Returns the text of the first column of its first row, or
 * NULL if it has no rows.
 */
PG_FUNCTION_INFO_V1(fastclust_run_latest);
Datum
fastclust_run_latest(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	text	   *result = NULL;

	require_argument(fcinfo, 0, "statement");
	require_argument(fcinfo, 1, "live_id");
	SPI_connect();
	live_execute(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT64(1),
				 InvalidOid, false);
	if (SPI_tuptable != NULL && SPI_processed > 0)
	{
		char	   *value = SPI_getvalue(SPI_tuptable->vals[0],
										 SPI_tuptable->tupdesc, 1);

		MemoryContextSwitchTo(context);
		result = value == NULL ? NULL : cstring_to_text(value);
	}
	SPI_finish();
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result);
}

/* ---- subcommands ---- */

/*
 * Adds a result row of ddl_changes. `column` and `trigger` are NULL if the
 * subcommand changes no single column or trigger. `loss` is a phrase for
 * messages, or NULL if the triggers miss no change of rows.
 */
static void
put_change(FunctionCallInfo fcinfo, bool adds, const char *column,
		   const char *trigger, const char *loss, bool enables)
{
	const char *texts[] = {column, trigger, loss};
	Datum		values[5] = {BoolGetDatum(adds)};
	bool		nulls[5] = {false};

	for (int i = 0; i < 3; i++)
	{
		nulls[1 + i] = texts[i] == NULL;
		values[1 + i] = texts[i] == NULL ? (Datum) 0
			: CStringGetTextDatum(texts[i]);
	}
	values[4] = BoolGetDatum(enables);
	put_row(fcinfo, values, nulls);
}

/*
 * Returns true if the subcommand of ALTER TABLE names a trigger, and disables
 * it or enables it only for some values of session_replication_role.
 */
static bool
names_trigger(const AlterTableCmd *command)
{
	return command->subtype == AT_EnableTrig ||
		command->subtype == AT_EnableReplicaTrig ||
		command->subtype == AT_DisableTrig;
}

static void
put_alter_table(FunctionCallInfo fcinfo, const List *commands)
{
	ListCell   *cell;

	foreach(cell, commands)
	{
		const AlterTableCmd *command = castNode(AlterTableCmd,
												((const CollectedATSubcmd *)
												 lfirst(cell))->parsetree);
		const char *loss = loss_by(command);

		put_change(fcinfo,
				   command->subtype == AT_AttachPartition ||
				   command->subtype == AT_AddInherit,
				   loss != NULL && strstr(loss, "was given") != NULL
				   ? command->name
				   : NULL,
				   names_trigger(command) ? command->name : NULL, loss,
				   command->subtype == AT_EnableAlwaysTrig &&
				   strncmp(command->name, "fastclust_live_", 15) == 0);
	}
}

/*
 * Reports renamed and replaced triggers. While a trigger has another name,
 * other events or other conditions, it misses changes, and restoring the
 * trigger later does not count them. CREATE TRIGGER needs no report, because
 * the loss was recorded when the old trigger was dropped.
 */
static void
put_trigger(FunctionCallInfo fcinfo, const Node *statement)
{
	if (IsA(statement, RenameStmt))
	{
		const RenameStmt *rename = (const RenameStmt *) statement;

		if (rename->renameType != OBJECT_TRIGGER)
			return;
		put_change(fcinfo, false, NULL, rename->subname, "had triggers renamed",
				   false);
		put_change(fcinfo, false, NULL, rename->newname, "had triggers renamed",
				   false);
	}
#if PG_VERSION_NUM >= 140000
	if (IsA(statement, CreateTrigStmt) &&
		((const CreateTrigStmt *) statement)->replace)
		put_change(fcinfo, false, NULL,
				   ((const CreateTrigStmt *) statement)->trigname,
				   "had triggers replaced", false);
#endif
}

/*
 * Takes (command). Returns rows (adds, column_name, trigger_name, loss,
 * enables): one for each subcommand of ALTER TABLE, up to two for other
 * commands.
 *     adds          true if a leaf is added
 *     column_name   column whose type or expression changes, or NULL
 *     trigger_name  trigger that misses changes, or NULL
 *     loss          phrase about changes of rows that triggers miss, or NULL
 *     enables       true if a trigger of this extension is enabled
 */
PG_FUNCTION_INFO_V1(fastclust_ddl_changes);
Datum
fastclust_ddl_changes(PG_FUNCTION_ARGS)
{
	const CollectedCommand *command = ((const CollectedCommand *)
									   PG_GETARG_POINTER(0));
	const Node *statement = command->parsetree;

	fastclust_begin_rows(fcinfo);
	if (command->type == SCT_AlterTable)
		put_alter_table(fcinfo, command->d.alterTable.subcmds);
	else if (command->type == SCT_Simple && IsA(statement, CreateStmt))
		put_change(fcinfo, ((const CreateStmt *) statement)->inhRelations != NIL,
				   NULL, NULL, NULL, false);
	else if (command->type == SCT_Simple &&
			 IsA(statement, CreateForeignTableStmt))
		put_change(fcinfo,
				   ((const CreateForeignTableStmt *) statement)->base.inhRelations != NIL,
				   NULL, NULL, NULL, false);
	else if (command->type == SCT_Simple && IsA(statement, AlterEnumStmt))
		put_change(fcinfo, false, NULL, NULL,
				   ((const AlterEnumStmt *) statement)->oldVal != NULL
				   ? "has other labels"
				   : NULL,
				   false);
	else if (command->type == SCT_Simple)
		put_trigger(fcinfo, statement);
	return (Datum) 0;
}
