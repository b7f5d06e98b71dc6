/*
 * finite_simd.c - tests whether input values are finite or moderate, by their
 * exponents; converts floats to doubles and half-precision numbers to floats.
 */

#include "base/fc.h"
#include "base/simd.h"

typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));
typedef uint16_t half_bits __attribute__((aligned(1), may_alias));

FC_CLONES bool
fc_exponents_below_float(const float *x, size_t n, uint32_t limit)
{
	const word32 *bits = (const word32 *) x;
	uint32_t	bad = 0;

	for (size_t i = 0; i < n; i++)
		bad |= (bits[i] & UINT32_C(0x7f800000)) >= limit << 23;
	return bad == 0;
}

FC_CLONES bool
fc_exponents_below(const double *x, size_t n, uint64_t limit)
{
	const word64 *bits = (const word64 *) x;
	uint64_t	bad = 0;

	for (size_t i = 0; i < n; i++)
		bad |= (bits[i] & UINT64_C(0x7ff0000000000000)) >= limit << 52;
	return bad == 0;
}

FC_CLONES void
fc_widen(const float *x, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++)
	{
		float		value;

		memcpy(&value, (const char *) x + i * sizeof(float), sizeof(float));
		out[i] = (double) value;
	}
}

FC_CLONES void
fc_widen_halves(const void *halves, size_t n, float *out)
{
	const half_bits *bits = halves;

	for (size_t i = 0; i < n; i++)
		out[i] = fc_float_of_half(bits[i]);
}
