/*
 * live_partitions.c - the event trigger by which live sketches follow the partitions and children of their tables.
 *
 * It runs after every CREATE TABLE and ALTER TABLE, and returns at once unless the statement tells of a parent.
 * The rest is in SQL.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pg/base/compat.h"

typedef enum parts_change
{
	PARTS_STAY,
	PARTS_CHANGE,				/* in one transaction that keeps writers out */
	PARTS_CHANGE_IN_STEPS		/* writers go on */
} parts_change;

/* What a statement does to the parts of some table. */
static parts_change
change_of_parts(const Node *statement)
{
	parts_change change = PARTS_STAY;
	ListCell   *cell;

	if (IsA(statement, CreateStmt))
		return ((const CreateStmt *) statement)->inhRelations != NIL ? PARTS_CHANGE : PARTS_STAY;
	if (!IsA(statement, AlterTableStmt))
		return PARTS_STAY;
	foreach(cell, ((const AlterTableStmt *) statement)->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (detaches_in_steps(command))
			return PARTS_CHANGE_IN_STEPS;
		if (command->subtype == AT_AttachPartition || command->subtype == AT_DetachPartition ||
			command->subtype == AT_AddInherit || command->subtype == AT_DropInherit)
			change = PARTS_CHANGE;
	}
	return change;
}

PG_FUNCTION_INFO_V1(fastclust_live_partitions);
Datum
fastclust_live_partitions(PG_FUNCTION_ARGS)
{
	parts_change change;
	Oid			type = BOOLOID;
	Datum		value;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s is for an event trigger", "live_partitions")));
	change = change_of_parts(((EventTriggerData *) fcinfo->context)->parsetree);
	if (change == PARTS_STAY)
		PG_RETURN_NULL();
	value = BoolGetDatum(change == PARTS_CHANGE);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args("SELECT fastclust_internal.follow_parts($1)", 1, &type, &value, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "the parts of a table could not be followed");
	SPI_finish();
	PG_RETURN_NULL();
}

/* (relation): does this session keep all writers out of it? */
PG_FUNCTION_INFO_V1(fastclust_keeps_writers_out);
Datum
fastclust_keeps_writers_out(PG_FUNCTION_ARGS)
{
	Relation	relation = RelationIdGetRelation(PG_GETARG_OID(0));
	bool		result = RelationIsValid(relation) && CheckRelationLockedByMe(relation, ShareRowExclusiveLock, true);

	if (RelationIsValid(relation))
		RelationClose(relation);
	PG_RETURN_BOOL(result);
}
