/*
 * scan_rows.c - rows of a scan_agg state, which are buffered as doubles and
 * added to the sums in batches
 *
 * A state without operators allocates its sums when its first rows are added
 * to them. The rows of a small group are added together, at the end.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "numerics/rows.h"
#include "operator/partial.h"
#include "pg/base/call_cache.h"
#include "pg/base/progress.h"
#include "pg/drift/drift_value.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/rkhs/kernel.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/scan_state.h"
#include "sketch/sketch.h"

/*
 * Size of a sample in bytes above which the sample is allocated with its full
 * capacity, if memory allows, because copying it would take long. A guess.
 */
#define LARGE_SAMPLE_BYTES	((Size) 1 << 20)

/*
 * Maximum size of a block in bytes in a state without sums. Up to this size,
 * the memory context rounds chunks up to a power of two.
 */
#define MAX_SMALL_BLOCK_BYTES	8192

/*
 * Size of the buffered rows in bytes above which a state allocates its sums. A
 * larger limit saves memory for small groups, and takes more for large ones. A
 * guess.
 */
#define PENDING_BYTES	(32 * 1024)

/* ---- states ---- */

void
reserve_scratch(scan_call_state *call, Size floats)
{
	call->scratch.floats = grown(call->call_context, call->scratch.floats,
								 &call->scratch.count, floats, sizeof(float));
}

/*
 * Makes empty Lloyd's sums for operator i, and state->op[i], the view of the
 * operator that labels rows.
 */
static void
start_step(FunctionCallInfo fcinfo, scan_call_state *call, scan_state *state, int i,
		   const fc_operator_header *header)
{
	scan_plan  *plan = state->plan;
	fc_operator *op = &state->op[i];
	Size		d = plan->map != NULL ? plan->map->rank : plan->d;
	Size		rows;

	open_operator(header, op);
	if (op->d != d)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("an operator has %zu dimensions, rows have %zu", op->d,
					   d));
	check_metric_has_means(op->metric);
	rows = fc_step_capacity(op);
	state->capacity = rows > 1 ? rows : state->capacity;
	state->step[i] = new_lloyd_step(fcinfo,
									fc_step_rows_scratch(op, state->capacity) *
									sizeof(float),
									op, header);
	open_operator(fc_step_view_of(state->step[i]).header, op);
	(void) slice_operator(op, CurrentMemoryContext);
	reserve_scratch(call, Max(Max(fc_step_rows_scratch(op, state->capacity),
								  fc_step_scratch(op, 1)),
							  fc_partial_scratch(op)));
	(void) expand_operator(op, call->scratch, CurrentMemoryContext);
}

void
start_steps(FunctionCallInfo fcinfo, scan_call_state *call, scan_state *state,
			Datum operators)
{
	ArrayType  *array = DatumGetArrayTypeP(operators);
	int16		length;
	bool		value;
	char		align;
	Datum	   *elements;
	int			count;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, value, align,
					  &elements, NULL, &count);
	if (count > SCAN_STEPS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("a scan takes %d operators, not %d", SCAN_STEPS, count));
	state->op = palloc0(SCAN_STEPS * sizeof(fc_operator));
	for (int i = 0; i < count; i++)
		start_step(fcinfo, call, state, i, aligned_value(elements[i]));
}

/*
 * Allocates a block for `capacity` rows in the state's memory context, and
 * makes it the latest block.
 */
void
add_capacity(scan_state *state, Size capacity)
{
	Size		numbers = capacity * state->plan->d;
	bool		weighted = state->plan->weight_factor > 0;
	scan_rows  *rows = alloc_large_in(GetMemoryChunkContext(state),
									  offsetof(scan_rows, raw) +
									  (numbers + capacity * (weighted ? 2 : 1)) *
									  sizeof(double));

	rows->earlier = state->rows;
	rows->capacity = capacity;
	rows->count = 0;
	rows->keys = (uint64 *) (rows->raw + numbers);
	rows->weights = weighted ? rows->raw + numbers + capacity : NULL;
	state->rows = rows;
}

/*
 * Returns the number of rows that fit into a block of `bytes` bytes, from 1 to
 * the capacity of the state.
 */
Size
rows_in(const scan_state *state, Size bytes)
{
	Size		count = ((bytes - offsetof(scan_rows, raw)) /
						 ((state->plan->d + 1) * sizeof(double)));

	return Min(state->capacity, Max(1, count));
}

static Size
state_bytes(const scan_state *state)
{
	const void *sections[] = {
		state->sketch,
		state->counts,
		state->sample,
		state->step[0],
		state->step[1]
	};
	Size		bytes = 0;

	for (Size i = 0; i < lengthof(sections); i++)
		bytes += sections[i] != NULL ? VARSIZE(sections[i]) : 0;
	return bytes;
}

/*
 * Makes empty sums, and scratch space for batches. Later rows are buffered
 * until they fill a batch.
 */
void
start_sums(FunctionCallInfo fcinfo, scan_state *state)
{
	scan_call_state *call = state->call;
	const scan_plan *plan = state->plan;
	Size		pending = (state->pending +
						   (state->rows != NULL ? state->rows->count : 0));
	Size		rank = plan->map != NULL ? plan->map->rank : 0;

	state->started = true;
	if (plan->spec != NULL)
		state->sketch = plan->weight_factor > 0
			? sketch_weighted(sketch_unpack(NULL, plan->spec))
			: sketch_unpack(NULL, plan->spec);
	if (plan->drift_spec != NULL)
		state->counts = new_drift_counts(plan->drift_spec,
										 plan->encoder != NULL ? FC_DRIFT_NULLS : 0);
	if (plan->sample.size > 0)
	{
		state->sample = new_coreset(fcinfo, &plan->sample, plan->d,
									plan->metric, pending);
		state->center_square = fc_coreset_center_square(state->sample);
	}
	if (plan->map != NULL)
		reserve_scratch(call, fc_kernel_map_scratch(plan->map));

	/*
	 * scratch space for a batch: scaled rows, ranks, features as doubles and
	 * as floats, and filled rows
	 */
	call->doubles = grown(call->call_context, call->doubles, &call->doubles_count,
						  state->capacity * (plan->d + 1 + rank) + rank +
						  (plan->encoder != NULL ? state->capacity * plan->d : 0),
						  sizeof(double));
	check_budget(2 * state_bytes(state) +
				 Max(pending, state->capacity) * (plan->d + 1) *
				 sizeof(double) +
				 call->scratch.count * sizeof(float) +
				 call->doubles_count * sizeof(double),
				 aggregate_name(fcinfo));
}

/* ---- batches ---- */

/*
 * Returns the capacity for a sample that must hold `wanted` rows. A large
 * sample gets the full capacity, if memory allows. Then no row is copied to a
 * larger state later, and pages that no row has reached yet use no memory.
 */
Size
capacity_of_sample(const fc_coreset *sample, Size elements, Size wanted)
{
	Size		full = full_coreset(sample->size);

	if (fc_coreset_bytes(sample->dim, elements, wanted) > LARGE_SAMPLE_BYTES &&
		fc_coreset_bytes(sample->dim, elements, full) <=
		Min(MaxAllocSize, (Size) fastclust_memory_budget * 1024 / 2))
		return full;
	return Min(wanted, full);
}

/* Returns the scratch space for a copy of the rows of a batch. */
static double *
copy_space(const scan_state *state)
{
	const scan_plan *plan = state->plan;
	Size		rank = plan->map != NULL ? plan->map->rank : 0;

	return state->call->doubles + state->capacity * (plan->d + 1 + rank) + rank;
}

/*
 * Returns the rows of a batch with fill values where values are missing: the
 * raw rows if none is missing, else a copy in the scratch space of the call
 * state.
 */
static const double *
filled_batch(const scan_state *state, const scan_rows *rows)
{
	const scan_plan *plan = state->plan;
	double	   *x = copy_space(state);

	if (plan->encoder == NULL || likely(fc_all_finite(rows->raw, rows->count * plan->d)))
		return rows->raw;
	for (Size r = 0; r < rows->count; r++)
		for (Size i = 0; i < plan->d; i++)
		{
			double		value = rows->raw[r * plan->d + i];

			x[r * plan->d + i] = isnan(value) ? plan->encoder->fill[i] : value;
		}
	return x;
}

/*
 * Returns the scaled rows of a batch: the given rows if there is no scaling,
 * else a copy in the scratch space of the call state.
 */
static const double *
scaled_batch(const scan_state *state, const double *rows, Size n)
{
	const scan_plan *plan = state->plan;
	double	   *x = state->call->doubles;

	if (plan->center == NULL)
		return rows;
	fc_rescale_rows(rows, n, plan->d, plan->center, plan->scale, x);
	return x;
}

/*
 * Adds the NULLs of a row of columns to the drift counts. raw: the encoded row,
 * in which missing values are NaN.
 */
static void
count_nulls(const scan_state *state, const double *raw, uint32 weight)
{
	const fc_encoder *encoder = &state->plan->encoder->view;

	for (Size i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		Size		last = feature->first + feature->width - 1;

		if (isnan(raw[feature->first]) || (feature->missing && raw[last] == 1.0))
			fc_drift_count_null(state->counts, last, weight);
	}
}

/*
 * Returns the weight of a row, which is at most 1, times FC_DRIFT_MAX_WEIGHT,
 * rounded up or down at random so that its expected value is kept. The high
 * bits of the hash are the random number, because the low bits choose the
 * share.
 */
static uint32
whole_weight(double weight, uint64 hash)
{
	return (uint32) Min(floor(weight * FC_DRIFT_MAX_WEIGHT + ldexp((double) (hash >> 32), -32)),
						FC_DRIFT_MAX_WEIGHT);
}

/*
 * Adds n rows to the sketch and the drift counts, except rows whose hash is
 * outside the share. x: the rows with fill values. raw: the rows with NaN for
 * missing values. weights: NULL if each weight is 1. sparse: if not NULL, the
 * elements of the only row, which replace x.
 */
static void
add_share(scan_state *state, const uint64 *hashes, const double *x,
		  const double *raw, const double *weights, Size n, const fc_sparse_row *sparse)
{
	scan_plan  *plan = state->plan;
	const fc_prepared *prepared;
	const fc_drift_prepared
			   *edges = (plan->drift_spec != NULL
						 ? drift_prepared_of_spec(plan->drift_spec)
						 : NULL);
	fc_sketch_view sketch;

	if (plan->spec != NULL &&
		(plan->prepared == NULL || plan->generation != prepared_generation))
	{
		plan->prepared = prepared_of_spec(plan->spec);
		plan->generation = prepared_generation;
	}
	prepared = plan->prepared;
	if (prepared != NULL)
		sketch = fc_sketch_view_of(state->sketch);
	for (Size r = 0; r < n; r++, x += plan->d, raw += plan->d)
	{
		fc_row		row = {
			.doubles = sparse != NULL ? NULL : x,
			.sparse = sparse,
			.weight = FC_ONE_WEIGHT
		};
		fc_status	status = FC_OK;
		uint32		count;

		if ((hashes[r] & plan->share) != 0)
			continue;
		if (weights != NULL)
			status = fc_weight_on_grid(Max(FC_MIN_WEIGHT, weights[r] * plan->weight_factor),
									   &row.weight);
		if (prepared != NULL && status == FC_OK)
			status = fc_sketch_add(prepared, &row, &sketch);
		if (unlikely(status != FC_OK))
			report_row(status, x, NULL, plan->d);
		if (edges == NULL)
			continue;
		count = weights == NULL ? 1 : whole_weight(weights[r] * plan->weight_factor, hashes[r]);
		if (count == 0)
			continue;
		state->counts = sparse != NULL
			? drift_counts_add_sparse_row(edges, sparse, count, state->counts)
			: drift_counts_add_row(edges, x, NULL, count, state->counts);
		if (plan->encoder != NULL)
			count_nulls(state, raw, count);
	}
}

/*
 * Enlarges the sample if it is full, or if its layout cannot store a row with
 * `elements` elements.
 */
static void
make_capacity_in_sample(FunctionCallInfo fcinfo, scan_state *state, Size elements)
{
	fc_coreset *old = state->sample;
	Size		capacity = old->capacity;

	if (fc_coreset_is_full(old))
		capacity = capacity_of_sample(old, elements, 2 * capacity);
	else if (elements == old->elements)
		return;
	state->sample = coreset_with_capacity(fcinfo, old, elements, capacity);
	pfree(old);
}

/*
 * Offers n scaled rows to the sample, which takes the rows of lowest rank.
 * weights: NULL if each weight is 1.
 */
static void
add_to_sample(FunctionCallInfo fcinfo, scan_state *state, const uint64 *hashes,
			  const double *x, const double *weights, Size n)
{
	Size		d = state->plan->d;
	double	   *ranks = state->call->doubles + state->capacity * d;
	double	   *weighted = weights != NULL ? palloc((d + 1) * sizeof(double)) : NULL;

	fc_coreset_ranks(state->sample, hashes, x, n, ranks);
	for (Size r = 0; r < n; r++)
	{
		const double *row = x + r * d;

		if (weights != NULL)
		{
			fc_pair_add(&state->sample->weight, weights[r]);
			ranks[r] /= weights[r];
		}
		if (!fc_coreset_takes(state->sample, ranks[r]))
			continue;
		if (weights != NULL)
		{
			row = memcpy(weighted, row, d * sizeof(double));
			weighted[d] = weights[r];
		}
		make_capacity_in_sample(fcinfo, state, fc_coreset_elements(state->sample, row));
		fc_coreset_take(state->sample, ranks[r], row);
	}
	if (weights != NULL)
		pfree(weighted);
	state->sample->count += (int64) n;
}

/* Offers the sparse row of the call state, which has weight 1, to the sample. */
static void
add_sparse_to_sample(FunctionCallInfo fcinfo, scan_state *state, uint64 hash)
{
	const fc_sparse_row *row = &state->call->sparse.row;
	double		rank = fc_coreset_sparse_rank(state->sample, hash, row, state->center_square);

	if (fc_coreset_takes(state->sample, rank))
	{
		make_capacity_in_sample(fcinfo, state, fc_coreset_sparse_elements(state->sample, row));
		fc_coreset_take_sparse(state->sample, rank, row);
	}
	state->sample->count++;
}

/*
 * Returns the kernel features of the rows, in the scratch space of the call
 * state.
 */
static const double *
features_of(const scan_state *state, const double *x, Size n)
{
	const fc_kernel_map *map = state->plan->map;
	double	   *features = (state->call->doubles +
							state->capacity * (state->plan->d + 1));
	float	   *y = (float *) (features + state->capacity * map->rank);

	for (Size r = 0; r < n; r++)
	{
		fc_check();
		fc_kernel_map_features(map, x + r * state->plan->d,
							   state->call->scratch, y);
		if (!fc_all_finite_float(y, map->rank))
			check_kernel_status(FC_EFAR, &map->kernel);
		fc_widen(y, map->rank, features + r * map->rank);
	}
	return features;
}

/*
 * Raises an error for the first row whose scaled values x are too large for
 * the operators.
 */
static void
check_rows(const scan_state *state, const double *raw, const double *x, Size n)
{
	Size		d = state->plan->d;

	if (likely(fc_all_moderate(x, n * d)))
		return;
	for (Size r = 0; r < n; r++)
	{
		vector		row = {.doubles = x + r * d,.d = (int) d};

		if (state->plan->encoder != NULL)
			reject_far(state->plan->encoder, x + r * d, raw + r * d);
		check_single_precision(&row);
	}
}

/* Counts rows that have entered the sums, and reports progress. */
static void
count_rows(scan_state *state, Size rows)
{
	scan_call_state *call = state->call;

	state->n += (int64) rows;
	for (call->rows += rows; call->rows >= PROGRESS_ROWS;
		 call->rows -= PROGRESS_ROWS)
		report_rows();
}

/*
 * Adds n rows to the sums of operator i. Pruning bounds for many centroids are
 * only computed once there have been enough rows to make up for their cost.
 */
static void
add_to_step(scan_state *state, int i, const double *x, const double *weights, Size n)
{
	fc_operator *op = &state->op[i];

	if (!state->pruning_tried[i] && state->n >= (int64) pruning_from(op->k))
	{
		state->pruning_tried[i] = true;
		(void) prune_operator(op, CurrentMemoryContext);
		reserve_scratch(state->call, fc_step_rows_scratch(op, state->capacity));
	}
	fc_step_add_rows(state->step[i], op, x, weights, n, state->call->scratch);
}

/*
 * Removes rows without any value from a block, because such rows are in no
 * cluster. Also removes their weights and their hashes, which are in the array
 * of keys.
 */
static void
remove_empty_rows(scan_state *state, scan_rows *rows)
{
	Size		d = state->plan->d;
	Size		kept = 0;

	for (Size r = 0; r < rows->count; r++)
	{
		if (fc_partial_observed(rows->raw + r * d, d) == 0)
			continue;
		memmove(rows->raw + kept * d, rows->raw + r * d, d * sizeof(double));
		if (rows->weights != NULL)
			rows->weights[kept] = rows->weights[r];
		rows->keys[kept++] = rows->keys[r];
	}
	state->nulls -= (int64) (rows->count - kept);
	rows->count = kept;
}

/*
 * Returns a copy of n scaled rows without missing values. Missing values
 * become the coordinates of the nearest centroid of operator i, or scaled fill
 * values if such rows cannot be compared with the operator.
 */
static const double *
rows_filled_for(const scan_state *state, int i, const double *x, Size n)
{
	const scan_plan *plan = state->plan;
	fc_operator *op = &state->op[i];
	double	   *filled = memcpy(copy_space(state), x, n * op->d * sizeof(double));
	bool		compared = fc_partial_suits(op);

	if (compared && op->packs == NULL && op->kdtree == NULL)
		(void) pack_operator(op, CurrentMemoryContext);
	for (double *row = filled; row < filled + n * op->d; row += op->d)
	{
		if (fc_all_finite(row, op->d))
			continue;
		if (compared)
			fc_partial_fill(op, fc_partial_assign(op, row, state->call->scratch), row);
		for (Size c = 0; c < op->d; c++)
			if (isnan(row[c]))
				row[c] = plan->center == NULL ? plan->encoder->fill[c]
					: (plan->encoder->fill[c] - plan->center[c]) / plan->scale[c];
	}
	return filled;
}

static void
add_batch(FunctionCallInfo fcinfo, scan_state *state, scan_rows *rows)
{
	const scan_plan *plan = state->plan;
	const double *raw = filled_batch(state, rows);
	const double *x = scaled_batch(state, raw, rows->count);
	bool		partial = plan->observed && raw != rows->raw;

	if (state->sample != NULL || state->step[0] != NULL)
		check_rows(state, raw, x, rows->count);
	if (plan->spec != NULL || plan->drift_spec != NULL || state->sample != NULL)
		fc_coreset_hash(plan->sample.seed, raw, rows->count, plan->d,
						rows->keys);
	if (plan->spec != NULL || plan->drift_spec != NULL)
		add_share(state, rows->keys, raw, rows->raw, rows->weights, rows->count,
				  NULL);
	if (partial)
	{
		remove_empty_rows(state, rows);
		x = scaled_batch(state, rows->raw, rows->count);
	}
	if (state->sample != NULL)
		add_to_sample(fcinfo, state, rows->keys, x, rows->weights, rows->count);
	if (plan->map != NULL && state->step[0] != NULL)
		x = features_of(state, x, rows->count);
	for (int i = 0; i < SCAN_STEPS && state->step[i] != NULL; i++)
		add_to_step(state, i, partial ? rows_filled_for(state, i, x, rows->count) : x,
					rows->weights, rows->count);
	count_rows(state, rows->count);
	rows->count = 0;
}

void
fold_scan(FunctionCallInfo fcinfo, scan_state *state)
{
	MemoryContext old;
	scan_rows  *earlier;

	if (state->rows == NULL || state->pending + state->rows->count == 0)
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(state));
	if (!state->started)
		start_sums(fcinfo, state);
	add_batch(fcinfo, state, state->rows);
	while ((earlier = state->rows->earlier) != NULL)
	{
		add_batch(fcinfo, state, earlier);
		state->rows->earlier = earlier->earlier;
		pfree(earlier);
	}
	state->pending = 0;
	MemoryContextSwitchTo(old);
}

/*
 * Makes space for the next row when the block of buffered rows is full. While
 * the rows are few and the state has no sums, only adds another block.
 * Otherwise adds the rows to the sums, and makes later rows fill whole
 * batches.
 */
void
make_capacity(FunctionCallInfo fcinfo, scan_state *state)
{
	Size		pending = state->pending + state->rows->count;

	if (!state->started &&
		pending * (state->plan->d + 1) * sizeof(double) < PENDING_BYTES)
	{
		state->pending = pending;
		add_capacity(state,
					 Min(rows_in(state, MAX_SMALL_BLOCK_BYTES), 4 * state->rows->capacity));
		return;
	}
	fold_scan(fcinfo, state);
	if (state->rows->capacity < state->capacity)
	{
		pfree(state->rows);
		state->rows = NULL;
		add_capacity(state, state->capacity);
	}
}

/* ---- sparse rows, which are not buffered ---- */

/*
 * Adds the sparse row in the call state to the sums of operator i. The
 * centroids stored by column find its cluster. If they cannot decide, the
 * dense row x is compared with the operator.
 */
static void
add_sparse_step(scan_state *state, int i, const double *x, double weight)
{
	scan_call_state *call = state->call;
	const fc_operator *op = &state->op[i];
	Size		pending = 0;
	const fc_columns *columns = columns_of(&state->columns[i], op,
										   (Size) state->n,
										   CurrentMemoryContext, &pending);
	size_t		cluster;

	if (columns != NULL && fc_columns_assign(columns, &call->sparse.row,
											 call->sparse.scores, &cluster))
		fc_step_add_labelled(state->step[i], op, cluster, x, &call->sparse.row,
							 fc_columns_distance(op, &call->sparse.row,
												 call->sparse.scores, cluster),
							 weight, call->scratch);
	else
		fc_step_add_rows(state->step[i], op, x, &weight, 1, call->scratch);
}

/*
 * Adds the sparse row of the call to the sums. Returns SPARSE_UNKNOWN if rows
 * are scaled or mapped to kernel features, because they are then not sparse.
 */
sparse_outcome
add_sparse_row(FunctionCallInfo fcinfo, scan_call_state *call, scan_state *state)
{
	const scan_plan *plan = state->plan;
	uint64		hash = key_of(fcinfo);
	double		weight = weight_of(fcinfo, plan);
	const double *weights = plan->weight_factor > 0 ? &weight : NULL;
	sparse_outcome outcome;
	MemoryContext old;
	const double *x;

	if (plan->center != NULL || plan->map != NULL)
		return SPARSE_UNKNOWN;
	outcome = take_sparse_row(&call->sparse, &call->reader,
							  PG_GETARG_DATUM(call->cells), plan->metric,
							  plan->d,
							  state->op != NULL
							  ? Max(state->op[0].k, state->op[1].k)
							  : 0);
	if (outcome != SPARSE_KNOWN)
		return outcome;
	x = dense_sparse_row(&call->sparse, call->call_context, plan->d);
	old = MemoryContextSwitchTo(GetMemoryChunkContext(state));
	if (!state->started)
		start_sums(fcinfo, state);
	fc_coreset_hash(plan->sample.seed, x, 1, plan->d, &hash);
	add_share(state, &hash, x, x, weights, 1, &call->sparse.row);
	if (state->sample != NULL && weights == NULL)
		add_sparse_to_sample(fcinfo, state, hash);
	else if (state->sample != NULL)
		add_to_sample(fcinfo, state, &hash, x, weights, 1);
	for (int i = 0; i < SCAN_STEPS && state->step[i] != NULL; i++)
		add_sparse_step(state, i, x, weight);
	MemoryContextSwitchTo(old);
	count_rows(state, 1);
	return SPARSE_KNOWN;
}
