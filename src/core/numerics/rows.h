/*
 * rows.h - the inner loops over rows: dot products, lengths, distances, lowest
 * scores.
 *
 * A dot product is summed in 16 lanes, coordinate i in lane i mod 16, by fused
 * multiply-add where the machine has it: its bits depend on the two vectors
 * alone, not on the place of the row in the matrix.
 */
#ifndef FC_NUMERICS_ROWS_H
#define FC_NUMERICS_ROWS_H

#include "base/fc.h"

/* Computes y = A x; A is rows x columns without gaps. */
void		fc_dense_apply(const float *a, size_t rows, size_t columns, const float *x,
						   float *y);

/* Computes out = (x - center) / scale for n rows of d values; out may be x. */
void		fc_rescale_rows(const double *x, size_t n, size_t d, const double *center,
							const double *scale, double *out);

/* Adds scale * x to y, both of n values. */
void		fc_axpy(double scale, const float *x, size_t n, double *y);

/* Returns the sum of the squares of x in float. */
float		fc_float_square(const float *x, size_t n);

/*
 * Returns the sum of (x - y)^2 over d values, in double; a NULL y stands for
 * 0.
 */
double		fc_row_gap(const float *x, const float *y, size_t d);

/*
 * Returns the sum of (x - y)^2 over the dimensions known in both rows, and
 * sets *shared to their number. known_x and known_y (d values each) are 1 for
 * a known dimension, else 0.
 */
double		fc_known_gap(const float *x, const float *known_x, const float *y,
						 const float *known_y, size_t d, double *shared);

static inline double
fc_row_square(const float *x, size_t d)
{
	return fc_row_gap(x, NULL, d);
}

/*
 * Computes out = x - offset rounded to float (a NULL offset stands for 0);
 * returns ||x - offset||^2 in double.
 */
double		fc_shift_row(const double *x, const double *offset, size_t d, float *out);

/* Returns x . v in double. */
double		fc_row_product(const double *x, const float *v, size_t d);

/* Returns ||x - offset - v||^2 in double. */
double		fc_row_distance(const double *x, const double *offset, const float *v,
							size_t d);

/*
 * Returns ||x - y||; scales the differences and repeats the sum if squares
 * overflow or vanish.
 */
double		fc_length_between(const double *x, const double *y, size_t d);

/*
 * Sets squared[j] to the sum of (x - v)^2 in float over the coordinates of x
 * (d) that are not NaN, for each of k points v.
 */
void		fc_partial_gaps(const float *values, size_t k, size_t d, const float *x,
							float *squared);

/*
 * Updates *lowest and *second, the two lowest scores so far, with the scores
 * half_norms[j] - dots[j] of `count` values of j. Sets *label to first + j if
 * score j becomes the lowest.
 */
void		fc_two_lowest(const float *dots, const float *half_norms, size_t count,
						  size_t first, float *lowest, float *second, int32_t *label);

/*
 * Number of points in a pack. Packs hold points (k x d) and their half norms
 * in an order that suits comparisons with one row at a time. A pack has
 * coordinate 0 of each of its points, then coordinate 1 of each, and so on,
 * then the half norms. Unused places of the last pack have infinite half
 * norms.
 */
#define FC_PACKED	64

size_t		fc_packs_floats(size_t k, size_t d);
void		fc_packs_build(const float *values, const float *half_norms, size_t k,
						   size_t d, float *packs);

/*
 * Sets *lowest and *second to the two lowest scores half_norms[j] - x . point
 * j, and returns the index j of the lowest one. The d products of a score are
 * added in the order of the coordinates.
 */
int32_t		fc_packs_lowest(const float *packs, size_t k, size_t d, const float *x,
							float *lowest, float *second);

/*
 * Compares a row with all points over the `count` coordinates whose indices
 * are in `observed`; x has the values of these coordinates. Sets *lowest and
 * *second to the two lowest squared distances, and returns the index of the
 * nearest point.
 */
int32_t		fc_packs_nearest(const float *packs, size_t k, size_t d, const float *x,
							 const uint32_t *observed, size_t count, float *lowest,
							 float *second);

#endif							/* FC_NUMERICS_ROWS_H */
