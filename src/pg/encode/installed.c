/*
 * installed.c - finds types and functions whose code no user can change; see
 * installed.h
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"
#include "pg/encode/installed.h"

static bool
is_installed(Oid class, Oid object, Oid schema, Oid owner)
{
	return schema == PG_CATALOG_NAMESPACE ||
		(OidIsValid(getExtensionOfObject(class, object)) && superuser_arg(owner));
}

/* Returns the type of an array's elements, or of a multirange's ranges. */
static Oid
contained_type(Oid type)
{
#if PG_VERSION_NUM >= 140000
	if (type_is_multirange(type))
		return get_multirange_range(type);
#endif
	return get_element_type(type);
}

Oid
installed_base(Oid type)
{
	Oid			contained = contained_type(type);
	HeapTuple	tuple;
	Form_pg_type form;
	char		kind;
	bool		installed;

	if (OidIsValid(contained))
		return installed_base(contained);
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_type) GETSTRUCT(tuple);
	kind = form->typtype;
	installed = is_installed(TypeRelationId, type, form->typnamespace, form->typowner);
	ReleaseSysCache(tuple);
	if (installed && kind == TYPTYPE_RANGE)
		return installed_base(get_range_subtype(type));
	return installed && kind == TYPTYPE_BASE ? type : InvalidOid;
}

bool
is_installed_function(Oid function)
{
	return is_installed(ProcedureRelationId, function, get_func_namespace(function),
						function_owner(function));
}

bool
reads_same_value(Oid type)
{
	Oid			base = installed_base(type);
	Oid			function;
	Oid			parameter;
	char		category;

	if (!OidIsValid(base))
		return false;
	category = TypeCategory(base);
	getTypeInputInfo(base, &function, &parameter);
	return category == TYPCATEGORY_DATETIME || category == TYPCATEGORY_TIMESPAN ||
		func_volatile(function) == PROVOLATILE_IMMUTABLE;
}
