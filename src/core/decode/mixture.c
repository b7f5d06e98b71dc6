/* mixture.c - the atoms found so far: copies, removal, weights */
#include "decode/internal.h"

#include <string.h>

#include "numerics/nnls.h"

void
fc_mixture_take(const fc_decoding *d, fc_arena *arena, fc_mixture *mixture)
{
	mixture->count = 0;
	mixture->center = FC_TAKE(arena, d->atoms * d->n, double);
	mixture->weight = FC_TAKE(arena, d->atoms, double);
	mixture->variance = FC_TAKE(arena, d->atoms, double);
}

void
fc_mixture_copy(const fc_decoding *d, const fc_mixture *from, fc_mixture *to)
{
	to->count = from->count;
	memcpy(to->center, from->center, from->count * d->n * sizeof(double));
	memcpy(to->weight, from->weight, from->count * sizeof(double));
	memcpy(to->variance, from->variance, from->count * sizeof(double));
}

void
fc_mixture_remove(const fc_decoding *d, fc_mixture *mixture, size_t atom)
{
	size_t		after = mixture->count - atom - 1;

	memmove(mixture->center + atom * d->n, mixture->center + (atom + 1) * d->n, after * d->n * sizeof(double));
	memmove(mixture->weight + atom, mixture->weight + atom + 1, after * sizeof(double));
	memmove(mixture->variance + atom, mixture->variance + atom + 1, after * sizeof(double));
	mixture->count--;
}

/* The mean of the atoms' variances, by weight. */
double
fc_mixture_variance(const fc_mixture *mixture)
{
	double		sum = 0.0;
	double		total = 0.0;

	for (size_t i = 0; i < mixture->count; i++)
	{
		double		weight = mixture->weight[i] + 1e-12;

		sum += weight * mixture->variance[i];
		total += weight;
	}
	return total > 0.0 ? sum / total : 0.0;
}

fc_status
fc_fit_weights(fc_decoding *d, fc_mixture *mixture)
{
	fc_improve_work *w = &d->improve;
	fc_status	status = fc_gram(d, mixture->center, mixture->variance, mixture->count,
								 d->select.cosine, d->select.sine, w->gram, w->rhs);

	if (status == FC_OK)
		status = fc_nnls(w->gram, mixture->count, w->rhs, mixture->count, NULL, d->arena, mixture->weight);
	return status;
}

size_t
fc_lightest(const fc_mixture *mixture)
{
	size_t		least = 0;

	for (size_t i = 1; i < mixture->count; i++)
		if (mixture->weight[i] < mixture->weight[least])
			least = i;
	return least;
}
