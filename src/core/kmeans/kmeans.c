/*
 * kmeans.c - weighted k-means in memory: starts of k-means++ and Lloyd's steps, and the best of them.
 *
 *     min over C of sum_i w_i min_j ||x_i - c_j||^2
 *
 * A Lloyd step costs n k d multiply-adds in float.  Dot products are taken in tiles of fixed shape: the answer depends
 * on the seed and the rows alone.
 *
 * seed.c: k-means++.  assign.c: nearest centroids.  lloyd.c: steps.  breathe.c, exchange.c: beyond the first minimum.
 * tree.c: many clusters in few dimensions.  numerics/screen.h: in many dimensions.  branches.c: a start for them.
 */
#include "kmeans/internal.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "numerics/rows.h"

#define SEARCH_STARTS	14.0	/* a search costs as much as so many plain starts, */
#define FEW_STARTS		5.0		/* for few clusters this + k, */
#define BLAS_STARTS		5.0		/* this by BLAS, which is as fast elsewhere */
#define LEAST_STEPS		12.0	/* a plain start is taken for so many Lloyd steps at least */
#define LEAST_BUDGET	1e8		/* multiply-adds */
#define LEAST_WORK		2e7		/* before a search ends by agreement */
#define AGREED			3		/* starts at the same SSE end a search */
#define SAME_SSE		1e-4	/* relative */
#define COARSER			10.0	/* times the tolerance ends a start that rounds follow */
#define BRANCHES_WORK	2e9		/* n k d: below, k-means++ takes less than a second, and misses fewer of many small groups */
#define REFINED			0.1		/* times the tolerance, for the best of a search */

fc_kmeans_options
fc_kmeans_defaults(void)
{
	fc_kmeans_options options = {.n_init = FC_KMEANS_SEARCH,.rounds = FC_KMEANS_SEARCH,.budget = 0.0,
	.iterations = 100,.tolerance = 1e-4,.margin = 0.0,.seed = 0};

	return options;
}

/* The options with FC_KMEANS_SEARCH and budget 0 spelled out; a search has no budget before its first start. */
static fc_kmeans_options
settle_options(const fc_kmeans_options *options)
{
	fc_kmeans_options settled = *options;
	bool		search = options->n_init < 0;

	if (options->rounds < 0)
		settled.rounds = search ? INT_MAX : 0;
	if (!(options->budget > 0.0))
		settled.budget = search ? 0.0 : INFINITY;
	if (search)
		settled.n_init = INT_MAX;
	return settled;
}

/* What a search may cost, in multiply-adds, when its first start has cost so much without rounds. */
static double
search_budget(const fc_kmeans_work *w, double start)
{
	double		starts = w->packed ? fmin(SEARCH_STARTS, FEW_STARTS + (double) w->k) : BLAS_STARTS;
	double		least = LEAST_STEPS * (double) w->n * ((double) w->k * (double) w->d + STEP_OVERHEAD);

	/* where a tree saves most comparisons, the first start alone says what they cost */
	return fmax(LEAST_BUDGET, starts * (w->order == NULL ? fmax(start, least) : start));
}

static void
take_work(fc_arena *arena, size_t n, size_t d, size_t clusters, fc_kmeans_work *w)
{
	size_t		k = clusters + fc_kmeans_breath(clusters);
	size_t		packs = (n + FC_PACK - 1) / FC_PACK * FC_PACK;

	w->n = n;
	w->d = d;
	w->k = clusters;
	w->draws = 2 + (size_t) log((double) k);
	w->packed = d <= FC_PACK_DIMENSIONS;
	w->packs = FC_TAKE(arena, w->packed ? packs * d : 0, float);
	if (fc_kmeans_wants_tree(n, d, clusters))
	{
		w->weight_in_order = w->weighted = FC_TAKE(arena, n, double);
		fc_kmeans_tree_take(arena, n, d, k, &w->tree);
		w->order = w->tree.rows.order;
	}
	w->norm = FC_TAKE(arena, n, float);
	w->near = FC_TAKE(arena, packs, float);
	w->kept = FC_TAKE(arena, n, float);
	w->label = FC_TAKE(arena, packs, int32_t);
	w->summed_in = FC_TAKE(arena, n, int32_t);
	w->potential = FC_TAKE(arena, n / FC_TILE_ROWS + 1, double);
	w->centroid = FC_TAKE(arena, k * d, double);
	w->best = FC_TAKE(arena, clusters * d, double);
	w->merge_cost = FC_TAKE(arena, k, double);
	w->partner = FC_TAKE(arena, k, size_t);
	w->rounded = FC_TAKE(arena, k * d, float);
	w->half = FC_TAKE(arena, k, float);
	w->sum = FC_TAKE(arena, k * d, double);
	w->weight = FC_TAKE(arena, k, double);
	w->count = FC_TAKE(arena, k, size_t);
	w->far_row = FC_TAKE(arena, k, size_t);
	w->far_distance = FC_TAKE(arena, k, float);
	w->candidate = FC_TAKE(arena, w->draws * d, float);
	w->distance = FC_TAKE(arena, w->packed ? 0 : w->draws * n, float);
	w->tile = FC_TAKE(arena, (size_t) FC_TILE_ROWS * FC_TILE_CENTROIDS, float);
	if (fc_kmeans_wants_exchange(n, d, clusters))
		fc_kmeans_exchange_take(arena, n, d, clusters, &w->exchange);
}

size_t
fc_kmeans_worksize(size_t n, size_t d, size_t k)
{
	fc_arena	measure = fc_arena_measure();
	fc_kmeans_work w;

	take_work(&measure, n, d, k, &w);
	if (fc_kmeans_part(n, d, k) < n)
		fc_arena_reserve(&measure, fc_kmeans_worksize(fc_kmeans_part(n, d, k), d, k) + fc_kmeans_part(n, d, k) * d * sizeof(float));
	if (fc_screen_suits(k, d))
		fc_arena_reserve(&measure, larger(fc_kmeans_branch_worksize(n, d, k, fc_kmeans_worksize(n, d, FC_BRANCHES_MOST)), fc_screen_worksize(k, d)));
	return fc_arena_measured(&measure);
}

/* The tree and the weights in its order; without a tree the caller's. */
static void
order_rows(fc_kmeans_work *w)
{
	if (w->order != NULL)
		fc_kdtree_build(&w->tree.rows, w->rows->x);
	if (w->order == NULL || w->rows->weight == NULL)
		w->weight_in_order = w->rows->weight;
	for (size_t i = 0; w->order != NULL && w->rows->weight != NULL && i < w->n; i++)
	{
		fc_check_every(&w->done, 1);
		w->weighted[i] = w->rows->weight[w->order[i]];
	}
}

/* Packs, norms and the spread about the origin. */
static fc_status
prepare_rows(fc_kmeans_work *w)
{
	float		buffer[FC_PACK_DIMENSIONS];

	for (size_t start = 0; start < w->n; start += FC_TILE_ROWS)
	{
		size_t		stop = start + fc_kmeans_block(w, start);

		fc_check();
		for (size_t i = start; w->packed && i < stop; i += FC_PACK)
			fc_kmeans_pack(w->rows->x + (w->order == NULL ? i * w->d : 0), w->order == NULL ? NULL : w->order + i, smaller(FC_PACK, stop - i), w->d, w->packs + i * w->d);
		for (size_t i = start; i < stop; i++)
		{
			double		weight = fc_kmeans_weight(w, i);
			double		square = fc_row_square(fc_kmeans_row(w, i, buffer), w->d);

			w->total += weight;
			w->length = fmax(w->length, sqrt(square));
			w->spread += weight * square;
			w->norm[i] = (float) square;
			if (weight > fc_kmeans_weight(w, w->heaviest))
				w->heaviest = i;
		}
	}
	return w->total > 0.0 ? FC_OK : FC_EEMPTY;
}

/* What w holds takes the place of a worse incumbent. */
static void
offer(const fc_kmeans_work *w, int start, double sse, int iterations, double margin, fc_kmeans_result *result)
{
	if (result->winner >= 0 && !(sse < result->sse * (1.0 - margin)))
		return;
	memcpy(result->centroids, w->centroid, w->k * w->d * sizeof(double));
	result->sse = sse;
	result->iterations = iterations;
	result->winner = start;
}

/* k-means++, of some of the rows where those will do. */
static void
seed(fc_kmeans_work *w, fc_rng *rng)
{
	size_t		part = fc_kmeans_part(w->n, w->d, w->k);
	fc_mark		mark = fc_arena_mark(w->arena);
	float	   *x;
	fc_rows		rows = {.d = w->d};
	fc_kmeans_options options = {.n_init = 1};
	fc_kmeans_result result = {.centroids = w->centroid,.weights = w->weight};

	if (part == w->n)
	{
		fc_kmeans_seed(w, rng);
		return;
	}
	rows.x = x = FC_TAKE(w->arena, part * w->d, float);
	rows.n = fc_kmeans_draw_part(w, rng, part, x);
	options.seed = fc_rng_word(rng);
	(void) fc_kmeans(&rows, w->k, NULL, &options, w->arena, &result);
	fc_arena_release(w->arena, mark);
}

/* One start: the given centroids (start 0) or k-means++, Lloyd's steps, then rounds; its SSE. */
static double
try_start(fc_kmeans_work *w, int start, const double *initial, const fc_kmeans_options *options, fc_kmeans_result *result)
{
	fc_rng		rng = fc_rng_start(options->seed, (uint64_t) start);
	fc_kmeans_stop stop = {options->iterations, options->tolerance, INFINITY};
	int			iterations = 0;
	double		seeded = 0.0;
	double		sse;

	if (start == 0)
		memcpy(w->centroid, initial, w->k * w->d * sizeof(double));
	else if (w->branching)
		fc_kmeans_branch(w->rows, w->k, options->seed + (uint64_t) start, fc_kmeans, w->arena, w->centroid);
	else
		seed(w, &rng);
	if (w->order != NULL)		/* seeds are dearer than steps there */
		seeded = fc_kmeans_spent(w);
	if (w->budget > 0.0 && options->rounds > 0)
		stop.tolerance *= COARSER;
	fc_kmeans_descend(w, &stop, &iterations, &sse);
	fc_kmeans_measure(w, w->centroid, w->weight, &sse);
	if (!(w->budget > 0.0))
		w->budget = search_budget(w, fc_kmeans_spent(w) - seeded);
	if (start == 0)
		offer(w, start, sse, iterations, options->margin, result);
	if (w->exchanging)
		fc_kmeans_exchange(w, options, &sse);
	else
		fc_kmeans_breathe(w, &rng, options, &sse);
	offer(w, start, sse, iterations, options->margin, result);
	return sse;
}

/* Starts at the lowest SSE so far. */
typedef struct agreement
{
	double		lowest;
	int			starts;
} agreement;

static void
count_agreement(agreement *a, double sse)
{
	if (sse < a->lowest * (1.0 - SAME_SSE))
		a->starts = 0;
	if (sse <= a->lowest * (1.0 + SAME_SSE))
		a->starts++;
	a->lowest = fmin(a->lowest, sse);
}

/* Is another start worth its work? */
static bool
goes_on(const fc_kmeans_work *w, const agreement *a, const fc_kmeans_options *options)
{
	double		spent = fc_kmeans_spent(w);

	return spent < w->budget && a->lowest > 0.0 && w->k > 1 &&
		!(options->rounds > 0 && a->starts >= AGREED && spent >= LEAST_WORK);
}

/* All starts; result holds the best centroids. */
static void
try_starts(fc_kmeans_work *w, const double *initial, const fc_kmeans_options *options, fc_kmeans_result *result)
{
	int			first = initial != NULL ? 0 : 1;
	int			last = initial == NULL && options->n_init < 1 ? 1 : options->n_init;
	agreement	a = {INFINITY, 0};

	result->winner = -1;
	for (int start = first; start <= last && (start == first || goes_on(w, &a, options)); start++)
		count_agreement(&a, try_start(w, start, initial, options, result));
}

/* The result's centroids go on to a smaller tolerance. */
static void
refine(fc_kmeans_work *w, const fc_kmeans_options *options, fc_kmeans_result *result)
{
	fc_kmeans_stop stop = {options->iterations, REFINED * options->tolerance, INFINITY};
	double		objective;
	int			steps;

	memcpy(w->centroid, result->centroids, w->k * w->d * sizeof(double));
	fc_kmeans_descend(w, &stop, &steps, &objective);
	memcpy(result->centroids, w->centroid, w->k * w->d * sizeof(double));
}

/* The result's centroids moved until clusters are even. */
static void
make_even(fc_kmeans_work *w, double most, fc_kmeans_result *result)
{
	memcpy(w->centroid, result->centroids, w->k * w->d * sizeof(double));
	fc_kmeans_even(w, most);
	memcpy(result->centroids, w->centroid, w->k * w->d * sizeof(double));
}

/* Labels, weights and SSE of the centroids that are returned. */
static void
finish(fc_kmeans_work *w, fc_kmeans_result *result)
{
	fc_kmeans_assign(w, result->centroids);
	fc_kmeans_measure(w, result->centroids, result->weights, &result->sse);
	for (size_t i = 0; i < w->n && result->labels != NULL; i++)
	{
		fc_check_every(&w->done, 1);
		result->labels[w->order != NULL ? w->order[i] : i] = w->label[i];
	}
}

fc_status
fc_kmeans(const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options,
		  fc_arena *arena, fc_kmeans_result *result)
{
	fc_kmeans_work w = {.rows = rows,.sphere = options->sphere,.arena = arena};
	fc_mark		used = fc_arena_mark(arena);
	fc_kmeans_options settled = settle_options(options);
	fc_status	status;

	if (rows->n == 0 || k == 0)
		return FC_EEMPTY;
	take_work(arena, rows->n, rows->d, k, &w);
	order_rows(&w);
	status = prepare_rows(&w);
	w.budget = settled.budget;
	w.branching = options->n_init < 0 && fc_screen_suits(k, rows->d) && (double) w.n * (double) w.k * (double) w.d >= BRANCHES_WORK;
	w.exchanging = settled.rounds > 0 && w.exchange.row != NULL && w.k < w.n;
	if (options->n_init < 0 && (w.exchanging || w.branching))
		settled.n_init = 1;
	if (w.branching && !w.exchanging)
		settled.rounds = 0;
	if (status == FC_OK)
	{
		try_starts(&w, initial, &settled, result);
		if (settled.rounds > 0 && !w.exchanging)
			refine(&w, options, result);
		if (options->most > 0.0)
			make_even(&w, options->most, result);
		finish(&w, result);
	}
	result->compared = w.compared;
	fc_arena_release(arena, used);
	return status;
}
