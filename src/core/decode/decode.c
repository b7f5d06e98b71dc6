/*
 * decode.c - the decoder: from moments to k centroids.
 *
 * FC_DECODE_AUTO fits a mixture of Gaussian atoms to the moments and solves
 * k-means on it:
 *     1. forward   The mixture begins with the sample centroids, if there are
 *                  any. Rounds of matching pursuit add modes of the field f_r
 *                  (internal.h) and refine all atoms, until there are k atoms
 *                  (pursuit.c).
 *     2. improve   Atoms are split, added and dropped while the cost falls
 *                  (pursuit.c).
 *     3. grow      If the cost is above the noise floor J0 = mean_j(1 -
 *                  |z_j|^2) / rows, atoms are added, up to two per cluster.
 *                  The number of clusters is here k, or the number that the
 *                  sketch was made for if that is larger. The final refinement
 *                  gives each atom its own width, and insignificant atoms are
 *                  dropped.
 *     4. k-means   K-means runs on points that represent the mixture
 *                  (density.c).
 *     5. sample    If there are sample rows, k-means runs on these points
 *                  together with reweighted sample rows (density.c).
 * FC_DECODE_CLOMPR, FC_DECODE_SHIFT and FC_DECODE_DISCRETIZED are the
 * algorithms of the papers: clompr.c, sketch_shift.c.
 *
 * There may be more atoms than clusters, because a non-Gaussian cluster needs
 * two atoms to fit its moments. Matching the moments does not minimise the
 * SSE; step 4 does.
 */
#include "decode/internal.h"

#include "numerics/assignment.h"

/*
 * Minimum number of starts (points to climb from) in a round of auto or
 * clompr. With more starts, more modes are found at a time; halving or
 * doubling the number changes the time by 3 % (bench/decoders.py,
 * bench/tuned.py).
 */
#define AUTO_STARTS	64

/*
 * Number of starts in a round of sketch-and-shift. With more starts, the
 * highest mode is found in more dimensions, but the time grows in proportion
 * (bench/decoders.py starts).
 */
#define SHIFT_STARTS	1000

/*
 * Number of starts in a round when auto repeats a fit whose residual suggests
 * missed clusters. With more starts, more of the missed modes are found, but
 * the time grows in proportion (bench/decoders.py).
 */
#define RETRY_STARTS	1000

/*
 * Relative residual of k atoms above which clusters may have been missed. The
 * limit is MISSED_RESIDUAL_ROOT_K / sqrt(k) instead if that is smaller. A
 * smaller limit repeats good fits (bench/decoders.py).
 */
#define MISSED_RESIDUAL	0.25

/*
 * Relative residual times sqrt(k) above which clusters may have been missed,
 * because one missed cluster of k leaves a relative residual in proportion to
 * 1 / sqrt(k). A guess.
 */
#define MISSED_RESIDUAL_ROOT_K	0.8

/*
 * Default number of rounds per cluster. A round of auto improves the mixture
 * once, and a round of the other decoders tries one atom. The papers use 2 k
 * for CL-OMPR (Keriven et al. 2017, algorithm 1); a larger number lowers the
 * cost, in more time.
 */
#define ROUNDS_PER_CLUSTER	2

/*
 * Default relative fall of the cost that ends a stage. A larger one ends
 * sooner, at a higher cost. A guess.
 */
#define TOLERANCE	1e-8

/*
 * Fixed step of a climb with option published, in squared bandwidths. With
 * this value the climb is a mean shift. The paper gives no number.
 */
#define PUBLISHED_STEP	1.0

/*
 * Maximum number of atoms per cluster. With more atoms, clusters that are not
 * Gaussian are fitted better, in more time; a maximum of 1 saves a fifth of
 * the time (bench/tuned.py).
 */
#define ATOMS_PER_CLUSTER	2

/*
 * Minimum number of informative moments (fc_decode_result) per parameter of
 * the mixture; an atom has n coordinates and a weight. A smaller number
 * allows more atoms, which fit noise; doubling it saves 15 % of the time
 * (bench/tuned.py).
 */
#define MOMENTS_PER_UNKNOWN	1.5

/*
 * Maximum number of rounds of fc_improve after step 3 has added atoms beyond k.
 * Each round exchanges one atom. The maximum limits the time. A guess.
 */
#define GROW_ROUNDS	20

/*
 * Maximum number of iterations of each of the last two refinements. Halving
 * or doubling it changes nothing (bench/tuned.py).
 */
#define FINAL_ITERATIONS	200

/*
 * Maximum number of iterations of the last refinement if the cost is already
 * at the noise floor, where more would fit noise. A guess.
 */
#define CERTIFIED_ITERATIONS	60

/*
 * Options of k-means on the points that represent the mixture. ..._MARGIN is
 * the minimum relative fall of the SSE for which a later start replaces the
 * best one. ..._ITERATIONS is the maximum number of Lloyd steps. SAMPLE_...
 * apply if there are sample rows, which represent the clusters better.
 * Guesses.
 */
#define DENSITY_MARGIN	2e-3
#define DENSITY_ITERATIONS	30
#define SAMPLE_MARGIN	1e-3
#define SAMPLE_ITERATIONS	60

fc_decode_options
fc_decode_defaults(void)
{
	fc_decode_options options = {.replicates = 1,.polish = true};

	return options;
}

static fc_decode_options
resolve(const fc_decode_options *given, size_t k, size_t sample_centroids,
		fc_decoder decoder)
{
	fc_decode_options options = given != NULL ? *given : fc_decode_defaults();
	bool		shift = (decoder == FC_DECODE_SHIFT ||
						 decoder == FC_DECODE_DISCRETIZED);

	if (options.published)
	{
		options.polish = false;
		if (options.init == FC_INIT_DEFAULT)
			options.init = FC_INIT_RANGE;
		if (options.starts <= 0 && !shift)
			options.starts = 1;
		if (!(options.step > 0.0))
			options.step = PUBLISHED_STEP;
	}
	if (options.starts <= 0)
		options.starts = shift ? SHIFT_STARTS
			: AUTO_STARTS / 2 +
			(sample_centroids > AUTO_STARTS / 2
			 ? (int) sample_centroids
			 : AUTO_STARTS / 2);
	if (options.rounds <= 0)
		options.rounds = (int) (ROUNDS_PER_CLUSTER * k);
	if (shift && (size_t) options.rounds < k)
		options.rounds = (int) k;
	if (!shift)
		options.model = FC_MODEL_DIRAC;
	if (options.replicates < 1)
		options.replicates = 1;
	if (!(options.tolerance > 0.0))
		options.tolerance = TOLERANCE;
	return options;
}

/*
 * Measured numbers for fc_decode_operations. FEATURE is the cost of a sine
 * with its cosine, in multiply-adds. The other numbers count points whose
 * features a decoder computes:
 *     AUTO_CLIMBED                     in all
 *     AUTO_REFINED, CLOMPR_CLIMBED     per cluster
 *     AUTO_HESSIANS                    per cluster and dimension
 *     CLOMPR_REFINED                   per squared number of clusters
 *     SHIFT_CLIMBED, DISCRETIZED       per cluster and start
 * If the numbers are too low, a call takes longer than estimated
 * (bench/endless.py).
 */
#define FEATURE	12.0
#define AUTO_CLIMBED	5e4
#define AUTO_REFINED	1500.0
#define AUTO_HESSIANS	10.0
#define CLOMPR_CLIMBED	4000.0
#define CLOMPR_REFINED	60.0
#define SHIFT_CLIMBED	40.0
#define DISCRETIZED	2.0

double
fc_decode_operations(size_t n, size_t m, size_t k, fc_decoder decoder,
					 const fc_decode_options *options)
{
	fc_decode_options o = resolve(options, k, 0, decoder);
	double		clusters = (double) k;
	double		points = 0.0;

	switch (decoder)
	{
		case FC_DECODE_AUTO:
			points = AUTO_CLIMBED +
				clusters * (AUTO_REFINED + AUTO_HESSIANS * (double) n);
			break;
		case FC_DECODE_CLOMPR:
			points = clusters * (CLOMPR_CLIMBED + CLOMPR_REFINED * clusters);
			break;
		case FC_DECODE_SHIFT:
			points = SHIFT_CLIMBED * clusters * o.starts;
			break;
		case FC_DECODE_DISCRETIZED:
			points = DISCRETIZED * clusters * o.starts;
			break;
	}
	return o.replicates * (double) m * ((double) n + FEATURE) * points;
}

/*
 * Returns the requested number of clusters, or the number that the sketch was
 * made for if that is larger.
 */
static size_t
max_clusters(const fc_decoding *d)
{
	return d->problem->clusters > d->k ? d->problem->clusters : d->k;
}

/* Returns the capacity of a mixture in atoms. */
static size_t
capacity(const fc_decoding *d, fc_decoder decoder)
{
	switch (decoder)
	{
		case FC_DECODE_CLOMPR:
			return d->k + 1;
		case FC_DECODE_SHIFT:
		case FC_DECODE_DISCRETIZED:
			return (size_t) d->options.rounds + 1;
		case FC_DECODE_AUTO:
			break;
	}
	return ATOMS_PER_CLUSTER * max_clusters(d) + 1;
}

/* Allocates all arrays of *d, for the sizes that set_sizes has set. */
static void
take_work(fc_decoding *d, fc_decoder decoder, fc_arena *arena)
{
	d->atoms = capacity(d, decoder);
	d->starts = d->widest;

	/*
	 * d->dictionary is the capacity of the arrays of d->select. The pursuit
	 * (pursuit.c) stores all atoms in them and, for auto, one mode per start.
	 * setup.c uses the same arrays for all sample centroids.
	 */
	d->dictionary = d->atoms + (decoder == FC_DECODE_AUTO ? d->starts : 0);
	if (d->dictionary < d->sample_centroids)
		d->dictionary = d->sample_centroids;
	d->omega = FC_TAKE(arena, d->m * d->n, double);
	d->omega_float = FC_TAKE(arena, d->m * d->n, float);
	d->half_norm = FC_TAKE(arena, d->m, double);
	d->z_re = FC_TAKE(arena, d->m, double);
	d->z_im = FC_TAKE(arena, d->m, double);
	d->r_re = FC_TAKE(arena, d->m, double);
	d->r_im = FC_TAKE(arena, d->m, double);
	d->lower = FC_TAKE(arena, d->n, double);
	d->upper = FC_TAKE(arena, d->n, double);
	d->middle = FC_TAKE(arena, d->n, double);
	d->stddev = FC_TAKE(arena, d->n, double);
	d->sample_centroid = FC_TAKE(arena, d->sample_centroids * d->n, double);
	d->row = FC_TAKE(arena, d->rows * d->n, double);
	d->row_weight = FC_TAKE(arena, d->rows, double);
	d->row_distance = FC_TAKE(arena, d->rows, double);
	d->permutation = FC_TAKE(arena, d->rows, size_t);
	d->start = FC_TAKE(arena, d->starts * d->n, double);
	d->start_value = FC_TAKE(arena, d->starts, double);
	fc_mixture_take(d, arena, &d->current);
	fc_mixture_take(d, arena, &d->best);
	fc_mixture_take(d, arena, &d->skeleton);
	fc_mixture_take(d, arena, &d->best_skeleton);
	fc_shift_take(d, arena);
	fc_refine_take(d, arena);
	fc_pursuit_take(d, arena);
	fc_density_take(d, arena);
	fc_covariance_take(d, arena);
}

static void
set_sizes(fc_decoding *d, const fc_problem *problem, size_t k,
		  fc_decoder decoder, const fc_decode_options *options)
{
	memset(d, 0, sizeof *d);
	d->problem = problem;
	d->n = problem->n;
	d->m = problem->m;
	d->k = k;
	d->rows = problem->sample != NULL ? problem->sample_rows : 0;
	if (options == NULL || !options->published)
	{
		d->initial = problem->initial != NULL ? problem->initial_count : 0;
		d->sample_centroids = d->initial + (problem->sample_centroids != NULL
											? problem->sample_centroid_count
											: 0);
	}
	d->options = resolve(options, k, d->sample_centroids, decoder);
	d->widest = (size_t) d->options.starts;
	if (decoder == FC_DECODE_AUTO &&
		(options == NULL || options->starts <= 0) && d->widest < RETRY_STARTS)
		d->widest = RETRY_STARTS;
	d->uniform_starts = (decoder == FC_DECODE_SHIFT && !d->options.polish) ||
		decoder == FC_DECODE_DISCRETIZED;
	d->discretized = decoder == FC_DECODE_DISCRETIZED;
}

static size_t
grown_size(const fc_decoding *d)
{
	double		affordable = ((double) d->informative /
							  (MOMENTS_PER_UNKNOWN * (double) (d->n + 1)));
	size_t		max = ATOMS_PER_CLUSTER * max_clusters(d);

	if (affordable <= (double) d->k)
		return d->k;
	return affordable < (double) max ? (size_t) affordable : max;
}

/* Step 3: adds atoms if the cost of k atoms is above the noise floor. */
static void
grow(fc_decoding *d, fc_mixture *mixture, double *cost)
{
	size_t		target = grown_size(d);

	if (target <= d->k || *cost <= d->floor)
		return;
	fc_forward(d, target, (target - d->k + 1) / 2, mixture, cost);
	fc_improve(d, GROW_ROUNDS, mixture, cost);
}

/*
 * Runs steps 1 to 3, which fit d->current and d->skeleton. Returns the cost
 * of d->current, and sets *cost_of_k to the cost of k atoms.
 *
 * The first replicate takes the sample centroids as its first atoms and does
 * not climb from them. In many dimensions the kernels of well separated
 * clusters merge into one mode between them, where the climbs would end.
 */
static double
fit_density(fc_decoding *d, int replicate, double *cost_of_k)
{
	fc_mixture *mixture = &d->current;
	bool		sampled = (d->initial == 0 && replicate == 0 &&
						   d->options.init == FC_INIT_DEFAULT &&
						   d->k >= d->problem->clusters);
	size_t		warm = (sampled ? smaller(d->sample_centroids, d->problem->clusters)
						: d->initial);
	double		cost = fc_warm_start(d, FC_WIDTH_SHARED, warm, mixture);

	fc_forward(d, d->k, d->k, mixture, &cost);
	fc_report_progress(d, "forward", (int) mixture->count, cost);
	fc_improve(d, d->options.rounds, mixture, &cost);
	fc_report_progress(d, "improve", (int) mixture->count, cost);
	if (cost > d->floor)
		cost = fc_refine(d, FC_WIDTH_SHARED, FC_MID_ITERATIONS, mixture);
	fc_mixture_copy(d, mixture, &d->skeleton);
	*cost_of_k = cost;
	grow(d, mixture, &cost);
	if (cost > d->floor)
		cost = fc_refine(d, FC_WIDTH_SHARED, FINAL_ITERATIONS, mixture);
	cost = fc_refine(d, FC_WIDTH_EACH,
					 cost > d->floor ? FINAL_ITERATIONS : CERTIFIED_ITERATIONS,
					 mixture);
	fc_drop_insignificant(d, cost, mixture);
	cost = fc_residual(d, mixture);
	fc_report_progress(d, "density", (int) mixture->count, cost);
	if (mixture->count == d->k)
		fc_mixture_copy(d, mixture, &d->skeleton);
	return cost;
}

/*
 * Runs one replicate with its own random stream. Copies the result to d->best
 * and d->best_skeleton if its cost is below *best_cost. Lowers *best_cost and
 * *cost_of_k (the lowest cost of k atoms) if this replicate reaches less.
 */
static void
try_replicate(fc_decoding *d, fc_decoder decoder, int replicate,
			  double *cost_of_k, double *best_cost)
{
	double		reported;
	double		cost;

	d->rng = fc_rng_start(d->options.seed, (uint64_t) replicate);
	if (decoder == FC_DECODE_AUTO)
		cost = fit_density(d, replicate, &reported);
	else
		reported = cost = decoder == FC_DECODE_CLOMPR
			? fc_clompr(d, &d->current)
			: fc_sketch_shift(d, &d->current);
	*cost_of_k = fmin(*cost_of_k, reported);
	if (!(cost < *best_cost))
		return;
	*best_cost = cost;
	fc_mixture_copy(d, &d->current, &d->best);
	fc_mixture_copy(d, &d->skeleton, &d->best_skeleton);
	if (d->best_covariance != NULL)
		memcpy(d->best_covariance, d->covariance,
			   d->k * d->n * d->n * sizeof(double));
}

/*
 * Returns true if clusters may have been missed, judged by the residual of k
 * atoms. A missed cluster leaves a relative residual of 1 / sqrt(k) if all k
 * clusters have the same weight. Returns false if k is less than the number of
 * clusters that the sketch was made for, because the residual is then large
 * anyway.
 */
static bool
poor_fit(const fc_decoding *d, double cost_of_k)
{
	double		share = fmin(MISSED_RESIDUAL,
							 MISSED_RESIDUAL_ROOT_K / sqrt((double) d->k));

	return d->k >= d->problem->clusters &&
		cost_of_k > share * share * d->energy;
}

/*
 * Runs all replicates. If the distribution has moved or the fit is poor,
 * decoder auto runs one more replicate, with RETRY_STARTS starts: in a box
 * that is many bandwidths wide, few of 64 starts are on the slope of a mode.
 */
static void
fit_replicates(fc_decoding *d, fc_decoder decoder, double *cost_of_k,
			   double *best_cost)
{
	*best_cost = INFINITY;
	*cost_of_k = INFINITY;
	for (int replicate = 0; replicate < d->options.replicates; replicate++)
		try_replicate(d, decoder, replicate, cost_of_k, best_cost);
	if (d->widest == d->starts || !(d->moved || poor_fit(d, *cost_of_k)))
		return;
	d->starts = d->widest;
	try_replicate(d, decoder, d->options.replicates, cost_of_k, best_cost);
}

/*
 * Steps 4 and 5: runs k-means on the density and stores the result in
 * d->points.
 */
static void
cluster_density(fc_decoding *d, double cost)
{
	const double *initial = (d->best_skeleton.count == d->k
							 ? d->best_skeleton.center
							 : NULL);
	bool		sample = d->rows > 0;
	size_t		count = (sample ? fc_reweighted_points(d, &d->best, cost <= d->floor)
						 : 0);

	if (count == 0)
		count = fc_density_points(d, &d->best);
	if (count == 0)
	{
		memset(d->points.x, 0, d->n * sizeof(float));
		d->points.weight[0] = 1.0;
		count = 1;
	}
	fc_cluster_points(d, count, initial,
					  sample ? SAMPLE_MARGIN : DENSITY_MARGIN,
					  sample ? SAMPLE_ITERATIONS : DENSITY_ITERATIONS);
}

/*
 * Stores the atoms as clusters in d->points. The squared standard deviation of
 * a cluster is the variance of the atom plus the mean of the diagonal of the
 * atom's covariance.
 */
static void
take_atoms(fc_decoding *d)
{
	fc_points_work *w = &d->points;

	memcpy(w->centroids, d->best.center, d->k * d->n * sizeof(double));
	memcpy(w->shares, d->best.weight, d->k * sizeof(double));
	for (size_t c = 0; c < d->k; c++)
	{
		double		trace = 0.0;

		for (size_t l = 0; d->best_covariance != NULL && l < d->n; l++)
			trace += d->best_covariance[(c * d->n + l) * d->n + l];
		w->spreads[c] = sqrt(d->best.variance[c] + trace / (double) d->n);
	}
}

/*
 * Sets place[c] to the index that cluster c gets in the result, for all k
 * clusters. A cluster that continues an initial centroid of the caller gets
 * the index of that centroid.
 */
static void
number_clusters(fc_decoding *d, int32_t *place)
{
	double	   *centroid = FC_TAKE(d->arena, d->k * d->n, double);

	for (size_t c = 0; c < d->k; c++)
		place[c] = (int32_t) c;
	if (d->initial == 0)
		return;
	memcpy(centroid, d->points.centroids, d->k * d->n * sizeof(double));
	fc_pair_clusters(d->sample_centroid, d->initial, centroid, d->k, d->n,
					 d->arena, place);
	fc_complete_numbers(place, d->k, d->arena);
}

/* Stores the result in the caller's coordinates; weights sum to 1. */
static void
report(const fc_decoding *d, const int32_t *place, double cost,
	   fc_decode_result *result)
{
	const fc_problem *p = d->problem;
	size_t		square = d->n * d->n;
	double		total = 0.0;

	for (size_t c = 0; c < d->k; c++)
		total += d->points.shares[c];
	for (size_t c = 0; c < d->k; c++)
	{
		size_t		to = (size_t) place[c];

		for (size_t l = 0; l < d->n; l++)
		{
			double		u = fc_clip(d->points.centroids[c * d->n + l], d->lower[l],
									d->upper[l]);

			result->centroids[to * d->n + l] = p->mean[l] + d->unit * u;
		}
		result->weights[to] = total > 0.0 ? d->points.shares[c] / total
			: 1.0 / (double) d->k;
		result->spreads[to] = d->unit * d->points.spreads[c];
		for (size_t i = 0; result->covariances != NULL && i < square; i++)
			result->covariances[to * square + i] = d->best_covariance == NULL
				? 0.0
				: d->unit * d->unit *
				d->best_covariance[c * square + i];
	}
	result->cost = cost;
	result->relative_residual = sqrt(cost / fmax(d->energy, 1e-300));
	result->iterations = d->evaluations;
	result->atoms = (int) d->best.count;
	result->informative = d->informative;
	result->noise = d->floor;
	result->outliers = d->cut;
	result->moved = d->moved;
}

fc_status
fc_decode(const fc_problem *problem, size_t k, fc_decoder decoder,
		  const fc_decode_options *options, fc_arena *arena,
		  fc_decode_result *result)
{
	fc_decoding d;
	fc_mark		mark = fc_arena_mark(arena);
	double		cost;
	double		cost_of_k;
	int32_t    *place;

	if (!(problem->rows > 0.0))
		return FC_EEMPTY;
	set_sizes(&d, problem, k, decoder, options);
	d.arena = arena;
	take_work(&d, decoder, arena);
	d.starts = (size_t) d.options.starts;
	fc_set_up(&d);
	fit_replicates(&d, decoder, &cost_of_k, &cost);
	if (decoder != FC_DECODE_AUTO)
		take_atoms(&d);
	else
		cluster_density(&d, cost);
	place = FC_TAKE(arena, k, int32_t);
	number_clusters(&d, place);
	report(&d, place, cost_of_k, result);
	fc_arena_release(arena, mark);
	return FC_OK;
}
