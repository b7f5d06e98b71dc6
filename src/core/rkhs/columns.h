/*
 * columns.h - seeded choices among rows and columns of a kernel matrix.
 */
#ifndef FC_RKHS_COLUMNS_H
#define FC_RKHS_COLUMNS_H

#include "base/fc.h"

/* `count` distinct numbers below n <= 2^63, ascending, uniform without replacement (Floyd); count^2 work at most. */
void		fc_choose_distinct(uint64_t seed, size_t n, size_t count, size_t *chosen);

/*
 * Rows first .. first + rows of Omega = D H R, entries +-1 (the factor n'^-1/2 left out):
 *     sign_i (-1)^popcount(i & column_s),  s = 0 .. count - 1
 * followed by `probes` <= 31 columns of independent random signs.  Out: rows x (count + probes).
 */
void		fc_sign_columns(uint64_t seed, const size_t *columns, size_t count, size_t probes,
							size_t first, size_t rows, int8_t *out);

#endif							/* FC_RKHS_COLUMNS_H */
