/* memory.h - memory within fastclust.memory_budget, and the interrupt check of the server */
#ifndef FASTCLUST_MEMORY_H
#define FASTCLUST_MEMORY_H

#include "postgres.h"

#include "base/fc.h"
#include "base/pieces.h"

extern int	fastclust_memory_budget;	/* kB; GUC fastclust.memory_budget */
extern int	fastclust_largest_state;	/* kB; GUC fastclust.largest_state */

extern void check_budget(Size bytes, const char *what);

/* An arena of `bytes` in the current context, within the budget; `what` names it in the error. */
extern fc_arena make_arena(Size bytes, const char *what);

/* What one call holds of the budget, for calls that take memory step by step. */
typedef struct account
{
	const char *what;			/* named in the error */
	Size		held;			/* bytes */
} account;

/* Bytes to be held from now on: an error when all together are more than the budget. */
extern void hold(account *account, Size bytes);

/* An arena that is held; and its end. */
extern fc_arena hold_arena(account *account, Size bytes);
extern void release_arena(account *account, fc_arena *arena);

/* Scratch of so many floats in the current context; pfree(scratch.floats). */
extern fc_scratch make_scratch(Size floats);

/* Lets the server cancel: the interrupt check of the core. */
extern void check_for_interrupts(void);

/* memcpy of anything long. */
static inline void
copy_bytes(void *to, const void *from, Size bytes)
{
	(void) fc_copy_pieces(to, from, bytes);
}

/* palloc0 of anything long. */
extern void *allocate_cleared(Size bytes);

#endif							/* FASTCLUST_MEMORY_H */
