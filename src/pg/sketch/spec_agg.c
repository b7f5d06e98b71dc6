/*
 * spec_agg.c - sketch_spec makes a spec from its parameters; sketch_spec_agg
 * chooses all parameters from a sample of rows.
 *
 * The aggregate's state is a reservoir (core/sketch/reservoir.h) that does not
 * depend on the order of the rows, so that parallel plans agree.
 */
#include "postgres.h"

#include <float.h>

#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/reservoir.h"
#include "sketch/spec_of_sample.h"

fc_law
law_of_name(const char *name)
{
	named_value laws[FC_LAWS];

	for (int law = 0; law < FC_LAWS; law++)
		laws[law] = (named_value)
	{
		fc_law_name((fc_law) law), law
	};
	return (fc_law) choice_of_name("law", name, laws, FC_LAWS);
}

/*
 * Returns true if `metric`, the value of an option or NULL, is cosine. Raises
 * an error for a metric that sketches do not support.
 */
static bool
sketches_cosine(const char *metric)
{
	return metric_with_means(metric) == FC_COSINE;
}

static void
check_sigmas(const double *sigmas, Size count, Size frequencies)
{
	check_count("the number of sigmas", (int64) count, 1, FC_MAX_SCALES);
	for (Size i = 0; i < count; i++)
		if (!(sigmas[i] / sigmas[0] >= 1 / FC_MAX_RATIO &&
			  sigmas[i] / sigmas[0] <= FC_MAX_RATIO))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("sigma %g is too far from the first, %g", sigmas[i],
						   sigmas[0]),
					errdetail("Sigmas may differ by a factor of up to %g.",
							  FC_MAX_RATIO));
	check_count("frequencies times sigmas", (int64) (frequencies * count), 1,
				FC_MAX_MOMENTS);
}

fc_spec *
build_spec(const fc_spec_fields *fields)
{
	Size		size = fc_spec_fields_size(fields);
	fc_spec    *spec;
	fc_status	status;

	check_budget(size, "a sketch_spec");
	spec = alloc_large(size);
	status = fc_spec_build(fields, spec);
	SET_VARSIZE(spec, size);
	if (status != FC_OK)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("center, scale and sigma do not fit together"),
				errdetail("sigma times scale must be between 1e-290 and 1e290, and the center within 2^38 of it."));
	return spec;
}

PG_FUNCTION_INFO_V1(fastclust_sketch_spec_make);
Datum
fastclust_sketch_spec_make(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {
		"dim",
		"frequencies",
		"sigma",
		"law",
		"seed"
	};
	fc_spec_fields fields = {0};
	double		sigma;
	float_list	sigmas = {0};
	bool		structured;
	char	   *metric = NULL;
	const option known[] = {
		{"structured", OPTION_BOOL, &structured, 0, 0},
		{"metric", OPTION_TEXT, &metric, 0, 0},
		{"sigmas", OPTION_FLOATS, &sigmas, 1e-300, 1e300}
	};

	for (int i = 0; i < 5; i++)
		require_argument(fcinfo, i, names[i]);
	require_argument(fcinfo, 7, "options");
	check_count("dim", PG_GETARG_INT32(0), 1, FC_MAX_DIM);
	check_count("frequencies", PG_GETARG_INT32(1), 1, FC_MAX_MOMENTS);
	fields.dim = fields.reduced = (Size) PG_GETARG_INT32(0);
	fields.frequencies = (Size) PG_GETARG_INT32(1);
	sigma = PG_GETARG_FLOAT8(2);
	check_positive("sigma", sigma);
	fields.law = law_of_name(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	fields.seed = (uint64) PG_GETARG_INT64(4);
	fields.center = numbers_argument(fcinfo, 5, fields.dim, "center");
	fields.scale = scales_argument(fcinfo, 6, fields.dim);
	structured = fields.dim >= FC_STRUCTURED_CROSSOVER;
	read_options(PG_GETARG_JSONB_P(7), known, lengthof(known));
	fields.structured = structured;
	fields.cosine = sketches_cosine(metric);
	fields.sigmas = sigmas.count > 0 ? sigmas.values : &sigma;
	fields.scales = sigmas.count > 0 ? (Size) sigmas.count : 1;
	check_sigmas(fields.sigmas, fields.scales, fields.frequencies);
	PG_RETURN_POINTER(build_spec(&fields));
}

/*
 * Default number of sample rows in a spec. With more, decode reaches a lower
 * SSE, but takes longer, and specs are larger (bench/quality.py).
 */
#define SAMPLE_ROWS	1000

/* Number of entries of the reservoir that are allocated at first. A guess. */
#define FIRST_CAPACITY	64

/*
 * Center of a spec. The default is the mean; for sparsevec rows it is 0, so
 * that their zeros add nothing to a sketch.
 */
enum
{
	CENTER_AUTO,
	CENTER_MEAN,
	CENTER_ZERO
};

typedef struct spec_state
{
	const state_kind *kind;
	fc_reservoir sample;
	Size		capacity;		/* number of allocated entries of the
								 * reservoir */
	int32		clusters;
	int64		rows;			/* rows added so far */
	bool		sparse;			/* true if any row was a sparsevec */
	Jsonb	   *options;

	/*
	 * true if the metric is cosine: rows are scaled to length 1, and zero
	 * rows are skipped
	 */
	bool		cosine;
} spec_state;

/* ---- state ---- */

static fc_spec_options options_of(const spec_state *state);

static spec_state *
new_state(int32 d)
{
	spec_state *state = palloc0(sizeof(spec_state));

	state->kind = &spec_state_kind;
	state->sample = fc_reservoir_start((Size) d);
	return state;
}

/* Returns the size of the allocated entries in bytes. */
static Size
state_bytes(const spec_state *state)
{
	return state->capacity *
		(sizeof(fc_reservoir_entry) + state->sample.d * sizeof(double));
}

/*
 * Enlarges the arrays of entries and values, in the memory context of the
 * state.
 */
static void
grow(spec_state *state)
{
	MemoryContext context = GetMemoryChunkContext(state);
	fc_reservoir *sample = &state->sample;
	Size		capacity = Min(Max(FIRST_CAPACITY, state->capacity + state->capacity / 2),
							   2 * sample->capacity);
	Size		bytes = capacity * sample->d * sizeof(double);

	check_budget(state_bytes(state) + bytes + capacity * sizeof(fc_reservoir_entry),
				 "sketch_spec_agg");
	sample->entries = state->capacity > 0
		? repalloc(sample->entries,
				   capacity * sizeof(fc_reservoir_entry))
		: MemoryContextAlloc(context,
							 capacity *
							 sizeof(fc_reservoir_entry));
	sample->values = state->capacity > 0 ? repalloc_huge(sample->values, bytes)
		: alloc_large_in(context, bytes);
	state->capacity = capacity;
}

static void
offer(spec_state *state, uint64 hash, int64 count, const double *row)
{
	fc_reservoir *sample = &state->sample;

	if (!fc_reservoir_wants(sample, hash))
		return;
	if (fc_reservoir_is_full(sample))
	{
		memory_account memory = {"sketch_spec_agg"};
		fc_arena	arena;

		charge_memory(&memory, state_bytes(state));
		arena = charged_arena(&memory);
		fc_reservoir_compact(sample, &arena);
		release_arena(&arena);
		if (!fc_reservoir_wants(sample, hash))
			return;
	}
	if (sample->used == state->capacity)
		grow(state);
	fc_reservoir_put(sample, hash, count, row);
}

/*
 * Returns a copy of the sample with equal rows merged. Charges the sizes of
 * the state and of the copy to the account.
 */
static fc_reservoir
compacted(const spec_state *state, memory_account *memory)
{
	fc_arena	arena;
	fc_reservoir copy;

	charge_memory(memory, state_bytes(state));
	arena = charged_arena(memory);
	fc_reservoir_compacted(&state->sample, &arena, &copy);
	return copy;
}

/* ---- arguments ---- */

/*
 * Maximum magnitude of an element: sample rows are kept in single precision,
 * and k-means squares their distances.
 */
#define MAX_ELEMENT	1e30

/*
 * Checks the arguments clusters and options. Stores them in a state that has
 * none yet. Raises an error if they differ from the values in the state.
 */
static void
check_arguments(FunctionCallInfo fcinfo, spec_state *state)
{
	bool		has_options = PG_NARGS() > 3;

	require_argument(fcinfo, 2, "clusters");
	if (has_options)
		require_argument(fcinfo, 3, "options");
	check_count("clusters", PG_GETARG_INT32(2), 1, FC_MAX_CLUSTERS);
	if (state == NULL)
		return;
	if (state->clusters == 0)
	{
		state->clusters = PG_GETARG_INT32(2);
		if (has_options)
			state->options = PG_GETARG_JSONB_P_COPY(3);
		state->cosine = options_of(state).cosine;
	}
	else if (state->clusters != PG_GETARG_INT32(2) ||
			 (has_options &&
			  compareJsonbContainers(&state->options->root,
									 &PG_GETARG_JSONB_P(3)->root) != 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("clusters and options must be the same for all rows"));
}

static void
add_row(spec_state *state, const vector *v)
{
	double	   *values = palloc((Size) v->d * sizeof(double));

	copy_row(v, values);
	for (int i = 0; i < v->d; i++)
		if (fabs(values[i]) > MAX_ELEMENT)
			ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("vector element %d is %g, too large to choose a sketch_spec",
						   i + 1, values[i]),
					errdetail("Elements may be up to %g in magnitude.",
							  MAX_ELEMENT),
					errhint("Scale the data down, or exclude such rows."));
	if (!state->cosine || fc_unit_row(values, state->sample.d, values))
	{
		state->rows++;
		offer(state, fc_reservoir_hash(&state->sample, values), 1, values);
	}
	pfree(values);
}

PG_FUNCTION_INFO_V1(fastclust_spec_accum);
Datum
fastclust_spec_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	spec_state *state = internal_state(fcinfo);
	vector		v;

	check_arguments(fcinfo, state);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	v = row_argument(fcinfo, 1);
	if (state == NULL)
	{
		old = MemoryContextSwitchTo(context);
		state = new_state(v.d);
		check_arguments(fcinfo, state);
		MemoryContextSwitchTo(old);
	}
	check_vector_dim(&v, state->sample.d, "the first row");
	state->sparse |= form_of_argument(fcinfo, 1, false) == VECTOR_SPARSE;
	add_row(state, &v);
	PG_RETURN_POINTER(state);
}

/* ---- parallel plans ---- */

/* Creates an empty state with the parameters of another state. */
static spec_state *
like_state(const spec_state *from)
{
	spec_state *state = new_state((int32) from->sample.d);

	state->clusters = from->clusters;
	state->options = copy_options(from->options);
	state->cosine = from->cosine;
	return state;
}

static void *
combine(FunctionCallInfo fcinfo, void *left_state, void *right_state)
{
	const spec_state *right = right_state;
	spec_state *left = left_state != NULL ? left_state : like_state(right);

	check_same_dim((int32) left->sample.d, (int32) right->sample.d);
	if (left->clusters != right->clusters)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("clusters and options must be the same for all rows"));
	left->rows += right->rows;
	left->sparse |= right->sparse;
	left->sample.threshold = Min(left->sample.threshold,
								 right->sample.threshold);
	for (Size i = 0; i < right->sample.used; i++)
	{
		const fc_reservoir_entry *entry = &right->sample.entries[i];

		offer(left, entry->hash, entry->count,
			  right->sample.values + entry->row * right->sample.d);
	}
	return left;
}

static void
serialize(FunctionCallInfo fcinfo, void *packed, StringInfo message)
{
	spec_state	state = *(const spec_state *) packed;
	memory_account memory = {"sketch_spec_agg"};

	state.sample = compacted(packed, &memory);
	pq_sendbytes(message, (const char *) &state, sizeof(spec_state));
	send_options(message, state.options);
	pq_sendbytes(message, (const char *) state.sample.entries,
				 (int) (state.sample.used * sizeof(fc_reservoir_entry)));
	pq_sendbytes(message, (const char *) state.sample.values,
				 (int) (state.sample.used * state.sample.d * sizeof(double)));
}

static void *
deserialize(FunctionCallInfo fcinfo, StringInfo message)
{
	spec_state *state = palloc(sizeof(spec_state));
	Size		used;

	pq_copymsgbytes(message, (char *) state, sizeof(spec_state));
	state->kind = &spec_state_kind;
	state->options = receive_options(message);
	used = state->sample.used;
	state->sample.used = state->capacity = 0;
	while (state->capacity < used)
		grow(state);
	pq_copymsgbytes(message, (char *) state->sample.entries,
					(int) (used * sizeof(fc_reservoir_entry)));
	pq_copymsgbytes(message, (char *) state->sample.values,
					(int) (used * state->sample.d * sizeof(double)));
	state->sample.used = used;
	return state;
}

const state_kind spec_state_kind = {combine, serialize, deserialize};

/* ---- the choice ---- */

static fc_spec_options
options_of(const spec_state *state)
{
	static const named_value centers[] = {
		{"auto", CENTER_AUTO},
		{"mean", CENTER_MEAN},
		{"zero", CENTER_ZERO}
	};
	static const named_value structures[] = {
		{"auto", FC_STRUCTURE_AUTO},
		{"on", FC_STRUCTURE_ON},
		{"off", FC_STRUCTURE_OFF}
	};
	fc_spec_options chosen = {.clusters = (Size) state->clusters};
	int			frequencies = 0;	/* 0 lets fastclust choose the number from
									 * the sample */
	int			dimensions = 0;
	int			sample_rows = SAMPLE_ROWS;
	float_list	scales = {0};
	char	   *law = "adapted_radius_kmeans";
	char	   *structure = "auto";
	char	   *center = "auto";
	int			where;
	char	   *metric = NULL;
	const option known[] = {
		{"frequencies", OPTION_INT, &frequencies, 1, FC_MAX_MOMENTS},
		{"dimensions", OPTION_INT, &dimensions, 1, FC_MAX_DIM},
		{"sample_rows", OPTION_INT, &sample_rows, 0, FC_RESERVOIR_ROWS},
		{"sigma", OPTION_FLOAT, &chosen.sigma, 1e-300, 1e300},
		{"scales", OPTION_FLOATS, &scales, 1e-6, 1e6},
		{"law", OPTION_TEXT, &law, 0, 0},
		{"structured", OPTION_TEXT, &structure, 0, 0},
		{"center", OPTION_TEXT, &center, 0, 0},
		{"metric", OPTION_TEXT, &metric, 0, 0},
		{"seed", OPTION_SEED, &chosen.seed, 0, 0}
	};

	if (state->options != NULL)
		read_options(state->options, known, lengthof(known));
	chosen.frequencies = (Size) frequencies;
	chosen.dimensions = (Size) dimensions;
	chosen.sample_rows = (Size) sample_rows;
	chosen.scales = scales.values;
	chosen.scale_count = (Size) scales.count;
	chosen.structure = (fc_structure) choice_of_name("option \"structured\":",
													 structure, structures,
													 lengthof(structures));
	chosen.law = law_of_name(law);
	where = choice_of_name("option \"center\":", center, centers,
						   lengthof(centers));
	chosen.zero_center = where == CENTER_ZERO ||
		(where == CENTER_AUTO && state->sparse);
	chosen.cosine = sketches_cosine(metric);
	return chosen;
}

static fc_spec *
spec_of_state(const spec_state *state)
{
	fc_reservoir sample;
	fc_spec_options options;
	fc_spec_fields fields;
	memory_account memory = {"sketch_spec_agg"};
	fc_arena	found;
	fc_arena	work;
	double	   *weight;

	sample = compacted(state, &memory);
	options = options_of(state);
	announce_work(psprintf("the choice of a sketch_spec from %zu rows takes",
						   sample.used),
				  fc_spec_operations(sample.used, sample.d, &options), false,
				  "Lower the argument clusters, or set option dimensions");
	weight = palloc(sample.used * sizeof(double));
	for (Size i = 0; i < sample.used; i++)
		weight[i] = (double) sample.entries[i].count;
	found = charged_arena(&memory);
	work = charged_arena(&memory);
	check_status(fc_spec_choose(sample.values, weight, sample.used, sample.d,
								&options, &work, &found, &fields));
	release_arena(&work);
	check_sigmas(fields.sigmas, fields.scales, fields.frequencies);
	return build_spec(&fields);
}

PG_FUNCTION_INFO_V1(fastclust_spec_final);
Datum
fastclust_spec_final(PG_FUNCTION_ARGS)
{
	const spec_state *state = internal_state(fcinfo);

	if (state == NULL || state->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(spec_of_state(state));
}

fc_spec *
spec_of_rows(const double *x, Size n, Size d, int32 clusters, Jsonb *options)
{
	spec_state *state = new_state((int32) d);

	state->clusters = clusters;
	state->options = options;
	state->cosine = options_of(state).cosine;
	for (Size r = 0; r < n; r++)
	{
		vector		row = {.doubles = x + r * d,.d = (int) d};

		CHECK_FOR_INTERRUPTS();
		add_row(state, &row);
	}
	return spec_of_state(state);
}
