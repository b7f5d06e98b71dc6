/*
 * sample.c - rows in memory for QK-means: computes the initial centroids, and
 * scans the rows; see sample.h
 */
#include "factor/sample.h"

#include "base/rng.h"
#include "base/sort.h"
#include "operator/step.h"

/*
 * Minimum number of Lloyd steps per start. With fewer steps, the start is
 * farther from a minimum of k-means and takes less time. A guess.
 */
#define START_STEPS	4

/*
 * Maximum number of Lloyd steps per start, reached if the sample is small. A
 * guess.
 */
#define MORE_STEPS	25

/* Maximum number of starts, reached if the sample is small. A guess. */
#define MORE_STARTS	5

/*
 * Maximum number of multiplications of all steps and starts, unless
 * START_STEPS requires more. They take some seconds. A guess.
 */
#define START_WORK	0x1p34

/* Random stream of rows drawn uniformly. */
#define UNIFORM_STREAM	2

size_t
fc_measured_rows(size_t n, size_t k)
{
	return smaller(n, larger(FC_MIN_SAMPLE, FC_SAMPLE_PER_K * k));
}

typedef struct start_work
{
	float	   *ordered;		/* n x d: rows of the sample in the order of
								 * fc_order_rows, centered and scaled */
	fc_arena   *arena;
} start_work;

/* Draws k rows without replacement. */
static void
pick_rows(const start_work *w, size_t n, size_t d, size_t k, uint64_t seed,
		  double *start)
{
	fc_rng		rng = fc_rng_start(seed, UNIFORM_STREAM);
	size_t	   *place = FC_TAKE(w->arena, n, size_t);

	for (size_t i = 0; i < n; i++)
		place[i] = i;
	for (size_t j = 0; j < k; j++)
	{
		size_t		other = j + fc_rng_below(&rng, n - j);
		size_t		chosen = place[other];

		place[other] = place[j];
		fc_widen(w->ordered + chosen * d, d, start + j * d);
	}
}

void
fc_cluster_sample(const float *x, size_t n, size_t d, size_t k, uint64_t seed,
				  fc_arena *arena, double *centroids, double *weights)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = centroids,.weights = weights};
	fc_rows		rows = {.x = x,.n = n,.d = d};

	/* number of Lloyd steps of all starts that START_WORK allows */
	double		steps = START_WORK / ((double) n * (double) k * (double) d);

	options.n_init = (int) fmax(1, fmin(MORE_STARTS, steps / MORE_STEPS));
	options.iterations = (int) fmax(START_STEPS,
									fmin(MORE_STEPS, steps / options.n_init));
	options.seed = seed;
	fc_kmeans(&rows, k, NULL, &options, arena, &result);
	fc_arena_release(arena, used);
}

fc_status
fc_qkmeans_start(const double *sample, size_t n, size_t d, size_t k,
				 const fc_start_options *options, fc_arena *arena,
				 fc_ordering *ordering, double *start, double *measured)
{
	start_work	w = {FC_TAKE(arena, n * d, float), arena};
	fc_status	status = fc_order_rows(sample, n, d, arena, w.ordered, NULL, ordering);
	size_t		count;

	if (status != FC_OK)
		return status;
	count = fc_measured_rows(n, k);
	for (size_t r = 0; r < count; r++)
	{
		const float *row = (w.ordered + (size_t) ((double) r / (double) count *
												  (double) n) *
							d);

		fc_check();
		for (size_t i = 0; i < d; i++)
			measured[r * d + i] = (double) row[i] / ordering->scale +
				ordering->mean[i];
	}
	if (options->kind == FC_START_GIVEN)
	{
		memcpy(start, options->given, k * d * sizeof(double));
		return FC_OK;
	}
	if (options->kind == FC_START_UNIFORM)
		pick_rows(&w, n, d, k, options->seed, start);
	else
		fc_cluster_sample(w.ordered, n, d, k, options->seed, arena, start,
						  FC_TAKE(arena, k, double));

	fc_unorder_points(ordering, k, d, start);
	return FC_OK;
}

double
fc_greatest_magnitude(const double *points, const double *offset, size_t n,
					  size_t d)
{
	double		max = 0;

	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < d; i++)
			max = fmax(max, fabs(points[j * d + i] - offset[i]));
	return max;
}

/* ---- scans ---- */

/*
 * A serialized operator, its dense rows for distance computations, and scratch
 * space.
 */
typedef struct stored_operator
{
	fc_operator_header *header;
	fc_operator op;

	/*
	 * scratch space for fc_step_add and fc_operator_assign_batch with `batch`
	 * rows, and for functions of a single row
	 */
	fc_scratch	scratch;
	size_t		batch;
} stored_operator;

static fc_status
store_operator(const fc_operator *op, fc_arena *arena, stored_operator *stored)
{
	fc_status	status;

	stored->batch = fc_step_capacity(op);
	stored->header = (fc_operator_header *) FC_TAKE(arena, fc_operator_size(op),
													char);
	stored->scratch = fc_take_scratch(arena, larger(fc_step_scratch(op, stored->batch),
													fc_operator_batch_scratch(op, stored->batch)));
	fc_operator_write(op, stored->header);
	status = fc_operator_check(stored->header, fc_operator_size(op));
	if (status != FC_OK)
		return status;
	fc_operator_view(stored->header, &stored->op);
	if (op->factors > 1)
		fc_operator_expand(&stored->op, stored->scratch,
						   FC_TAKE(arena, op->k * op->d, float));
	return FC_OK;
}

fc_status
fc_scan_rows(const fc_operator *op, const double *x, size_t n, fc_arena *arena,
			 double *sse, double *weights, double *means)
{
	const fc_operator_header shape = {
		.k = (uint32_t) op->k,
		.d = (uint32_t) op->d
	};
	fc_step_result result = {
		.weights = weights,
		.sums = means,
		.counts = FC_TAKE(arena, op->k, int64_t)
	};
	stored_operator stored;
	fc_step    *step;
	fc_status	status = store_operator(op, arena, &stored);

	if (status != FC_OK)
		return status;
	step = (fc_step *) FC_TAKE(arena,
							   fc_step_size(FC_STEP_LLOYD, &shape,
											fc_operator_size(op), stored.batch),
							   char);
	fc_step_init(FC_STEP_LLOYD, stored.header, fc_operator_size(op),
				 stored.batch, step);
	for (size_t r = 0; r < n; r++)
	{
		fc_check();
		fc_step_add(step, &stored.op, x + r * op->d, 1.0, stored.scratch);
	}
	fc_step_fold(step, &stored.op, stored.scratch);
	fc_step_finish(step, stored.scratch, &result);
	*sse = result.total;
	fc_step_means(op->k, op->d, weights, means);
	return FC_OK;
}

static void
measure_rows(const stored_operator *stored, const double *x, size_t n,
			 fc_arena *arena, double *distances)
{
	const fc_operator *op = &stored->op;
	int32_t    *labels = FC_TAKE(arena, stored->batch, int32_t);

	for (size_t first = 0; first < n; first += stored->batch)
	{
		size_t		some = smaller(stored->batch, n - first);
		const double *rows = x + first * op->d;

		fc_check();
		fc_operator_assign_batch(op, rows, some, stored->scratch, labels);
		for (size_t r = 0; r < some; r++)
			distances[first + r] = fc_operator_distance(op, (size_t) labels[r],
														rows + r * op->d,
														stored->scratch);
	}
}

fc_status
fc_farthest_rows(const fc_operator *op, const double *x, size_t n, size_t count,
				 fc_arena *arena, double *rows, size_t *found)
{
	size_t		d = op->d;
	fc_keyed   *order = FC_TAKE(arena, 2 * n, fc_keyed);
	double	   *distances = FC_TAKE(arena, n, double);
	stored_operator stored;
	fc_status	status = store_operator(op, arena, &stored);

	if (status != FC_OK)
		return status;
	measure_rows(&stored, x, n, arena, distances);
	fc_sort_rows(x, n, d * sizeof(double), order);	/* rows with equal
													 * distances stay sorted
													 * by a hash of their
													 * values */
	for (size_t r = 0; r < n; r++)
		order[r].key = fc_number_key(-distances[order[r].value]);
	fc_sort(order, n, order + n);
	*found = smaller(count, n);
	for (size_t i = 0; i < *found; i++)
		memcpy(rows + i * d, x + order[i].value * d, d * sizeof(double));
	return FC_OK;
}
