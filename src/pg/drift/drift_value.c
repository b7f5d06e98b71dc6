/*
 * drift_value.c - the types drift_spec and drift_counts; the layouts of counts
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/typcache.h"

#include "base/rng.h"
#include "pg/base/memory.h"
#include "pg/base/values.h"
#include "pg/base/vectors.h"
#include "pg/drift/drift_value.h"

static const value_type spec_type = {"drift_spec", fc_drift_spec_check};
static const value_type counts_type = {"drift_counts", fc_drift_counts_check};

PG_FUNCTION_INFO_V1(fastclust_drift_spec_in);
Datum
fastclust_drift_spec_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &spec_type);
}

PG_FUNCTION_INFO_V1(fastclust_drift_spec_recv);
Datum
fastclust_drift_spec_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &spec_type);
}

PG_FUNCTION_INFO_V1(fastclust_drift_counts_in);
Datum
fastclust_drift_counts_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &counts_type);
}

PG_FUNCTION_INFO_V1(fastclust_drift_counts_recv);
Datum
fastclust_drift_counts_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &counts_type);
}

/*
 * Output function. Packs the counts first, because an aggregate's state may
 * have pending rows.
 */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_out);
Datum
fastclust_drift_counts_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(value_text(drift_counts_pack(DRIFT_COUNTS_ARG(0))));
}

PG_FUNCTION_INFO_V1(fastclust_drift_counts_send);
Datum
fastclust_drift_counts_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(drift_counts_pack(DRIFT_COUNTS_ARG(0)));
}

PG_FUNCTION_INFO_V1(fastclust_counts_nulls);
Datum
fastclust_counts_nulls(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(DRIFT_COUNTS_ARG(0)->flags & FC_DRIFT_NULLS);
}

/*
 * Takes (counts). Returns the number of units, such as customers, to which the
 * counted rows belong. Returns NULL if the rows were not counted in units.
 */
PG_FUNCTION_INFO_V1(fastclust_unit_count);
Datum
fastclust_unit_count(PG_FUNCTION_ARGS)
{
	const fc_drift_units *units = fc_drift_units_of(DRIFT_COUNTS_ARG(0));

	if (units == NULL || units->units == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(units->units);
}

/*
 * Takes (unit, key). Returns the number, from 0, of the part in which a row is
 * counted (drift/units.h). The part depends on a hash of the row's unit or, if
 * the unit is NULL, of the row's key.
 */
PG_FUNCTION_INFO_V1(fastclust_unit_part);
Datum
fastclust_unit_part(PG_FUNCTION_ARGS)
{
	TypeCacheEntry *type = fcinfo->flinfo->fn_extra;
	uint64		hash;

	if (type == NULL)
		fcinfo->flinfo->fn_extra = type =
			hashed_type(get_fn_expr_argtype(fcinfo->flinfo, 0), "units");
	if (PG_ARGISNULL(0))
		hash = (uint64) PG_GETARG_INT64(1);
	else
		hash = DatumGetUInt64(FunctionCall2Coll(&type->hash_extended_proc_finfo,
												PG_GET_COLLATION(), PG_GETARG_DATUM(0),
												Int64GetDatum(0)));
	PG_RETURN_INT32((int32) (fc_hash_words(0, hash, 0, 0) % FC_DRIFT_PARTS));
}

/* ---- specs prepared ---- */

const fc_drift_prepared *
drift_prepared_of_spec(const fc_drift_spec *spec)
{
	static MemoryContext context = NULL;
	static fc_drift_prepared prepared;
	MemoryContext old;
	fc_arena	arena;

	if (likely(prepared.digest[0] == spec->digest[0] &&
			   prepared.digest[1] == spec->digest[1] &&
			   prepared.dim == spec->dim && prepared.plain == spec->plain &&
			   prepared.bits == fc_drift_spec_bits(spec)))
		return &prepared;
	prepared.dim = 0;			/* dimension 0 matches no spec, until
								 * `prepared` is complete */
	if (context == NULL)
		context = AllocSetContextCreate(CacheMemoryContext, "fastclust drift",
										ALLOCSET_SMALL_SIZES);
	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	arena = make_arena("counting rows for drift");
	fc_drift_prepare(spec, &arena, &prepared);
	MemoryContextSwitchTo(old);
	return &prepared;
}

/* ---- layouts ---- */

fc_drift_counts *
new_drift_counts(const fc_drift_spec *spec, uint8 nulls)
{
	Size		size = fc_drift_size_of_spec(spec, FC_DRIFT_UNPACKED);
	fc_drift_counts *counts;

	check_budget(2 * size, "drift_counts");
	counts = palloc(size);
	fc_drift_counts_init(spec, FC_DRIFT_UNPACKED | nulls, counts);
	SET_VARSIZE(counts, size);
	return counts;
}

/*
 * Returns a copy of counts in another layout. The counts must not have pending
 * rows.
 */
static fc_drift_counts *
converted(const fc_drift_counts *source, uint8 flags)
{
	Size		size = fc_drift_counts_size(source, flags);
	fc_drift_counts *target;

	check_budget(VARSIZE(source) + 2 * size, "drift_counts");
	target = palloc(size);
	check_status(fc_drift_convert(source, flags, target));
	SET_VARSIZE(target, size);
	return target;
}

fc_drift_counts *
drift_counts_unpack(fc_drift_counts *counts)
{
	return (counts->flags & FC_DRIFT_UNPACKED)
		? counts
		: converted(counts, (counts->flags & ~FC_DRIFT_UNITS) | FC_DRIFT_UNPACKED);
}

fc_drift_counts *
drift_counts_pack(const fc_drift_counts *counts)
{
	uint8		flags = fc_drift_packed_flags(counts);
	fc_drift_counts *copy;

	if (counts->flags == flags)
		return (fc_drift_counts *) counts;
	if (!fc_drift_is_folded(counts))
	{
		copy = copied_value(counts);
		fc_drift_fold(copy);
		counts = copy;
	}
	copy = converted(counts, flags);
	Assert(fc_drift_counts_check(copy, VARSIZE(copy)) == FC_OK);
	return copy;
}

/* ---- rows and sums ---- */

/*
 * Returns the counts or, if `weight` more rows require counters of 64 bits, a
 * copy with such counters.
 */
static inline fc_drift_counts *
wide_enough(fc_drift_counts *counts, uint32 weight)
{
	if (likely(counts->rows + weight <= FC_DRIFT_MAX_NARROW ||
			   (counts->flags & FC_DRIFT_WIDE)))
		return counts;
	fc_drift_fold(counts);
	return converted(counts, FC_DRIFT_UNPACKED | FC_DRIFT_WIDE);
}

fc_drift_counts *
drift_counts_add_sparse_row(const fc_drift_prepared *prepared, const fc_sparse_row *row,
							uint32 weight, fc_drift_counts *counts)
{
	counts = wide_enough(counts, weight);
	check_status(fc_drift_count_sparse_row(prepared, row, weight, counts));
	return counts;
}

fc_drift_counts *
drift_counts_add_row(const fc_drift_prepared *prepared, const double *doubles,
					 const float *floats, uint32 weight, fc_drift_counts *counts)
{
	fc_status	status;

	counts = wide_enough(counts, weight);
	status = fc_drift_count_row(prepared, doubles, floats, weight, counts);
	if (unlikely(status == FC_EVALUE))
		reject_not_finite(doubles, floats, prepared->dim);
	check_status(status);
	return counts;
}

void
reject_negative_counts(void)
{
	ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
			errmsg("cannot subtract drift_counts of rows that the other drift_counts do not include"));
}

fc_drift_counts *
drift_counts_combined(fc_drift_counts *target, const fc_drift_counts *source,
					  int sign)
{
	int64		rows = target->rows + sign * source->rows;
	fc_status	status;

	fc_drift_fold(target);
	if (target->flags & FC_DRIFT_UNITS)
		target = converted(target, target->flags & ~FC_DRIFT_UNITS);
	if (fc_drift_width(rows) && !(target->flags & FC_DRIFT_WIDE))
		target = converted(target, target->flags | FC_DRIFT_WIDE);
	status = fc_drift_combine(target, source, sign);
	if (status == FC_EMISMATCH)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("cannot combine drift_counts of different drift_specs"));
	if (status == FC_ENEGATIVE)
		reject_negative_counts();
	check_status(status);
	return target;
}

fc_drift_counts *
counts_with_units(const fc_drift_parts *parts)
{
	const fc_drift_counts *all = parts->all.counts[0];
	fc_arena	arena = make_arena("the variances between units");
	fc_drift_counts *counts = converted(all, all->flags | FC_DRIFT_UNITS);

	fc_drift_count_units(parts, &arena, counts);
	release_arena(&arena);
	Assert(fc_drift_counts_check(counts, VARSIZE(counts)) == FC_OK);
	return counts;
}
