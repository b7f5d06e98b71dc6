/*
 * values.h - text and binary I/O of the stored types, and access to their
 * values. Each type is a varlena. Equal values have equal bytes behind the
 * length word, so all types share one text form (hex) and the comparison of
 * bytea. They differ in the core function that validates untrusted bytes.
 */
#ifndef FASTCLUST_VALUES_H
#define FASTCLUST_VALUES_H

#include "lib/stringinfo.h"

#include "pg/base/arguments.h"

typedef struct value_type
{
	const char *name;
	fc_status	(*check) (const void *bytes, size_t size);
	const char *of_model;		/* name of the SQL function that returns a
								 * model's value of this type, for a hint;
								 * NULL if there is none */
} value_type;

/*
 * Returns the value with the alignment of its type: the datum itself if it is
 * aligned, else a detoasted copy.
 */
extern void *aligned_value(Datum datum);

/* Returns a detoasted copy of a value; NULL for a NULL pointer. */
static inline void *
copied_value(const void *value)
{
	return value == NULL ? NULL : PG_DETOAST_DATUM_COPY(PointerGetDatum(value));
}

/*
 * Returns the type cache entry of a type, with its extended hash function. If
 * the type has no such function, raises an error that `values`, such as
 * "labels", of this type cannot be compared.
 */
extern struct TypeCacheEntry *hashed_type(Oid type, const char *values);

extern Datum value_in(FunctionCallInfo fcinfo, const value_type *type);
extern Datum value_recv(FunctionCallInfo fcinfo, const value_type *type);

/*
 * Returns the text form of a value of any stored type: \x and hexadecimal
 * digits. The binary form is written by bytea's send function.
 */
extern char *value_text(const void *value);

/* Appends the key and the numbers as a JSON list, for describe(). */
extern void append_json_list(StringInfo json, const char *key,
							 const double *values, Size count);

#endif							/* FASTCLUST_VALUES_H */
