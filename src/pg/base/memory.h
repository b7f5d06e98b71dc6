/*
 * memory.h - memory within fastclust.memory_budget, and the interrupt check of
 * the server
 */
#ifndef FASTCLUST_MEMORY_H
#define FASTCLUST_MEMORY_H

#include "utils/hsearch.h"

#include "base/fc.h"

extern int	fastclust_memory_budget;	/* budget in kB that is in force: GUC
										 * fastclust.memory_budget, up to
										 * fastclust.memory_budget_limit */
extern int	fastclust_largest_state;	/* GUC fastclust.largest_state in kB */

extern void check_budget(Size bytes, const char *what);

/* Memory charged to the budget by one call that allocates step by step. */
typedef struct memory_account
{
	const char *what;			/* name of the work, for the error message */
	Size		charged;		/* number of bytes charged so far */
	MemoryContext context;		/* context in which its arenas allocate blocks */
} memory_account;

/*
 * Charges bytes to the account. Raises an error if the account then exceeds
 * the budget.
 */
extern void charge_memory(memory_account *account, Size bytes);

/*
 * Return an arena whose blocks are charged: charged_arena to the given account,
 * in the current context; the others to an account of their own. release_arena
 * frees its blocks.
 */
extern fc_arena charged_arena(memory_account *account);
extern fc_arena make_arena(const char *what);
extern fc_arena make_arena_in(MemoryContext context, const char *what);
extern void release_arena(fc_arena *arena);

/*
 * Allocate memory of any size in a context, or the current one. Advises huge
 * pages from 4 MB on, with which the first touch takes a tenth of the time or
 * less; a kernel without them ignores the advice.
 */
extern void *alloc_large_in(MemoryContext context, Size bytes);
extern void *alloc_large(Size bytes);

/*
 * Returns a scratch of this many floats in the current context; free it with
 * pfree(scratch.floats).
 */
extern fc_scratch make_scratch(Size floats);

/*
 * Returns memory for `count` items, and sets *room to its capacity in items.
 * The old content is lost if the memory moves.
 */
extern void *grown(MemoryContext context, void *memory, Size *room, Size count, Size item);

/*
 * Returns a new hash table in a context. Its entries begin with the key, which
 * is compared by its bytes.
 */
extern HTAB *make_table(const char *name, Size key, Size entry, MemoryContext context);

#endif							/* FASTCLUST_MEMORY_H */
