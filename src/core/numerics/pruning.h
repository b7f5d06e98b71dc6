/*
 * pruning.h - search for the nearest of many centroids in many dimensions that
 * measures few of the distances.
 *
 * The mean m of the centroids is subtracted from rows and centroids, y = x - m
 * and v = c - m. Then one of two sets of coordinates is rounded to bytes
 * (codes.h):
 *
 *     leading   the coordinates along the `lead` principal axes of the
 *               centroids, and the length of the component orthogonal to these
 *               axes,
 *     whole     all coordinates, if the machine multiplies bytes.
 *
 * The dot products of the bytes bound ||v||^2 / 2 - y . v from both sides: a
 * centroid whose lower bound is above the lowest upper bound is not nearest.
 * Distances are measured only to the other centroids, the candidates. The
 * labels are the same as if all distances were measured.
 *
 * The cheapest method depends on the rows: it is one of these two, or a matrix
 * product of all rows and centroids. Each method is tried on the first blocks
 * of rows. Later, the choice depends on the mean numbers of candidates that
 * the methods left.
 *
 * SuperKMeans and PDX (Kuffo, Krippner, Boncz 2025) exclude centroids by
 * estimates from leading dimensions; here the bounds are proven.
 */
#ifndef FC_NUMERICS_PRUNING_H
#define FC_NUMERICS_PRUNING_H

#include "numerics/codes.h"

/*
 * Minimum numbers of clusters and of dimensions for bounds; with fewer, one
 * matrix product is as fast (bench/pruning.c, bench/tuned.py).
 */
#define FC_PRUNING_CLUSTERS	256
#define FC_PRUNING_DIMENSIONS	64

/*
 * Maximum number of rows per block. A larger block shares each read of a
 * centroid among more rows, but does not fit in the cache (bench/pruning.c).
 */
#define FC_PRUNING_ROWS	240

enum
{
	FC_PRUNING_LEADING,
	FC_PRUNING_WHOLE,
	FC_PRUNING_NONE,			/* no bounds: the caller's own search */
	FC_PRUNING_PATHS
};

/* Measurements of one method: means over recent rows. */
typedef struct fc_pruning_record
{
	double		measured;		/* mean number of distances measured per row */
	double		given_up;		/* mean fraction of rows that could not be
								 * labelled, 0 .. 1 */
} fc_pruning_record;

typedef struct fc_pruning
{
	size_t		k;
	size_t		d;
	size_t		lead;			/* number of leading axes; 0: there are no
								 * leading coordinates, and only all
								 * coordinates together are rounded to bytes */
	const double *center;		/* d values: mean of the centroids */
	const float *axes;			/* lead x d: principal axes of the centroids */
	double		defect;			/* upper bound on || A A' - I ||, where A are
								 * the axes */
	double		max;			/* upper bound on ||v|| */
	fc_codes	codes[2];		/* bytes of the leading coordinates, and bytes
								 * of all coordinates; k is 0 if they are not
								 * used */
	fc_pruning_record record[2];	/* measurements of each method */
} fc_pruning;

/*
 * Maximum length of a row or centroid, after the mean of the centroids is
 * subtracted, for which nothing overflows. The inverse is the minimum length
 * of the longest centroid, for which nothing underflows.
 */
#define FC_PRUNING_MAX_LENGTH	0x1p60

/*
 * Returns an upper bound on the length of the component of a vector that is
 * orthogonal to the axes. `square` is the squared length of the vector,
 * `along` the squared length of its coordinates along the axes, and `more` an
 * allowance for rounding errors.
 */
static inline double
fc_pruning_left_out(const fc_pruning *pruning, double square, double along,
					double more)
{
	return sqrt(fmax(0.0, square - along) + pruning->defect * along + more);
}

/* Rows to label, and the function that measures their distances. */
typedef struct fc_pruned_rows
{
	const double *x;			/* n x d rows in double; NULL: x_float is used */
	const float *x_float;		/* n x d rows in float, used if x is NULL */

	/*
	 * Returns the squared distance of a row to centroid j, exact up to double
	 * rounding.
	 */
	double		(*distance) (const void *context, size_t row, size_t j);
	const void *context;
} fc_pruned_rows;

/*
 * Returns true if bounds are likely to save time for k centroids in d
 * dimensions.
 */
static inline bool
fc_pruning_suits(size_t k, size_t d)
{
	return k >= FC_PRUNING_CLUSTERS && d >= FC_PRUNING_DIMENSIONS;
}

/*
 * Returns the size of the bounds in bytes, including the memory that
 * fc_pruning_build takes from its arena.
 */
size_t		fc_pruning_worksize(size_t k, size_t d);

/*
 * Builds bounds for the centroids offset + values (k x d; offset is d values
 * or NULL). fc_pruning_suits(k, d) must be true. Leading axes are built only
 * if `axes` is set. Returns false, without usable bounds, if the centroids are
 * so close together or so far apart that floats do not distinguish them.
 */
bool		fc_pruning_build(const float *values, const double *offset, size_t k,
							 size_t d, bool axes, fc_arena *arena, fc_pruning *pruning);

/*
 * Returns the method that is cheapest for the next rows according to the
 * records: FC_PRUNING_LEADING, FC_PRUNING_WHOLE, or FC_PRUNING_NONE if the
 * caller should search by itself. Lowers the records of the unused methods
 * slightly.
 */
int			fc_pruning_choose(fc_pruning *pruning);

/* Returns the number of floats of scratch space for n rows. */
size_t		fc_pruning_scratch(const fc_pruning *pruning, size_t n);

/*
 * Labels n <= FC_PRUNING_ROWS rows with the nearest centroid; ties go to the
 * lowest index. `path` is the method, FC_PRUNING_LEADING or FC_PRUNING_WHOLE.
 * The label is -1 if too many candidates remain or the row is too far from the
 * centroids. scratch has fc_pruning_scratch floats.
 */
void		fc_pruning_assign(fc_pruning *pruning, int path, const fc_pruned_rows *rows,
							  size_t n, fc_scratch scratch, int32_t *labels);

#endif							/* FC_NUMERICS_PRUNING_H */
