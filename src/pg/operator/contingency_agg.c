/*
 * contingency_agg.c - adjusted_rand_agg and normalized_mutual_information_agg
 * over pairs of labels of any two types
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "operator/contingency.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/base/values.h"
#include "pg/operator/operator_value.h"

/*
 * Initial capacity of a table, in pairs of labels; it is doubled when the
 * table is full. A guess.
 */
#define FIRST_CAPACITY	64

/*
 * Returns an empty table in the memory of the aggregate. charged: size in
 * bytes of the table from which it is filled, or 0.
 */
static fc_contingency *
new_table(FunctionCallInfo fcinfo, Size charged, Size capacity)
{
	fc_contingency *table;

	if (fc_contingency_size(capacity) > MaxAllocSize)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("too many distinct pairs of labels"),
				errdetail("The maximum is %zu.", capacity * 3 / 8));
	check_budget(charged + fc_contingency_size(capacity), "the table of label pairs");
	table = MemoryContextAlloc(aggregate_context(fcinfo), fc_contingency_size(capacity));
	fc_contingency_init(capacity, table);
	SET_VARSIZE(table, fc_contingency_size(capacity));
	return table;
}

/*
 * Returns the table if it has room for `more` pairs. Otherwise returns a
 * larger copy and frees the table.
 */
static fc_contingency *
with_capacity(FunctionCallInfo fcinfo, fc_contingency *table, Size more)
{
	Size		capacity = table->capacity;
	fc_contingency *larger;

	while ((table->used + more) * 4 > capacity * 3)
		capacity *= 2;
	if (capacity == table->capacity)
		return table;
	larger = new_table(fcinfo, VARSIZE(table), capacity);
	check_status(fc_contingency_merge(larger, table));
	pfree(table);
	return larger;
}

/* ---- labels ---- */

/*
 * Looks up the types of the labels in arguments 1 and 2, and keeps them for the
 * call site.
 */
static TypeCacheEntry **
label_types(FunctionCallInfo fcinfo)
{
	TypeCacheEntry **types = fcinfo->flinfo->fn_extra;

	if (types != NULL)
		return types;
	types = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, 2 * sizeof(TypeCacheEntry *));
	for (int n = 0; n < 2; n++)
		types[n] = hashed_type(getBaseType(get_fn_expr_argtype(fcinfo->flinfo, n + 1)), "labels");
	return fcinfo->flinfo->fn_extra = types;
}

/*
 * Returns the label in argument n: an integer itself, or the 64-bit hash of
 * another value. Values that are equal in their type are one label. Different
 * values with equal hashes are one label, too; they are too rare to matter.
 */
static int64
label_argument(FunctionCallInfo fcinfo, int n)
{
	TypeCacheEntry *type = label_types(fcinfo)[n - 1];

	switch (type->type_id)
	{
		case INT2OID:
			return PG_GETARG_INT16(n);
		case INT4OID:
			return PG_GETARG_INT32(n);
		case INT8OID:
			return PG_GETARG_INT64(n);
		default:
			return DatumGetInt64(FunctionCall2Coll(&type->hash_extended_proc_finfo,
												   PG_GET_COLLATION(), PG_GETARG_DATUM(n),
												   Int64GetDatum(0)));
	}
}

/* ---- aggregates ---- */

PG_FUNCTION_INFO_V1(fastclust_contingency_accum);
Datum
fastclust_contingency_accum(PG_FUNCTION_ARGS)
{
	fc_contingency *table;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return unchanged_state(fcinfo);
	table = PG_ARGISNULL(0) ? new_table(fcinfo, 0, FIRST_CAPACITY)
		: with_capacity(fcinfo, (fc_contingency *) PG_GETARG_POINTER(0), 1);
	check_status(fc_contingency_add(table, label_argument(fcinfo, 1),
									label_argument(fcinfo, 2), 1));
	PG_RETURN_POINTER(table);
}

PG_FUNCTION_INFO_V1(fastclust_contingency_combine);
Datum
fastclust_contingency_combine(PG_FUNCTION_ARGS)
{
	fc_contingency *left;
	fc_contingency *right;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	right = (fc_contingency *) PG_GETARG_POINTER(1);
	left = PG_ARGISNULL(0) ? new_table(fcinfo, VARSIZE(right), right->capacity)
		: with_capacity(fcinfo, (fc_contingency *) PG_GETARG_POINTER(0), right->used);
	check_status(fc_contingency_merge(left, right));
	PG_RETURN_POINTER(left);
}

static Datum
score(FunctionCallInfo fcinfo,
	  fc_status (*statistic) (const fc_cell *, size_t, fc_arena *, double *))
{
	const fc_contingency *table;
	fc_cell    *cells;
	fc_arena	arena;
	memory_account memory = {"the score"};
	Size		n;
	double		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	table = (fc_contingency *) PG_GETARG_POINTER(0);
	n = table->used;
	charge_memory(&memory, VARSIZE(table));
	arena = charged_arena(&memory);
	cells = FC_TAKE(&arena, n, fc_cell);
	fc_contingency_list(table, &arena, cells);
	check_status(statistic(cells, n, &arena, &result));
	release_arena(&arena);
	PG_RETURN_FLOAT8(result);
}

PG_FUNCTION_INFO_V1(fastclust_adjusted_rand_final);
Datum
fastclust_adjusted_rand_final(PG_FUNCTION_ARGS)
{
	return score(fcinfo, fc_adjusted_rand);
}

PG_FUNCTION_INFO_V1(fastclust_normalized_mutual_information_final);
Datum
fastclust_normalized_mutual_information_final(PG_FUNCTION_ARGS)
{
	return score(fcinfo, fc_normalized_mutual_information);
}
