/*
 * live_partitions.c - the event triggers of live sketches: partitions and children that come and go, tables that are dropped.
 *
 * The first runs after every statement that makes or alters a table, and returns at once unless the statement tells of a parent.
 * The rest is in SQL.  Whoever issues DDL need not have any right to the extension.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/live/live.h"

typedef enum parts_change
{
	PARTS_STAY,
	PARTS_CHANGE,				/* in one transaction that keeps writers out */
	PARTS_CHANGE_IN_STEPS		/* writers go on */
} parts_change;

/* Does a statement make a table with a parent? */
static bool
makes_part(const Node *statement)
{
	ListCell   *cell;

	if (IsA(statement, CreateStmt))
		return ((const CreateStmt *) statement)->inhRelations != NIL;
	if (IsA(statement, CreateForeignTableStmt))
		return ((const CreateForeignTableStmt *) statement)->base.inhRelations != NIL;
	if (IsA(statement, CreateSchemaStmt))
		foreach(cell, ((const CreateSchemaStmt *) statement)->schemaElts)
			if (makes_part(lfirst(cell)))
				return true;
	return false;
}

/* What a statement does to the parts of some table; one that is unlogged from now on is looked at like a part that comes. */
static parts_change
change_of_parts(const Node *statement)
{
	parts_change change = PARTS_STAY;
	ListCell   *cell;

	if (makes_part(statement))
		return PARTS_CHANGE;
	if (!IsA(statement, AlterTableStmt))
		return PARTS_STAY;
	foreach(cell, ((const AlterTableStmt *) statement)->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (detaches_in_steps(command))
			return PARTS_CHANGE_IN_STEPS;
		if (command->subtype == AT_AttachPartition || command->subtype == AT_DetachPartition ||
			command->subtype == AT_AddInherit || command->subtype == AT_DropInherit || command->subtype == AT_SetUnLogged)
			change = PARTS_CHANGE;
	}
	return change;
}

static void
check_event_trigger(FunctionCallInfo fcinfo, const char *name)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s is for an event trigger", name)));
}

/* A query for one value of one argument, with the rights of a role; true when the value is true. */
static bool
is_true(const char *query, Oid type, Datum argument, Oid role)
{
	Oid			caller;
	int			context;
	bool		null = true;
	Datum		value = (Datum) 0;

	GetUserIdAndSecContext(&caller, &context);
	if (role != caller)
		SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	if (SPI_execute_with_args(query, 1, &type, &argument, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "\"%s\" failed", query);
	if (SPI_processed == 1 && SPI_gettypeid(SPI_tuptable->tupdesc, 1) == BOOLOID)
		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	SPI_finish();
	SetUserIdAndSecContext(caller, context);
	return !null && DatumGetBool(value);
}

SQL_FUNCTION(fastclust_live_partitions)
{
	parts_change change;

	check_event_trigger(fcinfo, "live_partitions");
	change = change_of_parts(((EventTriggerData *) fcinfo->context)->parsetree);
	if (change != PARTS_STAY &&
		is_true("SELECT fastclust_internal.parts_to_follow($1)", OIDOID, ObjectIdGetDatum(GetUserId()), function_owner(fcinfo->flinfo->fn_oid)))
		(void) is_true("SELECT fastclust_internal.follow_parts($1)", BOOLOID, BoolGetDatum(change == PARTS_CHANGE), GetUserId());
	PG_RETURN_NULL();
}

SQL_FUNCTION(fastclust_live_dropped)
{
	check_event_trigger(fcinfo, "live_dropped");
	(void) is_true("SELECT fastclust_internal.forget_dropped()", OIDOID, ObjectIdGetDatum(GetUserId()), function_owner(fcinfo->flinfo->fn_oid));
	PG_RETURN_NULL();
}

/* (relation): does this session keep all writers out of it? */
SQL_FUNCTION(fastclust_keeps_writers_out)
{
	Relation	relation = RelationIdGetRelation(PG_GETARG_OID(0));
	bool		result = RelationIsValid(relation) && CheckRelationLockedByMe(relation, ShareRowExclusiveLock, true);

	if (RelationIsValid(relation))
		RelationClose(relation);
	PG_RETURN_BOOL(result);
}
