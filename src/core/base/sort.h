/* sort.h - sorts millions of items, with interrupt checks. */
#ifndef FC_BASE_SORT_H
#define FC_BASE_SORT_H

#include "base/fc.h"

typedef struct fc_keyed
{
	uint64_t	key;
	uint64_t	value;			/* payload, moved together with the key */
} fc_keyed;

/*
 * Sorts n items by key, in ascending order and stably. It is a radix sort by
 * bytes, the least significant first, and skips bytes that all keys share.
 * scratch has space for n items.
 */
void		fc_sort(fc_keyed *items, size_t n, fc_keyed *scratch);

/*
 * Sorts n numbers x in ascending order. Sets items[0 .. n - 1] to the keys
 * (fc_number_key) and the indices of the sorted numbers. scratch has space for
 * n items.
 */
void		fc_sort_numbers(const double *x, size_t n, fc_keyed *items, fc_keyed *scratch);

/*
 * Sorts n rows of row_bytes bytes each by a hash of their bytes, so that equal
 * rows are adjacent and the order depends only on the bytes. Sets items[0 .. n
 * - 1] to the hash (key) and the index (value) of each row in this order.
 * items must have space for 2 n items.
 */
void		fc_sort_rows(const void *rows, size_t n, size_t row_bytes, fc_keyed *items);

/*
 * Sets *distinct to the number of distinct rows among n, or to `max` if there
 * are more. Rows are compared by their hashes. Only the first rows are read
 * if they contain `max` distinct ones. items must have space for 2 n items.
 */
void		fc_count_distinct(const void *rows, size_t n, size_t row_bytes,
							  size_t max, fc_keyed *items, size_t *distinct);

/*
 * Maps doubles, except NaN, to keys with the same order. -0 and 0 have the
 * same key.
 */
static inline uint64_t
fc_number_key(double x)
{
	uint64_t	bits;

	x += 0.0;
	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

#endif							/* FC_BASE_SORT_H */
