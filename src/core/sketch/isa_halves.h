/*
 * isa_halves.h - loads of `left` numbers of half precision, as those of isa_rows.h: F16C from x86-64-v3 on.
 *
 * A part of isa_build.c, as isa_rows.h.
 */
#ifndef FC_SKETCH_ISA_HALVES_H
#define FC_SKETCH_ISA_HALVES_H

#if FC_ISA == 4
INLINE vdouble
load_halves(const uint16_t *x, size_t left)
{
	__mmask8	mask = left >= DOUBLES ? 0xff : (__mmask8) ((1u << left) - 1);

	return (vdouble) _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_maskz_loadu_epi16(mask, x)));
}
#elif FC_ISA == 3
/* Four halves are 8 bytes; fewer are put together in a register. */
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
	return (vdouble) _mm256_cvtps_pd(_mm_cvtph_ps(_mm_cvtsi64_si128((int64_t) bits)));
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

#endif							/* FC_SKETCH_ISA_HALVES_H */
