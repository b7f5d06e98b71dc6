/*
 * kernel_rows.c - aggregates over (id, row, kernel, ..) collect their rows, workers too.
 *
 * The state is `internal` with serial functions (not pushed to shards).  Rows are kept as they come, 4 or
 * 8 bytes an element; what the final function will need for them is checked against
 * fastclust.memory_budget whenever the collection grows, so a table that is too large fails early.
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/memutils.h"

#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/rkhs/kernel.h"
#include "rkhs/kernel.h"
#include "rkhs/nystroem.h"
#include "rkhs/pivoted_cholesky.h"
#include "rkhs/projection.h"
#include "rkhs/projection_bytes.h"

static Size
row_size(const kernel_rows *rows)
{
	return (Size) rows->d * (Size) rows->width;
}

static Size
core_worksize(const kernel_aggregate *aggregate, const kernel_rows *rows, Size n)
{
	Size		d = (Size) rows->d;
	Size		first = (Size) rows->counts[0];
	Size		second = (Size) rows->counts[1];

	if (!aggregate->has_ids)
		return fc_pivoted_cholesky_worksize(&rows->kernel, n, d, first);
	switch (aggregate->method)
	{
		case FC_KERNEL_ONE_PASS:
			return fc_kernel_projection_worksize(&rows->kernel, n, d, first, second);
		case FC_KERNEL_NYSTROEM:
			return fc_nystroem_worksize(&rows->kernel, n, d, first, second);
		case FC_KERNEL_CHOLESKY:
			return fc_pivoted_cholesky_project_worksize(&rows->kernel, n, d, first, second);
		case FC_KERNEL_EXACT:
			return fc_kernel_eigen_worksize(&rows->kernel, n, d, first);
	}
	return 0;
}

/* With the places of the ids in order, and the value that is built. */
Size
kernel_worksize(const kernel_aggregate *aggregate, const kernel_rows *rows, Size n)
{
	Size		work = core_worksize(aggregate, rows, n);
	Size		value = aggregate->has_ids ? fc_kernel_projection_size(n, (Size) rows->counts[0]) : 0;

	if (work > SIZE_MAX / 4 || value > SIZE_MAX / 4)
		return SIZE_MAX / 2;
	return work + value + 2 * n * sizeof(size_t);
}

/* What is collected, for which final function. */
typedef struct kernel_collection
{
	const kernel_aggregate *aggregate;
	const kernel_rows *rows;
} kernel_collection;

/* Bytes of n collected rows and of what the final function takes for them. */
static Size
whole_size(const void *collection, Size n)
{
	const kernel_collection *c = collection;

	return n * (row_size(c->rows) + sizeof(int64)) + kernel_worksize(c->aggregate, c->rows, n);
}

static void
set_room(kernel_rows *rows, Size room)
{
	rows->x = rows->x ? repalloc_huge(rows->x, room * row_size(rows))
		: MemoryContextAllocHuge(CurrentMemoryContext, room * row_size(rows));
	if (rows->has_ids)
		rows->ids = rows->ids ? repalloc_huge(rows->ids, room * sizeof(int64))
			: MemoryContextAllocHuge(CurrentMemoryContext, room * sizeof(int64));
	rows->room = room;
}

/* Room for n rows of workers, whose aggregate is not known here. */
static void
join_room(kernel_rows *rows, Size n)
{
	check_budget(n * (row_size(rows) + sizeof(int64)), "a kernel aggregate");
	if (n > rows->room)
		set_room(rows, n);
}

/* ---- transition ---- */

/* Everything but the row: checked at every row, since a plan may vary it. */
static kernel_rows
parameters(FunctionCallInfo fcinfo, const kernel_aggregate *aggregate)
{
	int			at = aggregate->has_ids ? 3 : 2;
	kernel_rows given = {.has_ids = aggregate->has_ids};

	require_argument(fcinfo, at, "kernel");
	given.kernel = *(const fc_kernel *) PG_GETARG_POINTER(at++);
	given.counts[1] = aggregate->default_second;
	for (int i = 0; i < 2 && aggregate->counts[i] != NULL; i++)
	{
		if (at == PG_NARGS())
			break;
		require_argument(fcinfo, at, aggregate->counts[i]);
		given.counts[i] = PG_GETARG_INT32(at++);
		check_count(aggregate->counts[i], given.counts[i], aggregate->least[i], aggregate->most[i]);
	}
	if (at < PG_NARGS())
	{
		require_argument(fcinfo, at, "seed");
		given.seed = (uint64) PG_GETARG_INT64(at);
	}
	if (aggregate->has_ids && aggregate->counts[1] != NULL && aggregate->method != FC_KERNEL_ONE_PASS &&
		given.counts[0] > given.counts[1])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rank is %d, but there are only %d columns", given.counts[0], given.counts[1]),
				 errdetail("An approximation from so many columns of the kernel matrix has at most their rank.")));
	if (aggregate->method == FC_KERNEL_ONE_PASS)
		check_count("rank + oversampling", (int64) given.counts[0] + given.counts[1], 1, FC_MAX_KERNEL_COLUMNS);
	return given;
}

static void
check_same(const kernel_rows *rows, const kernel_rows *given, const kernel_aggregate *aggregate)
{
	const char *varies = NULL;

	if (memcmp(&rows->kernel, &given->kernel, sizeof(fc_kernel)) != 0)
		varies = "kernel";
	else if (rows->counts[0] != given->counts[0])
		varies = aggregate->counts[0];
	else if (rows->counts[1] != given->counts[1])
		varies = aggregate->counts[1];
	else if (rows->seed != given->seed)
		varies = "seed";
	if (varies != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be the same for all rows", varies)));
}

Datum
kernel_accumulate(FunctionCallInfo fcinfo, const kernel_aggregate *aggregate)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	kernel_rows *rows = PG_ARGISNULL(0) ? NULL : (kernel_rows *) PG_GETARG_POINTER(0);
	kernel_rows given = parameters(fcinfo, aggregate);
	int			at = aggregate->has_ids ? 2 : 1;
	vector		v;

	if (rows != NULL)
		check_same(rows, &given, aggregate);
	if (aggregate->has_ids)
		require_argument(fcinfo, 1, "id");
	if (PG_ARGISNULL(at))
		return unchanged_state(fcinfo);
	v = row_argument(fcinfo, at);
	old = MemoryContextSwitchTo(context);
	if (rows == NULL)
	{
		rows = palloc(sizeof(kernel_rows));
		*rows = given;
		rows->d = v.d;
		rows->width = v.floats != NULL ? sizeof(float) : sizeof(double);
	}
	check_vector_dim(&v, (size_t) rows->d, "the first row");
	if (rows->n == rows->room)
	{
		kernel_collection all = {aggregate, rows};
		row_need	need = {whole_size, &all, aggregate->name, ", or take a sample: nystroem and kernel_features do for the other rows"};

		set_room(rows, grown_room(rows->room, rows->n + 1, &need));
	}
	MemoryContextSwitchTo(old);
	memcpy(rows->x + rows->n * row_size(rows), v.floats != NULL ? (const void *) v.floats : v.doubles, row_size(rows));
	if (aggregate->has_ids)
		rows->ids[rows->n] = PG_GETARG_INT64(1);
	rows->n++;
	PG_RETURN_POINTER(rows);
}

/* ---- between workers ---- */

static void
check_joinable(const kernel_rows *left, const kernel_rows *right)
{
	check_same_dim(left->d, right->d);
	if (memcmp(&left->kernel, &right->kernel, sizeof(fc_kernel)) != 0 ||
		memcmp(left->counts, right->counts, sizeof(left->counts)) != 0 || left->seed != right->seed ||
		left->has_ids != right->has_ids || left->width != right->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("kernel and parameters must be the same for all rows")));
}

PG_FUNCTION_INFO_V1(fastclust_kernel_combine);
Datum
fastclust_kernel_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	kernel_rows *left = PG_ARGISNULL(0) ? NULL : (kernel_rows *) PG_GETARG_POINTER(0);
	const kernel_rows *right = (const kernel_rows *) PG_GETARG_POINTER(1);

	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	old = MemoryContextSwitchTo(context);
	if (left == NULL)
	{
		left = palloc(sizeof(kernel_rows));
		*left = *right;
		left->n = left->room = 0;
		left->ids = NULL;
		left->x = NULL;
	}
	check_joinable(left, right);
	join_room(left, left->n + right->n);
	copy_bytes(left->x + left->n * row_size(left), right->x, right->n * row_size(left));
	if (left->has_ids)
		copy_bytes(left->ids + left->n, right->ids, right->n * sizeof(int64));
	left->n += right->n;
	MemoryContextSwitchTo(old);
	PG_RETURN_POINTER(left);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_serialize);
Datum
fastclust_kernel_serialize(PG_FUNCTION_ARGS)
{
	kernel_rows *rows;
	Size		bytes;
	StringInfoData message;

	(void) aggregate_context(fcinfo);
	rows = (kernel_rows *) PG_GETARG_POINTER(0);
	bytes = rows->n * (row_size(rows) + (rows->has_ids ? sizeof(int64) : 0));
	check_state_size(bytes + sizeof(kernel_rows) + 64);
	pq_begintypsend(&message);
	pq_sendbytes(&message, (char *) rows, sizeof(kernel_rows));
	if (rows->has_ids)
		send_long(&message, rows->ids, rows->n * sizeof(int64));
	send_long(&message, rows->x, rows->n * row_size(rows));
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

PG_FUNCTION_INFO_V1(fastclust_kernel_deserialize);
Datum
fastclust_kernel_deserialize(PG_FUNCTION_ARGS)
{
	StringInfoData message;
	kernel_rows *rows = palloc(sizeof(kernel_rows));
	Size		n;

	(void) aggregate_context(fcinfo);
	message = message_of(PG_GETARG_BYTEA_PP(0));
	pq_copymsgbytes(&message, (char *) rows, sizeof(kernel_rows));
	n = rows->n;
	rows->n = rows->room = 0;
	rows->ids = NULL;
	rows->x = NULL;
	join_room(rows, n);
	if (rows->has_ids)
		receive_long(&message, rows->ids, n * sizeof(int64));
	receive_long(&message, rows->x, n * row_size(rows));
	rows->n = n;
	PG_RETURN_POINTER(rows);
}
