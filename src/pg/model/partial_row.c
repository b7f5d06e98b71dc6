/*
 * partial_row.c - encode_observed: converts a row to the coordinates of an
 * operator, for scans that compare rows with NULLs over their other columns
 *
 * NULLs are replaced by the coordinates of the nearest centroid
 * (operator/partial.h). Functions that do not handle missing values then find
 * the label of the row, and its distance over the observed values.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "numerics/rows.h"
#include "operator/partial.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_cache.h"

enum
{
	ARGUMENT_ENCODER,
	ARGUMENT_OPERATOR,
	ARGUMENT_CELLS
};

/* State that a call site keeps from row to row. */
typedef struct partial_call_state
{
	kept_encoder kept;
	bool		is_record;		/* true if the columns are one composite
								 * argument */
	FmgrInfo	operators;		/* call site for which cached_operator keeps
								 * the prepared operators */
	fc_scratch	scratch;
} partial_call_state;

static partial_call_state *
call_state_of(FunctionCallInfo fcinfo)
{
	MemoryContext memory = fcinfo->flinfo->fn_mcxt;
	partial_call_state *call = fcinfo->flinfo->fn_extra;

	if (call != NULL)
		return call;
	call = MemoryContextAllocZero(memory, sizeof(partial_call_state));
	call->kept.context = AllocSetContextCreate(memory, "fastclust encoder",
											   ALLOCSET_SMALL_SIZES);
	call->is_record = PG_NARGS() == ARGUMENT_CELLS + 1 &&
		type_is_rowtype(get_fn_expr_argtype(fcinfo->flinfo, ARGUMENT_CELLS));
	call->operators.fn_mcxt = memory;
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/* Returns the operator in argument 1, which the call site keeps prepared. */
static const fc_operator *
operator_argument(FunctionCallInfo fcinfo, partial_call_state *call)
{
	LOCAL_FCINFO(inner, 1);

	InitFunctionCallInfoData(*inner, &call->operators, 1, InvalidOid, NULL, NULL);
	inner->args[0] = fcinfo->args[ARGUMENT_OPERATOR];
	return cached_operator(inner, 0, NULL);
}

static bool
encode(FunctionCallInfo fcinfo, partial_call_state *call, double *x)
{
	if (call->is_record)
		return encode_record(call->kept.encoder, &call->kept.record,
							 PG_GETARG_HEAPTUPLEHEADER(ARGUMENT_CELLS), false, x);
	return encode_arguments(fcinfo, call->kept.encoder, ARGUMENT_CELLS, false, x);
}

/*
 * Scales the row x; missing values remain NaN. Raises an error if a value is
 * too far outside the sample of the encoder.
 */
static void
scale_row(const prepared_encoder *encoder, double *x)
{
	const fc_encoder *view = &encoder->view;
	double	   *known;

	fc_rescale_rows(x, 1, view->dim, view->center, view->scale, x);
	if (likely(fc_all_moderate(x, view->dim)))
		return;
	known = palloc(view->dim * sizeof(double));
	for (Size i = 0; i < view->dim; i++)
		known[i] = isnan(x[i]) ? 0 : x[i];
	if (!fc_all_moderate(known, view->dim))
		reject_far(encoder, known, NULL);
	pfree(known);
}

/*
 * Replaces the missing values of the scaled row x by coordinates of its
 * nearest centroid. Without an operator, leaves them NaN. If the operator
 * cannot compare rows with missing values, uses the fill values of the encoder
 * instead. Returns false if all values are missing and fill values are not
 * used.
 */
static bool
fill_row(FunctionCallInfo fcinfo, partial_call_state *call, double *x)
{
	const fc_encoder *encoder = &call->kept.encoder->view;
	const fc_operator *op;

	if (PG_ARGISNULL(ARGUMENT_OPERATOR))
		return fc_partial_observed(x, encoder->dim) > 0;
	op = operator_argument(fcinfo, call);
	check_same_dim((int32) op->d, (int32) encoder->dim);
	if (!fc_partial_suits(op))
	{
		for (Size i = 0; i < op->d; i++)
			if (isnan(x[i]))
				x[i] = (call->kept.encoder->fill[i] - encoder->center[i]) / encoder->scale[i];
		return true;
	}
	if (fc_partial_observed(x, op->d) == 0)
		return false;
	call->scratch.floats = grown(fcinfo->flinfo->fn_mcxt, call->scratch.floats,
								 &call->scratch.count, fc_partial_scratch(op), sizeof(float));
	fc_partial_fill(op, fc_partial_assign(op, x, call->scratch), x);
	return true;
}

/*
 * Takes (encoder, operator, VARIADIC columns or a row record). Returns the
 * scaled coordinates, in which missing values are replaced (fill_row) or,
 * without an operator, NaN. Returns NULL if the row is skipped, or if fill_row
 * returns false.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_observed);
Datum
fastclust_encode_observed(PG_FUNCTION_ARGS)
{
	partial_call_state *call;
	Datum		array;
	double	   *x;
	Size		d;

	if (PG_ARGISNULL(ARGUMENT_ENCODER))
		PG_RETURN_NULL();
	call = call_state_of(fcinfo);
	if (call->is_record && PG_ARGISNULL(ARGUMENT_CELLS))
		PG_RETURN_NULL();
	if (keep_encoder(&call->kept, ENCODER_ARG(ARGUMENT_ENCODER)))
		keep_missing(call->kept.encoder);
	d = call->kept.encoder->view.dim;
	array = empty_float8_array((int) d, &x);
	if (!encode(fcinfo, call, x))
		PG_RETURN_NULL();
	scale_row(call->kept.encoder, x);
	if (!fc_all_finite(x, d) && !fill_row(fcinfo, call, x))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(array);
}
