/*
 * values.h - the stored types: text and binary I/O, access.
 *
 * Each is a varlena whose bytes behind the length word are canonical, so all
 * types share one text form (hex) and the comparison of bytea. They differ in
 * the core function that validates untrusted bytes.
 */
#ifndef FASTCLUST_VALUES_H
#define FASTCLUST_VALUES_H

#include "lib/stringinfo.h"

#include "pg/base/arguments.h"

typedef struct value_type
{
	const char *name;
	fc_status	(*check) (const void *bytes, size_t size);
} value_type;

/* Returns the value itself or a flat copy, with the alignment of its type. */
extern void *aligned_value(Datum datum);

extern Datum value_in(FunctionCallInfo fcinfo, const value_type *type);
extern Datum value_recv(FunctionCallInfo fcinfo, const value_type *type);

/* Returns the text form, which all types share; the binary form is bytea's. */
extern char *value_text(const struct varlena *value);

/* Appends the key and the numbers as a JSON list, for describe(). */
extern void append_json_list(StringInfo json, const char *key,
							 const double *values, Size count);

#endif							/* FASTCLUST_VALUES_H */
