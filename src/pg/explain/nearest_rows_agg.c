/*
 * nearest_rows_agg.c - nearest_rows_agg: the n rows nearest to each centroid, whole.
 *
 * A heap for each cluster that any row came to, the farthest row at its root; a row is copied when it enters.  Rows of one distance
 * are told apart by a hash of their values, so that the answer does not depend on the order of the rows.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "base/rng.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_cache.h"

#define MOST_ROWS	1000

enum
{
	ARGUMENT_OPERATOR = 1,
	ARGUMENT_X,
	ARGUMENT_ROW,
	ARGUMENT_N
};

typedef struct near_row
{
	double		distance;
	uint64		hash;			/* of the row's values */
	HeapTupleHeader row;
} near_row;

typedef struct near_rows
{
	MemoryContext context;
	Size		bytes;
	Size		k;
	fc_metric	metric;			/* of the operator */
	int32		n;
	near_row  **heaps;			/* k, NULL while no row came */
	int32	   *counts;			/* k */
} near_rows;

/* ---- heaps ---- */

/* Is a farther than b? */
static inline bool
is_farther(const near_row *a, const near_row *b)
{
	return a->distance > b->distance || (a->distance == b->distance && a->hash > b->hash);
}

static void
sift_down(near_row *heap, int32 count, near_row item)
{
	int32		at = 0;

	for (;;)
	{
		int32		child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && is_farther(&heap[child + 1], &heap[child]))
			child++;
		if (!is_farther(&heap[child], &item))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

static void
sift_up(near_row *heap, int32 at, near_row item)
{
	while (at > 0 && is_farther(&item, &heap[(at - 1) / 2]))
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = item;
}

/* What of the state's memory the budget must hold. */
static void
add_bytes(near_rows *state, Size bytes)
{
	state->bytes += bytes;
	check_budget(state->bytes, "typical_rows");
}

static HeapTupleHeader
copy_tuple(near_rows *state, HeapTupleHeader row)
{
	Size		size = HeapTupleHeaderGetDatumLength(row);

	add_bytes(state, size);
	return memcpy(MemoryContextAlloc(state->context, size), row, size);
}

static void
offer_row(near_rows *state, Size cluster, near_row item)
{
	near_row   *heap = state->heaps[cluster];
	int32	   *count = &state->counts[cluster];

	if (heap == NULL)
	{
		add_bytes(state, (Size) state->n * sizeof(near_row));
		heap = state->heaps[cluster] = MemoryContextAlloc(state->context, (Size) state->n * sizeof(near_row));
	}
	if (*count < state->n)
	{
		item.row = copy_tuple(state, item.row);
		sift_up(heap, (*count)++, item);
		return;
	}
	if (!is_farther(&heap[0], &item))
		return;
	state->bytes -= HeapTupleHeaderGetDatumLength(heap[0].row);
	pfree(heap[0].row);
	item.row = copy_tuple(state, item.row);
	sift_down(heap, *count, item);
}

/* Of the values alone: bits of the header change as transactions end. */
static uint64
hash_values(HeapTupleHeader row)
{
	uint64		hash = 0;

	if (row->t_infomask & HEAP_HASNULL)
		hash = fc_hash_bytes(hash, row->t_bits, BITMAPLEN(HeapTupleHeaderGetNatts(row)));
	return fc_hash_bytes(hash, (char *) row + row->t_hoff, HeapTupleHeaderGetDatumLength(row) - row->t_hoff);
}

/* ---- the aggregate ---- */

static near_rows *
new_state(FunctionCallInfo fcinfo, MemoryContext context, Size k)
{
	near_rows  *state = MemoryContextAllocZero(context, sizeof(near_rows));
	int32		n = PG_GETARG_INT32(ARGUMENT_N);

	check_count("n", n, 1, MOST_ROWS);
	state->context = context;
	state->n = n;
	state->k = k;
	add_bytes(state, k * (sizeof(near_row *) + sizeof(int32)));
	state->heaps = MemoryContextAllocZero(context, k * sizeof(near_row *));
	state->counts = MemoryContextAllocZero(context, k * sizeof(int32));
	return state;
}

/* (state, op, x, row, n) */
SQL_FUNCTION(fastclust_nearest_rows_accum)
{
	MemoryContext context = aggregate_context(fcinfo);
	near_rows  *state = PG_ARGISNULL(0) ? NULL : (near_rows *) PG_GETARG_POINTER(0);
	const fc_operator_header *header;
	const fc_operator *op;
	fc_scratch	scratch;
	const double *x;
	vector		v;
	near_row	item;
	Size		cluster;

	require_argument(fcinfo, ARGUMENT_OPERATOR, "the operator");
	require_argument(fcinfo, ARGUMENT_N, "n");
	if (PG_ARGISNULL(ARGUMENT_X) || PG_ARGISNULL(ARGUMENT_ROW))
		return unchanged_state(fcinfo);
	op = cached_expanded_operator(fcinfo, ARGUMENT_OPERATOR, &header);
	if (state == NULL)
	{
		state = new_state(fcinfo, context, op->k);
		state->metric = op->metric;
	}
	if (state->k != op->k || state->n != PG_GETARG_INT32(ARGUMENT_N))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the operator and n must be the same for all rows")));
	v = read_vector_argument(fcinfo, cached_reader(fcinfo), ARGUMENT_X, "x");
	check_vector_dim(&v, op->d, "the operator");
	check_single_precision(&v);
	scratch = cached_scratch(fcinfo, fc_operator_scratch(op));
	x = metric_row(op->metric, &v, cached_doubles(fcinfo, op->d));
	if (x == NULL)
		PG_RETURN_POINTER(state);
	cluster = fc_operator_assign(op, x, scratch);
	item.distance = fc_operator_distance(op, cluster, x, scratch);
	if (state->counts[cluster] < state->n || item.distance <= state->heaps[cluster][0].distance)
	{
		item.row = PG_GETARG_HEAPTUPLEHEADER(ARGUMENT_ROW);
		item.hash = hash_values(item.row);
		offer_row(state, cluster, item);
	}
	report_progress_of_rows();
	PG_RETURN_POINTER(state);
}

static int
compare_rows(const void *a, const void *b)
{
	return is_farther(a, b) ? 1 : is_farther(b, a) ? -1 : 0;
}

/* Rows (cluster, rank, distance, row_data) of a cluster, as values of their type; the bytes that they take. */
static Size
make_rows(const near_rows *state, Size cluster, TupleDesc descriptor, Datum *rows)
{
	Size		count = (Size) state->counts[cluster];
	near_row   *sorted = palloc(count * sizeof(near_row));
	Size		bytes = 0;

	memcpy(sorted, state->heaps[cluster], count * sizeof(near_row));
	qsort(sorted, count, sizeof(near_row), compare_rows);
	for (Size i = 0; i < count; i++)
	{
		Datum		json = DirectFunctionCall1(row_to_json, PointerGetDatum(sorted[i].row));
		Datum		values[4] = {Int32GetDatum((int32) cluster), Int32GetDatum((int32) i + 1), Float8GetDatum(fc_metric_distance(state->metric, sorted[i].distance)),
			DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(json)))};
		bool		nulls[4] = {false};

		CHECK_FOR_INTERRUPTS();
		rows[i] = HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
		bytes += MAXALIGN(VARSIZE(DatumGetPointer(rows[i])));
	}
	return bytes;
}

SQL_FUNCTION(fastclust_nearest_rows_final)
{
	near_rows  *state = PG_ARGISNULL(0) ? NULL : (near_rows *) PG_GETARG_POINTER(0);
	Oid			type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	TupleDesc	descriptor;
	Datum	   *rows;
	Size		count = 0;
	Size		bytes = 0;

	aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	for (Size j = 0; j < state->k; j++)
		count += (Size) state->counts[j];
	descriptor = lookup_rowtype_tupdesc_copy(type, -1);
	rows = palloc_extended(count * sizeof(Datum), MCXT_ALLOC_HUGE);
	count = 0;
	for (Size j = 0; j < state->k; j++)
	{
		if (state->counts[j] == 0)
			continue;
		bytes += make_rows(state, j, descriptor, rows + count);
		count += (Size) state->counts[j];
		check_budget(state->bytes + 2 * bytes, "typical_rows");
		if (bytes > MaxAllocSize / 2)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("typical rows are too large together: more than %zu MB", MaxAllocSize / 2 / 1024 / 1024),
					 errhint("Ask for fewer rows of each cluster.")));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(rows, (int) count, type, -1, false, TYPALIGN_DOUBLE));
}
