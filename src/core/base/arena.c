/* arena.c - a stack of memory the caller owns */
#include "base/fc.h"

#define FC_ALIGN ((size_t) 64)

void *
fc_arena_take(fc_arena *arena, size_t count, size_t item_size)
{
	uintptr_t	start = ((uintptr_t) arena->base + arena->used + FC_ALIGN - 1) & ~(uintptr_t) (FC_ALIGN - 1);
	size_t		offset = (size_t) (start - (uintptr_t) arena->base);
	size_t		bytes;

	if (__builtin_mul_overflow(count, item_size, &bytes) ||
		__builtin_add_overflow(offset, bytes, &arena->wanted))
	{
		arena->wanted = SIZE_MAX;
		return NULL;
	}
	if (arena->wanted > arena->size)
		return NULL;
	arena->used = arena->wanted;
	return (void *) start;
}
