/*
 * scan_state.h - plans and states of scan_agg; a state holds several sums,
 * each a value of its own
 */
#ifndef FASTCLUST_SCAN_STATE_H
#define FASTCLUST_SCAN_STATE_H

#include "drift/counts.h"
#include "pg/base/collect.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/sums.h"
#include "pg/train/scan_result.h"
#include "rkhs/map.h"
#include "sketch/layout.h"

/* Fields of the type scan_plan, in their order. */
enum
{
	PLAN_ENCODER,
	PLAN_METRIC,
	PLAN_CENTER,
	PLAN_SCALE,
	PLAN_MAP,
	PLAN_SPEC,
	PLAN_DRIFT_SPEC,
	PLAN_SHARE,
	PLAN_SIZE,
	PLAN_SAMPLE_CENTER,
	PLAN_SAMPLE_VARIANCE,
	PLAN_SEED,
	PLAN_RANK_LIMIT,
	PLAN_OPERATORS,
	PLAN_FIELDS
};

typedef struct plan_fields
{
	Datum		value[PLAN_FIELDS];
	bool		null[PLAN_FIELDS];
} plan_fields;

/* Plan without its operators, prepared for rows. */
typedef struct scan_plan
{
	MemoryContext context;		/* owns everything in this struct */
	plan_fields fields;			/* own copies, except of the operators */
	Size		d;				/* dimension of rows in their own units; 0:
								 * not yet known */
	const char *of_what;		/* name of the field that set d, for errors */
	prepared_encoder *encoder;	/* encoder of columns; NULL: rows are vectors */
	record_reader record;
	listed_reader listed;		/* readers of columns given as arguments; made
								 * at the first row */
	fc_metric	metric;
	const double *center;		/* center and scale: d values each; NULL: rows
								 * are not scaled */
	const double *scale;
	fc_kernel_map *map;			/* kernel features; NULL: none */
	const fc_spec *spec;		/* NULL: no sketch */
	const fc_drift_spec *drift_spec;	/* NULL: no counts */
	uint64		share;			/* mask: rows whose hash has none of its bits
								 * enter sketch and counts */
	coreset_plan sample;		/* weighted sample; size 0: none */
	bool		complete;		/* true once dimension and units are set, if
								 * need be from the first row */
} scan_plan;

/*
 * Functions of scan_plan.c: read_plan_fields returns the fields of a plan;
 * plan_of_fields returns `kept` if all its fields but the operators are the
 * same, else a new plan in a child context of `home`.
 */
extern plan_fields read_plan_fields(Datum plan);
extern scan_plan *plan_of_fields(scan_plan *kept, const plan_fields *fields, MemoryContext home);

/* Sets the dimension of rows, if no field has set it, and their units. */
extern void complete_plan(scan_plan *plan, Size d);

/* Block of rows that wait to enter the sums, no more than a batch. */
typedef struct scan_rows
{
	struct scan_rows *earlier;	/* the block before, or NULL */
	Size		room;
	Size		count;
	uint64	   *keys;			/* keys to hash, one for each of `room` rows */
	/* room x d numbers, in the rows' own units; of length 1 with cosine */
	double		raw[FLEXIBLE_ARRAY_MEMBER];
} scan_rows;

/*
 * Transition state of scan_agg. A sum is NULL if the plan has no such section,
 * or no row has entered it.
 */
typedef struct scan_state
{
	const state_kind *kind;
	int64		n;				/* rows in the sums, without rows that wait */
	int64		nulls;
	fc_sketch  *sketch;
	fc_drift_counts *counts;
	fc_coreset *sample;
	fc_step    *step[SCAN_STEPS];

	/*
	 * SCAN_STEPS views into the steps; this and the following fields are only
	 * set in a state that takes rows
	 */
	fc_operator *op;
	bool		pruning_tried[SCAN_STEPS];	/* true once pruning bounds of
											 * many centroids have been tried */
	fc_columns *columns[SCAN_STEPS];	/* columns of the operator, for sparse
										 * rows; NULL: not made */
	struct scan_call_state *call;
	scan_plan  *plan;
	scan_rows  *rows;			/* latest block of rows that wait */
	Size		waiting;		/* number of waiting rows in earlier blocks */
	bool		started;		/* true once the sums have been made */
	Size		capacity;		/* rows per batch */
} scan_state;

extern const state_kind scan_state_kind;

/* ---- scan_rows.c ---- */

enum
{
	ARGUMENT_PLAN = 1,
	ARGUMENT_KEY,
	ARGUMENT_CELLS
};

/* Call state: readers, the last plan, and the work space of a batch. */
typedef struct scan_call_state
{
	MemoryContext home;
	vector_reader reader;
	row_places	places;			/* places of plain rows, for prefetching */
	sparse_scratch sparse;
	bool		record;			/* true if the cells are one composite
								 * argument */
	scan_plan  *plan;			/* plan of the latest state */
	Size		rows;			/* rows since progress was last reported */
	fc_scratch	scratch;
	Size		doubles_count;
	double	   *doubles;		/* rows in units, ranks and features of a
								 * batch */
} scan_call_state;

#define FIRST_BYTES	512			/* bytes of a state's first block, small
								 * because many groups may have few rows each;
								 * blocks grow fourfold */

static inline uint64
key_of(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(ARGUMENT_KEY) ? 0
		: (uint64) PG_GETARG_INT64(ARGUMENT_KEY);
}

/* Returns the capacity for a sample that needs room for `wanted` rows. */
extern Size capacity_of_sample(const fc_coreset *sample, Size wanted);

/* Makes room for `floats` floats of work space in the call state. */
extern void reserve_scratch(scan_call_state *call, Size floats);

/*
 * start_steps makes Lloyd's sums of the plan's operators; start_sums makes
 * sketch, counts and sample.
 */
extern void start_steps(FunctionCallInfo fcinfo, scan_call_state *call,
						scan_state *state, Datum operators);
extern void start_sums(FunctionCallInfo fcinfo, scan_state *state);

/*
 * add_room adds a block for `room` rows that wait; rows_in returns how many
 * rows fit into some bytes.
 */
extern void add_room(scan_state *state, Size room);
extern Size rows_in(const scan_state *state, Size bytes);

/*
 * Makes room for a next row once a block is full: adds a larger block while a
 * state has few rows and no sums, else adds the rows to the sums.
 */
extern void make_room(FunctionCallInfo fcinfo, scan_state *state);

/* Adds the rows that wait to the sums. */
extern void fold_scan(FunctionCallInfo fcinfo, scan_state *state);

/*
 * Adds the sparse row of the call to the sums. Returns SPARSE_UNKNOWN if the
 * row must be read as a dense one.
 */
extern sparse_outcome
			add_sparse_row(FunctionCallInfo fcinfo, scan_call_state *call, scan_state *state);

#endif							/* FASTCLUST_SCAN_STATE_H */
