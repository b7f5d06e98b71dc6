/*
 * operator_fn.c - functions of type fastop: construction from centroids,
 * labels and distances of rows, and inspection
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "numerics/rows.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"

/*
 * State of fastop_agg: the centroids in the order in which the aggregate
 * received them.
 */
typedef struct codebook
{
	Size		k;
	Size		capacity;
	int32		d;
	fc_metric	metric;
	double	   *centroids;
	double	   *weights;
} codebook;

/*
 * Returns the size in bytes of n collected centroids and of the operator made
 * from them.
 */
static Size
collected_bytes(const void *collected, Size n)
{
	Size		d = (Size) ((const codebook *) collected)->d;

	return n * (d + 1) * sizeof(double) + codebook_bytes(n, d);
}

/* Makes room for one more centroid. */
static void
grow(codebook *book)
{
	row_need	need = {collected_bytes, book, "fastop_agg", ""};
	Size		capacity;

	check_count("the number of centroids", (int64) book->k + 1, 1,
				FC_MAX_CLUSTERS);
	capacity = grown_capacity(book->capacity, book->k + 1, &need);
	if (book->capacity == 0)
	{
		book->centroids = alloc_large(capacity * (Size) book->d * sizeof(double));
		book->weights = alloc_large(capacity * sizeof(double));
	}
	else
	{
		book->centroids = repalloc_huge(book->centroids,
										capacity * (Size) book->d * sizeof(double));
		book->weights = repalloc_huge(book->weights, capacity * sizeof(double));
	}
	book->capacity = capacity;
}

/*
 * Returns the metric in the options, which are argument 3, or the Euclidean
 * metric if there are no options.
 */
static fc_metric
metric_argument(FunctionCallInfo fcinfo)
{
	char	   *metric = NULL;
	const option known[] = {{"metric", OPTION_TEXT, &metric, 0, 0}};

	if (PG_NARGS() <= 3)
		return FC_EUCLIDEAN;
	require_argument(fcinfo, 3, "options");
	read_options(PG_GETARG_JSONB_P(3), known, lengthof(known));
	return metric_of_options(metric);
}

/*
 * Scales a centroid to length 1 if the metric is cosine. Raises an error for a
 * zero vector.
 */
static void
normalise_centroid(fc_metric metric, double *row, Size d, Size cluster)
{
	if (metric == FC_COSINE && !fc_unit_row(row, d, row))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("centroid %zu is the zero vector", cluster),
				errdetail("It has no direction that the metric cosine could compare."));
}

PG_FUNCTION_INFO_V1(fastclust_fastop_accum);
Datum
fastclust_fastop_accum(PG_FUNCTION_ARGS)
{
	codebook   *book = (PG_ARGISNULL(0) ? NULL
						: (codebook *) PG_GETARG_POINTER(0));
	vector_reader reader = {CurrentMemoryContext, NULL, 0};
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	fc_metric	metric = metric_argument(fcinfo);
	double	   *row;
	vector		v;

	if (book != NULL && book->metric != metric)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("options must be the same for all rows"));
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	v = read_vector_argument(fcinfo, &reader, 1, "centroid");
	check_finite(&v);
	check_count("the dimension of centroid", v.d, 1, FC_MAX_DIM);
	old = MemoryContextSwitchTo(context);
	if (book == NULL)
	{
		book = palloc0(sizeof(codebook));
		book->d = v.d;
		book->metric = metric;
	}
	check_vector_dim(&v, (size_t) book->d, "the first centroid");
	if (book->k == book->capacity)
		grow(book);
	MemoryContextSwitchTo(old);
	row = book->centroids + book->k * (Size) v.d;
	copy_row(&v, row);
	normalise_centroid(metric, row, (Size) v.d, book->k);
	book->weights[book->k++] = weight_argument(fcinfo, 2);
	PG_RETURN_POINTER(book);
}

PG_FUNCTION_INFO_V1(fastclust_fastop_final);
Datum
fastclust_fastop_final(PG_FUNCTION_ARGS)
{
	codebook   *book;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	book = (codebook *) PG_GETARG_POINTER(0);
	PG_RETURN_POINTER(make_codebook_for(book->metric, book->centroids,
										book->weights, book->k,
										(Size) book->d));
}

/* ---- the metric ---- */

/*
 * Returns the k x d centroids of op, scaled to length 1 if the metric is
 * cosine.
 */
static double *
centroids_for(fc_metric metric, const fc_operator *op)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	double	   *rows = alloc_large(op->k * op->d * sizeof(double));

	for (size_t j = 0; j < op->k; j++)
	{
		double	   *row = rows + j * op->d;

		CHECK_FOR_INTERRUPTS();
		fc_operator_row(op, j, scratch, row);
		normalise_centroid(metric, row, op->d, j);
	}
	pfree(scratch.floats);
	return rows;
}

fc_operator_header *
with_metric(const fc_operator_header *header, fc_metric metric)
{
	memory_account memory = {"changing the metric of an operator"};
	fc_operator op;

	open_operator(header, &op);
	if (op.metric == metric)
		return (fc_operator_header *) header;
	if (fc_operator_is_codebook(&op))
	{
		charge_memory(&memory,
					  op.k * op.d * sizeof(double) + codebook_bytes(op.k, op.d));
		return numbered_as(&op,
						   make_codebook_for(metric, centroids_for(metric, &op),
											 op.weights, op.k, op.d));
	}
	op.metric = metric;
	return store_operator(&op);
}

/* ---- rows ---- */

typedef struct row_call
{
	const fc_operator *op;
	const double *x;
	fc_scratch	scratch;
} row_call;

/*
 * Reads and checks the operator in argument 0 and the vector in argument 1.
 * Sets x to the row. If the metric is cosine, x has length 1, or is NULL for a
 * zero vector.
 */
static row_call
row_arguments(FunctionCallInfo fcinfo)
{
	row_call	call;
	vector		v = read_vector_argument(fcinfo, cached_reader(fcinfo), 1, "x");

	call.op = cached_operator(fcinfo, 0, NULL);
	check_vector_dim(&v, call.op->d, "op");
	check_single_precision(&v);
	call.x = metric_row(call.op->metric, &v,
						cached_doubles(fcinfo, call.op->d));
	call.scratch = cached_scratch(fcinfo, fc_operator_scratch(call.op));
	return call;
}

/*
 * Returns the label of a row whose nearest centroid is `nearest`, or NULL if
 * the row is in no cluster.
 */
static Datum
label_of_row(FunctionCallInfo fcinfo, const fc_operator *op, size_t nearest,
			 const double *x)
{
	int32		label = fc_operator_label_of(op, nearest, x,
											 cached_scratch(fcinfo,
															fc_operator_scratch(op)));

	if (label < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(label);
}

PG_FUNCTION_INFO_V1(fastclust_assign);
Datum
fastclust_assign(PG_FUNCTION_ARGS)
{
	const fc_operator *op = cached_operator(fcinfo, 0, NULL);
	row_call	call;
	size_t		cluster;

	switch (cached_sparse_label(fcinfo, 1, &cluster))
	{
		case SPARSE_NONE:
			PG_RETURN_NULL();
		case SPARSE_KNOWN:
			return label_of_row(fcinfo, op, cluster,
								op->regions.clusters > 0
								? cached_sparse_row(fcinfo, NULL)
								: NULL);
		default:
			break;
	}
	call = row_arguments(fcinfo);
	if (call.x == NULL)
		PG_RETURN_NULL();
	return label_of_row(fcinfo, op,
						fc_operator_assign(op, call.x, call.scratch), call.x);
}

PG_FUNCTION_INFO_V1(fastclust_assign_distance);
Datum
fastclust_assign_distance(PG_FUNCTION_ARGS)
{
	const fc_operator *op = cached_operator(fcinfo, 0, NULL);
	sparse_outcome outcome;
	row_call	call;
	size_t		cluster;

	outcome = cached_sparse_label(fcinfo, 1, &cluster);
	if (outcome == SPARSE_KNOWN)
	{
		call.op = op;
		call.x = cached_sparse_row(fcinfo, NULL);
		call.scratch = cached_scratch(fcinfo, fc_operator_scratch(op));
	}
	else
	{
		call = row_arguments(fcinfo);
		if (call.x == NULL)
			PG_RETURN_NULL();
		cluster = fc_operator_assign(call.op, call.x, call.scratch);
	}
	PG_RETURN_FLOAT8(fc_metric_distance(op->metric,
										fc_operator_distance(op, cluster,
															 call.x,
															 call.scratch)));
}

/*
 * Finds the `count` nearest centroids of the row in argument 1, in ascending
 * order of distance. Returns false for a zero vector if the metric is cosine.
 */
static bool
nearest_of_argument(FunctionCallInfo fcinfo, const fc_operator *op,
					size_t count, int32 *clusters, double *distances)
{
	const sparse_scratch *sparse;
	sparse_outcome outcome = cached_sparse_scores(fcinfo, 1, &sparse);
	row_call	call;

	if (outcome == SPARSE_KNOWN)
		fc_operator_nearest_scored(op, cached_sparse_row(fcinfo, NULL),
								   sparse->scores, sparse->bound, count,
								   cached_scratch(fcinfo,
												  fc_operator_scratch(op)),
								   clusters, distances);
	if (outcome != SPARSE_UNKNOWN)
		return outcome == SPARSE_KNOWN;
	call = row_arguments(fcinfo);
	if (call.x != NULL)
		fc_operator_nearest(op, call.x, count, call.scratch, clusters,
							distances);
	return call.x != NULL;
}

PG_FUNCTION_INFO_V1(fastclust_nearest);
Datum
fastclust_nearest(PG_FUNCTION_ARGS)
{
	const fc_operator *op = cached_operator(fcinfo, 0, NULL);
	int32		n = PG_GETARG_INT32(2);
	size_t		count;
	int32	   *clusters;
	double	   *distances;

	check_count("n", n, 1, INT32_MAX);
	count = Min((size_t) n, op->k);
	clusters = palloc(count * sizeof(int32));
	distances = palloc(count * sizeof(double));
	if (!nearest_of_argument(fcinfo, op, count, clusters, distances))
		PG_RETURN_NULL();
	for (size_t i = 0; i < count; i++)
		clusters[i] = fc_operator_number(op, (size_t) clusters[i]);
	return make_int4_array(clusters, (int) count);
}

PG_FUNCTION_INFO_V1(fastclust_project);
Datum
fastclust_project(PG_FUNCTION_ARGS)
{
	row_call	call = row_arguments(fcinfo);
	float	   *x = palloc(call.op->d * sizeof(float));
	float	   *y = palloc(call.op->k * sizeof(float));

	if (call.x == NULL)
		PG_RETURN_NULL();
	for (size_t i = 0; i < call.op->d; i++)
		x[i] = (float) call.x[i];
	fc_operator_project(call.op, x, call.scratch, y);
	return make_float4_array(y, (int) call.op->k);
}

/* ---- reading ---- */

static fc_operator
operator_argument(FunctionCallInfo fcinfo)
{
	fc_operator op;

	open_operator(OPERATOR_ARG(0), &op);
	return op;
}

PG_FUNCTION_INFO_V1(fastclust_centroids);
Datum
fastclust_centroids(PG_FUNCTION_ARGS)
{
	fc_operator op = operator_argument(fcinfo);
	fc_scratch	scratch = make_scratch(fc_operator_scratch(&op));
	double	   *row = palloc(op.d * sizeof(double));

	fastclust_begin_rows(fcinfo);
	for (size_t j = 0; j < op.k; j++)
	{
		Datum		values[3];

		CHECK_FOR_INTERRUPTS();
		fc_operator_row(&op, j, scratch, row);
		values[0] = Int32GetDatum(fc_operator_number(&op, j));
		values[1] = make_float8_array(row, (int) op.d);
		values[2] = Float8GetDatum(op.weights[j]);
		put_row(fcinfo, values, NULL);
		pfree(DatumGetPointer(values[1]));
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(fastclust_factors);
Datum
fastclust_factors(PG_FUNCTION_ARGS)
{
	fc_operator op = operator_argument(fcinfo);

	fastclust_begin_rows(fcinfo);
	for (size_t q = 0; q < op.factors; q++)
		for (size_t r = 0; r < op.factor[q].rows; r++)
		{
			const fc_factor *f = &op.factor[q];
			size_t		start = f->row_start ? f->row_start[r] : r * f->columns;
			size_t		end = (f->row_start ? f->row_start[r + 1]
							   : start + f->columns);

			CHECK_FOR_INTERRUPTS();
			for (size_t i = start; i < end; i++)
			{
				Datum		values[4];

				values[0] = Int32GetDatum((int32) q);
				values[1] = Int32GetDatum((int32) r);
				values[2] = Int32GetDatum((int32) (f->row_start
												   ? fc_factor_column(f, i)
												   : i - start));
				values[3] = Float8GetDatum((double) f->values[i]);
				put_row(fcinfo, values, NULL);
			}
		}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(fastclust_clusters);
Datum
fastclust_clusters(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) cached_operator(fcinfo, 0, NULL)->k);
}

/* Takes (operator). Returns the numbers of its clusters in ascending order. */
PG_FUNCTION_INFO_V1(fastclust_cluster_numbers);
Datum
fastclust_cluster_numbers(PG_FUNCTION_ARGS)
{
	const fc_operator *op = cached_operator(fcinfo, 0, NULL);
	int32	   *numbers = palloc(op->k * sizeof(int32));

	for (size_t j = 0; j < op->k; j++)
		numbers[j] = fc_operator_number(op, j);
	return make_int4_array(numbers, (int) op->k);
}

/* Takes (operator). Returns the highest cluster number plus 1. */
PG_FUNCTION_INFO_V1(fastclust_cluster_labels);
Datum
fastclust_cluster_labels(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) fc_operator_labels(cached_operator(fcinfo, 0,
															   NULL)));
}

/* Length in bytes from which a list of cluster numbers is abbreviated. */
#define MAX_LIST_BYTES	100

char *
listed_numbers(const fc_operator *op)
{
	StringInfoData list;

	initStringInfo(&list);
	for (size_t j = 0, last; j < op->k; j = last + 1)
	{
		for (last = j;
			 last + 1 < op->k && fc_operator_number(op, last + 1) ==
			 fc_operator_number(op, last) + 1;)
			last++;
		if (list.len > MAX_LIST_BYTES && last + 1 < op->k)
		{
			appendStringInfo(&list, " .. %d",
							 fc_operator_number(op, op->k - 1));
			break;
		}
		appendStringInfo(&list, "%s%d", j > 0 ? ", " : "",
						 fc_operator_number(op, j));
		if (last > j)
			appendStringInfo(&list, "%s%d",
							 last == j + 1 && op->k > 2 ? ", " : " to ",
							 fc_operator_number(op, last));
	}
	return list.data;
}

/*
 * Takes (operator). Returns its cluster numbers as text, "0 to 4" or "0, 2 to
 * 5".
 */
PG_FUNCTION_INFO_V1(fastclust_listed_numbers);
Datum
fastclust_listed_numbers(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(listed_numbers(cached_operator(fcinfo, 0,
																	NULL))));
}

PG_FUNCTION_INFO_V1(fastclust_dim);
Datum
fastclust_dim(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) cached_operator(fcinfo, 0, NULL)->d);
}

/*
 * Appends the method and the errors of a factorisation to the JSON object of
 * describe().
 */
static void
describe_factorization(StringInfo json, const fc_operator *op)
{
	const fc_factorization *from = op->factorization;

	if (from == NULL)
		return;
	appendStringInfo(json,
					 ", \"method\": \"%s\", \"relative_error\": %.6g, \"svd_relative_error\": %.6g",
					 method_name(from->method), from->relative_error, from->svd_error);
	if (from->agreement >= 0)
		appendStringInfo(json, ", \"label_agreement\": %.4f", from->agreement);
}

PG_FUNCTION_INFO_V1(fastclust_fastop_describe);
Datum
fastclust_fastop_describe(PG_FUNCTION_ARGS)
{
	fc_operator op = operator_argument(fcinfo);
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json,
					 "{\"clusters\": %zu, \"dim\": %zu, \"offset\": %s, \"nonzeros\": %lld, "
					 "\"dense_parameters\": %zu, \"bytes\": %zu, \"factors\": [",
					 op.k, op.d, op.offset ? "true" : "false",
					 (long long) fc_operator_values(&op), op.k * op.d,
					 fc_operator_size(&op));
	for (size_t q = 0; q < op.factors; q++)
		appendStringInfo(&json,
						 "%s{\"rows\": %zu, \"columns\": %zu, \"nonzeros\": %zu, \"kind\": \"%s\"}",
						 q > 0 ? ", " : "", op.factor[q].rows, op.factor[q].columns,
						 op.factor[q].nonzeros, op.factor[q].row_start ? "sparse" : "dense");
	appendStringInfoChar(&json, ']');
	if (op.metric != FC_EUCLIDEAN)
		appendStringInfo(&json, ", \"metric\": \"%s\"",
						 fc_metric_name(op.metric));
	if (op.exact.rerank == FC_RERANK_EXACT)
		appendStringInfoString(&json, ", \"rerank\": \"exact\"");
	else if (op.exact.rerank > 0)
		appendStringInfo(&json, ", \"rerank\": %u", op.exact.rerank);
	describe_factorization(&json, &op);
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/* ---- neighbours ---- */

/*
 * Takes (x, y). Returns the Euclidean distance of two vectors, computed in
 * double precision.
 */
PG_FUNCTION_INFO_V1(fastclust_l2_distance);
Datum
fastclust_l2_distance(PG_FUNCTION_ARGS)
{
	vector_reader readers[2] = {
		{CurrentMemoryContext, NULL, 0},
		{CurrentMemoryContext, NULL, 0}
	};
	vector		x = read_vector_argument(fcinfo, &readers[0], 0, "x");
	vector		y = read_vector_argument(fcinfo, &readers[1], 1, "y");
	double		distance;

	if (x.d != y.d)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("vectors have different dimensions: %d and %d", x.d, y.d));
	check_finite(&x);
	check_finite(&y);
	distance = x.floats != NULL && y.floats != NULL
		? sqrt(fc_row_gap(x.floats, y.floats, (size_t) x.d))
		: fc_length_between(vector_doubles(&x,
										   palloc((Size) x.d *
												  sizeof(double))),
							vector_doubles(&y,
										   palloc((Size) y.d *
												  sizeof(double))),
							(size_t) x.d);
	if (isinf(distance))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("the distance of x and y is out of range"),
				errhint("Scale the data down."));
	PG_RETURN_FLOAT8(distance);
}
