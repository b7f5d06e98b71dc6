/*
 * isa.c - chooses the build of the inner loops that the machine can run; see
 * isa.h
 */
#include "sketch/isa.h"

extern const fc_sketch_isa fc_sketch_isa_base;

#ifdef __x86_64__
extern const fc_sketch_isa fc_sketch_isa_v3;
extern const fc_sketch_isa fc_sketch_isa_v4;

/*
 * has_v3 and has_v4 test for the whole instruction-set level if the compiler
 * can, else for its most important extensions.
 */
#if defined(__clang__) || __GNUC__ < 12
static bool
has_v3(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool
has_v4(void)
{
	return has_v3() && __builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512cd") &&
		__builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl");
}
#else
static bool
has_v3(void)
{
	return __builtin_cpu_supports("x86-64-v3");
}

static bool
has_v4(void)
{
	return __builtin_cpu_supports("x86-64-v4");
}
#endif
#endif

const fc_sketch_isa *
fc_sketch_isa_named(const char *name)
{
#ifdef __x86_64__
	if (strcmp(name, "x86-64-v4") == 0)
		return has_v4() ? &fc_sketch_isa_v4 : NULL;
	if (strcmp(name, "x86-64-v3") == 0)
		return has_v3() ? &fc_sketch_isa_v3 : NULL;
#endif
	return strcmp(name, "baseline") == 0 ? &fc_sketch_isa_base : NULL;
}

const fc_sketch_isa *
fc_sketch_isa_select(void)
{
#ifdef __x86_64__
	if (has_v3())
		return has_v4() ? &fc_sketch_isa_v4 : &fc_sketch_isa_v3;
#endif
	return &fc_sketch_isa_base;
}
