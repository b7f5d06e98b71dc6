/* arena.c - a stack of memory the caller owns; see fc.h */
#include "base/fc.h"

void		(*fc_interrupt_check) (void);

#define ALIGNMENT	((size_t) 64)

void *
fc_arena_take(fc_arena *arena, size_t count, size_t item_size)
{
	uintptr_t	start = ((uintptr_t) arena->base + arena->used + ALIGNMENT - 1) & ~(uintptr_t) (ALIGNMENT - 1);
	size_t		end = (size_t) (start - (uintptr_t) arena->base);
	size_t		bytes;

	if (__builtin_mul_overflow(count, item_size, &bytes) || __builtin_add_overflow(end, bytes, &end))
		end = SIZE_MAX;
	if (end > arena->size)
	{
		arena->failed = true;
		arena->wanted = end;
		return NULL;
	}
	arena->used = end;
	return (void *) start;
}

fc_status
fc_arena_require(fc_arena *arena, size_t bytes)
{
	if (bytes <= arena->size - arena->used)
		return FC_OK;
	if (__builtin_add_overflow(arena->used, bytes, &arena->wanted))
		arena->wanted = SIZE_MAX;
	return FC_ENOMEMORY;
}

fc_arena
fc_arena_measure(void)
{
	return (fc_arena) {.base = (char *) ALIGNMENT,.size = SIZE_MAX / 4};
}

size_t
fc_arena_measured(const fc_arena *arena)
{
	return arena->failed ? SIZE_MAX : arena->used + ALIGNMENT;
}
