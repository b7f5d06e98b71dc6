/*
 * call_cache.h - memory that a function keeps from call to call at one place
 * in a query.
 *
 * Aggregates of "any" have a state of type internal: the bytes of the state of
 * the typed aggregate, in the aggregate's memory.
 */
#ifndef FASTCLUST_CALL_CACHE_H
#define FASTCLUST_CALL_CACHE_H

#include "pg/base/arguments.h"

/*
 * Returns `size` bytes for this call site, zero at first, and in *home the
 * memory context for data that they point to. Called only when fn_extra is
 * empty, and sets it. Citus calls transition functions with a new FmgrInfo for
 * every row: these calls share memory in the aggregate's context.
 */
extern void *call_memory(FunctionCallInfo fcinfo, Size size, MemoryContext *home);

/*
 * Returns the state that a transition or combine function of the typed state
 * returned, copied into the aggregate's context as the executor would do.
 */
extern Datum kept_state(FunctionCallInfo fcinfo, Datum state);

#endif							/* FASTCLUST_CALL_CACHE_H */
