/*
 * step_agg.c - aggregates over rows assigned to an operator: lloyd_step_agg,
 * sse_agg, simplified_silhouette_agg, davies_bouldin_agg.
 *
 * The state is flat bytes changed in place (type aggregate_state) that carry the
 * operator; rows wait in it for one batched assignment.
 */
#include "fastclust.h"

#include <math.h>

#include "access/htup_details.h"
#include "fc_step.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* The state in argument n, of this kind (0: any of this file's aggregates). */
static fc_step *
step_argument(FunctionCallInfo fcinfo, int n, int kind)
{
	struct varlena *value = (struct varlena *) PG_GETARG_POINTER(n);
	fc_step    *step = (fc_step *) (VARATT_IS_4B_U(value) ? value : PG_DETOAST_DATUM(PG_GETARG_DATUM(n)));

	if (step->version != FC_STEP_VERSION || step->kind == FC_STEP_CONTINGENCY || (kind != 0 && step->kind != kind))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the state belongs to another aggregate")));
	return step;
}

static fc_step *
new_step(int kind, const fc_operator *op, const fc_operator_header *header)
{
	Size		operator_size = fc_operator_size(op);
	Size		capacity = fc_step_capacity(op);
	Size		size = fc_step_size(kind, header, operator_size, capacity);
	fc_step    *step;

	check_budget(size, "the aggregate's state");
	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the aggregate's state of %zu bytes is too large", size)));
	step = palloc(size);
	check_status(fc_step_init(kind, header, operator_size, capacity, &server_tick, step), NULL);
	SET_VARSIZE(step, size);
	return step;
}

/* Vectors are up to 2^63, so that weights up to this one keep all sums finite. */
#define MAX_STEP_WEIGHT 1e200

static double
step_weight(FunctionCallInfo fcinfo)
{
	double		weight = weight_argument(fcinfo, 3);

	if (weight > MAX_STEP_WEIGHT)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("weight %g is too large", weight),
				 errdetail("A weight is at most %g.", MAX_STEP_WEIGHT),
				 errhint("Multiply all weights by the same constant; centroids do not depend on it.")));
	return weight;
}

/* (state, operator, x [, weight]) */
static Datum
accumulate(FunctionCallInfo fcinfo, int kind)
{
	const fc_operator_header *header;
	const fc_operator *op;
	fc_step    *step;
	vector		v;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 1, "the operator");
	if (PG_ARGISNULL(2))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	op = cached_expanded_operator(fcinfo, 1, &header);
	step = PG_ARGISNULL(0) ? new_step(kind, op, header) : step_argument(fcinfo, 0, kind);
	if (memcmp(((fc_operator_header *) (step + 1))->digest, header->digest, sizeof(header->digest)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the operator must be the same for all rows"),
				 errhint("Give it as a scalar subquery, or GROUP BY it.")));
	v = read_vector(cached_reader(fcinfo), PG_GETARG_DATUM(2), "x");
	check_vector_dim(&v, op->d, "the operator");
	check_single_precision(&v);
	fc_step_add(step, op, vector_doubles(&v, cached_doubles(fcinfo, op->d)), step_weight(fcinfo),
				cached_scratch(fcinfo, fc_step_scratch(op, step->capacity)));
	PG_RETURN_POINTER(step);
}

#define STEP_AGGREGATE(name, kind) \
PG_FUNCTION_INFO_V1(fastclust_##name##_accum); \
Datum fastclust_##name##_accum(PG_FUNCTION_ARGS) { return accumulate(fcinfo, kind); } \
extern int	no_such_variable

STEP_AGGREGATE(lloyd, FC_STEP_LLOYD);
STEP_AGGREGATE(sse, FC_STEP_SSE);
STEP_AGGREGATE(silhouette, FC_STEP_SILHOUETTE);
STEP_AGGREGATE(davies_bouldin, FC_STEP_DAVIES_BOULDIN);

/* A copy with no rows waiting. */
static fc_step *
folded_copy(const fc_step *step)
{
	fc_step    *copy = palloc(VARSIZE(step));
	fc_operator op;

	copy_bytes(copy, step, VARSIZE(step));
	open_operator(fc_step_open(copy).header, &op);
	fc_step_fold(copy, &op, palloc_extended(fc_step_scratch(&op, copy->capacity) * sizeof(float), MCXT_ALLOC_HUGE));
	return copy;
}

PG_FUNCTION_INFO_V1(fastclust_step_combine);
Datum
fastclust_step_combine(PG_FUNCTION_ARGS)
{
	fc_step    *left;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(folded_copy(step_argument(fcinfo, 1, 0)));
	left = step_argument(fcinfo, 0, 0);
	if (fc_step_combine(left, folded_copy(step_argument(fcinfo, 1, 0)), &server_tick) != FC_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the operator must be the same for all rows")));
	PG_RETURN_POINTER(left);
}

/* ---- results ---- */

static fc_operator_header *
next_operator(const fc_step *step)
{
	fc_step_parts parts = fc_step_open(step);
	fc_operator op;
	double	   *centroids;
	double	   *weights;
	float	   *scratch;

	open_operator(parts.header, &op);
	centroids = palloc_extended(op.k * op.d * sizeof(double), MCXT_ALLOC_HUGE);
	weights = palloc(op.k * sizeof(double));
	scratch = palloc(fc_operator_scratch(&op) * sizeof(float));
	for (size_t j = 0; j < op.k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		weights[j] = fc_pair_value(parts.weights[j]);
		if (weights[j] <= 0)	/* nobody came: the centroid stays */
			fc_operator_row(&op, j, scratch, centroids + j * op.d);
		for (size_t i = 0; weights[j] > 0 && i < op.d; i++)
			centroids[j * op.d + i] = fc_pair_value(parts.sums[j * op.d + i]) / weights[j];
	}
	return make_codebook(centroids, weights, op.k, op.d);
}

PG_FUNCTION_INFO_V1(fastclust_lloyd_final);
Datum
fastclust_lloyd_final(PG_FUNCTION_ARGS)
{
	TupleDesc	descriptor;
	fc_step    *step;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	step = folded_copy(step_argument(fcinfo, 0, FC_STEP_LLOYD));
	values[0] = PointerGetDatum(next_operator(step));
	values[1] = Int64GetDatum(step->count);
	values[2] = Float8GetDatum(fc_pair_value(step->total));
	values[3] = make_int8_array(fc_step_open(step).counts, (int) fc_step_open(step).header->k);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

PG_FUNCTION_INFO_V1(fastclust_sse_final);
Datum
fastclust_sse_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(fc_pair_value(folded_copy(step_argument(fcinfo, 0, FC_STEP_SSE))->total));
}

PG_FUNCTION_INFO_V1(fastclust_silhouette_final);
Datum
fastclust_silhouette_final(PG_FUNCTION_ARGS)
{
	fc_step    *step;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	step = step_argument(fcinfo, 0, FC_STEP_SILHOUETTE);
	PG_RETURN_FLOAT8(fc_pair_value(step->total) / (double) step->count);
}

PG_FUNCTION_INFO_V1(fastclust_davies_bouldin_final);
Datum
fastclust_davies_bouldin_final(PG_FUNCTION_ARGS)
{
	fc_step    *step;
	fc_operator op;
	double		index;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	step = folded_copy(step_argument(fcinfo, 0, FC_STEP_DAVIES_BOULDIN));
	open_operator(fc_step_open(step).header, &op);
	check_status(fc_step_davies_bouldin(step, &server_tick, palloc_extended(op.k * op.d * sizeof(double), MCXT_ALLOC_HUGE),
										palloc(fc_operator_scratch(&op) * sizeof(float)), &index), NULL);
	PG_RETURN_FLOAT8(index);
}
