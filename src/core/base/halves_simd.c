/* halves_simd.c - rows of half precision as floats; see halves.h */
#include "base/fc.h"
#include "base/halves.h"
#include "base/simd.h"

typedef uint16_t half_bits __attribute__((aligned(1), may_alias));

FC_CLONES void
fc_widen_halves(const void *halves, size_t n, float *out)
{
	const half_bits *bits = halves;

	for (size_t i = 0; i < n; i++)
		out[i] = fc_float_of_half(bits[i]);
}
