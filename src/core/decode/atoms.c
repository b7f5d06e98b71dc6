/*
 * atoms.c - the moments of Gaussian atoms; their Gram matrix and residual.
 *
 *     A_ij = exp(i omega_j . c_i) exp(-v_i |omega_j|^2 / 2)
 *                             moment j of atom i, with center c_i, variance v_i
 *     G    = Re(A A*) / m     Gram matrix of the atoms
 *     b    = Re(A z*) / m     correlations of the atoms with the moments z
 *     r    = z - alpha' A     residual for weights alpha
 *     J    = mean_j |r_j|^2   cost
 *
 * All functions work on blocks of FC_FREQUENCY_BLOCK frequencies: one GEMM
 * for the angles of the block, one sincos, and one GEMM for the sums. The
 * memory is therefore atoms x FC_FREQUENCY_BLOCK for any m, and the interrupt
 * check runs once per block.
 */
#include "decode/internal.h"

#include "base/blas.h"
#include "base/simd.h"
#include "numerics/dense.h"

/*
 * Number of atoms whose sines are computed between two interrupt checks. A
 * larger number delays a cancel. A guess.
 */
#define ATOMS	((size_t) 1024)

/*
 * Computes cosines and sines (count x width) of point atoms at frequencies
 * first .. first + width - 1.
 */
void
fc_point_features(const fc_decoding *d, const double *center, size_t count,
				  size_t first, size_t width, double *cosine, double *sine)
{
	fc_product	p = {
		.transpose_b = true,
		.m = count,
		.n = width,
		.k = d->n,
		.alpha = 1.0
	};

	fc_multiply(&p, center, d->omega + first * d->n, cosine);
	for (size_t i = 0, some; i < count; i += some)
	{
		some = smaller(ATOMS, count - i);
		if (i > 0)
			fc_check();
		fc_sincos_double(some * width, cosine + i * width, sine + i * width);
	}
}

/*
 * Computes the features (cosine and sine, count x width each) of `count` atoms
 * at the `width` frequencies from `first` on. The features of atom i are
 * damped by variance[i], unless variance is NULL. With model gaussian, they
 * are also damped by the covariance matrix of the atom (d->envelope).
 */
void
fc_features(const fc_decoding *d, const double *center, const double *variance,
			size_t count, size_t first, size_t width, double *cosine,
			double *sine)
{
	fc_point_features(d, center, count, first, width, cosine, sine);
	for (size_t i = 0; variance != NULL && i < count; i++)
		if (variance[i] > 0.0)
			fc_damp_double(width, variance[i], d->half_norm + first,
						   cosine + i * width, sine + i * width);
	for (size_t i = 0; d->envelope != NULL && i < count; i++)
		for (size_t j = 0; j < width; j++)
		{
			cosine[i * width + j] *= d->envelope[i * d->m + first + j];
			sine[i * width + j] *= d->envelope[i * d->m + first + j];
		}
}

/*
 * Computes gram (count x count) = Re(A A*) / m and rhs = Re(A z*) / m. cosine
 * and sine are scratch space of count x FC_FREQUENCY_BLOCK values.
 */
void
fc_gram(fc_decoding *d, const double *center, const double *variance,
		size_t count, double *cosine, double *sine, double *gram, double *rhs)
{
	double		scale = 1.0 / (double) d->m;
	int			rows = (int) count;

	memset(gram, 0, count * count * sizeof(double));
	memset(rhs, 0, count * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		int			columns = (int) width;

		fc_features(d, center, variance, count, first, width, cosine, sine);
		fc_rank_update(count, width, scale, cosine, gram);
		fc_rank_update(count, width, scale, sine, gram);
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, cosine,
					columns, d->z_re + first, 1, 1.0, rhs, 1);
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, sine,
					columns, d->z_im + first, 1, 1.0, rhs, 1);
		fc_check();
	}
	fc_mirror_lower(gram, count);
}

/* Computes r -= alpha' A in one block of frequencies. */
static void
subtract_atoms(fc_decoding *d, const fc_mixture *mixture, size_t first,
			   size_t width)
{
	int			rows = (int) mixture->count;
	int			columns = (int) width;

	fc_features(d, mixture->center, mixture->variance, mixture->count, first,
				width, d->select.cosine, d->select.sine);
	cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0,
				d->select.cosine, columns, mixture->weight, 1, 1.0,
				d->r_re + first, 1);
	cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.sine,
				columns, mixture->weight, 1, 1.0, d->r_im + first, 1);
}

/* Computes r = z - alpha' A into d->r_re, d->r_im; returns mean_j |r_j|^2. */
double
fc_residual(fc_decoding *d, const fc_mixture *mixture)
{
	double		sum = 0.0;

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		memcpy(d->r_re + first, d->z_re + first, width * sizeof(double));
		memcpy(d->r_im + first, d->z_im + first, width * sizeof(double));
		if (mixture->count > 0)
			subtract_atoms(d, mixture, first, width);
		for (size_t j = first; j < first + width; j++)
			sum += d->r_re[j] * d->r_re[j] + d->r_im[j] * d->r_im[j];
		fc_check();
	}
	return sum / (double) d->m;
}

void
fc_mixture_take(const fc_decoding *d, fc_arena *arena, fc_mixture *mixture)
{
	mixture->count = 0;
	mixture->center = FC_TAKE(arena, d->atoms * d->n, double);
	mixture->weight = FC_TAKE(arena, d->atoms, double);
	mixture->variance = FC_TAKE(arena, d->atoms, double);
}

void
fc_mixture_copy(const fc_decoding *d, const fc_mixture *from, fc_mixture *to)
{
	to->count = from->count;
	memcpy(to->center, from->center, from->count * d->n * sizeof(double));
	memcpy(to->weight, from->weight, from->count * sizeof(double));
	memcpy(to->variance, from->variance, from->count * sizeof(double));
}

/* Appends a point atom at center (n values), with weight 0. */
void
fc_mixture_append(const fc_decoding *d, const double *center,
				  fc_mixture *mixture)
{
	memcpy(mixture->center + mixture->count * d->n, center,
		   d->n * sizeof(double));
	mixture->variance[mixture->count] = 0.0;
	mixture->weight[mixture->count++] = 0.0;
}

void
fc_mixture_remove(const fc_decoding *d, fc_mixture *mixture, size_t atom)
{
	size_t		after = mixture->count - atom - 1;

	memmove(mixture->center + atom * d->n, mixture->center + (atom + 1) * d->n,
			after * d->n * sizeof(double));
	memmove(mixture->weight + atom, mixture->weight + atom + 1,
			after * sizeof(double));
	memmove(mixture->variance + atom, mixture->variance + atom + 1,
			after * sizeof(double));
	mixture->count--;
}

/* Returns the weighted mean of the atoms' variances, 0 without atoms. */
double
fc_mixture_variance(const fc_mixture *mixture)
{
	double		sum = 0.0;
	double		total = 0.0;

	for (size_t i = 0; i < mixture->count; i++)
	{
		double		weight = mixture->weight[i] + 1e-12;

		sum += weight * mixture->variance[i];
		total += weight;
	}
	return total > 0.0 ? sum / total : 0.0;
}

/*
 * Computes the Gram matrix (improve.gram) of the mixture's atoms and their
 * correlations with the moments (improve.rhs).
 */
void
fc_gram_of_mixture(fc_decoding *d, const fc_mixture *mixture)
{
	fc_gram(d, mixture->center, mixture->variance, mixture->count,
			d->select.cosine, d->select.sine, d->improve.gram, d->improve.rhs);
}

/* Fits the weights to the moments by non-negative least squares (NNLS). */
void
fc_fit_weights(fc_decoding *d, fc_mixture *mixture)
{
	fc_gram_of_mixture(d, mixture);
	fc_nnls(d->improve.gram, d->improve.rhs, mixture->count, d->arena,
			mixture->weight);
}

size_t
fc_lightest(const fc_mixture *mixture)
{
	size_t		min = 0;

	for (size_t i = 1; i < mixture->count; i++)
		if (mixture->weight[i] < mixture->weight[min])
			min = i;
	return min;
}

/* ---- sine, cosine and exponential of whole arrays, vectorised ---- */

/*
 *     q = round(h),  r = h - q in [-1/2, 1/2]
 *     sin(pi h) = (-1)^q sin(pi r),  cos(pi h) = (-1)^q cos(pi r)
 *     exp(-t) = 2^p 2^f,  p = round(-t / ln 2),  f in [-1/2, 1/2]
 *
 * Rounding is the addition of 1.5 x 2^(mantissa bits). The sum then holds the
 * integer q in its low bits, and the lowest bit is the parity of q. The
 * subtraction h - q is exact at any magnitude. The polynomials are minimax
 * (Remez) in r^2 and in f; their errors are below the rounding of the type.
 * The loops are plain C that gcc turns into vectors at -O3, once per
 * instruction set. -ffast-math would fold the rounding away and must never be
 * used here.
 */

/* 1.5 x 2^23: added and subtracted, it rounds a float to an integer. */
#define FLOAT_ROUNDER	12582912.0f

/* 1.5 x 2^52: added and subtracted, it rounds a double to an integer. */
#define DOUBLE_ROUNDER	6755399441055744.0

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

/* Returns exp(-t) for t >= 0; 0 for t >= 708. */
static inline __attribute__((always_inline))
double
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
fc_envelope_double(size_t count, double variance,
				   const double *restrict half_norm, double *restrict y)
{
	for (size_t i = 0; i < count; i++)
		y[i] = exp_negative(variance * half_norm[i]);
}
