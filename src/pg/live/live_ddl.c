/*
 * live_ddl.c - the event triggers of live sketches: leaves that are added, values that DDL changes, tables that are dropped.
 *
 * They run after every statement that makes, alters or drops a table, and return at once where no live sketch was ever made, the
 * first also unless the statement is one of these.  The rest is in SQL.  Who issues DDL need not have any right to the extension.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/live/live.h"

/* Does a statement make a table with a parent? */
static bool
makes_leaf(const Node *statement)
{
	ListCell   *cell;

	if (IsA(statement, CreateStmt))
		return ((const CreateStmt *) statement)->inhRelations != NIL;
	if (IsA(statement, CreateForeignTableStmt))
		return ((const CreateForeignTableStmt *) statement)->base.inhRelations != NIL;
	if (IsA(statement, CreateSchemaStmt))
		foreach(cell, ((const CreateSchemaStmt *) statement)->schemaElts)
			if (makes_leaf(lfirst(cell)))
				return true;
	return false;
}

/* How a part of ALTER TABLE changes rows without firing triggers, in words; NULL: it does not. */
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
		case AT_EnableReplicaTrig:
		case AT_DisableTrig:
			return strncmp(command->name, "fastclust_live_", 15) == 0 ? "had triggers disabled" : NULL;
		case AT_DisableTrigAll:
		case AT_DisableTrigUser:
			return "had triggers disabled";
		default:
			return NULL;
	}
}

/* A query of two texts, either perhaps NULL, with the rights of a role; has it a row? */
static bool
call(const char *query, const char *first, const char *second, Oid role)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {first == NULL ? (Datum) 0 : CStringGetTextDatum(first), second == NULL ? (Datum) 0 : CStringGetTextDatum(second)};
	char		nulls[] = {first == NULL ? 'n' : ' ', second == NULL ? 'n' : ' ', '\0'};
	Oid			caller;
	int			context;
	int			level = fix_settings();
	bool		found;

	GetUserIdAndSecContext(&caller, &context);
	if (role != caller)
		SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	if (SPI_execute_with_args(query, 2, types, values, nulls, false, 0) < 0)
		elog(ERROR, "\"%s\" failed", query);
	found = SPI_processed > 0;
	SPI_finish();
	SetUserIdAndSecContext(caller, context);
	AtEOXact_GUC(true, level);
	return found;
}

/* (relation): it and all below it, as the executor would scan them; NULL where it is gone. */
SQL_FUNCTION(fastclust_scanned_tables)
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
	PG_RETURN_ARRAYTYPE_P(construct_array(values, count, OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

/* A statement changed values past the triggers: of a column by its name ($1), of tables, or of columns of an enum whose labels it changed; $2: how. */
static const char lose_leaves[] =
	"INSERT INTO live_deltas (live_id, leaf, lost)"
	" SELECT v.live_id, v.leaf, CASE WHEN c.classid = 'pg_type'::regclass THEN format('type %s %s', c.objid::regtype, $2)"
	"                                WHEN $1 IS NULL THEN format('table %s %s', v.leaf, $2) ELSE format('column \"%s\" of %s %s', $1, v.leaf, $2) END"
	"   FROM pg_event_trigger_ddl_commands() c, live_leaves v"
	"  WHERE CASE c.classid WHEN 'pg_class'::regclass THEN v.leaf IN (SELECT t.id FROM live_tables(c.objid) t) AND ($1 IS NULL OR $1 = ANY (v.names))"
	"        WHEN 'pg_type'::regclass THEN EXISTS (SELECT FROM unnest(v.types) u(type) JOIN pg_type t ON t.oid = u.type WHERE c.objid IN (base_type(u.type), t.typelem)) END";

/* A dropped table takes its live sketches with it, whoever drops it. */
static const char forget_dropped[] =
	"SELECT forget_live(l.id) FROM pg_event_trigger_dropped_objects() o JOIN kept_sketches l ON l.relation = o.objid"
	"  WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0;"
	" DELETE FROM live_leaves v USING pg_event_trigger_dropped_objects() o WHERE o.classid = 'pg_class'::regclass AND v.leaf = o.objid AND o.objsubid = 0";

static void
follow_alter_table(const AlterTableStmt *statement, Oid owner, bool *adds)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		const char *loss = loss_by(command);

		if (loss != NULL)
			(void) call(lose_leaves, strstr(loss, "was given") != NULL ? command->name : NULL, loss, owner);
		*adds = *adds || command->subtype == AT_AttachPartition || command->subtype == AT_AddInherit;
	}
}

/* Were there ever live sketches, since their table was last vacuumed?  No snapshot is asked: others' that are not committed count. */
static bool
has_live_sketches(void)
{
	Oid			id = get_relname_relid("kept_sketches", get_namespace_oid("fastclust_internal", true));
	Relation	relation = OidIsValid(id) ? try_relation_open(id, AccessShareLock) : NULL;
	bool		found = relation != NULL && RelationGetNumberOfBlocks(relation) > 0;

	if (relation != NULL)
		relation_close(relation, AccessShareLock);
	return found;
}

static void
follow_statement(const Node *statement, Oid owner)
{
	bool		adds = makes_leaf(statement);

	if (IsA(statement, AlterTableStmt))
		follow_alter_table((const AlterTableStmt *) statement, owner, &adds);
	else if (IsA(statement, AlterEnumStmt) && ((const AlterEnumStmt *) statement)->oldVal != NULL)
		(void) call(lose_leaves, NULL, "has other labels", owner);
	if (adds && call("SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'fastclust_internal')"
					 " AND p.proname = 'follow_leaves' AND has_function_privilege(p.oid, 'EXECUTE') AND has_schema_privilege(p.pronamespace, 'USAGE')"
					 " AND has_schema_privilege('fastclust', 'USAGE')", NULL, NULL, GetUserId()))
		(void) call("SELECT fastclust_internal.follow_leaves()", NULL, NULL, GetUserId());
}

SQL_FUNCTION(fastclust_live_ddl)
{
	const EventTriggerData *trigger = (const EventTriggerData *) fcinfo->context;
	Oid			owner = function_owner(fcinfo->flinfo->fn_oid);

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("live_ddl is for an event trigger")));
	if (!has_live_sketches())
		PG_RETURN_NULL();
	if (strcmp(trigger->event, "sql_drop") == 0)
		(void) call(forget_dropped, NULL, NULL, owner);
	else
		follow_statement(trigger->parsetree, owner);
	PG_RETURN_NULL();
}
