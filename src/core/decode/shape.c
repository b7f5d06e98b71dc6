/*
 * shape.c - Gaussian atoms with a covariance of their own, read off the sketch.
 *
 *     H = (grad f grad f' - f Hess f) / f^2      at a mode c of f = f_z
 *     Sigma_c = H^-1 - s^2 I                     s the bandwidth of the kernel of f
 *     atom_j = exp(i omega_j . c) exp(-omega_j' Sigma_c omega_j / 2)
 *
 * H is minus the Hessian of log f.  Around an isolated Gaussian cluster f is a Gaussian of
 * covariance Sigma_c + s^2 I, whose log has that Hessian.  A direction in which Sigma_c comes out
 * negative by less than s^2 / 2 has no width (a constant column, noise); when c is no mode, or f
 * is narrower than its kernel by more, the atom is a point.  Needs frequencies of the law `gaussian`, for which f is a density
 * smoothed by a Gaussian kernel.
 *
 * Cost: m n^2 an atom.  Belhadji, Gribonval 2024 (sketch and shift), appendix B.
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"

#define NARROWEST_VARIANCE_RATIO 0.5	/* of the kernel's variance, by which noise may narrow f */

void
fc_shape_take(fc_decoding *d, fc_arena *arena)
{
	size_t		square = d->n * d->n;

	if (d->options.model != FC_MODEL_GAUSSIAN)
		return;
	d->envelope = FC_TAKE(arena, d->atoms * d->m, double);
	d->covariance = FC_TAKE(arena, d->atoms * square, double);
	d->best_covariance = FC_TAKE(arena, d->atoms * square, double);
}

/* f, its gradient (n) and Hessian (n x n) of the sketch itself at c. */
static fc_status
local_shape(fc_decoding *d, const double *c, double *f, double *gradient, double *hessian)
{
	fc_improve_work *w = &d->improve;
	double		scale = 1.0 / (double) d->m;
	double	   *cosine = d->select.cosine;
	double	   *sine = d->select.sine;
	int			n = (int) d->n;

	*f = 0.0;
	memset(gradient, 0, d->n * sizeof(double));
	memset(hessian, 0, d->n * d->n * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		const double *omega = d->omega + first * d->n;

		fc_point_features(d, c, 1, first, width, cosine, sine);
		for (size_t j = 0; j < width; j++)
		{
			double		re = d->z_re[first + j];
			double		im = d->z_im[first + j];
			double		q = cosine[j] * re + sine[j] * im;

			*f += scale * q;
			cosine[j] = cosine[j] * im - sine[j] * re;
			for (size_t l = 0; l < d->n; l++)
				w->scaled[j * d->n + l] = q * omega[j * d->n + l];
		}
		cblas_dgemv(CblasRowMajor, CblasTrans, (int) width, n, scale * FC_PI, omega, n, cosine, 1, 1.0, gradient, 1);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (int) width, -scale * FC_PI * FC_PI,
					w->scaled, n, omega, n, 1.0, hessian, n);
		if (fc_ticked(d->tick))
			return FC_INTERRUPTED;
	}
	return FC_OK;
}

/* covariance (n x n) from H (destroyed): all zero, and false, when H is not that of a mode. */
static bool
covariance_of(fc_decoding *d, double *h, double *covariance)
{
	fc_improve_work *w = &d->improve;
	double	   *values = w->eigen_work + w->eigen_size;
	double		bandwidth = (d->problem->bandwidth > 0.0 ? d->problem->bandwidth : 1.0) / d->unit;
	int			n = (int) d->n;
	int			info = 0;

	memset(covariance, 0, d->n * d->n * sizeof(double));
	dsyevd_("V", "L", &n, h, &n, values, w->eigen_work, &w->eigen_size, w->eigen_iwork, &w->eigen_isize, &info);
	if (info != 0)
		return false;
	for (size_t i = 0; i < d->n; i++)
	{
		if (!(values[i] > 0.0) || !(1.0 / values[i] > NARROWEST_VARIANCE_RATIO * bandwidth * bandwidth))
			return false;
		values[i] = fmax(1.0 / values[i] - bandwidth * bandwidth, 0.0);
	}
	for (size_t i = 0; i < d->n; i++)
		cblas_dscal(n, sqrt(values[i]), h + i * d->n, 1);
	cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, n, 1.0, h, n, 0.0, covariance, n);
	for (size_t i = 0; i < d->n; i++)
		for (size_t j = i + 1; j < d->n; j++)
			covariance[i * d->n + j] = covariance[j * d->n + i];
	return true;
}

/* envelope (m) of the atom: exp(-omega' Sigma omega / 2), 1 for a point. */
static fc_status
fill_envelope(fc_decoding *d, const double *covariance, double *envelope)
{
	int			n = (int) d->n;

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		const double *omega = d->omega + first * d->n;

		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int) width, n, n, 1.0, omega, n,
					covariance, n, 0.0, d->improve.scaled, n);
		for (size_t j = 0; j < width; j++)
			envelope[first + j] = exp(-0.5 * FC_PI * FC_PI *
									  cblas_ddot(n, d->improve.scaled + j * d->n, 1, omega + j * d->n, 1));
		if (fc_ticked(d->tick))
			return FC_INTERRUPTED;
	}
	return FC_OK;
}

fc_status
fc_shape_atom(fc_decoding *d, const double *c, size_t atom)
{
	double	   *covariance = d->covariance + atom * d->n * d->n;
	double	   *h = d->improve.hessian;
	double	   *gradient = d->improve.direction;
	double		f;
	bool		peaked;
	fc_status	status = local_shape(d, c, &f, gradient, h);

	if (status != FC_OK)
		return status;
	peaked = f > 0.0;
	for (size_t i = 0; i < d->n; i++)
		for (size_t j = 0; j < d->n && peaked; j++)
			h[i * d->n + j] = (gradient[i] * gradient[j] - f * h[i * d->n + j]) / (f * f);
	if (!peaked || !covariance_of(d, h, covariance))
		memset(covariance, 0, d->n * d->n * sizeof(double));
	return fill_envelope(d, covariance, d->envelope + atom * d->m);
}

void
fc_shape_remove(const fc_decoding *d, size_t count, size_t atom)
{
	size_t		square = d->n * d->n;
	size_t		after = count - atom - 1;

	if (d->options.model != FC_MODEL_GAUSSIAN)
		return;
	memmove(d->envelope + atom * d->m, d->envelope + (atom + 1) * d->m, after * d->m * sizeof(double));
	memmove(d->covariance + atom * square, d->covariance + (atom + 1) * square, after * square * sizeof(double));
}
