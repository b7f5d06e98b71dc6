/*
 * test_interrupt.c - the interrupt check may jump out of k-means and of a
 * decoder at any call. The caller then releases the arena, and the same call
 * in the same memory gives the same bits.
 */
#include <setjmp.h>

#include "kmeans/kmeans.h"
#include "planted.h"

enum {N = 2000, D = 8, K = 12, MAX_CODE = 40};

static jmp_buf back;
static long stop;

static void
jump(void)
{
	if (unit_checked++ == stop)
		longjmp(back, 1);
}

/* Function that works in `arena` and writes a result. */
typedef fc_status (*work) (const void *input, fc_arena *arena, void *result);

/*
 * Jumps out of up to 40 of the interrupt checks leave memory in which the call
 * still gives the same bits.
 */
static void
test_jumps(work call, const void *input, size_t bytes, const char *what)
{
	fc_arena	arena = unit_arena();
	void	   *whole = unit_alloc(bytes, 1);
	void	   *again = unit_alloc(bytes, 1);
	long		calls;

	stop = -1;
	unit_checked = 0;
	fc_interrupt_check = jump;
	CHECK(call(input, &arena, whole) == FC_OK && arena.allocated == 0, "%s", what);
	calls = unit_checked;
	CHECK(calls > 2, "%s: %ld interrupt checks", what, calls);
	for (long i = 0; i < calls; i += 1 + calls / MAX_CODE)
	{
		unit_checked = 0;
		stop = i;
		if (setjmp(back) == 0)
		{
			(void) call(input, &arena, again);
			CHECK(false, "%s: the jump at check %ld of %ld did not happen", what, stop, calls);
		}
	}
	stop = -1;
	CHECK(call(input, &arena, again) == FC_OK && memcmp(whole, again, bytes) == 0, "%s: other bits after a jump", what);
	fc_interrupt_check = NULL;
}

static fc_status
cluster(const void *input, fc_arena *arena, void *result)
{
	fc_rows		rows = {.x = input,.n = N,.d = D};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result found = {.centroids = result,.weights = (double *) result + K * D};

	fc_kmeans(&rows, K, NULL, &options, arena, &found);
	return FC_OK;
}

static fc_status
decode(const void *input, fc_arena *arena, void *result)
{
	const fc_problem *problem = input;
	double	   *out = result;
	fc_decode_result found = {.centroids = out,.weights = out + 3 * problem->n,.spreads = out + 3 * problem->n + 3};

	return fc_decode(problem, 3, FC_DECODE_AUTO, NULL, arena, &found);
}

int
main(void)
{
	fc_rng		rng = fc_rng_start(3, 1);
	float	   *x = unit_alloc(N * D, sizeof(float));
	planted		p = plant(3, 2, 64, 0.8, 4.0, 1e5, 30, 4);

	for (size_t i = 0; i < N * D; i++)
		x[i] = (float) (fc_rng_normal(&rng) + 8.0 * (double) (i / D % K));
	test_jumps(cluster, x, K * (D + 1) * sizeof(double), "k-means");
	test_jumps(decode, &p.problem, 3 * (p.problem.n + 2) * sizeof(double), "decode");
	return unit_finish();
}
