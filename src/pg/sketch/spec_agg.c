/*
 * spec_agg.c - sketch_spec_agg: everything a sketch needs, from a sample of rows.
 *
 * The state is a bottom-R sample by a keyed hash of the rows' values: a row is kept
 * iff its hash is among the R smallest, whatever the order of the rows, so parallel
 * plans agree.  Equal rows share a hash and are kept once, with a count.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "base/rng.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/vectors.h"
#include "pg/sketch/spec_build.h"
#include "sketch/pilot.h"
#include "sketch/spec.h"

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
	int32		room;			/* for so many */
	int32		clusters;
	uint64		seed;
	uint64		threshold;		/* hashes beyond are out */
	int64		rows;			/* seen */
	Jsonb	   *options;
	int32		frequencies;	/* 0: chosen here */
	entry	   *entries;		/* room */
	double	   *values;			/* room x d */
} reservoir;

/* ---- state ---- */

static Size finishing_bytes(const reservoir *state, Size rows);

static reservoir *
new_reservoir(int32 d)
{
	reservoir  *state = palloc0(sizeof(reservoir));

	state->d = d;
	state->keep = Min(RESERVOIR_ROWS, Max(1024, RESERVOIR_BYTES / 16 / d));
	state->threshold = PG_UINT64_MAX;
	return state;
}

/* Bytes of n rows in a reservoir, and while it is compacted or finished. */
static Size
reservoir_bytes(const void *collected, Size n)
{
	const reservoir *state = collected;
	Size		row = sizeof(entry) + (Size) state->d * sizeof(double);
	Size		kept = Min(n, (Size) state->keep);

	return n * row + kept * row + finishing_bytes(state, kept);
}

/* Room for more entries, where the state is. */
static void
grow(reservoir *state)
{
	MemoryContext context = GetMemoryChunkContext(state);
	row_need	need = {reservoir_bytes, state, "sketch_spec_agg", ", or sample fewer rows"};
	Size		room = Min(grown_room((Size) state->room, (Size) state->used + 1, &need), 2 * (Size) state->keep);
	Size		bytes = room * (Size) state->d * sizeof(double);

	state->entries = state->room > 0 ? repalloc(state->entries, room * sizeof(entry))
		: MemoryContextAlloc(context, room * sizeof(entry));
	state->values = state->room > 0 ? repalloc_huge(state->values, bytes) : MemoryContextAllocHuge(context, bytes);
	state->room = (int32) room;
}

static int
by_hash(const void *a, const void *b)
{
	uint64		x = ((const entry *) a)->hash;
	uint64		y = ((const entry *) b)->hash;

	return x < y ? -1 : x > y;
}

/* Merge the entries of equal rows and keep the R smallest hashes; their values stay where they are. */
static void
compact_entries(reservoir *state)
{
	int32		n = 0;

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
	state->used = n;
}

/* The values of the entries, in their order, in the current context. */
static double *
gather_values(const reservoir *state)
{
	Size		bytes = (Size) state->d * sizeof(double);
	double	   *values = palloc_extended((Size) Max(state->used, 1) * bytes, MCXT_ALLOC_HUGE);

	for (int32 i = 0; i < state->used; i++)
	{
		CHECK_FOR_INTERRUPTS();
		memcpy(values + (Size) i * state->d, state->values + state->entries[i].row * state->d, bytes);
	}
	return values;
}

static void
number_entries(reservoir *state)
{
	for (int32 i = 0; i < state->used; i++)
		state->entries[i].row = (Size) i;
}

static void
compact(reservoir *state)
{
	double	   *values;

	compact_entries(state);
	values = gather_values(state);
	copy_bytes(state->values, values, (Size) state->used * (Size) state->d * sizeof(double));
	pfree(values);
	number_entries(state);
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
	if (state->used == state->room)
		grow(state);
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

	*copy = *state;
	copy->entries = palloc((Size) Max(state->used, 1) * sizeof(entry));
	memcpy(copy->entries, state->entries, (Size) state->used * sizeof(entry));
	compact_entries(copy);
	copy->values = gather_values(copy);
	number_entries(copy);
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
	while (state->used < used)
	{
		entry	   *at;

		CHECK_FOR_INTERRUPTS();
		if (state->used == state->room)
			grow(state);
		at = &state->entries[state->used];
		at->hash = (uint64) pq_getmsgint64(&message);
		at->count = pq_getmsgint64(&message);
		at->row = (Size) state->used;
		pq_copymsgbytes(&message, (char *) (state->values + (Size) state->used * state->d), (int) (state->d * sizeof(double)));
		state->used++;
	}
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
	enum
	{
		AUTO, ON, OFF
	}			structured;
	static const choice switches[] = {{"auto", AUTO}, {"on", ON}, {"off", OFF}};
	char	   *word = "auto";
	const option known[] = {
		{"frequencies", OPTION_INT, &chosen.frequencies, 1, FC_MAX_MOMENTS},
		{"dimensions", OPTION_INT, &chosen.dimensions, 1, FC_MAX_DIM},
		{"pilot_rows", OPTION_INT, &chosen.pilot_rows, 0, RESERVOIR_ROWS},
		{"sigma", OPTION_FLOAT, &chosen.sigma, 1e-300, 1e300},
		{"scales", OPTION_FLOATS, &chosen.scales, 1e-6, 1e6},
		{"law", OPTION_TEXT, &chosen.law, 0, 0},
		{"structured", OPTION_TEXT, &word, 0, 0},
		{"seed", OPTION_SEED, &chosen.seed, 0, 0}
	};

	if (state->options != NULL)
		read_options(state->options, known, lengthof(known));
	pilot->clusters = (size_t) state->clusters;
	pilot->dimensions = (size_t) Min(chosen.dimensions, state->d);
	pilot->seed = chosen.seed;
	structured = choice_of_name("option \"structured\":", word, switches, lengthof(switches));
	chosen.structured = structured == AUTO ? structured_by_default(fc_pilot_dimensions((size_t) state->d, pilot)) : structured == ON;
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
	result.sample_centroids = palloc_extended(fc_pilot_sample_centroid_limit(options) * n * sizeof(float), MCXT_ALLOC_HUGE);
	check_status(fc_pilot(state->values, weight, rows, d, options, &server_tick, &arena, &result), &arena);
	pfree(arena.base);
	return result;
}

/* Bytes that the final function takes for so many rows beside its copy of them: the pilot, what it finds, and the spec made of that. */
static Size
finishing_bytes(const reservoir *state, Size rows)
{
	fc_pilot_options options;
	spec_options chosen = options_of(state, &options);
	Size		d = (Size) state->d;
	Size		n = fc_pilot_dimensions(d, &options);
	Size		found = (d + rows) * sizeof(double) + (n * d + rows * n + fc_pilot_sample_centroid_limit(&options) * n) * sizeof(float);
	fc_spec		fixed = {.flags = FC_SPEC_PROJECTED,.dim = (uint32) d,.reduced = (uint32) n,.scales = (uint32) Max(chosen.scales.count, 1),
	.pilot_rows = (uint32) Min(rows, (Size) chosen.pilot_rows),.sample_centroids = (uint32) fc_pilot_sample_centroid_limit(&options)};

	return found + Max(fc_pilot_worksize(Max(rows, 1), d, &options), fc_spec_size(&fixed));
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
	in_sigmas(pilot.sample_centroids, pilot.sample_centroid_count * pilot.n, pilot.exponent, parts.sigmas[0]);
	in_sigmas(pilot.reduced, (Size) state->used * pilot.n, pilot.exponent, parts.sigmas[0]);
	parts.sample_centroids = pilot.sample_centroids;
	parts.sample_centroid_count = pilot.sample_centroid_count;
	parts.pilot_rows = (Size) Min(state->used, chosen.pilot_rows);
	parts.pilot_weight = weight;
	parts.pilot = pilot.reduced;
	PG_RETURN_POINTER(build_spec(&parts));
}
