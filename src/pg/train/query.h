/* query.h - queries of a training; SPI is connected */
#ifndef FASTCLUST_TRAIN_QUERY_H
#define FASTCLUST_TRAIN_QUERY_H

#include "executor/spi.h"

typedef struct query_argument
{
	const char *type;
	Datum		value;
	bool		null;
} query_argument;

#define QUERY_PARALLEL	0x01
#define QUERY_STABLE	0x04	/* in the snapshot of the calling query */
#define QUERY_CONSTANTS	0x02	/* arguments become constants of the plan, as
								 * Citus and postgres_fdw need; else they stay
								 * where they are */

/* A type of ours or of pg_catalog. */
extern Oid	type_of_name(const char *name);

/* NULL is NULL. */
extern query_argument text_argument(const char *value);

extern void run_query(const char *text, int count,
					  const query_argument *arguments, int flags);
extern void end_query(void);	/* forgets the result, as the next query does */
extern Datum query_value(uint64 row, int column, bool *null);	/* of the result, in
																 * place */

/*
 * The value of a query of one row and one column, in the current context;
 * NULL is 0, with *null set where that is given.
 */
extern Datum
			query_datum(const char *text, int count, const query_argument *arguments,
						int flags, bool *null);

/*
 * A composite value of a type of ours, column by column; those that are not
 * set are NULL, or as they are in another record of the type.
 */
typedef struct record_builder
{
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;
} record_builder;

extern record_builder begin_record(const char *type, Datum other);	/* other 0: none */
extern void set_column(record_builder *row, const char *name, Datum value);
extern void set_value(record_builder *row, const char *name,
					  const void *value);	/* NULL is NULL, as below */
extern void set_text(record_builder *row, const char *name, const char *value);
extern void set_number(record_builder *row, const char *name, double value);	/* NAN: NULL */
extern void set_numbers(record_builder *row, const char *name,
						const double *values, Size count);
extern Datum end_record(record_builder *row);

#endif							/* FASTCLUST_TRAIN_QUERY_H */
