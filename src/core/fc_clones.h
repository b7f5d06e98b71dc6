/*
 * fc_clones.h - one function, a version per instruction set, chosen when the module is loaded.
 *
 * Needs indirect functions in compiler, linker and C library: GCC and glibc on x86-64.
 */
#ifndef FC_CLONES_H
#define FC_CLONES_H

#include <stdint.h>				/* tells of glibc */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FC_CLONES
#endif

#endif							/* FC_CLONES_H */
