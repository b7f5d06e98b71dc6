/* columns.h - numbers of a row given as columns of any number type; the types are looked up once for each call site */
#ifndef FASTCLUST_COLUMNS_H
#define FASTCLUST_COLUMNS_H

#include "postgres.h"

#include "fmgr.h"

typedef enum column_kind
{
	COLUMN_INT2,
	COLUMN_INT4,
	COLUMN_INT8,
	COLUMN_FLOAT4,
	COLUMN_FLOAT8,
	COLUMN_NUMERIC
} column_kind;

typedef struct column_reader
{
	int			first;			/* argument of the first column */
	int			d;
	column_kind kind[FUNC_MAX_ARGS];
} column_reader;

/* One of those types, or a domain over one. */
extern bool is_column_type(Oid type);

/* For `count` arguments from `first` on, declared "any".  The error of a column that is no number. */
extern void make_column_reader(FunctionCallInfo fcinfo, int first, int count, column_reader *reader);

/* x (d): the columns of this row; false when one is NULL. */
extern bool read_columns(FunctionCallInfo fcinfo, const column_reader *reader, double *x);

#endif							/* FASTCLUST_COLUMNS_H */
