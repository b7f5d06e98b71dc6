/*
 * codes.h - dot products of many vectors in bytes: exact integers that bound
 * the real products.
 *
 * A vector u is scale b + e, with each coordinate of b in -127 .. 127. For a
 * row z = a q + f in the same form
 *
 *     | z . u - a scale q . b |  <=  ||f|| ||u|| + ||a q|| ||e||
 *
 * q . b is summed in integers, so the only roundings are in the few numbers
 * above. Rows and vectors may be projections onto leading axes; the bound then
 * grows by ||rest of the row|| ||rest of the vector||.
 */
#ifndef FC_NUMERICS_CODES_H
#define FC_NUMERICS_CODES_H

#include "base/fc.h"

#define FC_CODES_PANEL	64		/* vectors that are multiplied together */

/*
 * Vectors in bytes. Arrays have `room` entries: k, padded to a whole panel by
 * vectors whose half is INFINITY.
 */
typedef struct fc_codes
{
	size_t		k;
	size_t		room;
	/* coordinates per vector, a multiple of 4; padding coordinates are 0 */
	size_t		width;

	/*
	 * room / 16 groups of 16 vectors, four coordinates after four; NULL if
	 * the machine does not multiply bytes
	 */
	int8_t	   *bytes;
	float	   *floats;			/* room x width; NULL if the machine
								 * multiplies bytes */
	int32_t    *shift;			/* room: 128 times the sum of b */
	float	   *half;			/* room: half the squared length of the vector */
	float	   *scale;
	float	   *length;			/* room: upper bound on ||u|| */
	float	   *error;			/* room: upper bound on ||e|| */
	float	   *rest;			/* room: upper bound on the length of the part
								 * outside the coordinates */
} fc_codes;

/* A row z in bytes. */
typedef struct fc_coded_row
{
	float		scale;			/* a */
	float		length;			/* upper bound on ||a q|| */

	/*
	 * upper bound on ||f|| and other errors that are multiplied by a vector's
	 * length
	 */
	float		error;
	float		rest;			/* upper bound on the length of the part
								 * outside the coordinates */
} fc_coded_row;

/* Returns true if the machine has an instruction for dot products of bytes. */
bool		fc_codes_are_fast(void);

/*
 * Allocates k vectors of n coordinates. Without the instruction they are
 * stored as floats, whose products are exact up to 256 coordinates.
 */
void		fc_codes_take(fc_arena *arena, size_t k, size_t n, fc_codes *codes);

/*
 * Stores vector j: u (n, double), half its square, and the length of its rest.
 * `max` is the length of the longest vector.
 */
void		fc_codes_set(fc_codes *codes, size_t j, const double *u, size_t n,
						 double half, double rest, double max);

/*
 * Writes row z (n floats of length `length`) as width bytes with 128 added;
 * returns it with scale, length and error set.
 */
fc_coded_row fc_codes_of_row(const fc_codes *codes, const float *z, size_t n,
							 double length, uint8_t *bytes);

/*
 * Computes dots (rows x count) = (q + 128) . b for the vectors first .. first
 * + count - 1, in whole panels. work: rows x width floats where vectors are
 * floats.
 */
void		fc_codes_multiply(const fc_codes *codes, const uint8_t *rows, size_t n,
							  size_t first, size_t count, float *work, int32_t *dots);

/*
 * Sets lower[j], for vectors first .. first + count - 1 (whole panels), to a
 * lower bound on half ||v||^2 - y . v, up to roundings of floats. Returns the
 * lowest of the upper bounds; *lowest is the lowest of the lower ones.
 */
float
			fc_codes_bound(const fc_codes *codes, const fc_coded_row *row, size_t first,
						   size_t count, const int32_t *dots, float *lower, float *lowest);

/*
 * Writes the places of the values up to `limit` among count (a multiple of
 * 16), stopping at `room` places. Returns the number of such values, which may
 * exceed room.
 */
size_t		fc_codes_within(const float *lower, size_t count, float limit,
							size_t room, uint32_t *places);

#endif							/* FC_NUMERICS_CODES_H */
