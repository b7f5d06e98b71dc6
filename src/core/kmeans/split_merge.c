/*
 * split_merge.c - rounds that lift a solution of Lloyd's steps out of its
 * local minimum.
 *
 * Lloyd's steps cannot move a centroid from a group of rows that has two
 * centroids to a pair of groups that share one. Rounds can do this, by one of
 * two methods.
 *
 * Breathing: a round adds m centroids where rows are far from their centroids,
 * as greedy k-means++ would after k seeds (lloyd.c). It takes a few Lloyd
 * steps with k + m centroids, merges clusters until k are left, and continues
 * with Lloyd's steps. A round is undone unless the SSE fell. m is reduced
 * after failed rounds. Cost of a round: (2 + log k) n m d + k^2 d
 * multiply-adds, and ten to thirty Lloyd steps.
 *
 * Split and merge: each cluster has a gain, the fall of the SSE when it is
 * split in two, and a cost, the rise of the SSE when it is merged with its
 * nearest other cluster. A move merges a cluster of low cost and uses the
 * centroid that becomes free to split a cluster of high gain. A round makes
 * many moves together: the greatest gains are paired with the lowest costs,
 * and no cluster is in two pairs. There are two kinds of moves, and a round
 * makes only one of them.
 *
 *     sure moves     The gain exceeds the cost: the SSE falls by the
 *                    differences, even before the Lloyd steps that follow.
 *     trial moves    The gain, relative to the cost, exceeds the ratio of the
 *                    median gain to the median cost. If rows fill space
 *                    evenly, a split gains less than a merge costs, but moves
 *                    may still succeed. Only the Lloyd steps that follow show
 *                    whether they do.
 *
 * A trial is a round of trial moves. A round that raises the SSE is undone.
 * Cost of a round: k^2 d + 8 n d multiply-adds, and a few Lloyd steps.
 *
 * Balancing: if the weight of clusters is limited, each cluster above the
 * limit is split in two by a plane across its first principal axis. If this
 * plane divides it unevenly, the plane is moved to the median. The centroid
 * for the second piece is taken from a pair of clusters near each other whose
 * weights sum to at most the limit: the pairs with the lowest cost are merged.
 * Rows are then assigned to their nearest centroids, and the next round splits
 * the clusters that are still too large. Once no cluster is too large, Lloyd's
 * steps continue as long as no cluster becomes too large. Cost of a round: a
 * Lloyd step, k^2 d multiply-adds, and 16 d for each row of a cluster that is
 * split.
 *
 * A merge of two clusters adds W_a W_b / (W_a + W_b) ||c_a - c_b||^2 to the
 * SSE (Ward 1963).
 *
 * Fritzke 2020 (breathing k-means, which removes the centroids of the lowest
 * utility instead of merging); Kaukoranta, Franti, Nevalainen 1998 (iterative
 * split and merge).
 */
#include "kmeans/internal.h"

#include "numerics/dense.h"
#include "numerics/rows.h"

/*
 * Relative fall of the SSE below which a round of breathing has failed. A
 * larger one ends searches earlier, at a higher SSE (bench/kmeans.py).
 */
#define MIN_BREATH_GAIN	1e-4

/*
 * Relative fall of the SSE below which the Lloyd steps with k + m centroids
 * end. These steps only show where centroids are missing (bench/kmeans.py).
 */
#define COARSE_TOLERANCE	1e-3

/*
 * Tolerance and maximum number of the Lloyd steps with k + m centroids if BLAS
 * computes the dot products. Clusters of many dimensions take more steps to
 * move apart. For rows of categories, half as many searches end above the best
 * minimum as with 5 steps (bench/defaults.py).
 */
#define WIDE_COARSE_TOLERANCE	1e-4
#define WIDE_COARSE_STEPS	20

/*
 * Factor on the tolerance of the Lloyd steps of a round of breathing. A larger
 * one saves steps of rounds that fail, but undoes rounds that would have
 * gained a little. A guess.
 */
#define ROUND_TOLERANCE_FACTOR	3.0

/*
 * Maximum number of rounds of splits and merges, so that every search ends.
 * Most searches end earlier, because their rounds gain little. A guess.
 */
#define MAX_ROUNDS	60

/*
 * Minimum ratio of gain to cost of a sure move; it is above 1 because other
 * moves of the round change gains and costs. A larger one leaves more moves to
 * trials, which cost more. Halving or doubling it changes neither the SSE nor
 * the time (bench/tuned.py, bench/many_starts.sh).
 */
#define SURE_RATIO	1.05

/*
 * Inverse of the maximum share of the centroids that a trial moves. Moves of
 * more centroids gain more in a round, but also interfere with each other
 * (bench/many_starts.sh).
 */
#define TRIAL_SHARE	8

/*
 * Maximum SSE after the first Lloyd step of a trial, relative to the SSE
 * before the trial. Above it, the trial takes no further step. A larger one
 * takes more steps in trials that fail (bench/many_starts.sh).
 */
#define MAX_TRIAL_RISE	1.002

/*
 * Maximum number of further Lloyd steps of a trial. More steps show gains that
 * appear late; each costs n k d multiply-adds (bench/many_starts.sh).
 */
#define TRIAL_STEPS	3

/*
 * Relative fall of the SSE below which a trial fails. The next trial then
 * moves at most half as many centroids. A larger one ends a search earlier. A
 * guess.
 */
#define MIN_TRIAL_GAIN	1e-3

/*
 * Relative fall of the SSE below which a step is the last of its trial.
 * Halving or doubling it changes neither the SSE nor the time (bench/tuned.py,
 * bench/many_starts.sh).
 */
#define MIN_STEP_GAIN	3e-3

/*
 * Number of Lloyd steps with the two pieces of a cluster. More steps find
 * better pieces; each costs n d multiply-adds. A guess.
 */
#define PIECE_STEPS	2

/*
 * Maximum number of rounds that split clusters above the limit, so that
 * balancing ends. Most searches need fewer rounds. A guess.
 */
#define MAX_BALANCE_ROUNDS	100

/*
 * Number of consecutive rounds without progress after which balancing stops. A
 * round makes progress if the largest weight or the total excess above the
 * limit falls. More rounds rarely help, and each takes a Lloyd step. A guess.
 */
#define MAX_BALANCE_FAILURES	20

/*
 * Maximum weight of two merged clusters, relative to the limit. It is below 1
 * because rows of other clusters may be assigned to them. With a larger one,
 * more clusters can be merged, and more of them exceed the limit later. A
 * guess.
 */
#define JOINED_SHARE	0.9

/*
 * Maximum fraction of a cluster's weight in its larger piece. If the fraction
 * is greater, the cluster is divided at the median. A smaller one balances
 * faster, but cuts through dense regions more often. A guess.
 */
#define MAX_UNEVEN_SHARE	0.7

/*
 * Number of halvings of the interval around the median, the number of bits of
 * a float's mantissa.
 */
#define MEDIAN_HALVINGS	24

/*
 * Maximum number of Lloyd steps once no cluster is above the limit. More steps
 * lower the SSE, but may push a cluster above the limit again. A guess.
 */
#define MAX_SETTLING_STEPS	10

/*
 * Relative fall of the SSE below which a Lloyd step is the last, once no
 * cluster is above the limit. A guess.
 */
#define MIN_SETTLING_GAIN	1e-3

/*
 * Index of the last rule of move_from_large, under which a centroid is moved
 * although its cluster is not merged into another.
 */
#define ALONE					3

/* ---- merges ---- */

/* Ranks the clusters by rising or falling values, all at least 0. */
static void
rank_clusters(const fc_kmeans_work *w, const double *values, bool falling,
			  fc_keyed *ranks)
{
	for (size_t j = 0; j < w->k; j++)
		ranks[j] = (fc_keyed)
	{
		fc_number_key(falling ? -values[j] : values[j]),
			j
	};
	fc_sort(ranks, w->k, w->splits.scratch);
}

/*
 * Sets the partners of `rows` centroids from `start` on: the nearest other
 * centroid of each.
 */
static void
find_partners(fc_kmeans_work *w, size_t start, size_t rows)
{
	fc_splits  *s = &w->splits;
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
		size_t		count = (w->k - first < FC_TILE_CENTROIDS ? w->k - first
							 : FC_TILE_CENTROIDS);

		fc_dots(w->rounded + start * d, rows, w->rounded + first * d, count, d,
				w->tile, FC_TILE_CENTROIDS);
		for (size_t r = 0; first == start && r < rows; r++)
			w->tile[r * FC_TILE_CENTROIDS + r] = -INFINITY;
		fc_kmeans_tile_nearest(w->tile, rows, count, w->half, first, best,
							   label);
		fc_check();
	}
	for (size_t r = 0; r < rows; r++)
		s->partner[start + r] = (size_t) label[r];
}

/* Returns the rise of the SSE when clusters a and b become one. */
static double
cost_of_merging(const fc_kmeans_work *w, size_t a, size_t b)
{
	size_t		d = w->rows.d;
	double		both = w->weight[a] + w->weight[b];

	return both > 0.0
		? w->weight[a] * w->weight[b] / both *
		fc_row_gap(w->rounded + a * d, w->rounded + b * d, d)
		: 0.0;
}

/* Computes partner, cost and by_cost from the rounded centroids. */
static void
find_merges(fc_kmeans_work *w)
{
	fc_splits  *s = &w->splits;

	w->compared += w->k * w->k;
	for (size_t start = 0; start < w->k; start += FC_TILE_ROWS)
		find_partners(w, start,
					  w->k - start < FC_TILE_ROWS ? w->k - start
					  : FC_TILE_ROWS);
	for (size_t j = 0; j < w->k; j++)
		s->cost[j] = s->partner[j] != j ? cost_of_merging(w, j, s->partner[j])
			: INFINITY;
	rank_clusters(w, s->cost, false, s->by_cost);
}

/*
 * Merges cluster b into a: a receives the mean and the weight of both. Marks
 * both as taken.
 */
static void
join(fc_kmeans_work *w, size_t a, size_t b)
{
	fc_splits  *s = &w->splits;
	double		both = w->weight[a] + w->weight[b];
	double	   *here = w->centroid + a * w->rows.d;
	const double *there = w->centroid + b * w->rows.d;

	for (size_t c = 0; c < w->rows.d && both > 0.0; c++)
	{
		here[c] = (w->weight[a] * here[c] + w->weight[b] * there[c]) / both;
		w->rounded[a * w->rows.d + c] = (float) here[c];
	}
	w->weight[a] = both;
	s->taken[a] = s->taken[b] = true;
}

/*
 * Merges cluster b into a. Sets centroid b to one piece of cluster `split`,
 * and centroid `split` to the other piece. Marks all three as taken.
 */
static void
move_centroid(fc_kmeans_work *w, size_t a, size_t b, size_t split)
{
	fc_splits  *s = &w->splits;
	size_t		d = w->rows.d;

	join(w, a, b);
	s->taken[split] = true;
	fc_widen(w->rounded + split * d, d, w->centroid + b * d);
	memcpy(w->centroid + split * d, w->sum + split * d, d * sizeof(double));
}

/* ---- breathing ---- */

/*
 * Sets the partner of each cluster to the one with the lowest cost of merging,
 * and ranks the clusters by that cost.
 */
static void
find_cheapest_merges(fc_kmeans_work *w)
{
	fc_splits  *s = &w->splits;

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
		fc_check();
	}
	rank_clusters(w, s->cost, false, s->by_cost);
	memset(s->taken, 0, w->k * sizeof(bool));
}

/*
 * Merges pairs, lowest cost first, until there are k clusters; the last
 * clusters fill the places of the merged ones.
 */
static void
merge_down(fc_kmeans_work *w, size_t k)
{
	fc_splits  *s = &w->splits;
	size_t		d = w->rows.d;

	while (w->k > k)
	{
		size_t		left = w->k;

		find_cheapest_merges(w);
		for (size_t i = 0; i < w->k && left > k; i++)
		{
			size_t		b = s->by_cost[i].value;

			if (s->taken[b] || s->taken[s->partner[b]])
				continue;
			join(w, s->partner[b], b);
			s->partner[b] = SIZE_MAX;
			left--;
		}
		for (size_t j = w->k; j-- > 0;)
			if (s->partner[j] == SIZE_MAX)
			{
				w->k--;
				memmove(w->centroid + j * d, w->centroid + w->k * d,
						d * sizeof(double));
				memmove(w->rounded + j * d, w->rounded + w->k * d,
						d * sizeof(float));
				w->weight[j] = w->weight[w->k];
			}
	}
}

/*
 * Runs one round of breathing: adds m centroids, merges back to k, and takes
 * Lloyd's steps to a minimum. The steps stop early if their SSE is unlikely to
 * fall below `beat`.
 */
static void
breathe_once(fc_kmeans_work *w, size_t m, double beat)
{
	size_t		k = w->k;
	bool		wide = w->rows.packs == NULL;

	fc_kmeans_add(w, m);
	fc_kmeans_assign(w);
	(void) fc_kmeans_descend(w, wide ? WIDE_COARSE_STEPS : w->effort->coarse_steps,
							 wide ? WIDE_COARSE_TOLERANCE : COARSE_TOLERANCE,
							 INFINITY);
	merge_down(w, k);
	fc_kmeans_assign(w);
	(void) fc_kmeans_descend(w, w->options.iterations,
							 ROUND_TOLERANCE_FACTOR * w->options.tolerance,
							 beat);
	fc_kmeans_measure(w);
}

static void
breathe(fc_kmeans_work *w)
{
	size_t		centroids = w->k * w->rows.d * sizeof(double);
	size_t		rows = w->rows.n * sizeof(float);
	size_t		m = w->breath;
	int			failures = 0;
	bool		better = true;

	for (int round = 0; round < w->options.rounds && m > 0 && w->sse > 0.0 &&
		 w->spent < w->budget;
		 round++)
	{
		double		before = w->sse;

		if (better)
		{
			memcpy(w->best, w->centroid, centroids);
			memcpy(w->near_best, w->near, rows);
		}
		breathe_once(w, m, before);
		failures = w->sse < before * (1.0 - MIN_BREATH_GAIN) ? 0 : failures + 1;
		better = w->sse < before;
		if (!better)
		{
			w->sse = before;
			memcpy(w->centroid, w->best, centroids);
			memcpy(w->near, w->near_best, rows);
		}
		if (failures > 0 && failures % w->effort->failures_to_shrink == 0)
			m--;
		if (failures >= w->effort->max_breath_failures)
			w->budget = w->spent;
	}
}

/* ---- splits ---- */

/* Lists the rows of positive weight in splits.row, grouped by cluster. */
static void
gather_clusters(fc_kmeans_work *w)
{
	fc_splits  *s = &w->splits;

	memset(s->first, 0, (w->k + 1) * sizeof(size_t));
	for (size_t i = 0; i < w->rows.n; i++)
		s->first[w->label[i]] += w->rows.weight[i] > 0.0;
	for (size_t j = 1; j <= w->k; j++)	/* first[j] is the end of cluster j */
		s->first[j] += s->first[j - 1];
	for (size_t i = w->rows.n; i-- > 0;)	/* moves first[j] down to the
											 * start of cluster j */
		if (w->rows.weight[i] > 0.0)
			s->row[--s->first[w->label[i]]] = (uint32_t) i;
}

/* Returns the dot product of splits.direction and row i. */
static double
place_along(const fc_kmeans_work *w, size_t i)
{
	const fc_splits *s = &w->splits;
	const float *x = w->rows.x + i * w->rows.d;
	float		product = 0.0f;

	if (w->rows.packs == NULL)
		fc_dense_apply(s->direction, 1, w->rows.d, x, &product);
	else						/* a loop costs less than a call */
		for (size_t c = 0; c < w->rows.d; c++)
			product += s->direction[c] * x[c];
	return (double) product;
}

/*
 * Returns the `limit` of the plane direction . x = limit that contains the
 * centroid of cluster j.
 */
static double
limit_through(const fc_kmeans_work *w, size_t j)
{
	const fc_splits *s = &w->splits;
	double		limit = 0.0;

	for (size_t c = 0; c < w->rows.d; c++)
		limit += (double) s->direction[c] * w->centroid[j * w->rows.d + c];
	return limit;
}

/*
 * Computes sums and weights of the rows of cluster j on both sides of the
 * plane direction . x = limit.
 */
static void
sum_sides(fc_kmeans_work *w, size_t j, double limit)
{
	fc_splits  *s = &w->splits;
	size_t		d = w->rows.d;

	s->weight[0] = s->weight[1] = 0.0;
	memset(s->sums, 0, 2 * d * sizeof(double));
	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
	{
		size_t		i = s->row[q];
		size_t		side = place_along(w, i) > limit;

		if (q % FC_TILE_ROWS == 0)
			fc_check();
		s->weight[side] += w->rows.weight[i];
		fc_axpy(w->rows.weight[i], w->rows.x + i * d, d, s->sums + side * d);
	}
}

/*
 * Approximates the direction of the first principal axis of cluster j: one
 * step of the power method from the row farthest from its centroid.
 */
static void
point_along_axis(fc_kmeans_work *w, size_t j)
{
	fc_splits  *s = &w->splits;
	size_t		d = w->rows.d;
	const double *centroid = w->centroid + j * d;
	size_t		farthest = s->row[s->first[j]];
	double		shares = 0.0;
	double		max = 0.0;
	double		limit;

	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
		if (w->near[s->row[q]] > w->near[farthest])
			farthest = s->row[q];
	for (size_t c = 0; c < d; c++)
		s->direction[c] = (float) ((double) w->rows.x[farthest * d + c] -
								   centroid[c]);
	limit = limit_through(w, j);
	memset(s->sums, 0, d * sizeof(double));
	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
	{
		double		share = (w->rows.weight[s->row[q]] *
							 (place_along(w, s->row[q]) - limit));

		if (q % FC_TILE_ROWS == 0)
			fc_check();
		fc_axpy(share, w->rows.x + s->row[q] * d, d, s->sums);
		shares += share;
	}
	for (size_t c = 0; c < d; c++)
	{
		s->sums[c] -= shares * centroid[c];
		max = fmax(max, fabs(s->sums[c]));
	}
	for (size_t c = 0; c < d; c++)
		s->direction[c] = max > 0.0 ? (float) (s->sums[c] / max) : 0.0f;
}

/*
 * Sets the pieces of cluster j to the means m+ and m- of the two sides, and
 * its gain to W+ W- / (W+ + W-) * ||m+ - m-||^2, where W+ and W- are the
 * weights of the sides. Puts the plane halfway between the means. Returns the
 * limit of the plane.
 */
static double
set_pieces(fc_kmeans_work *w, size_t j)
{
	fc_splits  *s = &w->splits;
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
	s->gain[j] = s->weight[0] * s->weight[1] / (s->weight[0] + s->weight[1]) *
		square;
	return limit;
}

/*
 * Splits cluster j into two pieces by its principal axis, and takes a few
 * Lloyd steps with the pieces. Stores the pieces in row j of w->rounded and of
 * w->sum, and sets the gain of j, 0 if it cannot be split.
 */
static void
split_cluster(fc_kmeans_work *w, size_t j)
{
	fc_splits  *s = &w->splits;
	double		limit;

	s->gain[j] = 0.0;
	if (s->first[j + 1] - s->first[j] < 2)
		return;
	point_along_axis(w, j);
	limit = limit_through(w, j);
	for (int step = 0; step <= PIECE_STEPS; step++)
	{
		sum_sides(w, j, limit);
		if (!(s->weight[0] > 0.0 && s->weight[1] > 0.0))
			break;
		limit = set_pieces(w, j);
	}
}

/* ---- rounds of splits and merges ---- */

/*
 * Pairs the clusters of the greatest gains, up to `max`, with the clusters of
 * the lowest costs, and moves a centroid for each pair. sure: true for sure
 * moves, false for trial moves. Returns the number of moves.
 */
static size_t
move_centroids(fc_kmeans_work *w, size_t max, bool sure)
{
	fc_splits  *s = &w->splits;
	size_t		next = 0;
	size_t		moves = 0;
	double		ratio = SURE_RATIO;

	memset(s->taken, 0, w->k * sizeof(bool));
	rank_clusters(w, s->gain, true, s->by_gain);
	if (!sure)
	{
		/*
		 * Use the ratio of the median gain to the median cost if it is lower
		 * than SURE_RATIO.
		 */
		double		gain = s->gain[s->by_gain[w->k / 2].value];
		double		cost = s->cost[s->by_cost[w->k / 2].value];

		ratio = gain < SURE_RATIO * cost ? gain / cost : SURE_RATIO;
	}
	for (size_t i = 0; i < max; i++)
	{
		size_t		split = s->by_gain[i].value;
		size_t		leaves;

		if (s->taken[split])
			continue;
		s->taken[split] = true; /* the split cluster must neither give up its
								 * centroid nor be joined */
		while (next < w->k && (s->taken[s->by_cost[next].value] ||
							   s->taken[s->partner[s->by_cost[next].value]]))
			next++;
		if (next == w->k)
			break;
		leaves = s->by_cost[next].value;
		if (!(s->gain[split] > ratio * s->cost[leaves]))
			break;
		move_centroid(w, s->partner[leaves], leaves, split);
		moves++;
	}
	return moves;
}

/*
 * Runs rounds of splits and merges, then Lloyd's steps. A round that raises
 * the SSE is undone. Rounds of sure moves continue until one gains less than
 * sure_gain. Trials follow, until max_trial_failures of them have failed, or a
 * failed one took more than max_trial_work multiply-adds.
 */
static void
split_merge(fc_kmeans_work *w)
{
	const fc_effort *effort = w->effort;
	size_t		max = w->k / TRIAL_SHARE;
	bool		sure = true;
	int			failures = 0;

	for (int round = 0;
		 round < MAX_ROUNDS && round < w->options.rounds && w->sse > 0.0;
		 round++)
	{
		double		before = w->sse;
		double		spent = w->spent;

		if (!(sure || failures < effort->max_trial_failures) ||
			w->spent >= w->budget)
			break;
		find_merges(w);
		gather_clusters(w);
		for (size_t j = 0; j < w->k; j++)
			split_cluster(w, j);	/* pieces replace the rounded centroids */
		memcpy(w->best, w->centroid, w->k * w->rows.d * sizeof(double));
		memcpy(w->label_best, w->label, w->rows.n * sizeof(int32_t));
		sure = sure && move_centroids(w, w->k, true) > 0;
		if (!sure && (effort->max_trial_failures == 0 ||
					  move_centroids(w, max, false) == 0))
			break;
		fc_kmeans_assign(w);
		(void) fc_kmeans_descend(w, 1, 0.0, INFINITY);
		if (!sure && w->sse < MAX_TRIAL_RISE * before)
			(void) fc_kmeans_descend(w, TRIAL_STEPS, MIN_STEP_GAIN, INFINITY);
		fc_kmeans_measure(w);
		if (w->sse > before)
		{
			memcpy(w->centroid, w->best, w->k * w->rows.d * sizeof(double));
			memcpy(w->label, w->label_best, w->rows.n * sizeof(int32_t));
			fc_kmeans_measure(w);
			fc_kmeans_round(w);
		}
		if (!sure && !(w->sse < (1.0 - MIN_TRIAL_GAIN) * before))
		{
			failures += w->spent - spent > effort->max_trial_work
				? effort->max_trial_failures
				: 1;
			max = max > 1 ? max / 2 : 1;
		}
		sure = sure && w->sse < (1.0 - effort->sure_gain) * before;
	}
	(void) fc_kmeans_descend(w, w->options.iterations,
							 fmax(w->options.tolerance, effort->end_tolerance),
							 INFINITY);
	fc_kmeans_measure(w);
}

void
fc_kmeans_rounds(fc_kmeans_work *w)
{
	w->split_merge ? split_merge(w) : breathe(w);
}

/* ---- balancing ---- */

/*
 * Balance of the clusters: weight of the largest cluster, SSE, and sum of the
 * weights by which clusters exceed the limit.
 */
typedef struct balance
{
	double		largest;
	double		sse;
	double		excess;
} balance;

/* Returns the balance of the clusters as last measured. */
static balance
balance_of(const fc_kmeans_work *w)
{
	balance		b = {.sse = w->sse};

	for (size_t j = 0; j < w->k; j++)
	{
		b.largest = fmax(b.largest, w->weight[j]);
		b.excess += fmax(0.0, w->weight[j] - w->options.max);
	}
	return b;
}

/*
 * Moves the pieces of cluster j so that the plane between them halves the
 * weight of the cluster. Leaves them unchanged if one side of this plane has
 * no rows. Both pieces are put on a line through the centroid. Their distance
 * from the median is half the distance between the means of the two halves
 * along this line.
 */
static void
halve_cluster(fc_kmeans_work *w, size_t j)
{
	fc_splits  *s = &w->splits;
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
		s->direction[c] = (float) ((double) w->rounded[j * d + c] -
								   w->sum[j * d + c]);
		square += (double) s->direction[c] * (double) s->direction[c];
		place += (double) s->direction[c] * centroid[c];
	}
	for (size_t q = s->first[j]; q < s->first[j + 1]; q++)
	{
		low = fmin(low, place_along(w, s->row[q]));
		high = fmax(high, place_along(w, s->row[q]));
	}
	for (int i = 0; i < MEDIAN_HALVINGS; i++)
	{
		limit = 0.5 * low + 0.5 * high;
		sum_sides(w, j, limit);
		*(s->weight[1] > half ? &low : &high) = limit;
	}
	if (!(s->weight[0] > 0.0 && s->weight[1] > 0.0 && square > 0.0))
		return;
	for (size_t c = 0; c < d; c++)
		reach += 0.5 * (double) s->direction[c] *
			(s->sums[d + c] / s->weight[1] - s->sums[c] / s->weight[0]);
	for (size_t c = 0; c < d; c++)
	{
		double		unit = (double) s->direction[c] / square;

		w->rounded[j * d + c] = (float) (centroid[c] +
										 (limit - place + reach) * unit);
		w->sum[j * d + c] = centroid[c] + (limit - place - reach) * unit;
	}
}

/*
 * Splits cluster j into two pieces with about the same weight on both sides of
 * the plane between them. Returns false if all its rows are equal.
 */
static bool
split_evenly(fc_kmeans_work *w, size_t j)
{
	fc_splits  *s = &w->splits;

	split_cluster(w, j);
	if (!(s->gain[j] > 0.0))
	{
		/*
		 * A plane through a centroid that is not the mean of its rows may
		 * have all of them on one side. Move the centroid to their mean and
		 * split again.
		 */
		sum_sides(w, j, INFINITY);
		for (size_t c = 0; c < w->rows.d && s->weight[0] > 0.0; c++)
			w->centroid[j * w->rows.d + c] = s->sums[c] / s->weight[0];
		split_cluster(w, j);
	}
	if (!(s->gain[j] > 0.0))
		return false;
	if (fmax(s->weight[0], s->weight[1]) > MAX_UNEVEN_SHARE * w->weight[j])
		halve_cluster(w, j);
	return true;
}

/*
 * Returns the cluster into which j is merged before its centroid is moved. If
 * `alone`, returns j itself: its rows will be assigned to the nearest other
 * centroids.
 */
static size_t
partner_of(const fc_kmeans_work *w, size_t j, bool alone)
{
	return alone ? j : w->splits.partner[j];
}

/*
 * Returns the next cluster, by rising cost, whose centroid may be moved: the
 * weights of the cluster and its partner sum to at most `max`. Starts at index
 * *next of by_cost, and advances it. Returns w->k if there is no such cluster.
 */
static size_t
next_leaving(const fc_kmeans_work *w, double max, bool alone, size_t *next)
{
	const fc_splits *s = &w->splits;

	for (; *next < w->k; ++*next)
	{
		size_t		leaves = s->by_cost[*next].value;
		size_t		joined = partner_of(w, leaves, alone);

		if (!s->taken[leaves] && !s->taken[joined] &&
			(alone || joined != leaves) &&
			w->weight[leaves] + w->weight[joined] <= max)
			return leaves;
	}
	return w->k;
}

/*
 * Splits clusters above the limit, the largest first, as long as the centroids
 * of other clusters can be moved. Returns the number of splits.
 */
static size_t
move_from_large(fc_kmeans_work *w)
{
	fc_splits  *s = &w->splits;
	double		max = w->options.max;
	size_t		moves = 0;
	size_t		next = 0;
	int			rule = 0;

	find_merges(w);
	gather_clusters(w);
	rank_clusters(w, w->weight, true, s->by_gain);
	for (size_t j = 0; j < w->k; j++)
		s->taken[j] = w->weight[j] > max;
	for (size_t i = 0; i < w->k && w->weight[s->by_gain[i].value] > max; i++)
	{
		size_t		large = s->by_gain[i].value;

		/*
		 * Merged clusters may exceed the limit under the last two rules, too,
		 * but must be smaller than the large cluster.
		 */
		double		less = JOINED_SHARE * w->weight[large];
		double		limits[] = {JOINED_SHARE * max, max, less, less};
		size_t		leaves = next_leaving(w, limits[rule], rule == ALONE, &next);

		while (leaves == w->k && moves == 0 && rule < ALONE)
		{
			/*
			 * Try the next rule. The last one, ALONE, handles a large cluster
			 * that is the nearest neighbour of every other cluster: then no
			 * two other clusters are mutual nearest neighbours.
			 */
			next = 0;
			rule++;
			leaves = next_leaving(w, limits[rule], rule == ALONE, &next);
		}
		if (leaves == w->k)
			break;
		if (split_evenly(w, large))
		{
			move_centroid(w, partner_of(w, leaves, rule == ALONE), leaves,
						  large);
			moves++;
		}
		rule = rule == ALONE ? ALONE : 0;
	}
	return moves;
}

/* Takes Lloyd's steps while no cluster exceeds the limit and the SSE falls. */
static void
restore_balance(fc_kmeans_work *w, double sse)
{
	size_t		size = w->k * w->rows.d * sizeof(double);
	double		gain = INFINITY;

	memcpy(w->centroid, w->best, size);
	fc_kmeans_assign(w);
	for (int step = 0;
		 step < MAX_SETTLING_STEPS && !(gain < MIN_SETTLING_GAIN * sse); step++)
	{
		balance		b;

		(void) fc_kmeans_descend(w, 1, 0.0, INFINITY);
		fc_kmeans_measure(w);
		b = balance_of(w);
		if (b.excess > 0.0 || !(b.sse < sse))
			break;
		memcpy(w->best, w->centroid, size);
		gain = sse - b.sse;
		sse = b.sse;
	}
}

void
fc_kmeans_balance(fc_kmeans_work *w)
{
	size_t		size = w->k * w->rows.d * sizeof(double);
	balance		best = balance_of(w);
	double		excess = INFINITY;
	int			failures = 0;

	memcpy(w->best, w->centroid, size);
	for (int round = 0; round < MAX_BALANCE_ROUNDS; round++)
	{
		balance		b;

		if (!(best.excess > 0.0) || failures >= MAX_BALANCE_FAILURES ||
			move_from_large(w) == 0)
			break;
		fc_kmeans_converge(w);
		b = balance_of(w);
		failures = b.largest < best.largest || b.excess < excess ? 0
			: failures + 1;
		excess = fmin(excess, b.excess);
		if (b.largest < best.largest)
		{
			memcpy(w->best, w->centroid, size);
			best = b;
		}
	}
	if (!(best.excess > 0.0))
		restore_balance(w, best.sse);
	memcpy(w->centroid, w->best, size);
}
