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

/* q = rint(x / u) - shift of one vector; near and far collect lanes within the limits (NaN is not). */
INLINE void
grid_vector(const fc_plan *plan, size_t i, vdouble value, vlong *near, vlong *far)
{
	vdouble		q = round_vector(value * *(const vdouble *) (plan->inverse_unit + i)) -
		*(const vdouble *) (plan->shift + i);

	*(vdouble *) (plan->value + i) = value;
	*(vdouble *) (plan->q + i) = q;
	*near &= (vlong) (q <= FC_NEAR_Q) & (vlong) (q >= -FC_NEAR_Q);
	*far &= (vlong) (q <= FC_FAR_Q) & (vlong) (q >= -FC_FAR_Q);
}

INLINE bool
all_lanes(const vlong *mask)
{
	int64_t		lanes[DOUBLES];
	int64_t		all = -1;

	memcpy(lanes, mask, sizeof(lanes));
	for (int lane = 0; lane < DOUBLES; lane++)
		all &= lanes[lane];
	return all != 0;
}

/* Reduced coordinates of one vector of values, as floats; phase collects lanes within the limit. */
INLINE void
phase_vector(vdouble reduced, float *y, vlong *phase)
{
	vhalf		rounded = __builtin_convertvector(reduced, vhalf);

	*phase &= (vlong) (reduced <= FC_NEAR_Y) & (vlong) (reduced >= -FC_NEAR_Y);
	*(vhalf *) y = rounded;
}

INLINE int
prepare_row(const fc_plan *plan, const double *doubles, const float *floats, float *y)
{
	const vlong all = (vlong) ((vdouble) {0} == (vdouble) {0});
	size_t		d = fc_padded(plan->d);
	vlong		near = all;
	vlong		far = all;
	vlong		phase = all;

	for (size_t i = 0; i < d; i += DOUBLES)
	{
		size_t		left = plan->d > i ? plan->d - i : 0;
		vdouble		value = doubles != NULL ? load_doubles(doubles + i, left) : load_floats(floats + i, left);

		grid_vector(plan, i, value, &near, &far);
		if (plan->basis == NULL)
			phase_vector((value - *(const vdouble *) (plan->center + i)) * *(const vdouble *) (plan->inverse_scale + i),
						 y + i, &phase);
	}
	if (plan->basis != NULL)
	{
		apply_basis(plan, plan->value + d);
		for (size_t i = 0; i < fc_padded(plan->n); i += DOUBLES)
		{
			vdouble		reduced = *(const vdouble *) (plan->value + d + i);

			phase_vector(reduced, y + i, &phase);
			grid_vector(plan, d + i, __builtin_convertvector(*(const vhalf *) (y + i), vdouble), &near, &far);
		}
	}
	return (all_lanes(&near) ? 0 : FC_ROW_FAR_MOMENTS) | (all_lanes(&far) ? 0 : FC_ROW_INVALID) |
		(all_lanes(&phase) ? 0 : FC_ROW_FAR_PHASE);
}

static int
prepare(const fc_plan *plan, const double *x, float *y)
{
	return prepare_row(plan, x, NULL, y);
}

static int
prepare_float(const fc_plan *plan, const float *x, float *y)
{
	return prepare_row(plan, NULL, x, y);
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
