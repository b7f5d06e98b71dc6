/* even.c - no cluster with more weight than is wanted; see even.h */
#include "kmeans/even.h"

#include <math.h>
#include <string.h>

#include "kmeans/internal.h"

#define ROUNDS			100		/* at most */
#define IN_VAIN			20		/* rounds after which neither the largest cluster nor what is above the limit is less end the search */
#define FITS			0.9		/* of the limit, that joined clusters have at most: others' rows may come */
#define UNEVEN			0.7		/* share of a cluster in its larger piece above which the median parts it */
#define HALVINGS		24		/* of the interval where the median is */
#define STEPS			10		/* Lloyd steps at the end */
#define STEP_GAIN		1e-3	/* one that gains less is the last */

void
fc_kmeans_even_take(fc_arena *arena, fc_kmeans_work *w)
{
	if (w->exchange.row == NULL)
		fc_kmeans_exchange_take(arena, w->n, w->d, w->k, &w->exchange);
}

/* What rounds have come to; the most even so far is in w->best. */
typedef struct evenness
{
	double		most;			/* wanted */
	double		largest;		/* weight of the largest cluster of w->best, */
	double		sse;			/* and their SSE */
	double		excess;			/* the least weight above the limit of any round */
} evenness;

/* Labels, weights, SSE and the largest weight of w->centroid. */
static fc_status
measure(fc_kmeans_work *w, double *largest, double *sse)
{
	fc_status	status;

	for (size_t j = 0; w->sphere != NULL && j < w->k; j++)
		(void) fc_kmeans_to_sphere(w, j);
	status = fc_kmeans_assign(w, w->centroid);
	if (status == FC_OK)
		fc_kmeans_measure(w, w->centroid, w->weight, sse);
	*largest = 0.0;
	for (size_t j = 0; j < w->k; j++)
		*largest = fmax(*largest, w->weight[j]);
	return status;
}

static void
keep(fc_kmeans_work *w, evenness *e, double largest, double sse)
{
	memcpy(w->best, w->centroid, w->k * w->d * sizeof(double));
	e->largest = largest;
	e->sse = sse;
}

static double
excess_of(const fc_kmeans_work *w, double most)
{
	double		sum = 0.0;

	for (size_t j = 0; j < w->k; j++)
		sum += fmax(0.0, w->weight[j] - most);
	return sum;
}

/* The pieces of cluster j, whose rows are about evenly on both sides of the plane between them.  False: all its rows are at one place. */
static void
part_cluster(fc_kmeans_work *w, size_t j, bool *parted)
{
	double		larger_side;

	fc_exchange_split(w, j, &larger_side);
	if (!(w->exchange.gain[j] > 0.0))
	{							/* the plane through a centroid that lies aside of its rows parts none */
		fc_exchange_center(w, j);
		fc_exchange_split(w, j, &larger_side);
	}
	*parted = w->exchange.gain[j] > 0.0;
	if (*parted && larger_side > UNEVEN * w->weight[j])
		fc_exchange_halve(w, j, HALVINGS);
}

/* Whom cluster j is joined with before it leaves; itself: its rows go to whoever is nearest. */
static size_t
partner_of(const fc_kmeans_work *w, size_t j, bool alone)
{
	return alone ? j : w->partner[j];
}

/* A cluster that may leave, as it and its partner have at most `most`: next among those by cost, or w->k. */
static size_t
next_leaving(const fc_kmeans_work *w, double most, bool alone, size_t *next)
{
	const fc_exchange *x = &w->exchange;

	for (; *next < w->k; ++*next)
	{
		size_t		leaves = x->ranks[w->k + *next].value;
		size_t		joined = partner_of(w, leaves, alone);

		if (!x->paired[leaves] && !x->paired[joined] && (alone || joined != leaves) && w->weight[leaves] + w->weight[joined] <= most)
			return leaves;
	}
	return w->k;
}

#define ALONE	3

/* Clusters above the limit are split, the largest first, as long as others can leave. */
static void
move_centroids(fc_kmeans_work *w, double most, size_t *moves)
{
	fc_exchange *x = &w->exchange;
	size_t		next = 0;
	int			rule = 0;

	*moves = 0;
	memset(x->paired, 0, w->k * sizeof(bool));
	for (size_t i = 0; i < w->k && w->weight[x->ranks[i].value] > most; i++)
		x->paired[x->ranks[i].value] = true;
	for (size_t i = 0; i < w->k && w->weight[x->ranks[i].value] > most; i++)
	{
		size_t		large = x->ranks[i].value;
		double		less = FITS * w->weight[large]; /* what is joined is too large as well, but less so */
		double		limits[] = {FITS * most, most, less, less};
		size_t		leaves = next_leaving(w, limits[rule], rule == ALONE, &next);
		bool		parted;

		while (leaves == w->k && *moves == 0 && rule < ALONE)
		{						/* alone: near a large cluster that is nearest to all the others no two are a pair */
			next = 0;
			rule++;
			leaves = next_leaving(w, limits[rule], rule == ALONE, &next);
		}
		if (leaves == w->k)
			break;
		part_cluster(w, large, &parted);
		if (parted)
		{
			fc_exchange_move(w, partner_of(w, leaves, rule == ALONE), leaves, large);
			++*moves;
		}
		rule = rule == ALONE ? ALONE : 0;
	}
}

/* One round; *moves: how many centroids went elsewhere. */
static void
even_once(fc_kmeans_work *w, double most, size_t *moves)
{
	fc_exchange_costs(w);
	fc_exchange_gather(w);
	fc_exchange_rank(w, w->weight, true, w->exchange.ranks);
	fc_exchange_rank(w, w->merge_cost, false, w->exchange.ranks + w->k);
	move_centroids(w, most, moves);
}

/* Rounds until all is even, or nothing helps. */
static fc_status
even_out(fc_kmeans_work *w, evenness *e)
{
	double		largest;
	double		sse;
	size_t		moves = 1;
	int			in_vain = 0;
	fc_status	status = measure(w, &largest, &sse);

	if (status == FC_OK)
		keep(w, e, largest, sse);
	for (int round = 0; round < ROUNDS && e->largest > e->most && in_vain < IN_VAIN && moves > 0 && status == FC_OK; round++)
	{
		even_once(w, e->most, &moves);
		status = measure(w, &largest, &sse);
		in_vain = largest < e->largest || excess_of(w, e->most) < e->excess ? 0 : in_vain + 1;
		e->excess = fmin(e->excess, excess_of(w, e->most));
		if (status == FC_OK && largest < e->largest)
			keep(w, e, largest, sse);
	}
	return status;
}

/* Lloyd's steps, while all stays even. */
static fc_status
settle(fc_kmeans_work *w, evenness *e)
{
	fc_kmeans_stop stop = {1, 0.0, INFINITY};
	fc_status	status = FC_OK;

	memcpy(w->centroid, w->best, w->k * w->d * sizeof(double));
	for (int step = 0; step < STEPS && status == FC_OK; step++)
	{
		double		before = e->sse;
		double		largest;
		double		sse;
		int			steps;

		status = fc_kmeans_descend(w, &stop, &steps, &sse);
		if (status == FC_OK)
			status = measure(w, &largest, &sse);
		if (status != FC_OK || largest > e->most || !(sse < before))
			break;
		keep(w, e, largest, sse);
		if (before - sse < STEP_GAIN * before)
			break;
	}
	return status;
}

fc_status
fc_kmeans_even(fc_kmeans_work *w, double most)
{
	evenness	e = {.most = most,.excess = INFINITY};
	fc_status	status = even_out(w, &e);

	if (status == FC_OK && e.largest <= e.most)
		status = settle(w, &e);
	memcpy(w->centroid, w->best, w->k * w->d * sizeof(double));
	return status;
}
