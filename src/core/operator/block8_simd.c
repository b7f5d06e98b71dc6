/* block8_simd.c - products of factors in double; see block8.h */
#include "operator/block8.h"

#include <string.h>

#include "base/simd.h"

#define INLINE	static inline __attribute__((always_inline))

#define FOUR	4

typedef double vdouble __attribute__((vector_size(32), aligned(8), may_alias));

/* One coordinate of a block, or of a vector alone. */
INLINE void
add_multiple(double value, const double *x, double *y, bool wide)
{
	if (!wide)
		*y += value * *x;
	for (size_t i = 0; wide && i < FC_WIDE; i += FOUR)
		*(vdouble *) (y + i) += value * *(const vdouble *) (x + i);
}

INLINE bool
all_zero(const double *x, size_t lanes)
{
	for (size_t i = 0; i < lanes; i++)
		if (x[i] != 0.0)
			return false;
	return true;
}

INLINE void
apply(const fc_factor *factor, const double *x, double *y, bool wide)
{
	const size_t lanes = wide ? FC_WIDE : 1;

	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;
		double		sum[FC_WIDE] = {0};

		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				add_multiple((double) row[c], x + c * lanes, sum, wide);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				add_multiple((double) factor->values[p], x + fc_factor_column(factor, p) * lanes, sum, wide);
		memcpy(y + r * lanes, sum, lanes * sizeof(double));
	}
}

INLINE void
apply_left(const fc_factor *factor, const double *x, double *y, bool wide)
{
	const size_t lanes = wide ? FC_WIDE : 1;

	memset(y, 0, factor->columns * lanes * sizeof(double));
	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;

		if (all_zero(x + r * lanes, lanes))
			continue;
		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				add_multiple((double) row[c], x + r * lanes, y + c * lanes, wide);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				add_multiple((double) factor->values[p], x + r * lanes, y + fc_factor_column(factor, p) * lanes, wide);
	}
}

FC_CLONES
void
fc_wide_apply(const fc_factor *factor, const double *x, double *y)
{
	apply(factor, x, y, true);
}

FC_CLONES
void
fc_wide_apply_left(const fc_factor *factor, const double *x, double *y)
{
	apply_left(factor, x, y, true);
}

FC_CLONES
void
fc_narrow_apply(const fc_factor *factor, const double *x, double *y)
{
	apply(factor, x, y, false);
}

FC_CLONES
void
fc_narrow_apply_left(const fc_factor *factor, const double *x, double *y)
{
	apply_left(factor, x, y, false);
}
