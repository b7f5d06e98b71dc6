/*
 * mutate.h - the mutator of a fuzzer as a filter from stdin to stdout
 *
 * Reads (seed, size, bytes) and writes (size, bytes) of a mutant with recomputed
 * digests.  Size 0 requests a value of make_value.  Sizes and seeds have 32 bits
 * in the byte order of the machine.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdio.h>

#define MUTATE_MAX ((size_t) 1 << 20)

static uint64_t mutate_state;

static size_t
mutate_below(size_t n)
{
	mutate_state ^= mutate_state << 13;
	mutate_state ^= mutate_state >> 7;
	mutate_state ^= mutate_state << 17;
	return (size_t) ((mutate_state >> 11) % (n > 0 ? n : 1));
}

/*
 * Returns a random position below `size`.  Half of them are among the first
 * 160 bytes, which contain sizes and kinds.
 */
static size_t
mutate_place(size_t size)
{
	return mutate_below(mutate_below(2) && size > 160 ? 160 : size);
}

static void
mutate_word(uint8_t *data, size_t size)
{
	static const uint64_t words[] = {
		0, 1, 2, UINT64_MAX, 0x7FFFFFFF, 0x80000000, INT64_MAX, (uint64_t) INT64_MAX + 1, 0x100000001, 65536, 4194304,
		0x3FF0000000000000 /* 1 */ , 0xBFF0000000000000 /* -1 */ , 0x7FF0000000000000 /* infinity */ ,
		0x7FF8000000000000 /* NaN */ , 0x7FE0000000000000 /* 9e307 */ , 0x8000000000000000, 0x7F8000007F800000, 0x7FC000007FC00000
	};
	uint64_t	word = words[mutate_below(sizeof(words) / sizeof(words[0]))];
	size_t		length = (size_t) 1 << mutate_below(4);
	size_t		place = mutate_place(size) / length * length;

	if (place + length <= size)
		memcpy(data + place, &word, length);
}

size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	for (size_t times = 1 + mutate_below(mutate_below(4) == 0 ? 6 : 2); times > 0 && size > 0; times--)
	{
		size_t		from = mutate_place(size);
		size_t		to = mutate_place(size);
		size_t		length = (size - (from > to ? from : to)) / 8 * 8;

		switch (mutate_below(10))
		{
			case 0:
				memmove(data + to, data + from, mutate_below(length + 1));
				break;
			case 1:
				size = mutate_below(2) ? size - (size > 8 ? 8 : 0) : mutate_place(size) / 4 * 4;
				break;
			case 2:
				for (length = 8 * mutate_below(4); length > 0 && size < max_size; length--)
					data[size++] = (uint8_t) mutate_below(256);
				break;
			case 3:
			case 4:
				data[from] = (uint8_t) (data[from] ^ 1 << mutate_below(8));
				break;
			case 5:
				data[from] = (uint8_t) mutate_below(256);
				break;
			default:
				mutate_word(data, size);
		}
	}
	return size;
}

int
main(void)
{
	static uint8_t data[MUTATE_MAX];
	uint32_t	head[2];

	while (fread(head, sizeof(head), 1, stdin) == 1 && head[1] <= MUTATE_MAX && fread(data, 1, head[1], stdin) == head[1])
	{
		uint32_t	size;

		mutate_state = UINT64_C(0x9E3779B97F4A7C15) * (head[0] + UINT64_C(1));
		size = (uint32_t) LLVMFuzzerCustomMutator(data, head[1], MUTATE_MAX, head[0]);
		if (fwrite(&size, sizeof(size), 1, stdout) != 1 || fwrite(data, 1, size, stdout) != size || fflush(stdout) != 0)
			return 1;
	}
	return 0;
}

#endif							/* MUTATE_H */
