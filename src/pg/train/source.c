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
 * Maximum weight, and inverse of the minimum weight, up to which sketches take
 * weights as they are. A larger one leaves less of the range of sketches above
 * it. A guess.
 */
#define PLAIN_WEIGHT	4096.0

/*
 * Maximum sum of the counts that the encoder takes for weights: half of its
 * limit, because counts are rounded.
 */
#define MAX_COUNT	((double) FC_MAX_ROWS / 2)

char *
group_key(const train_source *source)
{
	return source->by_value
		? psprintf("t.%s", quote_identifier(source->group_by))
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
 * Returns the expression of the text of a group of values: the least text by
 * bytes, which does not depend on the order of the rows.
 */
static char *
text_of_values(const train_source *source, const char *value)
{
	char	   *text = group_text(source, value);

	return has_loose_groups(source) ? psprintf("min(%s)", text) : text;
}

/*
 * Appends FROM and WHERE for all rows of the relation or of one leaf. A
 * positive `wanted` selects about that many rows: by blocks, or by hashes if
 * rows have no ctids.
 */
void
append_rows_from(StringInfo query, const train_source *source, double wanted,
				 double estimate, int64 seed, const char *leaf)
{
	const char *relation = leaf != NULL ? leaf : present_name(source->id);

	if (!(wanted > 0))
		wanted = INFINITY;
	if (source->heap && estimate > 3 * wanted)
	{
		int			spread = (estimate >= BLOCKS_FACTOR * wanted ? BLOCKS_FACTOR : 1);

		appendStringInfo(query,
						 "FROM %s t TABLESAMPLE SYSTEM (%.17g) REPEATABLE (" INT64_FORMAT
						 ") WHERE %s AND %s >> 40 & %d = 0",
						 relation, Min(100.0, 100.0 * spread * wanted / estimate), seed,
						 source->filter, row_key(source), spread - 1);
		return;
	}
	appendStringInfo(query, "FROM %s t ", relation);
	appendStringInfo(query, "WHERE %s", source->filter);
	if (!source->heap && estimate >= 8 * wanted)
		appendStringInfo(query, " AND %s >> 40 & %d = 0", row_key(source),
						 (1 << (int) floor(log2(Min(estimate / (4 * wanted),
													1048576.0)))) -
						 1);
}

/* Returns the call of scan_agg for the rows of a source. */
static char *
scan_call(const train_source *source, bool keyed)
{
	return psprintf("%s(%s, %s, %s%s%s)",
					sums_on_shards(source) ? "fastclust_internal.sum"
					: "scan_agg",
					source->planned
					? psprintf("group_plan($1, $2, $3, %s)",
							   group_key(source))
					: "$1",
					keyed ? row_key(source) : "NULL",
					source->weight != NULL ? source->weight : "",
					source->weight != NULL ? ", " : "",
					source->is_vector ? source->raw
					: source->feature_count > MAX_CELLS
					? "t.*"
					: listed("t", source->features,
							 source->feature_count));
}

/*
 * Returns a query whose rows are (value, packed state).
 *
 * value: expression of a row or, if there are leaves, a column. group:
 * expression after GROUP BY, or NULL if all rows are one group. merged:
 * expression of the value in the outer query, which merges the states of
 * leaves.
 * outer: expression after GROUP BY of the outer query.
 */
static char *
scan_query(const train_source *source, const char *value, const char *group,
		   bool keyed, const char *merged, const char *outer, double wanted,
		   double estimate, int64 seed)
{
	StringInfoData query;
	char	   *scan = scan_call(source, keyed);

	initStringInfo(&query);
	if (source->leaf_count > 0)
		appendStringInfo(&query,
						 "SELECT %s, fastclust_internal.sum(q.s) FROM (",
						 merged);
	for (int i = 0; i < Max(1, source->leaf_count); i++)
	{
		appendStringInfo(&query, "%sSELECT %s AS value, %s AS s ",
						 i > 0 ? " UNION ALL " : "", value, scan);
		append_rows_from(&query, source, wanted, estimate, seed,
						 source->leaf_count > 0 ? leaf_name(source->leaves[i]) : NULL);
		if (group != NULL)
			appendStringInfo(&query, " GROUP BY %s", group);
	}
	if (source->leaf_count > 0)
		appendStringInfo(&query, ") q GROUP BY %s", outer);
	return query.data;
}

char *
scan_text(const train_source *source, double wanted, double estimate,
		  int64 seed)
{
	const char *value = "''::text";

	/* a foreign server can group only by columns of its own table */
	if (source->group_by != NULL)
	{
		value = psprintf("t.%s", quote_identifier(source->group_by));
		if (source->leaf_count == 0)
			value = text_of_values(source, value);
	}

	return scan_query(source, value,
					  source->group_by == NULL ? NULL
					  : source->leaf_count > 0 ? "1"
					  : group_key(source),
					  true,
					  source->group_by == NULL ? "q.value"
					  : text_of_values(source, "q.value"),
					  has_loose_groups(source) ? "q.value" : "1",
					  wanted, estimate, seed);
}

char *
bucket_scan_text(const train_source *source, const char *column, bool keyed)
{
	const char *value = "NULL::text";
	const char *group = "1";

	if (column == NULL)			/* no ORDER BY, because a sort would copy the
								 * sums */
		return scan_query(source, value, NULL, keyed, "q.value", "1", INFINITY, 0,
						  0);
	value = psprintf("t.%s", quote_identifier(column));
	if (source->group_by != NULL && source->leaf_count == 0)
	{
		if (has_loose_groups(source))
			group = value;
		value = text_of_values(source, value);
	}
	return psprintf("SELECT %s, q.scan FROM (%s) q(value, scan) ORDER BY q.value",
					source->group_by != NULL && source->leaf_count > 0
					? group_text(source, "q.value")
					: "q.value::text",
					scan_query(source, value, group, keyed, "q.value", "1",
							   INFINITY, 0, 0));
}

/* Returns the expression of the part of the units in which row t is. */
static char *
unit_part(const train_source *source)
{
	return psprintf("unit_part(%s, %s)",
					source->unit == NULL ? "NULL::integer"
					: psprintf("t.%s", quote_identifier(source->unit)),
					row_key(source));
}

/*
 * Returns a query of about `wanted` rows of the source or of all its leaves,
 * grouped by a value and by another expression: (value, other, result).
 */
static char *
grouped_rows(const train_source *source, const char *value, const char *other,
			 const char *result, double wanted, double estimate, int64 seed)
{
	StringInfoData query;

	initStringInfo(&query);
	for (int i = 0; i < Max(1, source->leaf_count); i++)
	{
		appendStringInfo(&query, "%sSELECT %s AS value, %s AS other, %s AS result ",
						 i > 0 ? " UNION ALL " : "", value, other, result);
		append_rows_from(&query, source, wanted, estimate, seed,
						 source->leaf_count > 0 ? leaf_name(source->leaves[i]) : NULL);
		appendStringInfoString(&query, " GROUP BY 1, 2");
	}
	return query.data;
}

char *
unit_scan_text(const train_source *source, const char *column)
{
	char	   *value = column == NULL ? NULL : psprintf("t.%s", quote_identifier(column));
	char	   *shown = "q.value::text";
	const char *weight = source->weight != NULL ? source->weight : "1";

	/* groups whose texts name them are grouped by their texts */
	if (column != NULL && source->group_by != NULL && has_loose_groups(source))
		shown = text_of_values(source, "q.value");
	else if (column != NULL && source->group_by != NULL)
		value = source->group_value;
	else if (column == NULL)
		value = "NULL::text";
	return psprintf("SELECT s.shown, s.state, s.parts, %s, u.weight, u.squares, u.own"
					" FROM (SELECT q.value, %s AS shown, fastclust_internal.sum(q.result) AS state,"
					" array_agg(q.result) AS parts FROM"
					" (SELECT q.value, fastclust_internal.sum(q.result) AS result FROM (%s) q"
					" GROUP BY q.value, q.other) q GROUP BY q.value) s"
					" JOIN (SELECT q.value, sum(CASE WHEN q.other IS NULL THEN q.n ELSE 1 END)::bigint"
					" AS units, sum(q.weight) AS weight, sum(q.own) AS own,"
					" sum(CASE WHEN q.other IS NULL THEN q.own ELSE q.weight * q.weight END) AS squares"
					" FROM (SELECT q.value, q.other, sum(q.result[1]) AS n,"
					" sum(q.result[2]) AS weight, sum(q.result[3]) AS own"
					" FROM (%s) q GROUP BY 1, 2) q GROUP BY 1) u"
					" ON u.value IS NOT DISTINCT FROM s.value ORDER BY s.value",
					source->unit != NULL ? "u.units" : "0::bigint",
					shown,
					grouped_rows(source, value, unit_part(source), scan_call(source, true),
								 INFINITY, 0, 0),
					grouped_rows(source, value,
								 source->unit == NULL ? "NULL::integer"
								 : psprintf("t.%s", quote_identifier(source->unit)),
								 psprintf("ARRAY[count(*), sum(%s), sum((%s)::float8 * %s)]::float8[]",
										  weight, weight, weight),
								 INFINITY, 0, 0));
}

char *
unit_sets_text(const train_source *source, const int *tenths, double wanted, double estimate,
			   int64 seed)
{
	char	   *tenth = psprintf("%s * 10 / %d", unit_part(source), FC_DRIFT_PARTS);

	return psprintf("SELECT q.value, fastclust_internal.sum(q.result) FROM (%s) q"
					" GROUP BY 1 ORDER BY 1",
					grouped_rows(source,
								 psprintf("CASE WHEN %s < %d THEN 0 WHEN %s < %d THEN 1 ELSE 2 END",
										  tenth, tenths[0], tenth, tenths[0] + tenths[1]),
								 "1", scan_call(source, true), wanted, estimate, seed));
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
 * Sampling needs the ctids of rows, and the message says so.
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
	StringInfoData query;
	double		value[5];
	int			exponent;
	bool		null;

	initStringInfo(&query);
	appendStringInfo(&query,
					 "SELECT count(*)::float8, COALESCE(sum(w), 0), min(w), max(w),"
					 " (bool_and(w = trunc(w)))::integer::float8 FROM (SELECT %s AS w ",
					 source->weight);
	append_rows_from(&query, source, INFINITY, 0, 0, NULL);
	appendStringInfoString(&query, ") q");
	run_query(query.data, 0, NULL, scan_flags(source));
	for (int i = 0; i < lengthof(value); i++)
	{
		Datum		datum = query_value(0, i + 1, &null);

		value[i] = null ? 1 : DatumGetFloat8(datum);
	}
	end_query();
	/* rounded, because the sum depends on the order of the rows */
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
 * Returns the planner's estimate, or the exact number of rows if `exact`, with
 * option sample "hash" or with weights. With that option, rows are sampled by
 * hashes of their values, not by their ctids.
 */
double
rows_to_sample(train_source *source, row_sampling sample, bool exact)
{
	StringInfoData query;

	if (sample == SAMPLE_AUTO)
		check_places(source);
	source->heap = source->heap && sample == SAMPLE_AUTO;
	if (source->weight != NULL)
		return measure_weights(source);
	if (sample == SAMPLE_AUTO && !exact)
		return estimated_rows(source);
	initStringInfo(&query);
	for (int i = 0; i < Max(1, source->leaf_count); i++)
	{
		appendStringInfoString(&query,
							   i > 0 ? " UNION ALL SELECT count(*) AS n "
							   : "SELECT sum(q.n)::float8 FROM (SELECT count(*) AS n ");
		append_rows_from(&query, source, INFINITY, 0, 0,
						 source->leaf_count > 0 ? leaf_name(source->leaves[i]) : NULL);
	}
	appendStringInfoString(&query, ") q");
	return DatumGetFloat8(query_datum(query.data, 0, NULL, scan_flags(source), NULL));
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
