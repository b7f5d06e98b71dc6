/*
 * scan_agg.c - scan_agg: computes in one pass over the rows what a training
 * needs: a sketch and drift counts of a share of the rows, a weighted sample,
 * and Lloyd's sums
 *
 * At the first row of a state, a call site reads the plan. It keeps the
 * prepared plan for later states, except for the operators, which each state
 * reads again. Rows are buffered in their state (scan_rows.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "numerics/rows.h"
#include "pg/base/call_cache.h"
#include "pg/base/progress.h"
#include "pg/drift/drift_value.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/rkhs/kernel.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/scan_state.h"
#include "sketch/sketch.h"

/*
 * Maximum number of rows in a batch, unless an operator sets the capacity of
 * batches. A guess.
 */
#define MAX_BATCH_ROWS	128

/*
 * Maximum size of a batch in bytes, so that it stays in the second-level
 * cache. A guess.
 */
#define MAX_BATCH_BYTES	(512 * 1024)

/*
 * Minimum number of rows in a batch; in smaller batches, the overhead of the
 * calls would prevail. A guess.
 */
#define MIN_BATCH_ROWS	8

/* ---- states ---- */

/* Returns a state without rows. */
static scan_state *
new_state(FunctionCallInfo fcinfo, scan_call_state *call, scan_plan *plan,
		  const plan_fields *fields)
{
	MemoryContext old = MemoryContextSwitchTo(aggregate_context(fcinfo));
	scan_state *state = palloc0(sizeof(scan_state));

	state->kind = &scan_state_kind;
	state->call = call;
	state->plan = plan;
	state->capacity = Max(MIN_BATCH_ROWS,
						  Min(MAX_BATCH_ROWS,
							  MAX_BATCH_BYTES / (plan->d * sizeof(double))));
	if (!fields->null[PLAN_OPERATORS])
	{
		start_steps(fcinfo, call, state, fields->value[PLAN_OPERATORS]);
		start_sums(fcinfo, state);
	}
	add_capacity(state,
				 state->started ? state->capacity : rows_in(state, FIRST_BLOCK_BYTES));
	MemoryContextSwitchTo(old);
	return state;
}

/* ---- rows ---- */

/*
 * Encodes the columns into x, and sets *nulls to true if a column is NULL.
 * Returns false if the row is to be skipped.
 */
static bool
encode_cells(FunctionCallInfo fcinfo, const scan_call_state *call, scan_plan *plan,
			 double *x, bool *nulls)
{
	prepared_encoder *encoder = plan->encoder;

	if (call->record)
	{
		if (!encode_record(encoder, &plan->record,
						   PG_GETARG_HEAPTUPLEHEADER(call->cells), false, x))
			return false;
		for (Size i = 0; i < encoder->view.columns; i++)
			*nulls |= plan->record.nulls[plan->record.attribute[i]];
		return true;
	}
	if (!encode_arguments(fcinfo, encoder, call->cells, false, x))
		return false;
	for (int i = call->cells; i < PG_NARGS(); i++)
		*nulls |= fcinfo->args[i].isnull;
	return true;
}

/*
 * Reads a vector of any type into x, with length 1 if the metric is cosine.
 * Returns false for a zero vector, which has no direction.
 */
static bool
read_any_vector(FunctionCallInfo fcinfo, scan_call_state *call, const scan_plan *plan,
				double *x)
{
	vector		v = read_vector_argument(fcinfo, &call->reader, call->cells, "vector");
	const double *row;

	check_vector_dim(&v, plan->d, plan->of_what);
	if (plan->metric == FC_COSINE)
		check_single_precision(&v);
	row = metric_row(plan->metric, &v, x);
	if (row != NULL && row != x)
		memcpy(x, row, plan->d * sizeof(double));
	return row != NULL;
}

static inline bool
read_plain_vector(FunctionCallInfo fcinfo, scan_call_state *call,
				  const scan_plan *plan, double *x)
{
	Oid			type;
	int			count;
	const char
			   *elements = (call->reader.form == VECTOR_ARRAY
							? plain_elements(PG_GETARG_DATUM(call->cells),
											 &type, &count)
							: NULL);

	if (unlikely(elements == NULL || count != plan->d ||
				 plan->metric != FC_EUCLIDEAN ||
				 (type != FLOAT4OID && type != FLOAT8OID)))
		return read_any_vector(fcinfo, call, plan, x);
	prefetch_rows(&call->places, elements);
	if (type == FLOAT4OID)
		fc_widen((const float *) elements, plan->d, x);
	else
		memcpy(x, elements, plan->d * sizeof(double));
	return true;
}

static scan_call_state *
new_call_state(FunctionCallInfo fcinfo)
{
	MemoryContext call_context;
	scan_call_state *call = call_memory(fcinfo, sizeof(scan_call_state), &call_context);

	if (call->call_context == NULL)
		call->call_context = call->reader.context = call_context;
	return call;
}

/*
 * Finds the arguments that contain the columns. They follow the weight, which
 * is double precision and not NULL.
 */
static void
find_cells(FunctionCallInfo fcinfo, scan_call_state *call, bool weighted)
{
	call->cells = ARGUMENT_CELLS + weighted;
	if (weighted && (PG_NARGS() <= call->cells || PG_ARGISNULL(ARGUMENT_CELLS) ||
					 get_fn_expr_argtype(fcinfo->flinfo, ARGUMENT_CELLS) != FLOAT8OID))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("a scan with weights needs a weight before the cells"));
	call->record = PG_NARGS() == call->cells + 1 &&
		type_is_rowtype(get_fn_expr_argtype(fcinfo->flinfo, call->cells));
}

/*
 * Reads the plan and returns a new state. Returns NULL if rows are vectors,
 * and the vector of the first row is NULL.
 */
static scan_state *
first_state(FunctionCallInfo fcinfo, scan_call_state *call)
{
	plan_fields fields;

	require_argument(fcinfo, ARGUMENT_PLAN, "plan");
	fields = read_plan_fields(PG_GETARG_DATUM(ARGUMENT_PLAN));
	if (call->cells == 0)
		find_cells(fcinfo, call, !fields.null[PLAN_WEIGHT_FACTOR]);
	if (fields.null[PLAN_ENCODER] && PG_ARGISNULL(call->cells))
		return NULL;
	call->plan = plan_of_fields(call->plan, &fields, call->call_context);
	if (!call->plan->complete)
		complete_plan(call->plan,
					  call->plan->encoder != NULL
					  ? call->plan->d
					  : (Size) read_vector_argument(fcinfo, &call->reader,
													call->cells, "vector").d);
	return new_state(fcinfo, call, call->plan, &fields);
}

/*
 * Decodes the row into x. Returns false if x is not to be buffered: the row
 * was skipped or, being sparse, is already in the sums.
 */
static bool
read_cells(FunctionCallInfo fcinfo, scan_call_state *call, scan_state *state,
		   double *x)
{
	sparse_outcome outcome = SPARSE_UNKNOWN;
	bool		nulls = false;

	if (state->plan->encoder != NULL)
	{
		bool		taken = encode_cells(fcinfo, call, state->plan, x, &nulls);

		state->nulls += taken && nulls;
		return taken;
	}
	if (unlikely(PG_ARGISNULL(call->cells)))
		return false;
	if (unlikely(call->reader.form == VECTOR_SPARSE))
		outcome = add_sparse_row(fcinfo, call, state);
	if (outcome == SPARSE_KNOWN)
		return false;
	if (outcome == SPARSE_UNKNOWN &&
		read_plain_vector(fcinfo, call, state->plan, x))
		return true;
	state->nulls++;
	return false;
}

/*
 * Transition function of scan_agg. Takes (state, plan, key, columns or
 * vector), with the weight of the row after the key if the plan has weights.
 */
PG_FUNCTION_INFO_V1(fastclust_scan_accum);
Datum
fastclust_scan_accum(PG_FUNCTION_ARGS)
{
	scan_call_state *call = (likely(fcinfo->flinfo->fn_extra != NULL)
							 ? fcinfo->flinfo->fn_extra
							 : new_call_state(fcinfo));
	scan_state *state = (likely(!PG_ARGISNULL(0))
						 ? (scan_state *) PG_GETARG_POINTER(0)
						 : first_state(fcinfo, call));
	scan_rows  *rows;

	if (unlikely(state == NULL))
		PG_RETURN_NULL();
	rows = state->rows;
	if (!read_cells(fcinfo, call, state,
					rows->raw + rows->count * state->plan->d))
		PG_RETURN_POINTER(state);
	if (rows->weights != NULL)
		rows->weights[rows->count] = weight_of(fcinfo, state->plan);
	rows->keys[rows->count++] = key_of(fcinfo);
	if (rows->count == rows->capacity)
		make_capacity(fcinfo, state);
	PG_RETURN_POINTER(state);
}
