/*
 * sketch_value.c - the types sketch_spec and sketch; the layouts of a sketch
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "pg/base/memory.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

static const value_type spec_type = {"sketch_spec", fc_spec_check, "model_spec"};
static const value_type sketch_type = {"sketch", fc_sketch_check};

PG_FUNCTION_INFO_V1(fastclust_sketch_spec_in);
Datum
fastclust_sketch_spec_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &spec_type);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_spec_recv);
Datum
fastclust_sketch_spec_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &spec_type);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_in);
Datum
fastclust_sketch_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &sketch_type);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_recv);
Datum
fastclust_sketch_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &sketch_type);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_out);
Datum
fastclust_sketch_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(value_text(sketch_pack(SKETCH_ARG(0))));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_send);
Datum
fastclust_sketch_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(sketch_pack(SKETCH_ARG(0)));
}

void
spec_digest_of_datum(Datum datum, uint64 digest[2])
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (!VARATT_IS_4B_U(value))
		value = PG_DETOAST_DATUM_SLICE(datum, 0, sizeof(fc_spec) - VARHDRSZ);
	memcpy(digest, VARDATA_ANY(value) + offsetof(fc_spec, digest) - VARHDRSZ,
		   2 * sizeof(uint64));
}

fc_spec *
spec_without_sample(const fc_spec *spec)
{
	Size		size = fc_spec_core_size(spec);
	fc_spec    *lean = alloc_large(size);

	fc_spec_without_sample(spec, lean);
	SET_VARSIZE(lean, size);
	return lean;
}

/* ---- layouts ---- */

/*
 * Returns a copy of a sketch in another layout. The budget check includes a
 * second copy, which the executor makes if the result becomes an aggregate's
 * state.
 */
static fc_sketch *
convert(const fc_sketch_view *source, uint8 flags, Size capacity)
{
	Size		size = fc_sketch_size(source->spec, flags, capacity);
	fc_sketch  *target;

	check_budget(VARSIZE(source->head) + 2 * size, "a sketch");
	target = palloc(size);
	SET_VARSIZE(target, size);
	check_status(fc_sketch_convert(source, flags, capacity, target));
	SET_VARSIZE(target, size);
	return target;
}

fc_sketch *
empty_sketch(const fc_spec *spec, uint8 flags, Size capacity)
{
	Size		size = fc_sketch_size(spec, flags, capacity);
	fc_sketch  *sketch;

	check_budget(size, "a sketch");
	sketch = palloc(size);
	SET_VARSIZE(sketch, size);
	fc_sketch_init(spec, flags, capacity, sketch);
	SET_VARSIZE(sketch, size);
	return sketch;
}

fc_sketch *
sketch_unpack(fc_sketch *sketch, const fc_spec *spec)
{
	fc_sketch_view view;

	if (sketch == NULL)
		return empty_sketch(spec, FC_SKETCH_UNPACKED,
							prepared_of_spec(spec)->batch);
	if (sketch->flags & FC_SKETCH_UNPACKED)
		return sketch;
	view = fc_sketch_view_of(sketch);
	return convert(&view, sketch->flags | FC_SKETCH_UNPACKED,
				   prepared_of_spec(view.spec)->batch);
}

fc_sketch *
sketch_pack(const fc_sketch *sketch)
{
	fc_sketch_view view;
	fc_sketch  *packed;

	if ((sketch->flags & (FC_SKETCH_WEIGHTED | FC_SKETCH_UNPACKED)) == 0)
		return (fc_sketch *) sketch;
	view = fc_sketch_view_of((sketch->flags & FC_SKETCH_UNPACKED)
							 ? sketch_copy(sketch)
							 : sketch);
	if (view.pending != NULL)
		check_status(fc_sketch_fold(prepared_of_spec(view.spec), &view));
	else if (!fc_sketch_is_unit(&view))
		return view.head;
	packed = convert(&view, fc_sketch_is_unit(&view) ? 0 : FC_SKETCH_WEIGHTED,
					 0);
	Assert(fc_sketch_check(packed, VARSIZE(packed)) == FC_OK);
	return packed;
}

fc_sketch *
sketch_copy(const fc_sketch *sketch)
{
	check_budget(2 * VARSIZE(sketch), "a sketch");
	return memcpy(palloc(VARSIZE(sketch)), sketch, VARSIZE(sketch));
}

fc_sketch *
sketch_weighted(fc_sketch *sketch)
{
	fc_sketch_view view;

	if (sketch->flags & FC_SKETCH_WEIGHTED)
		return sketch;
	view = fc_sketch_view_of(sketch);
	return convert(&view, sketch->flags | FC_SKETCH_WEIGHTED, sketch->capacity);
}

void
sketch_forget_bounds(fc_sketch *sketch)
{
	fc_sketch_view view = fc_sketch_view_of(sketch);

	fc_sketch_forget_bounds(&view);
}

static void
check_combined(fc_status status, const fc_spec *a, const fc_spec *b)
{
	if (status == FC_EMISMATCH)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("cannot combine sketches of different specs"),
				errdetail("One has %u dimensions, %u frequencies, sigma %g, seed %lld; the other %u, %u, %g, %lld.",
						  a->dim, a->frequencies, a->sigma, (long long) a->seed, b->dim,
						  b->frequencies, b->sigma, (long long) b->seed),
				errhint("Build both with the same sketch_spec value."));
	check_status(status);
}

fc_sketch *
sketch_combined(fc_sketch *target, const fc_sketch *source, int sign)
{
	fc_sketch_view from = fc_sketch_view_of(source);
	fc_sketch_view to = fc_sketch_view_of(from.wide_z != NULL
										  ? sketch_weighted(target)
										  : target);

	check_combined(fc_sketch_combine(&to, &from, sign), to.spec, from.spec);
	return to.head;
}

fc_sketch *
sketch_combined_weighted(fc_sketch *target, const fc_sketch *source,
						 int64 weight)
{
	fc_sketch_view from = fc_sketch_view_of(source);
	fc_sketch_view to;

	if (from.wide_z != NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("a sketch of weighted rows cannot be multiplied by a weight"));
	to = fc_sketch_view_of(target == NULL
						   ? empty_sketch(from.spec, FC_SKETCH_WEIGHTED, 0)
						   : sketch_weighted(target));
	check_combined(fc_sketch_combine_weighted(&to, &from, weight), to.spec,
				   from.spec);
	return to.head;
}

/*
 * Raises the error for a status. For FC_EVALUE and FC_EFAR, the message shows
 * the element that caused it.
 */
void
report_row(fc_status status, const double *doubles, const float *floats,
		   size_t d)
{
	if (status == FC_EVALUE)
		reject_not_finite(doubles, floats, d);
	if (status == FC_EFAR)
	{
		double		worst = 0;

		for (size_t i = 0; i < d; i++)
			worst = fmax(worst, fabs(row_element(doubles, floats, i)));
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("vector is too far outside the scale of the sketch_spec"),
				errdetail("Its largest element is %g; a value may be up to 2^38 sigmas from the spec's center.",
						  worst),
				errhint("Exclude such rows, or make the spec from rows of their scale."));
	}
	report_status(status);
}

/*
 * ---- prepared specs ----
 *
 * Each spec is prepared once per process and found by its digest, so that
 * thousands of groups share one set of frequencies.
 */

/*
 * Divisor of the memory budget that gives the maximum size of the cache. The
 * cache is emptied before it would become larger. A guess.
 */
#define BUDGET_SHARE	4

typedef struct prepared_spec
{
	uint64		digest[2];		/* key: digest of the spec */
	fc_spec    *spec;
	fc_prepared prepared;
} prepared_spec;

static MemoryContext prepared_context = NULL;
static HTAB *prepared_specs;
static Size prepared_bytes;

uint64		prepared_generation = 0;

static void
forget_prepared(void)
{
	if (prepared_context == NULL)
		prepared_context = AllocSetContextCreate(CacheMemoryContext,
												 "fastclust prepared",
												 ALLOCSET_SMALL_SIZES);
	MemoryContextReset(prepared_context);
	prepared_specs = make_table("fastclust prepared specs",
								sizeof(((prepared_spec *) 0)->digest),
								sizeof(prepared_spec), prepared_context);
	prepared_bytes = 0;
	prepared_generation++;
}

/*
 * Prepares a spec and caches it. The prepared spec is built in a context that
 * an error deletes, and enters the cache only when complete.
 */
static const fc_prepared *
prepare_spec(const fc_spec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fastclust prepared",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		bytes = (fc_spec_core_size(spec) + fc_prepared_size(spec) +
						 ALLOCSET_SMALL_INITSIZE);
	prepared_spec made = {.spec = spec_without_sample(spec)};
	prepared_spec *entry;
	fc_arena	arena;

	check_budget(fc_prepared_size(spec),
				 "drawing the frequencies of the sketch_spec");
	arena = make_arena("drawing the frequencies of the sketch_spec");
	fc_spec_prepare(made.spec, &arena, &made.prepared);
	MemoryContextSwitchTo(old);
	if (prepared_bytes + bytes >
		(Size) fastclust_memory_budget * 1024 / BUDGET_SHARE)
		forget_prepared();
	memcpy(made.digest, spec->digest, sizeof(made.digest));
	entry = hash_search(prepared_specs, made.digest, HASH_ENTER, NULL);
	*entry = made;
	MemoryContextSetParent(context, prepared_context);
	prepared_bytes += bytes;
	return &entry->prepared;
}

const fc_prepared *
prepared_of_spec(const fc_spec *spec)
{
	prepared_spec *entry;

	if (prepared_context == NULL)
		forget_prepared();
	entry = hash_search(prepared_specs, spec->digest, HASH_FIND, NULL);
	if (entry != NULL && fc_spec_same(entry->spec, spec))
		return &entry->prepared;
	if (entry != NULL)			/* digest collision */
		forget_prepared();
	return prepare_spec(spec);
}
