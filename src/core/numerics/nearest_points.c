/* nearest_points.c - screened where there are many in many dimensions; see nearest_points.h */
#include "numerics/nearest_points.h"

#include <math.h>

#include "base/sizes.h"
#include "numerics/screen.h"

typedef struct point_work
{
	const double *points;
	const double *centroids;
	size_t		k;
	size_t		d;
} point_work;

static double
distance_of(const void *context, size_t row, size_t j)
{
	const point_work *w = context;
	const double *x = w->points + row * w->d;
	const double *c = w->centroids + j * w->d;
	double		sum = 0.0;

	for (size_t i = 0; i < w->d; i++)
		sum += (x[i] - c[i]) * (x[i] - c[i]);
	return sum;
}

size_t
fc_nearest_points_worksize(size_t k, size_t d)
{
	fc_arena	measure = fc_arena_measure();
	fc_screen	screen;

	if (!fc_screen_suits(k, d))
		return 0;
	(void) FC_TAKE(&measure, k * d, float);
	fc_screen_shape(k, d, &screen);
	fc_arena_reserve(&measure, fc_screen_worksize(k, d));
	(void) FC_TAKE(&measure, fc_screen_scratch(&screen, FC_SCREEN_ROWS), float);
	return fc_arena_measured(&measure);
}

/* Those of n points that have none yet, one by one. */
static void
measure_all(const point_work *w, size_t n, int32_t *nearest)
{
	size_t		done = 0;

	for (size_t r = 0; r < n; r++)
	{
		double		least = INFINITY;

		for (size_t j = 0, first = nearest[r] < 0; first && j < w->k; j++)
		{
			double		distance = distance_of(w, r, j);

			fc_check_every(&done, w->d);
			if (distance < least || j == 0)
			{
				least = distance;
				nearest[r] = (int32_t) j;
			}
		}
	}
}

/* A screen of the centroids; false: there can be none. */
static bool
open_screen(const point_work *w, fc_arena *arena, fc_screen *screen, fc_scratch *scratch)
{
	float	   *values = FC_TAKE(arena, w->k * w->d, float);
	size_t		done = 0;

	for (size_t i = 0; i < w->k * w->d; i++)
	{
		fc_check_every(&done, 1);
		values[i] = (float) w->centroids[i];
	}
	if (!fc_screen_build(values, NULL, w->k, w->d, false, arena, screen))
		return false;
	*scratch = fc_take_scratch(arena, fc_screen_scratch(screen, FC_SCREEN_ROWS));
	return true;
}

void
fc_nearest_points(const double *points, size_t n, const double *centroids, size_t k, size_t d,
				  fc_arena *arena, int32_t *nearest)
{
	point_work	w = {points, centroids, k, d};
	fc_mark		used = fc_arena_mark(arena);
	fc_screen	screen;
	fc_scratch	scratch = {0};
	bool		screened = fc_screen_suits(k, d) && open_screen(&w, arena, &screen, &scratch);

	for (size_t start = 0; start < n; start += FC_SCREEN_ROWS)
	{
		size_t		count = smaller(FC_SCREEN_ROWS, n - start);
		fc_screened rows = {.x = points + start * d,.distance = distance_of,.context = &w};
		int			way = screened ? fc_screen_choose(&screen) : FC_SCREEN_NONE;

		w.points = rows.x;
		for (size_t r = 0; r < count; r++)
			nearest[start + r] = -1;
		if (way != FC_SCREEN_NONE)
			fc_screen_assign(&screen, way, &rows, count, scratch, nearest + start);
		measure_all(&w, count, nearest + start);
	}
	fc_arena_release(arena, used);
}
