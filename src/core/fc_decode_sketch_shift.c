/*
 * fc_decode_sketch_shift.c - sketch-and-shift with point atoms.
 *
 *     for t = 1 .. 2k: climb f_r from L starts, the highest point joins C;
 *                      alpha = argmin over alpha >= 0 of ||z - alpha' A(C)||;  r = z - alpha' A(C)
 *     keep the k largest alpha
 *
 * Starts are pilot rows, or uniform in the box: their number must then grow with
 * box volume / sigma^n, or none begins on a slope.
 *
 * Cost: 2k L m n a step.  Belhadji, Gribonval 2022, algorithm 2 (Dirac model).
 */
#include "fc_decode_internal.h"

#include <string.h>

#include "fc_nnls.h"

#define SHIFT_ITERATIONS 100
#define SHIFT_TOLERANCE 1e-3

static fc_status
add_highest(fc_decoding *d, fc_mixture *mixture)
{
	size_t		best = 0;
	fc_status	status;

	fc_draw_starts(d, d->starts, d->start);
	status = fc_mean_shift(d, 0.0, SHIFT_ITERATIONS, SHIFT_TOLERANCE, d->start, d->start_value);
	if (status != FC_OK)
		return status;
	for (size_t i = 1; i < d->starts; i++)
		if (d->start_value[i] > d->start_value[best])
			best = i;
	memcpy(mixture->center + mixture->count * d->n, d->start + best * d->n, d->n * sizeof(double));
	mixture->variance[mixture->count++] = 0.0;
	return FC_OK;
}

static fc_status
fit_and_subtract(fc_decoding *d, fc_mixture *mixture, double *cost)
{
	fc_improve_work *w = &d->improve;
	fc_status	status = fc_gram(d, mixture->center, mixture->variance, mixture->count,
								 d->select.cosine, d->select.sine, w->gram, w->rhs);

	if (status == FC_OK)
		status = fc_nnls(w->gram, mixture->count, w->rhs, mixture->count, NULL, d->tick, d->arena, mixture->weight);
	return status == FC_OK ? fc_residual(d, mixture, cost) : status;
}

fc_status
fc_sketch_shift(fc_decoding *d, fc_mixture *mixture, double *cost)
{
	fc_status	status;

	mixture->count = 0;
	status = fc_residual(d, mixture, cost);
	while (status == FC_OK && mixture->count < (size_t) d->options.rounds)
	{
		status = add_highest(d, mixture);
		if (status == FC_OK)
			status = fit_and_subtract(d, mixture, cost);
	}
	while (status == FC_OK && mixture->count > d->k)
	{
		size_t		least = 0;

		for (size_t i = 1; i < mixture->count; i++)
			if (mixture->weight[i] < mixture->weight[least])
				least = i;
		fc_mixture_remove(d, mixture, least);
	}
	return status == FC_OK ? fc_residual(d, mixture, cost) : status;
}
