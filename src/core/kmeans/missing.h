/*
 * missing.h - informative missingness: whether the NULLs of a column depend on
 * the other values of the row.
 *
 * Columns whose NULLs have a correlation |phi| >= FC_MISSING_TOGETHER are
 * missing together. Half of the rows are clustered into m small clusters. Each
 * row of the other half is assigned to its nearest cluster, measured without
 * the column under test and the columns that are missing together with it. If
 * the values of the column are missing at random (Rubin 1976), all clusters
 * have the same share p of NULLs, apart from chance. With share p_j in cluster
 * j of n_j rows, the other columns explain the part
 *
 *     R^2 = (sum_j n_j (p_j - p)^2 - (m - 1) p (1 - p)) / (n p (1 - p))
 *
 * of the variance of the NULL indicator, after subtracting what m clusters
 * explain by chance (Kelley 1935). The sum divided by p (1 - p) is chi-squared
 * with m - 1 degrees of freedom if values are missing at random.
 *
 * NULLs are informative if this chi-squared value is significant at level
 * FC_MISSING_LEVEL, corrected for the number of columns, and if R^2 reaches a
 * minimum. The minimum depends on the number of columns with R^2 >=
 * FC_MISSING_SLIGHT:
 *
 *     FC_MISSING_ALONE    at most one column
 *     FC_MISSING_FEW      at most half of all columns, rounded up
 *     FC_MISSING_MANY     more columns
 *
 * NULLs are also informative if all other values of the column are equal,
 * because nothing else in the column differs. Columns with fewer than eight
 * NULLs in the second half of the rows are not tested, and clusters with fewer
 * than eight rows of this half are ignored. Among columns with |phi| >=
 * FC_MISSING_SAME only the first is informative, because their NULLs are one
 * event, which needs one flag.
 *
 * NULLs should be informative if they alone separate a cluster: the column is
 * NULL in all its rows, and another cluster of equal size has the same values
 * in all other columns. R^2 is then 0.1 to 0.4. But R^2 may be as large if each
 * cluster has some NULLs and their shares differ. The indicator would then
 * split each cluster in two. Such differences occur in many columns together,
 * so the minimum is higher if the NULLs of many columns are explained.
 *
 * fc_missing_impute replaces NULLs, so that a number of clusters can be
 * chosen. If NULLs were replaced by the mean of the column, rows would cluster
 * by their NULLs. Instead, a row takes all cells that it lacks from one donor
 * (hot deck; Andridge and Little 2010). Donors are the first FC_MISSING_DONORS
 * rows. The donor is the nearest one that has all these cells; distances are
 * mean squared differences over the dimensions known in both rows. In wide
 * tables no donor may have them all. Then each cell comes from the nearest
 * donor that has it, because the donor with the most cells would serve many
 * rows, which would form a cluster.
 *
 * A column keeps NULLs if its NULL indicator remains a coordinate of the
 * clustering, or if its NULLs correlate with the NULLs of such a column by
 * |phi| >= FC_MISSING_SAME. For each cell of the column, the FC_MISSING_NEAR
 * nearest donors by the other columns decide. A NULL is kept if the column is
 * NULL in at least a quarter of these donors. A value becomes NULL if the
 * column is NULL in more than three quarters of them.
 *
 * Cost: 10 n m d multiply-adds for m <= FC_MISSING_CLUSTERS, and n / 64 words
 * read for each pair of columns.
 */
#ifndef FC_KMEANS_MISSING_H
#define FC_KMEANS_MISSING_H

#include "kmeans/kmeans.h"

/*
 * Significance level of informative NULLs, over all columns together. A larger
 * one keeps indicators of values that are missing at random
 * (bench/defaults.py).
 */
#define FC_MISSING_LEVEL	1e-3

/*
 * Minimum correlation |phi| between the NULL indicators of two columns, 0 to
 * 1, from which the columns are missing together. Columns that are missing
 * together are not used to predict each other's NULLs. With a larger minimum,
 * columns with related NULLs predict each other's NULLs, which then seem
 * informative. A guess.
 */
#define FC_MISSING_TOGETHER	0.5

/*
 * Minimum correlation |phi| between the NULLs of columns that count as one
 * event, 0 to 1. A guess.
 */
#define FC_MISSING_SAME	0.9

/* Minimum R^2 of a column whose NULLs count as slightly explained. A guess. */
#define FC_MISSING_SLIGHT	0.02

/*
 * Minimum R^2 of informative NULLs if no other column has slightly explained
 * NULLs.
 * Larger values of this constant and the next two keep fewer indicators, and
 * lose clusters that only NULLs separate (bench/defaults.py).
 */
#define FC_MISSING_ALONE	0.1

/*
 * Minimum R^2 of informative NULLs if at most half of all columns have slightly
 * explained NULLs (bench/defaults.py).
 */
#define FC_MISSING_FEW	0.2

/*
 * Minimum R^2 of informative NULLs if more than half of all columns have
 * slightly explained NULLs (bench/defaults.py).
 */
#define FC_MISSING_MANY	0.5

/*
 * Maximum number of small clusters. More clusters explain more NULLs, but also
 * more by chance; each costs n d multiply-adds. A guess.
 */
#define FC_MISSING_CLUSTERS	32

/*
 * Maximum number of donors, the rows from which missing values are copied.
 * With more donors, the nearest one is closer to the row; each costs n d
 * multiply-adds. A guess.
 */
#define FC_MISSING_DONORS	1000

/*
 * Number of nearest donors that decide whether a cell remains NULL. More
 * donors are less similar to the row; fewer donors decide by chance. A guess.
 */
#define FC_MISSING_NEAR	10

/*
 * Dimensions of a column that has NULLs. first: first dimension of its values,
 * which are imputed where the column is NULL; values: number of these
 * dimensions; indicator: dimension that is positive where the column is NULL.
 */
typedef struct fc_missing_column
{
	size_t		first;
	size_t		values;
	size_t		indicator;
} fc_missing_column;


/*
 * Sets informative[c] to true if the NULLs of column[c] are informative, else
 * to false. column (count): the columns that have NULLs. columns: number of
 * all columns. x (n x d): scaled rows in random order; their indicators are
 * set to 0.
 */
void		fc_missing_informative(float *x, size_t n, size_t d,
								   const fc_missing_column *column, size_t count,
								   size_t columns, uint64_t seed, fc_arena *arena,
								   bool *informative);

/* Estimates the multiply-adds of fc_missing_impute. */
double		fc_missing_impute_operations(size_t n, size_t d);

/*
 * Writes y (n x d), the rows of x with cells imputed. x (n x d): scaled rows
 * in random order, with indicators. column (count): the columns that have
 * NULLs. kept (count): true if the NULL indicator of the column is kept; on
 * return also true for columns with the same NULLs as such a column. Cost: n
 * FC_MISSING_DONORS d multiply-adds.
 */
void		fc_missing_impute(const float *x, size_t n, size_t d,
							  const fc_missing_column *column, size_t count,
							  bool *kept, float *y, fc_arena *arena);

#endif							/* FC_KMEANS_MISSING_H */
