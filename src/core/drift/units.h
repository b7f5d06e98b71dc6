/*
 * units.h - variances between units, such as customers with several rows each.
 *
 * Rows of one unit are not independent, but units are. The rows are counted in
 * parts; the part of a row depends on a hash of its unit, so that parts are
 * independent, too. For a count c_p of the m_p rows of part p, with the share
 * s = sum c_p / sum m_p, the variance between units per row is
 *     v = sum_p (c_p - s m_p)^2 / ((1 - sum_p h_p^2) sum m_p), h_p = m_p / sum m_p
 * Independent rows have v = s (1 - s). The two sides 1 and 2 of a test are
 * assumed to have one correlation rho between rows of a unit (L. Kish 1965), by
 * which v exceeds s (1 - s), s the share of both sides:
 *     rho = max(0, sum_i n_i (v_i - s (1 - s))) / (s (1 - s) sum_i n_i (b_i - 1))
 * where b_i = n_i sum_u (share of unit u)^2 is the mean size of the unit of a
 * row. The design effect of side i is 1 + rho (b_i - 1): its n_i rows say as
 * much about the share as n_i / (1 + rho (b_i - 1)) independent rows. Both
 * sides decide about rho, because rare counts are in few units or, on one
 * side, in none. Tails are tails of Student's t, because rho is estimated from
 * few parts.
 *
 * Rows with weights are units, too: counts are sums of weights, divided by the
 * mean weight, and b_i = n_i sum (share of the weight)^2. Weights that have
 * nothing to do with the count have rho = 1, and the n_i rows are as many as
 * (sum of weights)^2 / sum of squared weights (L. Kish). Units of weighted rows
 * have the sums of their weights.
 *
 * Units that are on both sides make the sides more alike than independent ones,
 * so that p-values are then too large rather than too small.
 */
#ifndef FC_DRIFT_UNITS_H
#define FC_DRIFT_UNITS_H

#include "drift/test.h"

/*
 * Number of parts. With more, p-values are calibrated with fewer units, because
 * fewer units share a part, and tails are shorter; counting takes more memory
 * (bench/drift.py).
 */
#define FC_DRIFT_PARTS	64

/*
 * Minimum effective number of parts on either side, (sum m)^2 / sum m^2, for a
 * test; about 21 units of equal size have 16. Fewer give estimates of rho that
 * even Student's t does not make good (bench/drift.py).
 */
#define FC_DRIFT_MIN_PARTS	16.0

typedef struct fc_drift_parts
{
	fc_drift_sides all;			/* two equal sides, the sums of all parts */
	size_t		count;
	const fc_drift_sides *part; /* two equal sides, each a part, folded */
	int64_t		units;			/* see fc_drift_units */
	double		rows;
	double		square;
} fc_drift_parts;

/*
 * Sets the units of target, a copy of the counts of all parts
 * with FC_DRIFT_UNITS: their
 * number, and the variances between them.
 */
void		fc_drift_count_units(const fc_drift_parts *parts, fc_arena *arena,
								 fc_drift_counts *target);

/* ---- the test ---- */

/* Returns true if both sides have units. */
static inline bool
fc_drift_has_units(const fc_drift_sides *sides)
{
	return sides->counts[0] != NULL && sides->counts[1] != NULL &&
		(sides->counts[0]->flags & sides->counts[1]->flags & FC_DRIFT_UNITS);
}

/* Returns true if a side has fewer than FC_DRIFT_MIN_PARTS effective parts. */
bool		fc_drift_too_few_units(const fc_drift_sides *sides);

/* Design effects of a statistic. */
typedef struct fc_drift_design
{
	double		effect[2];		/* rows of a side for an effective row; 1
								 * without units */
	double		freedom;		/* degrees of freedom of the variance of the
								 * difference of the sides; infinite if it is
								 * known */
} fc_drift_design;

/*
 * Returns the design effects of the statistic at a place among
 * fc_drift_statistics, given the rows of each side, and the variance of a row
 * in units of v.
 */
fc_drift_design fc_drift_design_of(const fc_drift_sides *sides, size_t place,
								   const double rows[2], double variance);

/*
 * Sets the law of the waves. Returns false if rows are independent: there are
 * no units, or each has one row.
 */
bool		fc_drift_law_of_units(const fc_drift_sides *sides, fc_wave_law *law);

#endif							/* FC_DRIFT_UNITS_H */
