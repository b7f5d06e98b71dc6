/*
 * memory.h - memory within fastclust.memory_budget, and the interrupt check of
 * the server
 */
#ifndef FASTCLUST_MEMORY_H
#define FASTCLUST_MEMORY_H

#include "utils/hsearch.h"

#include "base/fc.h"

extern int	fastclust_memory_budget;	/* budget in force, in kB: the smaller
										 * of the GUCs fastclust.memory_budget
										 * and fastclust.memory_budget_limit */
extern int	fastclust_largest_state;	/* GUC fastclust.largest_state in kB */

/*
 * Raises an error if the server refused the value of
 * fastclust.memory_budget_limit that was set before the module was loaded.
 * check_budget does so, too.
 */
extern void reject_refused_limit(void);
extern void check_budget(Size bytes, const char *what);

/* Memory charged to the budget by one call that allocates step by step. */
typedef struct memory_account
{
	const char *what;			/* name of the work, for the error message */
	Size		charged;		/* number of bytes charged so far */
	MemoryContext context;		/* context in which arenas of the account
								 * allocate blocks */
} memory_account;

/*
 * Charges bytes to the account. Raises an error if the account then exceeds
 * the budget.
 */
extern void charge_memory(memory_account *account, Size bytes);

/*
 * Return an arena whose blocks are charged to an account. charged_arena uses
 * the given account, make_arena and make_arena_in a new one. make_arena_in
 * allocates in `context`, the other two in the current context. release_arena
 * frees all blocks of an arena.
 */
extern fc_arena charged_arena(memory_account *account);
extern fc_arena make_arena(const char *what);
extern fc_arena make_arena_in(MemoryContext context, const char *what);
extern void release_arena(fc_arena *arena);

/*
 * Allocate memory of any size; alloc_large allocates in the current context.
 * For 4 MB or more they advise the kernel to use huge pages, with which the
 * first access to the memory takes a tenth of the time or less. A kernel
 * without huge pages ignores the advice.
 */
extern void *alloc_large_in(MemoryContext context, Size bytes);
extern void *alloc_large(Size bytes);

/*
 * Returns scratch space for `floats` floats, in the current context. Free it
 * with pfree(scratch.floats).
 */
extern fc_scratch make_scratch(Size floats);

/*
 * Returns memory for at least `count` items of `item` bytes. If `memory` is
 * large enough (it has *capacity items), returns it. Otherwise allocates new
 * memory, without copying the old content, and updates *capacity.
 */
extern void *grown(MemoryContext context, void *memory, Size *capacity, Size count, Size item);

/*
 * Returns a new hash table in a memory context. An entry has `entry` bytes and
 * begins with its key of `key` bytes.
 */
extern HTAB *make_table(const char *name, Size key, Size entry, MemoryContext context);

#endif							/* FASTCLUST_MEMORY_H */
