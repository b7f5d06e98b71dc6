/*
 * codes.h - dot products of many vectors in bytes: exact integers that bound
 * the real ones.
 *
 * A vector u is scale b + e, b in -127 .. 127 a coordinate. With a row z = a q
 * + f alike
 *
 *     | z . u - a scale q . b |  <=  ||f|| ||u|| + ||a q|| ||e||
 *
 * q . b is summed in integers, so the only roundings are those of the few
 * numbers above. Rows and vectors may be projections of the vector to leading
 * axes; then ||rest of the row|| ||rest of the vector|| comes on top.
 */
#ifndef FC_NUMERICS_CODES_H
#define FC_NUMERICS_CODES_H

#include "base/fc.h"

#define FC_CODES_PANEL	64		/* vectors that are multiplied together */

/*
 * Arrays are of `room` vectors, k and more up to a whole panel, whose half is
 * INFINITY.
 */
typedef struct fc_codes
{
	size_t		k;
	size_t		room;
	/* coordinates, a multiple of 4: those beyond the vectors' own are 0 */
	size_t		width;
	/* room / 16 groups of 16 vectors, four coordinates after four; or NULL */
	int8_t	   *bytes;
	float	   *floats;			/* room x width, or NULL: the machine
								 * multiplies bytes */
	int32_t    *shift;			/* 128 times the sum of b */
	float	   *half;			/* half the square of the vector */
	float	   *scale;
	float	   *length;			/* at least ||u|| */
	float	   *error;			/* at least ||e|| */
	float	   *rest;			/* at least the length of the part outside the
								 * coordinates */
} fc_codes;

/* A row z in bytes. */
typedef struct fc_coded_row
{
	float		scale;			/* a */
	float		length;			/* at least ||a q|| */
	/* at least ||f|| and other errors that a vector's length multiplies */
	float		error;
	float		rest;			/* at least the length of the part outside the
								 * coordinates */
} fc_coded_row;

/* Has the machine an instruction for dot products of bytes? */
bool		fc_codes_are_fast(void);

/*
 * Room for k vectors of n coordinates. Without the instruction they are kept
 * as floats, which are exact up to 256 coordinates.
 */
void		fc_codes_take(fc_arena *arena, size_t k, size_t n, fc_codes *codes);

/*
 * Vector j: u (n, double), half its square and the length of its rest, `most`
 * the length of the longest of all.
 */
void		fc_codes_set(fc_codes *codes, size_t j, const double *u, size_t n,
						 double half, double rest, double most);

/*
 * Row z (n floats of length `length`) as width bytes, 128 added; scale, length
 * and error are set.
 */
fc_coded_row fc_codes_of_row(const fc_codes *codes, const float *z, size_t n,
							 double length, uint8_t *bytes);

/*
 * dots (rows x count) = (q + 128) . b of the vectors first .. + count, whole
 * panels; work: rows x width floats where there are floats.
 */
void		fc_codes_multiply(const fc_codes *codes, const uint8_t *rows, size_t n,
							  size_t first, size_t count, float *work, int32_t *dots);

/*
 * lower[j], of vectors first .. + count (whole panels), is at most half
 * ||v||^2 - y . v but for roundings of floats; returns the least such upper
 * bound; *lowest is the least lower one.
 */
float
			fc_codes_bound(const fc_codes *codes, const fc_coded_row *row, size_t first,
						   size_t count, const int32_t *dots, float *lower, float *lowest);

/*
 * The places of the values at most `limit` of count, a multiple of 16, at most
 * `room` of them; how many there are.
 */
size_t		fc_codes_within(const float *lower, size_t count, float limit,
							size_t room, uint32_t *places);

#endif							/* FC_NUMERICS_CODES_H */
