/*
 * coreset_agg.c - coreset_state_agg: a weighted sample of rows, as an operator whose centroids are the rows.
 *
 * The state is flat bytes (type aggregate_state) that do not depend on the order of the rows.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "operator/coreset.h"
#include "operator/step.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/compat.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/base/values.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sums.h"

#define FIRST_ROOM	16

enum
{
	ARGUMENT_X = 1,
	ARGUMENT_KEY,
	ARGUMENT_SIZE,
	ARGUMENT_CENTER,
	ARGUMENT_VARIANCE,
	ARGUMENT_SEED,
	ARGUMENT_LIMIT,				/* where they are given */
	ARGUMENT_COSINE
};

/* ---- the state ---- */

static fc_coreset *
coreset_argument(FunctionCallInfo fcinfo, int n)
{
	return state_argument(fcinfo, n, FC_STEP_CORESET, FC_STEP_CORESET);
}

/* Room for a state of so many rows beside `held` bytes of the one that it replaces; the executor copies it. */
static fc_coreset *
new_state(FunctionCallInfo fcinfo, Size held, Size d, Size capacity)
{
	Size		bytes = fc_coreset_bytes(d, capacity);
	fc_coreset *state;

	check_budget(bytes + Max(held, bytes), aggregate_name(fcinfo));
	if (bytes > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a sample of %zu rows in %zu dimensions is too large", capacity, d)));
	state = palloc(bytes);
	SET_VARSIZE(state, bytes);
	return state;
}

fc_coreset *
coreset_with_room(FunctionCallInfo fcinfo, const fc_coreset *state, Size capacity)
{
	fc_coreset *moved = new_state(fcinfo, VARSIZE(state), state->dim, capacity);

	fc_coreset_move(state, capacity, moved);
	SET_VARSIZE(moved, fc_coreset_bytes(state->dim, capacity));
	return moved;
}

/* Room for so many rows more and at least twice the room, up to what the sample needs. */
static fc_coreset *
larger_state(FunctionCallInfo fcinfo, const fc_coreset *state, Size rows)
{
	Size		wanted = Max(Max(2 * (Size) state->capacity, FIRST_ROOM), (state->used + rows + 1) / 2 * 2);

	return coreset_with_room(fcinfo, state, Min(wanted, full_coreset(state->size)));
}

/* Without rows; center (d) is for a variance above 0. */
fc_coreset *
new_coreset(FunctionCallInfo fcinfo, const coreset_plan *plan, Size d, fc_metric metric)
{
	Size		capacity = Min(FIRST_ROOM, full_coreset((Size) plan->size));
	fc_coreset *state = new_state(fcinfo, 0, d, capacity);

	fc_coreset_init(d, (Size) plan->size, capacity, plan->seed, plan->center, plan->variance, plan->limit, metric, state);
	SET_VARSIZE(state, fc_coreset_bytes(d, capacity));
	return state;
}

void
check_coreset_plan(const coreset_plan *plan)
{
	check_count("size", plan->size, 1, FC_MAX_CLUSTERS);
	if (plan->center != NULL)
		check_positive("variance", plan->variance);
	if (plan->limit != INFINITY)
		check_positive("rank_limit", plan->limit);
}

static fc_coreset *
first_state(FunctionCallInfo fcinfo, int d, fc_metric metric)
{
	coreset_plan plan = {.size = PG_GETARG_INT32(ARGUMENT_SIZE),.seed = (uint64) PG_GETARG_INT64(ARGUMENT_SEED),.limit = INFINITY};

	if (!PG_ARGISNULL(ARGUMENT_VARIANCE))
	{
		require_argument(fcinfo, ARGUMENT_CENTER, "center");
		plan.variance = PG_GETARG_FLOAT8(ARGUMENT_VARIANCE);
		plan.center = read_float8_array(PG_GETARG_DATUM(ARGUMENT_CENTER), d, "center");
	}
	if (PG_NARGS() > ARGUMENT_LIMIT && !PG_ARGISNULL(ARGUMENT_LIMIT))
		plan.limit = PG_GETARG_FLOAT8(ARGUMENT_LIMIT);
	check_coreset_plan(&plan);
	return new_coreset(fcinfo, &plan, (Size) d, metric);
}

/* ---- the aggregate ---- */

static fc_metric
metric_argument(FunctionCallInfo fcinfo)
{
	return PG_NARGS() > ARGUMENT_COSINE && !PG_ARGISNULL(ARGUMENT_COSINE) && PG_GETARG_BOOL(ARGUMENT_COSINE) ? FC_COSINE : FC_EUCLIDEAN;
}

/*
 * (state, x, key, size, center, variance, seed [, limit, cosine]): the key tells equal rows apart; NULL variance: a uniform
 * sample; NULL limit: none; cosine: by angle.
 */
SQL_FUNCTION(fastclust_coreset_accum)
{
	fc_coreset *state;
	const double *x;
	fc_metric	metric;
	vector		v;
	double		rank;

	aggregate_context(fcinfo);
	require_argument(fcinfo, ARGUMENT_SIZE, "size");
	require_argument(fcinfo, ARGUMENT_SEED, "seed");
	if (PG_ARGISNULL(ARGUMENT_X))
		return unchanged_state(fcinfo);
	v = read_vector_argument(fcinfo, cached_reader(fcinfo), ARGUMENT_X, "x");
	check_single_precision(&v);
	state = PG_ARGISNULL(0) ? NULL : coreset_argument(fcinfo, 0);
	metric = state != NULL ? (fc_metric) state->metric : metric_argument(fcinfo);
	x = metric_row(metric, &v, cached_doubles(fcinfo, (Size) v.d));
	if (x == NULL)
		return unchanged_state(fcinfo);
	if (state == NULL)
		state = first_state(fcinfo, v.d, metric);
	check_vector_dim(&v, state->dim, "the first row");
	rank = fc_coreset_rank(state, PG_ARGISNULL(ARGUMENT_KEY) ? 0 : (uint64) PG_GETARG_INT64(ARGUMENT_KEY), x);
	if (fc_coreset_takes(state, rank))
	{
		if (fc_coreset_is_full(state))
			state = larger_state(fcinfo, state, 1);
		fc_coreset_take(state, rank, x);
	}
	state->count++;
	report_progress_of_rows();
	PG_RETURN_POINTER(state);
}

fc_coreset *
combined_coresets(FunctionCallInfo fcinfo, fc_coreset *left, const fc_coreset *right)
{
	if (!fc_coreset_agree(left, right))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size, center, variance, seed and rank_limit must be the same for all rows")));
	if (right->count > FC_MAX_ROWS - left->count)
		check_status(FC_EOVERFLOW);
	for (Size slot = 0; slot < right->used; slot++)
	{
		double		rank = fc_coreset_row_ranks(right)[slot];

		CHECK_FOR_INTERRUPTS();
		if (!fc_coreset_takes(left, rank))
			continue;
		if (fc_coreset_is_full(left))
			left = larger_state(fcinfo, left, right->used - slot);
		fc_coreset_take(left, rank, fc_coreset_row(right, slot));
	}
	left->count += right->count;
	return left;
}

SQL_FUNCTION(fastclust_coreset_combine)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(coreset_argument(fcinfo, 1));	/* the executor copies it */
	PG_RETURN_POINTER(combined_coresets(fcinfo, coreset_argument(fcinfo, 0), coreset_argument(fcinfo, 1)));
}

/* A state that leaves: without room for more rows. */
SQL_FUNCTION(fastclust_coreset_packed)
{
	fc_coreset *state;
	Size		capacity;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = coreset_argument(fcinfo, 0);
	capacity = packed_coreset(state);
	PG_RETURN_POINTER(capacity < state->capacity ? coreset_with_room(fcinfo, state, capacity) : state);
}

static const double *
listed_row(void *rows, size_t j)
{
	return ((const double **) rows)[j];
}

fc_operator_header *
rows_of_coreset(const fc_coreset *state, account *memory)
{
	Size		n = fc_coreset_rows(state);
	fc_arena	arena;
	const double **rows;
	double	   *weights;
	fc_operator_header *result;

	hold(memory, codebook_bytes(n, state->dim));
	arena = hold_arena(memory);
	rows = FC_TAKE(&arena, n, const double *);
	weights = FC_TAKE(&arena, n, double);
	fc_coreset_sample(state, &arena, rows, weights);
	result = make_codebook_of((fc_metric) state->metric, &(fc_centroid_source) {.k = n,.d = state->dim,.row = listed_row,.place = rows}, weights);
	release_arena(&arena);
	return result;
}

/* The sample as an operator whose centroids are its rows, by rank. */
SQL_FUNCTION(fastclust_coreset_final)
{
	account		memory = {"coreset_agg"};
	fc_coreset *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = coreset_argument(fcinfo, 0);
	check_count("the number of rows", (int64) fc_coreset_rows(state), 1, FC_MAX_CLUSTERS);
	hold(&memory, VARSIZE(state));
	PG_RETURN_POINTER(rows_of_coreset(state, &memory));
}
