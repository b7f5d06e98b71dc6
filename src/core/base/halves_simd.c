/*
 * halves_simd.c - numbers of half precision (IEEE 754 binary16) as floats, exactly, without an instruction for it.
 *
 * The 15 bits of the magnitude, moved up to those of a float, are the number times 2^-112, subnormal ones too.
 */
#include <string.h>

#include "base/fc.h"
#include "base/simd.h"

typedef uint16_t half_bits __attribute__((aligned(1), may_alias));

FC_CLONES void
fc_widen_halves(const void *halves, size_t n, float *out)
{
	const half_bits *bits = halves;

	for (size_t i = 0; i < n; i++)
	{
		uint32_t	magnitude = bits[i] & UINT32_C(0x7fff);
		uint32_t	low = magnitude << 13;
		uint32_t	special = magnitude >= UINT32_C(0x7c00) ? UINT32_C(0x7f800000) : 0;
		float		x;

		memcpy(&x, &low, sizeof(x));
		x *= 0x1p112f;
		memcpy(&low, &x, sizeof(x));
		low |= special | (uint32_t) (bits[i] & UINT32_C(0x8000)) << 16;
		memcpy(out + i, &low, sizeof(low));
	}
}
