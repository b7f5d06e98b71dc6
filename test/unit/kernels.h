/* kernels.h - data and reference results that the kernel tests share */
#ifndef KERNELS_H
#define KERNELS_H

#include "rkhs/kernel.h"
#include "rkhs/projection.h"
#include "unit.h"

#define TWO_PI 6.283185307179586

static const fc_kernel square_kernel = {FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 2, 1.0, 0.0};
static const fc_kernel test_kernels[] = {
	{FC_KERNEL_VERSION, FC_KERNEL_LINEAR, 0, 0, 0.0, 0.0},
	{FC_KERNEL_VERSION, FC_KERNEL_COSINE, 0, 0, 0.0, 0.0},
	{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 1, 2.0, 0.5},
	{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 2, 1.0, 0.0},
	{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 3, 0.3, 1.0},
	{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 7, 0.1, 2.0},
	{FC_KERNEL_VERSION, FC_KERNEL_RBF, 0, 0, 0.25, 0.0}
};

#define TEST_KERNELS (sizeof(test_kernels) / sizeof(test_kernels[0]))

/*
 * Returns the first data set of the paper: even rows are in a disc of radius
 * 0.2, odd rows on a ring of radius 1 with deviation 0.05.
 */
static inline double *
disc_and_ring(size_t n, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *x = unit_alloc(n * 2, sizeof(double));

	for (size_t i = 0; i < n; i++)
	{
		double		angle = TWO_PI * fc_rng_uniform(&rng);
		double		radius = i % 2 == 0 ? 0.2 * sqrt(fc_rng_uniform(&rng)) : 1.0 + 0.05 * fc_rng_normal(&rng);

		x[2 * i] = radius * cos(angle);
		x[2 * i + 1] = radius * sin(angle);
	}
	return x;
}

static inline double
kernel_of_rows(const fc_kernel *kernel, const double *x, const double *y, size_t d)
{
	double		dot = 0.0;
	double		a = 0.0;
	double		b = 0.0;
	double		distance = 0.0;

	for (size_t c = 0; c < d; c++)
	{
		dot += x[c] * y[c];
		a += x[c] * x[c];
		b += y[c] * y[c];
		distance += (x[c] - y[c]) * (x[c] - y[c]);
	}
	return fc_kernel_value(kernel, dot, a, b, distance);
}

/* Returns the kernel matrix (n x n) in double, computed entry by entry. */
static inline double *
kernel_matrix(const fc_kernel *kernel, const double *x, size_t n, size_t d)
{
	double	   *k = unit_alloc(n * n, sizeof(double));

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			k[i * n + j] = kernel_of_rows(kernel, x + i * d, x + j * d, d);
	return k;
}

/* Returns ||K - Y Y'||_F / ||K||_F. */
static inline double
relative_error_of(const double *k, size_t n, const fc_embedding *e)
{
	double		error = 0.0;
	double		square = 0.0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
		{
			double		value = k[i * n + j];

			square += value * value;
			for (size_t r = 0; r < e->rank; r++)
				value -= (double) e->y[i * e->rank + r] * (double) e->y[j * e->rank + r];
			error += value * value;
		}
	return sqrt(error / square);
}

static inline fc_embedding
new_embedding(size_t n, size_t rank)
{
	fc_embedding e = {.rank = rank};

	e.eigenvalues = unit_alloc(rank, sizeof(double));
	e.y = unit_alloc(n * rank, sizeof(float));
	return e;
}

#endif							/* KERNELS_H */
