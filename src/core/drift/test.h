/*
 * test.h - tests if rows have changed since training, by how much, and in
 * which columns.
 *
 * There are six sets of tests; each detects changes that the others miss:
 *     columns   exact two-sided p-value p of each count below an edge, among
 *               the rows without a NULL in the column;
 *               p1 = T1 min p, T1 = number of edges + number of columns.
 *               Edges are values of training rows, but Fisher's tail is never
 *               below the true (negative hypergeometric) one.
 *     pairs     the same test for "both bits" and "one of the two alone";
 *               p2 = T2 min p, T2 = 2 * number of pairs
 *     waves     the MMD^2 of the sketches (waves.h); p3 = 1 if a shift by one
 *               standard deviation may go undetected. This happens if many
 *               columns have an infinite variance: the mean waves of the
 *               training rows are then almost 0, and no shift explains a
 *               difference.
 *     means     for columns in which most training rows are between two
 *               edges, as may happen in a group, because edges are chosen
 *               for all groups together; p4 = T4 min min(1, 6 / z^4), where z
 *               is the difference of the means divided by sqrt(v c), and v the
 *               variance of both sides together. 6 / z^4 is Markov's bound of
 *               the fourth moment for a kurtosis up to three times the number
 *               of rows of a side. z is multiplied by sqrt(4 n / (n1 + n2)) if
 *               n, the smaller number of rows, is below a quarter of all rows.
 *               A single value far above all others then has z < 2.
 *     ranks     for the other columns with nine edges or more: the mean normal
 *               scores of both sides (B. L. van der Waerden 1952). The score of
 *               a row is the normal quantile of its rank, and the rows of a
 *               cell have equal ranks; p5 = T5 min p, where p is the normal
 *               tail and T5 the number of these columns. A shift of few rows
 *               is significant in the ranks before it is in any count, because
 *               T5 is small and all rows contribute. For normal columns, the
 *               scores find a shift as often as the t-test.
 *     NULLs     the exact test of the number of NULLs of each column of the
 *               table that has NULLs on either side; p6 = T6 min p, where T6
 *               is the number of these columns. It applies if the NULLs of
 *               both sides were counted, and there are any.
 * p is the weighted harmonic mean (D. Wilson 2019) of the p_f of the test sets
 * that apply. The weight w_f is 3 for ranks, 2 for NULLs and 1 for the others:
 *     p = F / sum (w_f / p_f), F = sum w_f
 * If only one p_f is small, p is about F p_f / w_f, which is Bonferroni's
 * bound; if several are, p is smaller. The effect is the largest effect among
 * the test sets with F p_f / w_f below the threshold and the set with the
 * largest w_f / p_f. It is 0 if p is not below the threshold.
 * The effect of a count with the shares q1 and q2 of the two sides, the share
 * q of both sides together, and c = 1/n1 + 1/n2 is
 *     sqrt(pi / 2) sqrt(max(0, (q2 - q1)^2 / (q (1 - q)) - 2 c log T)):
 * the shift of a normal column, in standard deviations, that changes the share
 * below its median as much. The second term is the square that the largest of
 * T counts reaches by chance. The effect of ranks is
 *     sqrt(max(0, c (z^2 - 2 log T5))):
 * the shift of a normal column that changes its mean score as much.
 * If rows are in units that are independent, numbers of rows are effective
 * ones (units.h).
 */
#ifndef FC_DRIFT_TEST_H
#define FC_DRIFT_TEST_H

#include "drift/counts.h"
#include "drift/waves.h"

/* Values that stand in for the NULLs of a column. */
typedef struct fc_drift_fill
{
	size_t		nulls;			/* last dimension of the column of the table,
								 * where NULLs are counted */
	int32_t		cell;			/* index of the cell of the value, from 0; -1:
								 * no value stands in for a NULL */
	double		value;
} fc_drift_fill;

typedef struct fc_drift_sides
{
	const fc_drift_spec *spec;	/* spec of the counts */

	/*
	 * one for each dimension; NULL: unknown, so that values that stand in for
	 * NULLs count as values
	 */
	const fc_drift_fill *fill;

	/*
	 * [0] training rows, [1] new rows, folded; NULL: tests of counts do not
	 * apply
	 */
	const fc_drift_counts *counts[2];
	const fc_sketch_view *sketch[2];	/* [0] training rows, [1] new rows;
										 * NULL or a spec with a basis: waves
										 * do not apply */
	const fc_wave_null *null;	/* null distribution of the waves; NULL: waves
								 * do not apply */
} fc_drift_sides;

typedef enum fc_verdict
{
	FC_VERDICT_TOO_FEW_UNITS,	/* a side has fewer than FC_DRIFT_MIN_PARTS
								 * effective parts (units.h) */
	FC_VERDICT_TOO_FEW,			/* a few rows have most of the weight; fewer
								 * than FC_DRIFT_MIN_ROWS rows, or no test set
								 * applies; or the p-value is not below the
								 * threshold, but hidden is above
								 * FC_DRIFT_MAX_HIDDEN */
	FC_VERDICT_NONE,			/* the p-value is not below the threshold */
	FC_VERDICT_SLIGHT,			/* the p-value is below the threshold, but the
								 * effect is below min_effect */
	FC_VERDICT_DRIFTED			/* the p-value is below the threshold, and the
								 * effect is min_effect or more */
} fc_verdict;

/* Minimum number of rows on either side for a test. A guess. */
#define FC_DRIFT_MIN_ROWS	10

/*
 * Shift that may go undetected, in standard deviations, above which the
 * verdict is too few rows. A smaller one requires more new rows: 0.5 requires
 * about 70 in ten dimensions (bench/drift.py).
 */
#define FC_DRIFT_MAX_HIDDEN	0.5

typedef struct fc_drift_result
{
	double		mmd2;			/* MMD^2 of the waves; NaN without waves */
	double		null_sd;
	double		p_value;		/* p-value of all test sets together; NaN if
								 * no test applies */
	double		effect;			/* effect in standard deviations; 0 if the
								 * p-value is not below the threshold, NaN if
								 * no test applies */

	/*
	 * shift of a single column, in standard deviations, up to which drift may
	 * go undetected
	 */
	double		hidden;

	/*
	 * p_f of columns, pairs, waves, means, ranks and NULLs; NaN for a test
	 * set that does not apply
	 */
	double		set_p[6];
	fc_verdict	verdict;
} fc_drift_result;

/* Returns the index of the cell of a value in column j. */
int32_t		fc_drift_cell(const fc_drift_spec *spec, size_t j, double value);

/*
 * Tests two sides for drift. Both counts must be of one drift_spec, and both
 * sketches of one sketch_spec.
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
	double		log_p;			/* logarithm of F T p / w (see the top of this
								 * file), where p is the p-value of the
								 * strongest test; may be above 0 */
	double
				shift;			/* change of the column's mean, in standard
								 * deviations of the training rows, without
								 * NULLs. In the column's own units if it was
								 * constant in the training rows. NaN without
								 * sketches, for pairs and for NULLs. */

	/*
	 * standard deviation of the new rows divided by the standard deviation of
	 * the training rows; 1 if both are 0, infinite if only the latter is 0
	 */
	double		spread;
} fc_drift_move;

/*
 * Lists up to `max` (>= 1) columns with F T p / w below the threshold for one of
 * their tests, smallest p-value first; a column has one entry for its values,
 * and one for its NULLs. If fewer than `max` were listed, appends
 * pairs with F T2 p below the threshold, in which neither column moved. If no
 * column and no pair is significant and `drifted` is true, as after a change
 * that only waves show, lists the columns with the smallest p-values of their
 * counts, ranks and means. *count receives the number of moves.
 */
void		fc_drift_moved(const fc_drift_sides *sides, double threshold, size_t max,
						   bool drifted, fc_arena *arena, fc_drift_move *moves,
						   size_t *count);

#endif							/* FC_DRIFT_TEST_H */
