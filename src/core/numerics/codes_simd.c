/* codes_simd.c - vectors in bytes; see codes.h */
#include "numerics/codes.h"

#include "numerics/dense.h"
#include "base/simd.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define BYTE_PRODUCTS		1
#define BYTE_TARGET			"avx512f,avx512bw,avx512vnni"
#elif defined(__aarch64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#include <sys/auxv.h>
#define BYTE_PRODUCTS		1
#define BYTE_TARGET			"arch=armv8.2-a+dotprod"
#endif

#define LANES		16

/* Greatest magnitude of a coordinate in a byte. */
#define MAX_CODE	127.0

/*
 * A vector whose greatest coordinate is at most this fraction of the length of
 * the longest vector is coded as 0, and its length becomes its error bound.
 * The same applies to a row and the row's own length.
 */
#define SMALL	0x1p-30

/*
 * Factor by which bounds are raised, greater than the rounding errors of the
 * floats in them.
 */
#define GENEROUS	(1.0 + 0x1p-18)

bool
fc_codes_are_fast(void)
{
#if defined(BYTE_PRODUCTS) && defined(__aarch64__)
	return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(BYTE_PRODUCTS)
	return __builtin_cpu_supports("avx512vnni") &&
		__builtin_cpu_supports("avx512bw");
#else
	return false;
#endif
}

void
fc_codes_take(fc_arena *arena, size_t k, size_t n, fc_codes *codes)
{
	bool		fast = fc_codes_are_fast();

	codes->k = k;
	codes->capacity = (k + FC_CODES_PANEL - 1) / FC_CODES_PANEL * FC_CODES_PANEL;
	codes->width = (n + 3) / 4 * 4;
	codes->bytes = fast ? FC_TAKE(arena, codes->capacity * codes->width, int8_t)
		: NULL;
	codes->floats = fast ? NULL
		: FC_TAKE(arena, codes->capacity * codes->width, float);
	codes->shift = FC_TAKE(arena, codes->capacity, int32_t);
	codes->half = FC_TAKE(arena, codes->capacity, float);
	codes->scale = FC_TAKE(arena, codes->capacity, float);
	codes->length = FC_TAKE(arena, codes->capacity, float);
	codes->error = FC_TAKE(arena, codes->capacity, float);
	codes->rest = FC_TAKE(arena, codes->capacity, float);
}

static inline void
put(const fc_codes *codes, size_t j, size_t i, int value)
{
	if (codes->bytes != NULL)
		codes->bytes[((j / LANES * (codes->width / 4) + i / 4) * LANES +
					  j % LANES) *
					 4 +
					 i % 4] = (int8_t) value;
	else
		codes->floats[j * codes->width + i] = (float) value;
}

/*
 * Fills vectors j .. capacity - 1, the padding of the last panel, which have
 * half = INFINITY.
 */
static void
close_panel(fc_codes *codes, size_t j)
{
	for (; j < codes->capacity; j++)
	{
		for (size_t i = 0; i < codes->width; i++)
			put(codes, j, i, 0);
		codes->shift[j] = 0;
		codes->half[j] = INFINITY;
		codes->scale[j] = codes->length[j] = codes->error[j] = codes->rest[j] = 0.0f;
	}
}

void
fc_codes_set(fc_codes *codes, size_t j, const double *u, size_t n, double half,
			 double rest, double max)
{
	double		greatest = 0.0;
	double		square = 0.0;
	double		errors = 0.0;
	double		scale;
	int32_t		sum = 0;

	for (size_t i = 0; i < n; i++)
		greatest = fmax(greatest, fabs(u[i]));
	scale = greatest > SMALL * max ? (double) (float) (greatest / MAX_CODE) : 0.0;
	for (size_t i = 0; i < codes->width; i++)
	{
		double		value = i < n ? u[i] : 0.0;
		int			code = (scale > 0.0
							? (int) fmin(fmax(rint(value / scale), -MAX_CODE), MAX_CODE)
							: 0);

		put(codes, j, i, code);
		sum += code;
		square += value * value;
		errors += (value - scale * code) * (value - scale * code);
	}
	codes->shift[j] = 128 * sum;
	codes->half[j] = (float) half;
	codes->scale[j] = (float) scale;
	codes->length[j] = (float) (GENEROUS * sqrt(square));
	codes->error[j] = (float) (GENEROUS * sqrt(errors));
	codes->rest[j] = (float) (GENEROUS * rest);
	if (j + 1 == codes->k)
		close_panel(codes, codes->k);
}

FC_CLONES
static void
round_row(const float *z, size_t n, float inverse, float scale, float *errors,
		  uint8_t *bytes)
{
	float		sum[LANES] = {0};
	size_t		i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++)
		{
			float		code = rintf(z[i + l] * inverse);
			float		error = z[i + l] - scale * code;

			bytes[i + l] = (uint8_t) ((int32_t) code + 128);
			sum[l] += error * error;
		}
	for (; i < n; i++)
	{
		float		code = rintf(z[i] * inverse);
		float		error = z[i] - scale * code;

		bytes[i] = (uint8_t) ((int32_t) code + 128);
		sum[i % LANES] += error * error;
	}
	*errors = 0.0f;
	for (size_t l = 0; l < LANES; l++)
		*errors += sum[l];
}

FC_CLONES
static float
greatest_of(const float *z, size_t n)
{
	float		max[LANES] = {0};
	float		greatest = 0.0f;
	size_t		i = 0;

	for (; FC_GREATER_NEEDS_LANES && i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++)
			max[l] = FC_GREATER(fabsf(z[i + l]), max[l]);
	for (; i < n; i++)
		greatest = FC_GREATER(fabsf(z[i]), greatest);
	for (size_t l = 0; l < LANES; l++)
		greatest = FC_GREATER(max[l], greatest);
	return greatest;
}

fc_coded_row
fc_codes_of_row(const fc_codes *codes, const float *z, size_t n, double length,
				uint8_t *bytes)
{
	fc_coded_row row = {0};
	float		greatest = greatest_of(z, n);
	float		errors;

	memset(bytes, 128, codes->width);
	if (!((double) greatest > SMALL * length))
	{
		row.error = (float) (GENEROUS * length);
		return row;
	}
	row.scale = greatest / (float) MAX_CODE;
	round_row(z, n, (float) MAX_CODE / greatest, row.scale, &errors, bytes);

	/*
	 * The error of a coordinate is computed to within 2^-23 of the
	 * coordinate. A sum of n squares, in any order, has a relative rounding
	 * error of up to n 2^-24.
	 */
	row.error = (float) (GENEROUS * sqrt((double) errors) *
						 (1.0 + (double) n * FC_EXP2_MINUS(24)) +
						 FC_EXP2_MINUS(22) * length);
	row.length = (float) (GENEROUS * (length + (double) row.error));
	return row;
}

/* ---- products ---- */

#ifdef BYTE_PRODUCTS

#define INLINE		static inline __attribute__((always_inline, target(BYTE_TARGET)))
#define FEW_ROWS	4

#ifdef __aarch64__

#define ROWS		FEW_ROWS	/* number of rows multiplied by a group of
								 * vectors; the sums of a row take 4
								 * registers, so all sums take 16 of the 32 */
#define GROUPS		1
#define QUARTERS	(LANES / 4)

/*
 * Returns `sum` plus the dot products of four coordinates of a row with the
 * same coordinates of four vectors. The row's coordinates are quarter `four`
 * of its register.
 */
INLINE		int32x4_t
add_products(int32x4_t sum, int8x16_t row, int four, int8x16_t vectors)
{
	switch (four)
	{
		case 0:
			return vdotq_laneq_s32(sum, vectors, row, 0);
		case 1:
			return vdotq_laneq_s32(sum, vectors, row, 1);
		case 2:
			return vdotq_laneq_s32(sum, vectors, row, 2);
		default:
			return vdotq_laneq_s32(sum, vectors, row, 3);
	}
}

/*
 * Adds to `sum` the dot products of count <= ROWS rows with a group of
 * vectors, over coordinates 0 .. 4 * fours - 1; width is the row stride.
 */
INLINE void
add_coordinates(const uint8_t *rows, size_t width, const int8_t *group,
				size_t count, int fours, int32x4_t sum[ROWS][QUARTERS])
{
	int8x16_t	row[ROWS];

#pragma GCC unroll 4
	for (size_t r = 0; r < count; r++)
	{
		uint8x16_t	bytes = vdupq_n_u8(0);

		memcpy(&bytes, rows + r * width, (size_t) fours * 4);
		row[r] = vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(128)));
	}
#pragma GCC unroll 4
	for (int four = 0; four < fours; four++)
#pragma GCC unroll 4
		for (int q = 0; q < QUARTERS; q++)
		{
			int8x16_t	vectors = vld1q_s8(group + (four * QUARTERS + q) * 16);

#pragma GCC unroll 4
			for (size_t r = 0; r < count; r++)
				sum[r][q] = add_products(sum[r][q], row[r], four, vectors);
		}
}

/*
 * Computes the dot products of count <= ROWS rows (row stride `width`) with a
 * group of vectors; `stride` is the row stride of dots. The instruction takes
 * signed bytes, so 128 is subtracted from the rows and the sums start at
 * `shift` to compensate.
 */
INLINE void
multiply_groups(const uint8_t *rows, size_t width, const int8_t *group,
				const int32_t *shift, size_t count, int32_t *dots,
				size_t stride)
{
	int32x4_t	sum[ROWS][QUARTERS];
	size_t		i = 0;

#pragma GCC unroll 4
	for (size_t r = 0; r < count; r++)
#pragma GCC unroll 4
		for (int q = 0; q < QUARTERS; q++)
			sum[r][q] = vld1q_s32(shift + 4 * q);
	for (; i + 16 <= width; i += 16)
		add_coordinates(rows + i, width, group + i * LANES, count, 4, sum);
	for (; i < width; i += 4)
		add_coordinates(rows + i, width, group + i * LANES, count, 1, sum);
#pragma GCC unroll 4
	for (size_t r = 0; r < count; r++)
#pragma GCC unroll 4
		for (int q = 0; q < QUARTERS; q++)
			vst1q_s32(dots + r * stride + 4 * q, sum[r][q]);
}

#else

#define ROWS		12			/* number of rows multiplied by GROUPS groups
								 * of vectors; 24 of 32 registers hold sums */
#define GROUPS		2			/* number of groups of vectors that are
								 * multiplied by ROWS rows */

/*
 * Emits the instruction directly: the compiler's own pattern for it copies
 * every sum to memory.
 */
INLINE __m512i
add_products(__m512i sum, __m512i row, __m512i vectors)
{
__asm__("vpdpbusd %2, %1, %0":"+v"(sum):"v"(row), "v"(vectors));
	return sum;
}

/*
 * Computes the dot products of count <= ROWS rows (row stride `width`) with
 * GROUPS groups of vectors; `stride` is the row stride of dots.
 */
INLINE void
multiply_groups(const uint8_t *rows, size_t width, const int8_t *groups,
				const int32_t *shift, size_t count, int32_t *dots,
				size_t stride)
{
	__m512i		sum[ROWS][GROUPS];

	(void) shift;

#pragma GCC unroll 12
	for (size_t r = 0; r < count; r++)
#pragma GCC unroll 12
		for (size_t g = 0; g < GROUPS; g++)
			sum[r][g] = _mm512_setzero_si512();
	for (size_t i = 0; i < width; i += 4)
	{
		__m512i		vectors[GROUPS];

#pragma GCC unroll 12
		for (size_t g = 0; g < GROUPS; g++)
			vectors[g] = _mm512_loadu_si512(groups + (g * width + i) * LANES);
#pragma GCC unroll 12
		for (size_t r = 0; r < count; r++)
		{
			int32_t		four;
			__m512i		row;

			memcpy(&four, rows + r * width + i, sizeof(four));
			row = _mm512_set1_epi32(four);
#pragma GCC unroll 12
			for (size_t g = 0; g < GROUPS; g++)
				sum[r][g] = add_products(sum[r][g], row, vectors[g]);
		}
	}
#pragma GCC unroll 12
	for (size_t r = 0; r < count; r++)
#pragma GCC unroll 12
		for (size_t g = 0; g < GROUPS; g++)
			_mm512_storeu_si512(dots + r * stride + g * LANES, sum[r][g]);
}

#endif

__attribute__((target(BYTE_TARGET))) static void
multiply_bytes(const fc_codes *codes, const uint8_t *rows, size_t n,
			   size_t first, size_t count, int32_t *dots)
{
	for (size_t j = 0; j < count; j += GROUPS * LANES)
	{
		const int8_t *groups = codes->bytes + (first + j) * codes->width;
		const int32_t *shift = codes->shift + first + j;
		size_t		r = 0;

		for (; r + ROWS <= n; r += ROWS)
			multiply_groups(rows + r * codes->width, codes->width, groups,
							shift, ROWS, dots + r * count + j, count);
		for (; r + FEW_ROWS <= n; r += FEW_ROWS)
			multiply_groups(rows + r * codes->width, codes->width, groups,
							shift, FEW_ROWS, dots + r * count + j, count);
		for (; r < n; r++)
			multiply_groups(rows + r * codes->width, codes->width, groups,
							shift, 1, dots + r * count + j, count);
	}
}

#endif

/*
 * Computes the dot products in floats. They are exact, because all terms and
 * sums are integers below 2^24.
 */
static void
multiply_floats(const fc_codes *codes, const uint8_t *rows, size_t n,
				size_t first, size_t count, float *work, int32_t *dots)
{
	float	   *products = (float *) dots;

	for (size_t i = 0; i < n * codes->width; i++)
		work[i] = (float) rows[i];
	fc_dots(work, n, codes->floats + first * codes->width, count, codes->width,
			products, count);
	for (size_t i = 0; i < n * count; i++)
	{
		int32_t		whole = (int32_t) products[i];

		memcpy(dots + i, &whole, sizeof(whole));
	}
}

void
fc_codes_multiply(const fc_codes *codes, const uint8_t *rows, size_t n,
				  size_t first, size_t count, float *work, int32_t *dots)
{
#ifdef BYTE_PRODUCTS
	if (codes->bytes != NULL)
	{
		multiply_bytes(codes, rows, n, first, count, dots);
		return;
	}
#endif
	multiply_floats(codes, rows, n, first, count, work, dots);
}

/* ---- bounds ---- */

static inline __attribute__((always_inline))
float
bound(const fc_codes *codes, const fc_coded_row *row, size_t first,
	  size_t count, const int32_t *dots, float *restrict lower,
	  float *lowest_lower, bool whole)
{
	const int32_t *shift = codes->shift + first;
	const float *half = codes->half + first;
	const float *scale = codes->scale + first;
	const float *length = codes->length + first;
	const float *error = codes->error + first;
	const float *rest = codes->rest + first;
	float		min_upper[LANES];
	float		min_lower[LANES];
	float		lowest = INFINITY;

	for (size_t l = 0; l < LANES; l++)
		min_upper[l] = min_lower[l] = INFINITY;
	for (size_t j = 0; j < count; j += LANES)
		for (size_t l = 0; l < LANES; l++)
		{
			float		score = (half[j + l] - (float) (dots[j + l] - shift[j + l]) *
								 (row->scale * scale[j + l]));
			float		reach = (row->error * length[j + l] +
								 row->length * error[j + l] +
								 (whole ? 0.0f : row->rest * rest[j + l]));
			float		upper = score + reach;

			lower[j + l] = score - reach;
			min_upper[l] = FC_LESSER(upper, min_upper[l]);
			min_lower[l] = FC_LESSER(lower[j + l], min_lower[l]);
		}
	*lowest_lower = INFINITY;
	for (size_t l = 0; l < LANES; l++)
	{
		lowest = FC_LESSER(min_upper[l], lowest);
		*lowest_lower = FC_LESSER(min_lower[l], *lowest_lower);
	}
	return lowest;
}

FC_CLONES
float
fc_codes_bound(const fc_codes *codes, const fc_coded_row *row, size_t first,
			   size_t count, const int32_t *dots, float *lower, float *lowest)
{
	return row->rest > 0.0f
		? bound(codes, row, first, count, dots, lower, lowest, false)
		: bound(codes, row, first, count, dots, lower, lowest, true);
}

/* Returns true if one of LANES values is at most `limit`. */
static inline __attribute__((always_inline))
bool
any_within(const float *lower, float limit)
{
#ifdef __aarch64__
	uint32x4_t	any = vdupq_n_u32(0);

	for (size_t l = 0; l < LANES; l += 4)
		any = vorrq_u32(any,
						vcleq_f32(vld1q_f32(lower + l), vdupq_n_f32(limit)));
	return vmaxvq_u32(any) != 0;
#else
	int32_t		any = 0;

	for (size_t l = 0; l < LANES; l++)
		any |= lower[l] <= limit;
	return any != 0;
#endif
}

FC_CLONES
size_t
fc_codes_within(const float *lower, size_t count, float limit, size_t capacity,
				uint32_t *places)
{
	size_t		found = 0;

	for (size_t j = 0; j < count; j += LANES)
	{
		if (!any_within(lower + j, limit))
			continue;
		for (size_t l = 0; l < LANES; l++)
			if (lower[j + l] <= limit)
			{
				if (found < capacity)
					places[found] = (uint32_t) (j + l);
				found++;
			}
	}
	return found;
}
