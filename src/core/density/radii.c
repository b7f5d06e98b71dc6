/*
 * radii.c - radii of balls by the rows that they hold; density.h has the formula.
 *
 * The root mean squared distance to the rows of a bubble is a distance in one dimension more, so r_M(a) <= r_M(b) + |mean_a - mean_b|: bubbles
 * farther from a than this, of the nearest b that is done, need no order.
 */
#include "density/internal.h"

#include <math.h>


#define FEW			12			/* sorted by insertion */
#define MOST_PIVOTS 64

typedef struct neighbour
{
	double		squared;
	uint32_t	bubble;
} neighbour;

fc_point_columns
fc_point_columns_of(const fc_bubbles *bubbles, fc_arena *arena)
{
	fc_point_columns	columns = {bubbles->m, bubbles->m, bubbles->d, FC_TAKE(arena, bubbles->m * bubbles->d, double)};

	for (size_t a = 0; a < bubbles->m; a++)
		for (size_t c = 0; c < bubbles->d; c++)
			columns.x[c * bubbles->m + a] = bubbles->mean[a * bubbles->d + c];
	return columns;
}

/* ---- the nearest in order, as many as are needed: quicksort that leaves its right ends for later ---- */

static inline bool
is_before(neighbour a, neighbour b)
{
	return a.squared < b.squared || (a.squared == b.squared && a.bubble < b.bubble);
}

static void
insertion_sort(neighbour *x, size_t n)
{
	for (size_t i = 1; i < n; i++)
	{
		neighbour	moved = x[i];
		size_t		j = i;

		for (; j > 0 && is_before(moved, x[j - 1]); j--)
			x[j] = x[j - 1];
		x[j] = moved;
	}
}

/* Entries before the place returned, 1 at least and fewer than n, are before all others. */
static size_t
partition(neighbour *x, size_t n)
{
	neighbour	low = x[0];
	neighbour	middle = x[n / 2];
	neighbour	high = x[n - 1];
	neighbour	pivot = is_before(low, middle) ? (is_before(middle, high) ? middle : is_before(low, high) ? high : low)
		: (is_before(low, high) ? low : is_before(middle, high) ? high : middle);
	size_t		i = 0;
	size_t		j = n - 1;

	for (;;)
	{
		neighbour	held;

		while (is_before(x[i], pivot))
			i++;
		while (is_before(pivot, x[j]))
			j--;
		if (i >= j)
			return larger(i, 1);
		held = x[i];
		x[i++] = x[j];
		x[j--] = held;
	}
}

typedef struct partly_sorted
{
	neighbour  *x;
	size_t		sorted;			/* entries, in order, before all others */
	size_t		pivots;
	size_t		end[MOST_PIVOTS];	/* of ranges of which each is before the next one; the last is that of all */
} partly_sorted;

/* At least one entry more is in its place. */
static void
sort_more(partly_sorted *p)
{
	size_t		end = p->end[p->pivots - 1];

	while (end - p->sorted > FEW && p->pivots < MOST_PIVOTS)
		end = p->end[p->pivots++] = p->sorted + partition(p->x + p->sorted, end - p->sorted);
	insertion_sort(p->x + p->sorted, end - p->sorted);
	p->sorted = end;
	p->pivots--;
}

/* ---- radii ---- */

/* The squared radius of the ball about bubble a that holds so many rows. */
static double
squared_radius(const fc_bubbles *b, partly_sorted *near, double mass)
{
	double		before = 0.0;		/* rows of the bubbles before entry i */
	double		inside = 0.0;		/* rows in the ball, and its square, at the entry before i */
	double		last = 0.0;

	for (size_t i = 0;; i++)
	{
		double		n;
		double		next;

		if (i == near->sorted)
			sort_more(near);
		n = b->n[near->x[i].bubble];
		next = before + n / 2.0;
		if (next >= mass || i + 1 == near->end[0])
			return last + fmin(fmax((mass - inside) / (next - inside), 0.0), 1.0) * (near->x[i].squared - last);
		before += n;
		inside = next;
		last = near->x[i].squared;
	}
}

/* Bubbles within a squared distance of `most` from bubble a, or within a multiple of it that holds so many rows. */
static void
gather_near(const fc_bubbles *b, const double *distance, double most, double rows, partly_sorted *near)
{
	size_t		count;
	double		held;
	double		heaviest;

	do
	{
		count = 0;
		held = heaviest = 0.0;
		for (size_t i = 0; i < b->m; i++)
			if (distance[i] + b->square[i] <= most)
			{
				near->x[count++] = (neighbour) {distance[i] + b->square[i], (uint32_t) i};
				held += b->n[i];
				heaviest = fmax(heaviest, b->n[i]);
			}
		most = most > 0.0 ? 4.0 * most : INFINITY;
	} while (count < b->m && held - heaviest / 2.0 < rows);
	near->sorted = 0;
	near->pivots = 1;
	near->end[0] = count;
}

/* The squared radius of a ball about bubble a that holds the rows of the largest ball about the nearest of the bubbles before a. */
static double
bound_of_radius(const fc_bubbles *b, size_t a, const double *distance, const double *squared, size_t masses)
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
fc_squared_radii(const fc_bubbles *b, const double *mass, size_t masses, fc_arena *arena, double *squared)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_point_columns	columns = fc_point_columns_of(b, arena);
	double	   *distance = FC_TAKE(arena, b->m, double);
	partly_sorted near = {.x = FC_TAKE(arena, b->m, neighbour)};

	for (size_t a = 0; a < b->m; a++)
	{
		double		rows = 0.0;

		fc_check();
		fc_point_distances(&columns, b->mean + a * b->d, distance);
		for (size_t t = 0; t < masses; t++)
			rows = fmax(rows, mass[t * b->m + a]);
		gather_near(b, distance, bound_of_radius(b, a, distance, squared, masses), rows, &near);
		for (size_t t = 0; t < masses; t++)
			squared[t * b->m + a] = squared_radius(b, &near, mass[t * b->m + a]);
	}
	fc_arena_release(arena, mark);
}
