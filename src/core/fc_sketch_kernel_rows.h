/*
 * fc_sketch_kernel_rows.h - bringing one row to the grid and to reduced coordinates.
 *
 *     q = rint(x / u) - shift        integers, so that sums of them are exact
 *     y = basis (x - center) / scale / sigma
 *
 * A part of fc_sketch_kernel.c, which includes it once per instruction set and
 * defines the vector types.  Row arrays are padded to multiples of FC_PAD with
 * zeros, so the loops have no remainders.
 */
#ifndef FC_SKETCH_KERNEL_ROWS_H
#define FC_SKETCH_KERNEL_ROWS_H

/*
 * The one place for intrinsics: loads of `left` elements that neither read past the
 * end nor go through memory (a vector load of bytes just stored piecewise stalls),
 * and rounding to nearest.
 */
#if FC_ISA == 4
INLINE vdouble
load_doubles(const double *x, size_t left)
{
	return left >= DOUBLES ? *(const vdouble *) x : (vdouble) _mm512_maskz_loadu_pd((__mmask8) ((1u << left) - 1), x);
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
	return (vdouble) _mm512_roundscale_pd((__m512d) x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif FC_ISA == 3
static const int64_t tail_mask[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
static const int32_t tail_mask_float[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

INLINE vdouble
load_doubles(const double *x, size_t left)
{
	if (left >= DOUBLES)
		return *(const vdouble *) x;
	return (vdouble) _mm256_maskload_pd(x, _mm256_loadu_si256((const __m256i *) (tail_mask + DOUBLES - left)));
}

INLINE vdouble
load_floats(const float *x, size_t left)
{
	if (left >= DOUBLES)
		left = DOUBLES;
	return (vdouble) _mm256_cvtps_pd(_mm_maskload_ps(x, _mm_loadu_si128((const __m128i *) (tail_mask_float + DOUBLES - left))));
}

INLINE vdouble
round_vector(vdouble x)
{
	return (vdouble) _mm256_round_pd((__m256d) x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#else
INLINE vdouble
load_doubles(const double *x, size_t left)
{
	vdouble		v = {0};

	for (size_t i = 0; i < left && i < DOUBLES; i++)
		v[i] = x[i];
	return v;
}

INLINE vdouble
load_floats(const float *x, size_t left)
{
	vdouble		v = {0};

	for (size_t i = 0; i < left && i < DOUBLES; i++)
		v[i] = (double) x[i];
	return v;
}

INLINE vdouble
round_vector(vdouble x)
{
	for (int i = 0; i < DOUBLES; i++)
		x[i] = rint(x[i]);
	return x;
}
#endif

/* Columns of the basis applied at once, each with its own sums. */
#define BASIS_BLOCKS 4

/* y (fc_padded(n)) = t basis, the dimension outermost; t = (x - center) / scale. */
static void
apply_basis(const fc_plan *plan, double *y)
{
	size_t		n = fc_padded(plan->n);

	for (size_t r = 0; r < n; r += BASIS_BLOCKS * FC_PAD)
	{
		size_t		columns = n - r < BASIS_BLOCKS * FC_PAD ? n - r : BASIS_BLOCKS * FC_PAD;
		double		sum[BASIS_BLOCKS * FC_PAD] = {0};

		for (size_t i = 0; i < plan->d; i++)
		{
			double		t = (plan->value[i] - plan->center[i]) * plan->inverse_scale[i];
			const double *row = plan->basis + i * n + r;

			for (size_t c = 0; c < columns; c += FC_PAD)
				for (size_t lane = 0; lane < FC_PAD; lane++)
					sum[c + lane] += t * row[c + lane];
		}
		memcpy(y + r, sum, columns * sizeof(double));
	}
}

static void
reduce(const fc_plan *plan, double *y)
{
	if (plan->basis != NULL)
		apply_basis(plan, y);
	else
		for (size_t i = 0; i < plan->n; i++)
			y[i] = (plan->value[i] - plan->center[i]) * plan->inverse_scale[i];
}

/*
 * The largest magnitude seen, as bits: for the bits of doubles without their sign the
 * order of integers is that of magnitudes, with infinity and NaN above all others.
 */
INLINE void
keep_largest(vlong *largest, vdouble x)
{
	vlong		bits = (vlong) x & INT64_MAX;
	vlong		larger = bits > *largest;

	*largest = (bits & larger) | (*largest & ~larger);
}

INLINE int64_t
largest_lane(const vlong *bits)
{
	int64_t		lanes[DOUBLES];
	int64_t		largest = 0;

	memcpy(lanes, bits, sizeof(lanes));
	for (int lane = 0; lane < DOUBLES; lane++)
		largest = lanes[lane] > largest ? lanes[lane] : largest;
	return largest;
}

INLINE int64_t
bits_of(double x)
{
	int64_t		bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

INLINE int
row_flags(const vlong *largest_q, const vlong *largest_y, double near_y)
{
	int64_t		q = largest_lane(largest_q);

	return (q > bits_of(FC_NEAR_Q) ? FC_ROW_FAR_MOMENTS : 0) | (q > bits_of(FC_FAR_Q) ? FC_ROW_INVALID : 0) |
		(largest_lane(largest_y) > bits_of(near_y) ? FC_ROW_FAR_PHASE : 0);
}

/* Values and grid integers of one vector, q = rint(x / u) - shift. */
INLINE void
grid_vector(const fc_plan *plan, size_t i, vdouble value, vlong *largest_q)
{
	vdouble		q = round_vector(value * *(const vdouble *) (plan->inverse_unit + i)) -
		*(const vdouble *) (plan->shift + i);

	*(vdouble *) (plan->value + i) = value;
	*(vdouble *) (plan->q + i) = q;
	keep_largest(largest_q, q);
}

/* plan: a copy on the stack, or every store would make the compiler load its pointers again. */
INLINE int
prepare_row(const fc_plan plan, const double *doubles, const float *floats, float *y)
{
	size_t		d = fc_padded(plan.d);
	vlong		largest_q = {0};
	vlong		largest_y = {0};

	for (size_t i = 0; i < d; i += DOUBLES)
	{
		size_t		left = plan.d > i ? plan.d - i : 0;
		vdouble		value = doubles != NULL ? load_doubles(doubles + i, left) : load_floats(floats + i, left);

		value += (vdouble) {0};	/* -0 and 0 are one value */
		grid_vector(&plan, i, value, &largest_q);
		if (plan.basis == NULL)
		{
			vdouble		reduced = (value - *(const vdouble *) (plan.center + i)) * *(const vdouble *) (plan.inverse_scale + i);

			keep_largest(&largest_y, reduced);
			*(vhalf *) (y + i) = __builtin_convertvector(reduced, vhalf);
		}
	}
	if (plan.basis != NULL)
	{
		apply_basis(&plan, plan.value + d);
		for (size_t i = 0; i < fc_padded(plan.n); i += DOUBLES)
		{
			vdouble		reduced = *(const vdouble *) (plan.value + d + i);
			vhalf		rounded = __builtin_convertvector(reduced, vhalf);

			keep_largest(&largest_y, reduced);
			*(vhalf *) (y + i) = rounded;
			grid_vector(&plan, d + i, __builtin_convertvector(rounded, vdouble) + (vdouble) {0}, &largest_q);
		}
	}
	return row_flags(&largest_q, &largest_y, plan.near_y);
}

static int
prepare(const fc_plan *plan, const double *x, float *y)
{
	return prepare_row(*plan, x, NULL, y);
}

static int
prepare_float(const fc_plan *plan, const float *x, float *y)
{
	return prepare_row(*plan, NULL, x, y);
}

INLINE vdouble
select_lanes(vlong mask, vdouble yes, vdouble no)
{
	return (vdouble) (((vlong) yes & mask) | ((vlong) no & ~mask));
}

static void
track(const fc_plan *plan, double *sums)
{
	size_t		row = plan->row;

	for (size_t i = 0; i < row; i += DOUBLES)
	{
		vdouble		q = *(const vdouble *) (plan->q + i);
		vdouble		value = *(const vdouble *) (plan->value + i);
		vdouble    *sum = (vdouble *) (sums + i);
		vdouble    *square = (vdouble *) (sums + row + i);
		vdouble    *lower = (vdouble *) (sums + 2 * row + i);
		vdouble    *upper = (vdouble *) (sums + 3 * row + i);

		*sum += q;
		*square += round_vector(q * q * 0x1p-24);
		*lower = select_lanes((vlong) (value < *lower), value, *lower);
		*upper = select_lanes((vlong) (value > *upper), value, *upper);
	}
}

#endif							/* FC_SKETCH_KERNEL_ROWS_H */
