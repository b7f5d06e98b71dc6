/*
 * vector_type.h - SQL types that are accepted as vectors. Functions declare a
 * vector argument as "any". Its type is looked up once for each call site: an
 * array of numbers, row_vector, a type of pgvector, a domain over one of
 * these, or a literal or text that is read as an array.
 */
#ifndef FASTCLUST_VECTOR_TYPE_H
#define FASTCLUST_VECTOR_TYPE_H

#include "fmgr.h"

typedef enum vector_form
{
	VECTOR_ARRAY = 0,			/* an array of numbers, or row_vector */
	VECTOR_FLOATS,				/* type vector of pgvector; VECTOR_HALVES and
								 * VECTOR_SPARSE are its types halfvec and
								 * sparsevec */
	VECTOR_HALVES,
	VECTOR_SPARSE,
	VECTOR_LITERAL,				/* text of an array as a C string */
	VECTOR_TEXT,				/* text of an array as text, varchar or char */
	VECTOR_NUMBER,				/* a number: not a vector, but models accept
								 * it */
	VECTOR_ROW,					/* a row: not a vector, but models accept it */
	VECTOR_NONE
} vector_form;

extern vector_form form_of_type(Oid type);

/*
 * Returns true if a column of this type contains vectors. Text and literals do
 * not count.
 */
static inline bool
is_vector_type(Oid type)
{
	return form_of_type(type) <= VECTOR_SPARSE;
}

/*
 * Returns the form of an argument, given by its type. Raises an error
 * (datatype_mismatch) unless the type is a vector or, if `rows` is true, a
 * number or a row.
 */
extern vector_form form_of_argument(FunctionCallInfo fcinfo, int argument, bool rows);

/*
 * Parses the text of an array, "{1,2}", or of a vector of pgvector, "[1,2]".
 * Returns a double precision[].
 */
extern Datum array_of_text(const char *given);

/*
 * Values of the types of the extension "vector" (pgvector), read by their
 * documented layout. After the varlena header, a value contains:
 *
 *     vector      int16 d, int16 0, float x[d]
 *     halfvec     int16 d, int16 0, half x[d]
 *     sparsevec   int32 d, int32 nonzeros, int32 0, int32 index[nonzeros],
 *                 float value[nonzeros]
 *
 * The indices of a sparsevec begin at 0 and rise. A value whose size or
 * indices do not match its first fields is an error (data_corrupted).
 */

/*
 * A view of a stored value of pgvector, without a copy. Pointers may be
 * unaligned.
 */
typedef struct pgvector_value
{
	int			d;
	int			nonzeros;		/* number of stored elements of a sparsevec */
	const char *indices;		/* `nonzeros` int32 values: indices of a
								 * sparsevec */
	const char *elements;		/* d floats, d halves or nonzeros floats */
} pgvector_value;

extern pgvector_value open_pgvector(vector_form form, Datum datum, const char *argument);

/*
 * Copies the indices and values of a sparsevec to `scratch` (8 bytes per
 * element) if they are not aligned.
 */
static inline void
align_sparse(pgvector_value *value, void *scratch)
{
	Size		bytes = (Size) value->nonzeros * sizeof(int32);

	if ((uintptr_t) value->indices % sizeof(int32) == 0)
		return;
	memcpy(scratch, value->indices, 2 * bytes);
	value->indices = scratch;
	value->elements = value->indices + bytes;
}

/* Writes the elements to out, as d floats. */
extern void expand_pgvector(vector_form form, const pgvector_value *value, float *out);

/*
 * ---- numbers of a row given as columns of any number type ----
 *
 * The types are looked up once for each call site.
 */

typedef struct column_reader
{
	int			first;			/* index of the argument that has the first
								 * column */
	int			d;
	Oid			types[FUNC_MAX_ARGS];	/* base types of the columns */
} column_reader;

/*
 * Returns true if the type is smallint, integer, bigint, real, double
 * precision or numeric, or a domain over one of these.
 */
extern bool is_column_type(Oid type);

/*
 * Converts a number to double. The type is smallint, integer, bigint, real,
 * double precision or numeric, not a domain.
 */
extern double number_as_double(Datum number, Oid type);

/*
 * Makes a reader for `count` arguments from `first` on, declared "any". Raises
 * an error if a column is not a number.
 */
extern void make_column_reader(FunctionCallInfo fcinfo, int first, int count,
							   column_reader *reader);

/*
 * Reads the columns of the current call into x (d values); a NULL is read as
 * 0. Returns false if a column is NULL.
 */
extern bool read_columns(FunctionCallInfo fcinfo, const column_reader *reader, double *x);

#endif							/* FASTCLUST_VECTOR_TYPE_H */
