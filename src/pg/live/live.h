/* live.h - live sketches, which triggers keep up to date with their tables */
#ifndef FASTCLUST_LIVE_H
#define FASTCLUST_LIVE_H

#include "commands/trigger.h"
#include "datatype/timestamp.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"

#include "drift/counts.h"
#include "pg/base/vectors.h"
#include "sketch/prepared.h"

/* Expressions that a live sketch evaluates for each row. */
enum
{
	LIVE_VECTOR,
	LIVE_GROUP,					/* text */
	LIVE_BUCKET,				/* timestamptz, or NULL to skip the row */
	LIVE_FILTER,				/* boolean: true to count the row */
	LIVE_EXPRESSIONS
};

/*
 * The expressions of a live sketch, initialized for evaluation. One statement
 * uses them at a time.
 */
typedef struct live_evaluation
{
	MemoryContext context;		/* owns everything in this struct */
	uint64		generation;		/* value of `generation` (live_cache.c) when
								 * the expressions were initialized */
	Oid			user;			/* role whose right to execute casts was
								 * checked */
	Size		bytes;			/* size of `context` at the end of the first
								 * statement that used it; 0 before */
	ExprState  *states[LIVE_EXPRESSIONS];	/* NULL for a plain column, and
											 * for an expression that does not
											 * exist */
} live_evaluation;

/*
 * A live sketch together with one of its leaves, a table or partition whose
 * rows the live sketch counts. It is cached in this process until the leaf
 * changes.
 */
typedef struct live_sketch
{
	int64		id;
	Oid			leaf;
	Oid			function;		/* OID of the trigger function */
	char	   *leaf_name;
	bool		grouped;
	bool		bucketed;
	bool		filtered;

	/*
	 * true for an expression that calls a function which belongs neither to
	 * the server nor to this extension
	 */
	bool		foreign[LIVE_EXPRESSIONS];

	/*
	 * true if an expression is not a plain column, and so may depend on
	 * settings of the session. Volatility does not show this dependence,
	 * because output functions are declared immutable.
	 */
	bool		settings;
	char	   *name;
	char	   *lost;			/* reason why triggers cannot maintain the
								 * counts of the leaf; NULL if they can */
	fc_spec    *spec;			/* sketch spec without its sample rows */
	fc_drift_spec *drift_spec;	/* NULL if rows are not counted for drift */
	Oid			deltas;			/* OID of the table live_deltas */

	/*
	 * plan of each expression over a row of the table; NULL if the expression
	 * does not exist or is a plain column
	 */
	Node	   *expressions[LIVE_EXPRESSIONS];
	int			plain[LIVE_EXPRESSIONS];	/* attribute number of each
											 * expression that is a plain
											 * column; 0 for other expressions */
	bool		lasting;		/* true if later statements may use the same
								 * evaluation */
	live_evaluation *evaluation;	/* initialized expressions of an earlier
									 * statement, which the next statement may
									 * use; NULL if there are none */

	/*
	 * attribute numbers of the columns that the expressions read, and of the
	 * columns that were recorded when the leaf was counted; an UPDATE that
	 * leaves all of them unchanged is ignored
	 */
	Bitmapset  *columns;
} live_sketch;

/*
 * Returns the live sketch with this id, read for the given leaf. The result is
 * valid until the transaction ends. Returns NULL if the live sketch does not
 * have this leaf.
 */
extern live_sketch *live_sketch_of(int64 id, Relation leaf, Oid function);

/*
 * Returns the live sketch whose id is the trigger's argument. The result is
 * valid until the transaction ends. Returns NULL if the table is not a leaf of
 * the live sketch, or if keep_sketch did not make the trigger.
 */
extern live_sketch *live_sketch_of_trigger(TriggerData *trigger, Oid function);

/*
 * live_begin_evaluation returns the expressions, initialized for evaluation,
 * or NULL if all of them are plain columns. They belong to `context` until the
 * end of the statement. live_end_evaluation is called at that end, and keeps
 * them for the next statement or frees them. If the statement fails before the
 * call, they are freed with `context`.
 */
extern live_evaluation *live_begin_evaluation(live_sketch *live, MemoryContext context);
extern void live_end_evaluation(live_sketch *live, live_evaluation *evaluation);

/*
 * Runs a query with the parameters $1 = id and $2 = leaf under the latest
 * snapshot. Raises an error if the query fails. The caller has connected to
 * SPI.
 */
extern void live_execute(const char *query, int64 id, Oid leaf, bool read_only);

/*
 * Frees cached live sketches that were replaced by newer ones; called at the
 * end of a transaction.
 */
extern void live_free_retired(void);

/* Changes of one leaf that are still in memory, by group and bucket. */
typedef struct live_changes live_changes;

extern live_changes *live_begin_changes(const live_sketch *live);

/*
 * Counts a row that was added (sign 1) or removed (sign -1). `group` is NULL
 * without groups, and `bucket` is DT_NOBEGIN without buckets. A zero vector is
 * not counted if the metric is cosine.
 */
extern void live_count_row(live_changes *changes, int sign, Datum vector,
						   const text *group, TimestampTz bucket);

/*
 * Returns true if the changes in memory should be written before more rows are
 * counted.
 */
extern bool live_changes_are_large(const live_changes *changes);

/* Columns of live_deltas; later versions of the extension append theirs. */
enum
{
	DELTA_LIVE_ID,
	DELTA_LEAF,
	DELTA_AT,
	DELTA_GROUP,
	DELTA_BUCKET,
	DELTA_ROWS,					/* ROWS, SKETCH and COUNTS have two columns
								 * each: added, removed */
	DELTA_SKETCH = DELTA_ROWS + 2,
	DELTA_COUNTS = DELTA_SKETCH + 2,
	DELTA_LOST = DELTA_COUNTS + 2,
	DELTA_COLUMNS
};

/*
 * Returns the OID of the table live_deltas, or InvalidOid if it does not
 * exist.
 */
extern Oid	live_deltas_id(void);

/*
 * The added rows of a delta, or its removed rows. Few rows are stored in
 * `rows`, more rows in `sketch` and, with a drift_spec, in `counts`. Pointers
 * that are not used are NULL.
 */
typedef struct live_side
{
	const void *rows;			/* bytea in the format of LIVE_ROWS_FRONT */
	const void *sketch;
	const void *counts;			/* drift_counts */
} live_side;

/*
 * A row of live_deltas. Pointers are NULL where the column is NULL; a NULL
 * bucket is DT_NOBEGIN.
 */
typedef struct live_delta
{
	int64		id;
	Oid			leaf;
	const text *group;
	TimestampTz bucket;
	live_side	sides[2];		/* [0] added rows, [1] removed rows */
	const char *lost;			/* reason why triggers missed changes of the
								 * leaf, or NULL */
} live_delta;

/* Appends the changes in memory to live_deltas, and frees them. */
extern void live_write_changes(live_changes *changes);

/*
 * State of appending rows to live_deltas. live_begin_deltas opens the table,
 * live_write_delta appends a row, and live_end_deltas makes the rows visible
 * to the transaction.
 */
typedef struct live_writer live_writer;

extern live_writer *live_begin_deltas(const live_sketch *live);
extern void live_write_delta(live_writer *writer, const live_delta *delta);
extern void live_end_deltas(live_writer *writer);

/*
 * Length in bytes of the header of rows that are stored in a bytea. The header
 * is one byte, the size of a value: 4 for float, 8 for double. The values of
 * all rows follow.
 */
#define LIVE_ROWS_FRONT	1

/*
 * live_add_rows adds rows that are stored in a bytea (LIVE_ROWS_FRONT) to an
 * unpacked sketch. live_count_rows adds such rows to unpacked drift counts,
 * and returns the counts or a larger copy of them.
 */
extern void live_add_rows(const fc_prepared *prepared, fc_sketch *sketch,
						  const unsigned char *bytes, Size size);
extern fc_drift_counts *live_count_rows(const fc_drift_spec *spec, fc_drift_counts *counts,
										const unsigned char *bytes, Size size);

#endif							/* FASTCLUST_LIVE_H */
