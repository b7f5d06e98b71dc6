/*
 * role_name.c - the type role_name: a role, for tables that are dumped
 *
 * A dump has no OIDs, and a stored name is out of date after ALTER ROLE
 * RENAME. A role_name has the OID and the name of a role. Its output function
 * returns the present name of the role. Its input function looks up the OID; a
 * name that no role has is kept without an OID. The OID of a dropped role is
 * not given to another role before the OID counter wraps around. pg_upgrade
 * keeps the OIDs of roles.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "pg/base/arguments.h"

/* Stored value of the SQL type role_name, whose internallength is 68. */
typedef struct role_name
{
	Oid			id;				/* InvalidOid if no role had the name */
	NameData	name;			/* name when the value was made */
} role_name;

static Datum
role_of_name(const char *name)
{
	role_name  *role = palloc0(sizeof(role_name));

	StaticAssertStmt(sizeof(role_name) == 68, "CREATE TYPE role_name has another length");
	namestrcpy(&role->name, name);
	role->id = get_role_oid(NameStr(role->name), true);
	return PointerGetDatum(role);
}

/*
 * Returns the present name of a role. For a dropped role, returns the stored
 * name, followed by " (dropped)" if another role has this name now. A long
 * name is then clipped to leave room for the mark, because the input function
 * cuts a text to NAMEDATALEN - 1 bytes.
 */
static char *
name_of_role(const role_name *role)
{
	char	   *now = OidIsValid(role->id) ? GetUserNameFromId(role->id, true) : NULL;

	if (now != NULL)
		return now;
	if (OidIsValid(get_role_oid(NameStr(role->name), true)))
		return psprintf("%.*s (dropped)",
						pg_mbcliplen(NameStr(role->name), (int) strlen(NameStr(role->name)),
									 NAMEDATALEN - (int) sizeof(" (dropped)")),
						NameStr(role->name));
	return pstrdup(NameStr(role->name));
}

PG_FUNCTION_INFO_V1(fastclust_role_name_in);
Datum
fastclust_role_name_in(PG_FUNCTION_ARGS)
{
	return role_of_name(PG_GETARG_CSTRING(0));
}

PG_FUNCTION_INFO_V1(fastclust_role_name_out);
Datum
fastclust_role_name_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(name_of_role((role_name *) PG_GETARG_POINTER(0)));
}

PG_FUNCTION_INFO_V1(fastclust_role_name_recv);
Datum
fastclust_role_name_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length;

	return role_of_name(pq_getmsgtext(buffer, buffer->len - buffer->cursor, &length));
}

PG_FUNCTION_INFO_V1(fastclust_role_name_send);
Datum
fastclust_role_name_send(PG_FUNCTION_ARGS)
{
	const char *name = name_of_role((role_name *) PG_GETARG_POINTER(0));
	StringInfoData buffer;

	pq_begintypsend(&buffer);
	pq_sendtext(&buffer, name, (int) strlen(name));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

Datum
role_name_of(Oid role)
{
	return role_of_name(GetUserNameFromId(role, false));
}

/*
 * Takes (role_name). Returns the OID of the role, or NULL if no role had the
 * name when the value was made.
 */
PG_FUNCTION_INFO_V1(fastclust_role_name_id);
Datum
fastclust_role_name_id(PG_FUNCTION_ARGS)
{
	Oid			role = ((role_name *) PG_GETARG_POINTER(0))->id;

	fcinfo->isnull = !OidIsValid(role);
	PG_RETURN_OID(role);
}
