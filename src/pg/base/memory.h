/*
 * memory.h - memory within fastclust.memory_budget, and the interrupt check of
 * the server
 */
#ifndef FASTCLUST_MEMORY_H
#define FASTCLUST_MEMORY_H

#include "utils/hsearch.h"

#include "base/fc.h"

extern int	fastclust_memory_budget;	/* kB; GUC fastclust.memory_budget, up
										 * to fastclust.memory_budget_limit */
extern int	fastclust_largest_state;	/* kB; GUC fastclust.largest_state */

extern void check_budget(Size bytes, const char *what);

/*
 * The part of the budget that one call holds, for calls that take memory step
 * by step.
 */
typedef struct memory_account
{
	const char *what;			/* named in the error */
	Size		held;			/* bytes */
	MemoryContext context;		/* of the blocks of its arenas */
} memory_account;

/*
 * Bytes to be held from now on: an error when all together are more than the
 * budget.
 */
extern void hold(memory_account *account, Size bytes);

/*
 * An arena in the current context, or another, whose blocks are held, of an
 * account or of one of its own; and its end.
 */
extern fc_arena hold_arena(memory_account *account);
extern fc_arena make_arena(const char *what);
extern fc_arena make_arena_in(MemoryContext context, const char *what);
extern void release_arena(fc_arena *arena);

/*
 * Memory of any size in a context, or the current one. From 4 MB on the kernel
 * is asked for huge pages, where a first touch takes a tenth of the time or
 * less; a kernel without them ignores the advice.
 */
extern void *alloc_large_in(MemoryContext context, Size bytes);
extern void *alloc_large(Size bytes);

/* Scratch of so many floats in the current context; pfree(scratch.floats). */
extern fc_scratch make_scratch(Size floats);

/*
 * Memory for `count` items of which there was room for *room; its old content
 * is gone where it moves.
 */
extern void *grown(MemoryContext context, void *memory, Size *room, Size count, Size item);

/*
 * A hash table in a context: entries that begin with their key, whose bytes
 * are compared.
 */
extern HTAB *make_table(const char *name, Size key, Size entry, MemoryContext context);

#endif							/* FASTCLUST_MEMORY_H */
