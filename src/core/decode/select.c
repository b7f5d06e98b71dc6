/*
 * select.c - the forward stage: many atoms at once from the residual.
 *
 *     dictionary D = current atoms + distinct modes of the residual's field
 *     repeat: take argmax_i (b - G alpha)_i / sqrt(G_ii) outside the chosen set S;
 *             alpha_S = argmin over alpha >= 0 of the cost (NNLS on G_SS)
 *     until |S| = limit or the score falls below 0.2 of the first
 *     then all atoms are refined together.
 *
 * Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) on the Gram
 * matrix of the dictionary: after one pass over the frequencies a step costs
 * |D| |S|.  One round usually finds every well separated cluster, where CL-OMPR
 * would spend a mean shift and a refinement on each.
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#include "numerics/nnls.h"

#define SCORE_DROP 0.2
#define FORWARD_ITERATIONS 25

void
fc_select_take(fc_decoding *d, fc_arena *arena)
{
	fc_select_work *w = &d->select;
	size_t		dictionary = d->atoms + d->starts;

	w->center = FC_TAKE(arena, dictionary * d->n, double);
	w->variance = FC_TAKE(arena, dictionary, double);
	w->gram = FC_TAKE(arena, dictionary * dictionary, double);
	w->rhs = FC_TAKE(arena, dictionary, double);
	w->sub_gram = FC_TAKE(arena, d->atoms * d->atoms, double);
	w->sub_rhs = FC_TAKE(arena, d->atoms, double);
	w->weight = FC_TAKE(arena, d->atoms, double);
	w->chosen = FC_TAKE(arena, d->atoms, size_t);
	w->taken = FC_TAKE(arena, dictionary, bool);
	w->cosine = FC_TAKE(arena, dictionary * FC_FREQUENCY_BLOCK, double);
	w->sine = FC_TAKE(arena, dictionary * FC_FREQUENCY_BLOCK, double);
}

/* Dictionary = atoms of the mixture and modes, all of the given variance. */
static fc_status
build_dictionary(fc_decoding *d, const fc_mixture *mixture, size_t modes, double variance)
{
	fc_select_work *w = &d->select;
	size_t		size = mixture->count + modes;

	memcpy(w->center, mixture->center, mixture->count * d->n * sizeof(double));
	memcpy(w->center + mixture->count * d->n, d->shift.modes, modes * d->n * sizeof(double));
	for (size_t i = 0; i < size; i++)
		w->variance[i] = variance;
	return fc_gram(d, w->center, w->variance, size, w->cosine, w->sine, w->gram, w->rhs);
}

/* The entry outside the chosen set that correlates best with what the chosen leave. */
static size_t
best_entry(const fc_select_work *w, size_t size, size_t chosen, double *score)
{
	size_t		best = size;

	*score = -INFINITY;
	for (size_t i = 0; i < size; i++)
	{
		double		correlation = w->rhs[i];

		if (w->taken[i])
			continue;
		for (size_t j = 0; j < chosen; j++)
			correlation -= w->gram[i * size + w->chosen[j]] * w->weight[j];
		correlation /= sqrt(fmax(w->gram[i * size + i], 1e-300));
		if (correlation > *score)
		{
			*score = correlation;
			best = i;
		}
	}
	return best;
}

/* weight = NNLS of the chosen entries */
static fc_status
fit_chosen(fc_decoding *d, size_t size, size_t chosen)
{
	fc_select_work *w = &d->select;
	size_t		done = 0;

	for (size_t i = 0; i < chosen; i++)
	{
		fc_check_every(&done, chosen);
		for (size_t j = 0; j < chosen; j++)
			w->sub_gram[i * chosen + j] = w->gram[w->chosen[i] * size + w->chosen[j]];
		w->sub_rhs[i] = w->rhs[w->chosen[i]];
	}
	return fc_nnls(w->sub_gram, chosen, w->sub_rhs, chosen, NULL, d->arena, w->weight);
}

/* Choose entries until limit; the mixture's own atoms are chosen from the start. */
static fc_status
pursue(fc_decoding *d, const fc_mixture *mixture, size_t size, size_t limit, size_t *chosen)
{
	fc_select_work *w = &d->select;
	double		first = -1.0;
	double		score;

	memset(w->taken, 0, size * sizeof(bool));
	for (*chosen = 0; *chosen < mixture->count; (*chosen)++)
	{
		w->chosen[*chosen] = *chosen;
		w->taken[*chosen] = true;
		w->weight[*chosen] = mixture->weight[*chosen];
	}
	while (*chosen < limit)
	{
		size_t		entry = best_entry(w, size, *chosen, &score);
		fc_status	status;

		fc_check();
		if (first < 0.0)
			first = score;
		/* At least one new atom a round, or the stage would not end. */
		if (entry == size || (score <= SCORE_DROP * first && *chosen > mixture->count))
			break;
		w->taken[entry] = true;
		w->chosen[(*chosen)++] = entry;
		status = fit_chosen(d, size, *chosen);
		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

/* One round: the mixture grows to at most limit atoms and is refined. */
static fc_status
forward_round(fc_decoding *d, size_t limit, fc_mixture *mixture, double *cost)
{
	fc_select_work *w = &d->select;
	double		variance = fc_mixture_variance(mixture);
	size_t		modes;
	size_t		chosen;
	fc_status	status = fc_residual(d, mixture, NULL);

	if (status == FC_OK)
		status = fc_find_modes(d, mixture, d->starts, &modes);
	if (status != FC_OK)
		return status;
	if (modes == 0)
	{
		fc_draw_starts(d, mixture, 1, d->shift.modes);
		modes = 1;
	}
	if (status == FC_OK)
		status = build_dictionary(d, mixture, modes, variance);
	if (status == FC_OK)
		status = pursue(d, mixture, mixture->count + modes, limit, &chosen);
	if (status != FC_OK)
		return status;
	for (size_t i = 0; i < chosen; i++)
	{
		memcpy(mixture->center + i * d->n, w->center + w->chosen[i] * d->n, d->n * sizeof(double));
		mixture->weight[i] = w->weight[i];
		mixture->variance[i] = variance;
	}
	mixture->count = chosen;
	return fc_refine(d, FC_WIDTH_SHARED, FORWARD_ITERATIONS, mixture, cost);
}

/*
 * Grow the mixture to target atoms, at most chunk a round, unless the cost
 * reaches the noise floor before.  cost is the mixture's on entry (ignored when
 * it has no atoms) and on exit.
 */
fc_status
fc_forward(fc_decoding *d, size_t target, size_t chunk, fc_mixture *mixture, double *cost)
{
	while (mixture->count < target && (mixture->count == 0 || *cost > d->floor))
	{
		size_t		limit = target - mixture->count > chunk ? mixture->count + chunk : target;
		fc_status	status = forward_round(d, limit, mixture, cost);

		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}
