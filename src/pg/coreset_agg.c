/*
 * coreset_agg.c - coreset_agg: a weighted sample of rows, as an operator whose centroids are the rows;
 * cluster_centroids: k-means of an operator's weighted centroids.
 *
 * The state is flat bytes (type aggregate_state) that do not depend on the order of the rows.
 */
#include "fastclust.h"

#include <math.h>

#include "collection.h"
#include "operator/coreset.h"
#include "operator/step.h"
#include "miscadmin.h"
#include "spec_build.h"
#include "utils/memutils.h"

#define FIRST_ROOM	64

enum
{
	ARGUMENT_X = 1,
	ARGUMENT_KEY,
	ARGUMENT_SIZE,
	ARGUMENT_CENTER,
	ARGUMENT_VARIANCE,
	ARGUMENT_SEED
};

/* ---- the state ---- */

static fc_coreset *
state_argument(FunctionCallInfo fcinfo, int n)
{
	struct varlena *value = (struct varlena *) PG_GETARG_POINTER(n);
	fc_coreset *state = (fc_coreset *) (VARATT_IS_4B_U(value) ? value : PG_DETOAST_DATUM(PG_GETARG_DATUM(n)));

	if (state->version != FC_STEP_VERSION || state->kind != FC_STEP_CORESET)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the state belongs to another aggregate")));
	return state;
}

/* Room for a state of so many rows beside `held` bytes; the executor copies it. */
static fc_coreset *
new_state(FunctionCallInfo fcinfo, Size held, Size d, Size capacity)
{
	Size		bytes = fc_coreset_bytes(d, capacity);
	fc_coreset *state;

	check_budget(held + 2 * bytes, aggregate_name(fcinfo));
	if (bytes > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a sample of %zu rows in %zu dimensions is too large", capacity, d)));
	state = palloc(bytes);
	SET_VARSIZE(state, bytes);
	return state;
}

/* Twice the room, up to what the sample needs. */
static fc_coreset *
larger_state(FunctionCallInfo fcinfo, const fc_coreset *state)
{
	Size		capacity = Min(2 * (Size) state->capacity, ((Size) state->size + 2) / 2 * 2);
	fc_coreset *larger = new_state(fcinfo, VARSIZE(state), state->dim, capacity);

	fc_coreset_move(state, capacity, larger);
	SET_VARSIZE(larger, fc_coreset_bytes(state->dim, capacity));
	return larger;
}

static fc_coreset *
first_state(FunctionCallInfo fcinfo, int d)
{
	int32		size = PG_GETARG_INT32(ARGUMENT_SIZE);
	Size		capacity = Min(FIRST_ROOM, ((Size) size + 2) / 2 * 2);
	double	   *center = NULL;
	double		variance = PG_ARGISNULL(ARGUMENT_VARIANCE) ? 0.0 : PG_GETARG_FLOAT8(ARGUMENT_VARIANCE);
	fc_coreset *state;

	check_count("size", size, 1, FC_MAX_CLUSTERS);
	if (variance > 0.0)
	{
		require_argument(fcinfo, ARGUMENT_CENTER, "center");
		check_positive("variance", variance);
		center = read_float8_array(PG_GETARG_DATUM(ARGUMENT_CENTER), d, "center");
	}
	state = new_state(fcinfo, 0, (Size) d, capacity);
	fc_coreset_init((Size) d, (Size) size, capacity, (uint64) PG_GETARG_INT64(ARGUMENT_SEED), center, variance, state);
	SET_VARSIZE(state, fc_coreset_bytes((Size) d, capacity));
	return state;
}

/* ---- the aggregate ---- */

/* (state, x, key, size, center, variance, seed): the key tells equal rows apart; NULL variance: a uniform sample. */
PG_FUNCTION_INFO_V1(fastclust_coreset_accum);
Datum
fastclust_coreset_accum(PG_FUNCTION_ARGS)
{
	fc_coreset *state;
	const double *x;
	vector		v;
	double		rank;

	aggregate_context(fcinfo);
	require_argument(fcinfo, ARGUMENT_SIZE, "size");
	require_argument(fcinfo, ARGUMENT_SEED, "seed");
	if (PG_ARGISNULL(ARGUMENT_X))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	v = read_vector(cached_reader(fcinfo), PG_GETARG_DATUM(ARGUMENT_X), "x");
	check_single_precision(&v);
	state = PG_ARGISNULL(0) ? first_state(fcinfo, v.d) : state_argument(fcinfo, 0);
	check_vector_dim(&v, state->dim, "the first row");
	x = vector_doubles(&v, cached_doubles(fcinfo, (Size) v.d));
	rank = fc_coreset_rank(state, PG_ARGISNULL(ARGUMENT_KEY) ? 0 : (uint64) PG_GETARG_INT64(ARGUMENT_KEY), x);
	if (fc_coreset_takes(state, rank))
	{
		if (fc_coreset_is_full(state))
			state = larger_state(fcinfo, state);
		fc_coreset_take(state, rank, x);
	}
	state->count++;
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(fastclust_coreset_combine);
Datum
fastclust_coreset_combine(PG_FUNCTION_ARGS)
{
	fc_coreset *left;
	fc_coreset *right;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	right = state_argument(fcinfo, 1);
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(memcpy(palloc(VARSIZE(right)), right, VARSIZE(right)));
	left = state_argument(fcinfo, 0);
	if (!fc_coreset_agree(left, right))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size, center, variance and seed must be the same for all rows")));
	for (Size slot = 0; slot < right->used; slot++)
	{
		double		rank = fc_coreset_row_ranks(right)[slot];

		CHECK_FOR_INTERRUPTS();
		if (!fc_coreset_takes(left, rank))
			continue;
		if (fc_coreset_is_full(left))
			left = larger_state(fcinfo, left);
		fc_coreset_take(left, rank, fc_coreset_row(right, slot));
	}
	left->count += right->count;
	PG_RETURN_POINTER(left);
}

PG_FUNCTION_INFO_V1(fastclust_coreset_final);
Datum
fastclust_coreset_final(PG_FUNCTION_ARGS)
{
	account		memory = {"coreset_agg"};
	fc_coreset *state;
	fc_arena	arena;
	double	   *x;
	double	   *weights;
	Size		n;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = state_argument(fcinfo, 0);
	n = fc_coreset_rows(state);
	hold(&memory, VARSIZE(state) + codebook_bytes(n, state->dim));
	arena = hold_arena(&memory, n * (state->dim + 1) * sizeof(double) + 256 + fc_coreset_worksize(state));
	x = FC_TAKE(&arena, n * state->dim, double);
	weights = FC_TAKE(&arena, n, double);
	check_status(fc_coreset_sample(state, &server_tick, &arena, x, weights), &arena);
	PG_RETURN_POINTER(make_codebook(x, weights, n, state->dim));
}

/* ---- its clusters ---- */

/* The centroids of an operator from its offset, times the power of 2 that brings them below 1; and that. */
static float *
scaled_rows(const fc_operator *op, Size d, double *scale)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	float	   *rows = palloc_extended(op->k * d * sizeof(float), MCXT_ALLOC_HUGE);
	fc_operator expanded = *op;
	float		most = 0.0f;
	int			exponent;

	check_status(fc_operator_expand(&expanded, &server_tick, scratch, rows), NULL);
	for (Size i = 0; i < op->k * d; i++)
		most = Max(most, fabsf(rows[i]));
	(void) frexpf(most, &exponent);
	*scale = most > 0 ? ldexp(1.0, -Max(exponent, -120)) : 1.0;
	for (Size i = 0; i < op->k * d; i++)
		rows[i] *= (float) *scale;
	pfree(scratch.floats);
	return rows;
}

/* Centroids of one operator from the offset of another, in its scale. */
static double *
initial_centroids(const fc_operator *initial, const fc_operator *op, double scale)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(initial));
	double	   *rows = palloc_extended(initial->k * op->d * sizeof(double), MCXT_ALLOC_HUGE);

	for (Size j = 0; j < initial->k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_operator_row(initial, j, scratch, rows + j * op->d);
		for (Size i = 0; i < op->d; i++)
			rows[j * op->d + i] = (rows[j * op->d + i] - (op->offset ? op->offset[i] : 0.0)) * scale;
	}
	pfree(scratch.floats);
	return rows;
}

/* (op, k, options, initial): k centroids of the rows that are the centroids of op, by their weights. */
PG_FUNCTION_INFO_V1(fastclust_cluster_centroids);
Datum
fastclust_cluster_centroids(PG_FUNCTION_ARGS)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {0};
	account		memory = {"cluster_centroids"};
	fc_operator op;
	fc_arena	arena;
	fc_rows		rows = {0};
	double	   *initial = NULL;
	double		scale;
	Size		k;

	for (int i = 0; i < 3; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	check_count("k", PG_GETARG_INT32(1), 1, FC_MAX_CLUSTERS);
	k = (Size) PG_GETARG_INT32(1);
	read_kmeans_options(PG_GETARG_JSONB_P(2), &options);
	open_operator(OPERATOR_ARG(0), &op);
	if (k > op.k)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k is %zu, but there are only %zu rows", k, op.k)));
	hold(&memory, op.k * op.d * sizeof(float) + 2 * k * (op.d + 1) * sizeof(double) + codebook_bytes(k, op.d));
	rows.x = scaled_rows(&op, op.d, &scale);
	rows.weight = op.weights;
	rows.n = op.k;
	rows.d = op.d;
	if (!PG_ARGISNULL(3))
	{
		fc_operator start;

		open_operator(OPERATOR_ARG(3), &start);
		if (start.k != k || start.d != op.d)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("initial centroids are %zu in %zu dimensions, not %zu in %zu", start.k, start.d, k, op.d)));
		initial = initial_centroids(&start, &op, scale);
	}
	arena = hold_arena(&memory, fc_kmeans_worksize(rows.n, rows.d, k));
	result.centroids = palloc_extended(k * rows.d * sizeof(double), MCXT_ALLOC_HUGE);
	result.weights = palloc_extended(k * sizeof(double), MCXT_ALLOC_HUGE);
	check_status(fc_kmeans(&rows, k, initial, &options, &server_tick, &arena, &result), &arena);
	for (Size j = 0; j < k; j++)
		for (Size i = 0; i < rows.d; i++)
			result.centroids[j * rows.d + i] = result.centroids[j * rows.d + i] / scale + (op.offset ? op.offset[i] : 0.0);
	release_arena(&memory, &arena);
	PG_RETURN_POINTER(make_codebook(result.centroids, result.weights, k, rows.d));
}
