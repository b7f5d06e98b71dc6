/*
 * source.c - the rows of a relation as queries read them.
 *
 * A plain table is one leaf.  A table whose rows lie on shards is aggregated by Citus, tables of which one is foreign leaf by leaf: postgres_fdw sends
 * an aggregate over a foreign table, but never a part of one over all.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pg/base/values.h"
#include "pg/train/train.h"

#define MOST_CELLS		97		/* beside the state, the plan and the key: a function takes 100 arguments */

static Datum
field(Datum record, const char *name, bool *null)
{
	return GetAttributeByName(DatumGetHeapTupleHeader(record), name, null);
}

static char *
text_field(Datum record, const char *name)
{
	bool		null;
	Datum		value = field(record, name, &null);

	return null ? NULL : TextDatumGetCString(value);
}

static char *
text_or(Datum record, const char *name, char *missing)
{
	char	   *value = text_field(record, name);

	return value != NULL ? value : missing;
}

static bool
flag_field(Datum record, const char *name)
{
	bool		null;
	Datum		value = field(record, name, &null);

	return !null && DatumGetBool(value);
}

static char *
name_field(Datum record, const char *name)
{
	bool		null;
	Datum		value = field(record, name, &null);

	return null ? NULL : pstrdup(NameStr(*DatumGetName(value)));
}

/* The strings of an array of text or name; NULL is none. */
static char **
list_field(Datum record, const char *name, Oid type, int *count)
{
	bool		null;
	Datum		value = field(record, name, &null);
	Datum	   *elements;
	char	  **list;

	*count = 0;
	if (null)
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(value), type, type == NAMEOID ? NAMEDATALEN : -1, false, type == NAMEOID ? TYPALIGN_CHAR : TYPALIGN_INT,
					  &elements, NULL, count);
	list = palloc(*count * sizeof(char *));
	for (int i = 0; i < *count; i++)
		list[i] = type == NAMEOID ? pstrdup(NameStr(*DatumGetName(elements[i]))) : TextDatumGetCString(elements[i]);
	return list;
}

void
open_source(Datum record, train_source *source)
{
	bool		null;
	Datum		encoder = field(record, "encoder", &null);

	*source = (train_source) {.record = record};
	source->encoder = null ? NULL : aligned_value(encoder);
	source->relation = text_or(record, "relation", "");
	source->features = list_field(record, "features", NAMEOID, &source->feature_count);
	source->vector = flag_field(record, "vector");
	if (!source->vector && source->feature_count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a row_source of columns has no features")));
	source->group_by = name_field(record, "group_by");
	source->raw = text_or(record, "raw", "NULL");
	source->complete = NULL;
	source->group_value = text_or(record, "group_value", "''");
	source->filter = text_or(record, "filter", "true");
	source->heap = flag_field(record, "heap");
	source->key = text_or(record, "key", "0");
	source->sparse = flag_field(record, "sparse");
	source->leaves = list_field(record, "leaves", TEXTOID, &source->leaf_count);
	source->sharded = flag_field(record, "sharded");
	source->cosine = text_field(record, "metric") != NULL;
}

static char *
group_key(const train_source *source)
{
	return source->integer != NULL ? psprintf("t.%s", quote_identifier(source->group_by)) : source->group_value;
}

/* Integers are hashed faster than their texts, which tell the same groups. */
void
find_group_type(train_source *source)
{
	query_argument arguments[] = {{"text", CStringGetTextDatum(source->relation)}, {"name"}};
	char	   *type;

	if (source->group_by == NULL || source->leaf_count > 0 || source->sharded)
		return;
	arguments[1].value = CStringGetDatum(source->group_by);
	type = TextDatumGetCString(query_datum("SELECT feature_type($1::regclass, $2)::text", 2, arguments, 0, NULL));
	if (strcmp(type, "integer") == 0 || strcmp(type, "bigint") == 0 || strcmp(type, "smallint") == 0)
		source->integer = type;
}

/* FROM and WHERE of all rows of the relation, or of one leaf; with `wanted` of about so many, as blocks or by hashes of rows that have no places. */
void
append_rows_from(StringInfo query, const train_source *source, double wanted, double estimate, int64 seed, const char *leaf)
{
	const char *relation = leaf != NULL ? leaf : source->relation;

	if (!(wanted > 0))
		wanted = INFINITY;
	if (source->heap && estimate > 3 * wanted)
	{
		int			spread = estimate >= BLOCKS_TIMES * wanted ? BLOCKS_TIMES : 1;

		appendStringInfo(query, "FROM %s t TABLESAMPLE SYSTEM (%.17g) REPEATABLE (" INT64_FORMAT ") WHERE %s AND %s >> 40 & %d = 0", relation,
						 Min(100.0, 100.0 * spread * wanted / estimate), seed, source->filter, source->key, spread - 1);
		return;
	}
	appendStringInfo(query, "FROM %s t ", relation);
	appendStringInfo(query, "WHERE %s", source->filter);
	if (!source->heap && estimate >= 8 * wanted)
		appendStringInfo(query, " AND %s >> 40 & %d = 0", source->key, (1 << (int) floor(log2(Min(estimate / (4 * wanted), 1048576.0)))) - 1);
}

/* The cells of a row, as scan_agg takes them. */
static void
append_cells(StringInfo query, const train_source *source)
{
	if (source->vector)
		appendStringInfoString(query, source->raw);
	else if (source->feature_count > MOST_CELLS)
		appendStringInfoString(query, "t.*");
	else
		for (int i = 0; i < source->feature_count; i++)
			appendStringInfo(query, "%st.%s", i > 0 ? ", " : "", quote_identifier(source->features[i]));
}

bool
sums_on_shards(const train_source *source)
{
	return source->sharded && DatumGetBool(query_datum("SELECT is_only_sum('aggregate_state'::regtype)", 0, NULL, 0, NULL));
}

/* A row (value, packed state) for each value, which is an expression of the row or, over leaves, a column; merged: of the merged ones of leaves. */
static char *
scan_query(const train_source *source, const char *value, const char *group, bool keyed, const char *merged, double wanted, double estimate, int64 seed)
{
	StringInfoData query;
	StringInfoData scan;

	initStringInfo(&scan);
	appendStringInfo(&scan, "%s(%s, %s, ", sums_on_shards(source) ? "fastclust_internal.sum" : "scan_agg",
					 source->planned ? psprintf("group_plan($1, $2, $3, %s)", group_key(source)) : "$1", keyed ? source->key : "NULL");
	append_cells(&scan, source);
	appendStringInfoChar(&scan, ')');
	initStringInfo(&query);
	if (source->leaf_count > 0)
		appendStringInfo(&query, "SELECT %s, merge_scan_agg(q.s) FROM (", merged);
	for (int i = 0; i < Max(1, source->leaf_count); i++)
	{
		appendStringInfo(&query, "%sSELECT %s AS value, %s AS s ", i > 0 ? " UNION ALL " : "", value, scan.data);
		append_rows_from(&query, source, wanted, estimate, seed, source->leaf_count > 0 ? source->leaves[i] : NULL);
		if (group != NULL)
			appendStringInfo(&query, " GROUP BY %s", group);
	}
	if (source->leaf_count > 0)
		appendStringInfoString(&query, ") q GROUP BY 1");
	return query.data;
}

char *
scan_text(const train_source *source, double wanted, double estimate, int64 seed)
{
	const char *value = source->group_by == NULL ? "''::text" : source->leaf_count == 0 ? source->group_value :
		psprintf("t.%s", quote_identifier(source->group_by));	/* a foreign server groups by what it knows */

	return scan_query(source, value, source->group_by == NULL ? NULL : source->leaf_count > 0 ? "1" : group_key(source), true, "q.value::text COLLATE \"C\"", wanted, estimate, seed);
}

/* (source, column, keyed): the query of a scan of plan $1, a row (value of the column or NULL, packed state) each. */
SQL_FUNCTION(fastclust_scan_query)
{
	train_source source;
	const char *value;
	char	   *query;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	value = PG_ARGISNULL(1) ? "NULL::text" : psprintf("t.%s", quote_identifier(NameStr(*PG_GETARG_NAME(1))));
	SPI_connect();
	open_source(PG_GETARG_DATUM(0), &source);
	query = scan_query(&source, value, PG_ARGISNULL(1) ? NULL : "1", PG_GETARG_BOOL(2), "q.value", INFINITY, 0, 0);
	query = strcpy(SPI_palloc(strlen(query) + 1), query);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text(query));
}

int
scan_flags(const train_source *source)
{
	return QUERY_PARALLEL | (source->sharded || source->leaf_count > 0 ? QUERY_CONSTANTS : 0);
}

/* (source, wanted, estimate, seed, leaf): FROM and WHERE as append_rows_from. */
SQL_FUNCTION(fastclust_rows_from)
{
	train_source source;
	StringInfoData query;

	for (int i = 0; i < 4; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	open_source(PG_GETARG_DATUM(0), &source);
	initStringInfo(&query);
	append_rows_from(&query, &source, PG_GETARG_FLOAT8(1), PG_GETARG_FLOAT8(2), PG_GETARG_INT64(3), PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4)));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(query.data, query.len));
}
