/* scan_query.c - may the shards be sent aggregates that are called "sum"? */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"

/* Would Citus take the function for the sum of this type? */
static bool
sums_type(const FormData_pg_proc *function, Oid type)
{
	Oid			argument = function->pronargs == 1 ? function->proargtypes.values[0] : InvalidOid;

	return argument == type || argument == ANYELEMENTOID;
}

/*
 * (type): is the sum of one argument of this type that of this function's schema alone?  Citus looks it up by name in all schemas, and
 * takes the first.  The catalog is read as Citus reads it: as it is now, whatever the snapshot.
 */
SQL_FUNCTION(fastclust_is_only_sum)
{
	Oid			type = PG_GETARG_OID(0);
	Oid			own = get_func_namespace(fcinfo->flinfo->fn_oid);
	CatCList   *sums = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum("sum"));
	bool		only = true;

	for (int i = 0; i < sums->n_members; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&sums->members[i]->tuple);

		only = only && (function->pronamespace == own || !sums_type(function, type));
	}
	ReleaseSysCacheList(sums);
	PG_RETURN_BOOL(only);
}
