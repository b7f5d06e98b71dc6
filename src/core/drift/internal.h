/*
 * internal.h - the inner loops of counting, tails of gamma and normal
 * distributions, the exact test of two counts (R. A. Fisher 1935), and the
 * tables that are tested
 */
#ifndef FC_DRIFT_INTERNAL_H
#define FC_DRIFT_INTERNAL_H

#include "drift/test.h"

/*
 * Number of columns whose thresholds are stored together, a vector of 16
 * floats.
 */
#define FC_DRIFT_TILE	16

/*
 * Sets out = (float) (x - origin) for d unaligned numbers; origin may be
 * NULL. Returns false if a number is not finite.
 */
bool		fc_drift_take_doubles(const double *x, const double *origin, size_t d,
								  float *out);
bool		fc_drift_take_floats(const float *x, const double *origin, size_t d,
								 float *out);

/*
 * Sets place[j], for each column j, to the number of its `count` thresholds
 * that are below x[j]. Thresholds are stored in tiles of 16 columns.
 */
void		fc_drift_places(const float *x, const float *threshold, size_t count,
							size_t tiles, int32_t *place);

/* Sets words |= mask where x <= lower or x > upper; n is a multiple of 16. */
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
 * Returns the square of the normal deviate with the two-sided p-value of
 * Student's t, given t^2 (D. L. Wallace 1959).
 */
double		fc_student_square(double square, double freedom);

/* Returns the quantile of the standard normal distribution, for 0 < p < 1. */
double		fc_normal_quantile(double p);

/*
 * Returns the logarithm of the two-sided p-value of the exact test that c1 of
 * n1 rows and c2 of n2 rows are equal shares, for 0 <= c <= n <= 2^40, which
 * need not be whole numbers. The
 * p-value is twice the hypergeometric tail of c2, given c1 + c2, on the side
 * away from its mean, and at most 1. Its relative error is about 1e-16 n log
 * n.
 */
double		fc_hypergeometric_log_p(double c1, double n1, double c2, double n2);

/*
 * Returns half the deviance of two counts: the log-likelihood with a share for
 * each side, minus the log-likelihood with a common share. It is >= 0 except
 * for rounding.
 */
double		fc_two_counts_deviance(double c1, double n1, double c2, double n2);

/* ---- sides (sides.c; kinds of columns in test.c) ---- */

/* Kind of a column, by which it is tested in addition to its counts. */
typedef enum fc_column_kind
{
	FC_FEW_EDGES,				/* no other test */
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

/* Returns true if both sides have sketches of some rows. */
bool		fc_drift_has_sums(const fc_drift_sides *sides);

/* Returns true if both sides have sketches whose waves are compared. */
bool		fc_drift_has_waves(const fc_drift_sides *sides);

/*
 * Returns count i of a side. If rows have units, weights of rows are divided by
 * their mean, so that all rows count fc_drift_rows_of_side.
 */
double		fc_drift_number_of_side(const fc_drift_sides *sides, int side, size_t i);

/* Returns the number of rows of a side, effective rows if only sketched. */
double		fc_drift_rows_of_side(const fc_drift_sides *sides, int side);

/* Returns the number of rows of a side without a NULL in column j. */
double		fc_drift_rows_of_column(const fc_drift_sides *sides, int side, size_t j);

/* Returns a side's number of rows in a cell of column j, without NULLs. */
double		fc_drift_rows_of_cell(const fc_drift_sides *sides, int side, size_t j, size_t cell);

/*
 * Returns the number of rows of a side in which column j has a value that
 * stands in for a NULL; 0 if this is not known.
 */
double		fc_drift_imputed_rows(const fc_drift_sides *sides, int side, size_t j);

/*
 * Returns COARSE if column j has many edges, but more than half of the training
 * rows without a NULL are between two of them. Edges are chosen for all groups
 * together, so that a group may have such columns. Neither counts nor ranks
 * show that these columns move.
 */
fc_column_kind fc_drift_kind_of_column(const fc_drift_sides *sides, size_t j);

/* Returns the standard deviation below which column j counts as constant. */
double		fc_drift_min_deviation(const fc_sketch_view *sketch, size_t j);

/*
 * Returns the number of rows of a side with bit b, from the cells of its
 * column.
 */
double		fc_drift_rows_with_bit(const fc_drift_sides *sides, int side, size_t b);

/*
 * Sets score[cell] to the normal scores of the ranks of both sides together in
 * column j, minus their mean, and returns their variance. The rows of a cell
 * have equal ranks, and rows with a NULL have none.
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

/* Numbers of tests, by which p-values are multiplied (test.h). */
typedef struct fc_drift_tests
{
	double		count[FC_TEST_SETS];	/* T; 0: the test set does not apply */
	double		weight[FC_TEST_SETS];	/* w */
	double		sum;			/* F */
} fc_drift_tests;

/* Counts the tests of each set; waves: true if waves are tested. */
fc_drift_tests fc_drift_count_tests(const fc_drift_sides *sides, bool waves);

/* ---- tables (test.c) ---- */

/*
 * Contingency table of one count: the rows of each side that are at or below
 * an edge of a column, that have a combination of two bits, or that have a
 * NULL.
 */
typedef struct fc_two_by_two
{
	size_t		column;
	size_t		other;			/* index of the second column of a pair; else
								 * equal to `column` */
	bool		nulls;			/* true: counts of NULLs */
	size_t		place;			/* index among fc_drift_statistics */
	double		count[2];
	double		rows[2];		/* rows of each side in which the count could
								 * be */

	/*
	 * minus fc_two_counts_deviance; after fc_drift_test_tables, logarithm of
	 * the p-value of the exact test
	 */
	double		log_p;
} fc_two_by_two;

/* The tables with the smallest log_p, in ascending order. */
typedef struct fc_table_list
{
	fc_two_by_two *table;		/* array of `capacity` tables */
	size_t		count;
	size_t		capacity;
} fc_table_list;

/* Inserts a table, unless the list is full of tables with a smaller log_p. */
void		fc_drift_keep_smallest(const fc_two_by_two *table, fc_table_list *tables);

/*
 * If rows have units, divides the counts of a table by design effects, and
 * makes them fewer by as much as tails of Student's t are longer.
 */
void		fc_drift_make_effective(const fc_drift_sides *sides, fc_two_by_two *table);

/* Returns the logarithm of the p-value of the exact test of a table. */
double		fc_drift_exact_log_p(const fc_two_by_two *table);

/* Replaces log_p of all tables by the results of exact tests. */
void		fc_drift_test_tables(fc_table_list *tables);

/* Returns the table of the edge of column j with the smallest log_p. */
fc_two_by_two fc_drift_strongest_of_column(const fc_drift_sides *sides, size_t j);

/*
 * Sets *table to the counts of NULLs in a column of the table whose last
 * dimension is j. Returns false if the column has no NULLs, or if one side has
 * not counted NULLs.
 */
bool		fc_drift_null_table(const fc_drift_sides *sides, size_t j, fc_two_by_two *table);

/*
 * Lists the strongest tables of pairs of columns; if moved is not NULL, only of
 * columns j without moved[j].
 */
void		fc_drift_search_pairs(const fc_drift_sides *sides, const bool *moved, fc_arena *arena,
								  fc_table_list *tables);

/*
 * Returns the difference of the mean normal scores of both sides in column j,
 * divided by its standard deviation if nothing has changed, whose square for
 * scores of variance 1 it stores in *square.
 */
double		fc_drift_rank_z(const fc_drift_sides *sides, size_t j, double *square);

/* Returns the place of the ranks of column j among fc_drift_statistics. */
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
