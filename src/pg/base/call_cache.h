/*
 * call_cache.h - memory that a function keeps between calls, separately for
 * each call site of a query.
 *
 * Aggregates declared for "any" have a state of type internal. It points to
 * the state value of the typed aggregate, stored in the aggregate's memory
 * context.
 */
#ifndef FASTCLUST_CALL_CACHE_H
#define FASTCLUST_CALL_CACHE_H

#include "pg/base/arguments.h"

/*
 * Returns `size` bytes for this call site, initially zero, and sets fn_extra
 * to them. Called only if fn_extra is NULL. *call_context receives the memory
 * context for data to which the bytes point. Citus calls transition functions
 * with a new FmgrInfo for every row; these calls share memory in the
 * aggregate's context.
 */
extern void *call_memory(FunctionCallInfo fcinfo, Size size, MemoryContext *call_context);

/*
 * Copies a state into the aggregate's context and frees the old state, as the
 * executor does for states of types other than internal. `state` is the result
 * of a transition or combine function of the typed aggregate. Returns the
 * copy. If `state` is NULL or the old state, copies nothing and returns
 * `state`.
 */
extern Datum kept_state(FunctionCallInfo fcinfo, Datum state);

#endif							/* FASTCLUST_CALL_CACHE_H */
