/*
 * lowest_simd.c - the lowest of many scores: of products that are there, and of one row with packs of points; see rows.h
 *
 * Lanes keep their own lowest, second lowest and place, and are compared at the end.
 */
#include "numerics/rows.h"

#include <math.h>

#include "base/simd.h"

#define VECTOR_LANES	(FC_VECTOR_BYTES / 4)
#define INLINE		static inline __attribute__((always_inline))
#define choose(mask, a, b)	(((mask) & (a)) | (~(mask) & (b)))

typedef float vfloat __attribute__((vector_size(FC_VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t vint __attribute__((vector_size(FC_VECTOR_BYTES), aligned(4), may_alias));
typedef float vfloat4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t vint4 __attribute__((vector_size(16), aligned(4), may_alias));

/* ---- of scores ---- */

/* A score enters a lane's two lowest. */
INLINE void
enter(vfloat score, vint place, vfloat *low, vfloat *next, vint *argument)
{
	vint		better = score < *low;
	vfloat		loser = (vfloat) choose(better, (vint) *low, (vint) score);
	vint		closer = loser < *next;

	*low = (vfloat) choose(better, (vint) score, (vint) *low);
	*argument = choose(better, place, *argument);
	*next = (vfloat) choose(closer, (vint) loser, (vint) *next);
}

FC_CLONES
void
fc_two_lowest(const float *dots, const float *half_norms, size_t count, size_t first,
			  float *lowest, float *second, int32_t *label)
{
	vfloat		low = (vfloat) {0} + INFINITY;
	vfloat		next = low;
	vint		argument = (vint) {0};
	vint		place = FC_LANE_NUMBERS;
	size_t		j = 0;

	place += (int32_t) first;
	for (; j + VECTOR_LANES <= count; j += VECTOR_LANES, place += VECTOR_LANES)
		enter(*(const vfloat *) (half_norms + j) - *(const vfloat *) (dots + j), place, &low, &next, &argument);
	for (size_t lane = 0; j < count; j++, lane++)
	{
		vfloat		score = (vfloat) {0} + INFINITY;

		score[lane] = half_norms[j] - dots[j];
		enter(score, place, &low, &next, &argument);
	}
	for (size_t lane = 0; lane < VECTOR_LANES; lane++)
	{
		*second = fminf(*second, fminf(next[lane], fmaxf(low[lane], *lowest)));
		if (low[lane] < *lowest)
		{
			*lowest = low[lane];
			*label = argument[lane];
		}
	}
}

INLINE float
lower(float a, float b)
{
	return a < b ? a : b;
}

INLINE float
fold_min(vfloat low)
{
	vfloat4		left = *(const vfloat4 *) &low;

	for (int i = 4; i < VECTOR_LANES; i += 4)
	{
		vfloat4		right = *((const vfloat4 *) &low + i / 4);

		left = (vfloat4) choose(left < right, (vint4) left, (vint4) right);
	}
	return lower(lower(left[0], left[2]), lower(left[1], left[3]));
}

INLINE int32_t
fold_sum(vint sum)
{
	vint4		four = *(const vint4 *) &sum;

	for (int i = 4; i < VECTOR_LANES; i += 4)
		four += *((const vint4 *) &sum + i / 4);
	return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Rounded up, so that no candidate is lost. */
INLINE float
threshold_of(float lowest, double bound)
{
	float		sum = (float) ((double) lowest + bound);

	return sum + fabsf(sum) * 0x1p-23f + 0x1p-149f;
}

FC_CLONES
size_t
fc_count_lowest(const float *dots, const float *half_norms, size_t count, double bound,
				float *lowest, int32_t *label)
{
	size_t		whole = count / VECTOR_LANES * VECTOR_LANES;
	vfloat		low = (vfloat) {0} + INFINITY;
	vint		place = FC_LANE_NUMBERS;
	vint		found = {0};
	vint		sum = {0};
	float		least;
	float		threshold;
	int32_t		total = 0;
	int32_t		where = 0;

	for (size_t j = 0; j < whole; j += VECTOR_LANES)
	{
		vfloat		score = *(const vfloat *) (half_norms + j) - *(const vfloat *) (dots + j);

		low = (vfloat) choose(score < low, (vint) score, (vint) low);
	}
	least = fold_min(low);
	for (size_t j = whole; j < count; j++)
		least = lower(half_norms[j] - dots[j], least);
	threshold = threshold_of(least, bound);
	for (size_t j = 0; j < whole; j += VECTOR_LANES, place += VECTOR_LANES)
	{
		vint		near = ~(*(const vfloat *) (half_norms + j) - *(const vfloat *) (dots + j) > threshold);

		found -= near;
		sum += near & place;
	}
	for (size_t j = whole; j < count; j++)
	{
		bool		near = !(half_norms[j] - dots[j] > threshold);

		total += near;
		where += near ? (int32_t) j : 0;
	}
	*lowest = least;
	*label = where + fold_sum(sum);
	return (size_t) (total + fold_sum(found));
}

/* ---- of one row with packs ---- */

#define LANES	16
#define VECTORS	(FC_PACKED / LANES)

typedef float vwide __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t vwide_int __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define choose_wide(mask, a, b)	((vwide) choose(mask, (vwide_int) (a), (vwide_int) (b)))

/* Each lane takes the lowest two and the label of those and of the lane that is named in its place. */
#define FOLD(...) \
do { \
	vwide		other = FC_SHUFFLE(vwide_int, low, low, __VA_ARGS__); \
	vwide		behind = FC_SHUFFLE(vwide_int, next, next, __VA_ARGS__); \
	vwide_int		there = FC_SHUFFLE(vwide_int, label, label, __VA_ARGS__); \
	vwide_int		lower = other < low; \
	vwide		loser = choose_wide(lower, low, other); \
	low = choose_wide(lower, other, low); \
	next = choose_wide(behind < next, behind, next); \
	next = choose_wide(loser < next, loser, next); \
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
	vwide		low = {0};
	vwide		next = {0};
	const vwide_int	lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	vwide_int		label = {0};

	low += INFINITY;
	next += INFINITY;
	for (size_t first = 0; first < k; first += FC_PACKED)
	{
		vwide		dot[VECTORS] = {{0}};

		for (size_t c = 0; c < d; c++, packs += FC_PACKED)
			for (int v = 0; v < VECTORS; v++)
				dot[v] += x[c] * *(const vwide *) (packs + v * LANES);
		for (int v = 0; v < VECTORS; v++)
		{
			vwide		score = *(const vwide *) (packs + v * LANES) - dot[v];
			vwide_int		lower = score < low;
			vwide		other = choose_wide(lower, low, score);
			vwide_int		here = lanes + (int32_t) (first + (size_t) v * LANES);

			low = choose_wide(lower, score, low);
			next = choose_wide(other < next, other, next);
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
