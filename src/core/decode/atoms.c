/*
 * atoms.c - the moments of Gaussian atoms, and the sums made of them.
 *
 *     A_ij = exp(i omega_j . c_i) exp(-v_i |omega_j|^2 / 2)
 *     G    = Re(A A*) / m,   b = Re(A z*) / m,   r = z - alpha' A,   J = mean_j |r_j|^2
 *
 * Everything runs over blocks of FC_FREQUENCY_BLOCK frequencies: one GEMM for the angles,
 * one sincos for the block, one GEMM to reduce it, so that memory is
 * atoms x FC_FREQUENCY_BLOCK whatever m, and the check comes once a block.
 */
#include "decode/internal.h"

#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/sincos.h"

#define ATOMS		((size_t) 1024)	/* whose sines are taken between two checks */

/* Cosines and sines (count x width) of point atoms at frequencies first .. first + width - 1. */
void
fc_point_features(const fc_decoding *d, const double *center, size_t count, size_t first, size_t width,
				  double *cosine, double *sine)
{
	fc_product	p = {.transpose_b = true,.m = count,.n = width,.k = d->n,.alpha = 1.0,
	.lda = d->n,.ldb = d->n,.ldc = width};

	fc_multiply(&p, center, d->omega + first * d->n, cosine);
	for (size_t i = 0, some; i < count; i += some)
	{
		some = smaller(ATOMS, count - i);
		if (i > 0)
			fc_check();
		fc_sincos_double(some * width, cosine + i * width, sine + i * width);
	}
}

/* The same of Gaussian atoms: of their variance, or with model gaussian of the covariance each has. */
void
fc_features(const fc_decoding *d, const double *center, const double *variance, size_t count,
			size_t first, size_t width, double *cosine, double *sine)
{
	fc_point_features(d, center, count, first, width, cosine, sine);
	for (size_t i = 0; variance != NULL && i < count; i++)
		if (variance[i] > 0.0)
			fc_damp_double(width, variance[i], d->half_norm + first, cosine + i * width, sine + i * width);
	for (size_t i = 0; d->envelope != NULL && i < count; i++)
		for (size_t j = 0; j < width; j++)
		{
			cosine[i * width + j] *= d->envelope[i * d->m + first + j];
			sine[i * width + j] *= d->envelope[i * d->m + first + j];
		}
}

/* gram (count^2) = Re(A A*) / m, rhs = Re(A z*) / m; cosine and sine are count x FC_FREQUENCY_BLOCK scratch. */
void
fc_gram(fc_decoding *d, const double *center, const double *variance, size_t count,
		double *cosine, double *sine, double *gram, double *rhs)
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
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, cosine, columns, d->z_re + first, 1, 1.0, rhs, 1);
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, sine, columns, d->z_im + first, 1, 1.0, rhs, 1);
		fc_check();
	}
	fc_mirror_lower(gram, count);
}

/* r -= alpha' A in one block of frequencies. */
static void
subtract_atoms(fc_decoding *d, const fc_mixture *mixture, size_t first, size_t width)
{
	int			rows = (int) mixture->count;
	int			columns = (int) width;

	fc_features(d, mixture->center, mixture->variance, mixture->count, first, width, d->select.cosine, d->select.sine);
	cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.cosine, columns,
				mixture->weight, 1, 1.0, d->r_re + first, 1);
	cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.sine, columns,
				mixture->weight, 1, 1.0, d->r_im + first, 1);
}

/* r = z - alpha' A into d->r_re, d->r_im; returns mean_j |r_j|^2. */
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

/* One more atom: a point at center (n), of no weight yet. */
void
fc_mixture_append(const fc_decoding *d, const double *center, fc_mixture *mixture)
{
	memcpy(mixture->center + mixture->count * d->n, center, d->n * sizeof(double));
	mixture->variance[mixture->count] = 0.0;
	mixture->weight[mixture->count++] = 0.0;
}

void
fc_mixture_remove(const fc_decoding *d, fc_mixture *mixture, size_t atom)
{
	size_t		after = mixture->count - atom - 1;

	memmove(mixture->center + atom * d->n, mixture->center + (atom + 1) * d->n, after * d->n * sizeof(double));
	memmove(mixture->weight + atom, mixture->weight + atom + 1, after * sizeof(double));
	memmove(mixture->variance + atom, mixture->variance + atom + 1, after * sizeof(double));
	mixture->count--;
}

/* The mean of the atoms' variances, by weight. */
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

/* improve.gram and improve.rhs of the mixture. */
void
fc_gram_of_mixture(fc_decoding *d, const fc_mixture *mixture)
{
	fc_gram(d, mixture->center, mixture->variance, mixture->count, d->select.cosine, d->select.sine, d->improve.gram, d->improve.rhs);
}

/* Weights by NNLS against z. */
void
fc_fit_weights(fc_decoding *d, fc_mixture *mixture)
{
	fc_gram_of_mixture(d, mixture);
	fc_nnls(d->improve.gram, d->improve.rhs, mixture->count, d->arena, mixture->weight);
}

size_t
fc_lightest(const fc_mixture *mixture)
{
	size_t		least = 0;

	for (size_t i = 1; i < mixture->count; i++)
		if (mixture->weight[i] < mixture->weight[least])
			least = i;
	return least;
}
