/*
 * sketch_agg.c - sketch_agg and merge_agg, whose state is a sketch.
 *
 * A state is an unpacked sketch: a flat varlena that is changed in place. Its
 * tail holds up to a batch of pending rows, which are not yet in the sums.
 * Only a transition, inverse or combine function may change a state, and only
 * the state in its argument 0. The final, output and send functions return a
 * packed copy.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"

#include "pg/base/call_cache.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/* ---- states ---- */

/*
 * Returns the peak memory of an aggregate in bytes: the prepared spec, a
 * state, the executor's copy of the state, and the packed result. If rows may
 * have weights, a state in the layout without weights is counted instead of
 * the result when it is larger.
 */
static Size
whole_bytes(const fc_spec *spec, Size batch, bool weights)
{
	Size		unit = fc_sketch_size(spec, FC_SKETCH_UNPACKED, batch);
	Size		state = (weights ? fc_sketch_size(spec,
												  FC_SKETCH_UNPACKED | FC_SKETCH_WEIGHTED,
												  batch)
						 : unit);
	Size		result = fc_sketch_size(spec, weights ? FC_SKETCH_WEIGHTED : 0, 0);

	return fc_prepared_size(spec) + 2 * state + Max(weights ? unit : 0, result);
}

/*
 * Number of rows assumed in the estimate of the work, since an aggregate does
 * not know the real number. With a larger number, sketches of few rows would
 * be announced as long work. A guess.
 */
#define ESTIMATED_ROWS	50000

/* Creates an unpacked state for the spec argument. */
static fc_sketch *
new_state(FunctionCallInfo fcinfo)
{
	fc_spec    *spec = SPEC_ARG(2);
	const fc_prepared *prepared = prepared_of_spec(spec);

	if (fcinfo->flinfo->fn_extra == NULL)
		announce_work(psprintf("%d rows of %s take", ESTIMATED_ROWS,
							   aggregate_name(fcinfo)),
					  ESTIMATED_ROWS * fc_sketch_operations(spec), false, NULL);
	check_budget(whole_bytes(spec, prepared->batch, PG_NARGS() > 3),
				 aggregate_name(fcinfo));
	return sketch_unpack(NULL, spec);
}

/* Returns the state argument, unpacked; a packed or toasted one is copied. */
static inline fc_sketch *
state_argument(FunctionCallInfo fcinfo)
{
	fc_sketch  *state = (fc_sketch *) PG_GETARG_POINTER(0);

	if (likely(VARATT_IS_4B_U(state) && (state->flags & FC_SKETCH_UNPACKED)))
		return state;
	return sketch_unpack(SKETCH_ARG(0), NULL);
}

/*
 * State of a call site. The digest and pointer of a TOASTed spec save fetching
 * the spec for every row.
 */
typedef struct sketch_call_state
{
	vector_reader reader;
	char		toast_pointer[TOAST_POINTER_SIZE];
	bool		has_pointer;
	uint64		digest[2];
	const fc_prepared *prepared;	/* valid while prepared_generation equals
									 * generation */
	uint64		generation;
	fc_sketch_view view;		/* view of the last state, a sketch of the
								 * prepared spec */
	uint32		capacity;		/* capacity of the last state */
	fc_sparse_row sparse;		/* current row, if sparse */

	/*
	 * buffer of d doubles followed by d floats, for a row scaled to length 1
	 * if the metric is cosine; also for the values of a sparsevec
	 */
	double	   *unit;
	Size		unit_doubles;
	row_places	places;			/* places of the rows that are read without a
								 * copy, for prefetching */
} sketch_call_state;

static sketch_call_state *
new_call_state(FunctionCallInfo fcinfo)
{
	MemoryContext call_context;
	sketch_call_state *call = call_memory(fcinfo, sizeof(sketch_call_state), &call_context);

	call->reader.context = call_context;
	call->reader.anywhere = true;
	(void) argument_form(fcinfo, &call->reader, 1);
	return call;
}

/* Returns a buffer of d doubles followed by d floats. */
static double *
unit_row(sketch_call_state *call, Size d)
{
	return call->unit = grown(call->reader.context, call->unit,
							  &call->unit_doubles, d,
							  sizeof(double) + sizeof(float));
}

static inline sketch_call_state *
call_state_of(FunctionCallInfo fcinfo)
{
	sketch_call_state *call = fcinfo->flinfo->fn_extra;

	return likely(call != NULL) ? call : new_call_state(fcinfo);
}

/* Returns the digest of a packed or TOASTed spec. */
static const uint64 *
digest_of_call(sketch_call_state *call, Datum spec_datum)
{
	const struct varlena *value = (const struct varlena *) DatumGetPointer(spec_datum);
	bool		toasted = VARATT_IS_EXTERNAL_ONDISK(value);

	if (toasted && call->has_pointer &&
		memcmp(call->toast_pointer, value, TOAST_POINTER_SIZE) == 0)
		return call->digest;
	spec_digest_of_datum(spec_datum, call->digest);
	call->has_pointer = toasted;
	if (toasted)
		memcpy(call->toast_pointer, value, TOAST_POINTER_SIZE);
	return call->digest;
}

static inline const fc_prepared *
prepared_of_state(sketch_call_state *call, const fc_sketch *state, Datum spec_datum)
{
	const fc_spec *own = fc_sketch_spec(state);
	const fc_spec *spec = (const fc_spec *) DatumGetPointer(spec_datum);
	const uint64 *digest = (likely(VARATT_IS_4B_U(spec))
							? spec->digest
							: digest_of_call(call, spec_datum));

	if (unlikely(((digest[0] ^ own->digest[0]) |
				  (digest[1] ^ own->digest[1])) != 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("spec must be the same for all rows of a sketch"),
				errhint("Give it as a scalar subquery: sketch_agg(x, (SELECT s FROM spec))."));
	if (unlikely(call->prepared == NULL ||
				 call->generation != prepared_generation ||
				 !prepared_serves(call->prepared, own)))
	{
		call->prepared = prepared_of_spec(own);
		call->generation = prepared_generation;
		call->view.head = NULL;
	}
	return call->prepared;
}

/*
 * Returns the view of the state. Reuses the last view if the address, capacity
 * and layout of the state are unchanged. The address alone is not sufficient,
 * since memory is freed and allocated again.
 */
static inline const fc_sketch_view *
view_of_state(sketch_call_state *call, fc_sketch *state)
{
	bool		weighted = (state->flags & FC_SKETCH_WEIGHTED) != 0;

	if (call->view.head != state || call->capacity != state->capacity ||
		weighted != (call->view.wide_z != NULL))
	{
		call->view = fc_sketch_view_of(state);
		call->capacity = state->capacity;
	}
	return &call->view;
}

/* ---- rows ---- */

/*
 * Returns the weight argument in units of 2^-40, or weight 1 if there is no
 * such argument.
 */
static inline int64
grid_weight(FunctionCallInfo fcinfo)
{
	double		weight;
	int64		grid;

	if (PG_NARGS() <= 3)
		return FC_ONE_WEIGHT;
	weight = weight_argument(fcinfo, 3);
	if (fc_weight_on_grid(weight, &grid) != FC_OK)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("weight %g is out of range", weight),
				errdetail("A weight must be 0 or between %g and %g.", FC_MIN_WEIGHT,
						  FC_MAX_WEIGHT),
				errhint("Multiply all weights by the same constant, which does not change a normalised sketch; set negligible weights to 0."));
	return grid;
}

/*
 * Reads a row in any form. If it must be converted, the result is in the
 * reader's buffer.
 */
static fc_row
read_row(sketch_call_state *call, Datum x, size_t d)
{
	vector		v = read_vector(&call->reader, x, "x");

	check_vector_dim(&v, d, "the sketch_spec");
	return (fc_row)
	{
		.doubles = v.doubles,.floats = v.floats
	};
}

/*
 * Reads a pgvector value in place. Only the elements of a sparsevec are
 * copied, as doubles, to a buffer.
 */
static fc_row
pgvector_row(sketch_call_state *call, Datum x, size_t d)
{
	pgvector_value value = read_pgvector_in_place(&call->reader, x, "x");
	vector		v = {.d = value.d};
	fc_row		row = {0};

	check_vector_dim(&v, d, "the sketch_spec");
	if (call->reader.form == VECTOR_SPARSE)
	{
		double	   *values = unit_row(call, (size_t) value.nonzeros);

		fc_widen((const float *) value.elements, (size_t) value.nonzeros,
				 values);
		call->sparse = (fc_sparse_row)
		{
			(const uint32 *) value.indices, values,
				(size_t) value.nonzeros
		};
		row.sparse = &call->sparse;
		return row;
	}
	if (call->reader.form == VECTOR_HALVES)
		row.halves = value.elements;
	else
		row.floats = (const float *) value.elements;
	prefetch_rows(&call->places, value.elements);
	return row;
}

static inline fc_row
row_of_datum(sketch_call_state *call, Datum x, size_t d)
{
	fc_row		row = {0};
	Oid			type;
	int			count;
	const char *elements;

	if (call->reader.form != VECTOR_ARRAY)
		return call->reader.form < VECTOR_LITERAL ? pgvector_row(call, x, d)
			: read_row(call, x, d);
	elements = plain_elements(x, &type, &count);
	if (unlikely(elements == NULL || count != d ||
				 (type != FLOAT4OID && type != FLOAT8OID)))
		return read_row(call, x, d);
	if (type == FLOAT4OID)
		row.floats = (const float *) elements;
	else
		row.doubles = (const double *) elements;
	prefetch_rows(&call->places, elements);
	return row;
}

/* Scales the row to length 1. Returns false if the row is zero. */
static bool
to_unit_row(sketch_call_state *call, fc_row *row, size_t d)
{
	double	   *unit;
	bool		directed;

	if (row->sparse != NULL)
		return fc_unit_sparse_row(row->sparse->indices, row->sparse->count,
								  call->unit);
	unit = unit_row(call, d);
	if (row->doubles == NULL)
	{
		float	   *floats = (float *) (unit + d);

		if (row->halves != NULL)
			fc_widen_halves(row->halves, d, floats);
		else
			/* elements may be unaligned */
			memcpy(floats, row->floats, d * sizeof(float));
		directed = fc_unit_float_row(floats, d, unit);
	}
	else
		directed = fc_unit_row(memcpy(unit, row->doubles, d * sizeof(double)),
							   d, unit);
	row->floats = NULL;
	row->halves = NULL;
	row->doubles = unit;
	return directed;
}

/*
 * Adds the row in argument 1 to the state, or subtracts it. The spec is
 * argument 2, the weight argument 3. Returns the state, or a copy in the
 * layout for weights. Returns NULL if the metric is cosine and the row is
 * zero.
 */
static inline fc_sketch *
apply_row(FunctionCallInfo fcinfo, fc_sketch *state, bool add)
{
	sketch_call_state *call = call_state_of(fcinfo);
	const fc_prepared *prepared = prepared_of_state(call, state,
													PG_GETARG_DATUM(2));
	fc_row		row = row_of_datum(call, PG_GETARG_DATUM(1), prepared->d);
	const fc_sketch_view *view;
	fc_status	status;

	row.weight = grid_weight(fcinfo);
	if (fc_spec_metric(prepared->spec) == FC_COSINE &&
		!to_unit_row(call, &row, prepared->d))
		return NULL;
	view = view_of_state(call, row.weight == FC_ONE_WEIGHT
						 ? state
						 : sketch_weighted(state));
	status = add ? fc_sketch_add(prepared, &row, view)
		: fc_sketch_subtract_row(prepared, &row, view);
	if (unlikely(status != FC_OK))
	{
		call->reader.anywhere = false;
		row = read_row(call, PG_GETARG_DATUM(1), prepared->d);
		report_row(status, row.doubles, row.floats, prepared->d);
	}
	return view->head;
}

/*
 * Adds the pending rows to the sums. Window functions need this because they
 * read the state after every row.
 */
static void
fold_state(fc_sketch *state)
{
	fc_sketch_view view = fc_sketch_view_of(state);

	check_status(fc_sketch_fold(prepared_of_spec(view.spec), &view));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_accum);
Datum
fastclust_sketch_accum(PG_FUNCTION_ARGS)
{
	int			context = AggCheckCallContext(fcinfo, NULL);
	fc_sketch  *state;

	if (context == 0)
		aggregate_context(fcinfo);	/* raises the error for a call outside of
									 * an aggregate */
	if (unlikely(PG_ARGISNULL(2)))
		require_argument(fcinfo, 2, "spec");
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	state = PG_ARGISNULL(0) ? new_state(fcinfo) : state_argument(fcinfo);
	state = apply_row(fcinfo, state, true);
	if (state == NULL)
		return unchanged_state(fcinfo);
	if (context == AGG_CONTEXT_WINDOW)
		fold_state(state);
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_accum_kept);
Datum
fastclust_sketch_accum_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_sketch_accum(fcinfo));
}

/*
 * Forward transition function of a moving frame. Never returns NULL. The state
 * that it returns has no pending rows, and no minimum and maximum of columns.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_accum_moving);
Datum
fastclust_sketch_accum_moving(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;
	fc_sketch  *applied;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 2, "spec");
	state = PG_ARGISNULL(0) ? new_state(fcinfo) : state_argument(fcinfo);
	applied = PG_ARGISNULL(1) ? NULL : apply_row(fcinfo, state, true);
	if (applied != NULL)
	{
		state = applied;
		fold_state(state);
	}
	sketch_forget_bounds(state);
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_inverse);
Datum
fastclust_sketch_inverse(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;
	fc_sketch  *applied;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 0, "the state");
	require_argument(fcinfo, 2, "spec");
	state = state_argument(fcinfo);
	applied = PG_ARGISNULL(1) ? NULL : apply_row(fcinfo, state, false);
	PG_RETURN_POINTER(applied != NULL ? applied : state);
}

/* ---- combining and finishing ---- */

/*
 * Combine function of sketch_agg; transition and combine function of
 * merge_agg.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_combine);
Datum
fastclust_sketch_combine(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_ARGISNULL(0))
	{
		/* the executor copies the result */
		check_budget(2 * VARSIZE(SKETCH_ARG(1)), "a sketch");
		PG_RETURN_POINTER(SKETCH_ARG(1));
	}
	PG_RETURN_POINTER(sketch_combined(SKETCH_ARG(0), sketch_pack(SKETCH_ARG(1)),
									  1));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_combine_kept);
Datum
fastclust_sketch_combine_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_sketch_combine(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_final);
Datum
fastclust_sketch_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(sketch_pack(SKETCH_ARG(0)));
}

/*
 * Final function of a moving frame. Returns NULL for an empty frame. Marks the
 * minimum and maximum of each column as unknown, because they are unknown once
 * a row has left the frame.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_final_moving);
Datum
fastclust_sketch_final_moving(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = SKETCH_ARG(0);
	if (state->count == 0)
		PG_RETURN_NULL();
	if (state->flags & FC_SKETCH_BOUNDS)
	{
		state = sketch_copy(state);
		sketch_forget_bounds(state);
	}
	PG_RETURN_POINTER(sketch_pack(state));
}

/* ---- operators ---- */

/*
 * Returns left + sign * right. The left sketch is copied unless it is the
 * state of merge_agg over a moving frame.
 */
static Datum
combined(FunctionCallInfo fcinfo, int sign)
{
	fc_sketch  *left = sketch_pack(SKETCH_ARG(0));
	const fc_sketch *right = sketch_pack(SKETCH_ARG(1));

	if (AggCheckCallContext(fcinfo, NULL) != 0)
		PG_RETURN_POINTER(sketch_combined(left, right, sign));
	PG_RETURN_POINTER(sketch_pack(sketch_combined(sketch_copy(left), right,
												  sign)));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_plus);
Datum
fastclust_sketch_plus(PG_FUNCTION_ARGS)
{
	return combined(fcinfo, 1);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_minus);
Datum
fastclust_sketch_minus(PG_FUNCTION_ARGS)
{
	return combined(fcinfo, -1);
}
