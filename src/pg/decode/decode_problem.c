/*
 * decode_problem.c - from a sketch to what a decoder sees, and back.
 *
 * The decoder works in reduced coordinates; centroids are lifted by
 *     x = center + scale (basis' sigma y + what the basis leaves of the mean)
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "decode/decode.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/decode/decode.h"
#include "sketch/layout.h"
#include "sketch/sketch.h"
#include "sketch/spec.h"

/* Which of the spec's sigmas are decoded: one, or all at once. */
static void
choose_scales(const decode_call *call, uint32 *first, uint32 *count)
{
	const double *sigmas = fc_spec_sigmas(call->spec);
	bool		joint = call->decoder == FC_DECODE_AUTO || call->decoder == FC_DECODE_CLOMPR;

	*first = 0;
	*count = joint ? call->spec->scales : 1;
	for (uint32 s = 0; s < call->spec->scales && call->sigma > 0; s++)
		if (fabs(call->sigma / sigmas[s] - 1) < 1e-6)
		{
			*first = s;
			*count = 1;
		}
}

/* Frequencies of the scales chosen, one scale behind the other, and their moments. */
static void
set_moments(decode_call *call)
{
	const double *sigmas = fc_spec_sigmas(call->spec);
	Size		m = call->spec->frequencies;
	Size		n = call->spec->reduced;
	Size		all = fc_spec_moments(call->spec);
	double	   *re;
	uint32		first;
	uint32		count;
	fc_arena	arena;
	float	   *omega;
	float	   *drawn;

	choose_scales(call, &first, &count);
	hold(&call->memory, 2 * all * sizeof(double) + count * m * n * sizeof(float));
	re = palloc_extended(2 * all * sizeof(double), MCXT_ALLOC_HUGE);
	omega = palloc_extended(count * m * n * sizeof(float), MCXT_ALLOC_HUGE);
	arena = hold_arena(&call->memory, m * n * sizeof(float) + fc_frequency_worksize(call->spec) + 64);
	drawn = FC_TAKE(&arena, m * n, float);
	check_status(fc_sketch_moments(call->sketch, &server_tick, re, re + all), &arena);
	check_status(fc_frequencies(call->spec, &arena, &server_tick, drawn), &arena);
	for (Size s = 0; s < count; s++)
		for (Size j = 0; j < m; j++)
		{
			CHECK_FOR_INTERRUPTS();
			for (Size i = j * n; i < (j + 1) * n; i++)
				omega[s * m * n + i] = (float) ((double) drawn[i] * (sigmas[0] / sigmas[first + s]));
		}
	release_arena(&call->memory, &arena);
	call->problem.n = n;
	call->problem.m = count * m;
	call->problem.omega = omega;
	call->problem.z_re = re + first * m;
	call->problem.z_im = re + all + first * m;
	call->problem.bandwidth = sigmas[first] / sigmas[0];
}

/* Mean, deviation and box of the rows in reduced coordinates. */
static void
set_statistics(decode_call *call)
{
	const fc_spec *spec = call->spec;
	const double *scale = fc_spec_scale(spec);
	const double *center = fc_spec_center(spec);
	fc_sketch_parts parts = fc_sketch_open_parts(call->sketch);
	Size		n = spec->reduced;
	Size		first = parts.tracked - n;	/* projected: the reduced dimensions come last */
	bool		reduced = first > 0;
	double	   *mean = palloc(4 * n * sizeof(double));
	double	   *stddev = mean + n;
	double	   *lower = stddev + n;
	double	   *upper = lower + n;

	for (Size i = 0; i < n; i++)
	{
		double		unit = reduced ? 1.0 : spec->sigma * (scale ? scale[i] : 1.0);
		double		origin = reduced ? 0.0 : center[i];

		mean[i] = (fc_sketch_mean(call->sketch, first + i) - origin) / unit;
		stddev[i] = sqrt(fc_sketch_variance(call->sketch, first + i)) / unit;
		lower[i] = -INFINITY;
		upper[i] = INFINITY;
		if (call->sketch->flags & FC_SKETCH_BOUNDS)
		{
			lower[i] = (parts.lower[first + i] - origin) / unit;
			upper[i] = (parts.upper[first + i] - origin) / unit;
		}
	}
	call->problem.clusters = spec->clusters;
	call->problem.mean = mean;
	call->problem.stddev = stddev;
	call->problem.lower = lower;
	call->problem.upper = upper;
	call->problem.rows = fc_sketch_total_weight(call->sketch) * fc_sketch_total_weight(call->sketch) /
		fc_sketch_weight2(call->sketch);
}

static void
set_sample_centroids(decode_call *call)
{
	call->problem.sample_centroids = fc_spec_sample_centroids(call->spec);
	call->problem.sample_centroid_count = call->spec->sample_centroids;
}

static void
set_pilot(decode_call *call, const fc_spec *pilot)
{
	if (!fc_spec_same(pilot, call->spec))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("pilot is not the sketch_spec the sketch was made with"),
				 errhint("Give the very value that sketch_agg got, or leave pilot out.")));
	if (pilot->pilot_rows == 0)
		return;
	call->problem.pilot = fc_spec_pilot(pilot);
	call->problem.pilot_weight = fc_spec_pilot_weight(pilot);
	call->problem.pilot_rows = pilot->pilot_rows;
}

/* Centroids of the option init, as far as the basis sees them. */
static void
set_initial(decode_call *call)
{
	const fc_spec *spec = call->spec;
	const double *scale = fc_spec_scale(spec);
	const double *center = fc_spec_center(spec);
	const float *basis = fc_spec_basis(spec);
	Size		n = spec->reduced;
	double	   *initial = palloc_extended((Size) call->init.rows * n * sizeof(double), MCXT_ALLOC_HUGE);

	for (Size j = 0; j < (Size) call->init.rows; j++)
	{
		double	   *x = call->init.values + j * spec->dim;

		for (Size i = 0; i < spec->dim; i++)
			x[i] = (x[i] - center[i]) / (scale ? scale[i] : 1.0);
		for (Size r = 0; r < n; r++)
		{
			double		y = basis ? 0.0 : x[r];

			for (Size i = 0; basis != NULL && i < spec->dim; i++)
				y += (double) basis[r * spec->dim + i] * x[i];
			initial[j * n + r] = y / spec->sigma;
		}
	}
	call->problem.initial = initial;
	call->problem.initial_count = (Size) call->init.rows;
}

void
build_problem(decode_call *call, const fc_spec *pilot)
{
	fc_init		init = call->options.init;

	set_moments(call);
	set_statistics(call);
	set_sample_centroids(call);
	if (pilot != NULL)
		set_pilot(call, pilot);
	if (call->init.rows > 0)
		set_initial(call);
	if ((init == FC_INIT_SAMPLE || init == FC_INIT_KMEANSPP) && call->problem.pilot_rows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"init\": \"%s\" starts from sample rows, but there are none", call->init.text),
				 errhint("Give pilot => the spec of sketch_spec_agg, which keeps sample rows.")));
}

/* rest (d): the part of the scaled, centred mean that the basis does not see; 0 when outliers set the mean. */
void
prepare_lift(decode_call *call)
{
	const fc_spec *spec = call->spec;
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	Size		d = spec->dim;
	double	   *mean;
	double	   *rest;

	if (basis == NULL)
		return;
	mean = palloc0(2 * d * sizeof(double));
	rest = mean + d;
	call->rest = rest;
	if (call->result.outliers)
		return;
	for (Size i = 0; i < d; i++)
		rest[i] = mean[i] = (fc_sketch_mean(call->sketch, i) - center[i]) / (scale ? scale[i] : 1.0);
	for (Size r = 0; r < spec->reduced; r++)
	{
		double		along = 0;

		for (Size i = 0; i < d; i++)
			along += (double) basis[r * d + i] * mean[i];
		for (Size i = 0; i < d; i++)
			rest[i] -= (double) basis[r * d + i] * along;
	}
}

void
lift_centroid(const decode_call *call, const double *y, double *x)
{
	const fc_spec *spec = call->spec;
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	Size		d = spec->dim;

	for (Size i = 0; i < d; i++)
	{
		double		scaled = basis ? call->rest[i] : y[i] * spec->sigma;

		for (Size r = 0; basis != NULL && r < spec->reduced; r++)
			scaled += (double) basis[r * d + i] * y[r] * spec->sigma;
		x[i] = center[i] + (scale ? scale[i] : 1.0) * scaled;
	}
}

/* Units of x per sigma: the root mean square of the scales. */
double
spread_unit(const fc_spec *spec)
{
	const double *scale = fc_spec_scale(spec);
	double		sum = 0;

	for (Size i = 0; i < spec->dim; i++)
		sum += scale ? scale[i] * scale[i] : 1.0;
	return spec->sigma * sqrt(sum / spec->dim);
}

/* covariance (dim x dim) = scale basis' reduced basis scale, reduced in units of sigma^2. */
void
lift_covariance(const decode_call *call, const double *reduced, double *covariance)
{
	const fc_spec *spec = call->spec;
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	Size		d = spec->dim;
	Size		n = spec->reduced;
	double		unit = spec->sigma * spec->sigma;

	for (Size i = 0; i < d; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size j = 0; j < d; j++)
		{
			double		sum = basis ? 0.0 : reduced[i * n + j];

			for (Size r = 0; basis != NULL && r < n; r++)
				for (Size s = 0; s < n; s++)
					sum += (double) basis[r * d + i] * reduced[r * n + s] * (double) basis[s * d + j];
			covariance[i * d + j] = unit * sum * (scale ? scale[i] * scale[j] : 1.0);
		}
	}
}
