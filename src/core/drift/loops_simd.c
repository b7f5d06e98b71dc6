/* loops_simd.c - the inner loops of counting; see internal.h */
#include "drift/internal.h"

#include <float.h>

#include "base/simd.h"

#define TAKE(name, type, magnitude, max) \
FC_CLONES bool \
name(const type *x, const double *origin, size_t d, float *out) \
{ \
	int			strange = 0; \
	for (size_t i = 0; i < d; i++) \
	{ \
		type		value; \
		memcpy(&value, (const char *) x + i * sizeof(type), sizeof(type)); \
		strange |= !(magnitude(value) <= max); \
		out[i] = (float) (origin != NULL ? (double) value - origin[i] : (double) value); \
	} \
	return strange == 0; \
}

TAKE(fc_drift_take_doubles, double, fabs, DBL_MAX)
TAKE(fc_drift_take_floats, float, fabsf, FLT_MAX)

FC_CLONES void
fc_drift_places(const float *x, const float *threshold, size_t count,
				size_t tiles, int32_t *place)
{
	for (size_t t = 0; t < tiles; t++, x += FC_DRIFT_TILE,
		 place += FC_DRIFT_TILE, threshold += count * FC_DRIFT_TILE)
	{
		int32_t		below[FC_DRIFT_TILE] = {0};

		for (size_t k = 0; k < count; k++)
			for (size_t j = 0; j < FC_DRIFT_TILE; j++)
				below[j] += x[j] > threshold[k * FC_DRIFT_TILE + j];
		memcpy(place, below, sizeof(below));
	}
}

FC_CLONES void
fc_drift_set_bits(const float *x, const float *lower, const float *upper,
				  size_t n, uint32_t mask, uint32_t *words)
{
	for (size_t b = 0; b < n; b++)
		words[b] |= ((x[b] <= lower[b]) | (x[b] > upper[b])) ? mask : 0;
}

/*
 * Counts bits in fields of 2, 4 and 8 bits (Henry S. Warren, Hacker's Delight,
 * 5-1). The counts of both words are added when they are in fields of 4 bits.
 */
FC_CLONES void
fc_drift_count_both(uint32_t first, uint32_t second, const uint32_t *low,
					const uint32_t *high, size_t n, uint32_t *both)
{
	for (size_t j = 0; j < n; j++)
	{
		uint32_t	a = first & low[j];
		uint32_t	b = second & high[j];

		a -= (a >> 1) & UINT32_C(0x55555555);
		b -= (b >> 1) & UINT32_C(0x55555555);
		a = (a & UINT32_C(0x33333333)) + ((a >> 2) & UINT32_C(0x33333333));
		b = (b & UINT32_C(0x33333333)) + ((b >> 2) & UINT32_C(0x33333333));
		a += b;
		a = (a & UINT32_C(0x0F0F0F0F)) + ((a >> 4) & UINT32_C(0x0F0F0F0F));
		both[j] += (a * UINT32_C(0x01010101)) >> 24;
	}
}
