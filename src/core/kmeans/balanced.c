/*
 * balanced.c - centroids moved until no cluster has more weight than is wanted.
 *
 * A cluster that has more is split in two across its first axis, at the median where the means of the pieces would not divide it about
 * evenly.  The second centroid comes from two clusters near each other that have together what one may have: those that cost least are
 * joined.  Rows then go to their nearest centroids, and the next round takes what is too large still.  Where no cluster is too large,
 * Lloyd's steps go on as long as that stays so.
 *
 * Cost of a round: that of a Lloyd step, k^2 d, and 16 d for each row of a cluster that is split.
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#define ROUNDS			100		/* at most */
#define IN_VAIN			20		/* so many rounds that lower neither the largest cluster nor the excess above the limit end the search */
#define FITS			0.9		/* of the limit, that joined clusters have at most: others' rows may come */
#define UNEVEN			0.7		/* share of a cluster in its larger piece above which the median divides it */
#define HALVINGS		24		/* of the interval where the median is */
#define STEPS			10		/* Lloyd steps at the end */
#define STEP_GAIN		1e-3	/* one that gains less is the last */
#define ALONE			3		/* the rule by which a centroid leaves without joining another */

/* Clusters of w->centroid: weight of the largest, their SSE, and weight above the limit. */
typedef struct balance
{
	double		largest;
	double		sse;
	double		excess;
} balance;

static balance
measure(fc_kmeans_work *w, double most)
{
	balance		b = {0};

	for (size_t j = 0; w->sphere != NULL && j < w->k; j++)
		(void) fc_kmeans_to_sphere(w, j);
	fc_kmeans_assign(w);
	fc_kmeans_measure(w, &b.sse);
	for (size_t j = 0; j < w->k; j++)
	{
		b.largest = fmax(b.largest, w->weight[j]);
		b.excess += fmax(0.0, w->weight[j] - most);
	}
	return b;
}

/* The centroid of cluster j at the mean of its rows. */
static void
center_cluster(fc_kmeans_work *w, fc_splits *s, size_t j)
{
	fc_sum_sides(w, s, j, INFINITY);
	for (size_t c = 0; c < w->rows.d && s->weight[0] > 0.0; c++)
		w->centroid[j * w->rows.d + c] = s->sums[c] / s->weight[0];
}

/*
 * The pieces of cluster j moved so that the plane between them halves it, where its rows let it: both on a line through its centroid, as
 * far from the median as its sides are on average.
 */
static void
halve_cluster(fc_kmeans_work *w, fc_splits *s, size_t j)
{
	size_t		d = w->rows.d;
	double	   *centroid = w->centroid + j * d;
	double		half = 0.5 * w->weight[j];
	double		low = INFINITY;
	double		high = -INFINITY;
	double		limit = 0.0;
	double		reach = 0.0;
	double		place = 0.0;
	double		square = 0.0;

	for (size_t c = 0; c < d; c++)
	{
		s->direction[c] = (float) ((double) w->rounded[j * d + c] - w->sum[j * d + c]);
		square += (double) s->direction[c] * (double) s->direction[c];
		place += (double) s->direction[c] * centroid[c];
	}
	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
	{
		low = fmin(low, fc_place_along(w, s, s->row[q]));
		high = fmax(high, fc_place_along(w, s, s->row[q]));
	}
	for (int i = 0; i < HALVINGS; i++)
	{
		limit = 0.5 * low + 0.5 * high;
		fc_sum_sides(w, s, j, limit);
		*(s->weight[1] > half ? &low : &high) = limit;
	}
	if (!(s->weight[0] > 0.0 && s->weight[1] > 0.0 && square > 0.0))
		return;
	for (size_t c = 0; c < d; c++)
		reach += 0.5 * (double) s->direction[c] * (s->sums[d + c] / s->weight[1] - s->sums[c] / s->weight[0]);
	for (size_t c = 0; c < d; c++)
	{
		double		unit = (double) s->direction[c] / square;

		w->rounded[j * d + c] = (float) (centroid[c] + (limit - place + reach) * unit);
		w->sum[j * d + c] = centroid[c] + (limit - place - reach) * unit;
	}
}

/* The pieces of cluster j, whose rows are about evenly on both sides of the plane between them.  False: all its rows are at one place. */
static bool
split_evenly(fc_kmeans_work *w, fc_splits *s, size_t j)
{
	fc_split_cluster(w, s, j);
	if (!(s->gain[j] > 0.0))
	{							/* the plane through a centroid that lies aside of its rows divides none */
		center_cluster(w, s, j);
		fc_split_cluster(w, s, j);
	}
	if (!(s->gain[j] > 0.0))
		return false;
	if (fmax(s->weight[0], s->weight[1]) > UNEVEN * w->weight[j])
		halve_cluster(w, s, j);
	return true;
}

/* Whom cluster j is joined with before it leaves; itself: its rows go to whoever is nearest. */
static size_t
partner_of(const fc_splits *s, size_t j, bool alone)
{
	return alone ? j : s->partner[j];
}

/* A cluster that may leave, as it and its partner have at most `most`: next among those by cost, or w->k. */
static size_t
next_leaving(const fc_kmeans_work *w, const fc_splits *s, double most, bool alone, size_t *next)
{
	for (; *next < w->k; ++*next)
	{
		size_t		leaves = s->by_cost[*next].value;
		size_t		joined = partner_of(s, leaves, alone);

		if (!s->taken[leaves] && !s->taken[joined] && (alone || joined != leaves) && w->weight[leaves] + w->weight[joined] <= most)
			return leaves;
	}
	return w->k;
}

/* Clusters above the limit are split, the largest first, as long as others can leave; how many. */
static size_t
move_centroids(fc_kmeans_work *w, fc_splits *s, double most)
{
	size_t		moves = 0;
	size_t		next = 0;
	int			rule = 0;

	fc_find_merges(w, s);
	fc_gather_clusters(w, s);
	fc_rank_clusters(w, w->weight, true, s, s->by_gain);
	for (size_t j = 0; j < w->k; j++)
		s->taken[j] = w->weight[j] > most;
	for (size_t i = 0; i < w->k && w->weight[s->by_gain[i].value] > most; i++)
	{
		size_t		large = s->by_gain[i].value;
		double		less = FITS * w->weight[large]; /* the joined cluster is too large as well, but less so */
		double		limits[] = {FITS * most, most, less, less};
		size_t		leaves = next_leaving(w, s, limits[rule], rule == ALONE, &next);

		while (leaves == w->k && moves == 0 && rule < ALONE)
		{						/* alone: near a large cluster that is nearest to all the others no two are a pair */
			next = 0;
			rule++;
			leaves = next_leaving(w, s, limits[rule], rule == ALONE, &next);
		}
		if (leaves == w->k)
			break;
		if (split_evenly(w, s, large))
		{
			fc_move_centroid(w, s, partner_of(s, leaves, rule == ALONE), leaves, large);
			moves++;
		}
		rule = rule == ALONE ? ALONE : 0;
	}
	return moves;
}

/* Lloyd's steps, while no cluster comes to have more. */
static void
settle(fc_kmeans_work *w, double most, double sse)
{
	fc_kmeans_stop stop = {1, 0.0, INFINITY};
	size_t		size = w->k * w->rows.d * sizeof(double);
	double		gain = INFINITY;

	memcpy(w->centroid, w->best, size);
	for (int step = 0; step < STEPS && !(gain < STEP_GAIN * sse); step++)
	{
		double		objective;
		balance		b;

		(void) fc_kmeans_descend(w, &stop, &objective);
		b = measure(w, most);
		if (b.excess > 0.0 || !(b.sse < sse))
			break;
		memcpy(w->best, w->centroid, size);
		gain = sse - b.sse;
		sse = b.sse;
	}
}

void
fc_kmeans_balance(fc_kmeans_work *w, double most)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_splits	s = fc_take_splits(w);
	size_t		size = w->k * w->rows.d * sizeof(double);
	balance		best = measure(w, most);
	double		excess = INFINITY;
	int			in_vain = 0;

	memcpy(w->best, w->centroid, size);
	for (int round = 0; round < ROUNDS && best.excess > 0.0 && in_vain < IN_VAIN && move_centroids(w, &s, most) > 0; round++)
	{
		balance		b = measure(w, most);

		in_vain = b.largest < best.largest || b.excess < excess ? 0 : in_vain + 1;
		excess = fmin(excess, b.excess);
		if (b.largest < best.largest)
		{
			memcpy(w->best, w->centroid, size);
			best = b;
		}
	}
	if (!(best.excess > 0.0))
		settle(w, most, best.sse);
	memcpy(w->centroid, w->best, size);
	fc_arena_release(w->arena, mark);
}
