/* score_agg.c - adjusted_rand_agg and normalized_mutual_information_agg over pairs of labels */
#include "fastclust.h"

#include "fc_contingency.h"
#include "fc_step.h"
#include "utils/memutils.h"

#define FIRST_CAPACITY 64

static fc_contingency *
new_table(Size capacity)
{
	fc_contingency *table;

	if (fc_contingency_size(capacity) > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many distinct pairs of labels"),
				 errdetail("There are more than %zu.", capacity * 3 / 8)));
	check_budget(fc_contingency_size(capacity), "the table of label pairs");
	table = palloc(fc_contingency_size(capacity));
	fc_contingency_init(capacity, table);
	SET_VARSIZE(table, fc_contingency_size(capacity));
	return table;
}

static fc_contingency *
table_argument(FunctionCallInfo fcinfo, int n)
{
	struct varlena *value = (struct varlena *) PG_GETARG_POINTER(n);
	fc_contingency *table = (fc_contingency *) (VARATT_IS_4B_U(value) ? value : PG_DETOAST_DATUM(PG_GETARG_DATUM(n)));

	if (table->version != FC_STEP_VERSION || table->kind != FC_STEP_CONTINGENCY)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the state belongs to another aggregate")));
	return table;
}

static void
add_all(fc_contingency *target, const fc_contingency *source)
{
	const fc_cell *cells = fc_contingency_cells(source);

	for (uint32 i = 0; i < source->capacity; i++)
		if (cells[i].count != 0)
			fc_contingency_add(target, cells[i].a, cells[i].b, cells[i].count);
}

static fc_contingency *
with_room(fc_contingency *table, Size more)
{
	Size		capacity = table->capacity;
	fc_contingency *larger;

	while ((table->used + more) * 4 > capacity * 3)
		capacity *= 2;
	if (capacity == table->capacity)
		return table;
	larger = new_table(capacity);
	add_all(larger, table);
	return larger;
}

PG_FUNCTION_INFO_V1(fastclust_contingency_accum);
Datum
fastclust_contingency_accum(PG_FUNCTION_ARGS)
{
	fc_contingency *table;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	table = PG_ARGISNULL(0) ? new_table(FIRST_CAPACITY) : with_room(table_argument(fcinfo, 0), 1);
	fc_contingency_add(table, PG_GETARG_INT32(1), PG_GETARG_INT32(2), 1);
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
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	right = table_argument(fcinfo, 1);
	left = PG_ARGISNULL(0) ? new_table(right->capacity) : with_room(table_argument(fcinfo, 0), right->used);
	add_all(left, right);
	PG_RETURN_POINTER(left);
}

static Datum
score(FunctionCallInfo fcinfo, double (*of) (const fc_cell *, size_t, fc_arena *))
{
	fc_contingency *table;
	fc_cell    *cells;
	fc_arena	arena;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	table = table_argument(fcinfo, 0);
	cells = palloc_extended(Max(table->used, 1) * sizeof(fc_cell), MCXT_ALLOC_HUGE);
	fc_contingency_list(table, cells);
	arena = make_arena(fc_scores_worksize(table->used), "the score");
	PG_RETURN_FLOAT8(of(cells, table->used, &arena));
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
