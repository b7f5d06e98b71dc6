/*
 * spec_agg.c - sketch_spec_agg: everything a sketch needs, from a sample of rows.
 *
 * The state is a bottom-R sample by a keyed hash of the rows' values: a row is kept
 * iff its hash is among the R smallest, whatever the order of the rows, so parallel
 * plans agree.  Equal rows share a hash and are kept once, with a count.
 */
#include "fastclust.h"

#include <math.h>

#include "fc_pilot.h"
#include "fc_rng.h"
#include "catalog/pg_type.h"
#include "handover.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "spec_build.h"

#define RESERVOIR_ROWS	4096
#define RESERVOIR_BYTES (32 * 1024 * 1024)
#define PILOT_ROWS		1000

typedef struct entry
{
	uint64		hash;
	int64		count;
	Size		row;			/* index into values */
} entry;

typedef struct reservoir
{
	int32		d;
	int32		keep;			/* R */
	int32		used;			/* entries, up to 2 R before compaction */
	int32		clusters;
	uint64		seed;
	uint64		threshold;		/* hashes beyond are out */
	int64		rows;			/* seen */
	Jsonb	   *options;
	int32		frequencies;	/* 0: chosen here */
	entry	   *entries;
	double	   *values;			/* 2 R x d */
} reservoir;

/* ---- state ---- */

static reservoir *
new_reservoir(int32 d)
{
	reservoir  *state = palloc0(sizeof(reservoir));

	state->d = d;
	state->keep = Min(RESERVOIR_ROWS, Max(1024, RESERVOIR_BYTES / 16 / d));
	state->threshold = PG_UINT64_MAX;
	check_budget((Size) state->keep * 2 * (sizeof(entry) + (Size) d * sizeof(double)), "sketch_spec_agg");
	state->entries = palloc((Size) state->keep * 2 * sizeof(entry));
	state->values = MemoryContextAllocHuge(CurrentMemoryContext, (Size) state->keep * 2 * (Size) d * sizeof(double));
	return state;
}

static int
by_hash(const void *a, const void *b)
{
	uint64		x = ((const entry *) a)->hash;
	uint64		y = ((const entry *) b)->hash;

	return x < y ? -1 : x > y;
}

/* Merge equal rows, keep the R smallest hashes, move their values to the front. */
static void
compact(reservoir *state)
{
	Size		bytes = (Size) state->d * sizeof(double);
	int32		n = 0;
	double	   *moved;

	qsort(state->entries, (Size) state->used, sizeof(entry), by_hash);
	for (int32 i = 0; i < state->used; i++)
		if (n > 0 && state->entries[n - 1].hash == state->entries[i].hash)
			state->entries[n - 1].count += state->entries[i].count;
		else
			state->entries[n++] = state->entries[i];
	if (n > state->keep)
	{
		n = state->keep;
		state->threshold = state->entries[n - 1].hash;
	}
	moved = palloc_extended((Size) Max(n, 1) * bytes, MCXT_ALLOC_HUGE);
	for (int32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		memcpy(moved + (Size) i * state->d, state->values + state->entries[i].row * state->d, bytes);
		state->entries[i].row = (Size) i;
	}
	copy_bytes(state->values, moved, (Size) n * bytes);
	pfree(moved);
	state->used = n;
}

static void
offer(reservoir *state, uint64 hash, int64 count, const double *values)
{
	entry	   *at;

	if (hash > state->threshold)
		return;
	if (state->used == 2 * state->keep)
		compact(state);
	if (hash > state->threshold)
		return;
	at = &state->entries[state->used];
	at->hash = hash;
	at->count = count;
	at->row = (Size) state->used;
	memcpy(state->values + (Size) state->used * state->d, values, (Size) state->d * sizeof(double));
	state->used++;
}

/* A copy with equal rows merged; the state itself stays as it is. */
static reservoir *
compacted(const reservoir *state)
{
	reservoir  *copy = palloc(sizeof(reservoir));
	Size		bytes = (Size) Max(state->used, 1) * (Size) state->d * sizeof(double);

	*copy = *state;
	copy->entries = palloc((Size) Max(state->used, 1) * sizeof(entry));
	copy->values = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	memcpy(copy->entries, state->entries, (Size) state->used * sizeof(entry));
	copy_bytes(copy->values, state->values, (Size) state->used * (Size) state->d * sizeof(double));
	compact(copy);
	return copy;
}

/* ---- arguments ---- */

/* Pilot rows are kept in single precision, and k-means squares their distances. */
#define MAX_ELEMENT 1e30

static void
check_range(const vector *v)
{
	for (int i = 0; i < v->d; i++)
	{
		double		value = v->floats ? (double) v->floats[i] : v->doubles[i];

		if (fabs(value) > MAX_ELEMENT)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("vector element %d is %g, too large to choose a sketch_spec", i + 1, value),
					 errdetail("Elements may be up to %g in magnitude.", MAX_ELEMENT),
					 errhint("Scale the data down, or filter such rows.")));
	}
}

/* (x, clusters), (x, clusters, frequencies), (.., seed) or (x, clusters, options jsonb). */
static void
check_arguments(FunctionCallInfo fcinfo, reservoir *state)
{
	static const char *const names[] = {"", "x", "clusters", "frequencies", "seed"};
	bool		has_options = PG_NARGS() == 4 && get_fn_expr_argtype(fcinfo->flinfo, 3) == JSONBOID;
	int32		frequencies = 0;
	uint64		seed = 0;

	for (int i = 2; i < PG_NARGS(); i++)
		require_argument(fcinfo, i, has_options && i == 3 ? "options" : names[i]);
	check_count("clusters", PG_GETARG_INT32(2), 1, FC_MAX_CLUSTERS);
	if (PG_NARGS() >= 4 && !has_options)
	{
		frequencies = PG_GETARG_INT32(3);
		check_count("frequencies", frequencies, 1, FC_MAX_MOMENTS);
	}
	if (PG_NARGS() >= 5)
		seed = (uint64) PG_GETARG_INT64(4);
	if (state == NULL)
		return;
	if (state->clusters == 0)
	{
		state->clusters = PG_GETARG_INT32(2);
		state->frequencies = frequencies;
		state->seed = seed;
		if (has_options)
			state->options = PG_GETARG_JSONB_P_COPY(3);
	}
	else if (state->clusters != PG_GETARG_INT32(2) || state->frequencies != frequencies || state->seed != seed ||
			 (has_options && compareJsonbContainers(&state->options->root, &PG_GETARG_JSONB_P(3)->root) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clusters, frequencies, seed and options must be the same for all rows")));
}

PG_FUNCTION_INFO_V1(fastclust_spec_accum);
Datum
fastclust_spec_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	reservoir  *state = PG_ARGISNULL(0) ? NULL : (reservoir *) PG_GETARG_POINTER(0);
	vector		v;
	double	   *values;

	check_arguments(fcinfo, state);
	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	v = row_argument(fcinfo, 1);
	check_range(&v);
	if (state == NULL)
	{
		old = MemoryContextSwitchTo(context);
		state = new_reservoir(v.d);
		check_arguments(fcinfo, state);
		MemoryContextSwitchTo(old);
	}
	check_vector_dim(&v, (size_t) state->d, "the first row");
	values = palloc((Size) v.d * sizeof(double));
	copy_row(&v, values);
	state->rows++;
	offer(state, fc_hash_bytes(state->seed, values, (Size) v.d * sizeof(double)), 1, values);
	pfree(values);
	PG_RETURN_POINTER(state);
}

/* ---- parallel plans ---- */

static reservoir *
copy_front(const reservoir *from)
{
	reservoir  *copy = new_reservoir(from->d);

	copy->clusters = from->clusters;
	copy->seed = from->seed;
	copy->frequencies = from->frequencies;
	copy->rows = from->rows;
	copy->threshold = from->threshold;
	copy->options = copy_options(from->options);
	return copy;
}

PG_FUNCTION_INFO_V1(fastclust_spec_combine);
Datum
fastclust_spec_combine(PG_FUNCTION_ARGS)
{
	MemoryContext old = MemoryContextSwitchTo(aggregate_context(fcinfo));
	reservoir  *left = PG_ARGISNULL(0) ? NULL : (reservoir *) PG_GETARG_POINTER(0);
	reservoir  *right = PG_ARGISNULL(1) ? NULL : (reservoir *) PG_GETARG_POINTER(1);

	if (right != NULL)
	{
		if (left == NULL)
		{
			left = copy_front(right);
			left->rows = 0;
			left->threshold = PG_UINT64_MAX;
		}
		check_same_dim(left->d, right->d);
		if (left->clusters != right->clusters || left->frequencies != right->frequencies || left->seed != right->seed)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("clusters, frequencies, seed and options must be the same for all rows")));
		left->rows += right->rows;
		left->threshold = Min(left->threshold, right->threshold);
		for (int32 i = 0; i < right->used; i++)
			offer(left, right->entries[i].hash, right->entries[i].count,
				  right->values + right->entries[i].row * right->d);
	}
	MemoryContextSwitchTo(old);
	if (left == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(left);
}

PG_FUNCTION_INFO_V1(fastclust_spec_serialize);
Datum
fastclust_spec_serialize(PG_FUNCTION_ARGS)
{
	reservoir  *state = compacted((reservoir *) PG_GETARG_POINTER(0));
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendint32(&message, (uint32) state->d);
	pq_sendint32(&message, (uint32) state->clusters);
	pq_sendint32(&message, (uint32) state->frequencies);
	pq_sendint64(&message, state->seed);
	pq_sendint64(&message, state->threshold);
	pq_sendint64(&message, (uint64) state->rows);
	send_options(&message, state->options);
	pq_sendint32(&message, (uint32) state->used);
	for (int32 i = 0; i < state->used; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pq_sendint64(&message, state->entries[i].hash);
		pq_sendint64(&message, (uint64) state->entries[i].count);
		pq_sendbytes(&message, (char *) (state->values + (Size) i * state->d), (int) (state->d * sizeof(double)));
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

PG_FUNCTION_INFO_V1(fastclust_spec_deserialize);
Datum
fastclust_spec_deserialize(PG_FUNCTION_ARGS)
{
	StringInfoData message = message_of(PG_GETARG_BYTEA_PP(0));
	reservoir  *state = new_reservoir((int32) pq_getmsgint(&message, 4));
	int32		used;

	state->clusters = (int32) pq_getmsgint(&message, 4);
	state->frequencies = (int32) pq_getmsgint(&message, 4);
	state->seed = (uint64) pq_getmsgint64(&message);
	state->threshold = (uint64) pq_getmsgint64(&message);
	state->rows = pq_getmsgint64(&message);
	state->options = receive_options(&message);
	used = (int32) pq_getmsgint(&message, 4);
	for (int32 i = 0; i < used; i++)
	{
		CHECK_FOR_INTERRUPTS();
		state->entries[i].hash = (uint64) pq_getmsgint64(&message);
		state->entries[i].count = pq_getmsgint64(&message);
		state->entries[i].row = (Size) i;
		pq_copymsgbytes(&message, (char *) (state->values + (Size) i * state->d), (int) (state->d * sizeof(double)));
	}
	state->used = used;
	PG_RETURN_POINTER(state);
}

/* ---- the choice ---- */

typedef struct spec_options
{
	int			frequencies;	/* 0: max(5 k n, 128) */
	int			dimensions;		/* 0: by the pilot */
	int			pilot_rows;
	double		sigma;			/* 0: by the pilot */
	float_list	scales;			/* sigmas, in units of that one */
	char	   *law;
	bool		structured;
	uint64		seed;
} spec_options;

static spec_options
options_of(const reservoir *state, fc_pilot_options *pilot)
{
	spec_options chosen = {.frequencies = state->frequencies, .pilot_rows = PILOT_ROWS,
	.law = "adapted_radius_kmeans", .seed = state->seed};
	char	   *structured = "auto";
	const option known[] = {
		{"frequencies", OPTION_INT, &chosen.frequencies, 1, FC_MAX_MOMENTS},
		{"dimensions", OPTION_INT, &chosen.dimensions, 1, FC_MAX_DIM},
		{"pilot_rows", OPTION_INT, &chosen.pilot_rows, 0, RESERVOIR_ROWS},
		{"sigma", OPTION_FLOAT, &chosen.sigma, 1e-300, 1e300},
		{"scales", OPTION_FLOATS, &chosen.scales, 1e-6, 1e6},
		{"law", OPTION_TEXT, &chosen.law, 0, 0},
		{"structured", OPTION_TEXT, &structured, 0, 0},
		{"seed", OPTION_SEED, &chosen.seed, 0, 0}
	};

	if (state->options != NULL)
		read_options(state->options, known, lengthof(known));
	pilot->clusters = (size_t) state->clusters;
	pilot->dimensions = (size_t) Min(chosen.dimensions, state->d);
	pilot->seed = chosen.seed;
	if (strcmp(structured, "auto") == 0)
		chosen.structured = structured_by_default(fc_pilot_dimensions((size_t) state->d, pilot));
	else if (strcmp(structured, "on") == 0 || strcmp(structured, "off") == 0)
		chosen.structured = strcmp(structured, "on") == 0;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"structured\" is \"%s\", but must be auto, on or off", structured)));
	return chosen;
}

static fc_pilot_result
run_pilot(const reservoir *state, const fc_pilot_options *options, const double *weight)
{
	Size		rows = (Size) state->used;
	Size		d = (Size) state->d;
	Size		n = fc_pilot_dimensions(d, options);
	fc_arena	arena = make_arena(fc_pilot_worksize(rows, d, options), "sketch_spec_agg");
	fc_pilot_result result = {0};

	result.center = palloc(d * sizeof(double));
	result.basis = palloc_extended(n * d * sizeof(float), MCXT_ALLOC_HUGE);
	result.reduced = palloc_extended(rows * n * sizeof(float), MCXT_ALLOC_HUGE);
	result.anchors = palloc(fc_pilot_anchor_limit(options) * n * sizeof(float));
	check_status(fc_pilot(state->values, weight, rows, d, options, &server_tick, &arena, &result), &arena);
	return result;
}

static const double *
make_sigmas(double sigma, const float_list *scales)
{
	double	   *sigmas = palloc((Size) Max(scales->count, 1) * sizeof(double));

	sigmas[0] = sigma;
	for (int i = 0; i < scales->count; i++)
		sigmas[i] = sigma * scales->values[i];
	return sigmas;
}

/* Points in units of 2^exponent become points in units of sigma. */
static void
in_sigmas(float *points, Size coordinates, int exponent, double sigma)
{
	int			shift;
	double		fraction = frexp(sigma, &shift);

	for (Size i = 0; i < coordinates; i++)
		points[i] = (float) (ldexp((double) points[i], exponent - shift) / fraction);
}

PG_FUNCTION_INFO_V1(fastclust_spec_final);
Datum
fastclust_spec_final(PG_FUNCTION_ARGS)
{
	reservoir  *state;
	fc_pilot_options pilot_options;
	spec_options chosen;
	fc_pilot_result pilot;
	spec_parts	parts = {0};
	double	   *weight;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = compacted((reservoir *) PG_GETARG_POINTER(0));
	chosen = options_of(state, &pilot_options);
	weight = palloc((Size) state->used * sizeof(double));
	for (int32 i = 0; i < state->used; i++)
		weight[i] = (double) state->entries[i].count;
	pilot = run_pilot(state, &pilot_options, weight);
	parts.dim = (Size) state->d;
	parts.reduced = pilot.n;
	parts.clusters = (Size) state->clusters;
	parts.frequencies = chosen.frequencies > 0 ? (Size) chosen.frequencies
		: Min(Max(5 * parts.clusters * pilot.n, 128), FC_MAX_MOMENTS);
	parts.law = law_of_name(chosen.law);
	parts.structured = chosen.structured;
	parts.seed = chosen.seed;
	parts.center = pilot.center;
	parts.scales = (Size) Max(chosen.scales.count, 1);
	parts.sigmas = make_sigmas(chosen.sigma > 0 ? chosen.sigma : pilot.sigma, &chosen.scales);
	check_sigmas(parts.sigmas, parts.scales, parts.frequencies);
	parts.basis = pilot.n < (Size) state->d ? pilot.basis : NULL;
	in_sigmas(pilot.anchors, pilot.anchor_count * pilot.n, pilot.exponent, parts.sigmas[0]);
	in_sigmas(pilot.reduced, (Size) state->used * pilot.n, pilot.exponent, parts.sigmas[0]);
	parts.anchors = pilot.anchors;
	parts.anchor_count = pilot.anchor_count;
	parts.pilot_rows = (Size) Min(state->used, chosen.pilot_rows);
	parts.pilot_weight = weight;
	parts.pilot = pilot.reduced;
	PG_RETURN_POINTER(build_spec(&parts));
}
