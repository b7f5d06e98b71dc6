/*
 * fuzz.h - entry points of libFuzzer for the fuzzers of stored bytes
 *
 * Each input is copied into an allocation of exactly its size, so that ASan
 * reports reads past its end.  The mutator starts from valid values and
 * recomputes digests; otherwise nearly all mutants would fail the digest alone.
 *
 * A fuzzer defines
 *     make_value   writes a valid value chosen by seed and returns its size,
 *                  or 0 if it does not fit
 *     reseal       recomputes the digest if the sizes in the value allow it
 *     check        the check under test
 *     use          calls every reader of a value that passed the check
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "../unit/unit.h"

static size_t make_value(uint8_t *bytes, size_t capacity, unsigned int seed);
static void reseal(uint8_t *bytes, size_t size);
static fc_status check(const void *bytes, size_t size);
static void use(const void *bytes, size_t size);

size_t		LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);	/* defined by libFuzzer or mutate.h */
size_t		LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int			LLVMFuzzerInitialize(int *argc, char ***argv);
int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Sink of computed results.  The compiler must not remove the reads whose
 * results are otherwise unused.
 */
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

/*
 * Aborts if a value of make_value is not valid, before or after reseal, or if
 * it is valid without its last eight bytes.
 */
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
