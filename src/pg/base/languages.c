/*
 * languages.c - PL/pgSQL of the functions that users call, in two untrusted languages.
 *
 * An error out of a function in the language fastclust keeps the context of its caller, the user's own functions
 * among it, and loses the lines of PL/pgSQL from there on; DEBUG1 shows those.
 *
 * A function in the language fastclust_owner also runs with the rights of its owner, as with SECURITY DEFINER, but
 * knows the caller by calling_role(): there current_user is the owner, and session_user does not know of SET ROLE.
 * Where one such function calls another, the caller of the first one is that of both.
 *
 * Both run under fixed settings of how text is read, for they write queries.  A stored condition is text, since a node tree is of
 * one server version and holds oids that no dump restores; it means the same everywhere because it is written and read under these.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"

static Oid	calling_role = InvalidOid;

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

/* The error in flight, with the context of here alone, and without a query of ours. */
static void
throw_from_here(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	if (error->context != NULL)
		ereport(DEBUG1, errmsg_internal("context of the error that follows: %s", error->context), errhidecontext(true), errhidestmt(true));
	error->context = GetErrorContextStack();
	error->internalquery = NULL;
	error->internalpos = 0;
	ReThrowError(error);
}

void
hint_other_node(void *unused)
{
	if (geterrcode() == ERRCODE_UNDEFINED_SCHEMA)
		errhint("If that is a schema of fastclust, another server of the rows lacks the extension. CREATE EXTENSION fastclust there; on the coordinator of Citus, CREATE EXTENSION IF NOT EXISTS fastclust makes it on all nodes.");
}

Datum
call_with_short_context(PGFunction function, FunctionCallInfo fcinfo)
{
	MemoryContext context = CurrentMemoryContext;
	Datum		result = (Datum) 0;

	PG_TRY();
	{
		result = function(fcinfo);
	}
	PG_CATCH();
	{
		throw_from_here(context);
	}
	PG_END_TRY();
	return result;
}

int
fix_settings(int kinds)
{
	static const struct
	{
		int			kinds;
		const char *name;
		const char *value;
	}			settings[] = {
		{FIX_READING, "standard_conforming_strings", "on"}, {FIX_READING, "array_nulls", "on"}, {FIX_READING, "lc_monetary", "C"},
		{FIX_READING, "quote_all_identifiers", "off"}, {FIX_READING, "transform_null_equals", "off"}, {FIX_READING, "xmlbinary", "base64"},
		{FIX_READING, "xmloption", "content"}, {FIX_READING | FIX_OUTPUT, "bytea_output", "hex"},
		{FIX_PATH, "search_path", "pg_catalog, fastclust, fastclust_internal, pg_temp"}, {FIX_CONDITION, "search_path", "pg_catalog, pg_temp"},
		{FIX_OUTPUT, "DateStyle", "ISO, MDY"}, {FIX_CONDITION, "DateStyle", "ISO"}, {FIX_OUTPUT, "TimeZone", "UTC"},
		{FIX_OUTPUT | FIX_CONDITION, "IntervalStyle", "postgres"}, {FIX_OUTPUT | FIX_CONDITION, "extra_float_digits", "1"}
	};
	int			level = NewGUCNestLevel();

	for (int i = 0; i < lengthof(settings); i++)
		if ((settings[i].kinds & kinds) != 0 && strcmp(GetConfigOption(settings[i].name, false, false), settings[i].value) != 0)
			(void) set_config_option(settings[i].name, settings[i].value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

Datum
call_like_language(PGFunction function, FunctionCallInfo fcinfo)
{
	int			level = fix_settings(FIX_READING);
	Datum		result = call_with_short_context(function, fcinfo);

	AtEOXact_GUC(true, level);
	return result;
}

void
reject_null_sketch(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument) && is_given(fcinfo, argument))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("sketch must not be NULL"),
				errhint("sketch_agg of no rows is NULL; leave out sketch to read the table."));
}

PG_FUNCTION_INFO_V1(fastclust_call_plpgsql);
Datum
fastclust_call_plpgsql(PG_FUNCTION_ARGS)
{
	static PGFunction handler = NULL;

	if (handler == NULL)
		handler = load_external_function("$libdir/plpgsql", "plpgsql_call_handler", true, NULL);
	for (int i = 0; i < PG_NARGS(); i++)
		if (get_fn_expr_argtype(fcinfo->flinfo, i) == GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("sketch"),
																	  ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo->fn_oid))))
			reject_null_sketch(fcinfo, i);
	return call_like_language(handler, fcinfo);
}

PG_FUNCTION_INFO_V1(fastclust_call_as_owner);
Datum
fastclust_call_as_owner(PG_FUNCTION_ARGS)
{
	Oid			owner = function_owner(fcinfo->flinfo->fn_oid);
	Oid			outer = calling_role;
	Oid			caller;
	int			context;
	Datum		result = (Datum) 0;

	GetUserIdAndSecContext(&caller, &context);
	if (!OidIsValid(outer) || caller != owner)
		calling_role = caller;
	PG_TRY();
	{
		/* an error gives the caller his rights back with the (sub)transaction */
		SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
		result = fastclust_call_plpgsql(fcinfo);
		SetUserIdAndSecContext(caller, context);
	}
	PG_FINALLY();
	{
		calling_role = outer;
	}
	PG_END_TRY();
	return result;
}

/* (name): the role of the name; NULL: there is none. */
PG_FUNCTION_INFO_V1(fastclust_role_id);
Datum
fastclust_role_id(PG_FUNCTION_ARGS)
{
	Oid			role = get_role_oid(NameStr(*PG_GETARG_NAME(0)), true);

	fcinfo->isnull = !OidIsValid(role);
	PG_RETURN_OID(role);
}

/* The role that called a function in fastclust_owner; current_user outside of one. */
PG_FUNCTION_INFO_V1(fastclust_calling_role);
Datum
fastclust_calling_role(PG_FUNCTION_ARGS)
{
	PG_RETURN_OID(OidIsValid(calling_role) ? calling_role : GetUserId());
}
