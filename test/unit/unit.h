/*
 * unit.h - helpers of all unit tests: checks, memory that is freed by
 * unit_finish, an arena on the heap, and an interrupt check that counts its
 * calls.
 *
 * A test that passes prints one line, "ok N checks"; a test that fails prints
 * a line for each failure.
 */
#ifndef UNIT_H
#define UNIT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fc.h"
#include "base/rng.h"

static int	unit_checks;
static int	unit_failures;

/*
 * Counts a check; a failure prints the condition and the message, up to 50
 * times.
 */
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

/*
 * All allocations of a test. Each has exactly the requested size, so that
 * sanitizers detect overruns.
 */
static void **unit_pieces;
static size_t unit_held;

static inline void *
unit_keep(void *memory)
{
	if ((unit_held & (unit_held - 1)) == 0)
		unit_pieces = realloc(unit_pieces, 2 * (unit_held + 1) * sizeof(void *));
	if (memory == NULL || unit_pieces == NULL)
		exit(2);
	return unit_pieces[unit_held++] = memory;
}

/*
 * unit_alloc returns zeroed memory, unit_uncleared uninitialised memory;
 * running out of memory ends the program.
 */
static inline void *
unit_alloc(size_t count, size_t item_size)
{
	return unit_keep(calloc(count > 0 ? count : 1, item_size));
}

static inline void *
unit_uncleared(size_t bytes)
{
	return unit_keep(malloc(bytes > 0 ? bytes : 1));
}

static inline void
unit_free(void)
{
	while (unit_held > 0)
		free(unit_pieces[--unit_held]);
}

static inline int
unit_finish(void)
{
	unit_free();
	free(unit_pieces);
	if (unit_failures > 0)
	{
		printf("not ok: %d of %d checks failed\n", unit_failures, unit_checks);
		return 1;
	}
	printf("ok %d checks\n", unit_checks);
	return 0;
}

static inline void *
unit_grow(void *host, size_t bytes)
{
	(void) host;
	return unit_uncleared(bytes);
}

static inline void
unit_shrink(void *host, void *block, size_t bytes)
{
	size_t		i = unit_held;

	(void) host;
	(void) bytes;
	while (unit_pieces[--i] != block)
		;
	unit_pieces[i] = unit_pieces[--unit_held];
	free(block);
}

/* Returns an arena on the heap. */
static inline fc_arena
unit_arena(void)
{
	return (fc_arena) {.grow = unit_grow,.shrink = unit_shrink};
}

/* Returns an arena for a single call. */
static inline fc_arena *
unit_work(void)
{
	fc_arena   *arena = unit_alloc(1, sizeof(fc_arena));

	*arena = unit_arena();
	return arena;
}

static inline void
unit_arena_free(fc_arena *arena)
{
	fc_arena_release(arena, (fc_mark) {0});
}

/*
 * Returns exactly `floats` floats of scratch, all NaN, so that sanitizers
 * detect overruns and a read before a write spoils the result.
 */
static inline fc_scratch
unit_scratch(size_t floats)
{
	fc_scratch	scratch = {unit_uncleared(floats * sizeof(float)), floats};

	memset(scratch.floats, 0xff, floats * sizeof(float));
	return scratch;
}

/* Returns n normal numbers. */
static inline double *
unit_normals(size_t n, double mean, double deviation, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *x = unit_uncleared(n * sizeof(double));

	for (size_t i = 0; i < n; i++)
		x[i] = mean + deviation * fc_rng_normal(&rng);
	return x;
}

/* Returns the squared distance of two points. */
static inline double
unit_square(const double *a, const double *b, size_t d)
{
	double		sum = 0.0;

	for (size_t c = 0; c < d; c++)
		sum += (a[c] - b[c]) * (a[c] - b[c]);
	return sum;
}

/* Returns the smallest squared distance of x to one of k rows. */
static inline double
unit_min_square(const double *x, const double *rows, size_t k, size_t d)
{
	double		min = INFINITY;

	for (size_t j = 0; j < k; j++)
		min = fmin(min, unit_square(x, rows + j * d, d));
	return min;
}

/* Compares two doubles for qsort. */
static inline int
unit_compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static long unit_checked;

/* Interrupt check that counts its calls in unit_checked. */
static inline void
unit_check(void)
{
	unit_checked++;
}

#endif							/* UNIT_H */
