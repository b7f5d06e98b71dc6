/* query.h - queries of a training; callers have connected SPI */
#ifndef FASTCLUST_TRAIN_QUERY_H
#define FASTCLUST_TRAIN_QUERY_H

#include "executor/spi.h"

typedef struct query_argument
{
	const char *type;
	Datum		value;
	bool		null;
} query_argument;

/* Flag of a query that may have workers. */
#define QUERY_PARALLEL	0x01

#define QUERY_STABLE	0x04	/* run in the snapshot of the calling query */
#define QUERY_CONSTANTS	0x02	/* plan with arguments as constants, as Citus
								 * and postgres_fdw need; else they are
								 * parameters, which the plan does not copy */

/*
 * Returns the OID of a type of fastclust or pg_catalog. Raises an error if the
 * type does not exist.
 */
extern Oid	type_of_name(const char *name);

/* Returns a text argument, an SQL NULL for a NULL pointer. */
extern query_argument text_argument(const char *value);

extern void run_query(const char *text, int count,
					  const query_argument *arguments, int flags);
extern void end_query(void);	/* frees the last result; the next run_query
								 * also frees it */

/*
 * Returns a value of the last result without copying it. Rows are counted from
 * 0, columns from 1.
 */
extern Datum query_value(uint64 row, int column, bool *null);

/*
 * Returns the value of a query with one row and one column, copied into the
 * current context. Returns 0 if the value is NULL or there is no row. If
 * `null` is not NULL, sets *null to true in that case, and to false otherwise.
 */
extern Datum query_datum(const char *text, int count, const query_argument *arguments,
						 int flags, bool *null);

/*
 * Builds a composite value of one of fastclust's types, column by column.
 * Columns that are not set are NULL, or copied from another record.
 */
typedef struct record_builder
{
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;
} record_builder;

/* Starts a record, as a copy of the record `other` unless that is 0. */
extern record_builder begin_record(const char *type, Datum other);
extern void set_column(record_builder *row, const char *name, Datum value);
extern void set_value(record_builder *row, const char *name,
					  const void *value);	/* a NULL pointer sets the column
											 * to NULL */
extern void set_text(record_builder *row, const char *name, const char *value);
extern void set_number(record_builder *row, const char *name, double value);	/* NAN sets NULL */
extern void set_numbers(record_builder *row, const char *name,
						const double *values, Size count);
extern Datum end_record(record_builder *row);

#endif							/* FASTCLUST_TRAIN_QUERY_H */
