/*
 * vector_type.h - which types a vector may have.
 *
 * Functions of a vector are declared for "any". The type is looked up once for
 * each call site, before the bytes: an array of numbers, row_vector, a type of
 * pgvector's, a domain over one of these, or a literal or text that is read as
 * an array.
 */
#ifndef FASTCLUST_VECTOR_TYPE_H
#define FASTCLUST_VECTOR_TYPE_H

#include "fmgr.h"

typedef enum vector_form
{
	VECTOR_ARRAY = 0,			/* an array of numbers, row_vector */
	VECTOR_FLOATS,				/* vector, halfvec and sparsevec of pgvector */
	VECTOR_HALVES,
	VECTOR_SPARSE,
	VECTOR_LITERAL,				/* the text of an array: a C string */
	VECTOR_TEXT,				/* the same as text */
	VECTOR_NUMBER,				/* no vectors, but models take them: a number */
	VECTOR_ROW,					/* a row */
	VECTOR_NONE
} vector_form;

extern vector_form form_of_type(Oid type);

/* Do values of a column of the type hold vectors? */
static inline bool
is_vector_type(Oid type)
{
	return form_of_type(type) <= VECTOR_SPARSE;
}

/*
 * The form of an argument by its type; the error (datatype_mismatch) of a type
 * that is none. rows: numbers and rows are taken, too.
 */
extern vector_form
			form_of_argument(FunctionCallInfo fcinfo, int argument, bool rows);

/* double precision[] of its text */
extern Datum array_of_text(char *text);

/*
 * Vectors of the extension "vector" (pgvector), read by their documented
 * layout:
 *
 *     vector      int16 d, int16 0, float x[d]
 *     halfvec     int16 d, int16 0, half x[d]
 *     sparsevec   int32 d, int32 nonzeros, int32 0, int32 index[nonzeros]
 *                 rising from 0, float value[nonzeros]
 *
 * behind the length of a varlena. A value that its head does not fit is an
 * error (data_corrupted), whatever its bytes.
 */

/* A value in place: elements on any byte. */
typedef struct pgvector_value
{
	int			d;
	int			nonzeros;		/* sparsevec */
	const char *indices;		/* sparsevec: nonzeros int32 */
	const char *elements;		/* d floats, d halves or nonzeros floats */
} pgvector_value;

extern pgvector_value
			open_pgvector(vector_form form, Datum datum, const char *argument);

/*
 * Of a sparsevec: indices and values aligned, in `room` (8 bytes an element)
 * where they are not yet.
 */
static inline void
align_sparse(pgvector_value *value, void *room)
{
	Size		bytes = (Size) value->nonzeros * sizeof(int32);

	if ((uintptr_t) value->indices % sizeof(int32) == 0)
		return;
	memcpy(room, value->indices, 2 * bytes);
	value->indices = room;
	value->elements = value->indices + bytes;
}

/* out (d floats) = the elements. */
extern void
			expand_pgvector(vector_form form, const pgvector_value *value, float *out);

/*
 * ---- numbers of a row given as columns of any number type ----
 *
 * The types are looked up once for each call site.
 */

typedef struct column_reader
{
	int			first;			/* argument of the first column */
	int			d;
	Oid			types[FUNC_MAX_ARGS];	/* no domains */
} column_reader;

/*
 * smallint, integer, bigint, real, double precision or numeric, or a domain
 * over one.
 */
extern bool is_column_type(Oid type);

/* A number of one of these types, which is no domain. */
extern double number_as_double(Datum number, Oid type);

/*
 * For `count` arguments from `first` on, declared "any". The error of a column
 * that is no number.
 */
extern void make_column_reader(FunctionCallInfo fcinfo, int first, int count,
							   column_reader *reader);

/* x (d): the columns of this row, 0 for NULL; false when one is NULL. */
extern bool
			read_columns(FunctionCallInfo fcinfo, const column_reader *reader, double *x);

#endif							/* FASTCLUST_VECTOR_TYPE_H */
