/*
 * fuzz.h - shared by the byte-reader fuzzers: bytes in exactly their own allocation (so
 * that reading past the end is seen), a mutator that starts from valid values and
 * recomputes digests, without which nearly every mutant would fail at the digest alone.
 *
 * A fuzzer defines
 *     make_value   writes a valid value chosen by seed, returns its size (0: too small)
 *     reseal       recomputes the digest when the sizes allow it
 *     check, use   the reader under test, and what a valid value must then survive
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "../unit/unit.h"

static size_t make_value(uint8_t *bytes, size_t room, unsigned int seed);
static void reseal(uint8_t *bytes, size_t size);
static fc_status check(const void *bytes, size_t size);
static void use(const void *bytes, size_t size);

size_t		LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);	/* libFuzzer's, or mutate.h's */
size_t		LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int			LLVMFuzzerInitialize(int *argc, char ***argv);
int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Results must be looked at, or the compiler drops the reads that made them. */
static volatile double fuzz_sink;

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint8_t    *aligned;

	if (size == 0 || seed % 64 == 0)
		size = make_value(data, max_size, seed / 64);
	if (seed % 64 != 0)
		size = LLVMFuzzerMutate(data, size, max_size);
	if (seed % 4 == 0)
		return size;
	aligned = unit_uncleared(size);
	memcpy(aligned, data, size);
	reseal(aligned, size);
	memcpy(data, aligned, size);
	unit_free();
	return size;
}

/* The values made here are valid, and resealing keeps them so: else the fuzzer would be blind. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	uint8_t    *bytes = unit_uncleared(65536);

	(void) argc;
	(void) argv;
	for (unsigned int seed = 0; seed < 64; seed++)
	{
		size_t		size = make_value(bytes, 65536, seed);

		if (size == 0 || check(bytes, size) != FC_OK)
			abort();
		reseal(bytes, size);
		if (check(bytes, size) != FC_OK || check(bytes, size - 8) == FC_OK)
			abort();
		use(bytes, size);
	}
	unit_free();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *bytes = unit_uncleared(size);

	memcpy(bytes, data, size);
	if (check(bytes, size) == FC_OK)
		use(bytes, size);
	unit_free();
	return 0;
}

#ifdef FUZZ_MUTATE
#include "mutate.h"
#endif

#endif							/* FUZZ_H */
