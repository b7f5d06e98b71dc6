/*
 * values.h - the stored types: text and binary I/O, access.
 *
 * Each is a varlena whose bytes behind the length word are canonical, so one
 * text form (hex) and the comparison of bytea serve all. What differs is the
 * core function that validates untrusted bytes.
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

/* The value in place, or a flat copy.  Alignment is the type's. */
extern void *aligned_value(Datum datum);

extern Datum value_in(FunctionCallInfo fcinfo, const value_type *type);
extern Datum value_recv(FunctionCallInfo fcinfo, const value_type *type);

/* The text form of all types; the binary one is that of bytea. */
extern char *value_text(const struct varlena *value);

/* For describe(): the key, and the numbers as a JSON list. */
extern void append_json_list(StringInfo json, const char *key,
							 const double *values, Size count);

#endif							/* FASTCLUST_VALUES_H */
