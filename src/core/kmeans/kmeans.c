/*
 * kmeans.c - weighted k-means in memory: starts of k-means++ and Lloyd's steps, and the best of them.
 *
 *     min over C of sum_i w_i min_j ||x_i - c_j||^2
 *
 * A Lloyd step costs n k d multiply-adds in float at most.  Dot products are taken in tiles of fixed shape: the answer depends
 * on the seed and the rows alone.
 *
 * seed.c: k-means++, and a hierarchy for many clusters.  search.c: nearest centroids.  lloyd.c: steps.
 * split_merge.c: beyond the first minimum.
 */
#include "kmeans/internal.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define SEARCH_STARTS	14.0	/* a search costs as much as so many plain starts, */
#define FEW_STARTS		5.0		/* for few clusters this + k, */
#define BLAS_STARTS		5.0		/* this by BLAS, which is as fast elsewhere */
#define LEAST_STEPS		12.0	/* a plain start is taken for so many Lloyd steps at least */
#define LEAST_BUDGET	1e8		/* multiply-adds */
#define LEAST_WORK		2e7		/* before a search ends by agreement */
#define AGREED			3		/* starts at the same SSE end a search */
#define SAME_SSE		1e-4	/* relative */
#define COARSER			10.0	/* times the tolerance ends a start that rounds follow */
#define HIERARCHY_WORK	2e9		/* n k d: below, k-means++ takes less than a second, and misses fewer of many small groups */
#define REFINED			0.1		/* times the tolerance, for the best of a search */

fc_kmeans_options
fc_kmeans_defaults(void)
{
	return (fc_kmeans_options) {.n_init = FC_KMEANS_SEARCH,.rounds = FC_KMEANS_SEARCH,.iterations = 100,.tolerance = 1e-4};
}

/* ---- memory ---- */

/* The arrays of k clusters, and of as many more as a round adds. */
static void
take_state(fc_kmeans_work *w)
{
	size_t		k = w->k + fc_kmeans_breath(w->k);
	size_t		n = w->rows.n + FC_PACK;
	size_t		d = w->rows.d;

	w->near = FC_TAKE(w->arena, n, float);
	w->label = FC_TAKE(w->arena, n, int32_t);
	w->summed_in = FC_TAKE(w->arena, n, int32_t);
	w->centroid = FC_TAKE(w->arena, k * d, double);
	w->best = FC_TAKE(w->arena, k * d, double);
	w->rounded = FC_TAKE(w->arena, k * d, float);
	w->half = FC_TAKE(w->arena, k, float);
	w->sum = FC_TAKE(w->arena, k * d, double);
	w->weight = FC_TAKE(w->arena, k, double);
	w->count = FC_TAKE(w->arena, k, size_t);
	w->tile = FC_TAKE(w->arena, (size_t) FC_TILE_ROWS * FC_TILE_CENTROIDS, float);
}

size_t
fc_kmeans_worksize(size_t n, size_t d, size_t k)
{
	double		rows = (double) n * (12.0 * (double) d + 150.0 + (d > FC_PACK_DIMENSIONS ? 4.0 * (2.0 + log((double) k + 5.0)) : 0.0));
	double		clusters = ((double) k + 5.0) * (60.0 * (double) d + 400.0);

	return (size_t) fmin(rows + clusters + 0x1p20, 0x1p62);
}

/* ---- starts ---- */

/* How fc_kmeans goes about its starts. */
typedef struct plan
{
	fc_kmeans_options options;	/* with FC_KMEANS_SEARCH and budget 0 spelled out */
	bool		hierarchy;		/* seeds of a start come from there rather than from k-means++ */
	bool		split_merge;	/* rounds split and merge, rather than breathe */
} plan;

/* A search has no budget before its first start. */
static plan
make_plan(size_t n, size_t d, size_t k, const fc_kmeans_options *options)
{
	bool		search = options->n_init < 0;
	plan		p = {.options = *options};

	if (options->rounds < 0)
		p.options.rounds = search ? INT_MAX : 0;
	if (!(options->budget > 0.0))
		p.options.budget = search ? 0.0 : INFINITY;
	p.hierarchy = search && fc_kmeans_wants_bounds(n, d, k) && (double) n * (double) k * (double) d >= HIERARCHY_WORK;
	p.split_merge = p.options.rounds > 0 && fc_kmeans_wants_split_merge(n, d, k);
	if (search)
		p.options.n_init = p.split_merge || p.hierarchy ? 1 : INT_MAX;
	if (p.hierarchy && !p.split_merge)
		p.options.rounds = 0;
	return p;
}

/* Measured: Lloyd steps that a start takes, a search for each of its SEARCH_STARTS, a search with bounds in all, and the balance of clusters. */
#define USUAL_STEPS		25.0
#define STEPS_OF_SEARCH	6.0
#define STEPS_OF_BOUNDS	6.0
#define STEPS_OF_BALANCE	50.0

double
fc_kmeans_operations(size_t n, size_t d, size_t k, const fc_kmeans_options *options)
{
	double		step = (double) n * ((double) k * (double) d + STEP_OVERHEAD);
	double		starts = d <= FC_PACK_DIMENSIONS ? fmin(SEARCH_STARTS, FEW_STARTS + (double) k) : BLAS_STARTS;
	double		steps = fmin(USUAL_STEPS, options->iterations) * fmax(1.0, options->n_init);

	if (options->n_init < 0)
		steps = fc_kmeans_wants_tree(n, d, k) || fc_kmeans_wants_bounds(n, d, k) ? STEPS_OF_BOUNDS : STEPS_OF_SEARCH * starts;
	if (options->budget > 0.0)
		steps = fmin(steps, USUAL_STEPS + options->budget / step);
	return step * (steps + (options->most > 0.0 ? STEPS_OF_BALANCE : 0.0));
}

/* The budget of a search, in multiply-adds, once its first start has cost so much without rounds. */
static double
search_budget(const fc_kmeans_work *w, double start)
{
	double		starts = w->rows.packs != NULL ? fmin(SEARCH_STARTS, FEW_STARTS + (double) w->k) : BLAS_STARTS;
	double		scores = w->rows.order == NULL ? (double) w->k * (double) w->rows.d : STEP_OVERHEAD;	/* a tree saves most */

	return fmax(LEAST_BUDGET, starts * fmax(start, LEAST_STEPS * (double) w->rows.n * (scores + STEP_OVERHEAD)));
}

/* The centroids of w take the place of a worse incumbent. */
static void
offer(const fc_kmeans_work *w, int start, double sse, int iterations, double margin, fc_kmeans_result *result)
{
	if (result->winner >= 0 && !(sse < result->sse * (1.0 - margin)))
		return;
	memcpy(result->centroids, w->centroid, w->k * w->rows.d * sizeof(double));
	result->sse = sse;
	result->iterations = iterations;
	result->winner = start;
}

/* One start: the given centroids (start 0) or seeds, Lloyd's steps, then rounds; its SSE. */
static double
try_start(fc_kmeans_work *w, const fc_rows *rows, int start, const double *initial, const plan *p, fc_kmeans_result *result)
{
	const fc_kmeans_options *options = &p->options;
	fc_rng		rng = fc_rng_start(options->seed, (uint64_t) start);
	fc_kmeans_stop stop = {options->iterations, options->tolerance, INFINITY};
	double		seeded = 0.0;
	double		sse;
	int			steps;

	if (start == 0)
		memcpy(w->centroid, initial, w->k * w->rows.d * sizeof(double));
	else if (p->hierarchy)
		fc_hierarchical_seed(rows, w->k, options->seed + (uint64_t) start, fc_kmeans, w->arena, w->centroid);
	else
		fc_kmeans_seed(w, &rng);
	if (w->rows.order != NULL)	/* seeds are dearer than steps there */
		seeded = fc_kmeans_spent(w);
	if (w->budget > 0.0 && options->rounds > 0)
		stop.tolerance *= COARSER;
	steps = fc_kmeans_descend(w, &stop, &sse);
	fc_kmeans_measure(w, &sse);
	if (!(w->budget > 0.0))
		w->budget = search_budget(w, fc_kmeans_spent(w) - seeded);
	if (start == 0)
		offer(w, start, sse, steps, options->margin, result);
	if (p->split_merge)
		fc_kmeans_split_merge(w, options, &sse);
	else
		fc_kmeans_breathe(w, &rng, options, &sse);
	offer(w, start, sse, steps, options->margin, result);
	return sse;
}

/* All starts, until the budget is spent or as many as AGREED have the lowest SSE; result holds the best centroids. */
static void
try_starts(fc_kmeans_work *w, const fc_rows *rows, const double *initial, const plan *p, fc_kmeans_result *result)
{
	int			first = initial != NULL ? 0 : 1;
	int			last = initial == NULL && p->options.n_init < 1 ? 1 : p->options.n_init;
	double		lowest = INFINITY;
	int			agreed = 0;

	result->winner = -1;
	for (int start = first; start <= last; start++)
	{
		double		sse = try_start(w, rows, start, initial, p, result);
		double		spent = fc_kmeans_spent(w);

		if (sse < lowest * (1.0 - SAME_SSE))
			agreed = 0;
		agreed += sse <= lowest * (1.0 + SAME_SSE);
		lowest = fmin(lowest, sse);
		if (spent >= w->budget || !(lowest > 0.0) || w->k == 1 || (p->options.rounds > 0 && agreed >= AGREED && spent >= LEAST_WORK))
			break;
	}
}

/* The result's centroids go on to a smaller tolerance, and until no cluster is too large; then labels, weights and SSE. */
static void
finish(fc_kmeans_work *w, const plan *p, fc_kmeans_result *result)
{
	fc_kmeans_stop stop = {p->options.iterations, REFINED * p->options.tolerance, INFINITY};
	size_t		size = w->k * w->rows.d * sizeof(double);

	memcpy(w->centroid, result->centroids, size);
	if (p->options.rounds > 0 && !p->split_merge)
		(void) fc_kmeans_descend(w, &stop, &result->sse);
	if (p->options.most > 0.0)
		fc_kmeans_balance(w, p->options.most);
	fc_kmeans_assign(w);
	fc_kmeans_measure(w, &result->sse);
	memcpy(result->centroids, w->centroid, size);
	memcpy(result->weights, w->weight, w->k * sizeof(double));
	for (size_t i = 0; i < w->rows.n && result->labels != NULL; i++)
	{
		fc_check_every(&w->done, 1);
		result->labels[w->rows.order != NULL ? w->rows.order[i] : i] = w->label[i];
	}
	result->compared = w->compared;
}

void
fc_kmeans(const fc_rows *rows, size_t k, const double *initial, const fc_kmeans_options *options,
		  fc_arena *arena, fc_kmeans_result *result)
{
	fc_kmeans_work w = {.rows = {.x = rows->x,.weight = rows->weight,.n = rows->n,.d = rows->d},.k = k,.sphere = options->sphere,.arena = arena};
	fc_mark		used = fc_arena_mark(arena);
	plan		p = make_plan(rows->n, rows->d, k, options);

	w.budget = p.options.budget;
	w.search = fc_kmeans_choose_search(rows->n, rows->d, k);
	w.search->prepare(&w);
	fc_kmeans_measure_rows(&w);
	FC_ASSERT(w.rows.total > 0.0);
	take_state(&w);
	try_starts(&w, rows, initial, &p, result);
	finish(&w, &p, result);
	fc_arena_release(arena, used);
}
