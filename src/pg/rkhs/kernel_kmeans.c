/*
 * kernel_kmeans.c - Algorithm 1 whole: read a relation, project its rows, k-means on the coordinates.
 *
 * The relation is read through SPI with the caller's rights; its columns are looked up in the
 * catalog and quoted, values travel as parameters.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "kmeans/kmeans.h"
#include "numerics/principal.h"
#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/rkhs/kernel.h"
#include "rkhs/kernel.h"
#include "rkhs/projection.h"

/* ---- reading the relation ---- */

static const char *
column_of(Oid relation, const char *name, Oid *type)
{
	AttrNumber	number = get_attnum(relation, name);

	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name, get_rel_name(relation))));
	*type = getBaseType(get_atttype(relation, number));
	return quote_identifier(name);
}

/* k clusters need k rows with a vector: k rows are read to know. */
static char *
counting_query(Oid relation, const char *features, int32 k)
{
	return psprintf("SELECT pg_catalog.count(*) FROM (SELECT 1 FROM %s WHERE %s IS NOT NULL LIMIT %d) AS found",
					relation_name(relation), quote_identifier(features), k);
}

static char *
projection_query(Oid relation, const char *id, const char *features)
{
	const char *name = relation_name(relation);
	const char *id_column;
	const char *x_column;
	Oid			type;

	id_column = column_of(relation, id, &type);
	if (type != INT2OID && type != INT4OID && type != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s, but ids are integers", id, format_type_be(type)),
				 errhint("Number the rows, for instance by row_number() over a unique column.")));
	x_column = column_of(relation, features, &type);
	return psprintf("SELECT fastclust.kernel_projection_agg(%s::pg_catalog.int8, %s, $1::fastclust.kernel, $2,"
					" $3 OPERATOR(pg_catalog.-) '{rank,n_init,iterations,tolerance}'::pg_catalog.text[]) FROM %s", id_column, x_column, name);
}

static void
check_rows(const char *query, int32 k)
{
	Datum		found;
	bool		null;

	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "kernel_kmeans: no count from %s", query);
	found = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	SPI_finish();
	if (DatumGetInt64(found) > 0)
		check_enough_rows((Size) k, (Size) DatumGetInt64(found));
}

/* The projection in the caller's memory, NULL when there are no rows. */
static fc_kernel_projection_header *
project_relation(const char *query, const fc_kernel *kernel, const kernel_rows *options)
{
	Oid			types[3] = {TEXTOID, INT4OID, JSONBOID};
	Datum		values[3];
	fc_kernel_projection_header *header = NULL;
	struct varlena *fetched;
	bool		null;

	values[0] = CStringGetTextDatum(kernel_text(kernel));
	values[1] = Int32GetDatum(options->rank);
	values[2] = JsonbPGetDatum(options->options);
	SPI_connect();
	if (SPI_execute_with_args(query, 3, types, values, NULL, true, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "kernel_kmeans: no projection from %s", query);
	fetched = (struct varlena *) DatumGetPointer(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
	if (!null)
	{
		fetched = PG_DETOAST_DATUM(PointerGetDatum(fetched));
		header = SPI_palloc(VARSIZE(fetched));
		memcpy(header, fetched, VARSIZE(fetched));
	}
	SPI_finish();
	return header;
}

/* ---- clusters ---- */

static int32 *
cluster_rows(fc_kernel_projection_header *header, int32 k, const fc_kmeans_options *options)
{
	Size		n = header->n;
	Size		d = header->rank;
	fc_rows		view = {.x = fc_kernel_projection_rows(header),.n = n,.d = d};
	fc_kmeans_result result = {0};
	fc_arena	arena;

	check_enough_rows((Size) k, n);
	fc_center_rows(fc_kernel_projection_rows(header), n, d);	/* floats: around the mean */
	announce_work(psprintf("k-means of %zu rows takes", n), fc_kmeans_operations(n, d, (Size) k, options), false, "Lower k, rank or n_init");
	arena = make_arena("kernel_kmeans");
	result.centroids = palloc_extended((Size) k * d * sizeof(double), MCXT_ALLOC_HUGE);
	result.weights = palloc_extended((Size) k * sizeof(double), MCXT_ALLOC_HUGE);
	result.labels = palloc_extended(n * sizeof(int32), MCXT_ALLOC_HUGE);
	fc_kmeans(&view, (Size) k, NULL, options, &arena, &result);
	release_arena(&arena);
	return result.labels;
}

SQL_FUNCTION(fastclust_kernel_kmeans)
{
	static const char *const names[6] = {"relation", "id_column", "features", "kernel", "k", "options"};
	const fc_kernel *kernel;
	fc_kernel_projection_header *header;
	kernel_rows projection = {.has_ids = true};
	fc_kmeans_options kmeans = fc_kmeans_defaults();
	int32	   *labels;
	char	   *query;
	int32		k;

	for (int i = 0; i < 6; i++)
		require_argument(fcinfo, i, names[i]);
	kernel = (const fc_kernel *) PG_GETARG_POINTER(3);
	k = PG_GETARG_INT32(4);
	check_count("k", k, 1, FC_MAX_CLUSTERS);
	projection.rank = Min(k, FC_MAX_KERNEL_COLUMNS - 10);
	projection.options = PG_GETARG_JSONB_P(5);
	read_projection_options(&projection, &kmeans);
	kmeans.seed = projection.seed;
	query = projection_query(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), NameStr(*PG_GETARG_NAME(2)));
	check_rows(counting_query(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(2)), k), k);
	header = project_relation(query, kernel, &projection);
	fastclust_begin_rows(fcinfo);
	if (header == NULL)
		return (Datum) 0;
	labels = cluster_rows(header, k, &kmeans);
	for (Size i = 0; i < header->n; i++)
	{
		Datum		values[2];

		CHECK_FOR_INTERRUPTS();
		values[0] = Int64GetDatum(fc_kernel_projection_ids(header)[i]);
		values[1] = Int32GetDatum(labels[i]);
		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}
