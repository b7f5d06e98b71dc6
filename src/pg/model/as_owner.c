/*
 * as_owner.c - the door to the model tables.
 *
 * Everybody reads those tables through their policies; only the owner of the extension
 * writes them.  A function declared with fastclust_as_owner, NAME(arguments), calls
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

/* The function behind the one that is called, and whose rights it has. */
static Oid
find_inner(Oid function, Oid *owner)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Oid			types[FUNC_MAX_ARGS];
	char	   *name;
	Oid			inner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->pronargs >= FUNC_MAX_ARGS)
		elog(ERROR, "function %u has too many arguments", function);
	*owner = form->proowner;
	name = psprintf("%s_as_owner", NameStr(form->proname));
	types[0] = OIDOID;
	memcpy(types + 1, form->proargtypes.values, (Size) form->pronargs * sizeof(Oid));
	inner = LookupFuncName(list_make2(makeString(pstrdup("fastclust_internal")), makeString(name)),
						   form->pronargs + 1, types, false);
	ReleaseSysCache(tuple);
	return inner;
}

PG_FUNCTION_INFO_V1(fastclust_as_owner);
Datum
fastclust_as_owner(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(inner, FUNC_MAX_ARGS);
	FmgrInfo	function;
	Oid			owner;
	Oid			caller;
	int			context;
	Datum		result;

	fmgr_info(find_inner(fcinfo->flinfo->fn_oid, &owner), &function);
	InitFunctionCallInfoData(*inner, &function, PG_NARGS() + 1, PG_GET_COLLATION(), NULL, NULL);
	GetUserIdAndSecContext(&caller, &context);
	inner->args[0].value = ObjectIdGetDatum(caller);
	inner->args[0].isnull = false;
	memcpy(inner->args + 1, fcinfo->args, (Size) PG_NARGS() * sizeof(NullableDatum));

	/* an error gives the caller his rights back with the (sub)transaction */
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
	result = FunctionCallInvoke(inner);
	SetUserIdAndSecContext(caller, context);
	fcinfo->isnull = inner->isnull;
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
