/*
 * model_tools.c - functions for the SQL code that trains, monitors and
 * retrains models: rights, hashes of ctid, groups, scaled rows, the fit of a
 * model to a sketch, locks
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "storage/itemptr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/rng.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/encode/group_value.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/* ---- rights ---- */

/*
 * Takes (roles). Returns true if the current user has the rights of one of the
 * roles. Role 0 stands for everyone, NULL for nobody.
 */
PG_FUNCTION_INFO_V1(fastclust_has_a_role);
Datum
fastclust_has_a_role(PG_FUNCTION_ARGS)
{
	Datum	   *roles;
	bool	   *nulls;
	int			count;
	bool		found = false;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &roles, &nulls, &count);
	for (int i = 0; i < count && !found; i++)
		found = !nulls[i] &&
			(!OidIsValid(DatumGetObjectId(roles[i])) ||
			 has_privs_of_role(GetUserId(), DatumGetObjectId(roles[i])));
	PG_RETURN_BOOL(found);
}

/* ---- rows and groups of a table ---- */

/* Takes (ctid). Returns a hash of its block number and offset number. */
PG_FUNCTION_INFO_V1(fastclust_place_key);
Datum
fastclust_place_key(PG_FUNCTION_ARGS)
{
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(0);
	uint32		place[2] = {
		ItemPointerGetBlockNumberNoCheck(tid),
		ItemPointerGetOffsetNumberNoCheck(tid)
	};

	PG_RETURN_INT64((int64) fc_hash_bytes(0, place, sizeof(place)));
}

/* Takes (value). Returns the value as the text of a group. */
PG_FUNCTION_INFO_V1(fastclust_group_text);
Datum
fastclust_group_text(PG_FUNCTION_ARGS)
{
	value_reader *reader = fcinfo->flinfo->fn_extra;

	if (reader == NULL)
	{
		reader = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
																   sizeof(value_reader));
		make_value_reader(get_fn_expr_argtype(fcinfo->flinfo, 0), "group_value",
						  true, fcinfo->flinfo->fn_mcxt, reader);
	}
	PG_RETURN_TEXT_P((text *) value_as_text(reader, PG_GETARG_DATUM(0)));
}

/* Returns a finder of values of argument 1 among the groups in argument 0. */
static group_finder *
finder_of_groups(FunctionCallInfo fcinfo)
{
	Oid			given = get_fn_expr_argtype(fcinfo->flinfo, 1);
	group_type	type = group_type_of(given, PG_GET_COLLATION());
	group_finder *finder;

	if (!OidIsValid(type.type))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("groups of type %s are compared as texts", format_type_be(given)),
				errhint("Pass the text of the value."));
	type.strict = false;		/* place_of_group needs a finder that compares
								 * values */
	finder = make_group_finder(&type, given, NULL, fcinfo->flinfo->fn_mcxt);
	set_groups(finder, PG_GETARG_ARRAYTYPE_P(0));
	return finder;
}

/*
 * Takes (groups, value). Returns the place of the group that equals the value,
 * from 1; NULL if there is none. The groups must be constants of the query.
 */
PG_FUNCTION_INFO_V1(fastclust_group_place);
Datum
fastclust_group_place(PG_FUNCTION_ARGS)
{
	int			place;

	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = finder_of_groups(fcinfo);
	place = place_of_group(fcinfo->flinfo->fn_extra, PG_GETARG_DATUM(1));
	if (place < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(place + 1);
}

/*
 * Takes (model, version, value). Returns the text of the group that equals the
 * value; the text of the value itself if there is no such group, or if the
 * model has no groups. A NULL version is the current one.
 */
PG_FUNCTION_INFO_V1(fastclust_group_of);
Datum
fastclust_group_of(PG_FUNCTION_ARGS)
{
	model_call_state *call = model_call_state_of(fcinfo);
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 2);

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	call->version = PG_ARGISNULL(1) ? CURRENT_VERSION : PG_GETARG_INT32(1);
	PG_RETURN_TEXT_P((text *) group_of_value(call, model_of_all_groups(fcinfo, call),
											 type, PG_GETARG_DATUM(2), true));
}

/* ---- scaled rows ---- */

/* State of a call site: the reader of vectors, and center and scale. */
typedef struct scaling_call_state
{
	vector_reader vectors;
	bool		fixed;			/* true if center and scale are constants of
								 * the query */
	int			d;
	const double *center;		/* d values, or NULL if rows are not scaled */
	const double *scale;
} scaling_call_state;

/*
 * Returns true if an argument is a constant. A parameter is not: it may change
 * when PL/pgSQL evaluates an expression again.
 */
static bool
is_constant(FunctionCallInfo fcinfo, int argument)
{
	Node	   *call = fcinfo->flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) &&
		IsA(list_nth(((FuncExpr *) call)->args, argument), Const);
}

/*
 * Returns the state of a call site whose arguments 0 and 1 are center and
 * scale.
 */
static scaling_call_state *
scaling_call_state_of(FunctionCallInfo fcinfo)
{
	scaling_call_state *call = fcinfo->flinfo->fn_extra;

	if (call != NULL)
		return call;
	call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(scaling_call_state));
	call->vectors.context = fcinfo->flinfo->fn_mcxt;
	call->fixed = is_constant(fcinfo, 0) && is_constant(fcinfo, 1);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/*
 * Reads center and scale for rows of d values into the call state. Constants
 * are read only once.
 */
static void
find_scaling(FunctionCallInfo fcinfo, int d, scaling_call_state *call)
{
	MemoryContext old;

	if (call->fixed && call->d == d)
		return;
	old = MemoryContextSwitchTo(call->fixed ? fcinfo->flinfo->fn_mcxt
								: CurrentMemoryContext);
	call->d = d;
	call->center = numbers_argument(fcinfo, 0, (Size) d, "center");
	call->scale = numbers_argument(fcinfo, 1, (Size) d, "scale");
	MemoryContextSwitchTo(old);
}

/*
 * Takes (center, scale, x). Returns (x - center) / scale, or x if center or
 * scale is NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_scaled_vector);
Datum
fastclust_scaled_vector(PG_FUNCTION_ARGS)
{
	scaling_call_state *call = scaling_call_state_of(fcinfo);
	vector		v;
	double	   *x;
	Datum		row;

	if (PG_ARGISNULL(2))
		PG_RETURN_NULL();
	v = read_vector_argument(fcinfo, &call->vectors, 2, "vector");
	if (call->fixed && call->d > 0)
		check_vector_dim(&v, (size_t) call->d, "the first row");
	find_scaling(fcinfo, v.d, call);
	row = empty_float8_array(v.d, &x);
	if (v.floats != NULL)
		fc_widen(v.floats, (Size) v.d, x);
	else
		memcpy(x, v.doubles, (Size) v.d * sizeof(double));
	for (int i = 0; i < call->d && call->center != NULL && call->scale != NULL;
		 i++)
		x[i] = (x[i] - call->center[i]) / call->scale[i];
	return row;
}

/* ---- fit to a sketch ---- */

/*
 * Takes (sketch, operator, center, scale, spreads). Compares the moments of
 * the sketch with the moments of the Gaussian mixture whose components are the
 * clusters. Returns the norm of their difference, divided by the norm of the
 * sketch's moments. Returns NULL if the sketch, operator or spreads are NULL,
 * or if the sketch is empty.
 */
PG_FUNCTION_INFO_V1(fastclust_fit_residual);
Datum
fastclust_fit_residual(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch;
	fc_operator op;
	fc_arena	arena;
	memory_account memory = {"the fit of a model"};
	double	   *centroids;
	double	   *spreads;
	double		residual;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(4))
		PG_RETURN_NULL();
	sketch = fc_sketch_view_of(sketch_pack(SKETCH_ARG(0)));
	if (sketch.head->weight <= 0)
		PG_RETURN_NULL();
	open_operator(OPERATOR_ARG(1), &op);
	if (op.d != sketch.spec->dim)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the operator has %zu dimensions, but the sketch has %u",
					   op.d, sketch.spec->dim));
	spreads = read_float8_array(PG_GETARG_DATUM(4), (int) op.k, "spreads");
	centroids = rescaled_centroids(&op,
								   numbers_argument(fcinfo, 2, op.d, "center"),
								   numbers_argument(fcinfo, 3, op.d, "scale"));
	charge_memory(&memory, op.k * op.d * sizeof(double));
	arena = charged_arena(&memory);
	check_status(fc_fit_residual(&sketch, centroids, op.weights, spreads, op.k,
								 &arena, &residual));
	PG_RETURN_FLOAT8(residual);
}

/* ---- locks ---- */

/*
 * Takes (key, live, wait). Locks a key until the end of the transaction. The
 * key belongs to a live sketch if `live` is true, else to a model. Returns
 * false if another session has locked the key and `wait` is false. Unlike an
 * advisory lock, no other code can take this lock.
 */
PG_FUNCTION_INFO_V1(fastclust_lock_name);
Datum
fastclust_lock_name(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, fcinfo->flinfo->fn_oid,
					   (uint32) PG_GETARG_INT32(0), (uint16) PG_GETARG_BOOL(1));
	PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false,
							   !PG_GETARG_BOOL(2)) != LOCKACQUIRE_NOT_AVAIL);
}
