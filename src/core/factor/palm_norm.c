/*
 * palm_norm.c - the spectral norms in the step sizes of palm4MSA, by power iteration.
 *
 * ||W^(1/2) L||_2^2 = lambda_max(L' W L) and ||R||_2^2 = lambda_max(R R'), products of sparse factors and
 * a vector only.  Each norm starts from the vector it ended with in the last sweep.
 */
#include "factor/internal.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

#define POWER_STEPS		40		/* of the first estimate of a norm */
#define WARM_STEPS		8		/* of later ones */
#define POWER_TOLERANCE	1e-4
#define LONG			((size_t) 1 << 18)	/* entries: worth a check of their own */

/* x, in w->vector[0], times factors from .. to - 1 transposed in turn; or plain, from - 1 down to `least`. */
static void
vector_down(fc_palm_work *w, size_t from, size_t to)
{
	for (size_t l = from; l < to; l++)
	{
		double	   *swap = w->vector[0];

		if (w->factors->factor[l].plain.nonzeros > LONG)
			fc_check();
		fc_sparse_vector(&w->factors->factor[l].transposed, w->vector[0], w->vector[1]);
		w->vector[0] = w->vector[1];
		w->vector[1] = swap;
	}
}

static void
vector_up(fc_palm_work *w, size_t from, size_t least)
{
	for (size_t l = from; l-- > least;)
	{
		double	   *swap = w->vector[0];

		if (w->factors->factor[l].plain.nonzeros > LONG)
			fc_check();
		fc_sparse_vector(&w->factors->factor[l].plain, w->vector[0], w->vector[1]);
		w->vector[0] = w->vector[1];
		w->vector[1] = swap;
	}
}

static double
vector_norm(const double *x, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sqrt(sum);
}

static void
weigh_vector(const fc_palm_work *w, double *x)
{
	for (size_t j = 0; w->target->weight != NULL && j < w->k; j++)
		x[j] *= w->target->weight[j];
}

/* x (n) <- M x / ||M x||; returns ||M x||, M = L' W L left of q or R R' right of it. */
static double
power_step(fc_palm_work *w, size_t q, bool of_left, size_t n, double *x)
{
	double		norm;

	memcpy(w->vector[0], x, n * sizeof(double));
	if (of_left)
	{
		vector_up(w, q, 0);
		weigh_vector(w, w->vector[0]);
		vector_down(w, 0, q);
	}
	else
	{
		vector_down(w, q + 1, w->factors->count);
		vector_up(w, w->factors->count, q + 1);
	}
	norm = vector_norm(w->vector[0], n);
	for (size_t i = 0; i < n && norm > 0.0; i++)
		x[i] = w->vector[0][i] / norm;
	return norm;
}

static double
greatest_weight(const fc_palm_work *w)
{
	double		greatest = 0.0;

	for (size_t j = 0; w->target->weight != NULL && j < w->k; j++)
		greatest = fmax(greatest, w->target->weight[j]);
	return w->target->weight != NULL ? greatest : 1.0;
}

/* By power iteration from the last vector. */
double
fc_palm_squared_norm(fc_palm_work *w, size_t q, bool of_left)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	double		norm = 0.0;
	int			steps = w->power_warm ? WARM_STEPS : POWER_STEPS;

	if (of_left && q == 0)
		return greatest_weight(w);
	if (!of_left && q + 1 == w->factors->count)
		return 1.0;
	for (int i = 0; i < steps; i++)
	{
		double		last = norm;

		fc_check();
		norm = power_step(w, q, of_left, of_left ? s->rows : s->columns, of_left ? w->left[q] : w->right[q]);
		if (norm - last <= POWER_TOLERANCE * norm)
			break;
	}
	return norm;
}

void
fc_palm_start_vectors(fc_palm_work *w, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);

	for (size_t q = 0; q < w->factors->count; q++)
	{
		const fc_sparse *s = &w->factors->factor[q].plain;

		for (size_t i = 0; i < s->rows; i++)
			w->left[q][i] = fc_rng_normal(&rng);
		for (size_t i = 0; i < s->columns; i++)
			w->right[q][i] = fc_rng_normal(&rng);
	}
}
