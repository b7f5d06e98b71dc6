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
 * Sorts n items by key, ascending and stable (radix sort by bytes, least
 * significant first; a byte that all keys share costs nothing). scratch has
 * space for n items.
 */
void		fc_sort(fc_keyed *items, size_t n, fc_keyed *scratch);

/* Sets n items to the keys and the indices of n numbers, sorted ascending. */
void		fc_sort_numbers(const double *x, size_t n, fc_keyed *items, fc_keyed *scratch);

/*
 * Sets items[0 .. n - 1] to the hash (key) and the index (value) of each row,
 * sorted by hash. The order depends only on the bytes of the rows, row_bytes
 * each. items must have space for 2 n items.
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
