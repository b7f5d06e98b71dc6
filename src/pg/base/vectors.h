/* vectors.h - reading vector arguments without copies, and building arrays */
#ifndef FASTCLUST_VECTORS_H
#define FASTCLUST_VECTORS_H

#include "utils/array.h"

#include "pg/base/compat.h"
#include "pg/base/vector_type.h"

/*
 * A vector argument: d floats or doubles. Valid as long as the array or buffer
 * that holds the elements.
 */
typedef struct vector
{
	const double *doubles;		/* exactly one of doubles and floats is not
								 * NULL */
	const float *floats;
	int			d;
} vector;

/*
 * Reader of one-dimensional arrays of numbers without NULLs, and of vectors of
 * pgvector. Packed values are read in place if alignment allows. Otherwise
 * they are copied to `buffer` (up to FC_MAX_DIM doubles, allocated in
 * `context`).
 */
typedef struct vector_reader
{
	MemoryContext context;		/* context of the buffer */
	void	   *buffer;
	Size		buffer_size;
	bool		anywhere;		/* true if the caller accepts unaligned
								 * elements, so that none are copied for
								 * alignment */
	bool		formed;			/* true if `form` is known */
	vector_form form;
} vector_reader;

/*
 * Fields that follow the length word of a one-dimensional array. The length
 * word has 4 bytes, or 1 byte in a packed value.
 */
typedef struct array_front
{
	int32		ndim;
	int32		dataoffset;
	Oid			elemtype;
	int32		dim;
	int32		lower_bound;
} array_front;

static inline int32
int32_at(const char *bytes)
{
	int32		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/*
 * Returns the elements of a stored array of one dimension without NULLs. They
 * may be unaligned. Sets *type to their type and *d to their number. Returns
 * NULL for any other value.
 */
static inline const char *
plain_elements(Datum datum, Oid *type, int *d)
{
	const struct varlena *packed = (const struct varlena *) DatumGetPointer(datum);
	const char *front = VARDATA_ANY(packed);

	if (VARATT_IS_EXTERNAL(packed) || VARATT_IS_COMPRESSED(packed) ||
		VARSIZE_ANY_EXHDR(packed) < sizeof(array_front) ||
		int32_at(front + offsetof(array_front, ndim)) != 1 ||
		int32_at(front + offsetof(array_front, dataoffset)) != 0)
		return NULL;
	*type = (Oid) int32_at(front + offsetof(array_front, elemtype));
	*d = int32_at(front + offsetof(array_front, dim));
	return front + sizeof(array_front);
}

extern vector read_vector(vector_reader *reader, Datum datum, const char *argument);

/*
 * Returns a view of a value of pgvector. If the indices and values of a
 * sparsevec are not aligned, copies them to the reader's buffer.
 */
extern pgvector_value read_pgvector_in_place(vector_reader *reader, Datum datum,
											 const char *argument);

/* Returns the form of the values that a call site passes in one argument. */
static inline vector_form
argument_form(FunctionCallInfo fcinfo, vector_reader *reader, int argument)
{
	if (unlikely(!reader->formed))
	{
		reader->form = form_of_argument(fcinfo, argument, false);
		reader->formed = true;
	}
	return reader->form;
}

/* ---- prefetching of a table's rows ---- */

/* Size of a cache line of the processor. */
#define LINE_BYTES	64

/*
 * Approximate distance in bytes from the beginning of a table's row to the
 * elements of its vector.
 */
#define FRONT_BYTES	48

/*
 * Maximum distance in bytes between neighbouring rows up to which rows are
 * prefetched. For longer rows, prefetching all cache lines costs more than it
 * gains (bench/speed.py).
 */
#define MAX_STEP_BYTES	512

/*
 * Number of rows between the current row and the prefetched one. A larger
 * number covers a longer latency, but the prefetched row is beyond the end of
 * the page more often (bench/speed.py).
 */
#define ROWS_AHEAD	4

typedef struct row_places
{
	const char *last_row;		/* address of the previous row; never
								 * dereferenced */
	ptrdiff_t	step;			/* distance in bytes between neighbouring rows
								 * of a page */
} row_places;

/*
 * Prefetches the row that the scan reaches ROWS_AHEAD rows after the row at x.
 * If x is the first row of a page, also prefetches the rows between these two
 * rows. A scan reads the rows of a page from its end to its beginning, an
 * order that hardware prefetchers do not recognise.
 */
static inline void
prefetch_rows(row_places *places, const char *x)
{
	ptrdiff_t	step = places->last_row - x;
	ptrdiff_t	bytes = step;

	places->last_row = x;
	if (unlikely(step <= 0 || step > MAX_STEP_BYTES))
	{
		step = places->step;
		bytes = ROWS_AHEAD * step;
	}
	places->step = step;
	for (ptrdiff_t line = 0; line < bytes; line += LINE_BYTES)
		__builtin_prefetch(x - ROWS_AHEAD * step - FRONT_BYTES + line);
}

/* ---- arguments ---- */

/*
 * Reads a vector argument of any accepted type. Each argument needs a reader
 * of its own.
 */
static inline vector
read_vector_argument(FunctionCallInfo fcinfo, vector_reader *reader,
					 int argument, const char *name)
{
	(void) argument_form(fcinfo, reader, argument);
	return read_vector(reader, PG_GETARG_DATUM(argument), name);
}

extern void check_vector_dim(const vector *v, size_t expected, const char *of_what);
extern const double *vector_doubles(const vector *v, double *buffer);
extern void check_finite(const vector *v);
extern void check_single_precision(const vector *v);
extern Datum make_float8_array(const double *values, int count);

/*
 * Returns an array of `count` elements. Sets *values to the elements, which
 * the caller must fill.
 */
extern Datum empty_float8_array(int count, double **values);
extern Datum empty_float4_array(int count, float **values);
extern Datum make_float4_array(const float *values, int count);
extern Datum make_int4_array(const int32 *values, int count);

/*
 * make_text_array makes an array of text. read_text_array returns the elements
 * of an array without NULLs, and sets *count to their number.
 */
extern ArrayType *make_text_array(Datum *texts, Size count);
extern Datum *read_text_array(ArrayType *array, int *count);

/*
 * Returns a two-dimensional integer[] with the given elements in row-major
 * order.
 */
extern Datum make_int4_rows(Datum *elements, int rows, int columns);
extern Datum make_int8_array(const int64 *values, int count);
extern double *read_float8_array(Datum datum, int expected, const char *argument);

/*
 * numbers_argument returns the elements of an array argument, or NULL if the
 * argument is NULL. The array must have `expected` elements. scales_argument
 * also requires each element to be positive.
 */
extern double *numbers_argument(FunctionCallInfo fcinfo, int argument,
								Size expected, const char *name);
extern double *scales_argument(FunctionCallInfo fcinfo, int argument, Size expected);

/*
 * Returns element i of a row. The row is `floats` or, if this is NULL,
 * `doubles`; both may be unaligned.
 */
extern double row_element(const double *doubles, const float *floats, size_t i);

/*
 * Raises an error if an element of a row is NaN or infinite. The row is
 * `floats` or, if this is NULL, `doubles`; both may be unaligned.
 */
extern void reject_not_finite(const double *doubles, const float *floats, size_t d);

#endif							/* FASTCLUST_VECTORS_H */
