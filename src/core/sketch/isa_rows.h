/*
 * isa_rows.h - converts one row to the grid and to reduced coordinates.
 *
 *     q = rint(x / u) - shift        grid integers, so that sums are exact; u
 *                                    is the step of the grid (prepared.h)
 *     y = basis (x - center) / scale / sigma
 *
 * Included by isa_build.c, which is compiled once per instruction set and
 * defines the vector types. Row arrays are padded to multiples of FC_PAD with
 * zeros, so the loops have no remainders.
 */
#ifndef FC_SKETCH_ISA_ROWS_H
#define FC_SKETCH_ISA_ROWS_H

/*
 * Functions with intrinsics, except for the conversions from half precision.
 * load_doubles and load_floats load `left` elements, at most one vector, and
 * set the other lanes to 0. They do not read past these elements, and do not
 * copy through memory, because a vector load of bytes just stored one by one
 * stalls. round_vector rounds to the nearest integer. smaller_of and larger_of
 * return the second operand if both are equal. any_out returns true if any
 * lane of a mask is set.
 */
#if FC_ISA == 4
INLINE vdouble
load_doubles(const double *x, size_t left)
{
	__mmask8	mask = left >= DOUBLES ? 0xff : (__mmask8) ((1u << left) - 1);

	return (vdouble) _mm512_maskz_loadu_pd(mask, x);
}

INLINE vdouble
load_floats(const float *x, size_t left)
{
	__mmask8	mask = left >= DOUBLES ? 0xff : (__mmask8) ((1u << left) - 1);

	return (vdouble) _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, x));
}

INLINE vdouble
round_vector(vdouble x)
{
	return (vdouble) _mm512_roundscale_pd((__m512d) x,
										  _MM_FROUND_TO_NEAREST_INT |
										  _MM_FROUND_NO_EXC);
}

INLINE vdouble
smaller_of(vdouble x, vdouble y)
{
	return (vdouble) _mm512_min_pd((__m512d) x, (__m512d) y);
}

INLINE vdouble
larger_of(vdouble x, vdouble y)
{
	return (vdouble) _mm512_max_pd((__m512d) x, (__m512d) y);
}

INLINE bool
any_out(vlong out)
{
	return _mm512_test_epi64_mask((__m512i) out, (__m512i) out) != 0;
}
#elif FC_ISA == 3
static const int64_t tail_mask[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t tail_mask_float[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

INLINE vdouble
load_doubles(const double *x, size_t left)
{
	if (left >= DOUBLES)
		return (vdouble) _mm256_loadu_pd(x);
	return (vdouble)
		_mm256_maskload_pd(x, _mm256_loadu_si256((const __m256i *) (tail_mask +
																	DOUBLES -
																	left)));
}

INLINE vdouble
load_floats(const float *x, size_t left)
{
	__m128i		mask;

	if (left >= DOUBLES)
		left = DOUBLES;
	mask = _mm_loadu_si128((const __m128i *) (tail_mask_float + DOUBLES -
											  left));
	return (vdouble) _mm256_cvtps_pd(_mm_maskload_ps(x, mask));
}

INLINE vdouble
round_vector(vdouble x)
{
	return (vdouble) _mm256_round_pd((__m256d) x, _MM_FROUND_TO_NEAREST_INT |
									 _MM_FROUND_NO_EXC);
}

INLINE vdouble
smaller_of(vdouble x, vdouble y)
{
	return (vdouble) _mm256_min_pd((__m256d) x, (__m256d) y);
}

INLINE vdouble
larger_of(vdouble x, vdouble y)
{
	return (vdouble) _mm256_max_pd((__m256d) x, (__m256d) y);
}

INLINE bool
any_out(vlong out)
{
	return !_mm256_testz_si256((__m256i) out, (__m256i) out);
}
#else
/* The compiler turns a memcpy of constant length into an unaligned load. */
INLINE vdouble
load_doubles(const double *x, size_t left)
{
	vdouble		v = {0};

	if (left >= DOUBLES)
		memcpy(&v, x, sizeof(v));
	else if (left > 0)
		memcpy(&v, x, sizeof(double));
	return v;
}

INLINE vdouble
load_floats(const float *x, size_t left)
{
	vhalf		v = {0};

	if (left >= DOUBLES)
		memcpy(&v, x, sizeof(v));
	else if (left > 0)
		memcpy(&v, x, sizeof(float));
	return FC_WIDEN(vdouble, v);
}

INLINE vdouble
round_vector(vdouble x)
{
	for (int i = 0; i < DOUBLES; i++)
		x[i] = rint(x[i]);
	return x;
}

INLINE vdouble
select_lanes(vlong mask, vdouble yes, vdouble no)
{
	return (vdouble) (((vlong) yes & mask) | ((vlong) no & ~mask));
}

INLINE vdouble
smaller_of(vdouble x, vdouble y)
{
	return select_lanes((vlong) (x < y), x, y);
}

INLINE vdouble
larger_of(vdouble x, vdouble y)
{
	return select_lanes((vlong) (x > y), x, y);
}

INLINE bool
any_out(vlong out)
{
	int64_t		any = 0;

	for (int i = 0; i < DOUBLES; i++)
		any |= out[i];
	return any != 0;
}
#endif

INLINE vlong
outside(vdouble x, double limit)
{
	return ~((vlong) (x <= limit) & (vlong) (x >= -limit));
}

INLINE vlong
beyond(vdouble x, vdouble lowest, vdouble highest)
{
	return ~((vlong) (x >= lowest) & (vlong) (x <= highest));
}

INLINE vlong
below(vdouble x, vdouble y)
{
	return (vlong) (x < y);
}

/* ---- a row times the basis of a projection ---- */

/*
 * Product of a row and the basis of a projection.
 *
 *     y_c = sum over the terms of t_i basis_ic, in the order of the terms
 *
 * The terms are the elements t_i of the row, or only the nonzero ones of a
 * sparse row. Each column c is one chain of fused multiply-adds, for any
 * vector length, so that the bits of y do not depend on the vector length.
 * The sums of up to BASIS_VECTORS vectors of columns stay in registers: 8
 * chains keep two units of latency 4 busy. With several rows, the sums of
 * BASIS_ROWS x BLOCK_VECTORS vectors stay in registers, and the columns of a
 * tile are read from the cache once for each BASIS_ROWS rows.
 */

/* Number of vectors of columns whose sums stay in registers, for one row. */
#define BASIS_VECTORS	8

/*
 * Number of rows that are projected together and share one read of a tile of
 * the basis.
 */
#define BASIS_ROWS	4

#if FC_ISA == 4 || defined(__aarch64__)
#define BLOCK_VECTORS 4
#else							/* targets with 16 registers */
#define BLOCK_VECTORS 2
#endif

typedef struct basis_terms
{
	const double *t;			/* the terms t_i, `count` values */
	const uint32_t *indices;	/* dimensions of the values; NULL: 0 .. count
								 * - 1 */
	size_t		count;
} basis_terms;

INLINE void
project_columns(basis_terms terms, const double *tile, size_t width,
				int vectors, double *y)
{
	vdouble		sum[BASIS_VECTORS];

	for (int v = 0; v < vectors; v++)
		sum[v] = (vdouble)
	{
		0
	};
	for (size_t p = 0; p < terms.count; p++)
	{
		const double *row = (tile +
							 (terms.indices != NULL ? terms.indices[p] : p) *
							 width);

		for (int v = 0; v < vectors; v++)
			sum[v] = sum[v] +
				terms.t[p] * *(const vdouble *) (row + v * DOUBLES);
	}
	for (int v = 0; v < vectors; v++)
		*(vdouble *) (y + v * DOUBLES) = sum[v];
}

/*
 * Calls project_columns with a number of vectors known at compile time, so
 * that the compiler keeps the sums in registers.
 */
INLINE void
project_vectors(basis_terms terms, const double *tile, size_t width,
				size_t vectors, double *y)
{
	switch (vectors)
	{
		case 1:
			project_columns(terms, tile, width, 1, y);
			break;
		case 2:
			project_columns(terms, tile, width, 2, y);
			break;
		case 3:
			project_columns(terms, tile, width, 3, y);
			break;
		case 4:
			project_columns(terms, tile, width, 4, y);
			break;
		case 5:
			project_columns(terms, tile, width, 5, y);
			break;
		case 6:
			project_columns(terms, tile, width, 6, y);
			break;
		case 7:
			project_columns(terms, tile, width, 7, y);
			break;
		default:
			project_columns(terms, tile, width, BASIS_VECTORS, y);
			break;
	}
}

/* Computes y = t basis (fc_padded(n) values), where t are the terms. */
static void
apply_basis(const fc_prepared *prepared, basis_terms terms, double *y)
{
	size_t		width;
	size_t		some;

	for (size_t c = 0; c < fc_padded(prepared->n); c += width)
	{
		const double *tile = prepared->basis + c * prepared->d;

		width = fc_basis_tile(prepared, c);
		for (size_t v = 0; v < width / DOUBLES; v += some)
		{
			some = width / DOUBLES - v < BASIS_VECTORS ? width / DOUBLES - v
				: BASIS_VECTORS;
			if (terms.indices == NULL)
				project_vectors(terms, tile + v * DOUBLES, width, some,
								y + c + v * DOUBLES);
			else
				project_vectors(terms, tile + v * DOUBLES, width, some,
								y + c + v * DOUBLES);
		}
	}
}

/*
 * Multiplies BASIS_ROWS rows t (d values, row stride `stride`) by `vectors`
 * vectors of a tile's columns. Stores the products in y (row stride n).
 */
INLINE void
project_block(const double *t, size_t d, size_t stride, const double *tile,
			  size_t width, size_t vectors, double *y, size_t n)
{
	vdouble		sum[BASIS_ROWS][BLOCK_VECTORS];

	for (size_t r = 0; r < BASIS_ROWS; r++)
		for (size_t v = 0; v < vectors; v++)
			sum[r][v] = (vdouble)
		{
			0
		};
	for (size_t i = 0; i < d; i++)
		for (size_t v = 0; v < vectors; v++)
		{
			vdouble		b = *(const vdouble *) (tile + i * width + v * DOUBLES);

			for (size_t r = 0; r < BASIS_ROWS; r++)
				sum[r][v] = sum[r][v] + t[r * stride + i] * b;
		}
	for (size_t r = 0; r < BASIS_ROWS; r++)
		for (size_t v = 0; v < vectors; v++)
			*(vdouble *) (y + r * n + v * DOUBLES) = sum[r][v];
}

/*
 * Multiplies prepared->centered by one tile of the basis, which begins at
 * column c. Stores the products in the same columns of prepared->projected.
 * `rows`, the number of rows, is a multiple of BASIS_ROWS.
 */
static void
apply_tile(const fc_prepared *prepared, size_t c, size_t rows)
{
	const double *tile = prepared->basis + c * prepared->d;
	size_t		width = fc_basis_tile(prepared, c);
	size_t		d = fc_padded(prepared->d);
	size_t		n = fc_padded(prepared->n);
	size_t		some;

	for (size_t v = 0; v < width; v += some * DOUBLES)
	{
		some = width - v < BLOCK_VECTORS * DOUBLES ? 1 : BLOCK_VECTORS;
		for (size_t r = 0; r < rows; r += BASIS_ROWS)
		{
			const double *t = prepared->centered + r * d;
			double	   *y = prepared->projected + r * n + c + v;

			if (some == BLOCK_VECTORS)	/* constant numbers of vectors keep
										 * the sums in registers */
				project_block(t, prepared->d, d, tile + v, width, BLOCK_VECTORS,
							  y, n);
			else
				project_block(t, prepared->d, d, tile + v, width, 1, y, n);
		}
	}
}

/*
 * Multiplies prepared->centered (rows x fc_padded(d)) by the basis, and stores
 * the products in prepared->projected (rows x fc_padded(n)). Each row gets the
 * same bits as from apply_basis.
 */
static void
apply_basis_rows(const fc_prepared *prepared, size_t rows)
{
	size_t		d = fc_padded(prepared->d);
	size_t		n = fc_padded(prepared->n);
	size_t		whole = rows / BASIS_ROWS * BASIS_ROWS;

	for (size_t c = 0; c < n; c += FC_BASIS_TILE)
		apply_tile(prepared, c, whole);
	for (size_t r = whole; r < rows; r++)
	{
		basis_terms terms = {prepared->centered + r * d, NULL, prepared->d};

		apply_basis(prepared, terms, prepared->projected + r * n);
	}
}

/* ---- rows on the grid and in reduced coordinates ---- */

INLINE vdouble
center_vector(const fc_prepared *prepared, size_t i, vdouble value)
{
	return (value - *(const vdouble *) (prepared->center + i)) *
		*(const vdouble *) (prepared->inverse_scale + i);
}

/*
 * Masks of lanes that exceeded FC_NEAR_Q, FC_FAR_Q or near_y in any vector of
 * a row. row_flags converts them to FC_ROW_... bits.
 */
typedef struct row_excess
{
	vlong		near_q;
	vlong		far_q;
	vlong		near_y;
} row_excess;

INLINE int
row_flags(const row_excess *excess)
{
	return (any_out(excess->near_q) ? FC_ROW_FAR_MOMENTS : 0) |
		(any_out(excess->far_q) ? FC_ROW_INVALID : 0) |
		(any_out(excess->near_y) ? FC_ROW_FAR_PHASE : 0);
}

INLINE vdouble
grid_of(const double *inverse_unit, const double *shift, size_t i,
		vdouble value)
{
	return round_vector(value * *(const vdouble *) (inverse_unit + i)) -
		*(const vdouble *) (shift + i);
}

/*
 * Stores one vector of values and their grid integers, and marks lanes beyond
 * the limits in *excess.
 */
INLINE void
grid_vector(const fc_prepared *prepared, size_t i, vdouble value,
			row_excess *excess)
{
	vdouble		q = grid_of(prepared->inverse_unit, prepared->shift, i, value);

	*(vdouble *) (prepared->value + i) = value;
	*(vdouble *) (prepared->q + i) = q;
	excess->near_q |= outside(q, FC_NEAR_Q);
	excess->far_q |= outside(q, FC_FAR_Q);
}

/*
 * load_halves loads `left` numbers of half precision, at most one vector. The
 * builds x86-64-v3 and v4 use the F16C instructions.
 */
#if FC_ISA == 4
INLINE vdouble
load_halves(const uint16_t *x, size_t left)
{
	__mmask8	mask = left >= DOUBLES ? 0xff : (__mmask8) ((1u << left) - 1);

	return (vdouble) _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_maskz_loadu_epi16(mask,
																		   x)));
}
#elif FC_ISA == 3
/*
 * Loads four numbers of half precision as 8 bytes, or combines fewer numbers
 * in a register.
 */
INLINE vdouble
load_halves(const uint16_t *x, size_t left)
{
	uint64_t	bits = 0;
	uint16_t	half;

	if (left >= DOUBLES)
		memcpy(&bits, x, sizeof(bits));
	else
		for (size_t i = left; i-- > 0;)
		{
			memcpy(&half, (const char *) x + i * sizeof(half), sizeof(half));
			bits = bits << 16 | half;
		}
	return (vdouble)
		_mm256_cvtps_pd(_mm_cvtph_ps(_mm_cvtsi64_si128((int64_t) bits)));
}
#else
INLINE vdouble
load_halves(const uint16_t *x, size_t left)
{
	uint16_t	v[DOUBLES] = {0};
	vdouble		out;

	if (left >= DOUBLES)
		memcpy(v, x, sizeof(v));
	else if (left > 0)
		memcpy(v, x, sizeof(uint16_t));
	for (int i = 0; i < DOUBLES; i++)
		out[i] = (double) fc_float_of_half(v[i]);
	return out;
}
#endif

/*
 * The elements of a row at their original address, at any alignment. Exactly
 * one of the pointers is set.
 */
typedef struct row_elements
{
	const double *doubles;
	const float *floats;
	const uint16_t *halves;
} row_elements;

#define DOUBLES_OF(x)	((row_elements) {.doubles = (x)})
#define FLOATS_OF(x)	((row_elements) {.floats = (x)})
#define HALVES_OF(x)	((row_elements) {.halves = (x)})

/*
 * Returns a vector of the row's elements from i on, with zeros after the end;
 * -0 becomes 0.
 */
INLINE vdouble
load_row(row_elements x, size_t i, size_t d)
{
	size_t		left = d > i ? d - i : 0;

	return (x.doubles != NULL ? load_doubles(x.doubles + i, left)
			: x.floats != NULL ? load_floats(x.floats + i, left)
			: load_halves(x.halves + i, left)) +
		(vdouble)
	{
		0
	};
}

/*
 * Converts a SIMD vector of the values of a row from column i on to reduced
 * coordinates, (value - center) / scale, for a spec without a basis. Returns
 * them, and stores them as floats in y from index i on.
 */
INLINE vdouble
reduce_vector(const double *center, const double *inverse_scale, size_t i,
			  vdouble value, float *y)
{
	vdouble		reduced = ((value - *(const vdouble *) (center + i)) *
						   *(const vdouble *) (inverse_scale + i));

	*(vhalf *) (y + i) = FC_NARROW(vhalf, reduced);
	return reduced;
}

/*
 * Rounds the reduced coordinates `projected` (fc_padded(n) values) to floats
 * in y. Also stores the rounded values and their grid integers in
 * prepared->value and prepared->q, after the d dimensions of the row.
 */
INLINE void
project_reduced(const fc_prepared *prepared, const double *projected, float *y,
				row_excess *excess)
{
	size_t		d = fc_padded(prepared->d);

	for (size_t i = 0; i < fc_padded(prepared->n); i += DOUBLES)
	{
		vdouble		reduced = *(const vdouble *) (projected + i);
		vhalf		rounded = FC_NARROW(vhalf, reduced);
		vdouble		widened = FC_WIDEN(vdouble, rounded) + (vdouble) {0};

		excess->near_y |= outside(reduced, prepared->near_y);
		*(vhalf *) (y + i) = rounded;
		grid_vector(prepared, d + i, widened, excess);
	}
}

INLINE int
prepare_row(const fc_prepared *prepared, row_elements x, float *y)
{
	size_t		d = fc_padded(prepared->d);
	row_excess	excess = {0};

	for (size_t i = 0; i < d; i += DOUBLES)
	{
		vdouble		value = load_row(x, i, prepared->d);

		grid_vector(prepared, i, value, &excess);
		if (prepared->basis == NULL)
			excess.near_y |= outside(reduce_vector(prepared->center,
												   prepared->inverse_scale, i,
												   value, y),
									 prepared->near_y);
		else
			*(vdouble *) (prepared->centered + i) = center_vector(prepared, i,
																  value);
	}
	if (prepared->basis != NULL)
	{
		basis_terms terms = {prepared->centered, NULL, prepared->d};

		apply_basis(prepared, terms, prepared->projected);
		project_reduced(prepared, prepared->projected, y, &excess);
	}
	return row_flags(&excess);
}

static int
prepare(const fc_prepared *prepared, const fc_row *row, float *y)
{
	if (row->floats != NULL)
		return prepare_row(prepared, FLOATS_OF(row->floats), y);
	if (row->halves != NULL)
		return prepare_row(prepared, HALVES_OF(row->halves), y);
	return prepare_row(prepared, DOUBLES_OF(row->doubles), y);
}

/*
 * Adds one vector of the row arrays to the sums. All terms are whole numbers
 * below 2^53, so neither rounding nor fusing matters.
 */
INLINE void
track_vector(double *sums, size_t row, size_t i, vdouble q, vdouble value)
{
	vdouble		a = round_vector(q * FC_EXP2_MINUS(24));
	vdouble		b = q - a * FC_EXP2(24);
	vdouble    *lower = (vdouble *) (sums + 4 * row + i);
	vdouble    *upper = (vdouble *) (sums + 5 * row + i);

	*(vdouble *) (sums + i) += q;
	*(vdouble *) (sums + row + i) += a * a;
	*(vdouble *) (sums + 2 * row + i) += a * b;
	*(vdouble *) (sums + 3 * row + i) += b * b;
	if (any_out(below(value, *lower) | below(*upper, value)))	/* rarely true */
	{
		*lower = smaller_of(value, *lower);
		*upper = larger_of(value, *upper);
	}
}

static void
track(const fc_prepared *prepared, double *sums)
{
	size_t		row = prepared->row;

	for (size_t i = 0; i < row; i += DOUBLES)
		track_vector(sums, row, i, *(const vdouble *) (prepared->q + i),
					 *(const vdouble *) (prepared->value + i));
}

#endif							/* FC_SKETCH_ISA_ROWS_H */
