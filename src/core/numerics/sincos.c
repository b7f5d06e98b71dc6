/*
 * sincos.c - sine, cosine and exponential of whole arrays, vectorised.
 *
 *     q = round(h),  r = h - q in [-1/2, 1/2]
 *     sin(pi h) = (-1)^q sin(pi r),  cos(pi h) = (-1)^q cos(pi r)
 *     exp(-t) = 2^p 2^f,  p = round(-t / ln 2),  f in [-1/2, 1/2]
 *
 * Rounding is the addition of 1.5 x 2^(mantissa bits): the integer then lies in
 * the low bits of the sum, its lowest bit is the parity, and the subtraction
 * h - q is exact at any magnitude.  The polynomials are minimax (Remez) in r^2
 * and in f; their errors lie below the rounding of the type.  The loops are
 * plain C that gcc turns into vectors at -O3, once per instruction set.
 * -ffast-math would fold the rounding away and must never be used here.
 */
#include "numerics/sincos.h"

#include <string.h>

#include "base/simd.h"

#define FLOAT_ROUNDER 12582912.0f	/* 1.5 x 2^23 */
#define DOUBLE_ROUNDER 6755399441055744.0	/* 1.5 x 2^52 */

static inline float
flip_float(float x, uint32_t sign)
{
	uint32_t	bits;

	memcpy(&bits, &x, sizeof bits);
	bits ^= sign;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static inline double
flip_double(double x, uint64_t sign)
{
	uint64_t	bits;

	memcpy(&bits, &x, sizeof bits);
	bits ^= sign;
	memcpy(&x, &bits, sizeof x);
	return x;
}

FC_CLONES void
fc_sincos_float(size_t count, float *restrict cosine, float *restrict sine)
{
	for (size_t i = 0; i < count; i++)
	{
		float		shifted = cosine[i] + FLOAT_ROUNDER;
		float		r = cosine[i] - (shifted - FLOAT_ROUNDER);
		float		u = r * r;
		uint32_t	sign;
		float		s;
		float		c;

		memcpy(&sign, &shifted, sizeof sign);
		sign <<= 31;
		s = 0.0776594084651956623f;
		s = s * u - 0.598292159585975451f;
		s = s * u + 2.55007765974673762f;
		s = s * u - 5.16771009033306807f;
		s = s * u + 3.14159264018405142f;
		c = -0.0243967165369615099f;
		c = c * u + 0.234937558900749127f;
		c = c * u - 1.3352120566536518f;
		c = c * u + 4.05870916434129545f;
		c = c * u - 4.93480213722832232f;
		c = c * u + 1.0f;
		cosine[i] = flip_float(c, sign);
		sine[i] = flip_float(s * r, sign);
	}
}

FC_CLONES void
fc_sincos_double(size_t count, double *restrict cosine, double *restrict sine)
{
	for (size_t i = 0; i < count; i++)
	{
		double		shifted = cosine[i] + DOUBLE_ROUNDER;
		double		r = cosine[i] - (shifted - DOUBLE_ROUNDER);
		double		u = r * r;
		uint64_t	sign;
		double		s;
		double		c;

		memcpy(&sign, &shifted, sizeof sign);
		sign <<= 63;
		s = -0.0000211338014832927172;
		s = s * u + 0.000465987168177747168;
		s = s * u - 0.00737036437891245409;
		s = s * u + 0.0821458788252399892;
		s = s * u - 0.599264528826005437;
		s = s * u + 2.5501640398619002;
		s = s * u - 5.16771278004978633;
		s = s * u + 3.14159265358979288;
		c = 4.14959172923649173e-6;
		c = c * u - 0.000104566580758473656;
		c = c * u + 0.00192955628359921911;
		c = c * u - 0.0258068887393535157;
		c = c * u + 0.235330630129808336;
		c = c * u - 1.33526276884346462;
		c = c * u + 4.05871212641649755;
		c = c * u - 4.93480220054467677;
		c = c * u + 1.0;
		cosine[i] = flip_double(c, sign);
		sine[i] = flip_double(s * r, sign);
	}
}

/* exp(-t) for t >= 0; below exp(-708) it is 0. */
static inline __attribute__((always_inline)) double
exp_negative(double t)
{
	double		x = t < 708.0 ? t * -1.44269504088896340736 : -1022.0;
	double		shifted = x + DOUBLE_ROUNDER;
	double		f = x - (shifted - DOUBLE_ROUNDER);
	uint64_t	exponent;
	uint64_t	bits;
	double		y;

	memcpy(&exponent, &shifted, sizeof exponent);
	y = 7.07580408634053043e-9;
	y = y * f + 1.02086907351563465e-7;
	y = y * f + 1.32154224746704043e-6;
	y = y * f + 0.0000152526572577541247;
	y = y * f + 0.00015403530485733079;
	y = y * f + 0.00133335582301695669;
	y = y * f + 0.00961812910756760684;
	y = y * f + 0.0555041086644476872;
	y = y * f + 0.24022650695910221;
	y = y * f + 0.693147180559949983;
	y = y * f + 1.0;
	memcpy(&bits, &y, sizeof bits);
	bits += exponent << 52;
	memcpy(&y, &bits, sizeof y);
	return t < 708.0 ? y : 0.0;
}

FC_CLONES void
fc_damp_double(size_t count, double variance, const double *restrict half_norm,
			   double *restrict cosine, double *restrict sine)
{
	for (size_t i = 0; i < count; i++)
	{
		double		factor = exp_negative(variance * half_norm[i]);

		cosine[i] *= factor;
		sine[i] *= factor;
	}
}

FC_CLONES void
fc_envelope_double(size_t count, double variance, const double *restrict half_norm, double *restrict y)
{
	for (size_t i = 0; i < count; i++)
		y[i] = exp_negative(variance * half_norm[i]);
}
