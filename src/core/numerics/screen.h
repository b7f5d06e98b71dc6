/*
 * screen.h - the nearest of many centroids in many dimensions, without most of
 * the distances.
 *
 * Rows and centroids are brought to the centroids' mean, y = x - m and v = c -
 * m, and then
 *
 *     leading   to their coordinates along the `lead` principal axes of the
 *               centroids, and the length of the part outside them,
 *     whole     to all coordinates, where the machine multiplies bytes,
 *
 * as bytes (codes.h). The integers' dot products bound ||v||^2 / 2 - y . v
 * from both sides: the centroids whose lower bound is above the least upper
 * one are not nearest, and of the others distances are measured. Labels are
 * those of all distances.
 *
 * Which way is cheapest, those two or a matrix product of all, depends on the
 * rows. The first blocks of rows try them, and the means of the candidates
 * left decide from then on.
 *
 * SuperKMeans, PDX (Kuffo, Krippner, Boncz 2025) drop centroids by leading
 * dimensions and estimates; here bounds are proven.
 */
#ifndef FC_NUMERICS_SCREEN_H
#define FC_NUMERICS_SCREEN_H

#include "numerics/codes.h"

#define FC_SCREEN_CLUSTERS	256 /* fewer clusters, */
#define FC_SCREEN_DIMENSIONS	64	/* or dimensions: one matrix product is as
									 * fast */
#define FC_SCREEN_ROWS	240		/* rows of a block at most */

enum
{
	FC_SCREEN_LEADING,
	FC_SCREEN_WHOLE,
	FC_SCREEN_NONE,				/* not by bounds */
	FC_SCREEN_WAYS
};

/* The record of one way: means over the last rows. */
typedef struct fc_screen_record
{
	double		measured;		/* distances a row */
	double		given_up;		/* share of rows */
} fc_screen_record;

typedef struct fc_screen
{
	size_t		k;
	size_t		d;
	size_t		lead;
	const double *center;		/* d */
	const float *axes;			/* lead x d */
	double		defect;			/* at least || A A' - I ||, A the axes */
	double		most;			/* ||v|| at most */
	fc_codes	codes[2];		/* leading, whole; the latter perhaps of k = 0 */
	fc_screen_record record[2];
} fc_screen;

#define FC_SCREEN_FARTHEST	0x1p60	/* lengths, and their inverse, within
									 * which nothing overflows or vanishes */

/*
 * At least the length of the part of a vector outside the axes: of its square,
 * that along the axes, and more for roundings.
 */
static inline double
fc_screen_left_out(const fc_screen *screen, double square, double along,
				   double more)
{
	return sqrt(fmax(0.0, square - along) + screen->defect * along + more);
}

/* Rows, and the distances that decide. */
typedef struct fc_screened
{
	const double *x;			/* n x d, or NULL: */
	const float *x_float;		/* the same in float */
	/* squared, to rounding in double */
	double		(*distance) (const void *context, size_t row, size_t j);
	const void *context;
} fc_screened;

/* Is a screen of k centroids in d dimensions likely to gain? */
static inline bool
fc_screen_suits(size_t k, size_t d)
{
	return k >= FC_SCREEN_CLUSTERS && d >= FC_SCREEN_DIMENSIONS;
}

/* Bytes of a screen, and bytes that fc_screen_build takes from its arena. */
size_t		fc_screen_worksize(size_t k, size_t d);

/*
 * A screen of the centroids offset + values (k x d; offset d or NULL), suited
 * as above; without leading axes unless asked. False, and no screen: they are
 * so near, so far, or so near each other that floats do not distinguish them.
 */
bool		fc_screen_build(const float *values, const double *offset, size_t k,
							size_t d, bool axes, fc_arena *arena, fc_screen *screen);

/*
 * The way that costs least for the next rows, by the records; rows go that
 * way, or, FC_SCREEN_NONE, the caller's.
 */
int			fc_screen_choose(fc_screen *screen);

/* Floats of scratch for n rows. */
size_t		fc_screen_scratch(const fc_screen *screen, size_t n);

/*
 * labels[r] of n rows, FC_SCREEN_ROWS at most: the lowest j of least distance,
 * or -1 where the bounds leave too many or the row is too far.
 */
void		fc_screen_assign(fc_screen *screen, int way, const fc_screened *rows,
							 size_t n, fc_scratch scratch, int32_t *labels);

#endif							/* FC_NUMERICS_SCREEN_H */
