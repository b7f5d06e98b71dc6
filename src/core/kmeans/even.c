/*
 * even.c - centroids moved until no cluster has more weight than is wanted.
 *
 * A cluster that has more is split in two across its first axis, at the median where the means of the pieces would not part it about
 * evenly.  The second centroid comes from two clusters near each other that have together what one may have: those that cost least are
 * joined.  Rows then go to their nearest centroids, and the next round takes what is too large still.  Where all are even, Lloyd's
 * steps go on as long as they stay so.
 *
 * Cost of a round: that of a Lloyd step, k^2 d, and 16 d for each row of a cluster that is split.
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#define ROUNDS			100		/* at most */
#define IN_VAIN			20		/* rounds after which neither the largest cluster nor what is above the limit is less end the search */
#define FITS			0.9		/* of the limit, that joined clusters have at most: others' rows may come */
#define UNEVEN			0.7		/* share of a cluster in its larger piece above which the median parts it */
#define HALVINGS		24		/* of the interval where the median is */
#define STEPS			10		/* Lloyd steps at the end */
#define STEP_GAIN		1e-3	/* one that gains less is the last */

/* What rounds have come to; the most even so far is in w->best. */
typedef struct evenness
{
	double		most;			/* wanted */
	double		largest;		/* weight of the largest cluster of w->best, */
	double		sse;			/* and their SSE */
	double		excess;			/* the least weight above the limit of any round */
} evenness;

/* Labels, weights, SSE and the largest weight of w->centroid. */
static void
measure(fc_kmeans_work *w, double *largest, double *sse)
{
	for (size_t j = 0; w->sphere != NULL && j < w->k; j++)
		(void) fc_kmeans_to_sphere(w, j);
	fc_kmeans_assign(w, w->centroid);
	fc_kmeans_measure(w, w->centroid, w->weight, sse);
	*largest = 0.0;
	for (size_t j = 0; j < w->k; j++)
		*largest = fmax(*largest, w->weight[j]);
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
static void
even_out(fc_kmeans_work *w, evenness *e)
{
	double		largest;
	double		sse;
	size_t		moves = 1;
	int			in_vain = 0;

	measure(w, &largest, &sse);
	keep(w, e, largest, sse);
	for (int round = 0; round < ROUNDS && e->largest > e->most && in_vain < IN_VAIN && moves > 0; round++)
	{
		even_once(w, e->most, &moves);
		measure(w, &largest, &sse);
		in_vain = largest < e->largest || excess_of(w, e->most) < e->excess ? 0 : in_vain + 1;
		e->excess = fmin(e->excess, excess_of(w, e->most));
		if (largest < e->largest)
			keep(w, e, largest, sse);
	}
}

/* Lloyd's steps, while all stays even. */
static void
settle(fc_kmeans_work *w, evenness *e)
{
	fc_kmeans_stop stop = {1, 0.0, INFINITY};

	memcpy(w->centroid, w->best, w->k * w->d * sizeof(double));
	for (int step = 0; step < STEPS; step++)
	{
		double		before = e->sse;
		double		largest;
		double		sse;
		int			steps;

		fc_kmeans_descend(w, &stop, &steps, &sse);
		measure(w, &largest, &sse);
		if (largest > e->most || !(sse < before))
			break;
		keep(w, e, largest, sse);
		if (before - sse < STEP_GAIN * before)
			break;
	}
}

void
fc_kmeans_even(fc_kmeans_work *w, double most)
{
	evenness	e = {.most = most,.excess = INFINITY};

	if (w->exchange.row == NULL)
		fc_kmeans_exchange_take(w->arena, w->n, w->d, w->k, &w->exchange);
	even_out(w, &e);
	if (e.largest <= e.most)
		settle(w, &e);
	memcpy(w->centroid, w->best, w->k * w->d * sizeof(double));
}
