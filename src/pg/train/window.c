/*
 * window.c - the option "since": the recent rows of a table that grows, as a
 * condition on rows of the alias t
 *
 *     {"column": c, "interval": i}   c > newest - i and c <= newest, where
 *                                    newest is the latest time in c, without
 *                                    times in the future
 *     {"partition": "last"}          bounds of the last partition that has
 *                                    rows
 *     {"where": condition}           same as the option "where"
 * The key "except" contains such an object, whose rows are left out. Times
 * are constants of the condition, so that partitions are pruned and indexes
 * used.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "pg/model/row_condition.h"
#include "pg/train/columns.h"
#include "pg/train/query.h"
#include "pg/train/window.h"

/*
 * Returns the condition of an interval, or "false" if the column has no times.
 * Times more than a day in the future are ignored, so that they do not become
 * the newest; clocks may differ by up to a day.
 */
static char *
interval_condition(Oid relation, const char *rows, const char *column,
				   const char *interval)
{
	Oid			type = getBaseType(column_type(relation, column));
	char	   *name = row_column(column);
	char	   *type_name = format_type_be(type);
	query_argument width = {"interval"};
	StringInfoData query;
	bool		null;
	Datum		condition;

	if (type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("option \"since\": column \"%s\" is of type %s, not a time",
					   column, type_name),
				errhint("Times are date, timestamp and timestamptz; for other columns, use {\"where\": \"...\"}."));
	width.value = DirectFunctionCall3(interval_in, CStringGetDatum(interval),
									  ObjectIdGetDatum(InvalidOid),
									  Int32GetDatum(-1));
	if (!DatumGetBool(DirectFunctionCall2(interval_gt, width.value,
										  DirectFunctionCall3(interval_in, CStringGetDatum("0"),
															  ObjectIdGetDatum(InvalidOid),
															  Int32GetDatum(-1)))))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"since\": interval is %s, out of range",
					   interval),
				errdetail("It must be above 0."));
	initStringInfo(&query);
	appendStringInfo(&query,
					 "SELECT format('%%1$s > %%2$L::%%3$s AND %%1$s <= %%4$L::%%3$s', %s,"
					 " to_json((q.newest - $1)::%s) #>> '{}', %s, to_json(q.newest) #>> '{}') ",
					 quote_literal_cstr(name), type_name, quote_literal_cstr(type_name));
	appendStringInfo(&query,
					 "FROM (SELECT max(%1$s) AS newest FROM %2$s t WHERE %1$s <= (now() + '1"
					 " day')::%3$s AND isfinite(%1$s)) q WHERE q.newest IS NOT NULL",
					 name, rows, type_name);
	condition = query_datum(query.data, 1, &width, QUERY_STABLE, &null);
	return null ? "false" : TextDatumGetCString(condition);
}

/*
 * Returns the bounds of the last partition that has rows, as a condition, or
 * "false" if no partition has rows. Partitions are ordered by their bounds.
 * The default partition has no bounds and is skipped.
 */
static char *
partition_condition(Oid relation, const char *rows, const char *which)
{
	Relation	table = existing_relation(relation, AccessShareLock);
	PartitionDesc partitions = (table->rd_rel->relkind ==
								RELKIND_PARTITIONED_TABLE
								? partitions_of(table)
								: NULL);
	char	   *condition = "false";
	bool		found = false;

	if (strcmp(which, "last") != 0 || partitions == NULL ||
		RelationGetPartitionKey(table)->strategy == PARTITION_STRATEGY_HASH)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				strcmp(which, "last") != 0
				? errmsg("option \"since\": partition is \"%s\", but must be \"last\"",
						 which)
				: errmsg("option \"since\": %s has no ordered partitions",
						 RelationGetRelationName(table)),
				errhint("Other windows are {\"column\": \"at\", \"interval\": \"20 days\"} and {\"where\": \"...\"}."));
	for (int i = partitions->nparts - 1; i >= 0 && !found; i--)
		if (i != partitions->boundinfo->default_index)
		{
			Datum		bounds = DirectFunctionCall1(pg_get_partition_constraintdef,
													 ObjectIdGetDatum(partitions->oids[i]));
			char	   *query;

			condition = resolved_condition(relation,
										   TextDatumGetCString(bounds), NULL);
			query = psprintf("SELECT EXISTS (SELECT FROM %s t WHERE %s)", rows,
							 condition);
			found = DatumGetBool(query_datum(query, 0, NULL, QUERY_STABLE,
											 NULL));
		}
	table_close(table, AccessShareLock);
	return found ? condition : "false";
}

char *
window_condition(Oid relation, const char *rows, const row_window *since)
{
	char	   *condition;

	if ((since->column != NULL) + (since->partition != NULL) +
		(since->where != NULL) !=
		1 ||
		(since->column == NULL) != (since->interval == NULL))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"since\" does not define recent rows"),
				errhint("It must be one of {\"column\": \"at\", \"interval\": \"20 days\"}, {\"partition\": \"last\"} or {\"where\": \"...\"}."));
	condition = since->column != NULL
		? interval_condition(relation, rows, since->column,
							 since->interval)
		: since->partition != NULL
		? partition_condition(relation, rows, since->partition)
		: resolved_condition(relation, since->where, NULL);
	return since->except == NULL ? psprintf("(%s)", condition) :
		psprintf("(%s) AND (%s) IS NOT TRUE", condition,
				 window_condition(relation, rows, since->except));
}
