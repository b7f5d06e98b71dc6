/* drift.c - the null law of the MMD^2 between sketches, and how well centroids explain one */
#include "sketch/drift.h"

#include <math.h>

#include "numerics/gamma.h"

/* ---- moments of the covariance ---- */

/* One sketch as 2 x moments doubles, divided by sqrt(moments). */
static fc_status
normalised(const fc_sketch *sketch, size_t moments, const fc_tick *tick, double *z)
{
	double		factor = 1.0 / sqrt((double) moments);
	fc_status	status = fc_sketch_moments(sketch, tick, z, z + moments);

	for (size_t j = 0; j < 2 * moments; j++)
		z[j] *= factor;
	return status;
}

size_t
fc_null_worksize(size_t parts, size_t moments)
{
	return (parts + 1) * 2 * moments * sizeof(double) + 2 * parts * parts * sizeof(double) + parts * sizeof(double) + 8 * 64;
}

/* Rows used of z (used x length): sqrt(rows of the part) (z_b - mean of all); used is the number of parts with rows. */
static fc_status
centred_parts(const fc_sketch *const *sketches, size_t parts, size_t moments, const fc_tick *tick,
			  double *z, double *mean, double *count, size_t *parts_used)
{
	size_t		length = 2 * moments;
	size_t		used = 0;
	double		total = 0;
	fc_status	status;

	for (size_t j = 0; j < length; j++)
		mean[j] = 0;
	for (size_t b = 0; b < parts; b++)
	{
		if (sketches[b]->weight <= 0)
			continue;
		status = normalised(sketches[b], moments, tick, z + used * length);
		if (status != FC_OK)
			return status;
		count[used] = fc_sketch_total_weight(sketches[b]) * fc_sketch_total_weight(sketches[b]) /
			fc_sketch_weight2(sketches[b]);
		for (size_t j = 0; j < length; j++)
			mean[j] += count[used] * z[used * length + j];
		total += count[used++];
	}
	for (size_t b = 0; b < used; b++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t j = 0; j < length; j++)
			z[b * length + j] = sqrt(count[b]) * (z[b * length + j] - mean[j] / total);
	}
	*parts_used = used;
	return FC_OK;
}

/* Traces of the first three powers of a symmetric matrix (n x n); square is work of the same size. */
static fc_status
power_traces(const double *gram, size_t n, const fc_tick *tick, double *square, double trace[3])
{
	trace[0] = trace[1] = trace[2] = 0;
	for (size_t a = 0; a < n; a++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		trace[0] += gram[a * n + a];
		for (size_t b = 0; b < n; b++)
		{
			double		sum = 0;

			for (size_t c = 0; c < n; c++)
				sum += gram[a * n + c] * gram[b * n + c];
			square[a * n + b] = sum;
			trace[2] += sum * gram[a * n + b];
		}
		trace[1] += square[a * n + a];
	}
	return FC_OK;
}

/*
 * W = sum_b w_b w_b' with N degrees of freedom is Wishart(S, N).  Solve its moments
 *     E tr W^2          = N ((N + 1) s2 + s1^2)
 *     E (tr W)^2        = N (N s1^2 + 2 s2)
 *     E tr W^3          = N ((N^2 + 3 N + 4) s3 + 3 (N + 1) s1 s2 + s1^3)
 *     E tr W tr W^2     = N (4 (N + 1) s3 + (N^2 + N + 4) s1 s2 + N s1^3)
 *     E (tr W)^3        = N (8 s3 + 6 N s1 s2 + N^2 s1^3)
 * for the traces s2 = tr S^2 and s3 = tr S^3.
 */
static fc_null
unbiased(const double trace[3], double n)
{
	double		a = trace[2] / n;
	double		b = trace[0] * trace[1] / n;
	double		c = trace[0] * trace[0] * trace[0] / n;
	double		s1 = trace[0] / n;
	/* the third three equations as rows (s3, s1 s2, s1^3), by Cramer's rule */
	double		m[3][3] = {{n * n + 3 * n + 4, 3 * (n + 1), 1}, {4 * (n + 1), n * n + n + 4, n}, {8, 6 * n, n * n}};
	double		minor0 = m[1][1] * m[2][2] - m[1][2] * m[2][1];
	double		minor1 = m[0][1] * m[2][2] - m[0][2] * m[2][1];
	double		minor2 = m[0][1] * m[1][2] - m[0][2] * m[1][1];
	double		determinant = m[0][0] * minor0 - m[1][0] * minor1 + m[2][0] * minor2;
	fc_null		null;

	null.square = n * n / ((n - 1) * (n + 2)) * (trace[1] / (n * n) - s1 * s1 / n);
	null.cube = (a * minor0 - b * minor1 + c * minor2) / determinant;
	null.square = fmin(fmax(null.square, 1e-6 * s1 * s1), s1 * s1);
	null.cube = fmin(fmax(null.cube, null.square * null.square / s1), pow(null.square, 1.5));
	return null;
}

static fc_status
null_moments(const fc_sketch *const *sketches, size_t parts, const fc_tick *tick, fc_arena *arena, fc_null *null)
{
	size_t		moments = fc_spec_moments(fc_sketch_spec(sketches[0]));
	size_t		length = 2 * moments;
	double	   *z = FC_TAKE(arena, parts * length, double);
	double	   *mean = FC_TAKE(arena, length, double);
	double	   *gram = FC_TAKE(arena, parts * parts, double);
	double	   *square = FC_TAKE(arena, parts * parts, double);
	double	   *count = FC_TAKE(arena, parts, double);
	double		trace[3];
	size_t		used;
	fc_status	status;

	if (z == NULL || mean == NULL || gram == NULL || square == NULL || count == NULL)
		return FC_ENOMEMORY;
	for (size_t b = 1; b < parts; b++)
		if (!fc_spec_same(fc_sketch_spec(sketches[b]), fc_sketch_spec(sketches[0])))
			return FC_EMISMATCH;
	status = centred_parts(sketches, parts, moments, tick, z, mean, count, &used);
	if (status != FC_OK)
		return status;
	if (used < FC_MIN_PARTS)
		return FC_EEMPTY;
	for (size_t a = 0; a < used; a++)
		for (size_t b = 0; b <= a; b++)
		{
			double		sum = 0;

			if (fc_ticked(tick))
				return FC_INTERRUPTED;
			for (size_t j = 0; j < length; j++)
				sum += z[a * length + j] * z[b * length + j];
			gram[a * used + b] = gram[b * used + a] = sum;
		}
	status = power_traces(gram, used, tick, square, trace);
	if (status == FC_OK)
		*null = trace[0] > 0 ? unbiased(trace, (double) (used - 1)) : (fc_null) {0, 0};
	return status;
}

fc_status
fc_null_moments(const fc_sketch *const *sketches, size_t parts, const fc_tick *tick, fc_arena *arena, fc_null *null)
{
	size_t		used = arena->used;
	fc_status	status = null_moments(sketches, parts, tick, arena, null);

	arena->used = used;
	return status;
}

/* ---- the test ---- */

/* Effective number of rows, W^2 / W2. */
static double
effective_rows(const fc_sketch *sketch)
{
	return fc_sketch_total_weight(sketch) * fc_sketch_total_weight(sketch) / fc_sketch_weight2(sketch);
}

/* Of |phi|^2, whose parts a sketch rounds to 2^-22: what is smaller is no spread and no difference. */
#define ROUNDING	1e-6

/* P(sum lambda_i chi^2_1 >= mean + excess), by the three moments. */
static double
tail(double excess, double square, double cube)
{
	double		variance = 2.0 * square;
	double		third = 8.0 * cube;
	double		freedom;
	double		quantile;

	if (!(variance > ROUNDING * ROUNDING))
		return excess > ROUNDING ? 0.0 : 1.0;
	freedom = 8.0 * variance * variance * variance / (third * third);
	quantile = freedom + excess * sqrt(2.0 * freedom / variance);
	return fc_gamma_upper(0.5 * freedom, 0.5 * quantile);
}

fc_status
fc_drift_test(const fc_sketch *training, const fc_sketch *rows, const fc_null *null, const fc_tick *tick, fc_drift *drift)
{
	double		c;
	fc_status	status;

	*drift = (fc_drift) {NAN, NAN, NAN, 0};
	if (training->weight <= 0 || rows->weight <= 0)
		return FC_OK;
	status = fc_sketch_distance(training, rows, tick, &drift->mmd2);
	if (status != FC_OK || isnan(drift->mmd2))
		return status;
	drift->rows = fmin(effective_rows(training), effective_rows(rows));
	c = 1.0 / effective_rows(training) + 1.0 / effective_rows(rows);
	drift->null_sd = c * sqrt(2.0 * null->square);
	drift->p_value = tail(drift->mmd2 / c, null->square, null->cube);
	return FC_OK;
}

/* ---- the fit ---- */

size_t
fc_fit_worksize(const fc_spec *spec)
{
	size_t		moments = fc_spec_moments(spec);

	return (4 * moments + spec->dim + spec->reduced) * sizeof(double) +
		(size_t) spec->frequencies * spec->reduced * sizeof(float) + fc_frequency_worksize(spec) + 8 * 64;
}

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
static fc_status
take_away(const fc_spec *spec, const float *omega, double ratio, const double *y, double weight, double spread,
		  const fc_tick *tick, double *re, double *im)
{
	size_t		n = spec->reduced;

	for (size_t j = 0; j < spec->frequencies; j++)
	{
		double		angle = 0;
		double		norm = 0;
		double		damped;

		if (j % 64 == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
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
	return FC_OK;
}

fc_status
fc_fit_residual(const fc_sketch *sketch, const double *centroids, const double *weights,
				const double *spreads, size_t k, const fc_tick *tick, fc_arena *arena, double *residual)
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
	fc_status	status;

	if (omega == NULL)
		return FC_ENOMEMORY;
	if (sketch->weight <= 0)
		return FC_EEMPTY;
	status = fc_frequencies(spec, arena, tick, omega);
	if (status == FC_OK)
		status = fc_sketch_moments(sketch, tick, re, im);
	if (status != FC_OK)
		return status;
	for (size_t j = 0; j < 2 * moments; j++)
		norm += re[j] * re[j];
	for (size_t j = 0; j < k; j++)
		total += weights[j];
	for (size_t j = 0; j < k; j++)
	{
		reduce(spec, centroids + j * spec->dim, centred, y);
		for (size_t s = 0; s < spec->scales && status == FC_OK; s++)
			status = take_away(spec, omega, spec->sigma / fc_spec_sigmas(spec)[s], y,
							   total > 0 ? weights[j] / total : 1.0 / (double) k, spreads[j] / spec->sigma,
							   tick, re + s * spec->frequencies, im + s * spec->frequencies);
		if (status != FC_OK)
			return status;
	}
	for (size_t j = 0; j < 2 * moments; j++)
		rest += re[j] * re[j];
	*residual = norm > 0 ? sqrt(rest / norm) : 0.0;
	return FC_OK;
}
