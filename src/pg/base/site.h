/* site.h - what a function keeps from call to call of one place in a query */
#ifndef FASTCLUST_SITE_H
#define FASTCLUST_SITE_H

#include "postgres.h"

#include "fmgr.h"

/*
 * The `size` bytes of this call site, cleared at first, and in *home the context of what belongs to them.  Where fn_extra is
 * empty: they are there from then on.  Citus calls transition functions with a new FmgrInfo for every row: these share what lies in the aggregate's context.
 */
extern void *site_memory(FunctionCallInfo fcinfo, Size size, MemoryContext *home);

#endif							/* FASTCLUST_SITE_H */
