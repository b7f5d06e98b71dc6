/* columns.c - seeded choices among rows and columns; see the header */
#include "rkhs/columns.h"

#include <string.h>

#include "base/rng.h"

#define STREAM_CHOICE	1
#define STREAM_SIGNS	2

/* Is value among sorted[0 .. count)?  Else insert it there. */
static bool
insert_sorted(size_t *sorted, size_t count, size_t value)
{
	size_t		low = 0;
	size_t		high = count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && sorted[low] == value)
		return false;
	memmove(sorted + low + 1, sorted + low, (count - low) * sizeof(size_t));
	sorted[low] = value;
	return true;
}

void
fc_choose_distinct(uint64_t seed, size_t n, size_t count, size_t *chosen)
{
	fc_rng		rng = fc_rng_start(seed, STREAM_CHOICE);

	for (size_t taken = 0; taken < count; taken++)
	{
		size_t		limit = n - count + taken;
		size_t		draw = fc_rng_below(&rng, limit + 1);

		if (!insert_sorted(chosen, taken, draw))
			(void) insert_sorted(chosen, taken, limit);
	}
}

void
fc_sign_columns(uint64_t seed, const size_t *columns, size_t count, size_t probes,
				size_t first, size_t rows, int8_t *out)
{
	for (size_t r = 0; r < rows; r++)
	{
		size_t		i = first + r;
		uint64_t	group = (uint64_t) i / 4;
		uint32_t	counter[4] = {(uint32_t) group, (uint32_t) (group >> 32), 0, STREAM_SIGNS};
		uint32_t	block[4];
		uint32_t	word;

		fc_philox(seed, counter, block);
		word = block[i % 4];
		for (size_t s = 0; s < count; s++)
			*out++ = ((unsigned int) __builtin_popcountll(i & columns[s]) ^ word) & 1 ? -1 : 1;
		for (size_t s = 1; s <= probes; s++)
			*out++ = (word >> s) & 1 ? -1 : 1;
	}
}
