/*
 * halves.h - a number of half precision (IEEE 754 binary16) as a float, exactly, without an instruction for it.
 *
 * The 15 bits of the magnitude, moved up to those of a float, are the number times 2^-112, subnormal ones too.
 */
#ifndef FC_BASE_HALVES_H
#define FC_BASE_HALVES_H

#include <stdint.h>
#include <string.h>

static inline float
fc_float_of_half(uint32_t half)
{
	uint32_t	magnitude = half & UINT32_C(0x7fff);
	uint32_t	bits = magnitude << 13;
	float		x;

	memcpy(&x, &bits, sizeof(x));
	x *= 0x1p112f;
	memcpy(&bits, &x, sizeof(bits));
	bits |= magnitude >= UINT32_C(0x7c00) ? UINT32_C(0x7f800000) : 0;	/* infinite, or NaN */
	bits |= (half & UINT32_C(0x8000)) << 16;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

#endif							/* FC_BASE_HALVES_H */
