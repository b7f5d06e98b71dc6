/* live.h - live sketches: sketches that follow their tables */
#ifndef FASTCLUST_LIVE_H
#define FASTCLUST_LIVE_H

#include "commands/trigger.h"
#include "datatype/timestamp.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"

#include "drift/counts.h"
#include "pg/base/vectors.h"
#include "sketch/prepared.h"

/* The expressions of a row that a live sketch counts. */
enum
{
	LIVE_VECTOR,
	LIVE_GROUP,					/* text */
	LIVE_BUCKET,				/* timestamptz */
	LIVE_FILTER,				/* is the row counted? */
	LIVE_EXPRESSIONS
};

/*
 * The expressions of a live sketch, ready to be evaluated by one statement at
 * a time.
 */
typedef struct live_evaluation
{
	MemoryContext context;		/* owns everything in this struct */
	uint64		generation;		/* of functions, types and roles when it was
								 * made */
	Oid			user;			/* whose rights to casts were checked */
	Size		bytes;			/* of the context after the first statement;
								 * 0: none yet */
	ExprState  *states[LIVE_EXPRESSIONS];
} live_evaluation;

/*
 * A live sketch as the triggers of one leaf know it; of this process, until
 * the table changes.
 */
typedef struct live_sketch
{
	int64		id;
	Oid			leaf;
	Oid			function;		/* of its triggers */
	char	   *leaf_name;
	bool		grouped;
	bool		bucketed;
	bool		filtered;
	/* an expression calls a function that is neither the server's nor ours */
	bool		foreign[LIVE_EXPRESSIONS];
	bool		settings;		/* expressions depend on settings of the
								 * session */
	char	   *name;
	char	   *lost;			/* why the leaf cannot be followed; NULL: it
								 * can */
	fc_spec    *spec;			/* without pilot rows */
	fc_drift_spec *drift_spec;	/* NULL: rows are not counted for drift */
	Oid			deltas;			/* the table live_deltas */
	/* of the table's row; NULL where there is none, and where one is a column */
	Node	   *expressions[LIVE_EXPRESSIONS];
	int			plain[LIVE_EXPRESSIONS];	/* the number of that column, else
											 * 0 */
	bool		lasting;		/* an evaluation may serve many statements */
	live_evaluation *evaluation;	/* of the last statement, for the next;
									 * else NULL */
	/* numbers of those that they read, or read when the leaf was counted */
	Bitmapset  *columns;
} live_sketch;

/*
 * The live sketch of an id and a leaf; NULL when the table is no leaf of one
 * of that id. It stays until the transaction ends.
 */
extern live_sketch *live_sketch_of(int64 id, Relation leaf, Oid function);

/*
 * The live sketch that the trigger's argument names; NULL when the table is no
 * leaf of one of that id. It stays until the transaction ends.
 */
extern live_sketch *live_sketch_of_trigger(TriggerData *trigger, Oid function);

/*
 * Returns the expressions ready to be evaluated, in the context, which the
 * caller gives back with them after the statement: until then they go with the
 * context, as after an error. NULL: all of them are columns.
 */
extern live_evaluation *live_begin_evaluation(live_sketch *live, MemoryContext context);
extern void live_end_evaluation(live_sketch *live, live_evaluation *evaluation);

/*
 * A query for an id and a leaf, $1 and $2, under the latest snapshot; within
 * SPI.
 */
extern void live_execute(const char *query, int64 id, Oid leaf, bool read_only);

/* At the end of a transaction. */
extern void live_free_retired(void);

/* Changes of one statement, by group and bucket. */
typedef struct live_changes live_changes;

extern live_changes *live_begin_changes(const live_sketch *live);

/* A row that came (sign 1) or went (-1).  group may be NULL. */
extern void live_count_row(live_changes *changes, int sign, Datum vector,
						   const text *group, TimestampTz bucket);

/* Should what is held be written before more comes? */
extern bool live_changes_are_large(const live_changes *changes);

/* The columns of live_deltas; later versions of the extension add behind. */
enum
{
	DELTA_LIVE_ID,
	DELTA_LEAF,
	DELTA_AT,
	DELTA_GROUP,
	DELTA_BUCKET,
	DELTA_ROWS,					/* these three are pairs: added, removed */
	DELTA_SKETCH = DELTA_ROWS + 2,
	DELTA_COUNTS = DELTA_SKETCH + 2,
	DELTA_LOST = DELTA_COUNTS + 2,
	DELTA_COLUMNS
};

/* The table by its name; InvalidOid where it is gone. */
extern Oid	live_deltas_id(void);

/* Rows that were added or removed. */
typedef struct live_side
{
	const void *rows;			/* bytea */
	const void *sketch;
	const void *counts;			/* drift_counts */
} live_side;

/*
 * A row of live_deltas. Missing parts are NULL; a bucket is DT_NOBEGIN then.
 */
typedef struct live_delta
{
	int64		id;
	Oid			leaf;
	const text *group;
	TimestampTz bucket;
	live_side	sides[2];		/* added, removed */
	const char *lost;
} live_delta;

/* Append the held changes to live_deltas, and forget them. */
extern void live_write_changes(live_changes *changes);

/* Append some; the last of the three lets the transaction see them. */
typedef struct live_writer live_writer;

extern live_writer *live_begin_deltas(const live_sketch *live);
extern void live_write_delta(live_writer *writer, const live_delta *delta);
extern void live_end_deltas(live_writer *writer);

/*
 * Rows as a bytea: a byte that says the bytes of an element, 4 or 8, then the
 * elements of all rows.
 */
#define LIVE_ROWS_FRONT	1

/*
 * The rows of such bytes into an open sketch; into open counts, or a larger
 * copy.
 */
extern void live_add_rows(const fc_prepared *prepared, fc_sketch *sketch,
						  const unsigned char *bytes, Size size);
extern fc_drift_counts *live_count_rows(const fc_drift_spec *spec, fc_drift_counts *counts,
										const unsigned char *bytes, Size size);

#endif							/* FASTCLUST_LIVE_H */
