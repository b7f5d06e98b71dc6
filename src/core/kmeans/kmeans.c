/*
 * kmeans.c - weighted k-means in memory: starts, and the best of them.
 *
 *     min over C of sum_i w_i min_j ||x_i - c_j||^2
 *
 * A start draws seeds, takes Lloyd's steps to a first minimum (lloyd.c), and
 * runs rounds that search beyond it (split_merge.c). The nearest centroids are
 * found by one of four methods (search.c). A Lloyd step costs at most n k d
 * multiply-adds in float. Dot products are computed in tiles of fixed shape:
 * the answer depends on the seed and the rows alone.
 */
#include "kmeans/internal.h"
#include "kmeans/ordered.h"

#include <limits.h>

#include "numerics/rows.h"

/*
 * Maximum budget of a search, as a multiple of the cost of its first start,
 * without the rounds that follow its Lloyd steps. A larger one lowers the SSE
 * slightly and takes proportionally longer (bench/kmeans.py, bench/tuned.py).
 */
#define MAX_SEARCH_STARTS	14.0

/*
 * Constant part of the budget of a search: the budget for k clusters is
 * BASE_SEARCH_STARTS + k times the cost of the first start, up to
 * MAX_SEARCH_STARTS times. Halving or doubling the constant changes neither
 * the SSE nor the time (bench/tuned.py).
 */
#define BASE_SEARCH_STARTS	5.0

/*
 * Budget of a search if BLAS computes the dot products, as a multiple of the
 * cost of the first start. A larger budget lowers the SSE slightly, but a step
 * in many dimensions takes long. A guess.
 */
#define BLAS_SEARCH_STARTS	5.0

/*
 * Lower bound on the cost of the first start when the budget is computed from
 * it, in Lloyd steps. Without this bound, a first start that converges early
 * would end the search. A larger one lengthens such searches. A guess.
 */
#define MIN_START_STEPS	12.0

/*
 * Minimum budget of a search, in multiply-adds. A larger one makes searches of
 * few rows longer and slightly better (bench/tuned.py).
 */
#define MIN_BUDGET	1e8

/*
 * SHORT_SEARCH_FACTOR: factor on the budget of a short search in more than
 * FC_PACK_DIMENSIONS dimensions. SHORT_SEARCH_WORK: maximum number of
 * multiply-adds of the increased budget. Larger values find the best of
 * several close minima more often, but take proportionally longer; rows of
 * categories have such minima (bench/defaults.py). In fewer dimensions, a
 * longer search rarely lowers the SSE. Searches with rounds of splits and
 * merges begin no further start beyond SHORT_SEARCH_WORK.
 */
#define SHORT_SEARCH_FACTOR	3.0
#define SHORT_SEARCH_WORK	1e9

/*
 * Minimum number of multiply-adds of a search that ends because its starts
 * agree. A larger one protects against starts that agree on a local minimum by
 * chance. A guess.
 */
#define MIN_WORK_TO_AGREE	2e7

/*
 * Number of starts with the same lowest SSE that end a search. A smaller
 * number saves time where the clusters are clear, and ends in a local minimum
 * more often (bench/tuned.py).
 */
#define AGREEING_STARTS	3

/*
 * Relative difference up to which two SSE count as the same. A larger one ends
 * searches earlier, at starts that may not be the best. A guess.
 */
#define SAME_SSE_TOLERANCE	1e-4

/*
 * Factor on the tolerance of Lloyd's steps before rounds of breathing. A
 * larger one saves steps that the rounds would undo. Halving or doubling it
 * changes neither the SSE nor the time (bench/tuned.py).
 */
#define START_TOLERANCE_FACTOR	10.0

/*
 * Minimum n k d for a search in many dimensions to take only one start, with
 * seeds from a sample of the rows. Below it, k-means++ of all rows takes less
 * than a second, and more starts find a lower SSE. A guess.
 */
#define MIN_WIDE_WORK	2e9

/*
 * Factor on the tolerance of Lloyd's steps of the best start. A smaller one
 * lowers the SSE a little, but takes more steps in one start. A guess.
 */
#define FINAL_TOLERANCE_FACTOR	0.1

/*
 * Minimum number of clusters for rounds of splits and merges; with fewer
 * clusters, there are rounds of breathing k-means (split_merge.c). A minimum
 * of 512 lowers the SSE by 0.1 % and takes three times as long
 * (bench/tuned.py, bench/many_starts.sh).
 */
#define SPLIT_MERGE_CLUSTERS	256

/*
 * Minimum number of dimensions for rounds of splits and merges if there are
 * fewer than SPLIT_MERGE_CLUSTERS clusters. Breathing draws rows in proportion
 * to their squared distances, which are nearly equal in many dimensions. A
 * guess.
 */
#define SPLIT_MERGE_DIMENSIONS	128

/*
 * Minimum average number of rows per cluster for rounds of splits and merges;
 * with fewer, gains come from single rows. A guess.
 */
#define SPLIT_MERGE_ROWS	3

/*
 * Limits of each effort, in the units of fc_effort. A larger number of rounds,
 * steps or failures lowers the SSE and takes longer. bench/kmeans.py and
 * bench/many_starts.sh measure the efforts, bench/tuned.py some fields of
 * FC_BALANCED; the others are guesses.
 */
static const fc_effort efforts[] = {
	[FC_BALANCED] = {
		.budget = 1.0,
		.start_tolerance = 1e-2,
		.sure_gain = 3e-3,
		.max_trial_failures = 4,
		.max_trial_work = 5e9,
		.end_tolerance = 0.0,
		.typical_steps = 37.0,
		.breath = 5,
		.failures_to_shrink = 2,
		.max_breath_failures = INT_MAX,
		.coarse_steps = 5
	},
	[FC_FAST] = {
		.budget = 0.25,
		.start_tolerance = 5e-2,
		.sure_gain = 5e-2,
		.max_trial_failures = 0,
		.max_trial_work = 0.0,
		.end_tolerance = 5e-3,
		.typical_steps = 16.0,
		.breath = 5,
		.failures_to_shrink = 2,
		.max_breath_failures = INT_MAX,
		.coarse_steps = 5
	},
	[FC_THOROUGH] = {
		.budget = 1.0,
		.further = 3.0,
		.start_tolerance = 1e-2,
		.sure_gain = 3e-3,
		.max_trial_failures = 4,
		.max_trial_work = 5e9,
		.end_tolerance = 0.0,
		.typical_steps = 37.0,
		.breath = 5,
		.failures_to_shrink = 2,
		.max_breath_failures = INT_MAX,
		.coarse_steps = 5
	},
	[FC_BRIEF] = {
		.budget = 1.0,
		.start_tolerance = 1e-2,
		.sure_gain = 3e-3,
		.max_trial_failures = 4,
		.max_trial_work = 5e9,
		.end_tolerance = 0.0,
		.typical_steps = 37.0,
		.breath = 3,
		.failures_to_shrink = 1,
		.max_breath_failures = 2,
		.coarse_steps = 3
	}
};

fc_kmeans_options
fc_kmeans_defaults(void)
{
	return (fc_kmeans_options)
	{
		.n_init = FC_KMEANS_SEARCH,
			.rounds = FC_KMEANS_SEARCH,
			.iterations = 100,
			.tolerance = 1e-4
	};
}

size_t
fc_kmeans_worksize(size_t n, size_t d, size_t k)
{
	double		rows = ((double) n * (12.0 * (double) d + 150.0 +
									  (d > FC_PACK_DIMENSIONS
									   ? 4.0 * (2.0 + log((double) k + 5.0))
									   : 0.0)));
	double		clusters = ((double) k + 5.0) * (60.0 * (double) d + 400.0);

	return (size_t) fmin(rows + clusters + FC_EXP2(20), FC_EXP2(62));
}

/*
 * Allocates the arrays with one entry per row or per cluster, including the
 * clusters that a round adds.
 */
static void
take_state(fc_kmeans_work *w)
{
	fc_arena   *arena = w->arena;
	size_t		k = w->k + w->breath;
	size_t		n = w->rows.n + FC_PACK;
	size_t		d = w->rows.d;

	w->near = FC_TAKE(arena, n, float);
	w->near_best = FC_TAKE(arena, n, float);
	w->label_best = FC_TAKE(arena, n, int32_t);
	w->label = FC_TAKE(arena, n, int32_t);
	w->summed_in = FC_TAKE(arena, n, int32_t);
	w->centroid = FC_TAKE(arena, k * d, double);
	w->best = FC_TAKE(arena, k * d, double);
	w->rounded = FC_TAKE(arena, k * d, float);
	w->half = FC_TAKE(arena, k, float);
	w->sum = FC_TAKE(arena, k * d, double);
	w->weight = FC_TAKE(arena, k, double);
	w->count = FC_TAKE(arena, k, size_t);
	w->tile = FC_TAKE(arena, (size_t) FC_TILE_ROWS * FC_TILE_CENTROIDS, float);
	w->splits = (fc_splits)
	{
		.row = FC_TAKE(arena, n, uint32_t),
			.first = FC_TAKE(arena, k + 1, size_t),
			.gain = FC_TAKE(arena, k, double),
			.cost = FC_TAKE(arena, k, double),
			.partner = FC_TAKE(arena, k, size_t),
			.taken = FC_TAKE(arena, k, bool),
			.by_gain = FC_TAKE(arena, k, fc_keyed),
			.by_cost = FC_TAKE(arena, k, fc_keyed),
			.scratch = FC_TAKE(arena, k, fc_keyed),
			.direction = FC_TAKE(arena, d, float),
			.sums = FC_TAKE(arena, 2 * d, double)
	};
	w->seeding.draws = 2 + (size_t) log((double) k);
	w->seeding.potential = FC_TAKE(arena, n / FC_TILE_ROWS + 1, double);
	w->seeding.candidate = FC_TAKE(arena, w->seeding.draws * d, float);
	w->seeding.distance = FC_TAKE(arena,
								  w->seeding.draws * (w->rows.packs != NULL
													  ? FC_TILE_ROWS
													  : n),
								  float);
}

/* ---- starts ---- */

/*
 * Returns true if rounds of splits and merges are expected to gain more than
 * rounds of breathing.
 */
static bool
wants_split_merge(const fc_kmeans_rows *rows, size_t k)
{
	return k > 1 &&
		(k >= SPLIT_MERGE_CLUSTERS || rows->d >= SPLIT_MERGE_DIMENSIONS) &&
		rows->n / SPLIT_MERGE_ROWS >= k && rows->n <= UINT32_MAX;
}

/*
 * Sets the effort, the method, and the numbers of starts and rounds, from the
 * options. The budget of a search is set after its first start.
 */
static void
make_plan(fc_kmeans_work *w)
{
	fc_kmeans_options *options = &w->options;
	bool		search = options->n_init < 0;

	w->effort = efforts + options->effort;
	w->breath = w->k > 2 * w->effort->breath ? w->effort->breath
		: w->k > 1 ? (w->k + 1) / 2
		: 0;
	if (options->rounds < 0)
		options->rounds = search ? INT_MAX : 0;
	w->split_merge = options->rounds > 0 && wants_split_merge(&w->rows, w->k);
	w->search = fc_kmeans_choose_search(&w->rows, w->k);
	w->budget = options->budget > 0.0 ? options->budget
		: search ? 0.0
		: INFINITY;
	w->wide = search && w->search->wide &&
		(double) w->rows.n * (double) w->k * (double) w->rows.d >=
		MIN_WIDE_WORK;
	if (search)
		options->n_init = w->wide ? 1 : INT_MAX;
	if (w->wide && !w->split_merge)
		options->rounds = 0;
}

/*
 * Returns the budget of a search, as a multiple of the cost of its first start
 * up to the end of Lloyd's steps.
 */
static double
starts_of_search(size_t d, size_t k)
{
	return d > FC_PACK_DIMENSIONS ? BLAS_SEARCH_STARTS
		: fmin(MAX_SEARCH_STARTS, BASE_SEARCH_STARTS + (double) k);
}

/*
 * Returns the budget of a search in d dimensions: `work`, in multiply-adds, or
 * more if the search is short and d exceeds FC_PACK_DIMENSIONS.
 */
static double
lengthened(size_t d, double work)
{
	if (d <= FC_PACK_DIMENSIONS)
		return work;
	return fmax(work, fmin(SHORT_SEARCH_FACTOR * work, SHORT_SEARCH_WORK));
}

/*
 * Cost of a multiply-add in float, relative to double, for the estimated time
 * of fc_kmeans. If this constant or one of the following is too low, a call
 * takes longer than estimated (bench/endless.py).
 */
#define FLOAT_COST	0.2

/*
 * Typical number of Lloyd steps of a start without rounds (bench/endless.py).
 */
#define TYPICAL_STEPS	20.0

/*
 * Cost of a Lloyd step in starts that may take fewer than TYPICAL_STEPS steps,
 * relative to a step that compares every row with every centroid. The cost is
 * SHORT_STEP, which is below 1 because most rows keep their cluster. If there
 * are few rows per cluster (n / k), steps converge earlier: the cost is then
 * at most SHORT_STEP_ROW n / k, or SHORT_BOUNDED_ROW n / k in searches with
 * bounds (bench/endless.py).
 */
#define SHORT_STEP	0.375
#define SHORT_STEP_ROW	0.125
#define SHORT_BOUNDED_ROW	0.023

/*
 * The cost of drawing a seed by k-means++ is SEED_COST (d + SEED_OVERHEAD)
 * multiply-adds per row. It is added only to the cost of starts that may take
 * fewer than TYPICAL_STEPS steps; TYPICAL_STEPS includes it
 * (bench/endless.py).
 */
#define SEED_COST	1.7
#define SEED_OVERHEAD	10.0

/* Cost of balancing the clusters, in Lloyd steps (bench/endless.py). */
#define BALANCE_COST	250.0

/*
 * A Lloyd step with bounds costs the fraction BOUNDED_SHARE / (k d) of a step
 * without them (bench/endless.py).
 */
#define BOUNDED_SHARE	55000.0

/*
 * Minimum cost of a Lloyd step with bounds, relative to a step without them
 * (bench/endless.py).
 */
#define MIN_BOUNDED_SHARE	0.1

/*
 * A Lloyd step with a tree costs the fraction sqrt(TREE_SHARE d / k) of a step
 * without it (bench/endless.py).
 */
#define TREE_SHARE	512.0

/*
 * Cost of the Gram matrix from which principal axes are computed, in
 * multiply-adds per n * d * min(n, d) (bench/endless.py).
 */
#define AXES_READ_COST	0.1

/*
 * Cost of computing principal axes from the Gram matrix, in multiply-adds per
 * min(n, d)^2 * number of axes (bench/endless.py).
 */
#define AXES_COST	6.0

/*
 * Returns the estimated cost of `starts` starts that take up to `iterations`
 * Lloyd steps each, fewer than TYPICAL_STEPS. The unit is the cost of a step
 * that compares every row with every centroid. If starts is 0, returns the
 * cost of a start from given centroids. wide: true for a search with bounds.
 */
static double
short_steps(size_t n, size_t d, size_t k, int iterations, int starts, bool wide)
{
	double		rows = (double) n / (double) k;
	double		seeds = (SEED_COST * ((double) d + SEED_OVERHEAD) /
						 (FLOAT_COST * (double) d));

	return fmax(1.0, starts) * iterations *
		fmin(SHORT_STEP, rows * (wide ? SHORT_BOUNDED_ROW : SHORT_STEP_ROW)) +
		starts * seeds;
}

double
fc_kmeans_operations(size_t n, size_t d, size_t k,
					 const fc_kmeans_options *options)
{
	const fc_kmeans_rows rows = {
		.n = n,
		.d = d
	};
	const fc_effort *effort = efforts + options->effort;
	double		step = (double) n * ((double) k * (double) d + STEP_OVERHEAD);
	double		steps = TYPICAL_STEPS * fmax(1.0, options->n_init);
	size_t		axes = fc_axes_for(d, 2 * k);
	double		inner = fmin((double) n, (double) d);
	double		bounded = (fmax(MIN_BOUNDED_SHARE,
								BOUNDED_SHARE / ((double) k * (double) d)) +
						   2.0 * (double) d / (double) n);
	double		in_tree = sqrt(TREE_SHARE * (double) d / (double) k);
	bool		wide = fc_kmeans_choose_search(&rows, k)->wide;
	double		rounds = (effort->typical_steps *
						  fmin(1.0, wide ? bounded : in_tree));

	if (options->n_init >= 0 && options->iterations < TYPICAL_STEPS)
		steps = short_steps(n, d, k, options->iterations, options->n_init, wide);
	if (options->n_init < 0)
	{
		double		search = fmax(MIN_BUDGET,
								  lengthened(d, starts_of_search(d, k) *
											 TYPICAL_STEPS * step));

		steps = (1.0 + effort->further) *
			(wants_split_merge(&rows, k)
			 ? fmax(rounds, fmin(search, SHORT_SEARCH_WORK) / step)
			 : effort->budget * search / step);
	}
	if (options->budget > 0.0)
		steps = fmin(steps, TYPICAL_STEPS + options->budget / step);
	step *= FLOAT_COST * (steps + (options->max > 0.0 ? BALANCE_COST : 0.0));
	if (options->n_init >= 0 || axes == d)
		return step;
	return step + AXES_READ_COST * (double) n * (double) d * inner +
		AXES_COST * inner * inner * (double) axes +
		fc_kmeans_operations(n, axes, k, options);
}

/*
 * Returns the budget of a search in multiply-adds; `start` is the cost of its
 * first start up to the end of Lloyd's steps.
 */
static double
search_budget(const fc_kmeans_work *w, double start)
{
	/* multiply-adds for the scores of a row; a tree saves most of them */
	double		scores = (w->rows.order == NULL ? (double) w->k * (double) w->rows.d
						  : STEP_OVERHEAD);
	double		min = (MIN_START_STEPS * (double) w->rows.n *
					   (scores + STEP_OVERHEAD));

	return w->effort->budget *
		fmax(MIN_BUDGET,
			 lengthened(w->rows.d,
						starts_of_search(w->rows.d, w->k) * fmax(start, min)));
}

/*
 * Copies the centroids of w into the result if their SSE is lower than the
 * result's by more than options.margin.
 */
static void
offer(const fc_kmeans_work *w, int start, int steps, fc_kmeans_result *result)
{
	if (result->winner >= 0 &&
		!(w->sse < result->sse * (1.0 - w->options.margin)))
		return;
	memcpy(result->centroids, w->centroid, w->k * w->rows.d * sizeof(double));
	result->sse = w->sse;
	result->iterations = steps;
	result->winner = start;
}

/*
 * Runs one start: copies the given centroids (start 0) or draws seeds, takes
 * Lloyd's steps, then runs rounds of splits and merges or of breathing.
 */
static void
try_start(fc_kmeans_work *w, int start, const double *initial,
		  fc_kmeans_result *result)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	double		tolerance = w->options.tolerance;
	double		seeded = 0.0;
	int			steps;

	w->rng = fc_rng_start(w->options.seed, (uint64_t) start);
	if (start == 0)
		memcpy(w->centroid, initial, w->k * w->rows.d * sizeof(double));
	else
		fc_kmeans_seed(w);
	fc_arena_release(w->arena, mark);
	if (w->rows.order != NULL)	/* rows are in the order of a k-d tree: seeds
								 * cost more than Lloyd steps, and are left
								 * out of the cost that sets the budget */
		seeded = (double) w->compared * (double) w->rows.d +
			STEP_OVERHEAD * (double) w->visited;
	fc_kmeans_assign(w);
	if (w->split_merge)
		tolerance = fmax(tolerance, w->effort->start_tolerance);
	else if (w->budget > 0.0 && w->options.rounds > 0)
		tolerance *= START_TOLERANCE_FACTOR;
	steps = fc_kmeans_descend(w, w->options.iterations, tolerance, INFINITY);
	fc_kmeans_measure(w);
	if (!(w->budget > 0.0))
		w->budget = search_budget(w, w->spent - seeded);
	if (start == 0)
		offer(w, start, steps, result);
	fc_kmeans_rounds(w);
	offer(w, start, steps, result);
}

/*
 * Runs all starts, until the budget is spent or AGREEING_STARTS of them have
 * reached the lowest SSE. Returns the number of the last start.
 */
static int
try_starts(fc_kmeans_work *w, const double *initial, fc_kmeans_result *result)
{
	int			last = (initial == NULL && w->options.n_init < 1 ? 1
						: w->options.n_init);
	bool		one = w->split_merge && !(w->options.budget > 0.0);
	double		lowest = INFINITY;
	int			agreed = 0;
	int			start = initial != NULL ? 0 : 1;

	result->winner = -1;
	for (;; start++)
	{
		try_start(w, start, initial, result);
		if (w->sse < lowest * (1.0 - SAME_SSE_TOLERANCE))
			agreed = 0;
		agreed += w->sse <= lowest * (1.0 + SAME_SSE_TOLERANCE);
		lowest = fmin(lowest, w->sse);
		if (start >= last || w->spent >= w->budget || !(lowest > 0.0) ||
			w->k == 1 || (one && w->spent >= SHORT_SEARCH_WORK))
			return start;
		if (w->options.rounds > 0 && agreed >= AGREEING_STARTS &&
			w->spent >= MIN_WORK_TO_AGREE)
			return start;
	}
}

/*
 * Refines the result's centroids to a smaller tolerance. If the weight of
 * clusters is limited, balances them.
 */
static void
refine(fc_kmeans_work *w, const fc_kmeans_result *result)
{
	bool		further = w->options.rounds > 0 && !w->split_merge;

	if (further || w->sse != result->sse)	/* not needed if the last start
											 * won: w still holds its labels
											 * and SSE */
	{
		memcpy(w->centroid, result->centroids,
			   w->k * w->rows.d * sizeof(double));
		fc_kmeans_assign(w);
		if (further)
			(void) fc_kmeans_descend(w, w->options.iterations,
									 FINAL_TOLERANCE_FACTOR *
									 w->options.tolerance,
									 INFINITY);
		fc_kmeans_measure(w);
	}
	if (w->options.max > 0.0)
	{
		fc_kmeans_balance(w);
		fc_kmeans_converge(w);
	}
}

/* Copies centroids, labels, weights and SSE into the result. */
static void
store(const fc_kmeans_work *w, fc_kmeans_result *result)
{
	memcpy(result->centroids, w->centroid, w->k * w->rows.d * sizeof(double));
	memcpy(result->weights, w->weight, w->k * sizeof(double));
	for (size_t i = 0; i < w->rows.n && result->labels != NULL; i++)
		result->labels[w->rows.order != NULL ? w->rows.order[i]
					   : i] = w->label[i];
	result->sse = w->sse;
}

/*
 * Runs further starts for a multiple of the multiply-adds of the search, and
 * replaces its result if they find a lower SSE. `start` is the number of the
 * last start of the search.
 */
static void
search_further(fc_kmeans_work *w, int start, fc_kmeans_result *result)
{
	fc_kmeans_result other = {
		.centroids = FC_TAKE(w->arena, w->k * w->rows.d, double),
		.winner = -1
	};

	w->budget = (1.0 + w->effort->further) * w->spent;
	do
		try_start(w, ++start, NULL, &other);
	while (w->spent < w->budget);
	refine(w, &other);
	if (!(w->sse < result->sse))
		return;
	store(w, result);
	result->iterations = other.iterations;
	result->winner = other.winner;
}

void
fc_kmeans(const fc_rows *rows, size_t k, const double *initial,
		  const fc_kmeans_options *options, fc_arena *arena,
		  fc_kmeans_result *result)
{
	fc_kmeans_work w = {
		.rows = {.x = rows->x,.weight = rows->weight,.n = rows->n,.d = rows->d},
		.arena = arena,
		.options = *options,
		.k = k
	};
	fc_mark		used = fc_arena_mark(arena);
	int			last;

	make_plan(&w);
	if (w.search->arrange_rows != NULL)
		w.search->arrange_rows(&w);
	fc_kmeans_measure_rows(&w);
	FC_ASSERT(w.rows.total > 0.0);
	take_state(&w);
	last = try_starts(&w, initial, result);
	refine(&w, result);
	store(&w, result);
	if (options->n_init < 0 && !(options->budget > 0.0) &&
		w.effort->further > 0.0 && k > 1 && w.sse > 0.0)
		search_further(&w, last, result);
	result->compared = w.compared;
	fc_arena_release(arena, used);
}
