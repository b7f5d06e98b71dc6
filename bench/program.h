/*
 * program.h - helpers of the benchmarks in C: CPU clock, memory, centering of
 * rows
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "base/fc.h"

/* Returns the CPU seconds of the process. */
static inline double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static inline void *
heap_grow(void *host, size_t bytes)
{
	void	   *memory = malloc(bytes);

	(void) host;
	if (memory == NULL)
		abort();
	return memory;
}

static inline void
heap_shrink(void *host, void *block, size_t bytes)
{
	(void) host;
	(void) bytes;
	free(block);
}

static inline fc_arena
heap_arena(void)
{
	return (fc_arena) {.grow = heap_grow,.shrink = heap_shrink};
}

/* Subtracts the mean of n x d rows, as fc_kmeans requires. */
static inline void
centre(float *x, size_t n, size_t d)
{
	for (size_t c = 0; c < d; c++)
	{
		double		sum = 0.0;

		for (size_t r = 0; r < n; r++)
			sum += (double) x[r * d + c];
		for (size_t r = 0; r < n; r++)
			x[r * d + c] = (float) ((double) x[r * d + c] - sum / (double) n);
	}
}

#endif							/* BENCH_PROGRAM_H */
