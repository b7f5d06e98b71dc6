/* residual.c - how well centroids explain a sketch */
#include "sketch/residual.h"

#include <math.h>

/* y (n) = basis (x - center) / scale / sigma. */
static void
reduce(const fc_spec *spec, const double *x, double *centred, double *y)
{
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);

	for (size_t i = 0; i < spec->dim; i++)
		centred[i] = (x[i] - center[i]) / (scale ? scale[i] : 1.0) / spec->sigma;
	for (size_t r = 0; r < spec->reduced; r++)
	{
		y[r] = basis ? 0 : centred[r];
		for (size_t i = 0; basis != NULL && i < spec->dim; i++)
			y[r] += (double) basis[r * spec->dim + i] * centred[i];
	}
}

/* z -= weight E phi(N(y, spread^2 I)), for frequencies times ratio; re and im point at these moments. */
static void
take_away(const fc_spec *spec, const float *omega, double ratio, const double *y, double weight, double spread,
		  double *re, double *im)
{
	size_t		n = spec->reduced;

	for (size_t j = 0; j < spec->frequencies; j++)
	{
		double		angle = 0;
		double		norm = 0;
		double		damped;

		if (j % 64 == 0)
			fc_check();
		for (size_t r = 0; r < n; r++)
		{
			double		w = ratio * (double) omega[j * n + r];

			angle += w * y[r];
			norm += w * w;
		}
		damped = weight * exp(-0.5 * norm * spread * spread);
		re[j] -= damped * cos(angle);
		im[j] -= damped * sin(angle);
	}
}

fc_status
fc_fit_residual(const fc_sketch *sketch, const double *centroids, const double *weights,
				const double *spreads, size_t k, fc_arena *arena, double *residual)
{
	const fc_spec *spec = fc_sketch_spec(sketch);
	size_t		moments = fc_spec_moments(spec);
	double	   *re = FC_TAKE(arena, 2 * moments, double);
	double	   *im = re + moments;
	double	   *centred = FC_TAKE(arena, spec->dim, double);
	double	   *y = FC_TAKE(arena, spec->reduced, double);
	float	   *omega = FC_TAKE(arena, (size_t) spec->frequencies * spec->reduced, float);
	double		norm = 0;
	double		rest = 0;
	double		total = 0;

	if (sketch->weight <= 0)
		return FC_EEMPTY;
	fc_frequencies(spec, arena, omega);
	fc_sketch_moments(sketch, re, im);
	for (size_t j = 0; j < 2 * moments; j++)
		norm += re[j] * re[j];
	for (size_t j = 0; j < k; j++)
		total += weights[j];
	for (size_t j = 0; j < k; j++)
	{
		reduce(spec, centroids + j * spec->dim, centred, y);
		for (size_t s = 0; s < spec->scales; s++)
			take_away(spec, omega, spec->sigma / fc_spec_sigmas(spec)[s], y,
							   total > 0 ? weights[j] / total : 1.0 / (double) k, spreads[j] / spec->sigma,
							   re + s * spec->frequencies, im + s * spec->frequencies);
	}
	for (size_t j = 0; j < 2 * moments; j++)
		rest += re[j] * re[j];
	*residual = norm > 0 ? sqrt(rest / norm) : 0.0;
	return FC_OK;
}
