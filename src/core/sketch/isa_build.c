/*
 * isa_build.c - the inner loops of sketching (isa.h), compiled once per
 * instruction set.
 *
 *     z_j += sum_rows rint(2^22 exp(i pi h)),
 *     h = omega_j . y / pi  (half-turns)
 *
 * Dense frequencies: a tile of ROWS x FC_FREQUENCY_TILE angles stays in
 * registers. Dimension i adds y_i omega_ij to each angle by one fused
 * multiply-add. The order is i = 0 .. n-1 for any tile and vector length, so
 * the angles of a row do not depend on its position in the batch.
 *
 * Structured frequencies: rows are transformed one after the other. H D1 H D2
 * H D3 y (frequency.c) is computed by butterflies in O(p log p).
 *
 * Sincos: n = rint(h) is computed by adding the magic number 1.5 2^23 (exact
 * for |h| < 2^22), and r = h - n is in [-1/2, 1/2]. Minimax polynomials in r
 * have degree 9 (sine, error 3.3e-9) and 8 (cosine, 5.3e-8); the sign is
 * (-1)^n. With rounding, the absolute error is 2e-7.
 *
 * Fixed point: a cosine or sine c plus 3.0 has rint(2^22 c) in its mantissa
 * bits, since floats in [2, 4) have ulp 2^-22. The bits are summed as
 * integers, and the offset is removed at the end. The sums of 64 rows stay
 * below 2^31. They are exact, so the order of rows does not matter.
 */
#include "sketch/isa.h"

#include "base/simd.h"

#if FC_ISA >= 3
#include <immintrin.h>
#endif

#if FC_ISA == 4
#define VECTOR_BYTES 64
#define ROWS 8
#define BUILD fc_sketch_isa_v4
#elif FC_ISA == 3
#define VECTOR_BYTES 32
#define ROWS 2
#define BUILD fc_sketch_isa_v3
#else
#define VECTOR_BYTES 16
#ifdef __aarch64__				/* target with 32 registers */
#define ROWS 2
#else
#define ROWS 1
#endif
#define BUILD fc_sketch_isa_base
#endif

typedef float vfloat
			__attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t vint
			__attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

typedef double vdouble
			__attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int64_t vlong
			__attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef float vhalf
			__attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));

#define LANES		(VECTOR_BYTES / 4)
#define DOUBLES		(VECTOR_BYTES / 8)
#define VECTORS		(FC_FREQUENCY_TILE / LANES)
#define INLINE		static inline __attribute__((always_inline))

/*
 * Forces a product to be rounded here, so that it is not fused with a later
 * sum.
 */
#if defined(__x86_64__)
#define PIN(x) __asm__("" : "+v" (x))
#elif defined(__aarch64__)
#define PIN(x) __asm__("" : "+w" (x))
#else
#define PIN(x) __asm__("" : "+m" (x))
#endif
#define ROUND_MAGIC	0x1.8p23f
#define FIXED_MAGIC	3.0f
#define FIXED_BITS	UINT32_C(0x40400000)	/* bits of the float 3.0f */

/*
 * Coefficients of x, x^3, .. in sin(pi x), and of x^2, x^4, .. in cos(pi x),
 * |x| <= 1/2, in single precision.
 */
#define SINE_1		0x1.921fb4p+1f
#define SINE_3		-0x1.4abbb6p+2f
#define SINE_5		0x1.46676ep+1f
#define SINE_7		-0x1.3232fap-1f
#define SINE_9		0x1.3c4b2ap-4f
#define COSINE_2	-0x1.3bd3b0p+2f
#define COSINE_4	0x1.03bdaap+2f
#define COSINE_6	-0x1.55041ap+0f
#define COSINE_8	0x1.c2b9a2p-3f

#include "sketch/isa_rows.h"
#include "sketch/isa_raw.h"

/*
 * Computes raw cosines and sines, which are the bits of the float 3.0f +
 * value. Subtracting FIXED_BITS gives the integers rint(2^22 value).
 */
INLINE void
sincos_raw(vfloat h, vint *cosine, vint *sine)
{
	vfloat		magic = h + ROUND_MAGIC;
	vfloat		r = h - (magic - ROUND_MAGIC);
	vint		sign = (vint) magic << 31;
	vfloat		r2 = r * r;
	vfloat		s = SINE_9 * r2 + SINE_7;
	vfloat		c = COSINE_8 * r2 + COSINE_6;

	s = s * r2 + SINE_5;
	s = s * r2 + SINE_3;
	s = s * r2 + SINE_1;
	s = s * r;
	c = c * r2 + COSINE_4;
	c = c * r2 + COSINE_2;
	c = c * r2 + 1.0f;
	*sine = (vint) ((vfloat) ((vint) s ^ sign) + FIXED_MAGIC);
	*cosine = (vint) ((vfloat) ((vint) c ^ sign) + FIXED_MAGIC);
}

/*
 * Computes h[r][v], the angles of `rows` rows for one tile of frequencies, in
 * half-turns.
 */
INLINE void
dense_angles(const float *tile, size_t n, const float *y, int rows,
			 vfloat h[][VECTORS])
{
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
			h[r][v] = (vfloat)
		{
			0
		};
	for (size_t i = 0; i < n; i++)
		for (int v = 0; v < VECTORS; v++)
		{
			vfloat		omega = (*(const vfloat *) (tile + i * FC_FREQUENCY_TILE +
													v * LANES));

			for (int r = 0; r < rows; r++)
				h[r][v] = h[r][v] + y[(size_t) r * n + i] * omega;
		}
}

/*
 * Functions that are not inlined on ARM. If they were, gcc would keep the
 * constants of sincos_raw in registers and the sums in memory.
 */
#ifdef __aarch64__
static __attribute__((noinline))
void
angles_of_rows(const float *tile, size_t n, const float *y,
			   vfloat h[ROWS][VECTORS])
{
	vfloat		sums[ROWS][VECTORS];

	dense_angles(tile, n, y, ROWS, sums);
	memcpy(h, sums, sizeof(sums));
}

static __attribute__((noinline))
void
angles_of_row(const float *tile, size_t n, const float *y, vfloat h[VECTORS])
{
	vfloat		sums[1][VECTORS];

	dense_angles(tile, n, y, 1, sums);
	memcpy(h, sums, sizeof(sums));
}

INLINE void
angles(const float *tile, size_t n, const float *y, int rows,
	   vfloat h[ROWS][VECTORS])
{
	if (rows == 1)
		angles_of_row(tile, n, y, h[0]);
	else
		angles_of_rows(tile, n, y, h);
}
#else
#define angles dense_angles
#endif

INLINE void
add_rows(const float *tile, size_t n, const float *y, int rows, float ratio,
		 bool scaled, vint cosines[VECTORS], vint sines[VECTORS])
{
	vfloat		h[ROWS][VECTORS];

	angles(tile, n, y, rows, h);
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < VECTORS; v++)
		{
			vint		c;
			vint		s;

			if (scaled)
			{
				h[r][v] *= ratio;
				PIN(h[r][v]);
			}
			sincos_raw(h[r][v], &c, &s);
			cosines[v] += c;
			sines[v] += s;
		}
}

/*
 * Converts the raw sums over `rows` rows of a tile to integers, and adds them
 * to z[0 .. count).
 */
INLINE void
widen(const vint raw[VECTORS], size_t rows, size_t count, int64_t *z)
{
	uint32_t	lanes[FC_FREQUENCY_TILE];
	uint32_t	offset = (uint32_t) rows * FIXED_BITS;

	memcpy(lanes, raw, sizeof(lanes));
	if (count >= FC_FREQUENCY_TILE)
		for (size_t j = 0; j < FC_FREQUENCY_TILE; j++)
			z[j] += (int32_t) (lanes[j] - offset);
	else
		for (size_t j = 0; j < count; j++)
			z[j] += (int32_t) (lanes[j] - offset);
}

INLINE void
dense_tile(const fc_prepared *prepared, size_t start, const float *y,
		   size_t rows, float ratio, bool scaled, int64_t *z)
{
	const float *tile = prepared->omega + start * prepared->n;
	vint		cosines[VECTORS] = {{0}};
	vint		sines[VECTORS] = {{0}};
	size_t		r = 0;

	for (; r + ROWS <= rows; r += ROWS)
		add_rows(tile, prepared->n, y + r * prepared->n, ROWS, ratio, scaled,
				 cosines, sines);
	for (; r < rows; r++)
		add_rows(tile, prepared->n, y + r * prepared->n, 1, ratio, scaled,
				 cosines, sines);
	widen(cosines, rows, prepared->m - start, z + start);
	widen(sines, rows, prepared->m - start, z + prepared->moments + start);
}

/* ---- coordinates that are mostly 0 ---- */

/*
 * The nonzero coordinates of a row that has few: their indices and values in
 * the scratch space.
 */
typedef struct few_coordinates
{
	uint32_t   *place;
	float	   *value;
	size_t		count;
} few_coordinates;

/*
 * Finds the nonzero coordinates; returns false if there are too many for the
 * scratch space.
 */
INLINE bool
find_few(const fc_prepared *prepared, const float *y, few_coordinates *few)
{
	size_t		max = fc_few_coordinates(prepared->n);

	if (max == 0)
		return false;
	few->place = prepared->scratch;
	few->value = (float *) (few->place + max);
	few->count = 0;
	for (size_t i = 0; i < prepared->n; i++)
		if (y[i] != 0.0f)
		{
			if (few->count == max)
				return false;
			few->place[few->count] = (uint32_t) i;
			few->value[few->count++] = y[i];
		}
	return true;
}

/*
 * Computes the angles of one row as dense_angles does, but leaves out
 * coordinates of 0.
 */
INLINE void
few_angles(const float *tile, const few_coordinates *few, vfloat h[VECTORS])
{
	for (int v = 0; v < VECTORS; v++)
		h[v] = (vfloat)
	{
		0
	};
	for (size_t p = 0; p < few->count; p++)
		for (int v = 0; v < VECTORS; v++)
			h[v] = h[v] +
				few->value[p] *
				*(const vfloat *) (tile +
								   few->place[p] * FC_FREQUENCY_TILE +
								   v * LANES);
}

static void
accumulate_few(const fc_prepared *prepared, const few_coordinates *few,
			   int64_t *z)
{
	for (size_t start = 0; start < prepared->m; start += FC_FREQUENCY_TILE)
	{
		vfloat		h[VECTORS];

		few_angles(prepared->omega + start * prepared->n, few, h);
		for (size_t s = 0; s < prepared->scales; s++)
		{
			vint		cosines[VECTORS];
			vint		sines[VECTORS];

			for (int v = 0; v < VECTORS; v++)
			{
				vfloat		angle = h[v];

				if (prepared->scales > 1)
				{
					angle *= prepared->ratios[s];
					PIN(angle);
				}
				sincos_raw(angle, &cosines[v], &sines[v]);
			}
			widen(cosines, 1, prepared->m - start, z + s * prepared->m + start);
			widen(sines, 1, prepared->m - start,
				  z + prepared->moments + s * prepared->m + start);
		}
	}
}

static void
accumulate_full(const fc_prepared *prepared, const float *y, size_t rows,
				int64_t *z)
{
	if (rows == 0)
		return;
	for (size_t start = 0; start < prepared->m; start += FC_FREQUENCY_TILE)
		if (prepared->scales == 1)
			dense_tile(prepared, start, y, rows, 1.0f, false, z);
		else
			for (size_t s = 0; s < prepared->scales; s++)
				dense_tile(prepared, start, y, rows, prepared->ratios[s], true,
						   z + s * prepared->m);
}

/*
 * Accumulates rows with few nonzero coordinates one by one, and the rows
 * between them together.
 */
static void
accumulate_dense(const fc_prepared *prepared, const float *y, size_t rows,
				 int64_t *z)
{
	few_coordinates few;
	size_t		begin = 0;

	for (size_t r = 0; r < rows; r++)
		if (find_few(prepared, y + r * prepared->n, &few))
		{
			accumulate_full(prepared, y + begin * prepared->n, r - begin, z);
			accumulate_few(prepared, &few, z);
			begin = r + 1;
		}
	accumulate_full(prepared, y + begin * prepared->n, rows - begin, z);
}

/* ---- structured frequencies ---- */

/* Size in bytes of the blocks of a transform, which fit the first-level cache. */
#define BLOCK_BYTES	16384

/*
 * EXCHANGED(v, HALF) returns a vector whose lane l is lane l ^ HALF of v. HALF
 * must be a constant.
 */
#if FC_ISA == 4
#define EXCHANGED(v, HALF) \
	FC_SHUFFLE(vint, v, v, 0 ^ HALF, 1 ^ HALF, 2 ^ HALF, 3 ^ HALF, 4 ^ HALF, 5 ^ HALF, 6 ^ HALF, \
			   7 ^ HALF, 8 ^ HALF, 9 ^ HALF, 10 ^ HALF, 11 ^ HALF, 12 ^ HALF, 13 ^ HALF, \
			   14 ^ HALF, 15 ^ HALF)
#elif FC_ISA == 3
#define EXCHANGED(v, HALF) \
	FC_SHUFFLE(vint, v, v, 0 ^ HALF, 1 ^ HALF, 2 ^ HALF, 3 ^ HALF, 4 ^ HALF, 5 ^ HALF, 6 ^ HALF, \
			   7 ^ HALF)
#else
#define EXCHANGED(v, HALF)	FC_SHUFFLE(vint, v, v, 0 ^ HALF, 1 ^ HALF, 2 ^ HALF, 3 ^ HALF)
#endif

/*
 * Returns the signs of a stage of butterflies within a vector: -1 in lanes l
 * with (l & half) != 0, and 1 in the others.
 */
INLINE vfloat
half_signs(int half)
{
	vfloat		signs = {0};

	for (int l = 0; l < LANES; l++)
		signs[l] = (l & half) != 0 ? -1.0f : 1.0f;
	return signs;
}

/* Computes the stages of the transform within a vector. */
INLINE vfloat
lane_butterflies(vfloat v)
{
	v = EXCHANGED(v, 1) + v * half_signs(1);
	v = EXCHANGED(v, 2) + v * half_signs(2);
#if FC_ISA >= 3
	v = EXCHANGED(v, 4) + v * half_signs(4);
#endif
#if FC_ISA == 4
	v = EXCHANGED(v, 8) + v * half_signs(8);
#endif
	return v;
}

/*
 * Computes three stages of the transform on the eight vectors v[j * half], j =
 * 0 .. 7.
 */
INLINE void
three_stages(vfloat *v, size_t half)
{
	vfloat		x[8];

#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++)
		x[j] = v[j * half];
#pragma GCC unroll 3
	for (size_t apart = 1; apart < 8; apart *= 2)
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			if ((j & apart) == 0)
			{
				vfloat		a = x[j];
				vfloat		b = x[j + apart];

				x[j] = a + b;
				x[j + apart] = a - b;
			}
#pragma GCC unroll 8
	for (size_t j = 0; j < 8; j++)
		v[j * half] = x[j];
}

/*
 * Computes further stages of the transform of `size` vectors. The first of
 * these stages combines vectors at distance `half`. The distance doubles with
 * each stage, and is size / 2 in the last.
 */
INLINE void
butterflies(vfloat *v, size_t half, size_t size)
{
	if (8 * half == size)		/* one pass instead of two */
	{
		for (size_t i = 0; i < half; i++)
			three_stages(v + i, half);
		return;
	}
	for (; 4 * half <= size; half *= 4) /* two stages per pass halve the
										 * memory traffic */
		for (size_t start = 0; start < size; start += 4 * half)
			for (size_t i = start; i < start + half; i++)
			{
				vfloat		a = v[i] + v[i + half];
				vfloat		b = v[i] - v[i + half];
				vfloat		c = v[i + 2 * half] + v[i + 3 * half];
				vfloat		d = v[i + 2 * half] - v[i + 3 * half];

				v[i] = a + c;
				v[i + half] = b + d;
				v[i + 2 * half] = a - c;
				v[i + 3 * half] = b - d;
			}
	for (; half < size; half *= 2)
		for (size_t start = 0; start < size; start += 2 * half)
			for (size_t i = start; i < start + half; i++)
			{
				vfloat		a = v[i];
				vfloat		b = v[i + half];

				v[i] = a + b;
				v[i + half] = a - b;
			}
}

INLINE bool
is_zero(vfloat a, vfloat b, vfloat c, vfloat d)
{
	vlong		bits = (vlong) a | (vlong) b | (vlong) c | (vlong) d;

#if FC_ISA == 4
	return _mm512_test_epi64_mask((__m512i) bits, (__m512i) bits) == 0;
#elif FC_ISA == 3
	return _mm256_testz_si256((__m256i) bits, (__m256i) bits) != 0;
#else
	int64_t		any = 0;

	for (size_t l = 0; l < sizeof(bits) / sizeof(int64_t); l++)
		any |= bits[l];
	return any == 0;
#endif
}

/*
 * Computes the first stages of v = H D v: the stages within vectors, and the
 * first two stages between vectors. Four vectors of zeros, which sparse rows
 * have, are left unchanged.
 */
INLINE void
first_stages(const float *signs, vfloat *v, size_t size)
{
	for (size_t i = 0; i < size; i += 4)
	{
		const vfloat *sign = (const vfloat *) (signs + i * LANES);
		vfloat		x[4];

		if (is_zero(v[i], v[i + 1], v[i + 2], v[i + 3]))
			continue;
#pragma GCC unroll 4
		for (size_t j = 0; j < 4; j++)
			x[j] = lane_butterflies(v[i + j] * sign[j]);
		v[i] = (x[0] + x[1]) + (x[2] + x[3]);
		v[i + 1] = (x[0] - x[1]) + (x[2] - x[3]);
		v[i + 2] = (x[0] + x[1]) - (x[2] + x[3]);
		v[i + 3] = (x[0] - x[1]) - (x[2] - x[3]);
	}
}

/*
 * Computes the first `kept` SIMD vectors of H D v in place. H is the
 * Walsh-Hadamard matrix, D the diagonal matrix of signs, and v has `size` SIMD
 * vectors. kept and size are powers of two. Blocks of `kept` vectors are
 * transformed and then added up, in the order of the whole transform (kept =
 * size), so that the results have the same bits as the whole transform's.
 */
static void
transform(const float *signs, size_t size, size_t kept, vfloat *v)
{
	size_t		block = BLOCK_BYTES / VECTOR_BYTES;

	if (block > kept)
		block = kept;
	for (size_t start = 0; start < size; start += block)
	{
		if (block >= 4)
			first_stages(signs + start * LANES, v + start, block);
		for (size_t i = start; i < start + block && block < 4; i++)
			v[i] = lane_butterflies(v[i] * *(const vfloat *) (signs + i * LANES));
		butterflies(v + start, block < 4 ? 1 : 4, block);
	}
	for (size_t start = 0; start < size && block < kept; start += kept)
		butterflies(v + start, block, kept);
	for (size_t half = kept; half < size; half *= 2)
		for (size_t start = 0; start < size; start += 2 * half)
			for (size_t i = start; i < start + kept; i++)
				v[i] += v[i + half];
}

static void
whole_transform(const float *signs, size_t p, float *v)
{
	transform(signs, p / LANES, p / LANES, (vfloat *) v);
}

/*
 * Adds the integer cosines and sines of one row, whose transform is v, to
 * cosines[j] and sines[j]; each has `vectors` vectors.
 */
INLINE void
structured_sincos(const float *factors, size_t vectors, float ratio,
				  const vfloat *v, vint *cosines, vint *sines)
{
	for (size_t j = 0; j < vectors; j++)
	{
		vint		c;
		vint		s;

		vfloat		h = v[j] * *(const vfloat *) (factors + j * LANES) * ratio;

		PIN(h);
		sincos_raw(h, &c, &s);
		cosines[j] += c - FIXED_BITS;
		sines[j] += s - FIXED_BITS;
	}
}

/*
 * Adds the integer cosines and sines of the rows to z, for one block: the up
 * to p frequencies from `start` on, which share a transform H D1 H D2 H D3.
 * The signs of D1, D2 and D3 follow each other in prepared->signs. The
 * scratch space has p floats for the transform, and p sums of cosines and p
 * of sines for each scale.
 */
static void
structured_block(const fc_prepared *prepared, size_t start, const float *y,
				 size_t rows, int64_t *z)
{
	size_t		p = prepared->padded;
	size_t		n = prepared->n;
	size_t		count = prepared->m - start < p ? prepared->m - start : p;
	size_t		vectors = (count + LANES - 1) / LANES;
	size_t		kept = 1;
	const float *signs = prepared->signs + 3 * start;
	vfloat	   *v = prepared->scratch;
	vint	   *sums = (vint *) v + p / LANES;

	while (kept < vectors)
		kept *= 2;
	for (size_t i = 0; i < 2 * prepared->scales; i++)
		memset(sums + i * (p / LANES), 0, vectors * sizeof(vint));
	for (size_t r = 0; r < rows; r++)
	{
		memcpy(v, y + r * n, n * sizeof(float));
		memset((float *) v + n, 0, (p - n) * sizeof(float));
		transform(signs + 2 * p, p / LANES, p / LANES, v);
		transform(signs + p, p / LANES, p / LANES, v);
		transform(signs, p / LANES, kept, v);
		for (size_t s = 0; s < prepared->scales; s++)
			structured_sincos(prepared->factors + start, vectors,
							  prepared->ratios[s], v,
							  sums + 2 * s * (p / LANES),
							  sums + (2 * s + 1) * (p / LANES));
	}
	for (size_t s = 0; s < prepared->scales; s++)
		for (size_t j = 0; j < count; j++)
		{
			const int32_t *sum = (const int32_t *) sums + 2 * s * p + j;

			z[s * prepared->m + start + j] += sum[0];
			z[prepared->moments + s * prepared->m + start + j] += sum[p];
		}
}

static void
accumulate(const fc_prepared *prepared, const float *y, size_t rows, int64_t *z)
{
	if (prepared->omega != NULL)
		accumulate_dense(prepared, y, rows, z);
	else
		for (size_t start = 0; start < prepared->m; start += prepared->padded)
			structured_block(prepared, start, y, rows, z);
}

static void
weigh(const fc_prepared *prepared, int64_t weight)
{
	size_t		count = 2 * prepared->moments;

	for (int limb = 0; limb < 2; limb++)
	{
		int64_t		w = (limb == 0 ? weight & ((INT64_C(1) << FC_LIMB_BITS) - 1)
						 : weight >> FC_LIMB_BITS);
		int64_t    *z = prepared->limbs + (size_t) limb * count;

		for (size_t j = 0; j < count; j++)
			z[j] += w * prepared->phases[j];
	}
}

static void
quantise(const float *h, size_t count, int32_t *cosine, int32_t *sine)
{
	for (size_t start = 0; start < count; start += LANES)
	{
		size_t		some = count - start < LANES ? count - start : LANES;
		vfloat		lanes = {0};
		vint		c;
		vint		s;

		memcpy(&lanes, h + start, some * sizeof(float));
		sincos_raw(lanes, &c, &s);
		c -= FIXED_BITS;
		s -= FIXED_BITS;
		memcpy(cosine + start, &c, some * sizeof(int32_t));
		memcpy(sine + start, &s, some * sizeof(int32_t));
	}
}

extern const fc_sketch_isa BUILD;

const fc_sketch_isa BUILD = {
	prepare,
	store_raw,
	take_raw,
	take_sparse,
	track,
	accumulate,
	weigh,
	quantise,
	whole_transform
};
