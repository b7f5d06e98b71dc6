/*
 * simd.h - FC_CLONES, which compiles a function once for each instruction set
 * and chooses a version when the module is loaded; vector sizes; conversions;
 * shuffles.
 *
 * FC_CLONES needs indirect functions in compiler, linker and C library, so it
 * has an effect only with GCC and glibc on x86-64.
 */
#ifndef FC_BASE_SIMD_H
#define FC_BASE_SIMD_H

#include <stdint.h>				/* defines __GLIBC__ if the C library is glibc */
#include <string.h>

#include "base/fc.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FC_CLONES
#endif

/*
 * FC_VECTOR_BYTES is the size of a vector in bytes. Loops whose version for
 * x86-64-v4 uses wider registers take FC_WIDE_VECTOR_BYTES. GCC passes
 * vectors longer than the registers of the machine through memory, so both
 * are 16 bytes on ARM.
 */
#ifdef __aarch64__
#define FC_VECTOR_BYTES			16
#define FC_WIDE_VECTOR_BYTES	16
#else
#define FC_VECTOR_BYTES			32
#define FC_WIDE_VECTOR_BYTES	64
#endif

/* Lane numbers of a vector, to initialise a vector of 32-bit integers. */
#if FC_VECTOR_BYTES == 16
#define FC_LANE_NUMBERS	{0, 1, 2, 3}
#else
#define FC_LANE_NUMBERS	{0, 1, 2, 3, 4, 5, 6, 7}
#endif

/*
 * Conversions of floats to doubles, and of doubles to floats with rounding. On
 * ARM, they are intrinsics, because gcc converts vectors of 8 bytes lane by
 * lane.
 */
#ifdef __aarch64__
#include <arm_neon.h>
#define FC_WIDEN(vdouble, floats)	((vdouble) vcvt_f64_f32((float32x2_t) (floats)))
#define FC_NARROW(vfloats, doubles)	((vfloats) vcvt_f32_f64((float64x2_t) (doubles)))
#else
#define FC_WIDEN(vdouble, floats)	__builtin_convertvector(floats, vdouble)
#define FC_NARROW(vfloats, doubles)	__builtin_convertvector(doubles, vfloats)
#endif

/*
 * FC_LESSER and FC_GREATER return the lesser and the greater of two floats or
 * doubles a and b, in a form that compiles to one vector instruction. b must
 * not be NaN. On ARM, gcc vectorises a loop that takes the maximum by
 * FC_GREATER. Elsewhere FC_GREATER_NEEDS_LANES is 1, and such a loop must
 * keep a maximum per lane.
 */
#ifdef __aarch64__
#include <math.h>
#define FC_GREATER_NEEDS_LANES	0
#define FC_LESSER(a, b)		_Generic((a), float: fminf, double: fmin)(a, b)
#define FC_GREATER(a, b)	_Generic((a), float: fmaxf, double: fmax)(a, b)
#else
#define FC_GREATER_NEEDS_LANES	1
#define FC_LESSER(a, b)		((a) < (b) ? (a) : (b))
#define FC_GREATER(a, b)	((a) > (b) ? (a) : (b))
#endif

/* Lane i of an array of vectors with `lanes` lanes each. */
#define FC_LANE(vectors, lanes, i)	((vectors)[(i) / (lanes)][(i) % (lanes)])

/*
 * Selects lanes of a and b by number; lanes of b are numbered after the lanes
 * of a. `places` is an integer vector type of the same shape.
 */
#ifdef __clang__
#define FC_SHUFFLE(places, a, b, ...)	__builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FC_SHUFFLE(places, a, b, ...)	__builtin_shuffle(a, b, (places) {__VA_ARGS__})
#endif

/*
 * Converts a half-precision number (IEEE 754 binary16) to a float, exactly and
 * without a special machine instruction. The 15 bits of the magnitude, shifted
 * to the place of a float's exponent and mantissa, represent the number times
 * 2^-112, even if it is subnormal.
 */
static inline float
fc_float_of_half(uint32_t half)
{
	uint32_t	magnitude = half & UINT32_C(0x7fff);
	uint32_t	bits = magnitude << 13;
	float		x;

	memcpy(&x, &bits, sizeof(x));
	x *= FC_EXP2(112f);
	memcpy(&bits, &x, sizeof(bits));
	/* an exponent of all ones means infinity or NaN */
	bits |= magnitude >= UINT32_C(0x7c00) ? UINT32_C(0x7f800000) : 0;
	bits |= (half & UINT32_C(0x8000)) << 16;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

#endif							/* FC_BASE_SIMD_H */
