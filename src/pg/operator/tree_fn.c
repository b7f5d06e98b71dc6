/*
 * tree_fn.c - the tree of an operator's clusters, their positions in a plane,
 * and the recall of searches through their buckets
 */
#include "postgres.h"

#include "utils/array.h"

#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"

/*
 * Maximum number of queries from which the recall of a search is estimated.
 * With more queries, the estimate is more exact, but each query computes its
 * distances to all rows of the sample (bench/index_health.py).
 */
#define QUERIES	1500

/*
 * Number of nearest neighbours of a query among all rows of the table; 10 is a
 * usual number for recall. In a sample, the number is reduced in proportion to
 * the number of rows.
 */
#define NEIGHBOURS	10.0

/*
 * Returns the number of a node of the tree. A cluster has its own number;
 * joins have the numbers after the highest cluster number.
 */
static int32
numbered_node(const fc_operator *op, int32 node)
{
	if ((Size) node < op->k)
		return fc_operator_number(op, (Size) node);
	return node - (int32) op->k + (int32) fc_operator_labels(op);
}

/*
 * Takes (operator). Returns rows (step, left, right, height, weight) in
 * ascending order of height.
 */
PG_FUNCTION_INFO_V1(fastclust_cluster_joins);
Datum
fastclust_cluster_joins(PG_FUNCTION_ARGS)
{
	memory_account memory = {"the tree of the clusters"};
	fc_operator op;
	fc_arena	arena;
	fc_join    *joins;

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	charge_memory(&memory, op.k * sizeof(fc_join));
	joins = palloc(op.k * sizeof(fc_join));
	arena = charged_arena(&memory);
	fc_cluster_tree(&op, &arena, joins);
	for (Size i = 0; i + 1 < op.k; i++)
	{
		Datum		values[5] = {
			Int32GetDatum((int32) i + 1),
			Int32GetDatum(numbered_node(&op, joins[i].left)),
			Int32GetDatum(numbered_node(&op, joins[i].right)),
			Float8GetDatum(joins[i].height),
			Float8GetDatum(joins[i].weight)
		};

		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}

fc_codebook *
joined_clusters(const fc_operator_header *header, const int32 *number,
				Size count)
{
	memory_account memory = {"joining the clusters"};
	fc_operator op;
	double	   *row;
	double	   *centroids;
	double	   *weights;

	open_operator(header, &op);
	charge_memory(&memory, (count + 1) * op.d * sizeof(double) + count * sizeof(double) +
				  codebook_bytes(count, op.d));
	row = palloc(op.d * sizeof(double));
	centroids = alloc_large(count * op.d * sizeof(double));
	weights = palloc(count * sizeof(double));
	fc_join_clusters(&op, number, count, make_scratch(fc_operator_scratch(&op)),
					 row, centroids, weights);
	return make_codebook(centroids, weights, count, op.d);
}

/*
 * Takes (operator, numbers). Returns the operator in which clusters with equal
 * numbers are joined.
 */
PG_FUNCTION_INFO_V1(fastclust_joined_clusters);
Datum
fastclust_joined_clusters(PG_FUNCTION_ARGS)
{
	const fc_operator_header *op = OPERATOR_ARG(0);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	const int32 *number = (const int32 *) ARR_DATA_PTR(array);
	Size		count = 0;

	if (ARR_NDIM(array) != 1 || ARR_HASNULL(array) ||
		(Size) ARR_DIMS(array)[0] != op->k)
		ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				errmsg("numbers must be a list of %u integers", op->k));
	for (Size j = 0; j < op->k; j++)
	{
		check_count("number", number[j], 0, (int64) op->k - 1);
		count = Max(count, (Size) number[j] + 1);
	}
	PG_RETURN_POINTER(joined_clusters(op, number, count));
}

fc_search_result
recall_of_search(const fc_operator_header *header,
				 const fc_weighted_rows *rows, double n, int64 probes)
{
	memory_account memory = {"the recall of a search"};
	fc_operator op;
	fc_search	search;
	fc_search_result result;
	fc_arena	arena;

	open_operator(header, &op);
	if (op.d != rows->d)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("rows have %zu dimensions, but the operator has %zu", rows->d,
					   op.d));
	check_count("probes", probes, 1, (int64) op.k);
	search = (fc_search)
	{
		.queries = Min(QUERIES, rows->n),
			.neighbours = Min(Max(NEIGHBOURS * (double) rows->n /
								  Max(n, (double) rows->n),
								  1.0),
							  (double) (rows->n - 1)),
			.probes = (Size) probes
	};
	charge_memory(&memory, rows->n * sizeof(int32) + 2 * op.k * sizeof(double));
	result.label = palloc(rows->n * sizeof(int32));
	result.count = palloc(op.k * sizeof(double));
	result.square = palloc(op.k * sizeof(double));
	arena = charged_arena(&memory);
	fc_search_recall(&op, rows, &search, &arena, &result);
	return result;
}

/*
 * Takes (operator, rows, n, probes). `rows` is an operator whose centroids are
 * a sample of n rows. Returns (recall, share of the rows read, number of rows
 * per bucket, sum of squared distances per bucket), or NULL for fewer than two
 * rows.
 */
PG_FUNCTION_INFO_V1(fastclust_bucket_recall);
Datum
fastclust_bucket_recall(PG_FUNCTION_ARGS)
{
	const fc_operator_header *op = OPERATOR_ARG(0);
	const fc_weighted_rows *rows = rows_of_operator(OPERATOR_ARG(1));
	fc_search_result result;
	Datum		values[4];

	if (rows->n < 2)
		PG_RETURN_NULL();
	result = recall_of_search(op, rows, PG_GETARG_FLOAT8(2),
							  PG_GETARG_INT32(3));
	values[0] = Float8GetDatum(result.recall);
	values[1] = Float8GetDatum(result.read);
	values[2] = make_float8_array(result.count, (int) op->k);
	values[3] = make_float8_array(result.square, (int) op->k);
	return row_result(fcinfo, values, NULL);
}

/*
 * Takes (operator). Returns rows (cluster, x, y, shown_x, shown_y). x and y
 * are coordinates on the two principal axes of the centroids. shown_x and
 * shown_y are the shares of the squared distances that the axes show.
 */
PG_FUNCTION_INFO_V1(fastclust_cluster_places);
Datum
fastclust_cluster_places(PG_FUNCTION_ARGS)
{
	memory_account memory = {"the map of the clusters"};
	fc_operator op;
	fc_arena	arena;
	double	   *places;
	double		shown[2];

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	charge_memory(&memory, 2 * op.k * sizeof(double));
	places = palloc(2 * op.k * sizeof(double));
	arena = charged_arena(&memory);
	fc_operator_plane(&op, &arena, places, shown);
	for (Size j = 0; j < op.k; j++)
	{
		Datum		values[5] = {
			Int32GetDatum(fc_operator_number(&op, j)),
			Float8GetDatum(places[2 * j]),
			Float8GetDatum(places[2 * j + 1]),
			Float8GetDatum(shown[0]),
			Float8GetDatum(shown[1])
		};

		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}
