/*
 * sketch_shift.c - sketch-and-shift.
 *
 *     for t = 1 .. T: climb f_r from L starts, the highest point joins C;
 *                     alpha = argmin over alpha >= 0 of ||z - alpha' A(C)||;  r = z - alpha' A(C)
 *     keep the k largest alpha
 *     polish: (C, alpha) <- a local minimum of the cost, as wide as the clusters (refine.c); exchanges (improve.c)
 *
 * T = 2k.  Atoms are points (model dirac) or Gaussians whose covariance is read off the
 * sketch at the mode (model gaussian, shape.c).  The discretized variant takes the
 * highest of the L starts without climbing.
 *
 * Without polish this is the paper, and starts are uniform in the box: their number must then grow
 * with box volume / sigma^n, or none begins on a slope.  With it they are normal, and sigma may be 1 to 4
 * deviations of a cluster for any law (1.4 to 2 for law gaussian alone).
 *
 * Cost: T L m n a step.  Belhadji, Gribonval 2024 (sketch and shift), algorithm 2, s4.1.
 */
#include "decode/internal.h"

#include <string.h>

#define SHIFT_ITERATIONS 100
#define SHIFT_TOLERANCE 1e-3

static fc_status
add_highest(fc_decoding *d, fc_mixture *mixture)
{
	size_t		best = 0;
	size_t		atom = mixture->count;
	int			iterations = d->discretized ? 1 : SHIFT_ITERATIONS;
	fc_status	status;

	fc_draw_starts(d, mixture, d->starts, d->start);
	status = fc_mean_shift(d, 0.0, iterations, SHIFT_TOLERANCE, d->start, d->start_value);
	if (status != FC_OK)
		return status;
	for (size_t i = 1; i < d->starts; i++)
		if (d->start_value[i] > d->start_value[best])
			best = i;
	memcpy(mixture->center + atom * d->n, d->start + best * d->n, d->n * sizeof(double));
	mixture->variance[atom] = 0.0;
	mixture->weight[atom] = 0.0;
	mixture->count++;
	return d->options.model == FC_MODEL_GAUSSIAN ? fc_shape_atom(d, mixture->center + atom * d->n, atom) : FC_OK;
}

/* Centers and weights move together; points get a common width, and clusters that were missed take the place of others. */
static fc_status
polish(fc_decoding *d, fc_mixture *mixture, double *cost)
{
	fc_status	status = fc_polish(d, mixture, cost);

	if (status == FC_OK && d->options.model == FC_MODEL_DIRAC)
		status = fc_improve(d, d->options.rounds, mixture, cost);
	return status;
}

fc_status
fc_sketch_shift(fc_decoding *d, fc_mixture *mixture, double *cost)
{
	fc_status	status;

	mixture->count = 0;
	status = fc_residual(d, mixture, cost);
	for (int t = 0; t < d->options.rounds && status == FC_OK; t++)
	{
		status = add_highest(d, mixture);
		if (status == FC_OK)
			status = fc_fit_weights(d, mixture);
		if (status == FC_OK)
			status = fc_residual(d, mixture, cost);
		fc_report_progress(d, "atoms", t + 1, *cost);
	}
	while (status == FC_OK && mixture->count > d->k)
	{
		size_t		least = fc_lightest(mixture);

		fc_shape_remove(d, mixture->count, least);
		fc_mixture_remove(d, mixture, least);
	}
	if (status == FC_OK)
		status = fc_residual(d, mixture, cost);
	return status == FC_OK && d->options.polish && !d->discretized ? polish(d, mixture, cost) : status;
}
