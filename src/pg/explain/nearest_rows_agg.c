/*
 * nearest_rows_agg.c - nearest_rows_agg: returns the n rows nearest to each
 * centroid, with all columns.
 *
 * Each cluster keeps its n nearest rows sorted by distance. A row is copied
 * when it becomes one of these n. Ties are broken by a hash of the row's
 * values, so that the result does not depend on the order of the rows.
 */
#include "postgres.h"

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
#include "operator/partial.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_cache.h"

/*
 * Maximum number of rows that a caller may request, as every state keeps them.
 */
#define MAX_NEAREST_ROWS	1000

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
	uint64		hash;			/* hash of the row's values */
	HeapTupleHeader row;
} near_row;

typedef struct near_rows
{
	MemoryContext context;
	Size		bytes;
	Size		k;
	fc_metric	metric;			/* metric of the operator */
	int32		n;
	near_row  **rows;			/* k arrays, nearest row first; NULL for a
								 * cluster without rows */
	int32	   *counts;			/* number of rows in each of the k arrays of
								 * `rows` */
} near_rows;

/* ---- the nearest rows of a cluster ---- */

/* Returns true if a is farther than b. Equal distances are ordered by hash. */
static inline bool
is_farther(const near_row *a, const near_row *b)
{
	return a->distance > b->distance ||
		(a->distance == b->distance && a->hash > b->hash);
}

/*
 * Adds `bytes` to the recorded size of the state, and checks the size against
 * the memory budget.
 */
static void
add_bytes(near_rows *state, Size bytes)
{
	state->bytes += bytes;
	check_budget(state->bytes, "typical_rows");
}

/*
 * Inserts the row into the sorted n nearest rows of its cluster if it is one
 * of them, and drops the farthest row if there are more than n.
 */
static void
offer_row(near_rows *state, Size cluster, near_row item)
{
	near_row   *rows = state->rows[cluster];
	int32		at = state->counts[cluster];
	Size		size = HeapTupleHeaderGetDatumLength(item.row);

	if (rows == NULL)
	{
		add_bytes(state, (Size) state->n * sizeof(near_row));
		rows = state->rows[cluster] = MemoryContextAlloc(state->context,
														 (Size) state->n *
														 sizeof(near_row));
	}
	if (at == state->n)
	{
		if (!is_farther(&rows[--at], &item))
			return;
		state->bytes -= HeapTupleHeaderGetDatumLength(rows[at].row);
		pfree(rows[at].row);
	}
	add_bytes(state, size);
	item.row = memcpy(MemoryContextAlloc(state->context, size), item.row, size);
	state->counts[cluster] = at + 1;
	for (; at > 0 && is_farther(&rows[at - 1], &item); at--)
		rows[at] = rows[at - 1];
	rows[at] = item;
}

/* ---- the aggregate ---- */

static near_rows *
new_state(FunctionCallInfo fcinfo, MemoryContext context, Size k)
{
	near_rows  *state = MemoryContextAllocZero(context, sizeof(near_rows));
	int32		n = PG_GETARG_INT32(ARGUMENT_N);

	check_count("n", n, 1, MAX_NEAREST_ROWS);
	state->context = context;
	state->n = n;
	state->k = k;
	add_bytes(state, k * (sizeof(near_row *) + sizeof(int32)));
	state->rows = MemoryContextAllocZero(context, k * sizeof(near_row *));
	state->counts = MemoryContextAllocZero(context, k * sizeof(int32));
	return state;
}

/*
 * Returns true if some but not all values of v are missing (NaN), and the
 * operator can compare such rows. Raises an error if one of the other values
 * is not finite or too large for single precision.
 */
static bool
is_partial(const fc_operator *op, const vector *v)
{
	vector		known = *v;
	double	   *x;
	Size		observed = v->doubles != NULL ? fc_partial_observed(v->doubles, op->d) : op->d;

	if (observed == op->d || observed == 0 || !fc_partial_suits(op))
		return false;
	known.doubles = x = palloc(op->d * sizeof(double));
	for (Size i = 0; i < op->d; i++)
		x[i] = isnan(v->doubles[i]) ? 0 : v->doubles[i];
	check_single_precision(&known);
	pfree(x);
	return true;
}

/*
 * Sets *nearest to the nearest centroid, and *distance to the squared distance
 * from it. If values are missing, multiplies the squared distance of the other
 * values by d / (number of other values). Returns false if the metric is
 * cosine and the row is zero.
 */
static bool
find_nearest(FunctionCallInfo fcinfo, const fc_operator *op, const vector *v,
			 Size *nearest, double *distance)
{
	fc_scratch	scratch = cached_scratch(fcinfo, Max(fc_operator_scratch(op),
													 fc_partial_scratch(op)));
	const double *x;

	if (is_partial(op, v))
	{
		*nearest = fc_partial_assign(op, v->doubles, scratch);
		*distance = fc_partial_distance(op, *nearest, v->doubles) * (double) op->d /
			(double) fc_partial_observed(v->doubles, op->d);
		return true;
	}
	check_single_precision(v);
	x = metric_row(op->metric, v, cached_doubles(fcinfo, op->d));
	if (x == NULL)
		return false;
	*nearest = fc_operator_assign(op, x, scratch);
	*distance = fc_operator_distance(op, *nearest, x, scratch);
	return true;
}

/*
 * Transition function: (state, op, x, row, n). Values of x that are NaN are
 * missing.
 */
PG_FUNCTION_INFO_V1(fastclust_nearest_rows_accum);
Datum
fastclust_nearest_rows_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	near_rows  *state = internal_state(fcinfo);
	const fc_operator_header *header;
	const fc_operator *op;
	vector		v;
	near_row	item;
	Size		nearest;
	Size		cluster;
	int32		label;

	require_argument(fcinfo, ARGUMENT_OPERATOR, "op");
	require_argument(fcinfo, ARGUMENT_N, "n");
	if (PG_ARGISNULL(ARGUMENT_X) || PG_ARGISNULL(ARGUMENT_ROW))
		return unchanged_state(fcinfo);
	op = cached_expanded_operator(fcinfo, ARGUMENT_OPERATOR, &header);
	if (state == NULL)
	{
		state = new_state(fcinfo, context, fc_operator_labels(op));
		state->metric = op->metric;
	}
	if (state->k != fc_operator_labels(op) ||
		state->n != PG_GETARG_INT32(ARGUMENT_N))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("op and n must be the same for all rows"));
	v = read_vector_argument(fcinfo, cached_reader(fcinfo), ARGUMENT_X, "x");
	check_vector_dim(&v, op->d, "op");
	if (!find_nearest(fcinfo, op, &v, &nearest, &item.distance))
		PG_RETURN_POINTER(state);
	label = fc_operator_label(op, nearest, item.distance);
	if (label < 0)
		PG_RETURN_POINTER(state);
	cluster = (Size) label;

	/*
	 * A density model counts the radius of a row's region as the minimum
	 * distance of the row. Rows in the densest regions, which have small
	 * radii, are then the nearest ones.
	 */
	if (op->regions.clusters > 0)
		item.distance = Max(item.distance,
							(double) op->regions.radius[nearest] *
							(double) op->regions.radius[nearest]);
	if (state->counts[cluster] < state->n ||
		item.distance <= state->rows[cluster][state->n - 1].distance)
	{
		item.row = PG_GETARG_HEAPTUPLEHEADER(ARGUMENT_ROW);
		item.hash = item.row->t_infomask & HEAP_HASNULL
			? fc_hash_bytes(0, item.row->t_bits,
							BITMAPLEN(HeapTupleHeaderGetNatts(item.row)))
			: 0;

		/*
		 * hash the values alone: bits of the header change as transactions
		 * end
		 */
		item.hash = fc_hash_bytes(item.hash,
								  (char *) item.row + item.row->t_hoff,
								  HeapTupleHeaderGetDatumLength(item.row) -
								  item.row->t_hoff);
		offer_row(state, cluster, item);
	}
	report_progress_of_rows();
	PG_RETURN_POINTER(state);
}

/*
 * Makes the rows (cluster, rank, distance, row_data) of a cluster as composite
 * values. Returns their total size in bytes.
 */
static Size
make_rows(const near_rows *state, Size cluster, TupleDesc descriptor,
		  Datum *rows)
{
	Size		count = (Size) state->counts[cluster];
	const near_row *sorted = state->rows[cluster];
	Size		bytes = 0;

	for (Size i = 0; i < count; i++)
	{
		Datum		json = DirectFunctionCall1(row_to_json,
											   PointerGetDatum(sorted[i].row));
		Datum		values[4] = {
			Int32GetDatum((int32) cluster),
			Int32GetDatum((int32) i + 1),
			Float8GetDatum(fc_metric_distance(state->metric, sorted[i].distance)),
			DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(json)))
		};
		bool		nulls[4] = {false};

		CHECK_FOR_INTERRUPTS();
		rows[i] = HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
		bytes += MAXALIGN(VARSIZE(DatumGetPointer(rows[i])));
	}
	return bytes;
}

PG_FUNCTION_INFO_V1(fastclust_nearest_rows_final);
Datum
fastclust_nearest_rows_final(PG_FUNCTION_ARGS)
{
	near_rows  *state = internal_state(fcinfo);
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
	rows = alloc_large(count * sizeof(Datum));
	count = 0;
	for (Size j = 0; j < state->k; j++)
	{
		if (state->counts[j] == 0)
			continue;
		bytes += make_rows(state, j, descriptor, rows + count);
		count += (Size) state->counts[j];
		check_budget(state->bytes + 2 * bytes, "typical_rows");
		if (bytes > MaxAllocSize / 2)
			ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("typical rows need more than %zu MB together",
						   MaxAllocSize / 2 / 1024 / 1024),
					errhint("Lower n, the number of rows per cluster."));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(rows, (int) count, type, -1, false,
										  TYPALIGN_DOUBLE));
}
