/* operator_fn.c - fastop: from centroids, to rows */
#include "fastclust.h"

#include <math.h>

#include "numerics/rows.h"
#include "funcapi.h"
#include "handover.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "spec_build.h"

/* ---- making ---- */

/*
 * Scores ||v||^2/2 - v.x are computed in float.  When the centroids' common mean
 * is far from the origin compared with their spread, the differences between
 * scores would drown in rounding, so the mean becomes the operator's offset.
 */
#define OFFSET_RATIO 64.0
#define SMALLEST_CENTROIDS 1e-30

static double *
offset_of(const double *centroids, size_t k, size_t d)
{
	double	   *mean = palloc0(d * sizeof(double));
	double		norm = 0;
	double		spread = 0;

	for (size_t j = 0; j < k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < d; i++)
			mean[i] += centroids[j * d + i] / (double) k;
	}
	for (size_t i = 0; i < d; i++)
		norm += mean[i] * mean[i];
	for (size_t j = 0; j < k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < d; i++)
			spread += (centroids[j * d + i] - mean[i]) * (centroids[j * d + i] - mean[i]) / (double) k;
	}
	return norm > OFFSET_RATIO * spread ? mean : NULL;
}

void
check_centroid_size(double most)
{
	if (most > 0 && most < SMALLEST_CENTROIDS)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("centroids are too small for single precision"),
				 errdetail("They are up to %g from each other; %g is the limit.", most, SMALLEST_CENTROIDS),
				 errhint("Scale the data up.")));
}

/* Centroids as floats from the offset; those that would vanish are an error. */
static float *
round_centroids(const double *centroids, const double *offset, size_t k, size_t d)
{
	float	   *values = palloc_extended(k * d * sizeof(float), MCXT_ALLOC_HUGE);
	double		most = 0;

	for (size_t j = 0; j < k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < d; i++)
		{
			double		value = centroids[j * d + i] - (offset ? offset[i] : 0.0);

			most = fmax(most, fabs(value));
			values[j * d + i] = (float) value;
		}
	}
	check_centroid_size(most);
	return values;
}

/* A codebook of k x d centroids, which all that it points to is the caller's but for the half norms. */
static fc_operator
codebook_view(Size k, Size d, const double *offset, const double *weights, const float *values)
{
	fc_operator op = {.k = k,.d = d,.offset = offset,.weights = weights,.factors = 1};

	op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = values};
	return op;
}

Size
codebook_bytes(Size k, Size d)
{
	double		somewhere = 0;
	fc_operator op = codebook_view(k, d, &somewhere, NULL, NULL);

	return d * sizeof(double) + k * (d + 1) * sizeof(float) + fc_operator_scratch(&op) * sizeof(float) + 2 * fc_operator_size(&op);
}

fc_operator_header *
make_codebook(const double *centroids, const double *weights, size_t k, size_t d)
{
	double	   *offset = offset_of(centroids, k, d);
	float	   *values = round_centroids(centroids, offset, k, d);
	float	   *half_norms = palloc(k * sizeof(float));
	fc_operator op = codebook_view(k, d, offset, weights, values);
	fc_scratch	scratch = make_scratch(fc_operator_scratch(&op));
	fc_operator_header *header;
	Size		size;

	(void) fc_operator_measure(&op, &server_tick, scratch, half_norms);
	pfree(scratch.floats);
	size = fc_operator_size(&op);
	check_budget(size, "the operator");
	header = palloc_extended(size, MCXT_ALLOC_HUGE);
	(void) fc_operator_write(&op, &server_tick, header);
	SET_VARSIZE(header, size);
	if (fc_operator_check(header, size, &server_tick) != FC_OK)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("centroids are too large for single precision"),
				 errhint("Scale the data down.")));
	pfree(values);
	pfree(half_norms);
	return header;
}

/* The centroids an operator stands for, as a codebook in memory of our own. */
static fc_operator
as_codebook(const fc_operator *source)
{
	fc_operator book = *source;
	float	   *rows;

	if (source->exact.values == NULL && source->factors == 1 && source->factor[0].row_start == NULL)
		return book;
	if (source->exact.values != NULL)
		book.offset = source->exact.offset;
	rows = palloc_extended(source->k * source->d * sizeof(float), MCXT_ALLOC_HUGE);
	if (source->exact.values != NULL)
		copy_bytes(rows, source->exact.values, source->k * source->d * sizeof(float));
	else
		(void) fc_operator_expand(&book, &server_tick, make_scratch(fc_operator_scratch(&book)), rows);
	book.factors = 1;
	book.factor[0] = (fc_factor) {.rows = book.k,.columns = book.d,.nonzeros = book.k * book.d,.values = rows};
	return book;
}

void
keep_centroids(fc_operator *op, const fc_operator *source, uint32 rerank)
{
	fc_operator book;
	float	   *arrays;

	if (rerank == 0)
		return;
	check_budget(op->k * (op->d + 2) * sizeof(float), "the centroids kept for re-ranking");
	book = as_codebook(source);
	arrays = palloc_extended(2 * op->k * sizeof(float), MCXT_ALLOC_HUGE);
	(void) fc_operator_attach_exact(op, &book, rerank, &server_tick, make_scratch(fc_operator_scratch(op)), arrays, arrays + op->k);
}

/* State of fastop_agg: centroids in the order they come. */
typedef struct codebook
{
	Size		k;
	Size		room;
	int32		d;
	double	   *centroids;
	double	   *weights;
} codebook;

/* Bytes of n centroids as they are collected, and of their operator. */
static Size
collected_bytes(const void *collected, Size n)
{
	Size		d = (Size) ((const codebook *) collected)->d;

	return n * (d + 1) * sizeof(double) + codebook_bytes(n, d);
}

/* Room for one more. */
static void
grow(codebook *book)
{
	row_need	need = {collected_bytes, book, "fastop_agg", ""};
	Size		room;

	check_count("the number of centroids", (int64) book->k + 1, 1, FC_MAX_CLUSTERS);
	room = grown_room(book->room, book->k + 1, &need);
	if (book->room == 0)
	{
		book->centroids = palloc_extended(room * (Size) book->d * sizeof(double), MCXT_ALLOC_HUGE);
		book->weights = palloc_extended(room * sizeof(double), MCXT_ALLOC_HUGE);
	}
	else
	{
		book->centroids = repalloc_huge(book->centroids, room * (Size) book->d * sizeof(double));
		book->weights = repalloc_huge(book->weights, room * sizeof(double));
	}
	book->room = room;
}

PG_FUNCTION_INFO_V1(fastclust_fastop_accum);
Datum
fastclust_fastop_accum(PG_FUNCTION_ARGS)
{
	codebook   *book = PG_ARGISNULL(0) ? NULL : (codebook *) PG_GETARG_POINTER(0);
	vector_reader reader = {CurrentMemoryContext, NULL, 0};
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	vector		v;

	if (PG_ARGISNULL(1))
	{
		if (book == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(book);
	}
	v = read_vector(&reader, PG_GETARG_DATUM(1), "centroid");
	check_finite(&v);
	check_count("the dimension of centroid", v.d, 1, FC_MAX_DIM);
	old = MemoryContextSwitchTo(context);
	if (book == NULL)
	{
		book = palloc0(sizeof(codebook));
		book->d = v.d;
	}
	check_vector_dim(&v, (size_t) book->d, "the first centroid");
	if (book->k == book->room)
		grow(book);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < v.d; i++)
		book->centroids[book->k * (Size) v.d + (Size) i] = v.floats ? (double) v.floats[i] : v.doubles[i];
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
	PG_RETURN_POINTER(make_codebook(book->centroids, book->weights, book->k, (Size) book->d));
}

/* ---- rows ---- */

typedef struct row_call
{
	const fc_operator *op;
	vector		v;
	const double *x;
	fc_scratch	scratch;
} row_call;

/* Operator in argument 0, vector in argument 1: both checked, the row as doubles. */
static row_call
row_arguments(FunctionCallInfo fcinfo)
{
	row_call	call;

	call.op = cached_operator(fcinfo, 0, NULL);
	call.v = read_vector(cached_reader(fcinfo), PG_GETARG_DATUM(1), "x");
	check_vector_dim(&call.v, call.op->d, "the operator");
	check_single_precision(&call.v);
	call.x = vector_doubles(&call.v, cached_doubles(fcinfo, call.op->d));
	call.scratch = cached_scratch(fcinfo, fc_operator_scratch(call.op));
	return call;
}

PG_FUNCTION_INFO_V1(fastclust_assign);
Datum
fastclust_assign(PG_FUNCTION_ARGS)
{
	row_call	call = row_arguments(fcinfo);

	PG_RETURN_INT32((int32) fc_operator_assign(call.op, call.x, call.scratch));
}

PG_FUNCTION_INFO_V1(fastclust_assign_distance);
Datum
fastclust_assign_distance(PG_FUNCTION_ARGS)
{
	row_call	call = row_arguments(fcinfo);
	size_t		cluster = fc_operator_assign(call.op, call.x, call.scratch);

	PG_RETURN_FLOAT8(sqrt(fc_operator_distance(call.op, cluster, call.x, call.scratch)));
}

PG_FUNCTION_INFO_V1(fastclust_nearest);
Datum
fastclust_nearest(PG_FUNCTION_ARGS)
{
	row_call	call = row_arguments(fcinfo);
	int32		n = PG_GETARG_INT32(2);
	size_t		count;
	int32	   *clusters;
	double	   *distances;

	check_count("n", n, 1, INT32_MAX);
	count = Min((size_t) n, call.op->k);
	clusters = palloc(count * sizeof(int32));
	distances = palloc(count * sizeof(double));
	fc_operator_nearest(call.op, call.x, count, call.scratch, clusters, distances);
	return make_int4_array(clusters, (int) count);
}

PG_FUNCTION_INFO_V1(fastclust_project);
Datum
fastclust_project(PG_FUNCTION_ARGS)
{
	row_call	call = row_arguments(fcinfo);
	float	   *x = palloc(call.op->d * sizeof(float));
	float	   *y = palloc(call.op->k * sizeof(float));

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
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	fc_operator op = operator_argument(fcinfo);
	fc_scratch	scratch = make_scratch(fc_operator_scratch(&op));
	double	   *row = palloc(op.d * sizeof(double));

	fastclust_begin_rows(fcinfo);
	for (size_t j = 0; j < op.k; j++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		CHECK_FOR_INTERRUPTS();
		fc_operator_row(&op, j, scratch, row);
		values[0] = Int32GetDatum((int32) j);
		values[1] = make_float8_array(row, (int) op.d);
		values[2] = Float8GetDatum(op.weights[j]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		pfree(DatumGetPointer(values[1]));
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(fastclust_factors);
Datum
fastclust_factors(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	fc_operator op = operator_argument(fcinfo);

	fastclust_begin_rows(fcinfo);
	for (size_t q = 0; q < op.factors; q++)
		for (size_t r = 0; r < op.factor[q].rows; r++)
		{
			const fc_factor *f = &op.factor[q];
			size_t		start = f->row_start ? f->row_start[r] : r * f->columns;
			size_t		end = f->row_start ? f->row_start[r + 1] : start + f->columns;

			CHECK_FOR_INTERRUPTS();
			for (size_t i = start; i < end; i++)
			{
				Datum		values[4];
				bool		nulls[4] = {false};

				values[0] = Int32GetDatum((int32) q);
				values[1] = Int32GetDatum((int32) r);
				values[2] = Int32GetDatum((int32) (f->row_start ? fc_factor_column(f, i) : i - start));
				values[3] = Float8GetDatum((double) f->values[i]);
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
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

PG_FUNCTION_INFO_V1(fastclust_dim);
Datum
fastclust_dim(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) cached_operator(fcinfo, 0, NULL)->d);
}

static int64
nonzeros_of(const fc_operator *op)
{
	size_t		sum = 0;

	for (size_t q = 0; q < op->factors; q++)
		sum += op->factor[q].nonzeros;
	return (int64) sum;
}

PG_FUNCTION_INFO_V1(fastclust_nonzeros);
Datum
fastclust_nonzeros(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(nonzeros_of(cached_operator(fcinfo, 0, NULL)));
}

PG_FUNCTION_INFO_V1(fastclust_fastop_describe);
Datum
fastclust_fastop_describe(PG_FUNCTION_ARGS)
{
	fc_operator op = operator_argument(fcinfo);
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"clusters\": %zu, \"dim\": %zu, \"offset\": %s, \"nonzeros\": %lld, "
					 "\"dense_parameters\": %zu, \"bytes\": %zu, \"factors\": [",
					 op.k, op.d, op.offset ? "true" : "false", (long long) nonzeros_of(&op),
					 op.k * op.d, fc_operator_size(&op));
	for (size_t q = 0; q < op.factors; q++)
		appendStringInfo(&json, "%s{\"rows\": %zu, \"columns\": %zu, \"nonzeros\": %zu, \"kind\": \"%s\"}",
						 q > 0 ? ", " : "", op.factor[q].rows, op.factor[q].columns, op.factor[q].nonzeros,
						 op.factor[q].row_start ? "sparse" : "dense");
	appendStringInfoChar(&json, ']');
	if (op.exact.rerank == FC_RERANK_EXACT)
		appendStringInfoString(&json, ", \"rerank\": \"exact\"");
	else if (op.exact.rerank > 0)
		appendStringInfo(&json, ", \"rerank\": %u", op.exact.rerank);
	describe_factorization(&json, &op);
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/* ---- neighbours ---- */

/* Euclidean distance of two vectors, in double. */
PG_FUNCTION_INFO_V1(fastclust_l2_distance);
Datum
fastclust_l2_distance(PG_FUNCTION_ARGS)
{
	vector_reader readers[2] = {{CurrentMemoryContext, NULL, 0}, {CurrentMemoryContext, NULL, 0}};
	vector		x = read_vector(&readers[0], PG_GETARG_DATUM(0), "x");
	vector		y = read_vector(&readers[1], PG_GETARG_DATUM(1), "y");
	double		distance;

	if (x.d != y.d)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vectors have %d and %d dimensions", x.d, y.d)));
	check_finite(&x);
	check_finite(&y);
	distance = x.floats != NULL && y.floats != NULL ? sqrt(fc_row_gap(x.floats, y.floats, (size_t) x.d))
		: fc_length_between(vector_doubles(&x, palloc((Size) x.d * sizeof(double))),
							vector_doubles(&y, palloc((Size) y.d * sizeof(double))), (size_t) x.d);
	if (isinf(distance))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the distance of x and y is out of range"),
				 errhint("Scale the data down.")));
	PG_RETURN_FLOAT8(distance);
}
