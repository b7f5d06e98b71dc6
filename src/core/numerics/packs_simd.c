/* packs_simd.c - the two lowest scores of one row against points packed side by side; see rows.h */
#include "numerics/rows.h"

#include <math.h>
#include <string.h>

#include "base/simd.h"

#define LANES	16
#define VECTORS	(FC_PACKED / LANES)

typedef float vfloat __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t vint __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define choose(mask, a, b)	((vfloat) (((mask) & (vint) (a)) | (~(mask) & (vint) (b))))

/* Each lane takes the lowest two and the label of those and of the lane that is named in its place. */
#define FOLD(...) \
do { \
	vfloat		other = FC_SHUFFLE(vint, low, low, __VA_ARGS__); \
	vfloat		behind = FC_SHUFFLE(vint, next, next, __VA_ARGS__); \
	vint		there = FC_SHUFFLE(vint, label, label, __VA_ARGS__); \
	vint		lower = other < low; \
	vfloat		loser = choose(lower, low, other); \
	low = choose(lower, other, low); \
	next = choose(behind < next, behind, next); \
	next = choose(loser < next, loser, next); \
	label = (lower & there) | (~lower & label); \
} while (0)

size_t
fc_packs_floats(size_t k, size_t d)
{
	return (k + FC_PACKED - 1) / FC_PACKED * FC_PACKED * (d + 1);
}

void
fc_packs_build(const float *values, const float *half_norms, size_t k, size_t d, float *packs)
{
	for (size_t first = 0; first < k; first += FC_PACKED)
		for (size_t c = 0; c <= d; c++)
			for (size_t lane = 0; lane < FC_PACKED; lane++)
			{
				size_t		j = first + lane;

				*packs++ = j >= k ? (c < d ? 0.0f : INFINITY) : c < d ? values[j * d + c] : half_norms[j];
			}
}

FC_CLONES
int32_t
fc_packs_lowest(const float *packs, size_t k, size_t d, const float *x, float *lowest, float *second)
{
	vfloat		low = {0};
	vfloat		next = {0};
	const vint	lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	vint		label = {0};

	low += INFINITY;
	next += INFINITY;
	for (size_t first = 0; first < k; first += FC_PACKED)
	{
		vfloat		dot[VECTORS] = {{0}};

		for (size_t c = 0; c < d; c++, packs += FC_PACKED)
			for (int v = 0; v < VECTORS; v++)
				dot[v] += x[c] * *(const vfloat *) (packs + v * LANES);
		for (int v = 0; v < VECTORS; v++)
		{
			vfloat		score = *(const vfloat *) (packs + v * LANES) - dot[v];
			vint		lower = score < low;
			vfloat		other = choose(lower, low, score);
			vint		here = lanes + (int32_t) (first + (size_t) v * LANES);

			low = choose(lower, score, low);
			next = choose(other < next, other, next);
			label = (lower & here) | (~lower & label);
		}
		packs += FC_PACKED;
	}
	FOLD(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
	FOLD(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
	FOLD(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
	FOLD(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
	*lowest = low[0];
	*second = next[0];
	return label[0];
}
