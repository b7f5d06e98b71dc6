/*
 * internal.h - the inner loops of counting, tails of gamma and normal
 * distributions, the exact test of two counts (R. A. Fisher 1935), and the
 * tables that are tested
 */
#ifndef FC_DRIFT_INTERNAL_H
#define FC_DRIFT_INTERNAL_H

#include "drift/test.h"

/*
 * Number of columns in a tile of thresholds, which separate the cells of a
 * column. Threshold k of the columns of a tile is one vector of 16 floats.
 */
#define FC_DRIFT_TILE	16

/*
 * Sets out = (float) (x - origin) for d unaligned numbers; a NULL origin means
 * 0. Returns false if a number is not finite.
 */
bool		fc_drift_take_doubles(const double *x, const double *origin, size_t d,
								  float *out);
bool		fc_drift_take_floats(const float *x, const double *origin, size_t d,
								 float *out);

/*
 * Sets place[j], for each column j, to the number of thresholds of the column
 * that are below x[j]. Columns are in tiles of 16: threshold[k * 16 + j] of a
 * tile is threshold k of its column j, for k < count.
 */
void		fc_drift_places(const float *x, const float *threshold, size_t count,
							size_t tiles, int32_t *place);

/*
 * Sets words[i] |= mask for each i < n with x[i] <= lower[i] or x[i] >
 * upper[i]. n must be a multiple of 16.
 */
void		fc_drift_set_bits(const float *x, const float *lower, const float *upper,
							  size_t n, uint32_t mask, uint32_t *words);

/*
 * Adds to both[j] the number of bits common to first and low[j], plus the
 * number of bits common to second and high[j].
 */
void		fc_drift_count_both(uint32_t first, uint32_t second, const uint32_t *low,
								const uint32_t *high, size_t n, uint32_t *both);

/* ---- tails ---- */

/*
 * Returns Q(a, x), the upper regularised incomplete gamma function, for a >
 * 0 and x >= 0; relative error 1e-9 for a < 1e4.
 */
double		fc_gamma_upper(double a, double x);

/* Returns the logarithm of the two-sided p-value of a standard normal z >= 0. */
double		fc_normal_log_p(double z);

/*
 * Returns the square of the standard normal deviate that has the same
 * two-sided p-value as Student's t with `freedom` degrees of freedom. `square`
 * is t^2 (D. L. Wallace 1959). The result is t^2 if `freedom` is infinite.
 */
double		fc_student_square(double square, double freedom);

/* Returns the quantile of the standard normal distribution, for 0 < p < 1. */
double		fc_normal_quantile(double p);

/*
 * Returns the logarithm of the two-sided p-value of Fisher's exact test that
 * the shares c1 / n1 and c2 / n2 are equal. The arguments need not be whole
 * numbers, but 0 <= c <= n <= 2^40. The p-value is twice the hypergeometric
 * tail of c2, given c1 + c2, on the side away from its mean, and at most 1.
 * Its relative error is about 1e-16 n log n.
 */
double		fc_hypergeometric_log_p(double c1, double n1, double c2, double n2);

/*
 * Returns half the deviance of two counts: the log-likelihood with a share for
 * each side, minus the log-likelihood with a common share. It is >= 0 except
 * for rounding.
 */
double		fc_two_counts_deviance(double c1, double n1, double c2, double n2);

/* ---- sides (sides.c; kinds of columns in test.c) ---- */

/*
 * Kind of a column, which decides how it is tested in addition to its counts.
 */
typedef enum fc_column_kind
{
	FC_FEW_EDGES,				/* few edges or few rows: no other test */
	FC_FINE,					/* many edges: ranks are compared */
	FC_COARSE					/* many edges, but most training rows between
								 * two of them: means are compared */
} fc_column_kind;

static inline bool
fc_drift_has_counts(const fc_drift_sides *sides)
{
	return sides->counts[0] != NULL && sides->counts[1] != NULL;
}

/* Returns true if both sides have at least FC_DRIFT_MIN_ROWS rows. */
bool		fc_drift_has_rows(const fc_drift_sides *sides);

/* Returns true if both sides have sketches with at least one row. */
bool		fc_drift_has_sums(const fc_drift_sides *sides);

/*
 * Returns true if both sides have sketches and the training spec has no basis,
 * so that their waves can be compared.
 */
bool		fc_drift_has_waves(const fc_drift_sides *sides);

/*
 * Returns count i of a side. If rows have weights or belong to units, counts
 * are sums of weights. The count is then divided by the mean weight, so that
 * all counts refer to fc_drift_rows_of_side rows.
 */
double		fc_drift_number_of_side(const fc_drift_sides *sides, int side, size_t i);

/*
 * Returns the number of rows of a side. If rows were not counted, this is the
 * effective number of rows of the sketch.
 */
double		fc_drift_rows_of_side(const fc_drift_sides *sides, int side);

/*
 * Returns the number of rows of a side without a NULL in column j. If NULLs
 * were not counted, these are all rows.
 */
double		fc_drift_rows_of_column(const fc_drift_sides *sides, int side, size_t j);

/* Returns a side's number of rows in a cell of column j, without NULLs. */
double		fc_drift_rows_of_cell(const fc_drift_sides *sides, int side, size_t j, size_t cell);

/*
 * Returns the number of rows of a side in which column j has a value that
 * stands in for a NULL; 0 if this is not known.
 */
double		fc_drift_imputed_rows(const fc_drift_sides *sides, int side, size_t j);

/*
 * Returns the kind of column j. It is FC_COARSE if the column has many edges,
 * but more than half of the training rows without a NULL are between two of
 * them. A group may have such columns, because edges are chosen for all groups
 * together. Neither counts nor ranks show that these columns move. The kind is
 * FC_FEW_EDGES if a side has fewer than FC_DRIFT_MIN_ROWS rows without a NULL.
 */
fc_column_kind fc_drift_kind_of_column(const fc_drift_sides *sides, size_t j);

/* Returns the standard deviation below which column j counts as constant. */
double		fc_drift_min_deviation(const fc_sketch_view *sketch, size_t j);

/*
 * Returns the number of rows of a side with bit b, computed from the cells of
 * the bit's column.
 */
double		fc_drift_rows_with_bit(const fc_drift_sides *sides, int side, size_t b);

/*
 * Sets score[cell], for each of FC_DRIFT_CELLS cells, to the normal score of
 * the rows in this cell of column j, minus the mean of the scores. Returns the
 * variance of the scores. The rows of both sides are ranked together. All rows
 * of a cell have the same rank, and rows with a NULL have no rank.
 */
double		fc_drift_normal_scores(const fc_drift_sides *sides, size_t j, double *score);

/* ---- test sets (test.c) ---- */

/* Sets of tests, in the order of test.h. */
typedef enum fc_test_set
{
	FC_TEST_COLUMNS,
	FC_TEST_PAIRS,
	FC_TEST_WAVES,
	FC_TEST_MEANS,
	FC_TEST_RANKS,
	FC_TEST_NULLS,
	FC_TEST_SETS
} fc_test_set;

/* Numbers of tests, by which p-values are multiplied, and weights (test.h). */
typedef struct fc_drift_tests
{
	double		count[FC_TEST_SETS];	/* number of tests T; 0: the test set
										 * does not apply */
	double		weight[FC_TEST_SETS];	/* weight w of a set in the harmonic
										 * mean */
	double		sum;			/* F, the sum of the weights of the sets that
								 * apply */
} fc_drift_tests;

/* Counts the tests of each set. `waves` is true if waves are tested. */
fc_drift_tests fc_drift_count_tests(const fc_drift_sides *sides, bool waves);

/* ---- tables (test.c) ---- */

/*
 * Contingency table of one count of rows on both sides: rows at or below an
 * edge of a column, rows with a combination of two bits, or rows with a NULL.
 */
typedef struct fc_two_by_two
{
	size_t		column;
	size_t		other;			/* index of the second column of a pair; else
								 * equal to `column` */
	bool		nulls;			/* true: counts of NULLs */
	size_t		place;			/* index of the count in the list of
								 * fc_drift_statistics */
	double		count[2];		/* rows of each side that are counted */

	/*
	 * rows of each side among which `count` is counted, such as the rows
	 * without a NULL
	 */
	double		rows[2];

	/*
	 * minus fc_two_counts_deviance; after fc_drift_test_tables, logarithm of
	 * the p-value of the exact test
	 */
	double		log_p;
} fc_two_by_two;

/* List of the tables with the smallest log_p, ascending by log_p. */
typedef struct fc_table_list
{
	fc_two_by_two *table;		/* array of `capacity` tables */
	size_t		count;
	size_t		capacity;
} fc_table_list;

/*
 * Inserts a table in the order of log_p. A full list drops the table with the
 * largest log_p.
 */
void		fc_drift_keep_smallest(const fc_two_by_two *table, fc_table_list *tables);

/*
 * Does nothing if rows have no units. Otherwise converts the counts of a table
 * to effective counts. First the counts of each side are divided by the design
 * effect. They are then reduced by a common factor, so that the normal tail of
 * the deviance equals the tail of Student's t.
 */
void		fc_drift_make_effective(const fc_drift_sides *sides, fc_two_by_two *table);

/* Returns the logarithm of the p-value of the exact test of a table. */
double		fc_drift_exact_log_p(const fc_two_by_two *table);

/*
 * Replaces log_p of all tables by the results of exact tests, and sorts the
 * list again.
 */
void		fc_drift_test_tables(fc_table_list *tables);

/*
 * Returns the table with the smallest log_p among the tables of column j, one
 * for its smallest value and one for each edge.
 */
fc_two_by_two fc_drift_strongest_of_column(const fc_drift_sides *sides, size_t j);

/*
 * Sets *table to the contingency table of the NULLs in a column of the source
 * table; j is the last of the dimensions that encode the column. Returns false
 * if the column has no NULL on either side, or if a side has not counted
 * NULLs.
 */
bool		fc_drift_null_table(const fc_drift_sides *sides, size_t j, fc_two_by_two *table);

/*
 * Adds to the list the tables of pairs of bits with the smallest log_p. If
 * `moved` is not NULL, skips pairs with a column j for which moved[j] is true.
 */
void		fc_drift_search_pairs(const fc_drift_sides *sides, const bool *moved, fc_arena *arena,
								  fc_table_list *tables);

/*
 * Returns the absolute difference of the mean normal scores of both sides in
 * column j, divided by the standard deviation that it has if nothing has
 * changed. Sets *square to the variance of this difference for scores of
 * variance 1.
 */
double		fc_drift_rank_z(const fc_drift_sides *sides, size_t j, double *square);

/*
 * Returns the index of the ranks of column j in the list of
 * fc_drift_statistics.
 */
static inline size_t
fc_drift_rank_place(const fc_drift_sides *sides, size_t j)
{
	return fc_drift_numbers(sides->counts[0]) +
		fc_drift_pairs(fc_drift_spec_bits(sides->spec)) + j;
}

/*
 * Returns a bound on the p-value of the difference of the means of column j,
 * min(1, 6 / z^4) (test.h), and sets *shift to this difference in standard
 * deviations.
 */
double		fc_drift_test_mean(const fc_drift_sides *sides, size_t j, double *shift);

#endif							/* FC_DRIFT_INTERNAL_H */
