/*
 * units.h - variances between units, such as customers with several rows each.
 *
 * Units are independent, but rows of one unit are not. The rows are counted in
 * parts. The part of a row depends on a hash of its unit, so that parts are
 * independent, too. For a count, such as the rows up to an edge, let c_p be
 * the count in part p. Let m_p be the number of rows of the part, and s = sum
 * c_p / sum m_p the share of counted rows. The variance between units per row
 * is
 *     v = sum_p (c_p - s m_p)^2 / ((1 - sum_p h_p^2) sum_p m_p)
 * where h_p = m_p / sum m_p. Independent rows have v = s (1 - s).
 *
 * A test compares two sides, 1 and 2. Two rows of one unit are assumed to have
 * the same correlation rho on both sides (L. Kish 1965). Let s be the share
 * among the rows of both sides, n_i the number of rows of side i, and v_i its
 * variance between units. The excess of v_i over s (1 - s) gives
 *     rho = max(0, sum_i n_i (v_i - s (1 - s)))
 *           / (s (1 - s) sum_i n_i (b_i - 1))
 * where b_i = n_i sum_u (share of unit u)^2 is the mean size of the unit of a
 * row. The design effect of side i is 1 + rho (b_i - 1): its n_i rows
 * determine the share as precisely as n_i / (1 + rho (b_i - 1)) independent
 * rows. rho is estimated from both sides together, because a rare count may be
 * in few units, or in none on one side. P-values are tails of Student's t,
 * because rho is estimated from few parts.
 *
 * A row with a weight is treated as a unit. Counts are then sums of weights,
 * divided by the mean weight, and b_i = n_i sum_r (share of row r in the sum
 * of weights)^2. Weights that are independent of the count have rho = 1. The
 * effective number of rows is then (sum of weights)^2 / sum of squared weights
 * (L. Kish). If weighted rows are in units, the weight of a unit is the sum of
 * the weights of its rows.
 *
 * A unit with rows on both sides makes the sides more similar than independent
 * sides. P-values are then too large rather than too small.
 */
#ifndef FC_DRIFT_UNITS_H
#define FC_DRIFT_UNITS_H

#include "drift/test.h"

/*
 * Number of parts. With more parts, fewer units share a part. Fewer units then
 * suffice for calibrated p-values, and Student's t has shorter tails, but
 * counting takes more memory (bench/drift.py).
 */
#define FC_DRIFT_PARTS	64

/*
 * Minimum effective number of parts on either side, (sum m)^2 / sum m^2, for a
 * test; about 21 units of equal size have 16. With fewer parts, the estimate
 * of rho is so rough that p-values are not calibrated, even as tails of
 * Student's t (bench/drift.py).
 */
#define FC_DRIFT_MIN_PARTS	16.0

typedef struct fc_drift_parts
{
	fc_drift_sides all;			/* sums of all parts; both sides point to them */
	size_t		count;

	/*
	 * array of `count` parts with folded counts; both sides of a part point
	 * to its counts and its sketch
	 */
	const fc_drift_sides *part;

	/*
	 * units, rows and square are copied to the fields of these names in
	 * fc_drift_units
	 */
	int64_t		units;
	double		rows;
	double		square;
} fc_drift_parts;

/*
 * Fills in the fc_drift_units of `target`, and the variances between units.
 * `target` is a copy of the counts of all parts, with FC_DRIFT_UNITS. If there
 * are fewer than two effective parts, the variances and the null distribution
 * of the waves stay 0.
 */
void		fc_drift_count_units(const fc_drift_parts *parts, fc_arena *arena,
								 fc_drift_counts *target);

/* ---- the test ---- */

/* Returns true if the rows of both sides have weights or belong to units. */
static inline bool
fc_drift_has_units(const fc_drift_sides *sides)
{
	return sides->counts[0] != NULL && sides->counts[1] != NULL &&
		(sides->counts[0]->flags & sides->counts[1]->flags & FC_DRIFT_UNITS);
}

/*
 * Returns true if rows have weights or belong to units, and a side has fewer
 * than FC_DRIFT_MIN_PARTS effective parts.
 */
bool		fc_drift_too_few_units(const fc_drift_sides *sides);

/* Design effects of a statistic. */
typedef struct fc_drift_design
{
	double		effect[2];		/* number of rows of each side per effective
								 * row; 1 without units */
	double		freedom;		/* degrees of freedom of the estimated
								 * variance of the difference between the
								 * sides; infinite if rows are independent */
} fc_drift_design;

/*
 * Returns the design effects of a statistic. `place` is its index in the list
 * of fc_drift_statistics, `rows` has the number of rows of each side, and
 * `variance` is the value that v has if rows are independent.
 */
fc_drift_design fc_drift_design_of(const fc_drift_sides *sides, size_t place,
								   const double rows[2], double variance);

/*
 * Sets *law to the null distribution of the waves. Returns false if rows are
 * independent: there are no units, or each has one row.
 */
bool		fc_drift_law_of_units(const fc_drift_sides *sides, fc_wave_law *law);

#endif							/* FC_DRIFT_UNITS_H */
