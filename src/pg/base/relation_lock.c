/*
 * relation_lock.c - the owner of a relation, and a lock on its name
 *
 * After DROP or RENAME, a stored name may belong to another relation. A check
 * of the owner therefore needs a lock that lasts until the query. Without the
 * lock, the checked relation might be dropped after the check, and the query
 * would read the relation that then has the name.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"

Oid
relation_owner(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * Takes (regclass). Returns the OID of the relation's owner, or NULL if there
 * is no such relation.
 */
PG_FUNCTION_INFO_V1(fastclust_relation_owner);
Datum
fastclust_relation_owner(PG_FUNCTION_ARGS)
{
	Oid			owner = relation_owner(PG_GETARG_OID(0));

	fcinfo->isnull = !OidIsValid(owner);
	PG_RETURN_OID(owner);
}

/*
 * Raises an error if the caller has no right to the rows of the relation, so
 * that a role cannot lock relations to which it has no access. Callback that
 * RangeVarGetRelidExtended calls before each lock.
 */
static void
check_any_right(const RangeVar *name, Oid relation, Oid before, void *unused)
{
	if (OidIsValid(relation) &&
		pg_class_aclmask(relation, GetUserId(),
						 ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE,
						 ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relation, GetUserId(), ACL_SELECT,
								  ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(get_rel_relkind(relation)),
					   name->relname);
}

/*
 * Takes (regclass). Looks up the name of the given relation again, and locks
 * the relation that now has this name in AccessShareLock mode. Returns the
 * locked relation, or NULL if there is none.
 */
PG_FUNCTION_INFO_V1(fastclust_locked_relation);
Datum
fastclust_locked_relation(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	char	   *schema = get_namespace_name(get_rel_namespace(relation));
	char	   *name = get_rel_name(relation);
	Oid			locked = InvalidOid;

	if (schema != NULL && name != NULL)
		locked = RangeVarGetRelidExtended(makeRangeVar(schema, name, -1),
										  AccessShareLock, RVR_MISSING_OK,
										  check_any_right, NULL);
	fcinfo->isnull = !OidIsValid(locked);
	PG_RETURN_OID(locked);
}
