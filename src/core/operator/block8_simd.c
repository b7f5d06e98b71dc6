/* block8_simd.c - products of factors in double; see block8.h */
#include "operator/block8.h"

#include <string.h>

#include "base/simd.h"

#define INLINE	static inline __attribute__((always_inline))

#define VECTOR_LANES	(FC_VECTOR_BYTES / 8)

typedef double vdouble __attribute__((vector_size(FC_VECTOR_BYTES), aligned(8), may_alias));

/* One coordinate of a block, or of a vector alone. */
INLINE void
add_multiple(double value, const double *x, double *y, bool block8)
{
	if (!block8)
		*y += value * *x;
	for (size_t i = 0; block8 && i < FC_BLOCK8; i += VECTOR_LANES)
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
apply(const fc_factor *factor, const double *x, double *y, bool block8)
{
	const size_t lanes = block8 ? FC_BLOCK8 : 1;

	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;
		double		sum[FC_BLOCK8] = {0};

		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				add_multiple((double) row[c], x + c * lanes, sum, block8);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				add_multiple((double) factor->values[p], x + fc_factor_column(factor, p) * lanes, sum, block8);
		memcpy(y + r * lanes, sum, lanes * sizeof(double));
	}
}

INLINE void
apply_left(const fc_factor *factor, const double *x, double *y, bool block8)
{
	const size_t lanes = block8 ? FC_BLOCK8 : 1;

	memset(y, 0, factor->columns * lanes * sizeof(double));
	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;

		if (all_zero(x + r * lanes, lanes))
			continue;
		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				add_multiple((double) row[c], x + r * lanes, y + c * lanes, block8);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				add_multiple((double) factor->values[p], x + r * lanes, y + fc_factor_column(factor, p) * lanes, block8);
	}
}

FC_CLONES
void
fc_block8_apply(const fc_factor *factor, const double *x, double *y)
{
	apply(factor, x, y, true);
}

FC_CLONES
void
fc_block8_apply_left(const fc_factor *factor, const double *x, double *y)
{
	apply_left(factor, x, y, true);
}

FC_CLONES
void
fc_single_apply(const fc_factor *factor, const double *x, double *y)
{
	apply(factor, x, y, false);
}

FC_CLONES
void
fc_single_apply_left(const fc_factor *factor, const double *x, double *y)
{
	apply_left(factor, x, y, false);
}
