/*
 * fc_operator_kernel.c - y = A x for one row x, and exact distances.
 *
 * GROUP rows of A share each load of x; every row has one vector of partial sums,
 * added up lane by lane in a fixed order, so a score does not depend on the rows
 * around it.  x is read once per group and A once: the loop runs at the speed of
 * the cache that holds A.
 */
#include "fc_operator_kernel.h"

#include <string.h>

typedef float vfloat __attribute__((vector_size(64), aligned(4), may_alias));
typedef double vdouble __attribute__((vector_size(64), aligned(8), may_alias));

#define LANES	16
#define GROUP	8
#define INLINE	static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES	__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

INLINE float
lane_sum(const vfloat *v)
{
	float		s[LANES];

	memcpy(s, v, sizeof(s));
	for (int half = LANES / 2; half > 0; half /= 2)
		for (int i = 0; i < half; i++)
			s[i] += s[i + half];
	return s[0];
}

/* `rows` (a constant) rows of A at once. */
INLINE void
group_of_rows(const float *a, int rows, size_t columns, const float *x, float *y)
{
	vfloat		sum[GROUP];
	size_t		i = 0;

	for (int r = 0; r < rows; r++)
		sum[r] = (vfloat) {0};
	for (; i + LANES <= columns; i += LANES)
	{
		vfloat		xs = *(const vfloat *) (x + i);

		for (int r = 0; r < rows; r++)
			sum[r] += *(const vfloat *) (a + (size_t) r * columns + i) * xs;
	}
	if (i < columns)
	{
		size_t		bytes = (columns - i) * sizeof(float);
		vfloat		xs = {0};
		vfloat		as = {0};

		memcpy(&xs, x + i, bytes);
		for (int r = 0; r < rows; r++)
		{
			memcpy(&as, a + (size_t) r * columns + i, bytes);
			sum[r] += as * xs;
		}
	}
	for (int r = 0; r < rows; r++)
		y[r] = lane_sum(&sum[r]);
}

CLONES void
fc_dense_rows(const float *a, size_t rows, size_t columns, const float *x, float *y)
{
	size_t		r = 0;

	for (; r + GROUP <= rows; r += GROUP)
		group_of_rows(a + r * columns, GROUP, columns, x, y + r);
	for (; r < rows; r++)
		group_of_rows(a + r * columns, 1, columns, x, y + r);
}

CLONES double
fc_squared_distance(const double *x, const double *o, const float *v, size_t d)
{
	vdouble		sum = {0};
	double		s[8];
	size_t		i = 0;
	double		rest = 0;

	for (; i + 8 <= d; i += 8)
	{
		vdouble		delta = *(const vdouble *) (x + i);
		vdouble		c;

		for (int lane = 0; lane < 8; lane++)
			c[lane] = (double) v[i + (size_t) lane];
		if (o != NULL)
			delta -= *(const vdouble *) (o + i);
		delta -= c;
		sum += delta * delta;
	}
	for (; i < d; i++)
	{
		double		delta = x[i] - (o ? o[i] : 0.0) - (double) v[i];

		rest += delta * delta;
	}
	memcpy(s, &sum, sizeof(s));
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + rest;
}
