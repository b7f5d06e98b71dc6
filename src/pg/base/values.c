/* values.c - the stored types: text and binary I/O, access; see values.h */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/base/values.h"

/* ---- access ---- */

void *
aligned_value(Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (VARATT_IS_4B_U(value))
		return value;
	return PG_DETOAST_DATUM(datum);
}

/* ---- input and output ---- */

/* Number of digits read between two checks for interrupts; must be even. */
#define HEX_PIECE	((Size) 1 << 20)

static void *
checked_value(void *value, Size size, const value_type *type, int sqlstate)
{
	SET_VARSIZE(value, size);
	if (type->check(value, size) != FC_OK)
		ereport(ERROR, errcode(sqlstate),
				errmsg("not a valid %s value", type->name),
				errdetail("The value of %zu bytes is damaged, truncated, or from another version or machine.",
						  size));
	return value;
}

Datum
value_in(FunctionCallInfo fcinfo, const value_type *type)
{
	char	   *hex = PG_GETARG_CSTRING(0);
	Size		length = strlen(hex);
	char	   *value;

	if (length < 2 || hex[0] != '\\' || hex[1] != 'x' || length % 2 != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				errmsg("invalid input syntax for type %s", type->name),
				errdetail("The text form is \\x followed by an even number of hexadecimal digits."),
				hex[0] == '{'
				? errhint("Text in braces belongs to another argument. Name that argument in the call: name => '{...}'.")
				: hex[0] == '\\' || hex[0] == '\0' || type->of_model == NULL ? 0
				: errhint("If this is the name of a model, pass %s(%s).", type->of_model,
						  quote_literal_cstr(hex)));
	value = palloc0(VARHDRSZ + (length - 2) / 2);
	for (Size at = 2; at < length; at += HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		hex_decode(hex + at, Min(HEX_PIECE, length - at),
				   value + VARHDRSZ + (at - 2) / 2);
	}
	PG_RETURN_POINTER(checked_value(value, VARHDRSZ + (length - 2) / 2, type,
									ERRCODE_INVALID_TEXT_REPRESENTATION));
}

Datum
value_recv(FunctionCallInfo fcinfo, const value_type *type)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			length = message->len - message->cursor;
	char	   *value = palloc(VARHDRSZ + (Size) length);

	memcpy(value + VARHDRSZ, pq_getmsgbytes(message, length), (Size) length);
	PG_RETURN_POINTER(checked_value(value, VARHDRSZ + (Size) length, type,
									ERRCODE_INVALID_BINARY_REPRESENTATION));
}

char *
value_text(const void *value)
{
	Size		length = VARSIZE_ANY_EXHDR(value);
	char	   *hex;

	if (length > (MaxAllocSize - 3) / 2)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("a value of %zu bytes is too large for its text form",
					   length),
				errhint("Use the binary form, as COPY (FORMAT binary) does."));
	hex = palloc(3 + 2 * length);
	memcpy(hex, "\\x", 2);
	for (Size at = 0; at < length; at += HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		hex_encode(VARDATA_ANY(value) + at, Min(HEX_PIECE, length - at),
				   hex + 2 + 2 * at);
	}
	hex[2 + 2 * length] = '\0';
	return hex;
}

PG_FUNCTION_INFO_V1(fastclust_value_out);
Datum
fastclust_value_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(value_text(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0))));
}

/* ---- describe ---- */

void
append_json_list(StringInfo json, const char *key, const double *values,
				 Size count)
{
	appendStringInfoString(json, key);
	for (Size i = 0; i < count; i++)
		appendStringInfo(json, "%s%.17g", i > 0 ? ", " : "[", values[i]);
	appendStringInfoString(json, count > 0 ? "]" : "[]");
}

TypeCacheEntry *
hashed_type(Oid type, const char *values)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC_FINFO);

	if (!OidIsValid(entry->hash_extended_proc_finfo.fn_oid))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
				errmsg("%s of type %s cannot be compared", values, format_type_be(type)),
				errhint("Cast them to text."));
	return entry;
}
