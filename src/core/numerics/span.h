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
 * Returns the coordinates (n x n, in the arena) of the rows x (n x d). Returns
 * NULL if the coordinates would not save time, because there are too many rows
 * or too few dimensions, or because the rows are not sparse.
 */
const float *fc_span_coordinates(const float *x, size_t n, size_t d, fc_arena *arena);

#endif							/* FC_NUMERICS_SPAN_H */
