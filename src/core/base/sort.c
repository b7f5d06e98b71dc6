/* sort.c - radix sort; see sort.h */
#include "base/sort.h"

#include "base/rng.h"

#define DIGITS	8				/* number of bytes in a key */
#define VALUES	256				/* number of values of a byte */

/*
 * Minimum number of items for a radix sort; fewer are sorted by insertion, in
 * quadratic time. A guess.
 */
#define MIN_RADIX_ITEMS	64

static inline size_t
digit_of(const fc_keyed *item, int digit)
{
	return (size_t) (item->key >> (8 * digit)) & (VALUES - 1);
}

/*
 * Replaces the count of each byte value by the output index of the first item
 * with that value.
 */
static void
places_of(size_t counts[VALUES])
{
	size_t		start = 0;

	for (size_t value = 0; value < VALUES; value++)
	{
		size_t		count = counts[value];

		counts[value] = start;
		start += count;
	}
}

/*
 * Sorts a few items by insertion, which is stable. A radix sort would be
 * slower, because it clears and sums its counters.
 */
static void
sort_few(fc_keyed *items, size_t n)
{
	for (size_t i = 1; i < n; i++)
	{
		fc_keyed	item = items[i];
		size_t		at = i;

		for (; at > 0 && items[at - 1].key > item.key; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

void
fc_sort(fc_keyed *items, size_t n, fc_keyed *scratch)
{
	size_t		counts[DIGITS][VALUES];
	fc_keyed   *from = items;
	fc_keyed   *to = scratch;

	if (n < MIN_RADIX_ITEMS)
	{
		sort_few(items, n);
		return;
	}
	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < n; i++)
		for (int digit = 0; digit < DIGITS; digit++)
			counts[digit][digit_of(&items[i], digit)]++;
	for (int digit = 0; digit < DIGITS && n > 1; digit++)
	{
		fc_keyed   *swap = from;

		if (counts[digit][digit_of(&from[0], digit)] == n)
			continue;
		fc_check();
		places_of(counts[digit]);
		for (size_t i = 0; i < n; i++)
			to[counts[digit][digit_of(&from[i], digit)]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(fc_keyed));
}

void
fc_sort_numbers(const double *x, size_t n, fc_keyed *items, fc_keyed *scratch)
{
	for (size_t i = 0; i < n; i++)
		items[i] = (fc_keyed)
	{
		fc_number_key(x[i]), i
	};
	fc_sort(items, n, scratch);
}

void
fc_sort_rows(const void *rows, size_t n, size_t row_bytes, fc_keyed *items)
{
	for (size_t r = 0; r < n; r++)
	{
		fc_check();
		items[r] = (fc_keyed)
		{
			fc_hash_bytes(0,
						  (const char *) rows + r * row_bytes,
						  row_bytes),
				r
		};
	}
	fc_sort(items, n, items + n);
}

void
fc_count_distinct(const void *rows, size_t n, size_t row_bytes, size_t max,
				  fc_keyed *items, size_t *distinct)
{
	*distinct = 0;
	for (size_t prefix = 2 * max; *distinct < max; prefix *= 2)
	{
		size_t		count = prefix < n ? prefix : n;

		fc_sort_rows(rows, count, row_bytes, items);
		*distinct = count > 0;
		for (size_t r = 1; r < count && *distinct < max; r++)
			*distinct += items[r].key != items[r - 1].key;
		if (count == n)
			break;
	}
}
