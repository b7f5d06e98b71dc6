/*
 * scan_state.h - plans and states of scan_agg: sums beside each other, each in
 * bytes of its own
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

/* The fields of the type scan_plan. */
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

/* A plan but for its operators, ready for rows. */
typedef struct scan_plan
{
	MemoryContext context;		/* of all that belongs to it */
	plan_fields fields;			/* copies */
	Size		d;				/* of rows in their own units; 0: not yet
								 * known */
	const char *of_what;		/* is of d dimensions */
	prepared_encoder *encoder;	/* NULL: rows are vectors */
	record_reader record;
	listed_reader listed;		/* readers: NULL until there are columns */
	fc_metric	metric;
	const double *center;		/* d each, NULL: rows are as they are */
	const double *scale;
	fc_kernel_map *map;			/* or NULL */
	const fc_spec *spec;		/* or NULL */
	const fc_drift_spec *drift_spec;	/* or NULL */
	uint64		share;			/* hashes whose bits of this mask are 0 enter
								 * sketch and counts */
	coreset_plan sample;		/* size 0: none */
	bool		complete;		/* no row has to be read */
} scan_plan;

/*
 * scan_plan.c: the fields of a plan; the plan of `kept`, where that has them
 * all but the operators, or a new one in a context of `home`.
 */
extern plan_fields read_plan_fields(Datum plan);
extern scan_plan *plan_of_fields(scan_plan *kept, const plan_fields *fields, MemoryContext home);

/* The dimension of rows, where no field has it, and their units. */
extern void complete_plan(scan_plan *plan, Size d);

/* Rows that wait, a batch at most. */
typedef struct scan_rows
{
	struct scan_rows *earlier;	/* more of them, or NULL */
	Size		room;
	Size		count;
	uint64	   *keys;			/* room */
	/* room x d: in their own units, by cosine of length 1 */
	double		raw[FLEXIBLE_ARRAY_MEMBER];
} scan_rows;

/* A part is NULL where the plan has none, or no row entered it. */
typedef struct scan_state
{
	const state_kind *kind;
	int64		n;				/* without those that wait */
	int64		nulls;
	fc_sketch  *sketch;
	fc_drift_counts *counts;
	fc_coreset *sample;
	fc_step    *step[SCAN_STEPS];

	/*
	 * SCAN_STEPS, views into the steps; these and the fields below of a state
	 * that takes rows
	 */
	fc_operator *op;
	bool		screened[SCAN_STEPS];	/* has a screen of many centroids been
										 * tried? */
	fc_columns *columns[SCAN_STEPS];	/* for sparse rows; NULL: not yet, or
										 * none */
	struct scan_site *site;
	scan_plan  *plan;
	scan_rows  *rows;			/* the latest that wait */
	Size		held;			/* the number of earlier ones */
	bool		started;		/* the sums are there */
	Size		capacity;		/* of a batch */
} scan_state;

extern const state_kind scan_state_kind;

/* ---- scan_rows.c ---- */

enum
{
	ARGUMENT_PLAN = 1,
	ARGUMENT_KEY,
	ARGUMENT_CELLS
};

/*
 * Kept by a call site: its readers, the last plan, and the work space of a
 * batch.
 */
typedef struct scan_site
{
	MemoryContext home;
	vector_reader reader;
	row_places	places;			/* of plain rows */
	sparse_site sparse;
	bool		record;			/* cells are one composite */
	scan_plan  *plan;			/* that of the state made last */
	Size		rows;			/* since progress was told */
	fc_scratch	scratch;
	Size		doubles_count;
	double	   *doubles;		/* rows in units, features, ranks */
} scan_site;

#define FIRST_BYTES	512			/* bytes of the first rows of a state: many
								 * groups have few rows each; room grows
								 * fourfold */

static inline uint64
key_of(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(ARGUMENT_KEY) ? 0
		: (uint64) PG_GETARG_INT64(ARGUMENT_KEY);
}

/* Returns the room of a sample that is to have `wanted` rows or more. */
extern Size capacity_of_sample(const fc_coreset *sample, Size wanted);

/* Makes room for work on so many floats in the call site. */
extern void reserve_scratch(scan_site *site, Size floats);

/* Starts Lloyd's sums of the operators of a plan, and those of rows. */
extern void start_steps(FunctionCallInfo fcinfo, scan_site *site,
						scan_state *state, Datum operators);
extern void start_sums(FunctionCallInfo fcinfo, scan_state *state);

/*
 * Makes room for so many rows that wait; returns how many rows fit into some
 * bytes.
 */
extern void add_room(scan_state *state, Size room);
extern Size rows_in(const scan_state *state, Size bytes);

/*
 * Rows that fill their room enter the sums, or wait until the sums of a state
 * of few rows are made.
 */
extern void make_room(FunctionCallInfo fcinfo, scan_state *state);

/* The rows that wait enter the sums. */
extern void fold_scan(FunctionCallInfo fcinfo, scan_state *state);

/*
 * Adds the sparse row of the call to the sums; SPARSE_UNKNOWN if it is to be
 * taken as any row.
 */
extern sparse_outcome
			add_sparse_row(FunctionCallInfo fcinfo, scan_site *site, scan_state *state);

#endif							/* FASTCLUST_SCAN_STATE_H */
