/* pgvector.c - vectors of the extension "vector"; see pgvector.h */
#include "postgres.h"

#include "fmgr.h"

#include "base/fc.h"
#include "pg/base/compat.h"
#include "pg/base/pgvector.h"

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
