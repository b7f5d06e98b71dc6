/* agreement.c - labels of two operators compared on made-up rows; see the header */
#include "factor/agreement.h"

#include <math.h>

#include "base/rng.h"

#define BATCH	64
#define NOISE_RATIO	0.25
#define NEIGHBOURS	4			/* the nearest of so many others */
#define RANDOM		16			/* multiplications that a random number costs, about */

typedef struct agreement_work
{
	const fc_operator *exact;
	const fc_operator *fast;
	fc_rng		rng;
	double	   *cumulated;		/* k: weights up to and with each cluster */
	double	   *x;				/* BATCH x d */
	double	   *row;			/* d */
	fc_scratch	scratch;
	int32_t    *label[2];		/* BATCH */
} agreement_work;

static size_t
scratch_floats(const fc_operator *exact, const fc_operator *fast)
{
	size_t		a = fc_operator_batch_scratch(exact, BATCH);
	size_t		b = fc_operator_batch_scratch(fast, BATCH);

	return a > b ? a : b;
}

static fc_status
take_work(fc_arena *arena, agreement_work *w)
{
	w->cumulated = FC_TAKE(arena, w->exact->k, double);
	w->x = FC_TAKE(arena, BATCH * w->exact->d, double);
	w->row = FC_TAKE(arena, w->exact->d, double);
	w->scratch = fc_take_scratch(arena, scratch_floats(w->exact, w->fast));
	w->label[0] = FC_TAKE(arena, BATCH, int32_t);
	w->label[1] = FC_TAKE(arena, BATCH, int32_t);
	return fc_arena_status(arena);
}

size_t
fc_agreement_worksize(const fc_operator *exact, const fc_operator *fast)
{
	fc_arena	measure = fc_arena_measure();
	agreement_work w = {.exact = exact,.fast = fast};

	(void) take_work(&measure, &w);
	return fc_arena_measured(&measure);
}

/* Weights that sum to 0 count as equal. */
static void
cumulate(agreement_work *w)
{
	double		sum = 0.0;

	for (size_t j = 0; j < w->exact->k; j++)
		w->cumulated[j] = sum += w->exact->weights[j];
	for (size_t j = 0; j < w->exact->k && !(sum > 0.0); j++)
		w->cumulated[j] = (double) (j + 1);
}

static size_t
draw_cluster(agreement_work *w)
{
	size_t		low = 0;
	size_t		high = w->exact->k - 1;
	double		u = fc_rng_uniform(&w->rng) * w->cumulated[high];

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (w->cumulated[middle] > u)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void
draw_row(agreement_work *w, double *x)
{
	size_t		d = w->exact->d;
	size_t		j = draw_cluster(w);
	double		t = 0.5 * sqrt(fc_rng_uniform(&w->rng));
	double		square = INFINITY;
	size_t		nearest = j;

	fc_operator_row(w->exact, j, w->scratch, x);
	for (int trial = 0; trial < NEIGHBOURS; trial++)
	{
		size_t		i = (j + 1 + fc_rng_below(&w->rng, w->exact->k - 1)) % w->exact->k;
		double		distance = fc_operator_distance(w->exact, i, x, w->scratch);

		nearest = distance < square ? i : nearest;
		square = fmin(distance, square);
	}
	fc_operator_row(w->exact, nearest, w->scratch, w->row);
	for (size_t c = 0; c < d; c++)
		x[c] += t * (w->row[c] - x[c]) + NOISE_RATIO * sqrt(square / (double) d) * fc_rng_normal(&w->rng);
}

fc_status
fc_agreement(const fc_operator *exact, const fc_operator *fast, size_t points, uint64_t seed,
			 const fc_tick *tick, fc_arena *arena, double *agreement)
{
	agreement_work w = {.exact = exact,.fast = fast,.rng = fc_rng_start(seed, 1)};
	size_t		used = arena->used;
	size_t		same = 0;
	size_t		done = 0;
	fc_status	status = take_work(arena, &w);

	*agreement = 1.0;
	if (status != FC_OK || exact->k == 1)
		return status;
	cumulate(&w);
	for (size_t first = 0; first < points; first += BATCH)
	{
		size_t		count = points - first < BATCH ? points - first : BATCH;

		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t r = 0; r < count; r++)
		{
			if (fc_paced(tick, &done, (NEIGHBOURS + RANDOM) * exact->d))
				return FC_INTERRUPTED;
			draw_row(&w, w.x + r * exact->d);
		}
		fc_operator_assign_batch(exact, w.x, count, w.scratch, w.label[0]);
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		fc_operator_assign_batch(fast, w.x, count, w.scratch, w.label[1]);
		for (size_t r = 0; r < count; r++)
			same += w.label[0][r] == w.label[1][r];
	}
	*agreement = (double) same / (double) points;
	arena->used = used;
	return FC_OK;
}
