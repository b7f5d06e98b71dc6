/*
 * encode_fn.c - encode_row, category_of, and the functions that encode rows as
 * coordinates in the scans of train
 *
 * Each call site keeps the last encoder in prepared form, and the readers of
 * the rows' columns. The encoder is recognised by its digest or, if it is
 * TOASTed, by its TOAST pointer.
 *
 * PL/pgSQL keeps call sites until the transaction ends, so the user may change
 * between two calls. After a change of the user, the columns are looked up
 * again, because casts of columns may run code of another role.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pg/encode/category.h"
#include "pg/encode/encode.h"

typedef struct encoder_call_state
{
	kept_encoder kept;
	char		pointer[TOAST_POINTER_SIZE];	/* TOAST pointer of the
												 * encoder, valid if
												 * by_pointer */
	bool		by_pointer;
	double	   *x;				/* coordinates of the current row, dim values */
} encoder_call_state;

/* ---- the encoder of a call site ---- */

bool
keep_encoder(kept_encoder *kept, const fc_encoder_header *header)
{
	fc_encoder_header *copy;

	if (kept->encoder != NULL && kept->user == GetUserId() &&
		memcmp(header->digest, kept->digest, sizeof(kept->digest)) == 0)
		return false;
	kept->encoder = NULL;
	kept->user = GetUserId();
	MemoryContextReset(kept->context);
	copy = memcpy(MemoryContextAlloc(kept->context, VARSIZE(header)), header,
				  VARSIZE(header));
	kept->record = (record_reader)
	{
		.context = AllocSetContextCreate(kept->context, "fastclust columns",
										 ALLOCSET_SMALL_SIZES)
	};
	memcpy(kept->digest, header->digest, sizeof(kept->digest));
	kept->encoder = prepare_encoder(copy, kept->context);
	return true;
}

static void
take_encoder(encoder_call_state *call, const fc_encoder_header *header)
{
	call->by_pointer = false;
	if (keep_encoder(&call->kept, header))
		call->x = MemoryContextAlloc(call->kept.context, header->dim * sizeof(double));
}

/*
 * Returns the state of the call site, with the encoder in argument 0 prepared.
 */
static encoder_call_state *
call_state_of(FunctionCallInfo fcinfo)
{
	encoder_call_state *call = fcinfo->flinfo->fn_extra;
	struct varlena *stored = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(0));

	if (call == NULL)
	{
		call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
									  sizeof(encoder_call_state));
		call->kept.context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt,
												   "fastclust encoder",
												   ALLOCSET_SMALL_SIZES);
		fcinfo->flinfo->fn_extra = call;
	}
	if (VARATT_IS_4B_U(stored))
	{
		take_encoder(call, (const fc_encoder_header *) stored);
		return call;
	}
	if (VARATT_IS_EXTERNAL_ONDISK(stored) && call->by_pointer &&
		call->kept.user == GetUserId() &&
		memcmp(stored, call->pointer, TOAST_POINTER_SIZE) == 0)
		return call;
	take_encoder(call, (const fc_encoder_header *) detoast_attr(stored));
	if (VARATT_IS_EXTERNAL_ONDISK(stored))
	{
		memcpy(call->pointer, stored, TOAST_POINTER_SIZE);
		call->by_pointer = true;
	}
	return call;
}

/* ---- real[] ---- */

static void
reject_large(const prepared_encoder *encoder, Size dimension, double x)
{
	const fc_encoder_feature *feature = feature_of_dimension(&encoder->view, dimension + 1);

	ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("%s is encoded as %g, out of range for real",
				   encoder->paths[feature - encoder->view.feature].label, x),
			feature->kind != FC_FEATURE_NUMBER
			? errhint("Divide it by a constant.")
			: errhint("Train with its logarithm: %s.",
					  options_for_both(column_option("transform",
													 encoder->names[feature->column],
													 "\"log\""))));
}

static Datum
single_precision(const prepared_encoder *encoder, const double *x)
{
	Size		d = encoder->view.dim;
	float	   *to;
	Datum		array = empty_float4_array((int) d, &to);

	for (Size i = 0; i < d; i++)
	{
		to[i] = (float) x[i];
		if (unlikely(!isfinite(to[i])))
			reject_large(encoder, i, x[i]);
	}
	return array;
}

/*
 * Takes (encoder, row record, scaled). Returns the coordinates, or NULL if the
 * row is skipped.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_row);
Datum
fastclust_encode_row(PG_FUNCTION_ARGS)
{
	encoder_call_state *call = call_state_of(fcinfo);

	if (!encode_record(call->kept.encoder, &call->kept.record,
					   PG_GETARG_HEAPTUPLEHEADER(1), PG_GETARG_BOOL(2),
					   call->x))
		PG_RETURN_NULL();
	return single_precision(call->kept.encoder, call->x);
}

/*
 * Takes (encoder, column, value). Returns the category that equals the value,
 * which is a text. Returns NULL if no category equals it, or if the encoder
 * has no column of categories with this name.
 */
PG_FUNCTION_INFO_V1(fastclust_category_of);
Datum
fastclust_category_of(PG_FUNCTION_ARGS)
{
	prepared_encoder *encoder = call_state_of(fcinfo)->kept.encoder;
	const fc_encoder *view = &encoder->view;
	char	   *column = text_to_cstring(PG_GETARG_TEXT_PP(1));
	text	   *value = PG_GETARG_TEXT_PP(2);

	for (Size i = 0; i < view->features; i++)
	{
		const fc_encoder_feature *feature = &view->feature[i];
		uint32		place;

		if (feature->kind != FC_FEATURE_CATEGORY || feature->path.length > 0 ||
			strcmp(encoder->names[feature->column], column) != 0)
			continue;
		place = find_category(encoder, i, VARDATA_ANY(value),
							  VARSIZE_ANY_EXHDR(value));
		if (place >= feature->categories)
			PG_RETURN_NULL();
		PG_RETURN_TEXT_P(cstring_to_text(category_text(view, feature, place)));
	}
	PG_RETURN_NULL();
}

/* ---- double precision[], for the scans of train ---- */

/*
 * Takes (encoder, scaled, row record). Returns the coordinates, or NULL if the
 * row is skipped.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_record);
Datum
fastclust_encode_record(PG_FUNCTION_ARGS)
{
	kept_encoder *kept = &call_state_of(fcinfo)->kept;
	double	   *x;
	Datum		array = empty_float8_array((int) kept->encoder->view.dim, &x);

	if (!encode_record(kept->encoder, &kept->record,
					   PG_GETARG_HEAPTUPLEHEADER(2), PG_GETARG_BOOL(1), x))
		PG_RETURN_NULL();
	return array;
}

/*
 * Takes (encoder, scaled, VARIADIC columns). Returns the coordinates, or NULL
 * if the row is skipped.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_listed);
Datum
fastclust_encode_listed(PG_FUNCTION_ARGS)
{
	prepared_encoder *encoder;
	double	   *x;
	Datum		array;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	encoder = call_state_of(fcinfo)->kept.encoder;
	array = empty_float8_array((int) encoder->view.dim, &x);
	if (!encode_arguments(fcinfo, encoder, 2, PG_GETARG_BOOL(1), x))
		PG_RETURN_NULL();
	return array;
}
