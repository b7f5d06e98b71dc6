/*
 * live_changes.c - collects the changes of a leaf in memory, by group and
 * bucket, and writes them as rows of live_deltas
 *
 * The added rows and the removed rows of a change are its two sides, which are
 * collected separately. A side is a list of rows as long as the list takes
 * fewer bytes than a sketch. After that it is a sketch and, if there is a
 * drift_spec, drift counts.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/drift/drift_value.h"
#include "pg/live/live.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/*
 * Inverse of the share of fastclust.memory_budget that changes in memory may
 * take. With a larger value, changes are written in smaller pieces. A guess.
 */
#define BUDGET_SHARE	4

/* Approximate size in bytes of a change without its rows. A guess. */
#define CHANGE_BYTES	512

/*
 * Initial capacity of a side, in rows; most statements change few rows. A
 * guess.
 */
#define FIRST_ROWS	2

/*
 * Maximum length in bytes of the text of a group, which must fit into an entry
 * of the index of live_bases.
 */
#define GROUP_BYTES	2000

/* The added rows of a change, or its removed rows. */
typedef struct row_side
{
	StringInfoData rows;		/* rows as a bytea (LIVE_ROWS_FRONT); data is
								 * NULL if there are no rows */
	fc_sketch  *sketch;			/* unpacked sketch of the rows; NULL as long
								 * as the rows are a list */
	fc_drift_counts *counts;	/* unpacked drift counts of the rows in the
								 * sketch; NULL without a sketch or a
								 * drift_spec */
} row_side;

/* The group and bucket of a change. */
typedef struct change_key
{
	const text *group;			/* NULL if the live sketch has no groups */
	TimestampTz bucket;
} change_key;

typedef struct group_change
{
	change_key	key;
	row_side	sides[2];		/* [0] added rows, [1] removed rows */
} group_change;

struct live_changes
{
	const live_sketch *live;
	MemoryContext context;		/* owns the changes with their rows and
								 * sketches; reset after writing */

	/* owns the detoasted values of the current row; reset after each row */
	MemoryContext row_context;
	HTAB	   *table;			/* changes by group and bucket; NULL before
								 * the first row */
	group_change *only;			/* single change if there are neither groups
								 * nor buckets */
	Size		bytes;			/* approximate memory of the changes */
	Size		sketch_bytes;	/* size in bytes of a sketch with its drift
								 * counts; maximum length of a list of rows */
	const fc_prepared *prepared;	/* prepared spec; valid while
									 * prepared_generation equals `generation` */
	uint64		generation;
	vector_reader reader;
	vector		given;			/* current row before it is scaled, for error
								 * messages */

	/*
	 * scratch for a row scaled to length 1, d values; NULL unless the metric
	 * is cosine
	 */
	double	   *unit;
};

/* ---- changes ---- */

static uint32
hash_change_key(const void *key, Size size)
{
	const change_key *k = key;
	uint32		hash = hash_bytes((const unsigned char *) &k->bucket,
								  sizeof(k->bucket));

	return k->group == NULL
		? hash
		: hash ^
		hash_bytes((const unsigned char *) VARDATA_ANY(k->group),
				   (int) VARSIZE_ANY_EXHDR(k->group));
}

static int
compare_change_keys(const void *a, const void *b, Size size)
{
	const change_key *x = a;
	const change_key *y = b;

	if (x->bucket != y->bucket || (x->group == NULL) != (y->group == NULL))
		return 1;
	return x->group != NULL &&
		(VARSIZE_ANY_EXHDR(x->group) != VARSIZE_ANY_EXHDR(y->group) ||
		 memcmp(VARDATA_ANY(x->group), VARDATA_ANY(y->group),
				VARSIZE_ANY_EXHDR(x->group)) != 0);
}

static HTAB *
make_changes(MemoryContext context)
{
	HASHCTL		control = {
		.keysize = sizeof(change_key),
		.entrysize = sizeof(group_change),
		.hash = hash_change_key,
		.match = compare_change_keys,
		.hcxt = context
	};

	return hash_create("fastclust live changes", 64, &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

static group_change *
change_of(live_changes *changes, const text *group, TimestampTz bucket)
{
	change_key	key = {.group = group,.bucket = bucket};
	group_change *found;
	bool		present;

	if (!changes->live->grouped && !changes->live->bucketed)
	{
		if (changes->only == NULL)
		{
			changes->only = MemoryContextAllocZero(changes->context,
												   sizeof(group_change));
			changes->only->key = key;
		}
		return changes->only;
	}
	if (changes->table == NULL)
		changes->table = make_changes(changes->context);
	found = hash_search(changes->table, &key, HASH_ENTER, &present);
	if (!present)
	{
		if (group != NULL)
			found->key.group = memcpy(MemoryContextAlloc(changes->context,
														 VARSIZE_ANY(group)),
									  group, VARSIZE_ANY(group));
		memset(found->sides, 0, sizeof(found->sides));
		changes->bytes += CHANGE_BYTES + (group == NULL ? 0 : VARSIZE_ANY(group));
	}
	return found;
}

/* ---- rows ---- */

static const fc_prepared *
prepared_of_changes(live_changes *changes)
{
	if (unlikely(changes->prepared == NULL ||
				 changes->generation != prepared_generation))
	{
		changes->prepared = prepared_of_spec(changes->live->spec);
		changes->generation = prepared_generation;
	}
	return changes->prepared;
}

/*
 * Adds the row to a sketch. If `sketch` is NULL, only checks the row. Raises
 * an error for a row that a sketch does not accept.
 */
static void
add_to_sketch(live_changes *changes, fc_sketch *sketch, const vector *v)
{
	const fc_prepared *prepared = prepared_of_changes(changes);
	fc_row		row = {
		.doubles = v->doubles,
		.floats = v->floats,
		.weight = FC_ONE_WEIGHT
	};
	fc_status	status;

	if (sketch == NULL)
		status = fc_sketch_check_row(prepared, &row);
	else
	{
		fc_sketch_view view = fc_sketch_view_of(sketch);

		status = fc_sketch_add(prepared, &row, &view);
	}

	if (unlikely(status != FC_OK))
		report_row(status, changes->given.doubles, changes->given.floats,
				   (size_t) v->d);
}

/*
 * Moves the rows of a side into a new sketch and, if there is a drift_spec,
 * into new drift counts.
 */
static void
make_sketch(live_changes *changes, row_side *side)
{
	side->sketch = sketch_unpack(NULL, changes->live->spec);
	changes->bytes += VARSIZE(side->sketch);
	if (changes->live->drift_spec != NULL)
	{
		side->counts = new_drift_counts(changes->live->drift_spec, 0);
		changes->bytes += VARSIZE(side->counts);
	}
	if (side->rows.data != NULL)
	{
		const unsigned char *kept = ((const unsigned char *) side->rows.data +
									 VARHDRSZ);
		Size		size = (Size) side->rows.len - VARHDRSZ;

		live_add_rows(prepared_of_changes(changes), side->sketch, kept, size);
		if (side->counts != NULL)
			side->counts = live_count_rows(changes->live->drift_spec,
										   side->counts, kept, size);
		changes->bytes -= (Size) side->rows.maxlen;
		pfree(side->rows.data);
		side->rows.data = NULL;
	}
}

/*
 * Appends the row to side->rows, the list of added or removed rows. Raises an
 * error for a row that a sketch does not accept.
 */
static void
keep_row(live_changes *changes, row_side *side, const vector *v)
{
	Size		width = v->floats != NULL ? sizeof(float) : sizeof(double);
	Size		row_bytes = (Size) v->d * width;
	const char *elements = (v->floats != NULL ? (const char *) v->floats
							: (const char *) v->doubles);
	int			before = side->rows.data == NULL ? 0 : side->rows.maxlen;

	add_to_sketch(changes, NULL, v);
	if (side->rows.data == NULL)
	{
		side->rows.maxlen = (int) (VARHDRSZ + LIVE_ROWS_FRONT +
								   FIRST_ROWS * row_bytes + 1);
		side->rows.data = palloc((Size) side->rows.maxlen);
		resetStringInfo(&side->rows);
		appendStringInfoSpaces(&side->rows, VARHDRSZ);
		appendStringInfoChar(&side->rows, (char) width);
	}
	appendBinaryStringInfo(&side->rows, elements, (int) row_bytes);
	changes->bytes += (Size) (side->rows.maxlen - before);
}

/*
 * Returns true if the row can be appended to the list of a side. Returns false
 * if the side is a sketch, if the list would take more bytes than a sketch, or
 * if either the list or the row, but not both, has values of type float.
 */
static bool
row_is_kept(const live_changes *changes, const row_side *side, const vector *v)
{
	Size		width = v->floats != NULL ? sizeof(float) : sizeof(double);

	if (side->sketch != NULL)
		return false;
	if (side->rows.data == NULL)
		return (Size) v->d * width <= changes->sketch_bytes;
	return side->rows.data[VARHDRSZ] == (char) width &&
		(Size) side->rows.len + (Size) v->d * width <= changes->sketch_bytes;
}

/*
 * Reads the row; for a cosine sketch, scales it to length 1. Returns false for
 * a zero vector, which cannot be scaled.
 */
static bool
read_row(live_changes *changes, Datum value, vector *v)
{
	*v = changes->given = read_vector(&changes->reader, value, "x");
	check_vector_dim(v, changes->live->spec->dim, "the sketch_spec");
	if (changes->unit == NULL)
		return true;
	v->doubles = metric_row(FC_COSINE, v, changes->unit);
	v->floats = NULL;
	return v->doubles != NULL;
}

/*
 * Counts a row in the change of its group and bucket, either in the list of
 * rows or in the sketch.
 */
static void
count_vector(live_changes *changes, int sign, const vector *v,
			 const text *group, TimestampTz bucket)
{
	row_side   *side = (&change_of(changes, group, bucket)->sides[sign > 0 ? 0 : 1]);

	if (row_is_kept(changes, side, v))
		keep_row(changes, side, v);
	else
	{
		if (side->sketch == NULL)
			make_sketch(changes, side);
		add_to_sketch(changes, side->sketch, v);
		if (side->counts != NULL)
		{
			const fc_drift_prepared
					   *prepared = drift_prepared_of_spec(changes->live->drift_spec);

			side->counts = drift_counts_add_row(prepared, v->doubles, v->floats, 1,
												side->counts);
		}
	}
}

void
live_count_row(live_changes *changes, int sign, Datum value, const text *group,
			   TimestampTz bucket)
{
	MemoryContext old = MemoryContextSwitchTo(changes->row_context);
	vector		v;

	if (read_row(changes, value, &v))
	{
		MemoryContextSwitchTo(changes->context);

		/*
		 * A group must fit into an index entry of live_bases. For rows that a
		 * scan counts, write_leaf in SQL raises this error.
		 */
		if (sign > 0 && group != NULL && VARSIZE_ANY_EXHDR(group) > GROUP_BYTES)
			ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("a group value of live sketch \"%s\" has %zu bytes",
						   changes->live->name,
						   (Size) VARSIZE_ANY_EXHDR(group)),
					errdetail("The maximum is %d bytes.", GROUP_BYTES));
		count_vector(changes, sign, &v, group, bucket);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(changes->row_context);
}

/* ---- all changes ---- */

live_changes *
live_begin_changes(const live_sketch *live)
{
	live_changes *changes = palloc0(sizeof(live_changes));

	if (live->drift_spec != NULL && live->drift_spec->dim != live->spec->dim)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the drift_spec of a live sketch has %u dimensions, but its sketch_spec has %u",
					   live->drift_spec->dim, live->spec->dim));
	changes->live = live;
	changes->context = AllocSetContextCreate(CurrentMemoryContext,
											 "fastclust live changes",
											 ALLOCSET_SMALL_SIZES);
	changes->row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "fastclust live row",
												 ALLOCSET_SMALL_SIZES);
	changes->reader.context = CurrentMemoryContext;
	if (fc_spec_metric(live->spec) == FC_COSINE)
		changes->unit = palloc(live->spec->dim * sizeof(double));
	changes->reader.anywhere = changes->unit == NULL;
	changes->sketch_bytes = fc_sketch_size(live->spec, 0, 0) +
		(live->drift_spec == NULL
		 ? 0
		 : fc_drift_size_of_spec(live->drift_spec, 0));
	return changes;
}

bool
live_changes_are_large(const live_changes *changes)
{
	return changes->bytes >
		(Size) fastclust_memory_budget * 1024 / BUDGET_SHARE &&
		changes->table != NULL;
}

static live_side
closed_side(const row_side *side)
{
	if (side->rows.data != NULL)
		SET_VARSIZE(side->rows.data, side->rows.len);
	return (live_side)
	{
		.rows = side->rows.data,
			.sketch = side->sketch == NULL
			? NULL
			: sketch_pack(side->sketch),
			.counts = side->counts == NULL
			? NULL
			: drift_counts_pack(side->counts)
	};
}

static void
write_change(live_writer *writer, const live_changes *changes,
			 const group_change *change)
{
	live_delta	delta = {
		.id = changes->live->id,
		.leaf = changes->live->leaf,
		.group = change->key.group,
		.bucket = change->key.bucket,
		.sides = {closed_side(&change->sides[0]), closed_side(&change->sides[1])}
	};

	live_write_delta(writer, &delta);
}

void
live_write_changes(live_changes *changes)
{
	MemoryContext old;
	live_writer *writer;
	HASH_SEQ_STATUS scan;
	group_change *change;

	if (changes->only == NULL && changes->table == NULL)
		return;
	old = MemoryContextSwitchTo(changes->context);
	writer = live_begin_deltas(changes->live);
	if (changes->only != NULL)
		write_change(writer, changes, changes->only);
	if (changes->table != NULL)
	{
		hash_seq_init(&scan, changes->table);
		while ((change = hash_seq_search(&scan)) != NULL)
			write_change(writer, changes, change);
	}
	live_end_deltas(writer);
	MemoryContextSwitchTo(old);
	changes->only = NULL;
	changes->table = NULL;
	changes->bytes = 0;
	MemoryContextReset(changes->context);
}
