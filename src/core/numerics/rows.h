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

/* y = A x; A is rows x columns without gaps. */
void		fc_dense_apply(const float *a, size_t rows, size_t columns, const float *x,
						   float *y);

/* out = (x - center) / scale, n rows of d; out may be x. */
void		fc_rows_in_units(const double *x, size_t n, size_t d, const double *center,
							 const double *scale, double *out);

/* y += scale * x, n values. */
void		fc_axpy(double scale, const float *x, size_t n, double *y);

/* sum of x^2 in float. */
float		fc_float_square(const float *x, size_t n);

/* sum of (x - y)^2, and of x^2, in double; y NULL is 0. */
double		fc_row_gap(const float *x, const float *y, size_t d);

static inline double
fc_row_square(const float *x, size_t d)
{
	return fc_row_gap(x, NULL, d);
}

/*
 * out = x - offset rounded to float (offset NULL is 0); returns ||out||^2 in
 * double.
 */
double
			fc_shift_row(const double *x, const double *offset, size_t d, float *out);

/* x . v in double. */
double		fc_row_product(const double *x, const float *v, size_t d);

/* ||x - offset - v||^2 in double. */
double		fc_row_distance(const double *x, const double *offset, const float *v,
							size_t d);

/* ||x - y||; squares that overflow or vanish are taken again to scale. */
double		fc_length_between(const double *x, const double *y, size_t d);

/*
 * The smallest and second smallest of half_norms[j] - dots[j], continued;
 * label is first + j of the smallest.
 */
void		fc_two_lowest(const float *dots, const float *half_norms, size_t count,
						  size_t first, float *lowest, float *second, int32_t *label);

/*
 * Points (k x d) and their half_norms packed for one row at a time: FC_PACKED
 * of them side by side, coordinate by coordinate, then their half norms; lanes
 * beyond the last are never lowest.
 */
#define FC_PACKED	64

size_t		fc_packs_floats(size_t k, size_t d);
void		fc_packs_build(const float *values, const float *half_norms, size_t k,
						   size_t d, float *packs);

/*
 * The two lowest of half_norms[j] - x . point j, and the j of the lowest; sums
 * of d products in order.
 */
int32_t		fc_packs_lowest(const float *packs, size_t k, size_t d, const float *x,
							float *lowest, float *second);

#endif							/* FC_NUMERICS_ROWS_H */
