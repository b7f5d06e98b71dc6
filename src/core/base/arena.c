/* arena.c - a stack of blocks of memory, and the interrupt check; see fc.h */
#include "base/fc.h"

/*
 * Alignment of a piece in bytes: a cache line, which is also the widest
 * vector.
 */
#define ALIGNMENT	((size_t) 64)

/*
 * Minimum size in bytes of a block. With a larger one, small calls waste
 * memory; with a smaller one, more blocks are allocated. A guess.
 */
#define MIN_BLOCK	((size_t) 1 << 12)

/*
 * Maximum size in bytes of a block that small pieces share; a larger piece has
 * a block of its own. With a larger one, fewer blocks are allocated, but more
 * of the last block may be unused. A guess.
 */
#define MAX_BLOCK	((size_t) 1 << 16)

void		(*fc_interrupt_check) (void);
void		(*fc_numeric_failure) (void);

typedef struct fc_block
{
	struct fc_block *below;
	size_t		bytes;
} fc_block;

/*
 * Adds a block of `bytes` bytes, including its header. Returns the first
 * aligned address after the header.
 */
static char *
add_block(fc_arena *arena, size_t bytes)
{
	fc_block   *block = arena->grow(arena->host, bytes);

	*block = (fc_block)
	{
		arena->top, bytes
	};
	arena->top = block;
	arena->allocated += bytes;
	return fc_aligned(block + 1, ALIGNMENT);
}

void *
fc_arena_take(fc_arena *arena, size_t count, size_t item_size)
{
	char	   *start = fc_aligned(arena->next, ALIGNMENT);
	size_t		shared = smaller(larger(arena->allocated, MIN_BLOCK), MAX_BLOCK);
	size_t		bytes;
	size_t		capacity;

	if (__builtin_mul_overflow(count, item_size, &bytes) ||
		__builtin_add_overflow(bytes, sizeof(fc_block) + ALIGNMENT, &capacity))
		bytes = capacity = SIZE_MAX;
	if (arena->next != NULL && start <= arena->end &&
		bytes <= (size_t) (arena->end - start))
	{
		arena->next = start + bytes;
		return start;
	}
	if (capacity > shared)
		return add_block(arena, capacity);
	start = add_block(arena, shared);
	arena->next = start + bytes;
	arena->end = (char *) arena->top + shared;
	return start;
}

void
fc_arena_release(fc_arena *arena, fc_mark mark)
{
	while (arena->top != mark.top)
	{
		fc_block   *block = arena->top;

		arena->top = block->below;
		arena->allocated -= block->bytes;
		arena->shrink(arena->host, block, block->bytes);
	}
	arena->next = mark.next;
	arena->end = mark.end;
}

fc_arena
fc_arena_measure(void)
{
	return (fc_arena)
	{
		.next = (char *) ALIGNMENT,
			.end = (char *) (SIZE_MAX / 4)
	};
}

size_t
fc_arena_measured(const fc_arena *arena)
{
	return (size_t) arena->next;
}
