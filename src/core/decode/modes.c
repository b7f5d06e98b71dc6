/*
 * modes.c - the modes of the field a residual makes, by batched mean shift.
 *
 *     f_r(c)  = mean_j e_j Re( conj(r_j) exp(i omega_j . c) ),  e_j = exp(-v |omega_j|^2 / 2)
 *     c      <- clip( c + g eta grad f_r(c) / |f_r(c)| ),       eta = n sum e_j / sum e_j |omega_j|^2
 *
 * All starts climb together: an iteration is two GEMMs and one sincos a block of
 * frequencies, in float (the climb needs no more, and its target is refined in
 * double later).  A start's step factor g grows 1.6 times on success and shrinks
 * four times on failure; starts that no longer move leave the batch.
 * e matches the field to atoms of variance v.
 *
 * Cost: starts x m x n a step.  Belhadji, Gribonval 2022 (sketch and shift), s4.
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/sincos.h"

#define STEP_GROWTH 1.6f
#define STEP_LARGEST 16.0f
#define STEP_SHRINK 0.25f
#define MODE_ITERATIONS 30
#define MODE_TOLERANCE 1e-2
#define MODE_RADIUS 0.5			/* modes closer than this times sqrt(eta) are one */

void
fc_shift_take(fc_decoding *d, fc_arena *arena)
{
	fc_shift_work *w = &d->shift;
	size_t		coordinates = d->starts * d->n;

	w->re = FC_TAKE(arena, d->m, float);
	w->im = FC_TAKE(arena, d->m, float);
	w->center = FC_TAKE(arena, coordinates, float);
	w->gradient = FC_TAKE(arena, coordinates, float);
	w->direction = FC_TAKE(arena, coordinates, float);
	w->best = FC_TAKE(arena, coordinates, float);
	w->value = FC_TAKE(arena, d->starts, float);
	w->best_value = FC_TAKE(arena, d->starts, float);
	w->step = FC_TAKE(arena, d->starts, float);
	w->active = FC_TAKE(arena, d->starts, size_t);
	w->cosine = FC_TAKE(arena, d->starts * FC_FREQUENCY_BLOCK, float);
	w->sine = FC_TAKE(arena, d->starts * FC_FREQUENCY_BLOCK, float);
	w->envelope = FC_TAKE(arena, d->m, double);
	w->modes = FC_TAKE(arena, coordinates, double);
	w->height = FC_TAKE(arena, d->starts, double);
	w->order = FC_TAKE(arena, d->starts, size_t);
}

/* eta of the field matched to variance; e in shift.envelope; norm (if wanted) = mean_j e_j^2 */
void
fc_bandwidth(fc_decoding *d, double variance, double *eta, double *norm)
{
	double	   *envelope = d->shift.envelope;
	double		sum = 0.0;
	double		squares = 0.0;
	double		curvature = 0.0;

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		fc_check();
		fc_envelope_double(width, variance, d->half_norm + first, envelope + first);
		for (size_t j = first; j < first + width; j++)
		{
			sum += envelope[j];
			squares += envelope[j] * envelope[j];
			curvature += envelope[j] * 2.0 * d->half_norm[j];
		}
	}
	if (norm != NULL)
		*norm = squares / (double) d->m;
	*eta = curvature > 0.0 ? (double) d->n * sum / curvature : 1.0;
}

/* value = f_r, gradient = grad f_r at the first count packed centers */
static fc_status
evaluate_field(fc_decoding *d, size_t count)
{
	fc_shift_work *w = &d->shift;
	int			rows = (int) count;
	fc_product	angles = {.transpose_b = true,.m = count,.k = d->n,.alpha = 1.0,.lda = d->n,.ldb = d->n};
	fc_product	sums = {.m = count,.n = d->n,.alpha = FC_PI,.beta = 1.0,.ldb = d->n,.ldc = d->n};

	memset(w->value, 0, count * sizeof(float));
	memset(w->gradient, 0, count * d->n * sizeof(float));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		int			columns = (int) width;
		const float *omega = d->omega_float + first * d->n;
		fc_status	status;

		angles.n = angles.ldc = sums.k = sums.lda = width;
		status = fc_multiply_float(&angles, w->center, omega, w->cosine);
		if (status != FC_OK)
			return status;
		fc_sincos_float(count * width, w->cosine, w->sine);
		cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1.0f, w->cosine, columns, w->re + first, 1, 1.0f, w->value, 1);
		cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1.0f, w->sine, columns, w->im + first, 1, 1.0f, w->value, 1);
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < width; j++)
				w->cosine[i * width + j] = w->cosine[i * width + j] * w->im[first + j] -
					w->sine[i * width + j] * w->re[first + j];
		status = fc_multiply_float(&sums, w->cosine, omega, w->gradient);
		if (status != FC_OK)
			return status;
	}
	d->evaluations++;
	return FC_OK;
}

/* Keep or reject the point just evaluated (packed number i of start), propose the next; its distance. */
static double
advance(fc_decoding *d, size_t i, size_t start, double eta)
{
	fc_shift_work *w = &d->shift;
	float	   *center = w->center + i * d->n;
	float	   *best = w->best + start * d->n;
	float	   *direction = w->direction + start * d->n;
	double		moved = 0.0;
	bool		fixed = d->options.step > 0.0;

	if (fixed || w->value[i] >= w->best_value[start])
	{
		float		height = fmaxf(fabsf(w->value[i]), 1e-12f);

		w->best_value[start] = w->value[i];
		memcpy(best, center, d->n * sizeof(float));
		for (size_t l = 0; l < d->n; l++)
			direction[l] = w->gradient[i * d->n + l] / height;
		if (!fixed)
			w->step[start] = fminf(w->step[start] * STEP_GROWTH, STEP_LARGEST);
	}
	else if (!fixed)
		w->step[start] = fmaxf(w->step[start] * STEP_SHRINK, STEP_SHRINK);
	for (size_t l = 0; l < d->n; l++)
	{
		double		next = (double) best[l] + eta * (double) w->step[start] * (double) direction[l];

		center[l] = (float) fc_clip(next, d->lower[l], d->upper[l]);
		moved += ((double) center[l] - (double) best[l]) * ((double) center[l] - (double) best[l]);
	}
	return sqrt(moved / fmax((double) w->step[start], 1.0));
}

/* Climb f_r (r in d->r_re, d->r_im) from all starts; center (starts x n) and value hold the result. */
fc_status
fc_mean_shift(fc_decoding *d, double variance, int iterations, double tolerance, double *center, double *value)
{
	fc_shift_work *w = &d->shift;
	size_t		count = d->starts;
	double		eta;
	fc_status	status = FC_OK;

	fc_bandwidth(d, variance, &eta, NULL);
	if (status != FC_OK)
		return status;
	for (size_t j = 0; j < d->m; j++)
	{
		if (j % FC_CHECKED_MOMENTS == 0)
			fc_check();
		w->re[j] = (float) (d->r_re[j] * w->envelope[j] / (double) d->m);
		w->im[j] = (float) (d->r_im[j] * w->envelope[j] / (double) d->m);
	}
	for (size_t i = 0; i < d->starts; i++)
	{
		w->active[i] = i;
		w->step[i] = d->options.step > 0.0 ? (float) d->options.step : 1.0f;
		w->best_value[i] = -INFINITY;
	}
	for (size_t i = 0; i < d->starts * d->n; i++)
		w->center[i] = (float) center[i];
	for (int iteration = 0; iteration < iterations && count > 0; iteration++)
	{
		size_t		kept = 0;

		status = evaluate_field(d, count);
		if (status != FC_OK)
			return status;
		for (size_t i = 0; i < count; i++)
		{
			size_t		start = w->active[i];

			if (advance(d, i, start, eta) <= tolerance * sqrt(eta))
				continue;
			memmove(w->center + kept * d->n, w->center + i * d->n, d->n * sizeof(float));
			w->active[kept++] = start;
		}
		count = kept;
	}
	for (size_t i = 0; i < d->starts * d->n; i++)
		center[i] = (double) w->best[i];
	for (size_t i = 0; i < d->starts; i++)
		value[i] = (double) w->best_value[i];
	return FC_OK;
}

/* order = the starts by falling value, ties by number (insertion sort: starts are few) */
static void
sort_starts(fc_decoding *d, const double *value)
{
	size_t	   *order = d->shift.order;

	for (size_t i = 0; i < d->starts; i++)
	{
		size_t		place = i;

		for (; place > 0 && value[order[place - 1]] < value[i]; place--)
			order[place] = order[place - 1];
		order[place] = i;
	}
}

/* At most limit distinct modes of positive height of the mixture's residual, into shift.modes, highest first. */
fc_status
fc_find_modes(fc_decoding *d, const fc_mixture *mixture, size_t limit, size_t *found)
{
	fc_shift_work *w = &d->shift;
	double		variance = fc_mixture_variance(mixture);
	double		radius;
	fc_status	status;

	fc_draw_starts(d, mixture, d->starts, d->start);
	status = fc_mean_shift(d, variance, MODE_ITERATIONS, MODE_TOLERANCE, d->start, d->start_value);
	if (status == FC_OK)
		fc_bandwidth(d, variance, &radius, NULL);
	if (status != FC_OK)
		return status;
	radius *= MODE_RADIUS * MODE_RADIUS;
	sort_starts(d, d->start_value);
	*found = 0;
	for (size_t i = 0; i < d->starts && *found < limit; i++)
	{
		const double *candidate = d->start + w->order[i] * d->n;
		size_t		other = 0;

		if (!(d->start_value[w->order[i]] > 0.0))
			break;
		fc_check();
		while (other < *found && fc_squared_distance(candidate, w->modes + other * d->n, d->n) > radius)
			other++;
		if (other < *found)
			continue;
		memcpy(w->modes + *found * d->n, candidate, d->n * sizeof(double));
		w->height[(*found)++] = d->start_value[w->order[i]];
	}
	return FC_OK;
}
