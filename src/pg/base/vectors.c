/* vectors.c - reading vector arguments without copies, and building arrays */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg/base/memory.h"
#include "pg/base/arguments.h"
#include "pg/base/vectors.h"

/* Number of elements processed between two checks for interrupts. */
#define ELEMENTS	16384

static void
reject_shape(int ndim, const char *argument)
{
	if (ndim == 0)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("%s must have at least one element", argument));
	ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			errmsg("%s must be a one-dimensional array, not one of %d dimensions",
				   argument, ndim));
}

static void *
reserve(vector_reader *reader, Size bytes)
{
	return reader->buffer = grown(reader->context, reader->buffer,
								  &reader->buffer_size, bytes, 1);
}

/*
 * Reads an array element by element, for integers, numerics, domains and
 * arrays with a null bitmap.
 */
static vector
read_elements(vector_reader *reader, Datum datum, const char *argument)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	Oid			type = ARR_ELEMTYPE(array);
	int			d = ARR_NDIM(array) == 1 ? ARR_DIMS(array)[0] : 0;
	double	   *values;
	ArrayIterator iterator;
	Datum		element;
	bool		null;

	if (ARR_NDIM(array) != 1)
		reject_shape(ARR_NDIM(array), argument);
	if (type >= FirstNormalObjectId)
		type = getBaseType(type);	/* the element type may be a domain */
	values = reserve(reader, (Size) d * sizeof(double));
	iterator = array_create_iterator(array, 0, NULL);
	for (int i = 0; array_iterate(iterator, &element, &null); i++)
	{
		if (i % ELEMENTS == 0)
			CHECK_FOR_INTERRUPTS();
		if (null)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s element %d is NULL", argument, i + 1),
					errdetail("The elements of a vector must be finite numbers."));
		values[i] = number_as_double(element, type);
	}
	array_free_iterator(iterator);
	return (vector)
	{
		.doubles = values,.d = d
	};
}

pgvector_value
read_pgvector_in_place(vector_reader *reader, Datum datum, const char *argument)
{
	pgvector_value value = open_pgvector(reader->form, datum, argument);

	if (reader->form == VECTOR_SPARSE)
		align_sparse(&value,
					 reserve(reader, (Size) value.nonzeros *
							 (sizeof(int32) + sizeof(float)) +
							 1));
	return value;
}

/* Reads a vector from the text of an array. */
static vector
read_text(vector_reader *reader, Datum datum, const char *argument)
{
	vector_form form = reader->form;
	vector		v;

	datum = array_of_text(form == VECTOR_TEXT ? TextDatumGetCString(datum)
						  : DatumGetCString(datum));
	reader->form = VECTOR_ARRAY;
	v = read_vector(reader, datum, argument);
	reader->form = form;
	return v;
}

/* Reads a vector of a type of pgvector. */
static vector
read_pgvector(vector_reader *reader, Datum datum, const char *argument)
{
	pgvector_value value = open_pgvector(reader->form, datum, argument);
	vector		v = {.d = value.d};
	float	   *floats;

	if (value.d > FC_MAX_DIM)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("%s has %d dimensions", argument, value.d),
				errdetail("The maximum is %d.", FC_MAX_DIM));
	v.floats = (const float *) value.elements;
	if (reader->form == VECTOR_FLOATS &&
		(reader->anywhere || (uintptr_t) value.elements % sizeof(float) == 0))
		return v;
	floats = reserve(reader, (Size) value.d * sizeof(float));
	expand_pgvector(reader->form, &value, floats);
	v.floats = floats;
	return v;
}

vector
read_vector(vector_reader *reader, Datum datum, const char *argument)
{
	struct varlena *packed = (struct varlena *) DatumGetPointer(datum);
	const char *fields;
	array_front front;
	const char *data;
	Size		width;
	vector		v = {0};

	if (reader->form != VECTOR_ARRAY)
		return (reader->form < VECTOR_LITERAL
				? read_pgvector
				: read_text) (reader, datum, argument);
	if (VARATT_IS_EXTERNAL(packed) || VARATT_IS_COMPRESSED(packed))
		packed = PG_DETOAST_DATUM_PACKED(datum);
	fields = VARDATA_ANY(packed);
	if (VARSIZE_ANY_EXHDR(packed) < offsetof(array_front, dim))
		elog(ERROR, "array is too short");
	memcpy(&front, fields, Min(sizeof(front), VARSIZE_ANY_EXHDR(packed)));
	if (front.ndim != 1)
		reject_shape(front.ndim, argument);
	if (front.dataoffset != 0 ||
		(front.elemtype != FLOAT4OID && front.elemtype != FLOAT8OID))
		return read_elements(reader, datum, argument);
	width = front.elemtype == FLOAT4OID ? sizeof(float) : sizeof(double);
	data = fields + (ARR_OVERHEAD_NONULLS(1) - VARHDRSZ);
	v.d = front.dim;
	if (!reader->anywhere && (uintptr_t) data % width != 0)
		data = memcpy(reserve(reader, (Size) v.d * width), data,
					  (Size) v.d * width);
	if (front.elemtype == FLOAT4OID)
		v.floats = (const float *) data;
	else
		v.doubles = (const double *) data;
	return v;
}

void
check_vector_dim(const vector *v, size_t expected, const char *of_what)
{
	if ((size_t) v->d != expected)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg_plural("vector has %d dimension, but %s has %zu",
							  "vector has %d dimensions, but %s has %zu", v->d,
							  v->d, of_what, expected));
}

/*
 * Returns the elements as doubles: the array of the vector itself, or its
 * floats after conversion into `buffer`.
 */
const double *
vector_doubles(const vector *v, double *buffer)
{
	if (v->doubles != NULL)
		return v->doubles;
	fc_widen(v->floats, (size_t) v->d, buffer);
	return buffer;
}

double
row_element(const double *doubles, const float *floats, size_t i)
{
	double		value;
	float		single;

	if (floats == NULL)
	{
		memcpy(&value, (const char *) doubles + i * sizeof(double),
			   sizeof(double));
		return value;
	}
	memcpy(&single, (const char *) floats + i * sizeof(float), sizeof(float));
	return (double) single;
}

void
reject_not_finite(const double *doubles, const float *floats, size_t d)
{
	for (size_t i = 0; i < d; i++)
	{
		double		value = row_element(doubles, floats, i);

		if (isfinite(value))
			continue;
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("vector element %zu is %s", i + 1,
					   isnan(value) ? "NaN" : "infinite"),
				errdetail("The elements of a vector must be finite numbers."));
	}
}

void
check_finite(const vector *v)
{
	size_t		d = (size_t) v->d;

	if (v->floats != NULL ? !fc_all_finite_float(v->floats, d)
		: !fc_all_finite(v->doubles, d))
		reject_not_finite(v->doubles, v->floats, d);
}

/*
 * Raises an error if an element has an absolute value of 2^63 or more, because
 * operators compute in single precision.
 */
void
check_single_precision(const vector *v)
{
	size_t		d = (size_t) v->d;
	size_t		at = 0;

	if (v->floats != NULL ? fc_all_moderate_float(v->floats, d)
		: fc_all_moderate(v->doubles, d))
		return;
	check_finite(v);
	while (at + 1 < d &&
		   fabs(row_element(v->doubles, v->floats, at)) < FC_EXP2(63))
		at++;
	ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("vector is too large for single precision"),
			errdetail("Element %zu is %g; the magnitude of an element must be below 2^63.",
					  at + 1, row_element(v->doubles, v->floats, at)),
			errhint("Scale the data down."));
}

static ArrayType *
empty_array(Size width, Oid type, int count)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + width * (Size) count;
	ArrayType  *array = palloc(size);

	memset(array, 0, ARR_OVERHEAD_NONULLS(1));
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->elemtype = type;
	ARR_DIMS(array)[0] = count;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

static Datum
make_array(Size width, Oid type, const void *values, int count)
{
	ArrayType  *array = empty_array(width, type, count);

	memcpy(ARR_DATA_PTR(array), values, width * (Size) count);
	return PointerGetDatum(array);
}

Datum
empty_float8_array(int count, double **values)
{
	ArrayType  *array = empty_array(sizeof(double), FLOAT8OID, count);

	*values = (double *) ARR_DATA_PTR(array);
	return PointerGetDatum(array);
}

Datum
empty_float4_array(int count, float **values)
{
	ArrayType  *array = empty_array(sizeof(float), FLOAT4OID, count);

	*values = (float *) ARR_DATA_PTR(array);
	return PointerGetDatum(array);
}

Datum
make_float8_array(const double *values, int count)
{
	return make_array(sizeof(double), FLOAT8OID, values, count);
}

Datum
make_float4_array(const float *values, int count)
{
	return make_array(sizeof(float), FLOAT4OID, values, count);
}

Datum
make_int4_array(const int32 *values, int count)
{
	return make_array(sizeof(int32), INT4OID, values, count);
}

ArrayType *
make_text_array(Datum *texts, Size count)
{
	return construct_array(texts, (int) count, TEXTOID, -1, false, TYPALIGN_INT);
}

Datum *
read_text_array(ArrayType *array, int *count)
{
	Datum	   *texts;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, count);
	return texts;
}

Datum
make_int4_rows(Datum *elements, int rows, int columns)
{
	int			sizes[2] = {rows, columns};
	int			first[2] = {1, 1};

	return PointerGetDatum(construct_md_array(elements, NULL, 2, sizes, first,
											  INT4OID, sizeof(int32), true,
											  TYPALIGN_INT));
}

Datum
make_int8_array(const int64 *values, int count)
{
	return make_array(sizeof(int64), INT8OID, values, count);
}

double *
read_float8_array(Datum datum, int expected, const char *argument)
{
	vector_reader reader = {CurrentMemoryContext, NULL, 0};
	vector		v = read_vector(&reader, datum, argument);
	double	   *values;

	if (expected >= 0 && v.d != expected)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("%s has %d elements, %d expected", argument, v.d,
					   expected));
	check_finite(&v);
	values = palloc((Size) v.d * sizeof(double));
	for (int i = 0; i < v.d; i++)
	{
		if (i % ELEMENTS == 0)
			CHECK_FOR_INTERRUPTS();
		values[i] = v.floats ? (double) v.floats[i] : v.doubles[i];
	}
	return values;
}

double *
numbers_argument(FunctionCallInfo fcinfo, int argument, Size expected,
				 const char *name)
{
	return PG_ARGISNULL(argument) ? NULL
		: read_float8_array(PG_GETARG_DATUM(argument),
							(int) expected, name);
}

double *
scales_argument(FunctionCallInfo fcinfo, int argument, Size expected)
{
	double	   *scales = numbers_argument(fcinfo, argument, expected, "scale");

	for (Size i = 0; scales != NULL && i < expected; i++)
		check_positive("scale element", scales[i]);
	return scales;
}

/* ---- text of a vector of any kind ---- */

/*
 * Takes (row_vector). Returns the text of the vector in double precision, the
 * type in which it is read. Elements of type real therefore show more digits.
 */
PG_FUNCTION_INFO_V1(fastclust_row_vector_out);
Datum
fastclust_row_vector_out(PG_FUNCTION_ARGS)
{
	vector_reader reader = {CurrentMemoryContext, NULL, 0};
	vector		v = read_vector_argument(fcinfo, &reader, 0, "row_vector");
	double	   *x = palloc((Size) v.d * sizeof(double));

	PG_RETURN_CSTRING(OidOutputFunctionCall(F_ARRAY_OUT,
											make_float8_array(vector_doubles(&v,
																			 x),
															  v.d)));
}
