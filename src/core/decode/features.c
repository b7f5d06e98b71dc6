/*
 * features.c - the moments of Gaussian atoms, and what follows from them.
 *
 *     A_ij = exp(i omega_j . c_i) exp(-v_i |omega_j|^2 / 2)
 *     G    = Re(A A*) / m,   b = Re(A z*) / m,   r = z - alpha' A,   J = mean_j |r_j|^2
 *
 * Everything runs over blocks of FC_FREQUENCY_BLOCK frequencies: one GEMM for the angles,
 * one sincos for the block, one GEMM to reduce it, so that memory is
 * atoms x FC_FREQUENCY_BLOCK whatever m, and the tick comes once a block.
 */
#include "decode/internal.h"

#include <string.h>

#include "base/blas.h"
#include "numerics/sincos.h"

/* Cosines and sines (count x width) of point atoms at frequencies first .. first + width - 1. */
void
fc_point_features(const fc_decoding *d, const double *center, size_t count, size_t first, size_t width,
				  double *cosine, double *sine)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, (int) width, (int) d->n, 1.0,
				center, (int) d->n, d->omega + first * d->n, (int) d->n, 0.0, cosine, (int) width);
	fc_sincos_double(count * width, cosine, sine);
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

static void
mirror_lower(double *gram, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			gram[i * count + j] = gram[j * count + i];
}

/* gram (count^2) = Re(A A*) / m, rhs = Re(A z*) / m; cosine and sine are count x FC_FREQUENCY_BLOCK scratch. */
fc_status
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
		cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, rows, columns, scale, cosine, columns, 1.0, gram, rows);
		cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, rows, columns, scale, sine, columns, 1.0, gram, rows);
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, cosine, columns, d->z_re + first, 1, 1.0, rhs, 1);
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, sine, columns, d->z_im + first, 1, 1.0, rhs, 1);
		if (fc_ticked(d->tick))
			return FC_INTERRUPTED;
	}
	mirror_lower(gram, count);
	return FC_OK;
}

/* r = z - alpha' A into d->r_re, d->r_im; cost (if wanted) = mean_j |r_j|^2 */
fc_status
fc_residual(fc_decoding *d, const fc_mixture *mixture, double *cost)
{
	double		sum = 0.0;
	int			rows = (int) mixture->count;

	memcpy(d->r_re, d->z_re, d->m * sizeof(double));
	memcpy(d->r_im, d->z_im, d->m * sizeof(double));
	for (size_t first = 0; first < d->m && mixture->count > 0; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		int			columns = (int) width;

		fc_features(d, mixture->center, mixture->variance, mixture->count, first, width,
					d->select.cosine, d->select.sine);
		cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.cosine, columns,
					mixture->weight, 1, 1.0, d->r_re + first, 1);
		cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.sine, columns,
					mixture->weight, 1, 1.0, d->r_im + first, 1);
		if (fc_ticked(d->tick))
			return FC_INTERRUPTED;
	}
	for (size_t j = 0; j < d->m; j++)
		sum += d->r_re[j] * d->r_re[j] + d->r_im[j] * d->r_im[j];
	if (cost != NULL)
		*cost = sum / (double) d->m;
	return FC_OK;
}
