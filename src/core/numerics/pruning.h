/*
 * pruning.h - the nearest of many centroids in many dimensions, without most of
 * the distances.
 *
 * Rows and centroids are moved to the centroids' mean, y = x - m and v = c -
 * m, and then reduced
 *
 *     leading   to their coordinates along the `lead` principal axes of the
 *               centroids, and the length of the part outside them,
 *     whole     to all coordinates, where the machine multiplies bytes,
 *
 * as bytes (codes.h). The integers' dot products bound ||v||^2 / 2 - y . v
 * from both sides: centroids whose lower bound is above the lowest upper bound
 * are not nearest, and distances are measured only to the others. Labels equal
 * the result of all distances.
 *
 * The cheapest method, one of these two or a matrix product of all, depends on
 * the rows. The first blocks of rows try them, and the mean numbers of
 * candidates left decide from then on.
 *
 * SuperKMeans, PDX (Kuffo, Krippner, Boncz 2025) drop centroids by leading
 * dimensions and estimates; here bounds are proven.
 */
#ifndef FC_NUMERICS_PRUNING_H
#define FC_NUMERICS_PRUNING_H

#include "numerics/codes.h"

#define FC_PRUNING_CLUSTERS	256 /* minimum number of clusters; with fewer, one
								 * matrix product is as fast */
#define FC_PRUNING_DIMENSIONS	64	/* minimum number of dimensions; with
									 * fewer, one matrix product is as fast */
#define FC_PRUNING_ROWS	240		/* maximum number of rows per block */

enum
{
	FC_PRUNING_LEADING,
	FC_PRUNING_WHOLE,
	FC_PRUNING_NONE,			/* no bounds: the caller's own search */
	FC_PRUNING_PATHS
};

/* Record of one method: means over recent rows. */
typedef struct fc_pruning_record
{
	double		measured;		/* mean number of distances measured per row */
	double		given_up;		/* mean share of rows given up */
} fc_pruning_record;

typedef struct fc_pruning
{
	size_t		k;
	size_t		d;
	size_t		lead;
	const double *center;		/* d */
	const float *axes;			/* lead x d */
	double		defect;			/* upper bound on || A A' - I ||, where A are
								 * the axes */
	double		max;			/* upper bound on ||v|| */
	fc_codes	codes[2];		/* codes of the leading and of all
								 * coordinates; unused codes have k = 0 */
	fc_pruning_record record[2];
} fc_pruning;

#define FC_PRUNING_MAX_LENGTH	0x1p60	/* maximum length, and inverse of the
										 * minimum length, without overflow or
										 * underflow */

/*
 * Returns an upper bound on the length of the part of a vector outside the
 * axes. square: squared length of the vector; along: squared length along the
 * axes; more: allowance for roundings.
 */
static inline double
fc_pruning_left_out(const fc_pruning *pruning, double square, double along,
					double more)
{
	return sqrt(fmax(0.0, square - along) + pruning->defect * along + more);
}

/* Rows, and the distances that decide. */
typedef struct fc_pruned_rows
{
	const double *x;			/* n x d; NULL: x_float is used */
	const float *x_float;		/* n x d: the rows in float */

	/*
	 * Returns the squared distance of a row to centroid j, to rounding in
	 * double.
	 */
	double		(*distance) (const void *context, size_t row, size_t j);
	const void *context;
} fc_pruned_rows;

/*
 * Returns true if bounds are likely to gain for k centroids in d dimensions.
 */
static inline bool
fc_pruning_suits(size_t k, size_t d)
{
	return k >= FC_PRUNING_CLUSTERS && d >= FC_PRUNING_DIMENSIONS;
}

/*
 * Returns the bytes of bounds, including the bytes that fc_pruning_build takes
 * from its arena.
 */
size_t		fc_pruning_worksize(size_t k, size_t d);

/*
 * Builds bounds for the centroids offset + values (k x d; offset d or NULL),
 * for which fc_pruning_suits is true; builds leading axes only if axes is set.
 * Returns false, without usable bounds, if the centroids are so close together
 * or so far apart that floats do not distinguish them.
 */
bool		fc_pruning_build(const float *values, const double *offset, size_t k,
							 size_t d, bool axes, fc_arena *arena, fc_pruning *pruning);

/*
 * Returns the cheapest method for the next rows by the records; FC_PRUNING_NONE
 * means that the caller should search itself.
 */
int			fc_pruning_choose(fc_pruning *pruning);

/* Returns the floats of scratch for n rows. */
size_t		fc_pruning_scratch(const fc_pruning *pruning, size_t n);

/*
 * Labels n <= FC_PRUNING_ROWS rows with the centroid at the minimum distance,
 * the lowest of equals; sets -1 where the bounds leave too many or the row is
 * too far.
 */
void		fc_pruning_assign(fc_pruning *pruning, int path, const fc_pruned_rows *rows,
							  size_t n, fc_scratch scratch, int32_t *labels);

#endif							/* FC_NUMERICS_PRUNING_H */
