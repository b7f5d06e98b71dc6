/*
 * back_project.c - converts a decoder's centroids to the user's coordinates;
 * see decode.h
 */
#include "decode/decode.h"

#include "numerics/dense.h"
#include "sketch/sketch.h"

/*
 * Sets rest (d values) to t - basis' basis t, where t = (mean - center) /
 * scale; or to 0 if `outliers` is true. `mean` (d values) is work space.
 */
static void
set_rest(const fc_sketch_view *sketch, bool outliers, double *mean,
		 double *rest)
{
	const fc_spec *spec = sketch->spec;
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	size_t		d = spec->dim;

	for (size_t i = 0; i < d; i++)
		rest[i] = mean[i] = outliers ? 0.0
			: (fc_sketch_mean(sketch, i) - center[i]) /
			(scale ? scale[i] : 1.0);
	for (size_t r = 0; !outliers && r < spec->reduced; r++)
	{
		double		along = 0;

		fc_check();
		for (size_t i = 0; i < d; i++)
			along += (double) basis[r * d + i] * mean[i];
		for (size_t i = 0; i < d; i++)
			rest[i] -= (double) basis[r * d + i] * along;
	}
}

static void
scale_basis(const fc_spec *spec, double *scaled)
{
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	size_t		d = spec->dim;

	for (size_t r = 0; r < spec->reduced; r++)
	{
		fc_check();
		for (size_t i = 0; i < d; i++)
			scaled[r * d + i] = spec->sigma * (double) basis[r * d + i] *
				(scale ? scale[i] : 1.0);
	}
}

void
fc_back_project_prepare(const fc_sketch_view *sketch, bool outliers,
						bool covariances, fc_arena *arena,
						fc_back_projection *back)
{
	const fc_spec *spec = sketch->spec;
	size_t		values = covariances ? (size_t) spec->reduced * spec->dim : 0;

	*back = (fc_back_projection)
	{
		.spec = spec
	};
	if (fc_spec_basis(spec) == NULL)
		return;
	back->rest = FC_TAKE(arena, spec->dim, double);
	back->basis = FC_TAKE(arena, values, double);
	back->product = FC_TAKE(arena, values, double);
	set_rest(sketch, outliers, FC_TAKE(arena, spec->dim, double), back->rest);
	if (covariances)
		scale_basis(spec, back->basis);
}

void
fc_back_project_centroid(const fc_back_projection *back, const double *y,
						 double *x)
{
	const fc_spec *spec = back->spec;
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	size_t		d = spec->dim;

	for (size_t i = 0; i < d; i++)
		x[i] = basis ? back->rest[i] : y[i] * spec->sigma;
	for (size_t r = 0; basis != NULL && r < spec->reduced; r++)
	{
		fc_check();
		for (size_t i = 0; i < d; i++)
			x[i] += (double) basis[r * d + i] * y[r] * spec->sigma;
	}
	for (size_t i = 0; i < d; i++)
		x[i] = center[i] + (scale ? scale[i] : 1.0) * x[i];
}

/*
 * Computes the covariance (d x d) for a spec without a basis: each entry of
 * the reduced covariance is scaled by its own factor.
 */
static void
scale_covariance(const fc_spec *spec, const double *reduced, double *covariance)
{
	const double *scale = fc_spec_scale(spec);
	double		unit = spec->sigma * spec->sigma;
	size_t		d = spec->dim;

	for (size_t i = 0; i < d; i++)
	{
		fc_check();
		for (size_t j = 0; j < d; j++)
			covariance[i * d + j] = unit * reduced[i * d + j] *
				(scale ? scale[i] * scale[j] : 1.0);
	}
}

void
fc_back_project_covariance(const fc_back_projection *back,
						   const double *reduced, double *covariance)
{
	const fc_spec *spec = back->spec;
	size_t		d = spec->dim;
	size_t		n = spec->reduced;
	const fc_product inner = {
		.m = n,
		.n = d,
		.k = n,
		.alpha = 1
	};
	const fc_product outer = {
		.transpose_a = true,
		.m = d,
		.n = d,
		.k = n,
		.alpha = 1
	};

	if (fc_spec_basis(spec) == NULL)
	{
		scale_covariance(spec, reduced, covariance);
		return;
	}
	fc_multiply(&inner, reduced, back->basis, back->product);
	fc_multiply(&outer, back->basis, back->product, covariance);
	fc_mirror_lower(covariance, d);
}

double
fc_spread_unit(const fc_spec *spec)
{
	const double *scale = fc_spec_scale(spec);
	double		sum = 0;

	for (size_t i = 0; i < spec->dim; i++)
		sum += scale ? scale[i] * scale[i] : 1.0;
	return spec->sigma * sqrt(sum / spec->dim);
}
