/*
 * scan_state.h - plans and states of scan_agg; the sums in a state are
 * separate varlena values
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
#include "sketch/prepared.h"

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
	PLAN_WEIGHT_FACTOR,
	PLAN_FIELDS
};

typedef struct plan_fields
{
	Datum		value[PLAN_FIELDS];
	bool		null[PLAN_FIELDS];
} plan_fields;

/*
 * Plan of a scan, prepared for adding rows. Its operators are not included:
 * each state reads them again.
 */
typedef struct scan_plan
{
	MemoryContext context;		/* owns everything in this struct */
	plan_fields fields;			/* values of the plan's fields; copied, except
								 * for the operators */
	Size		d;				/* dimension of unscaled rows; 0 until it is
								 * known */
	const char *of_what;		/* name of the field that set d, for errors */
	prepared_encoder *encoder;	/* encoder of columns; NULL if rows are
								 * vectors */
	record_reader record;
	fc_metric	metric;

	/*
	 * true: rows with missing values enter the sample and Lloyd's sums as
	 * they are, and rows without any value are left out; false: missing
	 * values are replaced by fill values
	 */
	bool		observed;
	const double *center;		/* center and scale: d values each; NULL: rows
								 * are not scaled */
	const double *scale;
	fc_kernel_map *map;			/* map to kernel features, or NULL */
	const fc_spec *spec;		/* spec of the sketch, or NULL */
	const fc_prepared *prepared;	/* the spec prepared, or NULL */
	uint64		generation;		/* value of prepared_generation for which
								 * `prepared` is valid */
	const fc_drift_spec *drift_spec;	/* spec of the drift counts, or NULL */
	uint64		share;			/* mask: rows with (hash & share) == 0 enter
								 * the sketch and the drift counts */
	coreset_plan sample;		/* weighted sample; size 0 if it is not
								 * requested */
	double		weight_factor;	/* factor of weights in the sketch; 0: each
								 * row has the weight 1 */
	bool		complete;		/* true once complete_plan has set the
								 * dimension and the scaling */
} scan_plan;

/* Returns the fields of a plan (scan_plan.c). */
extern plan_fields read_plan_fields(Datum plan);

/*
 * Returns `kept` if its fields are equal to `fields`; operators are not
 * compared. Otherwise returns a new plan in a child context of `call_context`.
 */
extern scan_plan *plan_of_fields(scan_plan *kept, const plan_fields *fields,
								 MemoryContext call_context);

/*
 * Sets the dimension of rows to d, unless a field has set it, and reads the
 * scaling of rows.
 */
extern void complete_plan(scan_plan *plan, Size d);

/* Block of buffered rows, which are not in the sums yet; at most a batch. */
typedef struct scan_rows
{
	struct scan_rows *earlier;	/* the previous block, or NULL */
	Size		capacity;
	Size		count;
	uint64	   *keys;			/* `capacity` keys, one for each row; when the
								 * rows are added to the sums, hashes replace
								 * them */
	double	   *weights;		/* `capacity` weights; NULL: each is 1 */

	/*
	 * capacity x d values of rows, not scaled; NaN for values of columns that
	 * are missing. The rows have length 1 if the metric is cosine
	 */
	double		raw[FLEXIBLE_ARRAY_MEMBER];
} scan_rows;

/*
 * Transition state of scan_agg. A sum is NULL if the plan does not request it,
 * and may be NULL while it has no rows.
 */
typedef struct scan_state
{
	const state_kind *kind;
	int64		n;				/* number of rows in the sums, excluding
								 * buffered rows */
	int64		nulls;			/* number of rows with a NULL, see scan_result */
	fc_sketch  *sketch;
	fc_drift_counts *counts;
	fc_coreset *sample;
	fc_step    *step[SCAN_STEPS];

	/*
	 * The fields from here on are only set in a state to which rows are
	 * added. op: SCAN_STEPS views of the operators in `step`
	 */
	fc_operator *op;
	bool		pruning_tried[SCAN_STEPS];	/* true after the first attempt to
											 * compute pruning bounds for many
											 * centroids */
	fc_columns *columns[SCAN_STEPS];	/* centroids stored by column, for
										 * sparse rows; NULL until they are
										 * made */
	double		center_square;	/* square of the sample's center, for sparse
								 * rows */
	struct scan_call_state *call;
	scan_plan  *plan;
	scan_rows  *rows;			/* latest block of buffered rows */
	Size		pending;		/* number of buffered rows in earlier blocks */
	bool		started;		/* true once the sums have been made */
	Size		capacity;		/* number of rows per batch */
} scan_state;

extern const state_kind scan_state_kind;

/* ---- scan_rows.c ---- */

enum
{
	ARGUMENT_PLAN = 1,
	ARGUMENT_KEY,
	ARGUMENT_CELLS,				/* weight of the row or, if the plan has no
								 * weights, the first column or the vector */
};

/*
 * State that scan_agg keeps between the calls of one call site: readers, the
 * latest plan, and the scratch space of a batch.
 */
typedef struct scan_call_state
{
	MemoryContext call_context;
	vector_reader reader;
	row_places	places;			/* addresses of plain rows, for prefetching */
	sparse_scratch sparse;
	int			cells;			/* index of the first argument with a column
								 * or the vector; 0 until the first row */
	bool		record;			/* true if the columns are passed as one
								 * composite argument */
	scan_plan  *plan;			/* plan of the latest state */
	Size		rows;			/* number of rows since progress was last
								 * reported */
	fc_scratch	scratch;
	Size		doubles_count;
	double	   *doubles;		/* scratch space for one batch: scaled rows,
								 * ranks, features and filled rows */
} scan_call_state;

/*
 * Size in bytes of the first block of buffered rows in a state without Lloyd's
 * sums. It is small because many groups may have few rows each. Each further
 * block is four times as large as the block before it, up to
 * MAX_SMALL_BLOCK_BYTES (scan_rows.c). A guess.
 */
#define FIRST_BLOCK_BYTES	512

static inline uint64
key_of(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(ARGUMENT_KEY) ? 0
		: (uint64) PG_GETARG_INT64(ARGUMENT_KEY);
}

/* Returns the weight of the row of the call. */
static inline double
weight_of(FunctionCallInfo fcinfo, const scan_plan *plan)
{
	return plan->weight_factor > 0 ? PG_GETARG_FLOAT8(ARGUMENT_CELLS) : 1;
}

/*
 * Returns the capacity to allocate for a sample that must hold `wanted` rows.
 */
extern Size capacity_of_sample(const fc_coreset *sample, Size elements, Size wanted);

/* Grows the scratch space in the call state to at least `floats` floats. */
extern void reserve_scratch(scan_call_state *call, Size floats);

/*
 * start_steps makes empty Lloyd's sums for the operators of the plan;
 * start_sums makes an empty sketch, empty counts and an empty sample.
 */
extern void start_steps(FunctionCallInfo fcinfo, scan_call_state *call,
						scan_state *state, Datum operators);
extern void start_sums(FunctionCallInfo fcinfo, scan_state *state);

/*
 * add_capacity adds a block for `capacity` buffered rows. rows_in returns the
 * number of rows that fit into a block of `bytes` bytes.
 */
extern void add_capacity(scan_state *state, Size capacity);
extern Size rows_in(const scan_state *state, Size bytes);

/*
 * Provides capacity for the next row when a block is full: adds a larger block
 * while a state has few rows and no sums, else adds the rows to the sums.
 */
extern void make_capacity(FunctionCallInfo fcinfo, scan_state *state);

/* Adds the buffered rows to the sums. */
extern void fold_scan(FunctionCallInfo fcinfo, scan_state *state);

/*
 * Adds the sparse row of the call to the sums. Returns SPARSE_UNKNOWN if the
 * row must be read as a dense one.
 */
extern sparse_outcome
			add_sparse_row(FunctionCallInfo fcinfo, scan_call_state *call, scan_state *state);

#endif							/* FASTCLUST_SCAN_STATE_H */
