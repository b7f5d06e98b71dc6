/* pgvector.c - vectors of the extension "vector"; see pgvector.h */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/fc.h"
#include "pg/base/pgvector.h"

/* ---- types ---- */

#define TYPES 8					/* a power of two */

typedef struct known_type
{
	Oid			type;
	vector_form form;
} known_type;

/* Types met last, until one changes. */
static known_type known_types[TYPES];

static void
forget_types(Datum argument, int cache, uint32 hash)
{
	memset(known_types, 0, sizeof(known_types));
}

static vector_form
form_of_name(const char *name)
{
	static const struct
	{
		const char *name;
		vector_form form;
	}			forms[] = {{"vector", VECTOR_FLOATS}, {"halfvec", VECTOR_HALVES}, {"sparsevec", VECTOR_SPARSE}};

	for (Size i = 0; i < lengthof(forms); i++)
		if (strcmp(name, forms[i].name) == 0)
			return forms[i].form;
	return VECTOR_ARRAY;
}

/* By the catalog. */
static vector_form
found_form(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	vector_form form = VECTOR_ARRAY;
	Oid			extension;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		return VECTOR_ARRAY;
	form = form_of_name(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	ReleaseSysCache(tuple);
	if (form == VECTOR_ARRAY)
		return VECTOR_ARRAY;
	extension = getExtensionOfObject(TypeRelationId, type);
	name = OidIsValid(extension) ? get_extension_name(extension) : NULL;
	return name != NULL && strcmp(name, "vector") == 0 ? form : VECTOR_ARRAY;
}

vector_form
form_of_type(Oid type)
{
	static bool watching = false;
	known_type *known = &known_types[type & (TYPES - 1)];
	vector_form form;

	if (type < FirstNormalObjectId)
		return VECTOR_ARRAY;
	if (known->type == type)
		return known->form;
	if (!watching)
		CacheRegisterSyscacheCallback(TYPEOID, forget_types, (Datum) 0);
	watching = true;
	form = found_form(type);
	*known = (known_type) {type, form};
	return form;
}

vector_form
form_of_argument(FunctionCallInfo fcinfo, int argument)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);
	Oid		   *types;
	int			count;

	if (!OidIsValid(type) && fcinfo->flinfo != NULL)	/* called without an expression */
	{
		(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
		type = argument < count ? types[argument] : InvalidOid;
	}
	return form_of_type(type);
}

/* ---- values ---- */

static void
reject_bytes(const char *argument, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("%s is not a valid vector", argument),
			 errdetail_internal("%s", problem)));
}

static inline int32
int32_on(const char *bytes)
{
	int32		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static pgvector_value
open_dense(const char *bytes, Size size, Size width, const char *argument)
{
	pgvector_value value = {0};
	int16		d = 0;

	if (size >= 2 * sizeof(int16))
		memcpy(&d, bytes, sizeof(d));
	if (d < 1 || size != 2 * sizeof(int16) + (Size) d * width)
		reject_bytes(argument, psprintf("It says that it has %d dimensions, in %zu bytes.", d, size));
	value.d = d;
	value.elements = bytes + 2 * sizeof(int16);
	return value;
}

static pgvector_value
open_sparse(const char *bytes, Size size, const char *argument)
{
	const Size	head = 3 * sizeof(int32);
	pgvector_value value = {0};
	int32		last = -1;

	if (size >= head)
	{
		value.d = int32_on(bytes);
		value.nonzeros = int32_on(bytes + sizeof(int32));
	}
	if (value.d < 1 || value.nonzeros < 0 || value.nonzeros > value.d ||
		size != head + (Size) value.nonzeros * (sizeof(int32) + sizeof(float)))
		reject_bytes(argument, psprintf("It says that it has %d dimensions and %d elements, in %zu bytes.", value.d, value.nonzeros, size));
	value.indices = bytes + head;
	value.elements = value.indices + (Size) value.nonzeros * sizeof(int32);
	for (int i = 0; i < value.nonzeros; i++)
	{
		int32		index = int32_on(value.indices + (Size) i * sizeof(int32));

		if (index <= last || index >= value.d)
			reject_bytes(argument, psprintf("Its index %d does not follow %d, or lies beyond its %d dimensions.", index, last, value.d));
		last = index;
	}
	return value;
}

pgvector_value
open_pgvector(vector_form form, Datum datum, const char *argument)
{
	struct varlena *packed = PG_DETOAST_DATUM_PACKED(datum);
	const char *bytes = VARDATA_ANY(packed);
	Size		size = VARSIZE_ANY_EXHDR(packed);

	if (form == VECTOR_SPARSE)
		return open_sparse(bytes, size, argument);
	return open_dense(bytes, size, form == VECTOR_HALVES ? sizeof(uint16) : sizeof(float), argument);
}

void
expand_pgvector(vector_form form, const pgvector_value *value, float *out)
{
	Size		d = (Size) value->d;

	if (form == VECTOR_HALVES)
		fc_widen_halves(value->elements, d, out);
	else if (form == VECTOR_FLOATS)
		memcpy(out, value->elements, d * sizeof(float));
	else
	{
		memset(out, 0, d * sizeof(float));
		for (int i = 0; i < value->nonzeros; i++)
			memcpy(out + int32_on(value->indices + (Size) i * sizeof(int32)), value->elements + (Size) i * sizeof(float), sizeof(float));
	}
}
