/*
 * door.c - C functions that stand before functions in SQL and PL/pgSQL.
 *
 * fastclust_door, as NAME(arguments), calls fastclust_internal.NAME_inside(arguments).  An error
 * that comes out of it keeps the context of what called the door, the user's own functions among
 * it, and loses the lines that only tell how fastclust is built; DEBUG1 shows those.
 *
 * fastclust_as_owner is the door to the model tables.  Everybody reads those through
 * views; only the owner of the extension writes them.  As NAME(arguments), it calls
 * fastclust_internal.NAME_as_owner(caller, arguments) with the rights of its own owner, as
 * SECURITY DEFINER would, but says who called: inside, current_user is the owner, and
 * session_user does not know of SET ROLE.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "storage/lock.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"

/* The function behind a door, found once per call site. */
typedef struct inner_function
{
	FmgrInfo	function;
	Oid			owner;			/* of the door */
	int			sketch;			/* the argument that is a sketch, or -1 */
} inner_function;

/* fastclust_internal.NAME<suffix>(first, arguments of NAME); without the first where its type is InvalidOid. */
static const inner_function *
find_inner(FunctionCallInfo fcinfo, const char *suffix, Oid first_type)
{
	inner_function *inner = fcinfo->flinfo->fn_extra;
	Oid			types[FUNC_MAX_ARGS];
	int			more = OidIsValid(first_type) ? 1 : 0;
	HeapTuple	tuple;
	Form_pg_proc form;
	List	   *name;
	Oid			sketch;
	Oid			id;

	if (inner != NULL)
		return inner;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", fcinfo->flinfo->fn_oid);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->pronargs + more > FUNC_MAX_ARGS)
		elog(ERROR, "function %u has too many arguments", fcinfo->flinfo->fn_oid);
	sketch = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("sketch"), ObjectIdGetDatum(form->pronamespace));
	types[0] = first_type;
	memcpy(types + more, form->proargtypes.values, (Size) form->pronargs * sizeof(Oid));
	name = list_make2(makeString(pstrdup("fastclust_internal")), makeString(psprintf("%s%s", NameStr(form->proname), suffix)));
	id = LookupFuncName(name, form->pronargs + more, types, false);
	inner = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(inner_function));
	inner->owner = form->proowner;
	inner->sketch = form->pronargs - 1;
	while (inner->sketch >= 0 && types[more + inner->sketch] != sketch)
		inner->sketch--;
	ReleaseSysCache(tuple);
	fmgr_info_cxt(id, &inner->function, fcinfo->flinfo->fn_mcxt);
	fcinfo->flinfo->fn_extra = inner;
	return inner;
}

/* The error in flight, with the context of here alone. */
static void
throw_from_here(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	if (error->context != NULL)
		ereport(DEBUG1,
				(errmsg_internal("context of the error that follows: %s", error->context),
				 errhidecontext(true), errhidestmt(true)));
	error->context = GetErrorContextStack();
	ReThrowError(error);
}

/* The inner function's result for the arguments of the door, behind `first` where there is one. */
static Datum
call_inner(FunctionCallInfo fcinfo, const inner_function *inner, Oid first)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	int			more = OidIsValid(first) ? 1 : 0;
	MemoryContext context = CurrentMemoryContext;
	Datum		result = (Datum) 0;

	InitFunctionCallInfoData(*call, (FmgrInfo *) &inner->function, PG_NARGS() + more, PG_GET_COLLATION(), NULL, fcinfo->resultinfo);
	call->args[0].value = ObjectIdGetDatum(first);
	call->args[0].isnull = false;
	memcpy(call->args + more, fcinfo->args, (Size) PG_NARGS() * sizeof(NullableDatum));
	PG_TRY();
	{
		result = FunctionCallInvoke(call);
	}
	PG_CATCH();
	{
		throw_from_here(context);
	}
	PG_END_TRY();
	fcinfo->isnull = call->isnull;
	return result;
}

PG_FUNCTION_INFO_V1(fastclust_door);
Datum
fastclust_door(PG_FUNCTION_ARGS)
{
	const inner_function *inner = find_inner(fcinfo, "_inside", InvalidOid);

	/* without a sketch, these functions read the table */
	if (inner->sketch >= 0 && PG_ARGISNULL(inner->sketch) && is_given(fcinfo, inner->sketch))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("sketch must not be NULL"),
				 errhint("sketch_agg of no rows is NULL; leave out sketch to read the table.")));
	return call_inner(fcinfo, inner, InvalidOid);
}

PG_FUNCTION_INFO_V1(fastclust_as_owner);
Datum
fastclust_as_owner(PG_FUNCTION_ARGS)
{
	const inner_function *inner = find_inner(fcinfo, "_as_owner", OIDOID);
	Oid			caller;
	int			context;
	Datum		result;

	GetUserIdAndSecContext(&caller, &context);
	/* an error gives the caller his rights back with the (sub)transaction */
	SetUserIdAndSecContext(inner->owner, context | SECURITY_LOCAL_USERID_CHANGE);
	result = call_inner(fcinfo, inner, caller);
	SetUserIdAndSecContext(caller, context);
	return result;
}

/*
 * (key, wait): lock the key until the end of the transaction; false when another session has it and
 * wait is false.  A lock of this kind, unlike an advisory lock, is in nobody else's reach.
 */
PG_FUNCTION_INFO_V1(fastclust_lock_name);
Datum
fastclust_lock_name(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, fcinfo->flinfo->fn_oid, (uint32) PG_GETARG_INT32(0), 0);
	PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false, !PG_GETARG_BOOL(1)) != LOCKACQUIRE_NOT_AVAIL);
}
