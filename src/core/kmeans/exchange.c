/*
 * exchange.c - centroids leave where they are hardly missed for where they gain most, many at a time.
 *
 * Lloyd's steps move no centroid from a group of rows that has two to two groups that share one.  A round of exchanges does: each
 * cluster is split in two, which lowers the SSE by its gain, and is joined with the nearest other, which raises it by its
 * cost.  The greatest gains are paired with the least costs, and no cluster is in two pairs.
 *
 *     sure     gains are above costs: the SSE falls by their differences, before the Lloyd steps that follow
 *     trials   gains over costs are above their medians' ratio: only the Lloyd steps that follow tell, and a round in vain is
 *              undone.  Where rows fill space evenly a split gains less than a join costs, and yet most cells could be moved.
 *
 * Cost of a round: k^2 d multiply-adds, 8 n d, and a few Lloyd steps.
 *
 * Kaukoranta, Franti, Nevalainen 1998 (iterative split and merge); trials as in Fritzke 2020 (breathing k-means).
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/sizes.h"
#include "numerics/rows.h"

#define ROUNDS			60		/* at most */
#define SURE			1.05	/* gain over cost: both are of clusters that others change */
#define SURE_STEPS		2		/* Lloyd steps that follow */
#define SURE_GAIN		3e-3	/* the round that lowers the SSE by less, relative, is the last of these */
#define TRIAL_SHARE		8		/* a trial moves this part of the centroids at most, */
#define TRIAL_STEPS		4
#define TRIAL_GAIN		1e-3	/* and half as many after a round that gains less: */
#define FAILURES		3		/* so often */
#define STEP_GAIN		3e-3	/* a Lloyd step that gains less is the last of its round */
#define PLANES			2		/* Lloyd steps of the pieces of a cluster */

#define EXCHANGE_CLUSTERS	256	/* rounds from so many clusters on; of fewer, breathing moves as many */
#define EXCHANGE_WIDE	128		/* or dimensions: k-means++ and breathing draw rows by their distances, which are all alike there */
#define EXCHANGE_ROWS		3	/* and so many rows a cluster; of fewer, gains and costs are those of single rows */

bool
fc_kmeans_wants_exchange(size_t n, size_t d, size_t k)
{
	return k > 1 && (k >= EXCHANGE_CLUSTERS || d >= EXCHANGE_WIDE) && n / EXCHANGE_ROWS >= k && n <= UINT32_MAX;
}

void
fc_kmeans_exchange_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_exchange *exchange)
{
	exchange->row = FC_TAKE(arena, n, uint32_t);
	exchange->first = FC_TAKE(arena, k + 1, size_t);
	exchange->gain = FC_TAKE(arena, k, double);
	exchange->paired = FC_TAKE(arena, k, bool);
	exchange->ranks = FC_TAKE(arena, 3 * k, fc_keyed);
	exchange->direction = FC_TAKE(arena, d, float);
	exchange->sums = FC_TAKE(arena, 2 * d, double);
}

/* ---- gains ---- */

void
fc_exchange_gather(fc_kmeans_work *w)
{
	fc_exchange *e = &w->exchange;

	memset(e->first, 0, (w->k + 1) * sizeof(size_t));
	for (size_t i = 0; i < w->n; i++)
	{
		if (i % CHECKED_ROWS == 0)
			fc_check();
		e->first[w->label[i]] += fc_kmeans_weight(w, i) > 0.0;
	}
	for (size_t j = 1; j <= w->k; j++)	/* ends, */
		e->first[j] += e->first[j - 1];
	for (size_t i = w->n; i-- > 0;)	/* which go down to the beginnings */
	{
		if (i % CHECKED_ROWS == 0)
			fc_check();
		if (fc_kmeans_weight(w, i) > 0.0)
			e->row[--e->first[w->label[i]]] = (uint32_t) i;
	}
}

/* The plane that parts a cluster: direction . x > limit; rows on one side and on the other, of such sums. */
typedef struct plane
{
	double		limit;
	double		weight[2];
} plane;

static double
along(const fc_exchange *e, const float *x, size_t d)
{
	float		product;

	fc_dense_apply(e->direction, 1, d, x, &product);
	return (double) product;
}

/* The plane through the centroid across direction. */
static void
place_plane(const fc_kmeans_work *w, size_t j, plane *p)
{
	p->limit = 0.0;
	for (size_t c = 0; c < w->d; c++)
		p->limit += (double) w->exchange.direction[c] * w->centroid[j * w->d + c];
}

/* Towards the row of cluster j farthest from its centroid. */
static void
point_to_farthest(fc_kmeans_work *w, size_t j, plane *p)
{
	const fc_exchange *e = &w->exchange;
	float		buffer[FC_PACK_DIMENSIONS];
	size_t		farthest = e->row[e->first[j]];
	const float *x;

	for (size_t q = e->first[j]; q < e->first[j + 1]; q++)
		if (w->near[e->row[q]] > w->near[farthest])
			farthest = e->row[q];
	x = fc_kmeans_row(w, farthest, buffer);
	for (size_t c = 0; c < w->d; c++)
		e->direction[c] = (float) ((double) x[c] - w->centroid[j * w->d + c]);
	place_plane(w, j, p);
}

/* Along the first principal axis of cluster j, about: a step of the power method. */
static void
turn_to_axis(fc_kmeans_work *w, size_t j, plane *p)
{
	const fc_exchange *e = &w->exchange;
	float		buffer[FC_PACK_DIMENSIONS];
	double		shares = 0.0;
	double		most = 0.0;

	memset(e->sums, 0, w->d * sizeof(double));
	for (size_t q = e->first[j]; q < e->first[j + 1]; q++)
	{
		const float *x = fc_kmeans_row(w, e->row[q], buffer);
		double		share = fc_kmeans_weight(w, e->row[q]) * (along(e, x, w->d) - p->limit);

		fc_check_every(&w->done, 2 * w->d);
		fc_axpy(share, x, w->d, e->sums);
		shares += share;
	}
	for (size_t c = 0; c < w->d; c++)
	{
		e->sums[c] -= shares * w->centroid[j * w->d + c];
		most = fmax(most, fabs(e->sums[c]));
	}
	for (size_t c = 0; c < w->d; c++)
		e->direction[c] = most > 0.0 ? (float) (e->sums[c] / most) : 0.0f;
	place_plane(w, j, p);
}

/* Weights and sums of both sides. */
static void
sum_sides(fc_kmeans_work *w, size_t j, plane *p)
{
	const fc_exchange *e = &w->exchange;
	float		buffer[FC_PACK_DIMENSIONS];

	p->weight[0] = p->weight[1] = 0.0;
	memset(e->sums, 0, 2 * w->d * sizeof(double));
	for (size_t q = e->first[j]; q < e->first[j + 1]; q++)
	{
		const float *x = fc_kmeans_row(w, e->row[q], buffer);
		double		weight = fc_kmeans_weight(w, e->row[q]);
		size_t		side = along(e, x, w->d) > p->limit;

		fc_check_every(&w->done, 2 * w->d);
		p->weight[side] += weight;
		fc_axpy(weight, x, w->d, e->sums + side * w->d);
	}
}

/* The means of both sides, in w->rounded and w->sum, and what the split gains: W+ W- / W ||m+ - m-||^2.  False: one side is empty. */
static bool
set_pieces(fc_kmeans_work *w, size_t j, const plane *p)
{
	const fc_exchange *e = &w->exchange;
	double		square = 0.0;

	if (!(p->weight[0] > 0.0 && p->weight[1] > 0.0))
		return false;
	for (size_t c = 0; c < w->d; c++)
	{
		double		here = e->sums[w->d + c] / p->weight[1];
		double		there = e->sums[c] / p->weight[0];

		w->rounded[j * w->d + c] = (float) here;
		w->sum[j * w->d + c] = there;
		square += (here - there) * (here - there);
	}
	e->gain[j] = p->weight[0] * p->weight[1] / (p->weight[0] + p->weight[1]) * square;
	return true;
}

/* The plane halfway between the two means. */
static void
move_plane(fc_kmeans_work *w, size_t j, plane *p)
{
	const float *here = w->rounded + j * w->d;
	const double *there = w->sum + j * w->d;

	p->limit = 0.0;
	for (size_t c = 0; c < w->d; c++)
	{
		double		gap = (double) here[c] - there[c];

		w->exchange.direction[c] = (float) gap;
		p->limit += gap * 0.5 * ((double) here[c] + there[c]);
	}
}

/* By its principal axis, then a few Lloyd steps. */
void
fc_exchange_split(fc_kmeans_work *w, size_t j, double *larger_side)
{
	fc_exchange *e = &w->exchange;
	plane		p;

	e->gain[j] = *larger_side = 0.0;
	if (e->first[j + 1] - e->first[j] < 2)
		return;
	point_to_farthest(w, j, &p);
	turn_to_axis(w, j, &p);
	for (int step = 0; step <= PLANES; step++)
	{
		sum_sides(w, j, &p);
		*larger_side = fmax(p.weight[0], p.weight[1]);
		if (!set_pieces(w, j, &p))
			break;
		move_plane(w, j, &p);
	}
}

void
fc_exchange_center(fc_kmeans_work *w, size_t j)
{
	const fc_exchange *e = &w->exchange;
	float		buffer[FC_PACK_DIMENSIONS];
	double		weight = 0.0;

	memset(e->sums, 0, w->d * sizeof(double));
	for (size_t q = e->first[j]; q < e->first[j + 1]; q++)
	{
		double		share = fc_kmeans_weight(w, e->row[q]);

		fc_check_every(&w->done, w->d);
		fc_axpy(share, fc_kmeans_row(w, e->row[q], buffer), w->d, e->sums);
		weight += share;
	}
	for (size_t c = 0; c < w->d && weight > 0.0; c++)
		w->centroid[j * w->d + c] = e->sums[c] / weight;
}

/* Weights of both sides of a limit along the direction, and their sums of places there; the least and the greatest place. */
typedef struct sides
{
	double		weight[2];
	double		sum[2];
	double		least;
	double		greatest;
} sides;

static void
weigh_sides(fc_kmeans_work *w, size_t j, double limit, sides *s)
{
	const fc_exchange *e = &w->exchange;
	float		buffer[FC_PACK_DIMENSIONS];

	*s = (sides) {.least = INFINITY,.greatest = -INFINITY};
	for (size_t q = e->first[j]; q < e->first[j + 1]; q++)
	{
		double		place = along(e, fc_kmeans_row(w, e->row[q], buffer), w->d);
		double		weight = fc_kmeans_weight(w, e->row[q]);
		size_t		side = place > limit;

		fc_check_every(&w->done, w->d);
		s->weight[side] += weight;
		s->sum[side] += weight * place;
		s->least = fmin(s->least, place);
		s->greatest = fmax(s->greatest, place);
	}
}

/* Both pieces of cluster j on a line through its centroid, as far from a limit as its sides are on average. */
static void
place_halves(fc_kmeans_work *w, size_t j, double limit, const sides *s)
{
	const float *direction = w->exchange.direction;
	double		reach = 0.5 * (s->sum[1] / s->weight[1] - s->sum[0] / s->weight[0]);
	double		place = 0.0;
	double		square = 0.0;

	for (size_t c = 0; c < w->d; c++)
	{
		place += (double) direction[c] * w->centroid[j * w->d + c];
		square += (double) direction[c] * (double) direction[c];
	}
	for (size_t c = 0; c < w->d && square > 0.0; c++)
	{
		double		unit = (double) direction[c] / square;

		w->rounded[j * w->d + c] = (float) (w->centroid[j * w->d + c] + (limit - place + reach) * unit);
		w->sum[j * w->d + c] = w->centroid[j * w->d + c] + (limit - place - reach) * unit;
	}
}

void
fc_exchange_halve(fc_kmeans_work *w, size_t j, int halvings)
{
	fc_exchange *e = &w->exchange;
	double		half = 0.5 * w->weight[j];
	sides		s;
	double		limit = 0.0;
	double		low;
	double		high;

	for (size_t c = 0; c < w->d; c++)
		e->direction[c] = (float) ((double) w->rounded[j * w->d + c] - w->sum[j * w->d + c]);
	weigh_sides(w, j, limit, &s);
	low = s.least;
	high = s.greatest;
	for (int i = 0; i < halvings; i++)
	{
		limit = 0.5 * low + 0.5 * high;
		weigh_sides(w, j, limit, &s);
		if (s.weight[1] > half)
			low = limit;
		else
			high = limit;
	}
	if (s.weight[0] > 0.0 && s.weight[1] > 0.0)
		place_halves(w, j, limit, &s);
}

static void
find_gains(fc_kmeans_work *w)
{
	fc_exchange_gather(w);
	for (size_t j = 0; j < w->k; j++)
	{
		double		larger_side;

		fc_exchange_split(w, j, &larger_side);
		fc_check_every(&w->done, 8 * w->d);
	}
}

/* ---- costs ---- */

/* The nearest among others (count x d) of some centroids (rows x d), continued; same: both are the same. */
static void
scan_others(fc_kmeans_work *w, const float *centroids, size_t rows, const float *others, const float *half, size_t count, bool same, size_t first,
			float *best, int32_t *label)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) w->d, 1.0f, centroids, (int) w->d,
				others, (int) w->d, 0.0f, w->tile, FC_TILE_CENTROIDS);
	for (size_t r = 0; same && r < rows; r++)
		w->tile[r * FC_TILE_CENTROIDS + r] = -INFINITY;
	fc_kmeans_tile_nearest(w->tile, rows, count, half, first, best, label);
}

/* The nearest other of `rows` centroids from `start` on. */
static void
find_nearest_others(fc_kmeans_work *w, size_t start, size_t rows)
{
	float		best[FC_TILE_ROWS];
	int32_t		label[FC_TILE_ROWS];

	for (size_t r = 0; r < rows; r++)
	{
		best[r] = INFINITY;
		label[r] = (int32_t) (start + r);
	}
	for (size_t first = 0; first < w->k; first += FC_TILE_CENTROIDS)
	{
		size_t		count = smaller(FC_TILE_CENTROIDS, w->k - first);

		scan_others(w, w->rounded + start * w->d, rows, w->rounded + first * w->d, w->half, count, first == start, first, best, label);
		fc_check_every(&w->done, rows * count * w->d);
	}
	for (size_t r = 0; r < rows; r++)
		w->partner[start + r] = (size_t) label[r];
}

static double
cost_of_joining(const fc_kmeans_work *w, size_t a, size_t b)
{
	double		both = w->weight[a] + w->weight[b];

	if (a == b)
		return INFINITY;		/* it met no other */
	return both > 0.0 ? w->weight[a] * w->weight[b] / both * fc_row_gap(w->rounded + a * w->d, w->rounded + b * w->d, w->d) : 0.0;
}

void
fc_exchange_costs(fc_kmeans_work *w)
{
	w->paired += w->k * w->k;
	for (size_t start = 0; start < w->k; start += FC_TILE_ROWS)
		find_nearest_others(w, start, smaller(FC_TILE_ROWS, w->k - start));
	for (size_t j = 0; j < w->k; j++)
	{
		w->merge_cost[j] = cost_of_joining(w, j, w->partner[j]);
		fc_check_every(&w->done, w->d);
	}
}

/* ---- pairs ---- */

void
fc_exchange_rank(fc_kmeans_work *w, const double *values, bool falling, fc_keyed *ranks)
{
	/* as bits they are in the same order */
	for (size_t j = 0; j < w->k; j++)
	{
		uint64_t	key;

		memcpy(&key, &values[j], sizeof(key));
		ranks[j] = (fc_keyed) {falling ? ~key : key, j};
	}
	fc_sort(ranks, w->k, w->exchange.ranks + 2 * w->k);
}

void
fc_exchange_move(fc_kmeans_work *w, size_t a, size_t b, size_t split)
{
	bool	   *paired = w->exchange.paired;

	fc_kmeans_join(w, a, b);
	for (size_t c = 0; c < w->d; c++)
	{
		w->centroid[b * w->d + c] = (double) w->rounded[split * w->d + c];
		w->centroid[split * w->d + c] = w->sum[split * w->d + c];
	}
	paired[a] = paired[b] = paired[split] = true;
}

/* Gain over cost above which a trial moves centroids: that of the medians. */
static double
usual_ratio(const fc_kmeans_work *w, const fc_keyed *by_gain, const fc_keyed *by_cost)
{
	double		gain = w->exchange.gain[by_gain[w->k / 2].value];
	double		cost = w->merge_cost[by_cost[w->k / 2].value];

	return gain < SURE * cost ? gain / cost : SURE;
}

/* `most` greatest gains at most with the least costs; how many. */
static void
pair_clusters(fc_kmeans_work *w, size_t most, bool sure, size_t *pairs)
{
	fc_exchange *e = &w->exchange;
	const fc_keyed *by_gain = e->ranks;
	const fc_keyed *by_cost = e->ranks + w->k;
	size_t		next = 0;
	double		ratio;

	fc_exchange_rank(w, e->gain, true, e->ranks);
	fc_exchange_rank(w, w->merge_cost, false, e->ranks + w->k);
	ratio = sure ? SURE : usual_ratio(w, by_gain, by_cost);
	memset(e->paired, 0, w->k * sizeof(bool));
	*pairs = 0;
	for (size_t i = 0; i < most; i++)
	{
		size_t		split = by_gain[i].value;
		size_t		leaves;

		fc_check_every(&w->done, 4 * w->d);
		if (e->paired[split])
			continue;
		e->paired[split] = true;	/* it does not leave, and nobody joins it */
		while (next < w->k && (e->paired[by_cost[next].value] || e->paired[w->partner[by_cost[next].value]]))
			next++;
		if (next == w->k)
			break;
		leaves = by_cost[next].value;
		if (!(e->gain[split] > ratio * w->merge_cost[leaves]))
			break;
		fc_exchange_move(w, w->partner[leaves], leaves, split);
		++*pairs;
	}
}

/* ---- rounds ---- */

static void
descend_and_measure(fc_kmeans_work *w, const fc_kmeans_stop *stop, double *sse)
{
	int			steps;

	fc_kmeans_descend(w, stop, &steps, sse);
	fc_kmeans_measure(w, w->centroid, w->weight, sse);
}

/* One round; it never raises the SSE. */
static void
exchange_once(fc_kmeans_work *w, size_t most, bool sure, double *sse)
{
	fc_kmeans_stop stop = {sure ? SURE_STEPS : TRIAL_STEPS, STEP_GAIN, INFINITY};
	double		before = *sse;
	size_t		pairs = 0;

	fc_exchange_costs(w);
	find_gains(w);				/* its pieces take the place of the rounded centroids */
	memcpy(w->best, w->centroid, w->k * w->d * sizeof(double));
	pair_clusters(w, most, sure, &pairs);
	if (pairs == 0)
		return;
	descend_and_measure(w, &stop, sse);
	if (*sse > before)
	{
		memcpy(w->centroid, w->best, w->k * w->d * sizeof(double));
		fc_kmeans_assign(w, w->centroid);
		fc_kmeans_measure(w, w->centroid, w->weight, sse);
	}
}

void
fc_kmeans_exchange(fc_kmeans_work *w, const fc_kmeans_options *options, double *sse)
{
	fc_kmeans_stop stop = {options->iterations, options->tolerance, INFINITY};
	size_t		most = w->k / TRIAL_SHARE;
	bool		sure = true;
	int			failures = 0;

	for (int round = 0; round < ROUNDS && round < options->rounds && *sse > 0.0 && failures < FAILURES && fc_kmeans_spent(w) < w->budget; round++)
	{
		double		before = *sse;

		exchange_once(w, sure ? w->k : most, sure, sse);
		if (!sure && !(*sse < (1.0 - TRIAL_GAIN) * before))
		{
			failures++;
			most = larger(1, most / 2);
		}
		sure = sure && *sse < (1.0 - SURE_GAIN) * before;
	}
	descend_and_measure(w, &stop, sse);
}
