/*
 * scan_plan.c - reads the plan of a scan from its composite type, and chooses
 * the plan of a group
 */
#include "postgres.h"

#include "base/rng.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "pg/encode/group_value.h"
#include "pg/train/scan_state.h"

plan_fields
read_plan_fields(Datum datum)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(datum);
	HeapTupleData tuple = {
		.t_len = HeapTupleHeaderGetDatumLength(row),
		.t_data = row
	};
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
											  HeapTupleHeaderGetTypMod(row));
	plan_fields fields;

	if (desc->natts != PLAN_FIELDS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("a scan_plan has %d fields, not %d", PLAN_FIELDS,
					   desc->natts));
	heap_deform_tuple(&tuple, desc, fields.value, fields.null);
	ReleaseTupleDesc(desc);
	return fields;
}

/*
 * Returns the size in bytes of a field that is passed by value, or 0 for a
 * varlena.
 */
static inline Size
by_value(int field)
{
	switch (field)
	{
		case PLAN_SHARE:
		case PLAN_SIZE:
			return sizeof(int32);
		case PLAN_SAMPLE_VARIANCE:
		case PLAN_SEED:
		case PLAN_RANK_LIMIT:
		case PLAN_WEIGHT_FACTOR:
			return sizeof(int64);
		default:
			return 0;
	}
}

/* Returns true if all fields except the operators are equal. */
static bool
same_fields(const plan_fields *a, const plan_fields *b)
{
	for (int i = 0; i < PLAN_FIELDS; i++)
		if (i != PLAN_OPERATORS &&
			(a->null[i] != b->null[i] ||
			 (!a->null[i] &&
			  !datumIsEqual(a->value[i], b->value[i], by_value(i) > 0,
							by_value(i) > 0 ? (int) by_value(i) : -1))))
			return false;
	return true;
}

/*
 * Sets the dimension of the rows to d, the dimension of a field. Raises an
 * error if another field has set a different dimension. of_what: the name of
 * the field, for the error message.
 */
static void
set_dim(scan_plan *plan, Size d, const char *of_what)
{
	if (plan->d != 0 && plan->d != d)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("%s has %zu dimensions, %s has %zu", of_what, d,
					   plan->of_what, plan->d));
	plan->d = d;
	plan->of_what = of_what;
}

/* Returns a field of the plan that is a varlena; NULL for an SQL NULL. */
static const void *
field_value(const scan_plan *plan, int field)
{
	return plan->fields.null[field] ? NULL : DatumGetPointer(plan->fields.value[field]);
}

static void
prepare_map(scan_plan *plan, const fc_kernel_map_header *header)
{
	fc_arena	arena = make_arena_in(plan->context,
									  "the prepared kernel_map");

	plan->map = palloc(sizeof(fc_kernel_map));
	fc_kernel_map_view(header, plan->map);
	set_dim(plan, plan->map->op.d, "the kernel_map");
	fc_kernel_map_prepare(plan->map, &arena);
}

static void
prepare_sample(scan_plan *plan)
{
	const plan_fields *f = &plan->fields;

	plan->sample.limit = INFINITY;
	plan->sample.weighted = plan->weight_factor > 0;
	if (f->null[PLAN_SIZE])
		return;
	plan->sample.size = DatumGetInt32(f->value[PLAN_SIZE]);
	plan->sample.seed = (uint64) DatumGetInt64(f->value[PLAN_SEED]);
	if (!f->null[PLAN_SAMPLE_VARIANCE])
	{
		if (f->null[PLAN_SAMPLE_CENTER])
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("sample_variance of a scan_plan needs its sample_center"));
		plan->sample.variance = DatumGetFloat8(f->value[PLAN_SAMPLE_VARIANCE]);
		plan->sample.center = read_float8_array(f->value[PLAN_SAMPLE_CENTER],
												plan->d > 0 ? (int) plan->d
												: -1,
												"center");
	}
	if (!f->null[PLAN_RANK_LIMIT])
		plan->sample.limit = DatumGetFloat8(f->value[PLAN_RANK_LIMIT]);
	check_coreset_plan(&plan->sample);
}

/*
 * Prepares the plan except its scaling, which needs the dimension of the first
 * row.
 */
static void
prepare_plan(scan_plan *plan)
{
	const plan_fields *f = &plan->fields;
	int32		share = (f->null[PLAN_SHARE] ? 1
						 : DatumGetInt32(f->value[PLAN_SHARE]));

	if (field_value(plan, PLAN_ENCODER) != NULL)
	{
		plan->encoder = prepare_encoder(field_value(plan, PLAN_ENCODER), plan->context);
		keep_missing(plan->encoder);
		plan->record.context = AllocSetContextCreate(plan->context,
													 "fastclust columns",
													 ALLOCSET_SMALL_SIZES);
		set_dim(plan, plan->encoder->view.dim, "the encoder");
	}
	if (!f->null[PLAN_METRIC])
	{
		char	   *metric = TextDatumGetCString(f->value[PLAN_METRIC]);

		plan->observed = plan->encoder != NULL && strcmp(metric, "observed") == 0;
		plan->metric = plan->observed ? FC_EUCLIDEAN : metric_of_options(metric);
	}
	plan->spec = field_value(plan, PLAN_SPEC);
	if (plan->spec != NULL)
		set_dim(plan, plan->spec->dim, "the sketch_spec");
	plan->drift_spec = field_value(plan, PLAN_DRIFT_SPEC);
	if (plan->drift_spec != NULL)
		set_dim(plan, plan->drift_spec->dim, "the drift_spec");
	if (field_value(plan, PLAN_MAP) != NULL)
		prepare_map(plan, field_value(plan, PLAN_MAP));
	if (!f->null[PLAN_WEIGHT_FACTOR])
	{
		plan->weight_factor = DatumGetFloat8(f->value[PLAN_WEIGHT_FACTOR]);
		check_positive("weight_factor", plan->weight_factor);
	}
	prepare_sample(plan);
	if (share < 1 || (share & (share - 1)) != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("share is %d, not a power of two", share));
	plan->share = (uint64) share - 1;
}

void
complete_plan(scan_plan *plan, Size d)
{
	const plan_fields *f = &plan->fields;
	MemoryContext old = MemoryContextSwitchTo(plan->context);

	if (plan->d == 0)
		set_dim(plan, d, "the first row");
	if (!f->null[PLAN_CENTER] && !f->null[PLAN_SCALE])
	{
		plan->center = read_float8_array(f->value[PLAN_CENTER], (int) plan->d,
										 "center");
		plan->scale = read_float8_array(f->value[PLAN_SCALE], (int) plan->d,
										"scale");
	}
	plan->complete = true;
	MemoryContextSwitchTo(old);
}

scan_plan *
plan_of_fields(scan_plan *kept, const plan_fields *fields, MemoryContext call_context)
{
	MemoryContext old;
	MemoryContext context;
	scan_plan  *plan;

	if (kept != NULL && same_fields(&kept->fields, fields))
		return kept;
	context = AllocSetContextCreate(call_context, "fastclust scan",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	plan = palloc0(sizeof(scan_plan));
	plan->context = context;
	plan->fields = *fields;
	for (int i = 0; i < PLAN_OPERATORS; i++)	/* detoast and copy varlenas,
												 * except the operators */
		if (!fields->null[i] && by_value(i) == 0)
			plan->fields.value[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(fields->value[i]));
	prepare_plan(plan);
	MemoryContextSwitchTo(old);
	return plan;
}

/* ---- plans of groups ---- */

enum
{
	ARGUMENT_OTHERS,
	ARGUMENT_GROUPS,
	ARGUMENT_PLANS,
	ARGUMENT_GROUP
};

/*
 * Groups and their plans, which group_plan keeps between the calls of one call
 * site.
 */
typedef struct group_plans
{
	int			count;
	uint64	   *hash;			/* `count` hashes of groups */
	text	  **group;			/* groups as texts; NULL if groups are
								 * integers, which are their own hashes */
	group_finder *finder;		/* finds a group by its value if equal values
								 * may have different texts; else NULL */
	Datum	   *plan;
	Oid			type;			/* type of the grouping column; 0 until the
								 * plans have been read */
} group_plans;

static uint64
hash_of_text(const text *value)
{
	return fc_hash_bytes(0, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
}

static void
read_group_plans(FunctionCallInfo fcinfo, group_plans *plans)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P_COPY(ARGUMENT_PLANS);
	Datum	   *groups;
	int			count;
	group_type	type;

	plans->type = get_fn_expr_argtype(fcinfo->flinfo, ARGUMENT_GROUP);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P_COPY(ARGUMENT_GROUPS), TEXTOID, -1,
					  false, TYPALIGN_INT, &groups, NULL, &plans->count);
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_DOUBLE,
					  &plans->plan, NULL, &count);
	if (count != plans->count)
		ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				errmsg("%d plans are given for %d groups", count,
					   plans->count));
	plans->group = plans->type == INT2OID || plans->type == INT4OID ||
		plans->type == INT8OID
		? NULL
		: (text **) groups;
	type = group_type_of(plans->type, PG_GET_COLLATION());
	if (OidIsValid(type.type) && !type.strict)
	{
		plans->finder = make_group_finder(&type, plans->type, NULL,
										  fcinfo->flinfo->fn_mcxt);
		set_groups(plans->finder, PG_GETARG_ARRAYTYPE_P(ARGUMENT_GROUPS));
	}
	plans->hash = palloc(Max(1, count) * sizeof(uint64));
	for (int i = 0; i < count; i++)
		plans->hash[i] = plans->group != NULL
			? hash_of_text(plans->group[i])
			: (uint64) strtoll(TextDatumGetCString(groups[i]),
							   NULL, 10);
	MemoryContextSwitchTo(old);
}

/* Returns the index of the plan for a group, or -1. */
static int
place_of_plan(const group_plans *plans, Datum group)
{
	text	   *value = NULL;
	uint64		hash;

	if (plans->finder != NULL)
		return place_of_group(plans->finder, group);
	if (plans->group != NULL)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(plans->type, &output, &is_varlena);
		value = plans->type == TEXTOID
			? DatumGetTextPP(group)
			: cstring_to_text(OidOutputFunctionCall(output, group));
	}
	hash = value != NULL ? hash_of_text(value)
		: plans->type == INT2OID ? (uint64) DatumGetInt16(group)
		: plans->type == INT4OID ? (uint64) DatumGetInt32(group)
		: (uint64) DatumGetInt64(group);
	for (int i = 0; i < plans->count; i++)
		if (plans->hash[i] == hash &&
			(value == NULL ||
			 (VARSIZE_ANY_EXHDR(value) == VARSIZE_ANY_EXHDR(plans->group[i]) &&
			  memcmp(VARDATA_ANY(value), VARDATA_ANY(plans->group[i]),
					 VARSIZE_ANY_EXHDR(value)) == 0)))
			return i;
	return -1;
}

/*
 * Takes (others, groups, plans, group). Returns the plan of the group, or
 * `others` if the group has no plan.
 */
PG_FUNCTION_INFO_V1(fastclust_group_plan);
Datum
fastclust_group_plan(PG_FUNCTION_ARGS)
{
	group_plans *plans = fcinfo->flinfo->fn_extra;

	if (plans == NULL)
		plans = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
																  sizeof(group_plans));
	if (!PG_ARGISNULL(ARGUMENT_GROUPS) && !PG_ARGISNULL(ARGUMENT_PLANS) &&
		!PG_ARGISNULL(ARGUMENT_GROUP))
	{
		int			place;

		if (!OidIsValid(plans->type))
			read_group_plans(fcinfo, plans);
		place = place_of_plan(plans, PG_GETARG_DATUM(ARGUMENT_GROUP));
		if (place >= 0)
			PG_RETURN_DATUM(plans->plan[place]);
	}
	if (PG_ARGISNULL(ARGUMENT_OTHERS))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(ARGUMENT_OTHERS));
}
