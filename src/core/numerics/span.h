/*
 * span.h - coordinates of few sparse rows in the space that they span
 *
 * n rows in d > n dimensions span at most n dimensions. The rows of the
 * Cholesky factor of their Gram matrix are coordinates with the same products
 * and distances, so that numerical methods on them take n / d of the time.
 */
#ifndef FC_NUMERICS_SPAN_H
#define FC_NUMERICS_SPAN_H

#include "base/fc.h"

/*
 * Returns the coordinates (n x n, in the arena) of the rows x (n x d), or NULL
 * if rows are too many or not sparse, so that this would not save time.
 */
const float *fc_span_coordinates(const float *x, size_t n, size_t d, fc_arena *arena);

#endif							/* FC_NUMERICS_SPAN_H */
