/*
 * copies.c - how often rows are repeated
 *
 * Let n_p of N rows lie at place p, where all rows are equal. A row chosen at
 * random has on average
 *
 *     w = sum_p n_p^2 / N = 1 + sum_p n_p (n_p - 1) / N
 *
 * copies, itself included. In a sample, row i represents u_i rows. If rows are
 * drawn independently, the sum of u_i u_j over ordered pairs of equal rows of
 * the sample estimates n_p (n_p - 1) without bias (D. Horvitz, D. Thompson
 * 1952). A row of weight v counts as v copies of itself, so that the mean of v
 * replaces the 1 in the formula.
 */
#include "density/density.h"

#include "base/sort.h"

double
fc_density_copies(const float *x, const double *weights, const double *counts, size_t n,
				  size_t d, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, 2 * n, fc_keyed);
	double		total = 0.0;
	double		light = 0.0;	/* total weight of rows at light places, which
								 * have less than FC_HEAVY_PLACE of the weight */
	double		pairs = 0.0;	/* number of ordered pairs of equal rows at
								 * light places */
	double		own = 0.0;		/* sum of the squared weights of table rows at
								 * light places */

	for (size_t i = 0; i < n; i++)
		total += weights[i];
	fc_sort_rows(x, n, d * sizeof(float), items);
	for (size_t first = 0, next; first < n; first = next)
	{
		double		sum = 0.0;
		double		squares = 0.0;
		double		copies = 0.0;

		for (next = first; next < n && items[next].key == items[first].key; next++)
		{
			double		u = weights[items[next].value];

			sum += u;
			squares += u * u;
			copies += counts != NULL ? u * u / counts[items[next].value] : u;
		}
		if (sum >= FC_HEAVY_PLACE * total)
			continue;
		light += sum;
		own += copies;
		pairs += sum * sum - squares;
	}
	fc_arena_release(arena, mark);
	return light > 0.0 ? own / light + pairs / light : 1.0;
}
