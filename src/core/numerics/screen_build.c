/* screen_build.c - the centers, axes and codes of a screen; see screen.h */
#include "numerics/screen.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/sizes.h"
#include "numerics/principal.h"
#include "numerics/rows.h"

#define LEAST_LEAD		32
#define MOST_LEAD		128
#define AXES_CENTROIDS	256			/* centroids whose principal axes are taken */
#define CODED			((size_t) 256)	/* centroids that are coded together */
#define MOST_REST		0.1			/* share of the squares that axes may leave out; else they tell too little */

static size_t
lead_of(size_t d)
{
	size_t		lead = d / 6 / 4 * 4;

	return lead < LEAST_LEAD ? LEAST_LEAD : lead > MOST_LEAD ? MOST_LEAD : lead;
}

typedef struct screen_parts
{
	double	   *center;
	float	   *axes;
} screen_parts;

static void
take_parts(fc_arena *arena, size_t k, size_t d, screen_parts *parts, fc_screen *screen)
{
	parts->center = FC_TAKE(arena, d, double);
	parts->axes = FC_TAKE(arena, lead_of(d) * d, float);
	fc_codes_take(arena, k, lead_of(d), &screen->codes[FC_SCREEN_LEADING]);
	if (fc_codes_are_fast())
		fc_codes_take(arena, k, d, &screen->codes[FC_SCREEN_WHOLE]);
}

size_t
fc_screen_size(size_t k, size_t d)
{
	fc_arena	measure = fc_arena_measure();
	screen_parts parts;
	fc_screen	screen = {0};

	take_parts(&measure, k, d, &parts, &screen);
	return fc_arena_measured(&measure);
}

typedef struct build_work
{
	float	   *some;			/* AXES_CENTROIDS x d */
	double	   *v;				/* CODED x d */
	double	   *square;			/* CODED: of their lengths */
	double	   *u;				/* CODED x lead */
	double	   *axes;			/* lead x d */
} build_work;

static void
take_work(fc_arena *arena, size_t k, size_t d, build_work *w)
{
	w->some = FC_TAKE(arena, smaller(k, AXES_CENTROIDS) * d, float);
	w->v = FC_TAKE(arena, CODED * d, double);
	w->square = FC_TAKE(arena, CODED, double);
	w->u = FC_TAKE(arena, CODED * lead_of(d), double);
	w->axes = FC_TAKE(arena, lead_of(d) * d, double);
}

size_t
fc_screen_worksize(size_t k, size_t d)
{
	fc_arena	measure = fc_arena_measure();
	build_work	w;

	take_work(&measure, k, d, &w);
	fc_arena_reserve(&measure, fc_principal_worksize(smaller(k, AXES_CENTROIDS), d, lead_of(d)));
	return fc_screen_size(k, d) + fc_arena_measured(&measure);
}

static void
find_center(const float *values, const double *offset, size_t k, size_t d, double *center)
{
	size_t		done = 0;

	memset(center, 0, d * sizeof(double));
	for (size_t j = 0; j < k; j++)
	{
		fc_check_every(&done, d);
		for (size_t i = 0; i < d; i++)
			center[i] += (double) values[j * d + i];
	}
	for (size_t i = 0; i < d; i++)
		center[i] = center[i] / (double) k + (offset != NULL ? offset[i] : 0.0);
}

/* v of centroid j; returns ||v||^2. */
static double
about_center(const fc_screen *screen, const float *values, const double *offset, size_t j, double *v)
{
	double		square = 0.0;

	for (size_t i = 0; i < screen->d; i++)
	{
		v[i] = (double) values[j * screen->d + i] + ((offset != NULL ? offset[i] : 0.0) - screen->center[i]);
		square += v[i] * v[i];
	}
	return square;
}

/* The length of the longest centroid; false: out of range. */
static bool
find_most(const float *values, const double *offset, const build_work *w, fc_screen *screen)
{
	size_t		done = 0;
	double		square = 0.0;

	for (size_t j = 0; j < screen->k; j++)
	{
		fc_check_every(&done, screen->d);
		square = fmax(square, about_center(screen, values, offset, j, w->v));
	}
	screen->most = sqrt(square) * (1.0 + 1e-9);
	return screen->most < FC_SCREEN_FARTHEST && screen->most > 1.0 / FC_SCREEN_FARTHEST;
}

/* The axes of centroids spread evenly. */
static void
find_axes(const float *values, const double *offset, fc_arena *arena, const build_work *w, float *axes, fc_screen *screen)
{
	size_t		some = smaller(screen->k, AXES_CENTROIDS);

	for (size_t s = 0; s < some; s++)
	{
		(void) about_center(screen, values, offset, s * screen->k / some, w->v);
		for (size_t i = 0; i < screen->d; i++)
			w->some[s * screen->d + i] = (float) (w->v[i] / screen->most);
	}
	fc_principal_axes(w->some, some, screen->d, screen->lead, 0, arena, axes);
}

static double
square_of(const double *x, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sum;
}

static double
dot(const float *a, const float *b, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double) a[i] * (double) b[i];
	return sum;
}

/* || A A' - I || is at most the root of the sum of its squares. */
static bool
measure_defect(fc_screen *screen)
{
	double		squares = 0.0;
	size_t		done = 0;

	for (size_t a = 0; a < screen->lead; a++)
		for (size_t b = 0; b <= a; b++)
		{
			double		gap = dot(screen->axes + a * screen->d, screen->axes + b * screen->d, screen->d) - (a == b ? 1.0 : 0.0);

			fc_check_every(&done, screen->d);
			squares += (a == b ? 1.0 : 2.0) * gap * gap;
		}
	screen->defect = sqrt(squares) * (1.0 + 1e-6) + 1e-12;
	return screen->defect < 1e-3;
}

/* Blocks of centroids about the center into codes, along the axes too where there are any. */
static void
code_centroids(const float *values, const double *offset, const build_work *w, fc_screen *screen)
{
	size_t		lead = screen->lead;
	size_t		d = screen->d;

	for (size_t i = 0; i < lead * d; i++)
		w->axes[i] = (double) screen->axes[i];
	for (size_t first = 0; first < screen->k; first += CODED)
	{
		size_t		count = smaller(CODED, screen->k - first);

		fc_check();
		for (size_t j = 0; j < count; j++)
			w->square[j] = about_center(screen, values, offset, first + j, w->v + j * d);
		for (size_t j = 0; j < count && screen->codes[FC_SCREEN_WHOLE].k > 0; j++)
			fc_codes_set(&screen->codes[FC_SCREEN_WHOLE], first + j, w->v + j * d, d, 0.5 * w->square[j], 0.0, screen->most);
		if (lead == 0)
			continue;
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, (int) lead, (int) d, 1.0, w->v, (int) d, w->axes, (int) d, 0.0, w->u, (int) lead);
		for (size_t j = 0; j < count; j++)
			fc_codes_set(&screen->codes[FC_SCREEN_LEADING], first + j, w->u + j * lead, lead, 0.5 * w->square[j],
						 fc_screen_left_out(screen, w->square[j], square_of(w->u + j * lead, lead), 1e-10 * w->square[j]), screen->most);
	}
}

static void
leave_axes(fc_screen *screen)
{
	screen->lead = 0;
	screen->codes[FC_SCREEN_LEADING].k = 0;
}

/* Axes that leave out too much are not used; false: they are no axes. */
static bool
judge_axes(const build_work *w, fc_screen *screen)
{
	size_t		some = smaller(screen->k, AXES_CENTROIDS);
	double		all = 0.0;
	double		along = 0.0;

	for (size_t s = 0; s < some; s++)
	{
		fc_check();
		fc_dense_apply(screen->axes, screen->lead, screen->d, w->some + s * screen->d, (float *) w->u);
		all += fc_row_square(w->some + s * screen->d, screen->d);
		along += fc_row_square((float *) w->u, screen->lead);
	}
	if (all - along <= MOST_REST * all)
		return measure_defect(screen);
	leave_axes(screen);
	return true;
}

bool
fc_screen_build(const float *values, const double *offset, size_t k, size_t d, bool axes, fc_arena *arena, fc_screen *screen)
{
	screen_parts parts;
	build_work	w;
	fc_mark		used;
	bool		built;

	FC_ASSERT(fc_screen_suits(k, d));
	*screen = (fc_screen) {.k = k,.d = d,.lead = lead_of(d)};
	take_parts(arena, k, d, &parts, screen);
	used = fc_arena_mark(arena);
	take_work(arena, k, d, &w);
	screen->center = parts.center;
	screen->axes = parts.axes;
	find_center(values, offset, k, d, parts.center);
	if (!axes)
		leave_axes(screen);
	built = find_most(values, offset, &w, screen);
	if (built && axes)
	{
		find_axes(values, offset, arena, &w, parts.axes, screen);
		built = judge_axes(&w, screen);
	}
	if (built)
		code_centroids(values, offset, &w, screen);
	fc_arena_release(arena, used);
	return built;
}
