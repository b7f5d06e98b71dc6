/*
 * predict_plan.c - predict(model, a, b, c) without building an array per row
 *
 * A list of columns reaches predict as two numbers and an array of the
 * remaining columns. The executor would build the array, and cast the columns
 * to double precision, for every row. The planner calls the support function
 * below, which replaces the call by predict_columns(model, VARIADIC "any")
 * with the columns themselves.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/vector_type.h"

/*
 * Returns the argument of a cast to double precision that the parser added, if
 * predict_columns can read its type; else the expression itself.
 */
static Node *
without_cast(Node *number)
{
	FuncExpr   *cast = (FuncExpr *) number;

	if (IsA(number, FuncExpr) && cast->funcresulttype == FLOAT8OID &&
		cast->funcformat == COERCE_IMPLICIT_CAST &&
		cast->funcid < FirstGenbkiObjectId && list_length(cast->args) == 1 &&
		is_column_type(exprType(linitial(cast->args))))
		return linitial(cast->args);
	return number;
}

/*
 * Takes (request). Simplifies a call (text .., double precision, double
 * precision, VARIADIC double precision[]) whose array is an ARRAY expression
 * or an empty constant. Returns NULL for any other request or call.
 */
PG_FUNCTION_INFO_V1(fastclust_predict_support);
Datum
fastclust_predict_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	FuncExpr   *call;
	Node	   *array;
	List	   *rest;
	List	   *args;
	ListCell   *cell;
	Oid			types[] = {TEXTOID, TEXTOID, TEXTOID};
	Oid			function;
	bool		listed;
	int			texts;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	call = ((SupportRequestSimplify *) request)->fcall;
	texts = list_length(call->args) - 3;
	array = llast(call->args);
	listed = IsA(array, ArrayExpr)
		? !((ArrayExpr *) array)->multidims
		: IsA(array, Const) && !((Const *) array)->constisnull &&
		ARR_NDIM(DatumGetArrayTypeP(((Const *) array)->constvalue)) == 0;
	rest = IsA(array, ArrayExpr) ? ((ArrayExpr *) array)->elements : NIL;
	if (!listed || list_length(rest) + texts + 2 >= FUNC_MAX_ARGS)
		PG_RETURN_POINTER(NULL);
	types[texts] = ANYOID;
	function = LookupFuncName(list_make2(makeString("fastclust_internal"),
										 makeString(psprintf("%s_columns",
															 get_func_name(call->funcid)))),
							  texts + 1, types, true);
	if (!OidIsValid(function) ||
		pg_proc_aclcheck(call->funcid, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		PG_RETURN_POINTER(NULL);
	args = list_truncate(list_copy(call->args), texts);
	args = lappend(args, without_cast(list_nth(call->args, texts)));
	args = lappend(args, without_cast(list_nth(call->args, texts + 1)));
	foreach(cell, rest)
		args = lappend(args, without_cast(lfirst(cell)));
	PG_RETURN_POINTER(makeFuncExpr(function, call->funcresulttype, args,
								   InvalidOid, call->inputcollid,
								   COERCE_EXPLICIT_CALL));
}
