/*
 * circle.c - cuts the circle of a cyclic axis, so that rules can have ranges
 * of its values; see explain.h
 */
#include "explain/internal.h"

#include "base/sort.h"

/*
 * Number of rows on each side of a cut whose labels are compared: the share
 * WINDOW of all rows, but at most MAX_WINDOW. With more rows, small clusters
 * next to the cut count less, and the search takes longer. With fewer rows,
 * the cut depends more on chance. Guesses.
 */
#define WINDOW	0.05
#define MAX_WINDOW	250

/*
 * Returns the number of pairs of rows that have the same label, but are on
 * different sides of a cut before row i of the circle. One row of a pair is
 * among the `size` rows before the cut, the other among the `size` rows after
 * it. `circle` has the labels of m rows, in the order of the axis. `count` has
 * a zero for each label, before and after the call.
 */
static size_t
agreement_at(const int32_t *circle, size_t m, size_t i, size_t size, size_t *count)
{
	size_t		pairs = 0;

	for (size_t j = 0; j < size; j++)
		count[circle[(i + m - 1 - j) % m]]++;
	for (size_t j = 0; j < size; j++)
		pairs += count[circle[(i + j) % m]];
	for (size_t j = 0; j < size; j++)
		count[circle[(i + m - 1 - j) % m]] = 0;
	return pairs;
}

void
fc_cut_circle(double *x, const fc_labelled *rows, fc_axis *axis, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		m = fc_split_rows(rows->n).learn;
	size_t		size = smaller(larger(1, (size_t) (WINDOW * (double) m)), MAX_WINDOW);
	fc_keyed   *order = FC_TAKE(arena, m, fc_keyed);
	int32_t    *circle = FC_TAKE(arena, m, int32_t);
	size_t	   *count = FC_TAKE_ZEROED(arena, rows->k, size_t);
	size_t		least = SIZE_MAX;
	double		widest = 0.0;	/* gap between the values at the cut */

	fc_sort_numbers(x, m, order, FC_TAKE(arena, m, fc_keyed));
	for (size_t i = 0; i < m; i++)
		circle[i] = rows->labels[order[i].value];
	for (size_t i = 0; i < m; i++)
	{
		double		low = x[order[(i + m - 1) % m].value];
		double		high = x[order[i].value] + (i == 0 ? axis->period : 0.0);
		size_t		pairs;

		if (!(high > low))
			continue;
		fc_check();
		pairs = agreement_at(circle, m, i, size, count);
		if (pairs > least || (pairs == least && high - low <= widest))
			continue;
		least = pairs;
		widest = high - low;
		axis->cut = fc_short_threshold(axis->kind, -high, -low).raw;
		axis->cut = -axis->cut < axis->period ? -axis->cut : -axis->cut - axis->period;
	}
	fc_arena_release(arena, mark);
	for (size_t i = 0; i < rows->n; i++)
		x[i] = -(x[i] < axis->cut ? x[i] + axis->period : x[i]);
}
