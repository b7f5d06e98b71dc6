/*
 * unit.h - the few helpers every unit test shares: checks, a heap arena, a counting interrupt check.
 *
 * A passing test prints one line, "ok N checks"; a failing one a line per failure.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fc.h"

static int	unit_checks;
static int	unit_failures;

/* Count a check; report the first failures with the given words. */
#define CHECK(condition, ...) \
	do { \
		unit_checks++; \
		if (!(condition)) \
		{ \
			if (unit_failures++ < 50) \
			{ \
				printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
				printf(__VA_ARGS__); \
				printf("\n"); \
			} \
		} \
	} while (0)

static inline int
unit_finish(void)
{
	if (unit_failures > 0)
	{
		printf("not ok: %d of %d checks failed\n", unit_failures, unit_checks);
		return 1;
	}
	printf("ok %d checks\n", unit_checks);
	return 0;
}

/* A block of an arena, exactly so large, so that sanitizers see an overrun. */
static inline void *
unit_grow(void *host, size_t bytes)
{
	void	   *memory = malloc(bytes);

	(void) host;
	if (memory == NULL)
		exit(2);
	return memory;
}

static inline void
unit_shrink(void *host, void *block, size_t bytes)
{
	(void) host;
	(void) bytes;
	free(block);
}

/* An arena on the heap. */
static inline fc_arena
unit_arena(void)
{
	return (fc_arena) {.grow = unit_grow,.shrink = unit_shrink};
}

static inline void
unit_arena_free(fc_arena *arena)
{
	fc_arena_release(arena, (fc_mark) {0});
}

/* Zeroed heap memory that cannot fail. */
static inline void *
unit_alloc(size_t count, size_t item_size)
{
	void	   *memory = calloc(count > 0 ? count : 1, item_size);

	if (memory == NULL)
		exit(2);
	return memory;
}

/* Scratch of exactly `floats`, all NaN: sanitizers see an overrun, and what reads before it writes shows.  free(scratch.floats). */
static inline fc_scratch
unit_scratch(size_t floats)
{
	fc_scratch	scratch = {malloc(floats > 0 ? floats * sizeof(float) : 1), floats};

	if (scratch.floats == NULL)
		exit(2);
	memset(scratch.floats, 0xff, floats * sizeof(float));
	return scratch;
}

static long unit_checked;

/* An interrupt check that counts its calls in unit_checked. */
static inline void
unit_check(void)
{
	unit_checked++;
}

#endif							/* UNIT_H */
