/*
 * vector_type.c - SQL types that are accepted as vectors, rows given as
 * columns of numbers, and values of pgvector's types; see vector_type.h
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"
#include "pg/base/vector_type.h"
#include "pg/base/vectors.h"

/* Characters that may surround a vector in text form. */
#define SPACES	" \t\r\n"

/* ---- columns ---- */

bool
is_column_type(Oid type)
{
	switch (getBaseType(type))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return true;
		default:
			return false;
	}
}

void
make_column_reader(FunctionCallInfo fcinfo, int first, int count,
				   column_reader *reader)
{
	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("columns must be given one by one, not as a VARIADIC array"));
	reader->first = first;
	reader->d = count;
	for (int i = 0; i < reader->d; i++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, first + i);

		if (!is_column_type(type))
			ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("column %d is of type %s, not a number", i + 1,
						   format_type_be(type)),
					errhint("Columns are smallint, integer, bigint, real, double precision or numeric; cast others."));
		reader->types[i] = getBaseType(type);
	}
}

double
number_as_double(Datum number, Oid type)
{
	switch (type)
	{
		case FLOAT4OID:
			return (double) DatumGetFloat4(number);
		case FLOAT8OID:
			return DatumGetFloat8(number);
		case INT2OID:
			return (double) DatumGetInt16(number);
		case INT4OID:
			return (double) DatumGetInt32(number);
		case INT8OID:
			return (double) DatumGetInt64(number);
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, number));
		default:
			elog(ERROR, "unexpected type %u of a number", type);
	}
	return 0;
}

bool
read_columns(FunctionCallInfo fcinfo, const column_reader *reader, double *x)
{
	const NullableDatum *columns = fcinfo->args + reader->first;
	bool		whole = true;

	for (int i = 0; i < reader->d; i++)
	{
		whole = whole && !columns[i].isnull;
		x[i] = columns[i].isnull
			? 0.0
			: number_as_double(columns[i].value, reader->types[i]);
	}
	return whole;
}

/* ---- types ---- */

/*
 * Number of slots in the cache of types, a power of two; enough for the vector
 * types of a database. A guess.
 */
#define TYPES	8

typedef struct known_type
{
	Oid			type;
	vector_form form;
} known_type;

/* Cache of types, cleared whenever a type changes. */
static known_type known_types[TYPES];

static void
forget_types(Datum argument, int cache, uint32 hash)
{
	memset(known_types, 0, sizeof(known_types));
}

/*
 * Returns the form of an extension's type, which is identified by its name and
 * its extension. Returns VECTOR_NONE if the type is not a vector.
 */
static vector_form
form_of_extension_type(Oid type)
{
	static const struct
	{
		const char *name;
		const char *extension;
		vector_form form;
	}			forms[] = {{"row_vector", "fastclust", VECTOR_ARRAY},
	{"vector", "vector", VECTOR_FLOATS},
	{"halfvec", "vector", VECTOR_HALVES},
	{"sparsevec", "vector", VECTOR_SPARSE}};
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid			extension = getExtensionOfObject(TypeRelationId, type);
	vector_form form = VECTOR_NONE;

	if (!HeapTupleIsValid(tuple))
		return VECTOR_NONE;
	for (Size i = 0; i < lengthof(forms); i++)
		if (strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname),
				   forms[i].name) == 0 &&
			OidIsValid(extension) &&
			strcmp(get_extension_name(extension), forms[i].extension) == 0)
			form = forms[i].form;
	ReleaseSysCache(tuple);
	return form;
}

/* Returns the form of a type that is not a domain. */
static vector_form
form_of_base_type(Oid type)
{
	if (type == UNKNOWNOID)
		return VECTOR_LITERAL;
	if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID)
		return VECTOR_TEXT;
	if (is_column_type(type))
		return VECTOR_NUMBER;
	if (type_is_rowtype(type))
		return VECTOR_ROW;
	if (type_is_array(type))
		return is_column_type(get_element_type(type)) ? VECTOR_ARRAY
			: VECTOR_NONE;
	return type < FirstGenbkiObjectId ? VECTOR_NONE
		: form_of_extension_type(type);
}

vector_form
form_of_type(Oid type)
{
	static bool watching = false;
	known_type *known = &known_types[type & (TYPES - 1)];
	vector_form form;

	if (type == FLOAT4ARRAYOID || type == FLOAT8ARRAYOID)
		return VECTOR_ARRAY;
	if (known->type == type && OidIsValid(type))
		return known->form;
	if (!watching)
		CacheRegisterSyscacheCallback(TYPEOID, forget_types, (Datum) 0);
	watching = true;
	form = form_of_base_type(getBaseType(type));
	*known = (known_type)
	{
		type, form
	};
	return form;
}

/*
 * Returns the form of a type. Accepts vector types, and if `rows` is true also
 * numbers and row types. Raises an error for any other type.
 */
static vector_form
checked_form(Oid type, bool rows)
{
	vector_form form = form_of_type(type);

	if (form < VECTOR_NUMBER || (rows && form < VECTOR_NONE))
		return form;
	if (type == ANYOID)
		ereport(ERROR, errcode(ERRCODE_INDETERMINATE_DATATYPE),
				errmsg("the type of a vector is not known"),
				errhint("Call the function from SQL."));
	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("a value of type %s is not a vector", format_type_be(type)),
			form == VECTOR_ROW
			? errhint("encode_row(model_encoder(model), row) turns a row into a vector; for a sketch with the model_spec of the model, add scaled => false.")
			: errhint("A vector is an array of numbers, a vector, halfvec or sparsevec of pgvector, or a literal such as '[1,2]'%s.",
					  rows
					  ? "; a model takes numbers and rows, too: predict('model', t) FROM"
					  " (SELECT true AS member) t"
					  : ""));
}

vector_form
form_of_argument(FunctionCallInfo fcinfo, int argument, bool rows)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);
	Oid		   *types;
	int			count;

	if (!OidIsValid(type))		/* called without an expression: use the
								 * declared type */
	{
		(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
		type = types[argument];
	}
	return checked_form(type, rows);
}

/*
 * Replaces the brackets of the text form of pgvector, "[1,2]", by braces.
 * Leaves any other text as it is, such as an array with bounds, "[0:1]={1,2}".
 */
static void
brackets_to_braces(char *text)
{
	char	   *first = text +strspn(text, SPACES);
	Size		length = strlen(first);

	while (length > 0 && strchr(SPACES, first[length - 1]) != NULL)
		length--;
	if (length < 2 || first[0] != '[' || first[length - 1] != ']' ||
		strcspn(first + 1, "[]{}\"") != length - 2)
		return;
	first[0] = '{';
	first[length - 1] = '}';
}

Datum
array_of_text(const char *given)
{
	char	   *text = pstrdup(given);

	brackets_to_braces(text);
	if (text[strspn(text, SPACES)] != '{')
		ereport(ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				errmsg("\"%s\" is not a vector", text),
				errhint("A vector in text form is an array, such as '{1,2}' or '[1,2]'; cast text that is a"
						" number. For a model of other columns, pass a row: predict('model', t) FROM (SELECT"
						" 'red' AS colour) t."));
	return OidInputFunctionCall(F_ARRAY_IN, text, FLOAT8OID, -1);
}

/* ---- planning ---- */

/*
 * Returns a constant array parsed from x if x is a literal of unknown type,
 * else x.
 */
static Node *
without_literal(Node *x)
{
	Const	   *literal = (Const *) x;

	if (!IsA(x, Const) || literal->consttype != UNKNOWNOID ||
		literal->constisnull)
		return x;
	return (Node *)
		makeConst(FLOAT8ARRAYOID, -1, InvalidOid, -1,
				  array_of_text(DatumGetCString(literal->constvalue)), false,
				  false);
}

/*
 * Wraps a NULL that the caller gave, for example as a parameter. A default is
 * a constant NULL without a location in the query; the wrapper distinguishes a
 * given NULL from a default in every plan.
 */
static Node *
marked_null(Node *x)
{
	Const	   *null = (Const *) x;

	if (!IsA(x, Const) || !null->constisnull || null->location < 0)
		return x;
	return (Node *) makeRelabelType((Expr *) null, null->consttype,
									null->consttypmod, null->constcollid,
									COERCE_IMPLICIT_CAST);
}

/*
 * Takes (request). Planner support function that simplifies a call. It checks
 * the types of arguments declared "any", so that a wrong type is an error even
 * if there are no rows. It converts a literal to an array once. Functions
 * whose first argument is text, the name of a model, also accept rows and
 * numbers.
 */
PG_FUNCTION_INFO_V1(fastclust_vector_support);
Datum
fastclust_vector_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	FuncExpr   *call = makeNode(FuncExpr);
	Oid		   *types;
	int			count;
	bool		changed = false;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	*call = *((SupportRequestSimplify *) request)->fcall;
	call->args = list_copy(call->args);
	(void) get_func_signature(call->funcid, &types, &count);
	for (int i = 0; i < count; i++)
	{
		ListCell   *cell = list_nth_cell(call->args, i);
		Node	   *x = lfirst(cell);

		if (types[i] == ANYOID)
		{
			(void) checked_form(exprType(x), types[0] == TEXTOID);
			lfirst(cell) = without_literal(x);
		}
		else if (i > 0 && types[i] == TEXTOID)
			lfirst(cell) = marked_null(x);
		changed |= lfirst(cell) != x;
	}
	PG_RETURN_POINTER(changed ? call : NULL);
}

/* ---- row_vector: the bytes of any array of numbers ---- */

PG_FUNCTION_INFO_V1(fastclust_row_vector_in);
Datum
fastclust_row_vector_in(PG_FUNCTION_ARGS)
{
	return array_of_text(PG_GETARG_CSTRING(0));
}

PG_FUNCTION_INFO_V1(fastclust_as_row_vector);
Datum
fastclust_as_row_vector(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* ---- values of pgvector ---- */

static void
reject_bytes(const char *argument, const char *problem)
{
	ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED),
			errmsg("%s is not a valid vector", argument),
			errdetail_internal("%s", problem));
}

static pgvector_value
open_dense(const char *bytes, Size size, Size width, const char *argument)
{
	pgvector_value value = {0};
	int16		d = 0;

	if (size >= 2 * sizeof(int16))
		memcpy(&d, bytes, sizeof(d));
	if (d < 1 || size != 2 * sizeof(int16) + (Size) d * width)
		reject_bytes(argument,
					 psprintf("Its header says %d dimensions, but it has %zu bytes.",
							  d, size));
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
		value.d = int32_at(bytes);
		value.nonzeros = int32_at(bytes + sizeof(int32));
	}
	if (value.d < 1 || value.nonzeros < 0 || value.nonzeros > value.d ||
		size != head + (Size) value.nonzeros * (sizeof(int32) + sizeof(float)))
		reject_bytes(argument,
					 psprintf("Its header says %d dimensions and %d elements, but it has %zu bytes.",
							  value.d, value.nonzeros, size));
	value.indices = bytes + head;
	value.elements = value.indices + (Size) value.nonzeros * sizeof(int32);
	for (int i = 0; i < value.nonzeros; i++)
	{
		int32		index = int32_at(value.indices + (Size) i * sizeof(int32));

		if (index <= last || index >= value.d)
			reject_bytes(argument,
						 psprintf("Its index %d is not above the previous one, %d, or is outside its %d dimensions.",
								  index, last, value.d));
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
	return open_dense(bytes, size,
					  form == VECTOR_HALVES ? sizeof(uint16) : sizeof(float),
					  argument);
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
			memcpy(out + int32_at(value->indices + (Size) i * sizeof(int32)),
				   value->elements + (Size) i * sizeof(float), sizeof(float));
	}
}
