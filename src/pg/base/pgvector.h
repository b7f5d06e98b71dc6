/*
 * pgvector.h - vectors of the extension "vector" (pgvector), read by their documented layout:
 *
 *     vector      int16 d, int16 0, float x[d]
 *     halfvec     int16 d, int16 0, half x[d]
 *     sparsevec   int32 d, int32 nonzeros, int32 0, int32 index[nonzeros] rising from 0, float value[nonzeros]
 *
 * behind the length of a varlena.  A value that is not what its head says is an error (data_corrupted), whatever its bytes.
 */
#ifndef FASTCLUST_PGVECTOR_H
#define FASTCLUST_PGVECTOR_H

#include "postgres.h"

#include "pg/base/vector_type.h"

/* A value where it lies: elements on any byte. */
typedef struct pgvector_value
{
	int			d;
	int			nonzeros;		/* sparsevec */
	const char *indices;		/* sparsevec: nonzeros int32 */
	const char *elements;		/* d floats, d halves or nonzeros floats */
} pgvector_value;

extern pgvector_value open_pgvector(vector_form form, Datum datum, const char *argument);

/* Of a sparsevec: indices and values aligned, in `room` (8 bytes an element) where they are not yet. */
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
extern void expand_pgvector(vector_form form, const pgvector_value *value, float *out);

#endif							/* FASTCLUST_PGVECTOR_H */
