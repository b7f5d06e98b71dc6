/*
 * contingency_agg.c - adjusted_rand_agg and normalized_mutual_information_agg
 * over pairs of labels
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "operator/contingency.h"
#include "operator/step.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"

/*
 * Initial capacity of a table, in pairs of labels; it is doubled when the
 * table is full. A guess.
 */
#define FIRST_CAPACITY	64

/*
 * Returns an empty table, which the executor copies. charged: size in bytes of
 * the table that it replaces, or 0.
 */
static fc_contingency *
new_table(Size charged, Size capacity)
{
	fc_contingency *table;

	if (fc_contingency_size(capacity) > MaxAllocSize)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("too many distinct pairs of labels"),
				errdetail("The maximum is %zu.", capacity * 3 / 8));
	check_budget(charged + 2 * fc_contingency_size(capacity),
				 "the table of label pairs");
	table = palloc(fc_contingency_size(capacity));
	fc_contingency_init(capacity, table);
	SET_VARSIZE(table, fc_contingency_size(capacity));
	return table;
}

static fc_contingency *
table_argument(FunctionCallInfo fcinfo, int n)
{
	return state_argument(fcinfo, n, FC_STEP_CONTINGENCY);
}

static fc_contingency *
with_capacity(fc_contingency *table, Size more)
{
	Size		capacity = table->capacity;
	fc_contingency *larger;

	while ((table->used + more) * 4 > capacity * 3)
		capacity *= 2;
	if (capacity == table->capacity)
		return table;
	larger = new_table(VARSIZE(table), capacity);
	check_status(fc_contingency_merge(larger, table));
	return larger;
}

PG_FUNCTION_INFO_V1(fastclust_contingency_accum);
Datum
fastclust_contingency_accum(PG_FUNCTION_ARGS)
{
	fc_contingency *table;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return unchanged_state(fcinfo);
	table = PG_ARGISNULL(0) ? new_table(0, FIRST_CAPACITY)
		: with_capacity(table_argument(fcinfo, 0), 1);
	check_status(fc_contingency_add(table, PG_GETARG_INT32(1),
									PG_GETARG_INT32(2), 1));
	PG_RETURN_POINTER(table);
}

PG_FUNCTION_INFO_V1(fastclust_contingency_combine);
Datum
fastclust_contingency_combine(PG_FUNCTION_ARGS)
{
	fc_contingency *left;
	fc_contingency *right;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	right = table_argument(fcinfo, 1);
	left = PG_ARGISNULL(0) ? new_table(VARSIZE(right), right->capacity)
		: with_capacity(table_argument(fcinfo, 0), right->used);
	check_status(fc_contingency_merge(left, right));
	PG_RETURN_POINTER(left);
}

static Datum
score(FunctionCallInfo fcinfo,
	  fc_status (*statistic) (const fc_cell *, size_t, fc_arena *, double *))
{
	fc_contingency *table;
	fc_cell    *cells;
	fc_arena	arena;
	memory_account memory = {"the score"};
	Size		n;
	double		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	table = table_argument(fcinfo, 0);
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
