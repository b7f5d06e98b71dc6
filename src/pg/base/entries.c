/*
 * entries.c - entry points: SQL functions that are written in C and pass their
 * arguments to an SQL function in another schema. The called function has the
 * name of the entry point, or this name with the prefix read_.
 *
 * A function that needs the rights of the extension's owner is SECURITY
 * DEFINER. It is in the schema fastclust_owner, where only the owner may call
 * it. Its last argument is the calling role, because inside of the function
 * current_user is the owner, and session_user ignores SET ROLE. Other roles
 * call the entry point, which has the same name and all arguments but the
 * last.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"

Oid
function_owner(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Takes (name). Returns the OID of a role, or NULL if there is no such role.
 */
PG_FUNCTION_INFO_V1(fastclust_role_id);
Datum
fastclust_role_id(PG_FUNCTION_ARGS)
{
	Oid			role = get_role_oid(NameStr(*PG_GETARG_NAME(0)), true);

	fcinfo->isnull = !OidIsValid(role);
	PG_RETURN_OID(role);
}

/*
 * Takes (relation). Returns the kind of the relation, as in pg_class, or NULL
 * if there is no such relation.
 */
PG_FUNCTION_INFO_V1(fastclust_relation_kind);
Datum
fastclust_relation_kind(PG_FUNCTION_ARGS)
{
	char		kind = get_rel_relkind(PG_GETARG_OID(0));

	fcinfo->isnull = kind == '\0';
	PG_RETURN_CHAR(kind);
}

/* Takes (role). Returns true if the role is a superuser. */
PG_FUNCTION_INFO_V1(fastclust_is_superuser);
Datum
fastclust_is_superuser(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(superuser_arg(PG_GETARG_OID(0)));
}

/*
 * Finds a function in `schema` whose name is `prefix` followed by the entry
 * point's name. The function has the argument types of the entry point,
 * followed by the OID of the calling role if takes_caller is true. Reads the
 * catalog without checking rights, because only the owner of the extension can
 * create functions in the schema.
 */
static FmgrInfo *
find_called(FmgrInfo *entry, const char *schema, const char *prefix,
			bool takes_caller)
{
	FmgrInfo   *called = MemoryContextAllocZero(entry->fn_mcxt, sizeof(FmgrInfo));
	char	   *name = psprintf("%s%s", prefix, get_func_name(entry->fn_oid));
	Oid			types[FUNC_MAX_ARGS];
	Oid		   *declared;
	int			count;
	Oid			function;

	(void) get_func_signature(entry->fn_oid, &declared, &count);
	memcpy(types, declared, (Size) count * sizeof(Oid));
	if (takes_caller)
		types[count++] = OIDOID;
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							   CStringGetDatum(name),
							   PointerGetDatum(buildoidvector(types, count)),
							   ObjectIdGetDatum(get_namespace_oid(schema,
																  false)));
	if (!OidIsValid(function))
		elog(ERROR, "there is no function %s.%s", schema, name);
	fmgr_info_cxt(function, called, entry->fn_mcxt);
	fmgr_info_set_expr(entry->fn_expr, called);
	entry->fn_extra = called;
	return called;
}

/*
 * Calls a function with the arguments of this call, followed by the calling
 * role if the function has one more parameter.
 */
static Datum
call_with_arguments(FunctionCallInfo fcinfo, FmgrInfo *called)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	Datum		result;

	InitFunctionCallInfoData(*call, called, called->fn_nargs,
							 PG_GET_COLLATION(), NULL, fcinfo->resultinfo);
	for (int i = 0; i < PG_NARGS(); i++)
		call->args[i] = fcinfo->args[i];
	if (called->fn_nargs > PG_NARGS())
		call->args[PG_NARGS()] = (NullableDatum)
	{
		.value = ObjectIdGetDatum(GetUserId())
	};
	result = FunctionCallInvoke(call);
	fcinfo->isnull = call->isnull;
	return result;
}

/*
 * Takes any arguments. Calls the function of the same name in fastclust_owner
 * with these arguments, followed by the calling role, and returns its result.
 *
 * The queries of these functions read few rows of catalogs, but the planner
 * expects many, so that compiling them would take seconds.
 */
PG_FUNCTION_INFO_V1(fastclust_as_owner);
Datum
fastclust_as_owner(PG_FUNCTION_ARGS)
{
	FmgrInfo   *called = fcinfo->flinfo->fn_extra;
	int			level = jit_enabled ? NewGUCNestLevel() : 0;
	Datum		result;

	if (level > 0)
		set_in_level("jit", "off");
	result = call_with_arguments(fcinfo,
								 called != NULL
								 ? called
								 : find_called(fcinfo->flinfo,
											   "fastclust_owner", "", true));
	if (level > 0)
		AtEOXact_GUC(true, level);
	return result;
}

void
reject_null_sketch(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument) && is_given(fcinfo, argument))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("sketch must not be NULL"),
				errhint("sketch_agg returns NULL if there are no rows. To read the table instead, leave out the argument sketch."));
}

/*
 * Entry point of a public function with an optional sketch, such as drift.
 * Takes any arguments. Raises an error if an argument of type sketch was given
 * as NULL. Otherwise calls the function read_<name> of the schema
 * fastclust_internal with the same arguments, where <name> is the name of the
 * public function, and returns its result.
 */
PG_FUNCTION_INFO_V1(fastclust_with_sketch);
Datum
fastclust_with_sketch(PG_FUNCTION_ARGS)
{
	FmgrInfo   *called = fcinfo->flinfo->fn_extra;

	for (int i = 0; i < PG_NARGS(); i++)
		if (get_fn_expr_argtype(fcinfo->flinfo, i) ==
			GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							CStringGetDatum("sketch"),
							ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo->fn_oid))))
			reject_null_sketch(fcinfo, i);
	return call_with_arguments(fcinfo, called != NULL
							   ? called
							   : find_called(fcinfo->flinfo,
											 "fastclust_internal",
											 "read_", false));
}
