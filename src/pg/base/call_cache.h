/*
 * call_cache.h - memory that a function keeps between calls, separately for
 * each call site of a query.
 *
 * Some aggregates are declared twice: for row_vector, with a state value, and
 * for "any", with a state of type internal. The latter points to a state value
 * of the same form, stored in the aggregate's memory context.
 */
#ifndef FASTCLUST_CALL_CACHE_H
#define FASTCLUST_CALL_CACHE_H

#include "pg/base/arguments.h"

/*
 * Returns `size` bytes for this call site, initially zero, and stores their
 * address in fn_extra. Called only if fn_extra is NULL. Sets *call_context to
 * the memory context in which the caller must allocate all data that these
 * bytes point to. Citus calls transition functions with a new FmgrInfo for
 * every row; these calls share memory in the aggregate's context.
 */
extern void *call_memory(FunctionCallInfo fcinfo, Size size, MemoryContext *call_context);

/*
 * Copies a state value into the aggregate's context and frees the old state,
 * as the executor does for states of types other than internal. `state` is the
 * result of a transition or combine function. Returns the copy. If `state` is
 * NULL or the old state, copies nothing and returns `state`.
 */
extern Datum kept_state(FunctionCallInfo fcinfo, Datum state);

#endif							/* FASTCLUST_CALL_CACHE_H */
