/* fc_random_columns.c - seeded choices among rows and columns; see the header */
#include "fc_random_columns.h"

#include <string.h>

#include "fc_rng.h"

#define STREAM_CHOICE	1
#define STREAM_SIGNS	2
#define TICK_ROWS		65536

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

/* One pass of a radix sort: by byte `shift` of the ids, sign bit turned so that negatives come first. */
static fc_status
sort_byte(const int64_t *ids, size_t count, int shift, const fc_tick *tick, const size_t *from, size_t *to, bool *sorted)
{
	size_t		start[257] = {0};

	for (size_t i = 0; i < count; i++)
	{
		if (i % TICK_ROWS == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		start[(((uint64_t) ids[from[i]] ^ UINT64_C(1) << 63) >> shift & 255) + 1]++;
	}
	*sorted = false;
	for (int b = 1; b <= 256; b++)
		*sorted |= start[b] == count;
	for (int b = 1; b <= 256; b++)
		start[b] += start[b - 1];
	for (size_t i = 0; i < count && !*sorted; i++)
	{
		if (i % TICK_ROWS == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		to[start[((uint64_t) ids[from[i]] ^ UINT64_C(1) << 63) >> shift & 255]++] = from[i];
	}
	return FC_OK;
}

fc_status
fc_order_ids(const int64_t *ids, size_t count, const fc_tick *tick,
			 size_t *order, size_t *room, size_t *duplicate)
{
	size_t	   *from = order;
	size_t	   *to = room;

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (int shift = 0; shift < 64; shift += 8)
	{
		bool		sorted;
		fc_status	status = sort_byte(ids, count, shift, tick, from, to, &sorted);

		if (status != FC_OK)
			return status;
		if (!sorted)
		{
			size_t	   *swap = from;

			from = to;
			to = swap;
		}
	}
	*duplicate = SIZE_MAX;
	for (size_t i = 0; i < count; i++)
	{
		if (i % TICK_ROWS == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		order[i] = from[i];
		if (i > 0 && ids[order[i]] == ids[order[i - 1]] && *duplicate == SIZE_MAX)
			*duplicate = order[i];
	}
	return FC_OK;
}
