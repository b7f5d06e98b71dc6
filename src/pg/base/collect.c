/* collect.c - helpers of aggregates that collect rows; see collect.h */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"

vector
row_argument(FunctionCallInfo fcinfo, int argument)
{
	vector_reader reader = {CurrentMemoryContext, NULL, 0};
	vector		v = read_vector_argument(fcinfo, &reader, argument, "x");

	check_finite(&v);
	check_count("the dimension of x", v.d, 1, FC_MAX_DIM);
	return v;
}

void
copy_row(const vector *v, double *to)
{
	for (int i = 0; i < v->d; i++)
		to[i] = (v->floats ? (double) v->floats[i] : v->doubles[i]) + 0.0;
}

/*
 * Initial capacity of a collection, in rows; it grows by half when the
 * collection is full. A guess.
 */
#define FIRST_CAPACITY	64

/*
 * Returns a capacity that is half as large again, because the final number of
 * rows is not known yet, but not larger than the budget allows.
 */
Size
grown_capacity(Size capacity, Size n, const row_need *need)
{
	Size		wanted = Max(n, Max(FIRST_CAPACITY, capacity + capacity / 2));
	Size		budget = (Size) fastclust_memory_budget * 1024;

	reject_refused_limit();
	while (wanted > n && need->bytes(need->collection, wanted) >= budget)
		wanted = n + (wanted - n) / 2;
	if (need->bytes(need->collection, wanted) >= budget)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				n == 1
				? errmsg("%s of one row needs more memory than fastclust.memory_budget allows",
						 need->name)
				: errmsg("%s of more than %zu rows needs more memory than fastclust.memory_budget allows",
						 need->name, n - 1),
				errdetail("The budget is %d MB.", fastclust_memory_budget / 1024),
				errhint("Increase fastclust.memory_budget%s.",
						need->instead));
	return wanted;
}

void
check_same_dim(int32 left, int32 right)
{
	if (left != right)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("vectors have different dimensions: %d and %d", left, right));
}

void
check_state_size(Size bytes)
{
	if (bytes > (Size) MaxAllocSize)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("a parallel worker collected %zu MB of rows, more than it can hand over",
					   bytes >> 20),
				errhint("SET max_parallel_workers_per_gather = 0, or cluster a sample."));
}

Jsonb *
copy_options(const Jsonb *options)
{
	return options == NULL
		? NULL
		: (Jsonb *) PG_DETOAST_DATUM_COPY(JsonbPGetDatum(options));
}

void
send_options(StringInfo message, const Jsonb *options)
{
	int			size = options != NULL ? (int) VARSIZE(options) : 0;

	pq_sendint32(message, (uint32) size);
	if (size > 0)
		pq_sendbytes(message, (const char *) options, size);
}

Jsonb *
receive_options(StringInfo message)
{
	int			size = (int) pq_getmsgint(message, 4);
	Jsonb	   *options;

	if (size == 0)
		return NULL;
	options = palloc(size);
	pq_copymsgbytes(message, (char *) options, size);
	return options;
}
