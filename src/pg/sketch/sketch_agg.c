/*
 * sketch_agg.c - sketch_agg and merge_agg: the state is the type.
 *
 * A state is an open sketch: a flat varlena changed in place, with up to a
 * batch of rows waiting for the kernel at its tail. It is ours to change only
 * as argument 0 of a transition, inverse or combine function; whatever leaves
 * (final, output, send) is a folded copy.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"

#include "pg/base/call_cache.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/* ---- states ---- */

/*
 * Bytes an aggregate takes at its peak: its plan; a state and the executor's
 * copy of a new one, of both kinds where a weight makes one into the other; in
 * the end a folded copy and the result.
 */
static Size
whole_bytes(const fc_spec *spec, Size batch, bool weights)
{
	Size		unit = fc_sketch_size(spec, FC_SKETCH_OPEN, batch);
	Size		state = (weights ? fc_sketch_size(spec,
												  FC_SKETCH_OPEN | FC_SKETCH_WEIGHTED,
												  batch)
						 : unit);
	Size		result = fc_sketch_size(spec, weights ? FC_SKETCH_WEIGHTED : 0, 0);

	return fc_prepared_size(spec) + 2 * state + Max(weights ? unit : 0, result);
}

#define TOLD_ROWS	50000		/* an aggregate does not know how many there
								 * will be */

/* A new open state for the spec argument. */
static fc_sketch *
new_state(FunctionCallInfo fcinfo)
{
	fc_spec    *spec = SPEC_ARG(2);
	const fc_prepared *prepared = prepared_of_spec(spec);

	if (fcinfo->flinfo->fn_extra == NULL)
		announce_work(psprintf("%d rows of %s take", TOLD_ROWS,
							   aggregate_name(fcinfo)),
					  TOLD_ROWS * fc_sketch_operations(spec), false, NULL);
	check_budget(whole_bytes(spec, prepared->batch, PG_NARGS() > 3),
				 aggregate_name(fcinfo));
	return sketch_unpack(NULL, spec);
}

/* Returns the state argument, unpacked; a packed or toasted one is copied. */
static inline fc_sketch *
state_argument(FunctionCallInfo fcinfo)
{
	fc_sketch  *state = (fc_sketch *) PG_GETARG_POINTER(0);

	if (likely(VARATT_IS_4B_U(state) && (state->flags & FC_SKETCH_OPEN)))
		return state;
	return sketch_unpack(SKETCH_ARG(0), NULL);
}

/*
 * Kept by a call site: a buffer for rows, the digest of a TOASTed spec under
 * its pointer, so that it is not fetched at every row, and the prepared spec
 * last used.
 */
typedef struct sketch_site
{
	vector_reader reader;
	char		toast_pointer[TOAST_POINTER_SIZE];
	bool		has_pointer;
	uint64		digest[2];
	const fc_prepared *prepared;	/* while prepared_generation is generation */
	uint64		generation;
	fc_sketch_view view;		/* the state last used, of the prepared spec */
	uint32		capacity;		/* of that state */
	fc_sparse_row sparse;		/* the row at hand */

	/*
	 * room for a row of length 1 and for its floats, where a spec asks for
	 * that
	 */
	double	   *unit;
	Size		unit_doubles;
	row_places	places;			/* of plain rows */
} sketch_site;

static sketch_site *
new_site(FunctionCallInfo fcinfo)
{
	MemoryContext home;
	sketch_site *site = site_memory(fcinfo, sizeof(sketch_site), &home);

	site->reader.context = home;
	site->reader.anywhere = true;
	(void) argument_form(fcinfo, &site->reader, 1);
	return site;
}

/* d doubles, and d floats behind them. */
static double *
unit_room(sketch_site *site, Size d)
{
	return site->unit = grown(site->reader.context, site->unit,
							  &site->unit_doubles, d,
							  sizeof(double) + sizeof(float));
}

static inline sketch_site *
site_of(FunctionCallInfo fcinfo)
{
	sketch_site *site = fcinfo->flinfo->fn_extra;

	return likely(site != NULL) ? site : new_site(fcinfo);
}

/* The digest of a spec that is packed or TOASTed. */
static const uint64 *
digest_at_site(sketch_site *site, Datum spec_datum)
{
	const struct varlena *value = (const struct varlena *) DatumGetPointer(spec_datum);
	bool		toasted = VARATT_IS_EXTERNAL_ONDISK(value);

	if (toasted && site->has_pointer &&
		memcmp(site->toast_pointer, value, TOAST_POINTER_SIZE) == 0)
		return site->digest;
	spec_digest_of_datum(spec_datum, site->digest);
	site->has_pointer = toasted;
	if (toasted)
		memcpy(site->toast_pointer, value, TOAST_POINTER_SIZE);
	return site->digest;
}

static inline const fc_prepared *
prepared_of_state(sketch_site *site, const fc_sketch *state, Datum spec_datum)
{
	const fc_spec *own = fc_sketch_spec(state);
	const fc_spec *spec = (const fc_spec *) DatumGetPointer(spec_datum);
	const uint64 *digest = (likely(VARATT_IS_4B_U(spec))
							? spec->digest
							: digest_at_site(site, spec_datum));

	if (unlikely(((digest[0] ^ own->digest[0]) |
				  (digest[1] ^ own->digest[1])) != 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("spec must be the same for all rows of a sketch"),
				errhint("Give it as a scalar subquery: sketch_agg(x, (SELECT s FROM spec))."));
	if (unlikely(site->prepared == NULL ||
				 site->generation != prepared_generation ||
				 !prepared_serves(site->prepared, own)))
	{
		site->prepared = prepared_of_spec(own);
		site->generation = prepared_generation;
		site->view.head = NULL;
	}
	return site->prepared;
}

/*
 * A state at the address of the last one may still be another: bytes are freed
 * and given out again.
 */
static inline const fc_sketch_view *
view_of_state(sketch_site *site, fc_sketch *state)
{
	bool		weighted = (state->flags & FC_SKETCH_WEIGHTED) != 0;

	if (site->view.head != state || site->capacity != state->capacity ||
		weighted != (site->view.wide_z != NULL))
	{
		site->view = fc_sketch_view_of(state);
		site->capacity = state->capacity;
	}
	return &site->view;
}

/* ---- rows ---- */

/* The weight on its grid. */
static inline int64
grid_weight(FunctionCallInfo fcinfo)
{
	double		weight;
	int64		grid;

	if (PG_NARGS() <= 3)
		return FC_ONE_WEIGHT;
	weight = weight_argument(fcinfo, 3);
	if (fc_weight_on_grid(weight, &grid) != FC_OK)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("weight %g is out of range", weight),
				errdetail("A weight is 0 or between %g and %g.", FC_MIN_WEIGHT,
						  FC_MAX_WEIGHT),
				errhint("Multiply all weights by the same constant, which changes no normalised sketch; make negligible ones 0."));
	return grid;
}

/* Any row that is not a plain array, its copy kept at the site. */
static fc_row
read_row(sketch_site *site, Datum x, size_t d)
{
	vector		v = read_vector(&site->reader, x, "x");

	check_vector_dim(&v, d, "the sketch_spec");
	return (fc_row)
	{
		.doubles = v.doubles,.floats = v.floats
	};
}

/* Vectors of pgvector's are read where they lie. */
static fc_row
pgvector_row(sketch_site *site, Datum x, size_t d)
{
	pgvector_value value = read_pgvector_in_place(&site->reader, x, "x");
	vector		v = {.d = value.d};
	fc_row		row = {0};

	check_vector_dim(&v, d, "the sketch_spec");
	if (site->reader.form == VECTOR_SPARSE)
	{
		double	   *values = unit_room(site, (size_t) value.nonzeros);

		fc_widen((const float *) value.elements, (size_t) value.nonzeros,
				 values);
		site->sparse = (fc_sparse_row)
		{
			(const uint32 *) value.indices, values,
				(size_t) value.nonzeros
		};
		row.sparse = &site->sparse;
		return row;
	}
	if (site->reader.form == VECTOR_HALVES)
		row.halves = value.elements;
	else
		row.floats = (const float *) value.elements;
	prefetch_rows(&site->places, value.elements);
	return row;
}

static inline fc_row
row_of_datum(sketch_site *site, Datum x, size_t d)
{
	fc_row		row = {0};
	Oid			type;
	int			count;
	const char *elements;

	if (site->reader.form != VECTOR_ARRAY)
		return site->reader.form < VECTOR_LITERAL ? pgvector_row(site, x, d)
			: read_row(site, x, d);
	elements = plain_elements(x, &type, &count);
	if (unlikely(elements == NULL || count != d ||
				 (type != FLOAT4OID && type != FLOAT8OID)))
		return read_row(site, x, d);
	if (type == FLOAT4OID)
		row.floats = (const float *) elements;
	else
		row.doubles = (const double *) elements;
	prefetch_rows(&site->places, elements);
	return row;
}

/* The row brought to length 1, where it has a direction. */
static bool
to_unit_row(sketch_site *site, fc_row *row, size_t d)
{
	double	   *unit;
	bool		directed;

	if (row->sparse != NULL)
		return fc_unit_sparse_row(row->sparse->indices, row->sparse->count,
								  site->unit);
	unit = unit_room(site, d);
	if (row->doubles == NULL)
	{
		float	   *floats = (float *) (unit + d);

		if (row->halves != NULL)
			fc_widen_halves(row->halves, d, floats);
		else
			/* elements may stand on any byte */
			memcpy(floats, row->floats, d * sizeof(float));
		directed = fc_unit_float_row(floats, d, unit);
	}
	else
		directed = fc_unit_row(memcpy(unit, row->doubles, d * sizeof(double)),
							   d, unit);
	row->floats = NULL;
	row->halves = NULL;
	row->doubles = unit;
	return directed;
}

/*
 * Add or take away the row in arguments 1 .. 3; returns the state, grown if it
 * had to, or NULL for a row without direction.
 */
static inline fc_sketch *
apply_row(FunctionCallInfo fcinfo, fc_sketch *state, bool add)
{
	sketch_site *site = site_of(fcinfo);
	const fc_prepared *prepared = prepared_of_state(site, state,
													PG_GETARG_DATUM(2));
	fc_row		row = row_of_datum(site, PG_GETARG_DATUM(1), prepared->d);
	const fc_sketch_view *view;
	fc_status	status;

	row.weight = grid_weight(fcinfo);
	if (fc_spec_metric(prepared->spec) == FC_COSINE &&
		!to_unit_row(site, &row, prepared->d))
		return NULL;
	view = view_of_state(site, row.weight == FC_ONE_WEIGHT
						 ? state
						 : sketch_weighted(state));
	status = add ? fc_sketch_add(prepared, &row, view)
		: fc_sketch_subtract_row(prepared, &row, view);
	if (unlikely(status != FC_OK))
	{
		site->reader.anywhere = false;
		row = read_row(site, PG_GETARG_DATUM(1), prepared->d);
		report_row(status, row.doubles, row.floats, prepared->d);
	}
	return view->head;
}

/*
 * Leaves no row waiting, as in windows, where a state is read again at every
 * row.
 */
static void
fold_state(fc_sketch *state)
{
	fc_sketch_view view = fc_sketch_view_of(state);

	check_status(fc_sketch_fold(prepared_of_spec(view.spec), &view));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_accum);
Datum
fastclust_sketch_accum(PG_FUNCTION_ARGS)
{
	int			context = AggCheckCallContext(fcinfo, NULL);
	fc_sketch  *state;

	if (context == 0)
		aggregate_context(fcinfo);	/* its error */
	if (unlikely(PG_ARGISNULL(2)))
		require_argument(fcinfo, 2, "spec");
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	state = PG_ARGISNULL(0) ? new_state(fcinfo) : state_argument(fcinfo);
	state = apply_row(fcinfo, state, true);
	if (state == NULL)
		return unchanged_state(fcinfo);
	if (context == AGG_CONTEXT_WINDOW)
		fold_state(state);
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_accum_kept);
Datum
fastclust_sketch_accum_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_sketch_accum(fcinfo));
}

/*
 * Forward transition of a moving frame: never NULL, nothing waits, bounds are
 * not kept.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_accum_moving);
Datum
fastclust_sketch_accum_moving(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;
	fc_sketch  *applied;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 2, "spec");
	state = PG_ARGISNULL(0) ? new_state(fcinfo) : state_argument(fcinfo);
	applied = PG_ARGISNULL(1) ? NULL : apply_row(fcinfo, state, true);
	if (applied != NULL)
	{
		state = applied;
		fold_state(state);
	}
	sketch_forget_bounds(state);
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_inverse);
Datum
fastclust_sketch_inverse(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;
	fc_sketch  *applied;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 0, "the state");
	require_argument(fcinfo, 2, "spec");
	state = state_argument(fcinfo);
	applied = PG_ARGISNULL(1) ? NULL : apply_row(fcinfo, state, false);
	PG_RETURN_POINTER(applied != NULL ? applied : state);
}

/* ---- combining and finishing ---- */

/* Combine of sketch_agg, transition and combine of merge_agg. */
PG_FUNCTION_INFO_V1(fastclust_sketch_combine);
Datum
fastclust_sketch_combine(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_ARGISNULL(0))
	{
		/* the executor copies it */
		check_budget(2 * VARSIZE(SKETCH_ARG(1)), "a sketch");
		PG_RETURN_POINTER(SKETCH_ARG(1));
	}
	PG_RETURN_POINTER(sketch_combined(SKETCH_ARG(0), sketch_pack(SKETCH_ARG(1)),
									  1));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_combine_kept);
Datum
fastclust_sketch_combine_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_sketch_combine(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_final);
Datum
fastclust_sketch_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(sketch_pack(SKETCH_ARG(0)));
}

/*
 * An empty moving frame is NULL, and the first frame knows no more bounds than
 * the later ones.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_final_moving);
Datum
fastclust_sketch_final_moving(PG_FUNCTION_ARGS)
{
	fc_sketch  *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = SKETCH_ARG(0);
	if (state->count == 0)
		PG_RETURN_NULL();
	if (state->flags & FC_SKETCH_BOUNDS)
	{
		state = sketch_copy(state);
		sketch_forget_bounds(state);
	}
	PG_RETURN_POINTER(sketch_pack(state));
}

/* ---- operators ---- */

/*
 * left + sign * right. The left one is copied unless it is the state of
 * merge_agg over a moving frame.
 */
static Datum
combined(FunctionCallInfo fcinfo, int sign)
{
	fc_sketch  *left = sketch_pack(SKETCH_ARG(0));
	const fc_sketch *right = sketch_pack(SKETCH_ARG(1));

	if (AggCheckCallContext(fcinfo, NULL) != 0)
		PG_RETURN_POINTER(sketch_combined(left, right, sign));
	PG_RETURN_POINTER(sketch_pack(sketch_combined(sketch_copy(left), right,
												  sign)));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_plus);
Datum
fastclust_sketch_plus(PG_FUNCTION_ARGS)
{
	return combined(fcinfo, 1);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_minus);
Datum
fastclust_sketch_minus(PG_FUNCTION_ARGS)
{
	return combined(fcinfo, -1);
}
