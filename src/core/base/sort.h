/*
 * sort.h - sorting millions of items while a cancel is noticed.
 */
#ifndef FC_BASE_SORT_H
#define FC_BASE_SORT_H

#include "base/fc.h"

typedef struct fc_keyed
{
	uint64_t	key;
	uint64_t	value;			/* carried along */
} fc_keyed;

/*
 * Sort n items by key, ascending and stable (radix by bytes, least significant
 * first; a byte that all keys share costs nothing). scratch has n items.
 */
void		fc_sort(fc_keyed *items, size_t n, fc_keyed *scratch);

/*
 * n items (2 n of memory) in the order of a hash of n rows of so many bytes:
 * the rows' values alone decide.
 */
void
			fc_sort_rows(const void *rows, size_t n, size_t row_bytes, fc_keyed *items);

/*
 * How many of n rows are different, by their hashes, counted up to `most`: a
 * prefix tells where few are equal. 2 n items of memory.
 */
void		fc_count_distinct(const void *rows, size_t n, size_t row_bytes,
							  size_t most, fc_keyed *items, size_t *distinct);

/* A signed label as a key of the same order. */
static inline uint64_t
fc_label_key(int32_t label)
{
	return (uint32_t) label ^ UINT32_C(0x80000000);
}

static inline int32_t
fc_key_label(uint64_t key)
{
	return (int32_t) ((uint32_t) key ^ UINT32_C(0x80000000));
}

/* A double, not NaN, as a key of the same order; -0 is 0. */
static inline uint64_t
fc_number_key(double x)
{
	uint64_t	bits;

	x += 0.0;
	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

#endif							/* FC_BASE_SORT_H */
