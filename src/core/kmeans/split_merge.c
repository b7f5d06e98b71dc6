/*
 * split_merge.c - rounds that lift a solution of Lloyd's steps out of its local minimum.
 *
 * Lloyd's steps move no centroid from a group of rows that has two to two groups that share one.  Rounds do, in one of two ways.
 *
 * Breathing: a round adds m centroids where rows are far from theirs, as greedy k-means++ goes on from k seeds (seed.c), takes a few
 * Lloyd steps with k + m, merges clusters back to k, and goes on with Lloyd's steps; it is undone unless the SSE fell.  m shrinks after
 * rounds in vain.  Cost: (2 + log k) n m d, ten to thirty Lloyd steps, k^2 d.
 *
 * Split and merge, many at a time: each cluster is split in two, which lowers the SSE by its gain, and is joined with the nearest other,
 * which raises it by its cost.  The greatest gains are paired with the least costs, and no cluster is in two pairs.
 *
 *     sure     gains are above costs: the SSE falls by their differences, before the Lloyd steps that follow
 *     trials   gains over costs are above their medians' ratio: only the Lloyd steps that follow tell, and a round in vain is
 *              undone.  Where rows fill space evenly a split gains less than a join costs, and yet most cells could be moved.
 *
 * Cost of a round: k^2 d multiply-adds, 8 n d, and a few Lloyd steps.
 *
 * A merge of two clusters adds W_a W_b / (W_a + W_b) ||c_a - c_b||^2 to the SSE (Ward 1963).
 *
 * Fritzke 2020 (breathing k-means; there the centroids of the lowest utility leave); Kaukoranta, Franti, Nevalainen 1998 (iterative
 * split and merge).
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/rows.h"

#define BREATHS_IN_VAIN	2		/* rounds with m */
#define BREATH_GAIN		1e-4	/* a round that lowers the SSE by less, relative, was in vain */
#define COARSE_STEPS	5		/* Lloyd steps with k + m centroids */
#define COARSE_TOLERANCE	1e-3
#define COARSER			3.0		/* times the tolerance ends the steps of a round: the best goes on (kmeans.c) */

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

#define LEAST_CLUSTERS	256		/* splits from so many clusters on; of fewer, breathing moves as many */
#define LEAST_WIDE		128		/* or dimensions: k-means++ and breathing draw rows by their distances, which are all alike there */
#define LEAST_ROWS		3		/* and so many rows a cluster; of fewer, gains and costs are those of single rows */

bool
fc_kmeans_wants_split_merge(size_t n, size_t d, size_t k)
{
	return k > 1 && (k >= LEAST_CLUSTERS || d >= LEAST_WIDE) && n / LEAST_ROWS >= k && n <= UINT32_MAX;
}

fc_splits
fc_take_splits(fc_kmeans_work *w)
{
	size_t		k = w->k + fc_kmeans_breath(w->k);
	fc_arena   *arena = w->arena;

	return (fc_splits) {.row = FC_TAKE(arena, w->rows.n, uint32_t),.first = FC_TAKE(arena, k + 1, size_t),
	.gain = FC_TAKE(arena, k, double),.cost = FC_TAKE(arena, k, double),.partner = FC_TAKE(arena, k, size_t),
	.taken = FC_TAKE(arena, k, bool),.by_gain = FC_TAKE(arena, k, fc_keyed),.by_cost = FC_TAKE(arena, k, fc_keyed),
	.scratch = FC_TAKE(arena, k, fc_keyed),.direction = FC_TAKE(arena, w->rows.d, float),.sums = FC_TAKE(arena, 2 * w->rows.d, double)};
}

/* ---- merges ---- */

void
fc_rank_clusters(const fc_kmeans_work *w, const double *values, bool falling, fc_splits *s, fc_keyed *ranks)
{
	for (size_t j = 0; j < w->k; j++)
		ranks[j] = (fc_keyed) {fc_number_key(falling ? -values[j] : values[j]), j};
	fc_sort(ranks, w->k, s->scratch);
}

/* The nearest other of `rows` centroids from `start` on. */
static void
find_partners(fc_kmeans_work *w, fc_splits *s, size_t start, size_t rows)
{
	size_t		d = w->rows.d;
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

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) d, 1.0f, w->rounded + start * d, (int) d,
					w->rounded + first * d, (int) d, 0.0f, w->tile, FC_TILE_CENTROIDS);
		for (size_t r = 0; first == start && r < rows; r++)
			w->tile[r * FC_TILE_CENTROIDS + r] = -INFINITY;
		fc_kmeans_tile_nearest(w->tile, rows, count, w->half, first, best, label);
		fc_check_every(&w->done, rows * count * d);
	}
	for (size_t r = 0; r < rows; r++)
		s->partner[start + r] = (size_t) label[r];
}

/* By how much the SSE rises when clusters a and b become one. */
static double
cost_of_merging(const fc_kmeans_work *w, size_t a, size_t b)
{
	size_t		d = w->rows.d;
	double		both = w->weight[a] + w->weight[b];

	return both > 0.0 ? w->weight[a] * w->weight[b] / both * fc_row_gap(w->rounded + a * d, w->rounded + b * d, d) : 0.0;
}

void
fc_find_merges(fc_kmeans_work *w, fc_splits *s)
{
	fc_kmeans_round(w);
	w->compared += w->k * w->k;
	for (size_t start = 0; start < w->k; start += FC_TILE_ROWS)
		find_partners(w, s, start, smaller(FC_TILE_ROWS, w->k - start));
	for (size_t j = 0; j < w->k; j++)
	{
		s->cost[j] = s->partner[j] != j ? cost_of_merging(w, j, s->partner[j]) : INFINITY;
		fc_check_every(&w->done, w->rows.d);
	}
	fc_rank_clusters(w, s->cost, false, s, s->by_cost);
	memset(s->taken, 0, w->k * sizeof(bool));
}

/* Cluster b joins a: its centroid and weight are those of both. */
static void
join(fc_kmeans_work *w, fc_splits *s, size_t a, size_t b)
{
	double		both = w->weight[a] + w->weight[b];
	double	   *here = w->centroid + a * w->rows.d;
	const double *there = w->centroid + b * w->rows.d;

	for (size_t c = 0; c < w->rows.d && both > 0.0; c++)
		here[c] = (w->weight[a] * here[c] + w->weight[b] * there[c]) / both;
	w->weight[a] = both;
	s->taken[a] = s->taken[b] = true;
}

void
fc_move_centroid(fc_kmeans_work *w, fc_splits *s, size_t a, size_t b, size_t split)
{
	size_t		d = w->rows.d;

	join(w, s, a, b);
	s->taken[split] = true;
	fc_widen(w->rounded + split * d, d, w->centroid + b * d);
	memcpy(w->centroid + split * d, w->sum + split * d, d * sizeof(double));
}

/* ---- breathing ---- */

/* The partners with whom clusters cost least together. */
static void
find_cheapest_merges(fc_kmeans_work *w, fc_splits *s)
{
	fc_kmeans_round(w);
	w->compared += w->k * w->k;
	for (size_t j = 0; j < w->k; j++)
	{
		s->cost[j] = INFINITY;
		for (size_t other = 0; other < j; other++)
		{
			double		cost = cost_of_merging(w, j, other);

			if (cost < s->cost[j])
			{
				s->cost[j] = cost;
				s->partner[j] = other;
			}
			if (cost < s->cost[other])
			{
				s->cost[other] = cost;
				s->partner[other] = j;
			}
		}
		fc_check_every(&w->done, (j + 1) * w->rows.d);
	}
	fc_rank_clusters(w, s->cost, false, s, s->by_cost);
	memset(s->taken, 0, w->k * sizeof(bool));
}

/* Merges pairs, those that cost least first, until there are k clusters; the last take the places of those that are gone. */
static void
merge_down(fc_kmeans_work *w, fc_splits *s, size_t k)
{
	size_t		d = w->rows.d;

	while (w->k > k)
	{
		size_t		left = w->k;

		find_cheapest_merges(w, s);
		for (size_t i = 0; i < w->k && left > k; i++)
		{
			size_t		b = s->by_cost[i].value;

			if (s->taken[b] || s->taken[s->partner[b]])
				continue;
			join(w, s, s->partner[b], b);
			s->partner[b] = SIZE_MAX;
			left--;
		}
		for (size_t j = w->k; j-- > 0;)
			if (s->partner[j] == SIZE_MAX)
			{
				w->k--;
				memmove(w->centroid + j * d, w->centroid + w->k * d, d * sizeof(double));
				w->weight[j] = w->weight[w->k];
			}
	}
}

/* k + m centroids and back, to a minimum of SSE *sse; hopeless ones are left before. */
static void
breathe_once(fc_kmeans_work *w, fc_splits *s, fc_rng *rng, size_t m, const fc_kmeans_stop *stop, double *sse)
{
	fc_kmeans_stop coarse = {COARSE_STEPS, COARSE_TOLERANCE, INFINITY};
	size_t		k = w->k;

	fc_kmeans_add(w, rng, m);
	(void) fc_kmeans_descend(w, &coarse, sse);
	merge_down(w, s, k);
	(void) fc_kmeans_descend(w, stop, sse);
	fc_kmeans_measure(w, sse);
}

void
fc_kmeans_breathe(fc_kmeans_work *w, fc_rng *rng, const fc_kmeans_options *options, double *sse)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_splits	s = fc_take_splits(w);
	float	   *near = FC_TAKE(w->arena, w->rows.n, float);	/* of w->best */
	size_t		m = fc_kmeans_breath(w->k);
	int			failures = 0;
	bool		better = true;

	for (int round = 0; round < options->rounds && m > 0 && *sse > 0.0 && fc_kmeans_spent(w) < w->budget; round++)
	{
		fc_kmeans_stop stop = {options->iterations, COARSER * options->tolerance, *sse};
		double		now;

		if (better)
		{
			memcpy(w->best, w->centroid, w->k * w->rows.d * sizeof(double));
			memcpy(near, w->near, w->rows.n * sizeof(float));
		}
		breathe_once(w, &s, rng, m, &stop, &now);
		failures = now < *sse * (1.0 - BREATH_GAIN) ? 0 : failures + 1;
		better = now < *sse;
		*sse = fmin(now, *sse);
		if (!better)
		{
			memcpy(w->centroid, w->best, w->k * w->rows.d * sizeof(double));
			memcpy(w->near, near, w->rows.n * sizeof(float));
		}
		if (failures == BREATHS_IN_VAIN)
		{
			failures = 0;
			m--;
		}
	}
	fc_arena_release(w->arena, mark);
}

/* ---- splits ---- */

void
fc_gather_clusters(fc_kmeans_work *w, fc_splits *s)
{
	memset(s->first, 0, (w->k + 1) * sizeof(size_t));
	for (size_t i = 0; i < w->rows.n; i++)
	{
		fc_check_every(&w->done, 4);
		s->first[w->label[i]] += fc_kmeans_weight(w, i) > 0.0;
	}
	for (size_t j = 1; j <= w->k; j++)	/* ends, */
		s->first[j] += s->first[j - 1];
	for (size_t i = w->rows.n; i-- > 0;)	/* which go down to the beginnings */
	{
		fc_check_every(&w->done, 4);
		if (fc_kmeans_weight(w, i) > 0.0)
			s->row[--s->first[w->label[i]]] = (uint32_t) i;
	}
}

double
fc_place_along(const fc_kmeans_work *w, const fc_splits *s, size_t i)
{
	const float *x = w->rows.x + i * w->rows.d;
	float		product = 0.0f;

	if (w->rows.packs == NULL)
		fc_dense_apply(s->direction, 1, w->rows.d, x, &product);
	else						/* a loop costs less than a call */
		for (size_t c = 0; c < w->rows.d; c++)
			product += s->direction[c] * x[c];
	return (double) product;
}

/* The plane direction . x = limit through the centroid of cluster j. */
static double
limit_through(const fc_kmeans_work *w, const fc_splits *s, size_t j)
{
	double		limit = 0.0;

	for (size_t c = 0; c < w->rows.d; c++)
		limit += (double) s->direction[c] * w->centroid[j * w->rows.d + c];
	return limit;
}

void
fc_sum_sides(fc_kmeans_work *w, fc_splits *s, size_t j, double limit)
{
	size_t		d = w->rows.d;

	s->weight[0] = s->weight[1] = 0.0;
	memset(s->sums, 0, 2 * d * sizeof(double));
	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
	{
		size_t		i = s->row[q];
		size_t		side = fc_place_along(w, s, i) > limit;

		fc_check_every(&w->done, 2 * d);
		s->weight[side] += fc_kmeans_weight(w, i);
		fc_axpy(fc_kmeans_weight(w, i), w->rows.x + i * d, d, s->sums + side * d);
	}
}

/* The direction of the first principal axis of cluster j, about: a step of the power method from the row farthest from its centroid. */
static void
point_along_axis(fc_kmeans_work *w, fc_splits *s, size_t j)
{
	size_t		d = w->rows.d;
	const double *centroid = w->centroid + j * d;
	size_t		farthest = s->row[s->first[j]];
	double		shares = 0.0;
	double		most = 0.0;
	double		limit;

	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
		if (w->near[s->row[q]] > w->near[farthest])
			farthest = s->row[q];
	for (size_t c = 0; c < d; c++)
		s->direction[c] = (float) ((double) w->rows.x[farthest * d + c] - centroid[c]);
	limit = limit_through(w, s, j);
	memset(s->sums, 0, d * sizeof(double));
	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
	{
		double		share = fc_kmeans_weight(w, s->row[q]) * (fc_place_along(w, s, s->row[q]) - limit);

		fc_check_every(&w->done, 2 * d);
		fc_axpy(share, w->rows.x + s->row[q] * d, d, s->sums);
		shares += share;
	}
	for (size_t c = 0; c < d; c++)
	{
		s->sums[c] -= shares * centroid[c];
		most = fmax(most, fabs(s->sums[c]));
	}
	for (size_t c = 0; c < d; c++)
		s->direction[c] = most > 0.0 ? (float) (s->sums[c] / most) : 0.0f;
}

/* The means of both sides become pieces, which gain W+ W- / W ||m+ - m-||^2, and the plane goes halfway between them: its limit. */
static double
set_pieces(fc_kmeans_work *w, fc_splits *s, size_t j)
{
	size_t		d = w->rows.d;
	double		square = 0.0;
	double		limit = 0.0;

	for (size_t c = 0; c < d; c++)
	{
		double		here = s->sums[d + c] / s->weight[1];
		double		there = s->sums[c] / s->weight[0];
		double		gap = here - there;

		w->rounded[j * d + c] = (float) here;
		w->sum[j * d + c] = there;
		s->direction[c] = (float) gap;
		square += gap * gap;
		limit += gap * 0.5 * (here + there);
	}
	s->gain[j] = s->weight[0] * s->weight[1] / (s->weight[0] + s->weight[1]) * square;
	return limit;
}

/* By its principal axis, then a few Lloyd steps. */
void
fc_split_cluster(fc_kmeans_work *w, fc_splits *s, size_t j)
{
	double		limit;

	s->gain[j] = 0.0;
	if (s->first[j + 1] - s->first[j] < 2)
		return;
	point_along_axis(w, s, j);
	limit = limit_through(w, s, j);
	for (int step = 0; step <= PLANES; step++)
	{
		fc_sum_sides(w, s, j, limit);
		if (!(s->weight[0] > 0.0 && s->weight[1] > 0.0))
			break;
		limit = set_pieces(w, s, j);
	}
}

/* ---- rounds of splits and merges ---- */

/* Pairs `most` greatest gains at most with the least costs, and moves centroids; how many. */
static size_t
move_centroids(fc_kmeans_work *w, fc_splits *s, size_t most, bool sure)
{
	size_t		next = 0;
	size_t		moves = 0;
	double		ratio = SURE;

	fc_rank_clusters(w, s->gain, true, s, s->by_gain);
	if (!sure)					/* that of the medians */
	{
		double		gain = s->gain[s->by_gain[w->k / 2].value];
		double		cost = s->cost[s->by_cost[w->k / 2].value];

		ratio = gain < SURE * cost ? gain / cost : SURE;
	}
	for (size_t i = 0; i < most; i++)
	{
		size_t		split = s->by_gain[i].value;
		size_t		leaves;

		fc_check_every(&w->done, 4 * w->rows.d);
		if (s->taken[split])
			continue;
		s->taken[split] = true; /* it does not leave, and nobody joins it */
		while (next < w->k && (s->taken[s->by_cost[next].value] || s->taken[s->partner[s->by_cost[next].value]]))
			next++;
		if (next == w->k)
			break;
		leaves = s->by_cost[next].value;
		if (!(s->gain[split] > ratio * s->cost[leaves]))
			break;
		fc_move_centroid(w, s, s->partner[leaves], leaves, split);
		moves++;
	}
	return moves;
}

/* One round; it never raises the SSE. */
static void
split_merge_once(fc_kmeans_work *w, fc_splits *s, size_t most, bool sure, double *sse)
{
	fc_kmeans_stop stop = {sure ? SURE_STEPS : TRIAL_STEPS, STEP_GAIN, INFINITY};
	double		before = *sse;

	fc_find_merges(w, s);
	fc_gather_clusters(w, s);
	for (size_t j = 0; j < w->k; j++)
		fc_split_cluster(w, s, j);	/* pieces take the place of the rounded centroids */
	memcpy(w->best, w->centroid, w->k * w->rows.d * sizeof(double));
	if (move_centroids(w, s, most, sure) == 0)
		return;
	(void) fc_kmeans_descend(w, &stop, sse);
	fc_kmeans_measure(w, sse);
	if (*sse > before)
	{
		memcpy(w->centroid, w->best, w->k * w->rows.d * sizeof(double));
		fc_kmeans_assign(w);
		fc_kmeans_measure(w, sse);
	}
}

void
fc_kmeans_split_merge(fc_kmeans_work *w, const fc_kmeans_options *options, double *sse)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_splits	s = fc_take_splits(w);
	fc_kmeans_stop stop = {options->iterations, options->tolerance, INFINITY};
	size_t		most = w->k / TRIAL_SHARE;
	bool		sure = true;
	int			failures = 0;

	for (int round = 0; round < ROUNDS && round < options->rounds && *sse > 0.0 && failures < FAILURES && fc_kmeans_spent(w) < w->budget; round++)
	{
		double		before = *sse;

		split_merge_once(w, &s, sure ? w->k : most, sure, sse);
		if (!sure && !(*sse < (1.0 - TRIAL_GAIN) * before))
		{
			failures++;
			most = larger(1, most / 2);
		}
		sure = sure && *sse < (1.0 - SURE_GAIN) * before;
	}
	(void) fc_kmeans_descend(w, &stop, sse);
	fc_kmeans_measure(w, sse);
	fc_arena_release(w->arena, mark);
}
