/*
 * call_cache.h - memory that a function keeps from call to call of one place
 * in a query.
 *
 * Aggregates of "any" have a state of type internal: the bytes of the typed
 * one, in the aggregate's memory.
 */
#ifndef FASTCLUST_CALL_CACHE_H
#define FASTCLUST_CALL_CACHE_H

#include "pg/base/arguments.h"

/*
 * The `size` bytes of this call site, cleared at first, and in *home the
 * memory context of their data. Where fn_extra is empty: they are there from
 * then on. Citus calls transition functions with a new FmgrInfo for every row:
 * these share memory in the aggregate's context.
 */
extern void *site_memory(FunctionCallInfo fcinfo, Size size, MemoryContext *home);

/*
 * The state that a transition or combine function of the typed state returned,
 * copied as the executor would do.
 */
extern Datum kept_state(FunctionCallInfo fcinfo, Datum state);

#endif							/* FASTCLUST_CALL_CACHE_H */
