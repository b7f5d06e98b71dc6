/*
 * call_cache.c - memory that a function keeps between calls, and states of
 * type internal that are flat values; see call_cache.h
 *
 * The executor calls a function with one FmgrInfo for a whole query, whose
 * fn_extra belongs to the function. worker_partial_agg of Citus instead calls
 * fmgr_info for every row, so that fn_extra and fn_expr are NULL each time. A
 * transition function called in this way finds its memory by the aggregate's
 * context, which lives as long as the states.
 */
#include "postgres.h"

#include "pg/base/call_cache.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"

/*
 * Number of entries in the cache, about as many as a query has aggregates.
 * With more entries, a search takes longer; with fewer, entries are evicted
 * sooner. A guess.
 */
#define ENTRIES	8

/* Memory of a transition function in the context of its aggregate. */
typedef struct cache_entry
{
	MemoryContextCallback forget;
	MemoryContext context;
	Oid			function;
	Size		size;
	void	   *memory;
} cache_entry;

static cache_entry *entries[ENTRIES];
static int	next_entry = 0;

/*
 * Removes an entry from the cache. Called when the entry's context is reset or
 * deleted, which also frees the entry.
 */
static void
forget_entry(void *argument)
{
	for (int i = 0; i < ENTRIES; i++)
		if (entries[i] == argument)
			entries[i] = NULL;
}

static cache_entry *
make_entry(MemoryContext context, Oid function, Size size)
{
	cache_entry *made = MemoryContextAllocZero(context, sizeof(cache_entry));

	made->context = context;
	made->function = function;
	made->size = size;
	made->memory = MemoryContextAllocZero(context, size);
	made->forget.func = forget_entry;
	made->forget.arg = made;
	MemoryContextRegisterResetCallback(context, &made->forget);
	entries[next_entry] = made;
	next_entry = (next_entry + 1) % ENTRIES;
	return made;
}

static void *
memory_of_aggregate(MemoryContext context, Oid function, Size size)
{
	for (int i = 0; i < ENTRIES; i++)
	{
		const cache_entry *entry = entries[i];

		if (entry != NULL && entry->context == context &&
			entry->function == function && entry->size == size)
			return entry->memory;
	}
	return make_entry(context, function, size)->memory;
}

void *
call_memory(FunctionCallInfo fcinfo, Size size, MemoryContext *call_context)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_expr == NULL &&
		AggCheckCallContext(fcinfo, call_context) == AGG_CONTEXT_AGGREGATE)
		flinfo->fn_extra = memory_of_aggregate(*call_context, flinfo->fn_oid, size);
	else
	{
		*call_context = flinfo->fn_mcxt;
		flinfo->fn_extra = MemoryContextAllocZero(*call_context, size);
	}
	return flinfo->fn_extra;
}

/* ---- states of type internal ---- */

Datum
kept_state(FunctionCallInfo fcinfo, Datum state)
{
	MemoryContext context = aggregate_context(fcinfo);
	void	   *made = DatumGetPointer(state);
	void	   *old = internal_state(fcinfo);
	void	   *copy;

	if (fcinfo->isnull || made == old)
		return state;
	copy = memcpy(MemoryContextAlloc(context, VARSIZE(made)), made,
				  VARSIZE(made));
	if (old != NULL)
		pfree(old);
	PG_RETURN_POINTER(copy);
}

/*
 * Takes (state). Serialization function: returns the bytes of the state
 * unchanged.
 */
PG_FUNCTION_INFO_V1(fastclust_state_serialize);
Datum
fastclust_state_serialize(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/*
 * Takes (bytea, internal). Deserialization function: returns a copy of the
 * state with the alignment of its type.
 */
PG_FUNCTION_INFO_V1(fastclust_state_deserialize);
Datum
fastclust_state_deserialize(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	PG_RETURN_POINTER(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0)));
}
