/*
 * features.c - the moments of Gaussian atoms, and what follows from them.
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
#include "base/pieces.h"
#include "numerics/sincos.h"
#include "base/sizes.h"

#define ATOMS		((size_t) 1024)	/* whose sines are taken between two checks */

/* Cosines and sines (count x width) of point atoms at frequencies first .. first + width - 1. */
fc_status
fc_point_features(const fc_decoding *d, const double *center, size_t count, size_t first, size_t width,
				  double *cosine, double *sine)
{
	fc_product	p = {.transpose_b = true,.m = count,.n = width,.k = d->n,.alpha = 1.0,
	.lda = d->n,.ldb = d->n,.ldc = width};
	fc_status	status = fc_multiply(&p, center, d->omega + first * d->n, cosine);

	for (size_t i = 0, some; i < count && status == FC_OK; i += some)
	{
		some = smaller(ATOMS, count - i);
		if (i > 0)
			fc_check();
		fc_sincos_double(some * width, cosine + i * width, sine + i * width);
	}
	return status;
}

/* The same of Gaussian atoms: of their variance, or with model gaussian of the covariance each has. */
fc_status
fc_features(const fc_decoding *d, const double *center, const double *variance, size_t count,
			size_t first, size_t width, double *cosine, double *sine)
{
	fc_status	status = fc_point_features(d, center, count, first, width, cosine, sine);

	if (status != FC_OK)
		return status;
	for (size_t i = 0; variance != NULL && i < count; i++)
		if (variance[i] > 0.0)
			fc_damp_double(width, variance[i], d->half_norm + first, cosine + i * width, sine + i * width);
	for (size_t i = 0; d->envelope != NULL && i < count; i++)
		for (size_t j = 0; j < width; j++)
		{
			cosine[i * width + j] *= d->envelope[i * d->m + first + j];
			sine[i * width + j] *= d->envelope[i * d->m + first + j];
		}
	return FC_OK;
}

/* gram (count^2) = Re(A A*) / m, rhs = Re(A z*) / m; cosine and sine are count x FC_FREQUENCY_BLOCK scratch. */
fc_status
fc_gram(fc_decoding *d, const double *center, const double *variance, size_t count,
		double *cosine, double *sine, double *gram, double *rhs)
{
	double		scale = 1.0 / (double) d->m;
	int			rows = (int) count;

	fc_status	status = FC_OK;

	fc_clear_pieces(gram, count * count * sizeof(double));
	memset(rhs, 0, count * sizeof(double));
	for (size_t first = 0; first < d->m && status == FC_OK; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		int			columns = (int) width;

		status = fc_features(d, center, variance, count, first, width, cosine, sine);
		if (status == FC_OK)
			status = fc_rank_update(count, width, scale, cosine, gram);
		if (status == FC_OK)
			status = fc_rank_update(count, width, scale, sine, gram);
		if (status != FC_OK)
			return status;
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, cosine, columns, d->z_re + first, 1, 1.0, rhs, 1);
		cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, sine, columns, d->z_im + first, 1, 1.0, rhs, 1);
		fc_check();
	}
	if (status == FC_OK)
		fc_mirror_lower(gram, count);
	return status;
}

/* The residual of one block of frequencies, with atoms in the mixture. */
static fc_status
block_residual(fc_decoding *d, const fc_mixture *mixture, size_t first, size_t width)
{
	int			rows = (int) mixture->count;
	int			columns = (int) width;
	fc_status	status = fc_features(d, mixture->center, mixture->variance, mixture->count, first, width,
									 d->select.cosine, d->select.sine);

	if (status != FC_OK)
		return status;
	cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.cosine, columns,
				mixture->weight, 1, 1.0, d->r_re + first, 1);
	cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, -1.0, d->select.sine, columns,
				mixture->weight, 1, 1.0, d->r_im + first, 1);
	return FC_OK;
}

/* r = z - alpha' A into d->r_re, d->r_im; cost (if wanted) = mean_j |r_j|^2 */
fc_status
fc_residual(fc_decoding *d, const fc_mixture *mixture, double *cost)
{
	double		sum = 0.0;

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		fc_status	status = FC_OK;

		memcpy(d->r_re + first, d->z_re + first, width * sizeof(double));
		memcpy(d->r_im + first, d->z_im + first, width * sizeof(double));
		if (mixture->count > 0)
			status = block_residual(d, mixture, first, width);
		if (status != FC_OK)
			return status;
		for (size_t j = first; j < first + width; j++)
			sum += d->r_re[j] * d->r_re[j] + d->r_im[j] * d->r_im[j];
		fc_check();
	}
	if (cost != NULL)
		*cost = sum / (double) d->m;
	return FC_OK;
}
