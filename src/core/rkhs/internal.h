/*
 * internal.h - declarations shared by the files of rkhs: the error of a
 * projection (projection_error.c).
 *
 * K is the kernel matrix, `scale` the factor of its values (fc_kernel_rows),
 * and Y the coordinates of an embedding (projection.h).
 */
#ifndef FC_RKHS_INTERNAL_H
#define FC_RKHS_INTERNAL_H

#include "rkhs/projection.h"

/* Mean of values that are added one at a time (Welford). */
typedef struct fc_mean
{
	double		count;
	double		mean;
	double		squares;		/* sum of squared differences from the mean */
} fc_mean;

static inline void
fc_mean_add(fc_mean *m, double value)
{
	double		difference = value - m->mean;

	m->count += 1.0;
	m->mean += difference / m->count;
	m->squares += difference * (value - m->mean);
}

/* Returns the estimated variance of the mean of at least two values. */
static inline double
fc_mean_variance(const fc_mean *m)
{
	return m->squares / (m->count * (m->count - 1.0));
}

/* Sum of squared errors: ||K - Y Y'||^2 / scale^2, or an estimate of it. */
typedef struct error_sum
{
	double		total;
	double		variance;		/* variance of total; 0 if it is exact */
} error_sum;

typedef struct error_bounds
{
	double		lower;			/* lower bound on the squared relative error */
	double		upper;			/* upper bound on the squared relative error */
	double		asymmetry;		/* estimate of ||K - K'||^2 / scale^2 */
} error_bounds;

/* Returns the dot product of two rows of Y. */
double		fc_coordinates_dot(const float *x, const float *y, size_t rank);

/*
 * Sets lower and upper of *bounds. rest: sum of the squares of the
 * approximation's eigenvalues that the result leaves out; square: ||K||^2;
 * both are divided by scale^2.
 */
void		fc_bound_error(const fc_embedding *result, double scale, double rest,
						   double square, error_bounds *bounds);

/*
 * Sets relative_error and error_deviation of *result, from a sum of squared
 * errors. If the sum is an estimate, limits the error to the bounds. square:
 * ||K||^2 / scale^2.
 */
void		fc_report_error(const error_sum *sum, double square,
							const error_bounds *bounds, fc_embedding *result);

/*
 * Compares K with Y Y' on all or sampled pairs of rows, and sets
 * relative_error and error_deviation of *result. square: ||K||^2 / scale^2.
 */
void		fc_measure_error(const fc_kernel_rows *rows, uint64_t seed, double square,
							 const error_bounds *bounds, fc_arena *arena,
							 fc_embedding *result);

#endif							/* FC_RKHS_INTERNAL_H */
