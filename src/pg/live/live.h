/* live.h - live sketches: sketches that follow their tables */
#ifndef FASTCLUST_LIVE_H
#define FASTCLUST_LIVE_H

#include "postgres.h"

#include "commands/trigger.h"
#include "datatype/timestamp.h"
#include "nodes/bitmapset.h"
#include "nodes/nodes.h"

#include "drift/counts.h"
#include "pg/base/vectors.h"
#include "sketch/layout.h"
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

/* A live sketch as the triggers of one table know it; of this process, until the table changes. */
typedef struct live_sketch
{
	int64		id;
	bool		whole;			/* the table is the relation, and has no parts */
	bool		grouped;
	bool		bucketed;
	bool		filtered;
	bool		settings;		/* expressions depend on settings of the session */
	char	   *name;
	char	   *lost;			/* why the table cannot be followed; NULL: it can */
	char	   *scan;			/* the query that sketches the table's own rows; $1 is the spec, $2 the drift_spec */
	fc_spec    *spec;			/* without pilot rows */
	fc_drift_spec *drift_spec;	/* NULL: rows are not counted for drift */
	Oid			spec_types[2];	/* sketch_spec, drift_spec */
	Oid			deltas;			/* the table live_deltas */
	Node	   *expressions[LIVE_EXPRESSIONS];	/* of the table's row; NULL where there is none, and where one is a column */
	int			plain[LIVE_EXPRESSIONS];	/* the number of that column, else 0 */
	Bitmapset  *columns;		/* numbers of those that they read */
	int			changes;		/* statements since this process folded it */
	TransactionId folded_in;	/* by which this process folded it last */
	int			fold_after;		/* statements until that folds it again */
} live_sketch;

/* Between these two a live_sketch stays, whatever happens to its table. */
extern void live_enter(void);
extern void live_leave(void);

/* The live sketch that the trigger's argument names; NULL when the table is no part of one of that id. */
extern live_sketch *live_sketch_of_trigger(TriggerData *trigger, Oid function);

/* Settings of the session by which text of a value, or the meaning of an expression, would differ; AtEOXact_GUC ends it. */
extern int	live_fix_settings(void);

/* Changes of one statement, by group and bucket. */
typedef struct live_changes live_changes;

extern live_changes *live_begin_changes(const live_sketch *live);

/* A row that came (sign 1) or went (-1).  group may be NULL. */
extern void live_count_row(live_changes *changes, int sign, Datum vector, const text *group, TimestampTz bucket);

/* Should what is held be written before more comes? */
extern bool live_changes_are_large(const live_changes *changes);

/* The columns of live_deltas; later versions of the extension add behind. */
enum
{
	DELTA_LIVE_ID,
	DELTA_AT,
	DELTA_GROUP,
	DELTA_BUCKET,
	DELTA_ROWS,					/* these three are pairs: added, removed */
	DELTA_SKETCH = DELTA_ROWS + 2,
	DELTA_LOST = DELTA_SKETCH + 2,
	DELTA_CAME,
	DELTA_WENT,
	DELTA_COUNTS,
	DELTA_COLUMNS = DELTA_COUNTS + 2
};

/* The table by its name; InvalidOid where it is gone. */
extern Oid	live_deltas_id(void);

/* What came or what went. */
typedef struct live_side
{
	const void *rows;			/* bytea */
	const void *sketch;
	const void *counts;			/* drift_counts */
} live_side;

/* A row of live_deltas.  What is not there is NULL; a bucket is DT_NOBEGIN then. */
typedef struct live_delta
{
	int64		id;
	const text *group;
	TimestampTz bucket;
	live_side	sides[2];		/* added, removed */
	const char *lost;
} live_delta;

/* A delta counts as what it says; its sketches and counts are detoasted, and stay the caller's. */
extern void live_count_delta(live_changes *changes, const live_delta *delta);

/* Hand over what is held, a delta for each group and bucket, and forget it. */
typedef void (*live_taker) (void *argument, const live_delta *delta);

extern void live_take_changes(live_changes *changes, live_taker take, void *argument);

/* Append what is held to live_deltas, and forget it. */
extern void live_write_changes(live_changes *changes);

/* Append some; the last of the three lets the transaction see them. */
typedef struct live_writer live_writer;

extern live_writer *live_begin_deltas(const live_sketch *live);
extern void live_write_delta(live_writer *writer, const live_delta *delta);
extern void live_end_deltas(live_writer *writer);

/* Rows as a bytea: a byte that says the bytes of an element, 4 or 8, then the elements of all rows. */
#define LIVE_ROWS_FRONT	1

/* The rows of such bytes into an open sketch; into open counts, or a larger copy. */
extern void live_add_rows(const fc_prepared *prepared, fc_sketch *sketch, const unsigned char *bytes, Size size);
extern fc_drift_counts *live_count_rows(const fc_drift_spec *spec, fc_drift_counts *counts, const unsigned char *bytes, Size size);

#endif							/* FASTCLUST_LIVE_H */
