/*
 * kernel_product.c - benchmark of the pass over the kernel matrix against
 * dense BLAS, in one process and thread.
 *
 * Prints "name,seconds,gflops,of_sgemm" for W = K Omega with n rows in 19
 * dimensions and 20 columns (and the probes), counted as 2 n^2 (19 + 20)
 * operations, and for a 2048^3 sgemm: the minimum CPU time of several rounds.
 *
 * Usage: kernel_product [n]
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/blas.h"
#include "base/rng.h"
#include "rkhs/projection.h"

#include "program.h"

#define ORDER		2048
#define D			19
#define COLUMNS		20
#define ROUNDS		5

static void *
take(size_t bytes)
{
	void	   *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (memory == NULL)
		exit(2);
	return memory;
}

static float *
random_floats(size_t n)
{
	fc_rng		rng = fc_rng_start(1, 0);
	float	   *x = take(n * sizeof(float));

	for (size_t i = 0; i < n; i++)
		x[i] = (float) fc_rng_normal(&rng);
	return x;
}

static double
time_sgemm(const float *a, const float *b, float *c)
{
	double		start = cpu_seconds();

	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ORDER, ORDER, ORDER, 1.0f, a, ORDER, b, ORDER, 0.0f, c, ORDER);
	return cpu_seconds() - start;
}

/*
 * Returns the seconds of one pass with a kernel, without the preparation of
 * the rows.
 */
static double
time_pass(const fc_kernel *kernel, const float *x, size_t n)
{
	size_t		probes = fc_kernel_projection_probes(COLUMNS, false);
	size_t		c = COLUMNS + probes;
	fc_arena	arena = heap_arena();
	fc_kernel_input input = {.floats = x,.n = n,.d = D};
	int8_t	   *omega = take(n * c);
	double	   *w = take(n * c * sizeof(double));
	size_t		columns[COLUMNS];
	fc_kernel_rows rows;
	double		square;
	double		start;

	fc_choose_distinct(1, n, COLUMNS, columns);
	fc_sign_columns(1, columns, COLUMNS, probes, 0, n, omega);
	if (fc_kernel_prepare(kernel, &input, false, &arena, &rows) != FC_OK)
		exit(1);
	start = cpu_seconds();
	fc_kernel_multiply(&rows, omega, c, &arena, w, &square);
	start = cpu_seconds() - start;
	fc_arena_release(&arena, (fc_mark) {0});
	free(omega);
	free(w);
	return start;
}

int
main(int argc, char **argv)
{
	static const fc_kernel kernels[3] = {
		{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 2, 1.0, 0.0},
		{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 5, 1.0, 1.0},
		{FC_KERNEL_VERSION, FC_KERNEL_RBF, 0, 0, 1.0 / 38.0, 0.0}
	};
	static const char *names[3] = {"polynomial(2)", "polynomial(5)", "rbf"};
	size_t		n = argc > 1 ? (size_t) atol(argv[1]) : 20000;
	float	   *x = random_floats(n * D);
	float	   *a = random_floats(ORDER * ORDER);
	float	   *b = random_floats(ORDER * ORDER);
	float	   *c = take(ORDER * ORDER * sizeof(float));
	double		best[4] = {1e9, 1e9, 1e9, 1e9};
	double		peak;

	for (int round = 0; round < ROUNDS; round++)
	{
		double		t = time_sgemm(a, b, c);

		best[3] = t < best[3] ? t : best[3];
		for (int i = 0; i < 3; i++)
		{
			t = time_pass(&kernels[i], x, n);
			best[i] = t < best[i] ? t : best[i];
		}
	}
	peak = 2.0 * ORDER * ORDER * ORDER / best[3] * 1e-9;
	printf("name,seconds,gflops,of_sgemm\nsgemm 2048,%.4f,%.1f,1\n", best[3], peak);
	for (int i = 0; i < 3; i++)
	{
		double		rate = 2.0 * (double) n * (double) n * (D + COLUMNS) / best[i] * 1e-9;

		printf("%s,%.4f,%.1f,%.3f\n", names[i], best[i], rate, rate / peak);
	}
	return 0;
}
