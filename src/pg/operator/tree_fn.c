/* tree_fn.c - the clusters of an operator as a tree and on a plane, and searches through their buckets */
#include "postgres.h"

#include "utils/array.h"

#include "operator/codebook.h"
#include "operator/fit.h"
#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_value.h"

#define QUERIES		1500	/* of a search through buckets */
#define NEIGHBOURS	10.0	/* of all rows; the nearest of a sample are as a sample of the nearest */

/* (operator): rows (step, left, right, height, weight), in the order of the heights. */
SQL_FUNCTION(fastclust_cluster_joins)
{
	account		memory = {"the tree of the clusters"};
	fc_operator op;
	fc_arena	arena;
	fc_join    *joins;

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	hold(&memory, op.k * sizeof(fc_join));
	joins = palloc(op.k * sizeof(fc_join));
	arena = hold_arena(&memory);
	fc_cluster_tree(&op, &arena, joins);
	for (Size i = 0; i + 1 < op.k; i++)
	{
		Datum		values[5] = {Int32GetDatum((int32) i + 1), Int32GetDatum(joins[i].left), Int32GetDatum(joins[i].right),
		Float8GetDatum(joins[i].height), Float8GetDatum(joins[i].weight)};

		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}

/* (operator, numbers): the clusters of one number joined; numbers are from 0 on, without gaps. */
SQL_FUNCTION(fastclust_joined_clusters)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	const int32 *number = (const int32 *) ARR_DATA_PTR(array);
	account		memory = {"joined clusters"};
	fc_operator op;
	fc_scratch	scratch;
	double	   *row;
	double	   *centroids;
	double	   *weights;
	Size		count = 0;

	open_operator(OPERATOR_ARG(0), &op);
	if (ARR_NDIM(array) != 1 || ARR_HASNULL(array) || (Size) ARR_DIMS(array)[0] != op.k)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("numbers must be a list of %zu integers", op.k)));
	for (Size j = 0; j < op.k; j++)
	{
		check_count("number", number[j], 0, (int64) op.k - 1);
		count = Max(count, (Size) number[j] + 1);
	}
	hold(&memory, (count + 1) * op.d * sizeof(double) + count * sizeof(double) + codebook_bytes(count, op.d));
	row = palloc(op.d * sizeof(double));
	centroids = palloc_extended(count * op.d * sizeof(double), MCXT_ALLOC_HUGE);
	weights = palloc(count * sizeof(double));
	scratch = make_scratch(fc_operator_scratch(&op));
	fc_join_clusters(&op, number, count, scratch, row, centroids, weights);
	PG_RETURN_POINTER(make_codebook(centroids, weights, count, op.d));
}

/* (operator, rows as an operator, of how many these are a sample, probes): (recall, part of the rows read, rows of each bucket, sums of their squared distances). */
SQL_FUNCTION(fastclust_bucket_recall)
{
	account		memory = {"the recall of a search"};
	fc_operator op;
	fc_operator rows;
	fc_search	search;
	fc_search_result result;
	fc_arena	arena;
	Datum		values[4];

	open_operator(OPERATOR_ARG(0), &op);
	open_operator(OPERATOR_ARG(1), &rows);
	if (op.d != rows.d)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the rows have dimension %zu, the operator %zu", rows.d, op.d)));
	if (rows.k < 2)
		PG_RETURN_NULL();
	check_count("probes", PG_GETARG_INT32(3), 1, (int64) op.k);
	hold(&memory, rows.k * rows.d * sizeof(double));
	search = (fc_search) {.x = centroids_in_units(&rows, NULL, NULL),.rows = rows.k,.queries = Min(QUERIES, rows.k),
		.neighbours = Min(Max(NEIGHBOURS * (double) rows.k / Max(PG_GETARG_FLOAT8(2), (double) rows.k), 1.0), (double) (rows.k - 1)),
		.probes = (Size) PG_GETARG_INT32(3)};
	hold(&memory, rows.k * sizeof(int32) + 2 * op.k * sizeof(double));
	result.label = palloc(rows.k * sizeof(int32));
	result.count = palloc(op.k * sizeof(double));
	result.square = palloc(op.k * sizeof(double));
	arena = hold_arena(&memory);
	fc_search_recall(&op, &search, &arena, &result);
	values[0] = Float8GetDatum(result.recall);
	values[1] = Float8GetDatum(result.read);
	values[2] = make_float8_array(result.count, (int) op.k);
	values[3] = make_float8_array(result.square, (int) op.k);
	return row_result(fcinfo, values, NULL);
}

/* (operator): rows (cluster, x, y, the share of squared distances that x shows, the same of y). */
SQL_FUNCTION(fastclust_cluster_places)
{
	account		memory = {"the map of the clusters"};
	fc_operator op;
	fc_arena	arena;
	double	   *places;
	double		shown[2];

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	hold(&memory, 2 * op.k * sizeof(double));
	places = palloc(2 * op.k * sizeof(double));
	arena = hold_arena(&memory);
	fc_operator_plane(&op, &arena, places, shown);
	for (Size j = 0; j < op.k; j++)
	{
		Datum		values[5] = {Int32GetDatum((int32) j), Float8GetDatum(places[2 * j]), Float8GetDatum(places[2 * j + 1]),
		Float8GetDatum(shown[0]), Float8GetDatum(shown[1])};

		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}
