/*
 * test_arena.c - memory of an arena is aligned to 64 bytes and does not
 * overlap; releases free their blocks; a host may refuse an allocation by a
 * jump
 */
#include <setjmp.h>

#include "unit.h"

enum {PIECES = 300};

static jmp_buf back;
static size_t refused;

static void *
grow_to_a_mebibyte(void *host, size_t bytes)
{
	if (bytes > (size_t) 1 << 20)
	{
		refused = bytes;
		longjmp(back, 1);
	}
	return unit_grow(host, bytes);
}

/*
 * Pieces of 0 to 89401 bytes are aligned to 64 bytes and keep their contents;
 * freeing the arena returns all memory.
 */
static void
test_pieces(void)
{
	fc_arena	arena = unit_arena();
	unsigned char *piece[PIECES];

	for (size_t i = 0; i < PIECES; i++)
	{
		piece[i] = FC_TAKE(&arena, i * i, unsigned char);
		CHECK((uintptr_t) piece[i] % 64 == 0, "piece %zu is not aligned", i);
		memset(piece[i], (int) i % 251, i * i);
	}
	for (size_t i = 0; i < PIECES; i++)
		for (size_t j = 0; j < i * i; j++)
			if (piece[i][j] != i % 251)
			{
				CHECK(false, "piece %zu has changed at byte %zu", i, j);
				break;
			}
	unit_arena_free(&arena);
	CHECK(arena.allocated == 0, "%zu bytes are still held", arena.allocated);
}

/*
 * Memory taken before a mark survives the release; memory taken after the
 * release starts at the same address as before.
 */
static void
test_marks(void)
{
	fc_arena	arena = unit_arena();
	int		   *first = FC_TAKE(&arena, 10, int);
	size_t		allocated = arena.allocated;
	fc_mark		mark = fc_arena_mark(&arena);
	void	   *next = FC_TAKE(&arena, 10, int);

	first[9] = 7;
	for (size_t i = 0; i < 100; i++)
		(void) FC_TAKE(&arena, 1000 * i, char);
	CHECK(arena.allocated > allocated, "the arena has taken no blocks");
	fc_arena_release(&arena, mark);
	CHECK(arena.allocated == allocated && first[9] == 7, "%zu bytes held, not %zu", arena.allocated, allocated);
	CHECK(FC_TAKE(&arena, 10, int) == next, "a release does not reuse its memory");
	unit_arena_free(&arena);
}

/*
 * A host that refuses large blocks by longjmp leaves the arena empty. A size
 * that overflows is requested as SIZE_MAX.
 */
static void
test_refusal(void)
{
	fc_arena	arena = {.grow = grow_to_a_mebibyte,.shrink = unit_shrink};

	if (setjmp(back) == 0)
	{
		(void) FC_TAKE(&arena, SIZE_MAX / 4, double);
		CHECK(false, "an impossible size was allocated");
	}
	CHECK(refused == SIZE_MAX, "%zu bytes were requested", refused);
	if (setjmp(back) == 0)
	{
		(void) FC_TAKE(&arena, (size_t) 1 << 20, double);
		CHECK(false, "8 MB were allocated beyond the host's limit");
	}
	CHECK(refused > (size_t) 8 << 20 && refused < SIZE_MAX && arena.allocated == 0, "%zu bytes were requested", refused);
}

int
main(void)
{
	test_pieces();
	test_marks();
	test_refusal();
	return unit_finish();
}
