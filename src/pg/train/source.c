/*
 * source.c - queries that read the rows of a relation, and the number of rows
 *
 * A plain table is read as a whole. Citus aggregates a table whose rows are on
 * shards. A relation with a foreign table in it is aggregated leaf by leaf,
 * because postgres_fdw pushes down an aggregate over one foreign table, but
 * never the partial aggregates of several tables.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "lib/stringinfo.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"

#include "drift/units.h"
#include "pg/base/arguments.h"
#include "pg/train/columns.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/source.h"

/*
 * Maximum number of columns passed to scan_agg, besides state, plan, key and
 * weight: a function takes up to 100 arguments.
 */
#define MAX_CELLS	96

/*
 * Sketches take weights unchanged if all are from 1 / PLAIN_WEIGHT to
 * PLAIN_WEIGHT. A larger value leaves less room below FC_MAX_WEIGHT for larger
 * weights of later rows. A guess.
 */
#define PLAIN_WEIGHT	4096.0

/*
 * Maximum sum of the counts that the encoder takes in place of weights: half
 * of its limit, because counts are rounded.
 */
#define MAX_COUNT	((double) FC_MAX_ROWS / 2)

char *
group_key(const train_source *source)
{
	return source->by_value
		? row_column(source->group_by)
		: source->group_value;
}

void
group_integers_by_value(train_source *source)
{
	Oid			type;

	if (source->group_by == NULL || source->leaf_count > 0 || source->sharded)
		return;
	type = column_type(source->id, source->group_by);
	if (type == INT4OID || type == INT8OID || type == INT2OID)
		source->by_value = true;
}

/*
 * Returns an SQL expression for the text of a group of equal values: the first
 * of their texts by bytes, which does not depend on the order of the rows.
 */
static char *
text_of_values(const train_source *source, const char *value)
{
	char	   *text = group_text(source, value);

	return has_loose_groups(source) ? psprintf("min(%s)", text) : text;
}

/*
 * Selects a sample of blocks or, if the rows have no ctids, a sample by hashes
 * of the rows. Selects all rows if most of them are wanted.
 */
char *
rows_from(const train_source *source, row_choice rows, const char *leaf)
{
	const char *relation = leaf != NULL ? leaf : present_name(source->id);

	if (source->heap && rows.estimate > 3 * rows.wanted)
	{
		int			spread = rows.estimate >= BLOCKS_FACTOR * rows.wanted ? BLOCKS_FACTOR : 1;

		return psprintf("FROM %s t TABLESAMPLE SYSTEM (%.17g) REPEATABLE (" INT64_FORMAT
						") WHERE %s AND %s >> 40 & %d = 0",
						relation, Min(100.0, 100.0 * spread * rows.wanted / rows.estimate),
						rows.seed, source->filter, row_key(source), spread - 1);
	}
	if (!source->heap && rows.estimate >= 8 * rows.wanted)
		return psprintf("FROM %s t WHERE %s AND %s >> 40 & %d = 0", relation, source->filter,
						row_key(source),
						(1 << (int) floor(log2(Min(rows.estimate / (4 * rows.wanted),
												   1048576.0)))) - 1);
	return psprintf("FROM %s t WHERE %s", relation, source->filter);
}

char *
select_rows(const train_source *source, const char *columns, const char *group,
			row_choice rows)
{
	StringInfoData query;

	initStringInfo(&query);
	for (int i = 0; i < Max(1, source->leaf_count); i++)
		appendStringInfo(&query, "%sSELECT %s %s%s%s", i > 0 ? " UNION ALL " : "", columns,
						 rows_from(source, rows,
								   source->leaf_count > 0 ? leaf_name(source->leaves[i]) : NULL),
						 group != NULL ? " GROUP BY " : "", group != NULL ? group : "");
	return query.data;
}

/* Returns the call of scan_agg for the rows of a source. */
static char *
scan_call(const train_source *source, bool keyed)
{
	return psprintf("%s(%s, %s, %s%s)",
					sums_on_shards(source) ? "fastclust_internal.sum"
					: "scan_agg",
					source->planned
					? psprintf("group_plan($1, $2, $3, %s)",
							   group_key(source))
					: "$1",
					keyed ? row_key(source) : "NULL",
					source->weight != NULL ? psprintf("%s, ", source->weight) : "",
					source->is_vector ? source->raw
					: source->feature_count > MAX_CELLS
					? "t.*"
					: listed("t", source->features,
							 source->feature_count));
}

/*
 * Returns a query whose rows are (value, packed state).
 *
 * value: SQL expression for the value of a row or, if there are leaves, a
 * column. group: expression after GROUP BY, or NULL if all rows are one group.
 * merged: expression for the value in the outer query, which merges the states
 * of leaves.
 */
static char *
scan_query(const train_source *source, const char *value, const char *group,
		   bool keyed, const char *merged, row_choice rows)
{
	char	   *query = select_rows(source,
									psprintf("%s AS value, %s AS s", value,
											 scan_call(source, keyed)),
									group, rows);

	if (source->leaf_count == 0)
		return query;
	return psprintf("SELECT %s, fastclust_internal.sum(q.s) FROM (%s) q GROUP BY %s", merged,
					query, has_loose_groups(source) ? "q.value" : "1");
}

char *
scan_text(const train_source *source, row_choice rows)
{
	char	   *value;

	if (source->group_by == NULL)
		return scan_query(source, "''::text", NULL, true, "q.value", rows);
	/* a foreign server can group only by columns of its own table */
	value = row_column(source->group_by);
	return source->leaf_count > 0
		? scan_query(source, value, "1", true, text_of_values(source, "q.value"), rows)
		: scan_query(source, text_of_values(source, value), group_key(source), true, NULL, rows);
}

char *
bucket_scan_text(const train_source *source, const char *column, bool keyed)
{
	char	   *value;
	const char *group = "1";
	const char *shown = "q.value::text";

	if (column == NULL)			/* no ORDER BY, because a sort would copy the
								 * sums */
		return scan_query(source, "NULL::text", NULL, keyed, "q.value", all_rows);
	value = row_column(column);
	if (source->group_by != NULL && source->leaf_count > 0)
		shown = group_text(source, "q.value");
	else if (source->group_by != NULL)
	{
		if (has_loose_groups(source))
			group = value;
		value = text_of_values(source, value);
	}
	return psprintf("SELECT %s, q.scan FROM (%s) q(value, scan) ORDER BY q.value", shown,
					scan_query(source, value, group, keyed, "q.value", all_rows));
}

/*
 * Returns an SQL expression for the unit of row t: NULL without option unit.
 */
static char *
unit_of_row(const train_source *source)
{
	return source->unit == NULL ? "NULL::integer" : row_column(source->unit);
}

/*
 * Returns an SQL expression for the part of the rows, 0 to FC_DRIFT_PARTS - 1,
 * to which the unit of row t belongs.
 */
static char *
unit_part(const train_source *source)
{
	return psprintf("unit_part(%s, %s)", unit_of_row(source), row_key(source));
}

/*
 * Returns a query on the rows of the source, or on the rows of all its leaves.
 * Its result has the columns (value, other, result). value, other: expressions
 * by which rows are grouped. result: expression with aggregates.
 */
static char *
grouped_rows(const train_source *source, const char *value, const char *other,
			 const char *result)
{
	return select_rows(source,
					   psprintf("%s AS value, %s AS other, %s AS result", value, other, result),
					   "1, 2", all_rows);
}

char *
unit_scan_text(const train_source *source, const char *column)
{
	const char *value = column == NULL ? "NULL::text" : row_column(column);
	char	   *shown = "q.value::text";
	const char *weight = source->weight != NULL ? source->weight : "1";

	/* rows are grouped by value if equal values may have different texts */
	if (column != NULL && source->group_by != NULL && has_loose_groups(source))
		shown = text_of_values(source, "q.value");
	else if (column != NULL && source->group_by != NULL)
		value = source->group_value;
	return psprintf("SELECT s.shown, s.state, s.parts, ARRAY[%s, u.weight, u.squares, u.own]"
					" FROM (SELECT q.value, %s AS shown, fastclust_internal.sum(q.result) AS state,"
					" array_agg(q.result) AS parts FROM"
					" (SELECT q.value, fastclust_internal.sum(q.result) AS result FROM (%s) q"
					" GROUP BY q.value, q.other) q GROUP BY q.value) s"
					" JOIN (SELECT q.value, sum(CASE WHEN q.other IS NULL THEN q.n ELSE 1 END)"
					" AS units, sum(q.weight) AS weight, sum(q.own) AS own,"
					" sum(CASE WHEN q.other IS NULL THEN q.own ELSE q.weight * q.weight END) AS squares"
					" FROM (SELECT q.value, q.other, sum(q.result[1]) AS n,"
					" sum(q.result[2]) AS weight, sum(q.result[3]) AS own"
					" FROM (%s) q GROUP BY 1, 2) q GROUP BY 1) u"
					" ON u.value IS NOT DISTINCT FROM s.value ORDER BY s.value",
					source->unit != NULL ? "u.units" : "0",
					shown,
					grouped_rows(source, value, unit_part(source), scan_call(source, true)),
					grouped_rows(source, value, unit_of_row(source),
								 psprintf("ARRAY[count(*), sum(%s), sum((%s)::float8 * %s)]::float8[]",
										  weight, weight, weight)));
}

char *
unit_sets_text(const train_source *source, const int *tenths, row_choice rows)
{
	char	   *tenth = psprintf("%s * 10 / %d", unit_part(source), FC_DRIFT_PARTS);
	char	   *set = psprintf("CASE WHEN %s < %d THEN 0 WHEN %s < %d THEN 1 ELSE 2 END",
							   tenth, tenths[0], tenth, tenths[0] + tenths[1]);

	return psprintf("%s ORDER BY 1", scan_query(source, set, "1", true, "q.value", rows));
}

int
scan_flags(const train_source *source)
{
	return QUERY_PARALLEL | (source->stable ? QUERY_STABLE : 0) |
		(source->sharded || source->leaf_count > 0 ? QUERY_CONSTANTS : 0);
}

/* ---- number of rows ---- */

/*
 * Returns the planner's estimate. If Citus is installed, counts the rows
 * instead: after an EXPLAIN of any table, Citus opens a connection to itself
 * for statements that it ran locally before, and these statements fail.
 */
double
estimated_rows(const train_source *source)
{
	char	   *rows = psprintf("FROM %s t WHERE %s", present_name(source->id),
								source->filter);
	query_argument plan = {"json"};
	bool		null;

	if (has_citus())
		return DatumGetFloat8(query_datum(psprintf("SELECT count(*)::float8 %s",
												   rows),
										  0, NULL, QUERY_PARALLEL, NULL));
	if (SPI_execute(psprintf("EXPLAIN (FORMAT JSON) SELECT 1 %s", rows), false,
					0) != SPI_OK_UTILITY)
		elog(ERROR, "EXPLAIN of %s failed", source->relation);
	plan.value = datumCopy(query_value(0, 1, &null), false, -1);
	return DatumGetFloat8(query_datum("SELECT ($1 -> 0 -> 'Plan' ->> 'Plan Rows')::float8", 1,
									  &plan, 0, NULL));
}

/*
 * Raises an error if the caller may read only some columns of a heap table.
 * Sampling needs the ctids of rows, for which the privilege on the whole table
 * is required; the error message says so.
 */
static void
check_places(const train_source *source)
{
	if (source->heap &&
		pg_class_aclcheck(source->id, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(source->id, GetUserId(), ACL_SELECT,
								  ACLMASK_ANY) == ACLCHECK_OK)
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("permission denied for table %s", source->relation),
				errdetail("Rows are sampled by their physical position, which needs the privilege on the whole table."),
				errhint("GRANT SELECT ON %s, or make a view of these columns and train on the view.",
						source->relation));
}

double
measure_weights(train_source *source)
{
	double		value[5];
	int			exponent;
	bool		null;

	run_query(psprintf("SELECT count(*)::float8, COALESCE(sum(w), 0), min(w), max(w),"
					   " (bool_and(w = trunc(w)))::integer::float8 FROM (SELECT %s AS w %s) q",
					   source->weight, rows_from(source, all_rows, NULL)),
			  0, NULL, scan_flags(source));
	for (int i = 0; i < lengthof(value); i++)
	{
		Datum		datum = query_value(0, i + 1, &null);

		value[i] = null ? 1 : DatumGetFloat8(datum);
	}
	end_query();

	/*
	 * the sum is rounded to a float, because it depends on the order of the
	 * rows
	 */
	source->total_weight = (float) frexp(value[1], &exponent);
	source->total_weight = ldexp(source->total_weight, exponent);
	source->max_weight = value[3];
	source->weight_factor = value[2] >= 1 / PLAIN_WEIGHT && value[3] <= PLAIN_WEIGHT
		? 1
		: ldexp(1, -ilogb(value[3]));
	source->count_factor = value[2] == value[3] ? 1 / value[2]
		: value[4] == 1 && value[1] <= MAX_COUNT ? 1
		: MAX_COUNT / source->total_weight;
	return value[0];
}

/*
 * Returns the exact number of rows if `exact` is true, with option sample
 * "hash" or with weights, else the planner's estimate. With option sample
 * "hash", rows are later sampled by hashes of their values, not of their
 * ctids.
 */
double
rows_to_sample(train_source *source, row_sampling sample, bool exact)
{
	if (sample == SAMPLE_AUTO)
		check_places(source);
	source->heap = source->heap && sample == SAMPLE_AUTO;
	if (source->weight != NULL)
		return measure_weights(source);
	if (sample == SAMPLE_AUTO && !exact)
		return estimated_rows(source);
	return DatumGetFloat8(query_datum(psprintf("SELECT sum(q.n)::float8 FROM (%s) q",
											   select_rows(source, "count(*) AS n", NULL,
														   all_rows)),
									  0, NULL, scan_flags(source), NULL));
}

/* Takes (relation). Returns the planner's estimate of its number of rows. */
PG_FUNCTION_INFO_V1(fastclust_estimated_rows);
Datum
fastclust_estimated_rows(PG_FUNCTION_ARGS)
{
	train_source source = {
		.id = PG_GETARG_OID(0),
		.relation = relation_name(PG_GETARG_OID(0)),
		.filter = "true"
	};
	double		rows;

	SPI_connect();
	rows = estimated_rows(&source);
	SPI_finish();
	PG_RETURN_FLOAT8(rows);
}

/* ---- a row as input of the operators ---- */

char *
row_text(const train_source *source, bool scaled, bool mapped, const char *op)
{
	char	   *row = (!scaled ? source->raw
					   : source->is_vector
					   ? psprintf("scaled_vector($1, $2, %s)", source->raw)
					   : source->encoded);

	if (source->observed && op != NULL)
		return observed_row(source, op, "t");
	return mapped ? psprintf("kernel_features($3, %s)", row) : row;
}
