/*
 * changes.h - finds the days on which the rows changed, from sketches of days
 * in order. The method is online: the result for a day uses no later day.
 *
 * Windows of the last 1, 2, 4, 8 and 16 days are compared with all earlier
 * days since the last change. There are two sets of tests: the waves, and the
 * mean of each column. Let N1 be the number of rows of the earlier days, N2
 * the number of rows of the window, and c = 1/N1 + 1/N2.
 *
 * Waves: the squared distance of the mean waves is c sum_i lambda_i chi^2_1,
 * where the lambda_i are the eigenvalues of S, as in waves.h. The traces of
 * powers of S are estimated from the days themselves, however. Differences
 * that always exist between days, such as between weekends and workdays, are
 * then not reported as changes. Day a has n_a rows and the mean waves z_a; z
 * is the mean over nu + 1 days. Let G be the Gram matrix of u_a = sqrt(n_a)
 * (z_a - z). If the u_a are Gaussian, unbiased estimates are
 *     tr S    tr G / nu
 *     tr S^2  nu^2 / ((nu - 1) (nu + 2)) (t2 - t1^2 / nu)
 *     tr S^3  nu^4 / ((nu - 1) (nu - 2) (nu + 2) (nu + 4))
 *             (t3 - 3 t2 t1 / nu + 2 t1^3 / nu^2)
 *     t_i     tr G^i / nu^i
 * (M. Srivastava 2005). Because of the errors of these estimates, tr S^2 and
 * tr S^3 are multiplied by 1 + 2/nu and 1 + 6/nu.
 *
 * Means: waves are insensitive to one moving column among many. They may miss
 * it entirely if the spec has a basis. The means of the columns are therefore
 * tested as well. The difference of two means, divided by sqrt(c v), has
 * Student's distribution with nu degrees of freedom. v is the largest of three
 * variances: the variances of the rows on either side, and n_a times the
 * variance of the means of days. Outliers, which move a mean, thus also widen
 * its null distribution.
 *
 * The p-values of the waves are multiplied by the number of windows, and the
 * p-values of the means by the numbers of windows and columns. Both are
 * multiplied by 2, the number of test sets. A day is an alarm if the smallest
 * product is below a bound. Fewer than 5 of 100 years without a change have an
 * alarm (bench/change_points.py). The change is placed before one of the
 * windows of 1 to 16 days: the window with the largest distance divided by c,
 * or with the largest |t| of the column that raised the alarm.
 */
#ifndef FC_DRIFT_CHANGES_H
#define FC_DRIFT_CHANGES_H

#include "sketch/sketch.h"

/*
 * Number of days before the first day that is tested. With fewer days, the
 * null distribution is estimated too roughly. A guess.
 */
#define FC_CHANGE_HISTORY	10

typedef struct fc_change
{
	size_t		first;			/* first day with the new distribution */
	size_t		found;			/* day of the alarm */
	double		p_value;

	/*
	 * shift of a single column, in standard deviations, that would change the
	 * waves by the same distance; NaN if the spec has a basis
	 */
	double		effect;
	size_t		column;			/* index of the column with the largest |t| */
	double		shift;			/* shift of that column, in its standard
								 * deviations before the change */
} fc_change;

/*
 * Finds the changes in a series of `count` folded sketches of one spec, each
 * of two rows or more. `changes` has room for one change per day; *found
 * receives the number of changes.
 */
void		fc_find_changes(const fc_sketch_view *days, size_t count, fc_arena *arena,
							fc_change *changes, size_t *found);

#endif							/* FC_DRIFT_CHANGES_H */
