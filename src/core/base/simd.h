/*
 * simd.h - one function, a version per instruction set, chosen when the module is loaded; shuffles.
 *
 * Versions need indirect functions in compiler, linker and C library: GCC and glibc on x86-64.
 */
#ifndef FC_BASE_SIMD_H
#define FC_BASE_SIMD_H

#include <stdint.h>				/* tells of glibc */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FC_CLONES
#endif

/* Lanes of a and b by number, those of b behind those of a; places is an integer vector of their shape. */
#ifdef __clang__
#define FC_SHUFFLE(places, a, b, ...)	__builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FC_SHUFFLE(places, a, b, ...)	__builtin_shuffle(a, b, (places) {__VA_ARGS__})
#endif

#endif							/* FC_BASE_SIMD_H */
