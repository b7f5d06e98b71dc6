/*
 * coreset_state.c - the state of a weighted sample of rows, and conversion of
 * its rows to the centroids of an operator.
 *
 * The state is a single varlena value. Its sample does not depend on the order
 * in which rows are added.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pg/base/collect.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"
#include "pg/operator/sums.h"

/*
 * Initial capacity of a sample, in rows; it is doubled when the sample is
 * full. A guess.
 */
#define FIRST_CAPACITY	16

/* ---- the state ---- */

/*
 * Allocates a state for `capacity` rows. charged: size in bytes of the state
 * that it replaces, or 0. The memory budget must allow both states, or two of
 * the new size if that is more.
 */
static fc_coreset *
new_state(FunctionCallInfo fcinfo, Size charged, Size d, Size elements, Size capacity)
{
	Size		bytes = fc_coreset_bytes(d, elements, capacity);
	fc_coreset *state;

	check_budget(bytes + Max(charged, bytes), aggregate_name(fcinfo));
	if (bytes > MaxAllocSize)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("a sample of %zu rows in %zu dimensions is too large",
					   capacity, d));
	state = alloc_large(bytes);
	SET_VARSIZE(state, bytes);
	return state;
}

fc_coreset *
coreset_with_capacity(FunctionCallInfo fcinfo, const fc_coreset *state,
					  Size elements, Size capacity)
{
	fc_coreset *moved = new_state(fcinfo, VARSIZE(state), state->dim, elements, capacity);

	fc_coreset_move(state, elements, capacity, moved);
	SET_VARSIZE(moved, fc_coreset_bytes(state->dim, elements, capacity));
	return moved;
}

/*
 * The plan's center may be NULL only for a uniform sample, whose variance is
 * 0.
 */
fc_coreset *
new_coreset(FunctionCallInfo fcinfo, const coreset_plan *plan, Size d,
			fc_metric metric, Size rows)
{
	Size		capacity = Min(Max(FIRST_CAPACITY, (rows + 1) / 2 * 2),
							   full_coreset((Size) plan->size));
	Size		dim = d + plan->weighted;
	double	   *center = NULL;
	fc_coreset *state = new_state(fcinfo, 0, dim, 0, capacity);

	if (plan->center != NULL)
	{
		center = palloc0(dim * sizeof(double));
		memcpy(center, plan->center, d * sizeof(double));
	}
	fc_coreset_init(dim, (Size) plan->size, capacity, plan->seed, center,
					plan->variance, plan->limit, metric, plan->weighted, state);
	SET_VARSIZE(state, fc_coreset_bytes(dim, 0, capacity));
	return state;
}

void
check_coreset_plan(const coreset_plan *plan)
{
	check_count("size", plan->size, 1, FC_MAX_CLUSTERS);
	if (plan->center != NULL)
		check_positive("variance", plan->variance);
	if (plan->limit != INFINITY)
		check_positive("rank_limit", plan->limit);
}

fc_coreset *
combined_coresets(FunctionCallInfo fcinfo, fc_coreset *left,
				  const fc_coreset *right)
{
	double	   *buffer = palloc(right->dim * sizeof(double));

	if (!fc_coreset_agree(left, right))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("size, center, variance, seed and rank_limit must be the same for all rows"));
	if (right->count > FC_MAX_ROWS - left->count)
		check_status(FC_EOVERFLOW);
	for (Size slot = 0; slot < right->used; slot++)
	{
		double		rank = fc_coreset_row_ranks(right)[slot];
		const double *row;
		Size		elements;

		CHECK_FOR_INTERRUPTS();
		if (!fc_coreset_takes(left, rank))
			continue;

		/*
		 * Enlarge the state to hold the remaining rows, and at least to twice
		 * its capacity, but not beyond the capacity of a full sample.
		 */
		row = fc_coreset_row(right, slot, buffer);
		elements = fc_coreset_elements(left, row);
		if (fc_coreset_is_full(left) || elements != left->elements)
			left = coreset_with_capacity(fcinfo, left, elements,
										 !fc_coreset_is_full(left) ? left->capacity :
										 Min(Max(Max(2 * (Size) left->capacity,
													 FIRST_CAPACITY),
												 (left->used + right->used - slot +
												  1) /
												 2 * 2),
											 full_coreset(left->size)));
		fc_coreset_take(left, rank, row);
	}
	pfree(buffer);
	left->count += right->count;
	fc_pair_add(&left->weight, right->weight.high);
	fc_pair_add(&left->weight, right->weight.low);
	return left;
}

/* The rows of a state in ascending order of rank, and buffers to read them. */
typedef struct listed_rows
{
	const fc_coreset *state;
	uint32	   *slots;			/* slots of the rows, in order of rank */
	const double *fill;			/* d values; NULL means zeros */
	Size		d;
	double	   *stored;			/* dim: values of a sparse row */
	double	   *row;			/* d: a row whose missing values are filled */
} listed_rows;

static inline const double *
stored_row(const listed_rows *list, Size j)
{
	return fc_coreset_row(list->state, list->slots[j], list->stored);
}

static const double *
listed_row(void *place, size_t j)
{
	const listed_rows *list = place;
	const double *x = stored_row(list, j);

	if (fc_all_finite(x, list->d))
		return x;
	for (Size i = 0; i < list->d; i++)
		list->row[i] = !isnan(x[i]) ? x[i]
			: list->fill != NULL ? list->fill[i]
			: 0;
	return list->row;
}

/*
 * Sets *index and *value to the elements of sparse row j, without the weight
 * of the row. Returns the number of elements.
 */
static size_t
listed_elements(void *place, size_t j, const uint32_t **index, const double **value)
{
	const listed_rows *list = place;
	size_t		count = fc_coreset_row_elements(list->state, list->slots[j], index, value);

	return count > 0 && (*index)[count - 1] == list->d ? count - 1 : count;
}

/* Returns true if the state has sparse rows without missing values. */
static bool
rows_are_sparse(listed_rows *list, Size n)
{
	bool		sparse = list->state->elements > 0;

	for (Size r = 0; r < n && sparse; r++)
	{
		const uint32_t *index;
		const double *value;

		size_t		count = listed_elements(list, r, &index, &value);

		sparse = fc_all_finite(value, count);
	}
	return sparse;
}

/*
 * Returns a bit for each value of the n rows, set if the value is missing
 * (weighted_rows.h). Returns NULL if no value is missing.
 */
static uint64 *
missing_bits(const listed_rows *list, Size n, memory_account *memory)
{
	Size		words = fc_missing_words(list->d);
	uint64	   *bits = NULL;

	for (Size r = 0; r < n; r++)
	{
		const double *row = stored_row(list, r);

		if (fc_all_finite(row, list->d))
			continue;
		if (bits == NULL)
		{
			charge_memory(memory, n * words * sizeof(uint64));
			bits = alloc_large(n * words * sizeof(uint64));
			memset(bits, 0, n * words * sizeof(uint64));
		}
		for (Size i = 0; i < list->d; i++)
			if (isnan(row[i]))
				bits[r * words + i / 64] |= UINT64CONST(1) << (i % 64);
	}
	return bits;
}

/*
 * Returns the number of rows that each row represents: its weight in the
 * sample divided by its own weight, which is stored after its values.
 */
static double *
counts_of_rows(const listed_rows *list, const double *weights, Size n,
			   memory_account *memory)
{
	double	   *counts;

	charge_memory(memory, n * sizeof(double));
	counts = alloc_large(n * sizeof(double));
	for (Size i = 0; i < n; i++)
		counts[i] = weights[i] / stored_row(list, i)[list->d];
	return counts;
}

fc_weighted_rows *
rows_of_coreset(const fc_coreset *state, const double *fill, memory_account *memory)
{
	Size		n = fc_coreset_rows(state);
	Size		d = fc_coreset_coordinates(state);
	listed_rows list = {.state = state,.fill = fill,.d = d};
	fc_centroid_source source = {.k = n,.d = d,.row = listed_row,.place = &list};
	fc_arena	arena;
	double	   *weights;
	fc_weighted_rows *result;

	charge_memory(memory, codebook_bytes(n, d));
	arena = charged_arena(memory);
	list.slots = FC_TAKE(&arena, n, uint32);
	list.stored = FC_TAKE(&arena, state->dim, double);
	list.row = FC_TAKE(&arena, d, double);
	weights = FC_TAKE(&arena, n, double);
	fc_coreset_sample(state, &arena, list.slots, weights);
	if (rows_are_sparse(&list, n))
		source.elements = listed_elements;
	result = rows_of_operator(make_unmeasured((fc_metric) state->metric, &source, weights));
	result->missing = source.elements == NULL ? missing_bits(&list, n, memory) : NULL;
	result->counts = state->weighted ? counts_of_rows(&list, weights, n, memory) : NULL;
	release_arena(&arena);
	return result;
}
