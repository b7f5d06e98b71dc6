/* vectors.h - reading vector arguments without copies, and building arrays */
#ifndef FASTCLUST_VECTORS_H
#define FASTCLUST_VECTORS_H

#include "pg/base/compat.h"
#include "pg/base/vector_type.h"

/*
 * One vector argument: d floats or doubles, aligned, valid until the arrays
 * behind it go.
 */
typedef struct vector
{
	const double *doubles;		/* one of the two is not NULL */
	const float *floats;
	int			d;
} vector;

/*
 * Read a one-dimensional array of numbers without NULLs, or a vector of
 * pgvector's. Packed values are read in place where alignment allows, else
 * copied to `buffer` (FC_MAX_DIM doubles at most, grown in `context`).
 */
typedef struct vector_reader
{
	MemoryContext context;		/* where the buffer lives */
	void	   *buffer;
	Size		buffer_size;
	bool		anywhere;		/* the caller reads elements on any byte: no
								 * copy */
	bool		formed;			/* form is known */
	vector_form form;
} vector_reader;

/*
 * The fields of a one-dimensional array behind its length word, packed or not.
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
 * The elements, on any byte, of an array of one dimension without NULLs as it
 * lies there; NULL for others.
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

extern vector
			read_vector(vector_reader *reader, Datum datum, const char *argument);

/*
 * A vector of pgvector, in place; a sparsevec aligned, in the buffer where it
 * must be.
 */
extern pgvector_value read_pgvector_in_place(vector_reader *reader, Datum datum,
											 const char *argument);

/* The form of the values that a call site gives in one argument. */
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

/* ---- rows of a table asked for before they are met ---- */

#define LINE_BYTES	64			/* of a processor's cache */
#define FRONT_BYTES	48			/* of a row before its elements, about */
#define MOST_BYTES	512
#define ROWS_AHEAD	4

typedef struct row_places
{
	const char *last_row;		/* where the last row lay; never read */
	ptrdiff_t	step;			/* from row to row of a page */
} row_places;

/*
 * A scan meets a page's rows from its end to its begin, which prefetchers
 * miss: ask for a row some rows on while this one is at work, and on a new
 * page for all up to there.
 */
static inline void
prefetch_rows(row_places *places, const char *x)
{
	ptrdiff_t	step = places->last_row - x;
	ptrdiff_t	bytes = step;

	places->last_row = x;
	if (unlikely(step <= 0 || step > MOST_BYTES))
	{
		step = places->step;
		bytes = ROWS_AHEAD * step;
	}
	places->step = step;
	for (ptrdiff_t line = 0; line < bytes; line += LINE_BYTES)
		__builtin_prefetch(x - ROWS_AHEAD * step - FRONT_BYTES + line);
}

/* ---- arguments ---- */

/* Read an argument by its type; a reader is for one argument. */
static inline vector
read_vector_argument(FunctionCallInfo fcinfo, vector_reader *reader,
					 int argument, const char *name)
{
	(void) argument_form(fcinfo, reader, argument);
	return read_vector(reader, PG_GETARG_DATUM(argument), name);
}

extern void
			check_vector_dim(const vector *v, size_t expected, const char *of_what);
extern const double *vector_doubles(const vector *v, double *buffer);
extern void check_finite(const vector *v);
extern void check_single_precision(const vector *v);
extern Datum make_float8_array(const double *values, int count);
extern Datum empty_float8_array(int count, double **values);	/* *values: to be filled */
extern Datum empty_float4_array(int count, float **values);
extern Datum make_float4_array(const float *values, int count);
extern Datum make_int4_array(const int32 *values, int count);

/* An int4[] of two dimensions, from its elements row by row. */
extern Datum make_int4_rows(Datum *elements, int rows, int columns);
extern Datum make_int8_array(const int64 *values, int count);
extern double *read_float8_array(Datum datum, int expected, const char *argument);

/*
 * An argument's values (expected of them), NULL of NULL; and those of scales,
 * each positive.
 */
extern double *numbers_argument(FunctionCallInfo fcinfo, int argument,
								Size expected, const char *name);
extern double *scales_argument(FunctionCallInfo fcinfo, int argument, Size expected);

/* An element of a row of doubles or, unless NULL, floats, on any byte. */
extern double row_element(const double *doubles, const float *floats, size_t i);

/*
 * The error of the first element that is NaN or infinite, where there is one,
 * of such a row.
 */
extern void
			reject_not_finite(const double *doubles, const float *floats, size_t d);

#endif							/* FASTCLUST_VECTORS_H */
