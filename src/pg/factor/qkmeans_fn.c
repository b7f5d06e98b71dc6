/*
 * qkmeans_fn.c - QK-means over a table: every iteration is one query with an aggregate, which
 * the planner may run in parallel workers.  No more than a sample of the rows is ever held.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "factor/qkmeans.h"
#include "factor/sample.h"
#include "operator/bytes.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/factor/qkmeans_call.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

typedef struct table_source
{
	char	   *relation;		/* quoted, with its schema */
	char	   *features;		/* an expression of an array type */
	Oid			fastop;			/* the type */
	uint64		seed;
	collection	sample;
} table_source;

/* ---- names ---- */

static Oid
type_of_operator(void)
{
	Oid			schema = get_namespace_oid("fastclust", false);

	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("fastop"), ObjectIdGetDatum(schema));
}

/* Is there a cast other than by way of text, which any type has? */
static bool
casts_to(Oid from, Oid to)
{
	Oid			function;

	switch (find_coercion_pathway(to, from, COERCION_EXPLICIT, &function))
	{
		case COERCION_PATH_FUNC:
		case COERCION_PATH_RELABELTYPE:
			return true;
		case COERCION_PATH_ARRAYCOERCE:
			return casts_to(getBaseType(get_element_type(from)), get_element_type(to));
		case COERCION_PATH_COERCEVIAIO:
			return SearchSysCacheExists2(CASTSOURCETARGET, ObjectIdGetDatum(from), ObjectIdGetDatum(to));
		default:
			return false;
	}
}

/* The column by name, as an array of numbers; a type that is no vector is cast to real[]. */
static char *
features_expression(Oid relation, const char *column)
{
	AttrNumber	number = get_attnum(relation, column);
	Oid			type;

	if (number == InvalidAttrNumber)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("column \"%s\" of relation \"%s\" does not exist", column, get_rel_name(relation)));
	type = getBaseType(get_atttype(relation, number));
	if (form_of_type(type) == VECTOR_ARRAY)
		return pstrdup(quote_identifier(column));
	if (is_vector_type(type))
		return psprintf("fastclust_internal.vector_in_units(NULL, NULL, %s)", quote_identifier(column));
	if (!casts_to(type, FLOAT4ARRAYOID))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("column \"%s\" is of type %s, not a vector", column, format_type_be(type)),
				errhint("Vectors are arrays of numbers, types of pgvector, or types with a cast to real[]."));
	return psprintf("%s::pg_catalog.float4[]", quote_identifier(column));
}

static table_source
open_source(Oid relation, const char *column, uint64 seed)
{
	table_source source = {0};

	source.relation = relation_name(relation);
	source.features = features_expression(relation, column);
	source.fastop = type_of_operator();
	source.seed = seed;
	return source;
}

/* ---- queries ---- */

/* Run a query, of an operator or NULL, with the snapshot that is active: all scans see the same rows. */
static void
query(const char *sql, const table_source *source, const fc_operator_header *header)
{
	Oid			types[1] = {source->fastop};
	Datum		values[1] = {PointerGetDatum(header)};
	int			result = SPI_execute_with_args(sql, header != NULL ? 1 : 0, types, values, NULL, true, 0);

	if (result != SPI_OK_SELECT)
		elog(ERROR, "query failed: %s", SPI_result_code_string(result));
}

static int64
count_rows(const table_source *source)
{
	bool		null;
	int64		count;

	SPI_connect();
	query(psprintf("SELECT pg_catalog.count(%s) FROM %s", source->features, source->relation), source, NULL);
	count = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
	SPI_finish();
	return count;
}

/* A row of numbers, so many times as fit into `most`; `expected` are to come in all. */
static void
append_copies(const vector *v, Size copies, Size expected, Size most, collection *rows)
{
	if (rows->d == 0)
		rows->d = v->d;
	check_vector_dim(v, (size_t) rows->d, "the first row");
	copies = Min(copies, most - rows->n);
	if (rows->n + copies > rows->room)
		resize_collection(rows, rows->n + copies <= expected ? expected : most);
	for (Size c = 0; c < copies; c++)
		copy_row(v, rows->x + rows->n++ * (Size) rows->d);
}

/*
 * Rows of a query of a vector column, and perhaps one of how often each counts (bigint), appended; at most `most`.
 * NULL vectors are skipped, whatever the query says: a view or a cast may return them at random.
 */
static void
fetch_rows(const char *sql, const table_source *source, const fc_operator_header *header, Size most, collection *rows)
{
	MemoryContext context = CurrentMemoryContext;

	SPI_connect();
	query(sql, source, header);
	for (uint64 r = 0; r < SPI_processed && rows->n < most; r++)
	{
		vector_reader reader = {CurrentMemoryContext, NULL, 0};
		bool		null;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[r], SPI_tuptable->tupdesc, 1, &null);
		int64		copies = 1;
		vector		v;

		CHECK_FOR_INTERRUPTS();
		if (null)
			continue;
		v = read_vector(&reader, value, "x");
		check_finite(&v);
		if (SPI_tuptable->tupdesc->natts > 1)
			copies = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[r], SPI_tuptable->tupdesc, 2, &null));
		MemoryContextSwitchTo(context);
		append_copies(&v, (Size) copies, Min(SPI_processed, most), most, rows);
		MemoryContextSwitchTo(reader.context);
	}
	SPI_finish();
}

/* ---- the sample ---- */

#define POISSON_SIGMAS	5.0		/* of a Poisson law: a sample beyond is no accident */

/* A number of dimensions, by the first row. */
static int32
dimensions_of(const table_source *source)
{
	collection	one = {0};

	fetch_rows(psprintf("SELECT %s FROM %s WHERE %s IS NOT NULL LIMIT 1", source->features, source->relation, source->features),
			   source, NULL, 1, &one);
	return one.d;
}

/* Rows whose values have a hash below share: all copies of a value, or none. */
static char *
hashed_query(const table_source *source, double share)
{
	return psprintf("SELECT %s FROM %s WHERE %s IS NOT NULL"
					" AND pg_catalog.hash_array_extended(%s, " INT64_FORMAT ") OPERATOR(pg_catalog.<) " INT64_FORMAT,
					source->features, source->relation, source->features,
					source->features, (int64) (source->seed & PG_INT64_MAX), (int64) ((share - 0.5) * 0x1p64));
}

/* Each value as often as its share of its copies, the fraction rounded up or down by the hash. */
static char *
grouped_query(const table_source *source, double share)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT x, copies::pg_catalog.int8 FROM (SELECT pg_catalog.min(x) AS x, pg_catalog.floor("
					 "(pg_catalog.count(*)::pg_catalog.float8 OPERATOR(pg_catalog.*) '%.17g'::pg_catalog.float8) OPERATOR(pg_catalog.-) "
					 "((h::pg_catalog.float8 OPERATOR(pg_catalog./) '%.17g'::pg_catalog.float8) OPERATOR(pg_catalog.-) '0.5'::pg_catalog.float8)) AS copies",
					 share, 0x1p64);
	appendStringInfo(&sql, " FROM (SELECT %s AS x, pg_catalog.hash_array_extended(%s, " INT64_FORMAT ") AS h FROM %s WHERE %s IS NOT NULL) r"
					 " GROUP BY h) g WHERE copies OPERATOR(pg_catalog.>) '0'::pg_catalog.float8",
					 source->features, source->features, (int64) (source->seed & PG_INT64_MAX), source->relation, source->features);
	return sql.data;
}

/*
 * A sample chosen by a hash of the rows' values: the same whatever the plan and the order on disk.  Where
 * its size tells that values repeat, each comes as often as is its due.  (A weighted sample would need a key of
 * each row, and rows of views have none.)
 */
static collection
sample_rows(const table_source *source, int32 k, int64 count)
{
	collection	rows = {.d = dimensions_of(source)};
	Size		row = (Size) rows.d * sizeof(double) + 64;
	double		wanted = Max(FC_LEAST_SAMPLE, FC_SAMPLE_PER_K * (double) k);
	double		share;
	Size		most;

	wanted = Max(2.0 * k + 64.0, Min(wanted, (double) fastclust_memory_budget * 1024.0 / (4.0 * (double) row)));
	check_budget((Size) wanted * row * 2, "the sample of qkmeans");
	share = wanted / (double) count;
	most = 2 * (Size) wanted;
	if (share < 1.0)
		fetch_rows(hashed_query(source, share), source, NULL, most, &rows);
	else
		fetch_rows(psprintf("SELECT %s FROM %s WHERE %s IS NOT NULL", source->features, source->relation, source->features),
				   source, NULL, most, &rows);
	if (share < 1.0 && fabs((double) rows.n - wanted) > POISSON_SIGMAS * sqrt(wanted))
	{
		rows.n = 0;
		fetch_rows(grouped_query(source, share), source, NULL, most, &rows);
	}
	if (rows.n < (Size) k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %d, but a sample of %s has only %zu rows", k, source->relation, rows.n),
				errhint("Does %s show other rows each time it is read?", source->relation));
	return rows;
}

/* ---- the scans ---- */

static void
scan_table(void *ctx, const fc_operator *op, double *sse, double *weights, double *means)
{
	const table_source *source = ctx;
	fc_operator_header *header = store_operator(op);
	fc_operator next;
	fc_scratch	scratch;
	bool		null;
	Datum		value;

	SPI_connect();
	query(psprintf("SELECT (s).next, (s).sse FROM (SELECT fastclust.lloyd_step_agg($1, %s) AS s FROM %s) q",
				   source->features, source->relation), source, header);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	if (null)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s holds no rows", source->relation));
	open_operator(aligned_value(value), &next);
	*sse = DatumGetFloat8(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &null));
	scratch = make_scratch(fc_operator_scratch(&next));
	for (Size j = 0; j < next.k; j++)
	{
		weights[j] = next.weights[j];
		fc_operator_row(&next, j, scratch, means + j * next.d);
	}
	SPI_finish();
	pfree(header);
}

/* Of the sample: a look at all rows for one that may serve would cost another scan. */
static void
farthest_sampled(void *ctx, const fc_operator *op, size_t count, double *found_rows, size_t *found)
{
	const table_source *source = ctx;
	fc_row_source sample = collected_rows(&source->sample);

	sample.farthest(sample.ctx, op, count, found_rows, found);
}

/* ---- functions ---- */

static Datum
log_iterations(FunctionCallInfo fcinfo)
{
	qkmeans_call call = {.rows = fcinfo};
	table_source source;
	fc_row_source rows = {&source, scan_table, farthest_sampled};
	int64		count;

	require_argument(fcinfo, 0, "relation");
	require_argument(fcinfo, 1, "features");
	require_argument(fcinfo, 2, "k");
	require_argument(fcinfo, 3, "options");
	fastclust_begin_rows(fcinfo);
	read_qkmeans_options(PG_GETARG_JSONB_P(3), PG_GETARG_INT32(2), &call);
	source = open_source(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), call.seed);
	count = count_rows(&source);
	if (call.k > count)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg_plural("k is %d, but %s has only %lld row", "k is %d, but %s has only %lld rows",
							  count, call.k, source.relation, (long long) count));
	source.sample = sample_rows(&source, call.k, count);
	source.sample.account = &call.memory;
	call.entry.op = run_qkmeans(&call, &source.sample, &rows, (Size) count);
	put_qkmeans_entry(&call);
	return (Datum) 0;
}

/* (relation, features, k, options) */
SQL_FUNCTION(fastclust_qkmeans_log)
{
	return call_with_short_context(log_iterations, fcinfo);
}
