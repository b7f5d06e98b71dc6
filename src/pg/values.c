/*
 * values.c - the stored types: text and binary I/O, comparison, access.
 *
 * Each is a varlena whose bytes behind the length word are canonical, so one text
 * form (hex), one comparison (bytes) and one hash serve all.  What differs is the
 * core function that validates untrusted bytes.
 */
#include "fastclust.h"

#include "access/detoast.h"
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "operator/contingency.h"
#include "operator/coreset.h"
#include "operator/step.h"
#include "rkhs/map.h"
#include "rkhs/projection_bytes.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct value_type
{
	const char *name;
	fc_status	(*check) (const void *bytes, size_t size, const fc_tick *tick);
} value_type;

static const value_type spec_type = {"sketch_spec", fc_spec_check};
static const value_type sketch_type = {"sketch", fc_sketch_check};
static fc_status
check_state(const void *bytes, size_t size, const fc_tick *tick)
{
	const fc_step *step = bytes;

	if (size < sizeof(fc_contingency))
		return FC_EFORMAT;
	return step->kind == FC_STEP_CONTINGENCY ? fc_contingency_check(bytes, size, tick) :
		step->kind == FC_STEP_CORESET ? fc_coreset_check(bytes, size, tick) : fc_step_check(bytes, size, tick);
}

static const value_type state_type = {"aggregate_state", check_state};

static fc_status
verify_operator(const fc_operator *op)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	fc_status	status = fc_operator_verify(op, scratch);

	pfree(scratch.floats);
	return status;
}

static fc_status
check_operator(const void *bytes, size_t size, const fc_tick *tick)
{
	fc_status	status = fc_operator_check(bytes, size, tick);
	fc_operator op;

	if (status != FC_OK)
		return status;
	open_operator(bytes, &op);
	return verify_operator(&op);
}

static fc_status
check_map(const void *bytes, size_t size, const fc_tick *tick)
{
	fc_status	status = fc_kernel_map_check(bytes, size, tick);
	fc_kernel_map map;

	if (status != FC_OK)
		return status;
	fc_kernel_map_view(bytes, &map);
	map.op.tick = tick;
	return verify_operator(&map.op);
}

static const value_type operator_type = {"fastop", check_operator};
static const value_type map_type = {"kernel_map", check_map};
static const value_type projection_type = {"kernel_projection", fc_kernel_projection_check};

/* ---- access ---- */

/* Plain values are used in place; others are fetched.  Alignment is the type's. */
static void *
aligned_value(Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (VARATT_IS_4B_U(value))
		return value;
	return PG_DETOAST_DATUM(datum);
}

fc_spec *
spec_of_datum(Datum datum)
{
	return aligned_value(datum);
}

fc_sketch *
sketch_of_datum(Datum datum)
{
	return aligned_value(datum);
}

fc_operator_header *
operator_of_datum(Datum datum)
{
	return aligned_value(datum);
}

void
spec_digest_of_datum(Datum datum, uint64 digest[2])
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (!VARATT_IS_4B_U(value))
		value = PG_DETOAST_DATUM_SLICE(datum, 0, sizeof(fc_spec) - VARHDRSZ);
	memcpy(digest, VARDATA_ANY(value) + offsetof(fc_spec, digest) - VARHDRSZ, 2 * sizeof(uint64));
}

/* ---- input and output ---- */

#define HEX_PIECE	((Size) 1 << 20)	/* between two checks for interrupts; even */

static void *
checked_value(void *value, Size size, const value_type *type, int sqlstate)
{
	SET_VARSIZE(value, size);
	if (type->check(value, size, &server_tick) != FC_OK)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg("not a valid %s value", type->name),
				 errdetail("The %zu bytes are damaged, cut short, or of another version or machine.", size)));
	return value;
}

static Datum
value_in(FunctionCallInfo fcinfo, const value_type *type)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Size		length = strlen(text);
	char	   *value;

	if (length < 2 || text[0] != '\\' || text[1] != 'x' || length % 2 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s", type->name),
				 errdetail("The text form is \\x followed by an even number of hexadecimal digits.")));
	value = allocate_cleared(VARHDRSZ + (length - 2) / 2);
	for (Size at = 2; at < length; at += HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		hex_decode(text + at, Min(HEX_PIECE, length - at), value + VARHDRSZ + (at - 2) / 2);
	}
	PG_RETURN_POINTER(checked_value(value, VARHDRSZ + (length - 2) / 2, type,
									ERRCODE_INVALID_TEXT_REPRESENTATION));
}

static Datum
value_recv(FunctionCallInfo fcinfo, const value_type *type)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			length = message->len - message->cursor;
	char	   *value = palloc(VARHDRSZ + (Size) length);

	copy_bytes(value + VARHDRSZ, pq_getmsgbytes(message, length), (Size) length);
	PG_RETURN_POINTER(checked_value(value, VARHDRSZ + (Size) length, type,
									ERRCODE_INVALID_BINARY_REPRESENTATION));
}

static char *
hex_of(const struct varlena *value)
{
	Size		length = VARSIZE_ANY_EXHDR(value);
	char	   *text;

	if (length > (MaxAllocSize - 3) / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a value of %zu bytes is too large for its text form", length),
				 errhint("Use the binary form, as COPY (FORMAT binary) does.")));
	text = palloc(3 + 2 * length);
	memcpy(text, "\\x", 2);
	for (Size at = 0; at < length; at += HEX_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		hex_encode(VARDATA_ANY(value) + at, Min(HEX_PIECE, length - at), text + 2 + 2 * at);
	}
	text[2 + 2 * length] = '\0';
	return text;
}

static bytea *
bytes_of(const struct varlena *value)
{
	Size		length = VARSIZE_ANY_EXHDR(value);
	bytea	   *bytes = palloc(VARHDRSZ + length);

	SET_VARSIZE(bytes, VARHDRSZ + length);
	copy_bytes(VARDATA(bytes), VARDATA_ANY(value), length);
	return bytes;
}

#define VALUE_TYPE_IN(prefix, type) \
PG_FUNCTION_INFO_V1(prefix##_in); \
Datum prefix##_in(PG_FUNCTION_ARGS) { return value_in(fcinfo, &(type)); } \
PG_FUNCTION_INFO_V1(prefix##_recv); \
Datum prefix##_recv(PG_FUNCTION_ARGS) { return value_recv(fcinfo, &(type)); } \
extern int	no_such_variable

VALUE_TYPE_IN(fastclust_sketch_spec, spec_type);
VALUE_TYPE_IN(fastclust_sketch, sketch_type);
VALUE_TYPE_IN(fastclust_fastop, operator_type);
VALUE_TYPE_IN(fastclust_state, state_type);
VALUE_TYPE_IN(fastclust_kernel_projection, projection_type);
VALUE_TYPE_IN(fastclust_kernel_map, map_type);

PG_FUNCTION_INFO_V1(fastclust_value_out);
Datum
fastclust_value_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(hex_of(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0))));
}

PG_FUNCTION_INFO_V1(fastclust_value_send);
Datum
fastclust_value_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(bytes_of(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0))));
}

/* A sketch may be an aggregate's state with rows waiting: what leaves is folded. */
PG_FUNCTION_INFO_V1(fastclust_sketch_out);
Datum
fastclust_sketch_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(hex_of((struct varlena *) sketch_closed(SKETCH_ARG(0))));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_send);
Datum
fastclust_sketch_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(bytes_of((struct varlena *) sketch_closed(SKETCH_ARG(0))));
}

/* ---- comparison ---- */

static int
compare_values(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	struct varlena *b = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
	Size		na = VARSIZE_ANY_EXHDR(a);
	Size		nb = VARSIZE_ANY_EXHDR(b);
	Size		shorter = Min(na, nb);
	int			order = 0;

	for (Size at = 0; at < shorter && order == 0; at += FC_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		order = memcmp(VARDATA_ANY(a) + at, VARDATA_ANY(b) + at, Min(FC_PIECE, shorter - at));
	}
	if (order == 0)
		order = na < nb ? -1 : na > nb;
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return order;
}

#define VALUE_COMPARISON(name, test) \
PG_FUNCTION_INFO_V1(fastclust_value_##name); \
Datum fastclust_value_##name(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(compare_values(fcinfo) test 0); } \
extern int	no_such_variable

VALUE_COMPARISON(eq, ==);
VALUE_COMPARISON(ne, !=);
VALUE_COMPARISON(lt, <);
VALUE_COMPARISON(le, <=);
VALUE_COMPARISON(gt, >);
VALUE_COMPARISON(ge, >=);

PG_FUNCTION_INFO_V1(fastclust_value_cmp);
Datum
fastclust_value_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_values(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_value_hash);
Datum
fastclust_value_hash(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	const unsigned char *bytes = (const unsigned char *) VARDATA_ANY(value);
	Size		size = VARSIZE_ANY_EXHDR(value);
	uint32		hash = DatumGetUInt32(hash_any(bytes, (int) Min(FC_PIECE, size)));

	for (Size at = FC_PIECE; at < size; at += FC_PIECE)
	{
		CHECK_FOR_INTERRUPTS();
		hash = hash_combine(hash, DatumGetUInt32(hash_any(bytes + at, (int) Min(FC_PIECE, size - at))));
	}
	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_INT32((int32) hash);
}
