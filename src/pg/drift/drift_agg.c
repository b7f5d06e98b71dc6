/*
 * drift_agg.c - drift_counts_agg and merge_drift_counts_agg: the state is the type.
 *
 * A state is open counts: a flat varlena changed in place, with the bits of up to a batch of rows at its tail.  It is ours to
 * change only as argument 0 of a transition or combine function; whatever leaves (final, output, send) is a folded copy.
 */
#include "postgres.h"

#include "fmgr.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/drift/drift_value.h"
#include "pg/operator/operator_cache.h"

/* The digest of a drift_spec is where that of an operator is, by which cached_view finds values. */
StaticAssertDecl(offsetof(fc_drift_spec, digest) == offsetof(fc_operator_header, digest), "cached_view");

/* What a call site keeps of a spec. */
typedef struct spec_view
{
	const fc_drift_prepared *prepared;	/* while drift_generation is generation */
	uint64		generation;
} spec_view;

static void
forget_spec(const void *bytes, void *view)
{
	*(spec_view *) view = (spec_view) {0};
}

/* The spec argument; *prepared: from it. */
static const fc_drift_spec *
spec_argument(FunctionCallInfo fcinfo, const fc_drift_prepared **prepared)
{
	const void *spec;
	spec_view  *view = (spec_view *) (uintptr_t) cached_view(fcinfo, 2, sizeof(spec_view), forget_spec, &spec);

	if (unlikely(view->prepared == NULL || view->generation != drift_generation))
	{
		view->prepared = drift_prepared_of_spec(spec);
		view->generation = drift_generation;
	}
	*prepared = view->prepared;
	return spec;
}

/* The state argument, open; closed or packed counts are copied. */
static fc_drift_counts *
state_argument_open(FunctionCallInfo fcinfo)
{
	fc_drift_counts *state = (fc_drift_counts *) PG_GETARG_POINTER(0);

	if (likely(VARATT_IS_4B_U(state) && (state->flags & FC_DRIFT_OPEN)))
		return state;
	return drift_counts_open(DRIFT_COUNTS_ARG(0));
}

/* (state, x, spec) */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_accum);
Datum
fastclust_drift_counts_accum(PG_FUNCTION_ARGS)
{
	const fc_drift_prepared *prepared;
	const fc_drift_spec *spec;
	fc_drift_counts *state;
	vector_reader *reader;
	vector		v;

	if (AggCheckCallContext(fcinfo, NULL) == 0)
		aggregate_context(fcinfo);	/* its error */
	if (unlikely(PG_ARGISNULL(2)))
		require_argument(fcinfo, 2, "spec");
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	spec = spec_argument(fcinfo, &prepared);
	reader = cached_reader(fcinfo);
	reader->anywhere = true;
	v = read_vector_argument(fcinfo, reader, 1, "x");
	check_vector_dim(&v, spec->dim, "the drift_spec");
	state = PG_ARGISNULL(0) ? drift_counts_opened(spec) : state_argument_open(fcinfo);
	if (unlikely(!fc_drift_counts_of_spec(state, spec)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("spec must be the same for all rows of drift_counts")));
	PG_RETURN_POINTER(drift_counts_add_row(prepared, v.doubles, v.floats, state));
}

/* Combine of drift_counts_agg, transition and combine of merge_drift_counts_agg. */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_combine);
Datum
fastclust_drift_counts_combine(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(drift_counts_closed(DRIFT_COUNTS_ARG(1)));	/* the executor copies it */
	PG_RETURN_POINTER(drift_counts_combined(DRIFT_COUNTS_ARG(0), drift_counts_closed(DRIFT_COUNTS_ARG(1)), 1));
}

/* NULL where no row was counted: none of them had a direction. */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_final);
Datum
fastclust_drift_counts_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || DRIFT_COUNTS_ARG(0)->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(drift_counts_closed(DRIFT_COUNTS_ARG(0)));
}

/* ---- two counts ---- */

/* Argument 0 and sign times argument 1, of which NULL is no rows; NULL where no rows are left. */
static Datum
combined_copy(FunctionCallInfo fcinfo, int sign)
{
	fc_drift_counts *left = PG_ARGISNULL(0) ? NULL : drift_counts_closed(DRIFT_COUNTS_ARG(0));
	fc_drift_counts *right = PG_ARGISNULL(1) ? NULL : drift_counts_closed(DRIFT_COUNTS_ARG(1));
	fc_drift_counts *copy;

	if (left == NULL && right != NULL && sign < 0 && right->rows > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("cannot subtract drift_counts of rows that are not in the others")));
	if (left == NULL || right == NULL)
		copy = left != NULL ? left : sign > 0 ? right : NULL;
	else
	{
		copy = palloc(VARSIZE(left));
		copy_bytes(copy, left, VARSIZE(left));
		copy = drift_counts_closed(drift_counts_combined(copy, right, sign));
	}
	if (copy == NULL || copy->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(copy);
}

PG_FUNCTION_INFO_V1(fastclust_add_drift_counts);
Datum
fastclust_add_drift_counts(PG_FUNCTION_ARGS)
{
	return combined_copy(fcinfo, 1);
}

PG_FUNCTION_INFO_V1(fastclust_subtract_drift_counts);
Datum
fastclust_subtract_drift_counts(PG_FUNCTION_ARGS)
{
	return combined_copy(fcinfo, -1);
}
