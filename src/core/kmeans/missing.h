/*
 * missing.h - informative missingness: does a NULL of a column inform about
 * its row?
 *
 * Columns whose NULLs have a correlation |phi| >= FC_MISSING_TOGETHER are
 * missing together. Half of the rows are clustered into m small clusters. Each
 * row of the other half belongs to the nearest by all columns but those that
 * are missing together with the one asked about, so that values which are
 * missing at random (Rubin 1976) have the same share p of NULLs in all of
 * them. With p_j in cluster j of n_j rows, the part of the variance of the
 * indicator of NULL that the other columns explain is
 *
 *     R^2 = (sum_j n_j (p_j - p)^2 - (m - 1) p (1 - p)) / (n p (1 - p)),
 *
 * minus the part that m clusters explain by chance (Kelley 1935). The first
 * sum over p (1 - p) is chi-squared with m - 1 degrees of freedom where values
 * are missing at random. NULLs are informative where this is significant at
 * FC_MISSING_LEVEL over all columns and
 *     R^2 >= FC_MISSING_ALONE     where no other column has
 *                                 R^2 >= FC_MISSING_SLIGHT,
 *            FC_MISSING_FEW       where at most half of all columns have,
 *                                 rounded up,
 *            FC_MISSING_MANY      where more have,
 * and always where the column has one value: only its NULLs inform. Fewer than
 * eight NULLs of the second half, and clusters of fewer of its rows, are no
 * evidence. A cluster that is all NULL, but like another of equal size in all
 * other columns, leaves R^2 = 0.1 to 0.4. Shares of NULLs that merely differ
 * between clusters may leave as much: they are found in many columns where
 * they are found at all, and an indicator would split each cluster in two. Of
 * columns with |phi| >= FC_MISSING_SAME the first alone is informative: one
 * event is one flag.
 *
 * fc_missing_impute makes rows as they may be without NULLs, from which a
 * number of clusters can be chosen: clusters of rows with the mean of a column
 * are clusters of NULLs. A row takes the cells that it lacks from one donor
 * (hot deck; Andridge and Little 2010), the nearest of the first
 * FC_MISSING_DONORS rows that has them, by the mean of squares over the
 * dimensions of both. In a column whose indicator is kept, or that has the
 * same NULLs, a NULL stays where a quarter of the FC_MISSING_NEAR nearest
 * donors by the other columns have one, and a value becomes NULL where more
 * than three quarters have.
 *
 * Cost: 10 n m d multiply-adds for m <= FC_MISSING_CLUSTERS, and n / 64 words
 * for each pair of columns.
 */
#ifndef FC_KMEANS_MISSING_H
#define FC_KMEANS_MISSING_H

#include "kmeans/kmeans.h"

#define FC_MISSING_LEVEL	1e-3
#define FC_MISSING_TOGETHER	0.5
#define FC_MISSING_SAME		0.9
#define FC_MISSING_SLIGHT	0.02
#define FC_MISSING_ALONE	0.1
#define FC_MISSING_FEW		0.2
#define FC_MISSING_MANY		0.5
#define FC_MISSING_CLUSTERS	32
#define FC_MISSING_DONORS	1000
#define FC_MISSING_NEAR		10

/*
 * The dimensions of a column that has NULLs: its values, imputed where NULL,
 * and the indicator, positive where NULL.
 */
typedef struct fc_missing_column
{
	size_t		first;
	size_t		values;
	size_t		indicator;
} fc_missing_column;


/*
 * x (n x d): rows in random order, in units; indicators become 0. `count` of
 * `columns` columns have NULLs. informative (count).
 */
void		fc_missing_informative(float *x, size_t n, size_t d,
								   const fc_missing_column *column, size_t count,
								   size_t columns, uint64_t seed, fc_arena *arena,
								   bool *informative);

/*
 * x (n x d): rows in random order, in units; column (count) and kept (count):
 * as above, and whose indicators are kept, to which those with the same NULLs
 * are added; y (n x d). Cost: n FC_MISSING_DONORS d multiply-adds.
 */
void		fc_missing_impute(const float *x, size_t n, size_t d,
							  const fc_missing_column *column, size_t count,
							  bool *kept, float *y, fc_arena *arena);

#endif							/* FC_KMEANS_MISSING_H */
