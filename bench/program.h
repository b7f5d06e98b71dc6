/* program.h - what the benchmarks in C share: their clock, rows about their mean. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <stddef.h>
#include <time.h>

/* CPU seconds of the process. */
static inline double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* n x d rows less their mean, as fc_kmeans asks. */
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
