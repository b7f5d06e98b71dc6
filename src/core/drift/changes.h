/*
 * changes.h - when did rows change? From sketches of days, in their order,
 * online: the answer for a day uses no later day.
 *
 * The last 1, 2, 4, 8 and 16 days are compared with all days since the last
 * change, by their waves and by the mean of each column. For N1 and N2 rows
 * and c = 1/N1 + 1/N2 the squared distance of the mean waves is c sum_i
 * lambda_i chi^2_1, as in waves.h, but the moments of S are learned from the
 * days themselves, so that days which differ more than rows explain, such as
 * weekends, are no changes. With u_a = sqrt(n_a) (z_a - z) of nu + 1 days and
 * G their Gram matrix, Gaussian u have
 *     tr S    tr G / nu
 *     tr S^2  nu^2 / ((nu - 1) (nu + 2)) (t2 - t1^2 / nu)
 *     tr S^3  nu^4 / ((nu - 1) (nu - 2) (nu + 2) (nu + 4))
 *             (t3 - 3 t2 t1 / nu + 2 t1^3 / nu^2)
 *     t_i     tr G^i / nu^i
 * (M. Srivastava 2005), and estimates widen the law by 1 + 2/nu and 1 + 6/nu.
 *
 * Of many columns waves tell one that moves badly, and those of a spec with a
 * basis not at all. Its means tell it: their difference over sqrt(c v) is of
 * Student's law with nu degrees of freedom. v is the greatest of the variance
 * of the rows of either side and n_a times that of the means of days, so that
 * values far out, which move a mean, widen its law as well.
 *
 * A day is an alarm when the least p of its windows, times their number and
 * that of the columns, twice for the two families, is below a bound that a
 * year of days without a change exceeds in fewer than 5 of 100
 * (bench/change_points.py). The change is before the window of 1 to 16 days
 * whose distance over c, or t, is the largest.
 */
#ifndef FC_DRIFT_CHANGES_H
#define FC_DRIFT_CHANGES_H

#include "sketch/sketch.h"

#define FC_CHANGE_HISTORY	10	/* days before the first that is judged */

typedef struct fc_change
{
	size_t		first;			/* day of the new law */
	size_t		found;			/* day of the alarm */
	double		p_value;

	/*
	 * the shift of one column that changes the waves as much, in its
	 * deviations; NaN where the spec has a basis
	 */
	double		effect;
	size_t		column;			/* whose t is the largest */
	double		shift;			/* of it, in its deviations */
} fc_change;

/*
 * Folded sketches of one spec, of two rows each at least; changes has room for
 * one a day.
 */
void		fc_find_changes(const fc_sketch_view *days, size_t count, fc_arena *arena,
							fc_change *changes, size_t *found);

#endif							/* FC_DRIFT_CHANGES_H */
