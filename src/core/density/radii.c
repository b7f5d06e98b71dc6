/*
 * radii.c - radii of balls by the rows that they hold; density.h has the
 * formula.
 *
 * The root mean squared distance to the rows of a bubble is a distance in one
 * dimension more, so r_M(a) <= r_M(b) + |mean_a - mean_b|: bubbles farther
 * from a than this, of the nearest b that is done, need no order.
 */
#include "density/internal.h"

#include "base/sort.h"

fc_point_columns
fc_point_columns_of(const fc_bubbles *bubbles, fc_arena *arena)
{
	fc_point_columns columns = {
		bubbles->m,
		bubbles->m,
		bubbles->d,
		FC_TAKE(arena, bubbles->m * bubbles->d, double)
	};

	for (size_t a = 0; a < bubbles->m; a++)
		for (size_t c = 0; c < bubbles->d; c++)
			columns.x[c * bubbles->m + a] = bubbles->mean[a * bubbles->d + c];
	return columns;
}

/*
 * The squared radius of the ball that holds so many rows, from the nearest
 * bubbles in order and their squared distances.
 */
static double
squared_radius(const fc_bubbles *b, const fc_keyed *near, size_t count,
			   const double *squared, double mass)
{
	double		before = 0.0;	/* rows of the bubbles before entry i */
	double		inside = 0.0;	/* rows in the ball, and its square, at the
								 * entry before i */
	double		last = 0.0;

	for (size_t i = 0;; i++)
	{
		double		n = b->n[near[i].value];
		double		next = before + n / 2.0;

		if (next >= mass || i + 1 == count)
			return last +
				fmin(fmax((mass - inside) / (next - inside), 0.0), 1.0) *
				(squared[near[i].value] - last);
		before += n;
		inside = next;
		last = squared[near[i].value];
	}
}

/*
 * Bubbles within a squared distance of `most`, or within a multiple of it that
 * holds so many rows, in order; returns how many.
 */
static size_t
find_near(const fc_bubbles *b, const double *squared, double most, double rows,
		  fc_keyed *near)
{
	size_t		count;
	double		held;
	double		heaviest;

	do
	{
		count = 0;
		held = heaviest = 0.0;
		for (size_t i = 0; i < b->m; i++)
			if (squared[i] <= most)
			{
				near[count++] = (fc_keyed)
				{
					fc_number_key(squared[i]), i
				};
				held += b->n[i];
				heaviest = fmax(heaviest, b->n[i]);
			}
		most = most > 0.0 ? 4.0 * most : INFINITY;
	} while (count < b->m && held - heaviest / 2.0 < rows);
	fc_sort(near, count, near + count);
	return count;
}

/*
 * The squared radius of a ball about bubble a that holds the rows of the
 * largest ball about the nearest of the bubbles before a.
 */
static double
bound_of_radius(const fc_bubbles *b, size_t a, const double *distance,
				const double *squared, size_t masses)
{
	size_t		nearest = 0;
	double		radius = 0.0;

	if (a == 0)
		return INFINITY;
	for (size_t i = 1; i < a; i++)
		if (distance[i] < distance[nearest])
			nearest = i;
	for (size_t t = 0; t < masses; t++)
		radius = fmax(radius, squared[t * b->m + nearest]);
	radius = sqrt(radius) + sqrt(distance[nearest]);
	return radius * radius;
}

void
fc_squared_radii(const fc_bubbles *b, const double *mass, size_t masses,
				 fc_arena *arena, double *squared)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_point_columns columns = fc_point_columns_of(b, arena);
	double	   *distance = FC_TAKE(arena, b->m, double);
	fc_keyed   *near = FC_TAKE(arena, 2 * b->m, fc_keyed);

	for (size_t a = 0; a < b->m; a++)
	{
		double		rows = 0.0;
		double		most;
		size_t		count;

		fc_check();
		fc_point_distances(&columns, b->mean + a * b->d, distance);
		for (size_t t = 0; t < masses; t++)
			rows = fmax(rows, mass[t * b->m + a]);
		most = bound_of_radius(b, a, distance, squared, masses);
		for (size_t i = 0; i < b->m; i++)
			distance[i] += b->square[i];
		count = find_near(b, distance, most, rows, near);
		for (size_t t = 0; t < masses; t++)
			squared[t * b->m + a] = squared_radius(b, near, count, distance,
												   mass[t * b->m + a]);
	}
	fc_arena_release(arena, mark);
}
