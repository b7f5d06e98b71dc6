/* sizes.h - the smaller and the larger of two sizes */
#ifndef FC_BASE_SIZES_H
#define FC_BASE_SIZES_H

#include <stddef.h>

static inline size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

#endif							/* FC_BASE_SIZES_H */
