/*
 * test.h - tests whether rows have changed since training, by how much, and in
 * which columns.
 *
 * Two sides are compared: n1 training rows and n2 new rows. Let c = 1/n1 +
 * 1/n2. There are six sets of tests. Each set detects changes that the others
 * miss. Set f has T_f tests. Its p-value is the smallest p-value of its tests
 * times T_f (Bonferroni's bound), and at most 1:
 *     p_f = min(1, T_f min p)
 *
 * 1. Columns. A column has a test for each edge, and one for its smallest
 *    sample value (spec.h). The test compares the shares of rows at or below
 *    the edge, or below the smallest value. If NULLs were counted, rows with a
 *    NULL in the column are left out. p is the two-sided p-value of Fisher's
 *    exact test. T1 is the number of edges plus the number of columns.
 *    Edges are values of training rows. Therefore the counts have a negative
 *    hypergeometric distribution, not a hypergeometric one. The tail of
 *    Fisher's test is never below the true tail, so that the test remains
 *    valid.
 * 2. Pairs. A pair of bits (spec.h) has two tests. One compares the shares of
 *    rows with both bits. The other compares the shares of rows with exactly
 *    one of the two bits. p is the p-value of Fisher's test. T2 is twice the
 *    number of pairs.
 * 3. Waves. The only test compares the sketches of both sides by their MMD^2
 *    (waves.h); T3 = 1. p3 is set to 1 if a shift by more than one standard
 *    deviation may go undetected. This happens if many columns have an
 *    infinite variance. The mean waves of the training rows are then almost 0,
 *    and no shift of the rows could explain a difference of the waves.
 *
 * Sets 4 and 5 test columns with nine edges or more. Both sides must have at
 * least FC_DRIFT_MIN_ROWS rows without a NULL in the column.
 *
 * 4. Means. The test applies to a column if both sides have sketches, and more
 *    than half of the training rows are in one cell of the column. A group may
 *    have such columns, because edges are chosen for all groups together. T4
 *    is the number of these columns. The p-value is bounded by
 *        min(1, 6 / z^4), z = (difference of the means) / sqrt(v c)
 *    where v is the mean of the variances of both sides, weighted by their
 *    numbers of rows. The bound is Markov's inequality for the fourth moment.
 *    It holds for a kurtosis up to three times the number of rows of a side.
 *    Let n be the smaller number of rows. If n is below a quarter of all rows,
 *    z is multiplied by sqrt(4 n / (n1 + n2)). A single value far above all
 *    others then has z < 2.
 * 5. Ranks. The test applies to the other columns, and compares the mean
 *    normal scores of both sides (B. L. van der Waerden 1952). The score of a
 *    row is the normal quantile of its rank. All rows of a cell have the same
 *    rank. p is the two-sided tail of the normal distribution. T5 is the
 *    number of these columns.
 *    If there are few rows, a shift is significant in the ranks before it is
 *    significant in any count: T5 is small, and all rows contribute to the
 *    ranks. For normal columns, the scores find a shift as often as the
 *    t-test.
 * 6. NULLs. The test applies to each column of the table that has a NULL on
 *    either side, and compares the shares of NULLs. p is the p-value of
 *    Fisher's test. T6 is the number of these columns. The set applies only if
 *    the NULLs of both sides were counted.
 *
 * The p-value of all sets together is the weighted harmonic mean (D. Wilson
 * 2019) of the p_f of the sets that apply:
 *     p = F / sum_f (w_f / p_f), F = sum_f w_f
 * The weight w_f is 3 for ranks, 2 for NULLs and 1 for the other sets. If only
 * one p_f is small, p is about F p_f / w_f, which is Bonferroni's bound. If
 * several are small, p is smaller.
 *
 * Each set has an effect, in standard deviations:
 *     sets 1, 2, 6   sqrt(pi / 2) sqrt(max(0, g^2 - 2 c log T_f)), where
 *                    g^2 = (q2 - q1)^2 / (q (1 - q))
 *     waves          fc_wave_test.size
 *     means          |difference of the means| / sqrt(v)
 *     ranks          sqrt(max(0, c (z^2 - 2 log T5)))
 * In the effect of sets 1, 2 and 6, q1 and q2 are the shares of both sides in
 * the test with the smallest p, and q = (q1 + q2) / 2. The share among all rows
 * would depend on the numbers of rows of both sides. The effect is the shift of
 * a normal column that changes the share below its median as much.
 * 2 c log T_f is the square that the largest of T_f counts reaches by chance.
 *
 * In the effect of ranks, z is the largest difference of mean scores, divided
 * by its standard deviation. The effect is the shift of a normal column that
 * changes its mean score as much.
 *
 * The effect of all sets together is 0 if p is not below the threshold.
 * Otherwise it is the largest effect of these sets: the set with the largest
 * w_f / p_f, and the sets with F p_f / w_f below the threshold.
 *
 * Rows may be in independent units, such as customers. All numbers of rows are
 * then effective numbers (units.h).
 */
#ifndef FC_DRIFT_TEST_H
#define FC_DRIFT_TEST_H

#include "drift/counts.h"
#include "drift/waves.h"

/* Replacement of the NULLs in one dimension. */
typedef struct fc_drift_fill
{
	/*
	 * index of the last dimension of the same column of the table; the NULLs
	 * of the column are counted there
	 */
	size_t		nulls;

	/*
	 * index of the cell that contains `value`, from 0; -1: no value stands in
	 * for a NULL
	 */
	int32_t		cell;
	double		value;			/* value that stands in for a NULL */
} fc_drift_fill;

typedef struct fc_drift_sides
{
	const fc_drift_spec *spec;	/* spec of the counts */

	/*
	 * one element for each dimension; NULL: replacements are unknown, so that
	 * they count as ordinary values
	 */
	const fc_drift_fill *fill;

	/*
	 * counts of [0] the training rows, [1] the new rows, without pending rows
	 * (fc_drift_is_folded). If one is NULL, only waves can be tested, which
	 * compare the MMD^2 of the two sketches.
	 */
	const fc_drift_counts *counts[2];

	/*
	 * sketches of [0] the training rows, [1] the new rows. If one is NULL,
	 * waves and means are not tested. Waves are not tested if the spec has a
	 * basis.
	 */
	const fc_sketch_view *sketch[2];
	const fc_wave_null *null;	/* tr S^2 and tr S^3 (waves.h), from which the
								 * null distribution of the MMD^2 is computed;
								 * NULL: waves are not tested */
} fc_drift_sides;

typedef enum fc_verdict
{
	/*
	 * rows belong to units, such as customers, and a side has fewer than
	 * FC_DRIFT_MIN_PARTS effective parts (units.h)
	 */
	FC_VERDICT_TOO_FEW_UNITS,

	/*
	 * One of four cases. Rows have weights, and a few rows have most of the
	 * weight. A side has fewer than FC_DRIFT_MIN_ROWS rows. No test set
	 * applies. The p-value is not below the threshold, and
	 * fc_drift_result.hidden is above FC_DRIFT_MAX_HIDDEN.
	 */
	FC_VERDICT_TOO_FEW,
	FC_VERDICT_NONE,			/* the p-value is not below the threshold */
	FC_VERDICT_SLIGHT,			/* the p-value is below the threshold, but the
								 * effect is below min_effect */
	FC_VERDICT_DRIFTED			/* the p-value is below the threshold, and the
								 * effect is min_effect or more */
} fc_verdict;

/* Minimum number of rows on either side for a test. A guess. */
#define FC_DRIFT_MIN_ROWS	10

/*
 * Maximum shift that may go undetected, in standard deviations. Above it, the
 * verdict is FC_VERDICT_TOO_FEW instead of FC_VERDICT_NONE. A lower maximum
 * requires more new rows; 0.5 requires about 70 new rows in ten dimensions
 * (bench/drift.py).
 */
#define FC_DRIFT_MAX_HIDDEN	0.5

typedef struct fc_drift_result
{
	double		mmd2;			/* MMD^2 of the waves; NaN without waves */
	double		null_sd;		/* standard deviation of mmd2 if nothing has
								 * changed; NaN without waves */
	double		p_value;		/* p-value of all test sets together; NaN if
								 * no test applies */
	double		effect;			/* effect in standard deviations; 0 if the
								 * p-value is not below the threshold, NaN if
								 * no test applies */

	/*
	 * shift of a single column, in standard deviations, up to which drift may
	 * go undetected; NaN if no test applies
	 */
	double		hidden;

	/*
	 * p-values p_f of columns, pairs, waves, means, ranks and NULLs, in this
	 * order; NaN for a test set that does not apply
	 */
	double		set_p[6];
	fc_verdict	verdict;
} fc_drift_result;

/* Returns the index of the cell of a value in column j. */
int32_t		fc_drift_cell(const fc_drift_spec *spec, size_t j, double value);

/*
 * Tests two sides for drift. A p-value below `threshold` is significant. The
 * verdict is then FC_VERDICT_DRIFTED if the effect is min_effect or more, else
 * FC_VERDICT_SLIGHT. Both counts must be of one drift_spec, and both sketches
 * of one sketch_spec.
 */
void		fc_drift_test_sides(const fc_drift_sides *sides, double threshold,
								double min_effect, fc_arena *arena,
								fc_drift_result *result);

/*
 * A column that moved, a pair of columns whose joint distribution changed, or
 * a column of the table whose share of NULLs changed.
 */
typedef struct fc_drift_move
{
	size_t		column;
	size_t		other;			/* index of the second column of a pair; else
								 * equal to `column` */
	bool		nulls;			/* true: the share of NULLs changed, and
								 * `column` is the last dimension of the
								 * column of the table */
	double		share[2];		/* share of NULLs among the training rows and
								 * among the new rows; ignored unless `nulls` */

	/*
	 * logarithm of F T p / w (see the top of this file), where p is the
	 * smallest p-value of the column or pair; may be above 0
	 */
	double		log_p;

	/*
	 * Change of the column's mean among rows without a NULL, in standard
	 * deviations of the training rows. If the column was constant in the
	 * training rows, the change is in the units of the column. NaN without
	 * sketches, for pairs and for NULLs.
	 */
	double		shift;

	/*
	 * standard deviation of the new rows divided by the standard deviation of
	 * the training rows; 1 if both are 0, infinite if only the divisor is 0,
	 * NaN where `shift` is NaN
	 */
	double		spread;
} fc_drift_move;

/*
 * Lists up to `max` (>= 1) changes in `moves`, and sets *count to their
 * number.
 *
 * First come columns in which a test has F T p / w below the threshold,
 * smallest p-value first. A column has at most one entry for its values and
 * one for its NULLs. If fewer than `max` columns were listed, pairs with F T2
 * p below the threshold follow. Neither column of such a pair moved.
 *
 * A change may be significant in the waves alone, so that no column and no
 * pair is significant. If `drifted` is true, the columns with the smallest
 * p-values of their counts, ranks, means and NULLs are then listed.
 *
 * *count is 0 if a side has too few rows or parts for a test.
 */
void		fc_drift_moved(const fc_drift_sides *sides, double threshold, size_t max,
						   bool drifted, fc_arena *arena, fc_drift_move *moves,
						   size_t *count);

/*
 * Sets the mean and the standard deviation of column j among the rows of a
 * sketch without a NULL in the column. nulls: share of the rows with a NULL, 0
 * to 1; fill: the value that stands in for it in the sketch.
 */
void		fc_present_moments(const fc_sketch_view *sketch, size_t j, double nulls,
							   double fill, double *mean, double *deviation);

#endif							/* FC_DRIFT_TEST_H */
