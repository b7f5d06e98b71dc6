/*
 * codes.h - vectors rounded to bytes, whose exact integer dot products bound
 * the real dot products.
 *
 * A vector is written as u = scale b + e, and a row as z = a q + f, where the
 * coordinates of b and q are integers in -127 .. 127. Then
 *
 *     | z . u - a scale q . b |  <=  ||f|| ||u|| + ||a q|| ||e||
 *
 * q . b is summed in integers, so only the scales and norms are rounded. Rows
 * and vectors may be projections onto leading axes; the bound then grows by
 * the product of the norms of their components orthogonal to these axes.
 */
#ifndef FC_NUMERICS_CODES_H
#define FC_NUMERICS_CODES_H

#include "base/fc.h"

/* Number of vectors in a panel; a row is multiplied by whole panels. */
#define FC_CODES_PANEL	64

/*
 * Vectors rounded to bytes. Arrays have `capacity` entries: k, rounded up to
 * whole panels. The padding vectors have half = INFINITY.
 */
typedef struct fc_codes
{
	size_t		k;
	size_t		capacity;
	/* coordinates per vector, a multiple of 4; padding coordinates are 0 */
	size_t		width;

	/*
	 * capacity / 16 groups of 16 vectors. A group holds the first four
	 * coordinates of each of its vectors, then the next four, and so on. NULL
	 * if the machine has no instruction for dot products of bytes.
	 */
	int8_t	   *bytes;
	float	   *floats;			/* capacity x width; NULL if `bytes` is used */
	int32_t    *shift;			/* `capacity` values: 128 times the sum of the
								 * coordinates of b */
	float	   *half;			/* `capacity` values: half the squared length
								 * of the vector */
	float	   *scale;			/* `capacity` values: scale of the vector */
	float	   *length;			/* `capacity` values: upper bound on ||u|| */
	float	   *error;			/* `capacity` values: upper bound on ||e|| */
	float	   *rest;			/* `capacity` values: upper bound on the
								 * length of the vector's component orthogonal
								 * to the coded axes */
} fc_codes;

/* The scale and the error bounds of a row z that was rounded to bytes. */
typedef struct fc_coded_row
{
	float		scale;			/* the scale a */
	float		length;			/* upper bound on ||a q|| */

	/*
	 * upper bound on ||f||, plus the row's other errors that are multiplied
	 * by the length of a vector
	 */
	float		error;
	float		rest;			/* upper bound on the length of the row's
								 * component orthogonal to the coded axes */
} fc_coded_row;

/* Returns true if the machine has an instruction for dot products of bytes. */
bool		fc_codes_are_fast(void);

/*
 * Allocates k vectors of n coordinates. On a machine without an instruction
 * for dot products of bytes, they are stored as floats, whose dot products are
 * exact up to 256 coordinates.
 */
void		fc_codes_take(fc_arena *arena, size_t k, size_t n, fc_codes *codes);

/*
 * Rounds and stores the n coordinates u of vector j. `half` is half the
 * squared length of the whole vector, and `rest` the length of its component
 * orthogonal to the coded axes. `max` is the length of the longest vector.
 */
void		fc_codes_set(fc_codes *codes, size_t j, const double *u, size_t n,
						 double half, double rest, double max);

/*
 * Rounds the coordinates of row z (n floats, Euclidean length `length`) to
 * signed bytes q, and writes q + 128 to bytes (codes->width values). Returns
 * the row's scale, length and error, with `rest` = 0.
 */
fc_coded_row fc_codes_of_row(const fc_codes *codes, const float *z, size_t n,
							 double length, uint8_t *bytes);

/*
 * Computes dots (n x count) = (q + 128) . b for n rows and the vectors first
 * .. first + count - 1 (whole panels). work holds n x width floats if the
 * vectors are stored as floats.
 */
void		fc_codes_multiply(const fc_codes *codes, const uint8_t *rows, size_t n,
							  size_t first, size_t count, float *work, int32_t *dots);

/*
 * Sets lower[j], for vectors first .. first + count - 1 (whole panels), to a
 * lower bound on half[j] minus the dot product of the row and vector j, up to
 * rounding in float. Sets *lowest to the lowest of the lower bounds, and
 * returns the lowest of the upper bounds.
 */
float		fc_codes_bound(const fc_codes *codes, const fc_coded_row *row, size_t first,
						   size_t count, const int32_t *dots, float *lower, float *lowest);

/*
 * Writes to `places` the indices of the values of lower[0 .. count - 1] that
 * are at most `limit`; count is a multiple of 16. Stops writing after
 * `capacity` indices. Returns the number of such values, which may exceed
 * `capacity`.
 */
size_t		fc_codes_within(const float *lower, size_t count, float limit,
							size_t capacity, uint32_t *places);

#endif							/* FC_NUMERICS_CODES_H */
