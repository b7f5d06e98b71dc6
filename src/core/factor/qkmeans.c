/* qkmeans.c - QK-means; see qkmeans.h */
#include "factor/qkmeans.h"

#include "factor/internal.h"
#include "factor/sample.h"

/*
 * Tolerance of the sweeps that factor the initial centroids, relative to the
 * tolerance in an iteration. With a smaller one, the product is closer to the
 * initial centroids, after more sweeps. A guess.
 */
#define START_TOLERANCE_FACTOR	0.1

/*
 * Bytes of memory per value of a factor, in palm4MSA and two copies of the
 * factors together, for fc_qkmeans_worksize.
 */
#define VALUE_BYTES	128

/*
 * Minimum divisor of a ratio of sums of squares, as a fraction of the scatter.
 * A guess.
 */
#define MIN_SPREAD	1e-6

/*
 * Sparsity of the first trial: number of nonzeros that a factor keeps per row
 * and per column. Later trials keep more.
 */
#define FIRST_SPARSITY	2

/*
 * Maximum sparsity of a trial (nonzeros per row and per column of a factor).
 * Products with more entries, found by gradient steps, were measured to be no
 * closer to the initial centroids. Halving the maximum saves 9 % of the time
 * of bench/tuned.py.
 */
#define MAX_SPARSITY	24

/*
 * Number of factors of a product unless the options set it. FC_PALM_FACTORS
 * gives the reason.
 */
#define FACTORS	2

typedef struct qkmeans_work
{
	const fc_row_source *source;
	const fc_qkmeans_options *options;
	fc_arena   *arena;
	const double *offset;
	size_t		k;
	size_t		d;
	fc_constraint constraint[FC_MAX_FACTORS];
	fc_factors	factors;
	fc_factors	saved;			/* factors to restore if others are worse */
	double	   *mean;			/* k x d: means of the clusters, minus the
								 * offset */
	double	   *weight;			/* k: weights of the clusters */
	double	   *moved_mean;		/* k x d: means after empty clusters were
								 * filled or large clusters were split; while
								 * a split is tested, the means before it */
	double	   *moved_weight;	/* k: weights of the clusters of moved_mean */
	fc_scratch	scratch;
	float	   *half_norms;
	float	   *rows;			/* k x d: rows of the product */
	const fc_operator *op;		/* operator made from the factors, as used in
								 * the last scan */
	bool		unsplittable;	/* true once new clusters raised the objective */
	fc_qkmeans_step step;
} qkmeans_work;

fc_qkmeans_options
fc_qkmeans_defaults(void)
{
	fc_qkmeans_options options = {
		.iterations = 10,
		.tolerance = 1e-6,
		.start = FC_METHOD_AUTO,
		.start_sweeps = 50,
		.palm = fc_palm_defaults()
	};

	options.palm.sweeps = 10;
	options.palm.tolerance = 1e-2;	/* more precision is wasted, because the
									 * means change in the next iteration */
	return options;
}

/* ---- memory ---- */

size_t
fc_qkmeans_factors(size_t k, size_t d, const fc_qkmeans_options *options)
{
	return options->factors > 0 ? (size_t) options->factors
		: fc_factor_count(k, d);
}

fc_qkmeans_options
fc_qkmeans_published(void)
{
	fc_qkmeans_options options = fc_qkmeans_defaults();

	options.sparsity = 2;
	options.start = FC_METHOD_HIERARCHICAL;
	options.palm = fc_palm_defaults();
	options.palm.published = true;
	options.start_sweeps = options.palm.sweeps;
	return options;
}

static size_t
set_constraints(size_t k, size_t d, const fc_qkmeans_options *options,
				fc_constraint *constraint)
{
	size_t		count = fc_qkmeans_factors(k, d, options);

	if (options->palm.published && !(options->budget > 0.0))
		fc_published_constraints(k, d, count, (size_t) options->sparsity,
								 constraint);
	else
		fc_line_constraints(k, d, count, (size_t) options->sparsity,
							options->budget, constraint);
	return count;
}

static bool
tries_hierarchical(size_t k, size_t d, const fc_qkmeans_options *options)
{
	return options->start == FC_METHOD_HIERARCHICAL ||
		(options->start == FC_METHOD_AUTO && k * d <= FC_QKMEANS_HIERARCHICAL);
}

/*
 * Measured costs for estimates of the time (bench/endless.py).
 * SPARSITY_SQUARES: sum of the squares of the sparsities tried.
 */
#define SPARSITY_SQUARES	1000.0

double
fc_qkmeans_operations(size_t n, size_t k, size_t d,
					  const fc_qkmeans_options *options)
{
	double		cells = (double) k * (double) d;
	double		inner = (double) smaller(k, d);
	double		sweep = fmin(SPARSITY_SQUARES * inner * (double) (k + d),
							 2.0 * FC_TRIAL_WORK);

	if (tries_hierarchical(k, d, options))
		sweep += DENSE_SWEEP / 2.0 * cells * inner;
	return 2.0 * options->start_sweeps * sweep +
		options->iterations * (double) n * cells;
}

size_t
fc_qkmeans_worksize(size_t k, size_t d, const fc_qkmeans_options *options)
{
	fc_constraint constraint[FC_MAX_FACTORS];
	size_t		count = set_constraints(k, d, options, constraint);
	size_t		inner = smaller(k, d);
	size_t		values = 0;
	size_t		dense = 5;		/* number of k x d matrices of doubles; 5 have
								 * room for the means, the moved means, the
								 * product and an SVD */

	for (size_t q = 0; q < count; q++)
	{
		values += fc_constraint_capacity(&constraint[q],
										 fc_factor_rows(k, d, q),
										 fc_factor_columns(k, d, count, q));
		dense += larger(constraint[q].per_row, constraint[q].per_column) >
			FC_SHORT_LIST
			? 2
			: 0;
	}
	if (count > 1)
		dense += 3;				/* the matrices y, h and product of
								 * fc_palm_work */
	if (count > 1 && tries_hierarchical(k, d, options))
		values += options->palm.published ? 2 * k * d
			: 2 * inner * inner + k * d / 4;
	return VALUE_BYTES * values + (dense * k * d + 3 * inner * inner +
								   (k + d) * (size_t) 8 * FC_TILE_COLUMNS) *
		sizeof(double);
}

static void
take_work(qkmeans_work *w)
{
	size_t		count = set_constraints(w->k, w->d, w->options, w->constraint);

	fc_factors_take(w->arena, w->k, w->d, count, w->constraint, &w->factors);
	fc_factors_take(w->arena, w->k, w->d, count, w->constraint, &w->saved);
	w->mean = FC_TAKE(w->arena, w->k * w->d, double);
	w->weight = FC_TAKE(w->arena, w->k, double);
	w->moved_mean = FC_TAKE(w->arena, w->k * w->d, double);
	w->moved_weight = FC_TAKE(w->arena, w->k, double);
	w->scratch = fc_take_scratch(w->arena,
								 fc_operator_scratch_bound(w->k, w->d, count));
	w->half_norms = FC_TAKE(w->arena, w->k, float);
	w->rows = FC_TAKE(w->arena, w->k * w->d, float);
	for (size_t j = 0; j < w->k; j++)
		w->weight[j] = 1.0;
}

/* ---- one iteration ---- */

static void
copy_factors(const fc_factors *from, fc_factors *to)
{
	for (size_t q = 0; q < from->count; q++)
	{
		fc_sparse_copy(&from->factor[q].plain, &to->factor[q].plain);
		fc_sparse_pair_changed(&to->factor[q]);
	}
	to->lambda = from->lambda;
}

/*
 * Converts the factors to an operator in floats, and expands the rows of its
 * product.
 */
static void
make_operator(qkmeans_work *w, fc_operator *op)
{
	*op = (fc_operator)
	{
		.k = w->k,
			.d = w->d,
			.offset = w->offset,
			.weights = w->weight
	};
	fc_store_factors(&w->factors, w->arena, op);
	fc_operator_measure(op, w->scratch, w->half_norms);
	fc_operator_expand(op, w->scratch, w->rows);
	w->op = op;
}

/*
 * Scans the rows with op. Computes the weight and mean (k x d) of each
 * cluster, and the sums of squares of fc_measure.
 */
static void
scan(const fc_operator *op, const fc_row_source *source, fc_arena *arena,
	 double *weights, double *means, fc_measure *measure)
{
	fc_mark		used = fc_arena_mark(arena);
	double	   *row = FC_TAKE(arena, op->d, double);
	double	   *mean = FC_TAKE_ZEROED(arena, op->d, double);
	fc_scratch	scratch = fc_take_scratch(arena, fc_operator_scratch(op));
	double		sum;
	double		between = 0.0;

	source->scan(source->ctx, op, &measure->objective, weights, means);
	sum = fc_weight_sum(weights, op->k);
	for (size_t j = 0; j < op->k; j++)
		for (size_t i = 0; i < op->d && weights[j] > 0.0; i++)
			mean[i] += weights[j] / sum * means[j * op->d + i];
	measure->scatter = 0.0;
	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		fc_operator_row(op, j, scratch, row);
		for (size_t i = 0; i < op->d && weights[j] > 0.0; i++)
		{
			double		u = means[j * op->d + i];

			between += weights[j] * (u - row[i]) * (u - row[i]);
			measure->scatter += weights[j] * (u - mean[i]) * (u - mean[i]);
		}
	}
	measure->wcss = fmax(measure->objective - between, 0.0);
	measure->scatter += measure->wcss;
	fc_arena_release(arena, used);
}

/*
 * Scans the rows. Stores the result in w->step, w->weight and w->mean, and
 * subtracts the offset from the means. The mean of an empty cluster is its
 * centroid.
 */
static void
measure_step(qkmeans_work *w)
{
	fc_measure	found;

	scan(w->op, w->source, w->arena, w->weight, w->mean, &found);
	w->step.objective = found.objective;
	w->step.wcss = found.wcss;
	w->step.empty = 0;
	w->step.nonzeros = fc_factors_nonzeros(&w->factors);
	for (size_t j = 0; j < w->k; j++)
	{
		double	   *mean = &w->mean[j * w->d];

		if (!(w->weight[j] > 0.0))
		{
			w->step.empty++;
			fc_operator_row(w->op, j, w->scratch, mean);
		}
		for (size_t i = 0; i < w->d; i++)
			mean[i] -= w->offset[i];
	}
}

/*
 * Moves row x to the empty cluster j: updates moved_mean and moved_weight.
 * Returns the decrease of the SSE around the means, or 0 if the row's own
 * cluster has no other rows.
 */
static double
move_row(qkmeans_work *w, const double *x, size_t j)
{
	size_t		from = fc_operator_assign(w->op, x, w->scratch);
	double		n = w->moved_weight[from];
	double	   *mean = w->moved_mean + from * w->d;
	double		square = 0.0;

	if (!(n > 1.0))
		return 0.0;
	for (size_t i = 0; i < w->d; i++)
	{
		double		away = x[i] - w->offset[i] - mean[i];

		square += away * away;
		mean[i] -= away / (n - 1.0);
		w->moved_mean[j * w->d + i] = x[i] - w->offset[i];
	}
	w->moved_weight[from] = n - 1.0;
	w->moved_weight[j] = 1.0;
	return square * n / (n - 1.0);
}

/*
 * Moves the farthest rows into the empty clusters, and computes moved_mean and
 * moved_weight. Returns the decrease of the SSE around the means.
 */
static double
fill_empty(qkmeans_work *w)
{
	fc_mark		used = fc_arena_mark(w->arena);
	size_t		max = w->step.empty;
	double	   *rows = FC_TAKE(w->arena, max * w->d, double);
	double		fallen = 0.0;
	size_t		found;
	size_t		next = 0;

	memcpy(w->moved_weight, w->weight, w->k * sizeof(double));
	memcpy(w->moved_mean, w->mean, w->k * w->d * sizeof(double));
	w->source->farthest(w->source->ctx, w->op, max, rows, &found);
	for (size_t j = 0; j < w->k && next < found; j++)
	{
		fc_check();
		if (!(w->weight[j] > 0.0))
			fallen += move_row(w, rows + next++ * w->d, j);
	}
	fc_arena_release(w->arena, used);
	return fallen;
}

/* ---- collapsed clusters ---- */

fc_small_clusters
fc_count_small(const double *weights, size_t k)
{
	fc_small_clusters small = {0};
	double		sum = fc_weight_sum(weights, k);

	for (size_t j = 0; j < k; j++)
	{
		small.empty += !(weights[j] > 0.0);
		small.single += weights[j] > 0.0 && weights[j] <= 1.0;
		small.largest = fmax(small.largest, weights[j] / sum);
	}
	small.collapsed = 4 * (small.empty + small.single) > k &&
		sum >= 4.0 * (double) k;
	return small;
}

size_t
fc_split_worksize(size_t n, size_t k, size_t d)
{
	return n * (d * sizeof(float) + sizeof(size_t)) +
		fc_kmeans_worksize(n, d, k) + k * (d + 3) * sizeof(double);
}

/*
 * Copies the sample rows of cluster j to x, as floats, after subtracting the
 * offset and dividing by *scale. Sets *scale to the greatest magnitude of the
 * differences, or to 1 if all are 0. Returns the number of these rows.
 */
static size_t
rows_of_cluster(const qkmeans_work *w, const size_t *label, size_t j, float *x,
				double *scale)
{
	size_t		n = 0;

	*scale = 0.0;
	for (size_t pass = 0; pass < 2; pass++)
	{
		n = 0;
		for (size_t r = 0; r < w->source->sample_rows; r++)
		{
			const double *row = w->source->sample + r * w->d;

			if (label[r] != j)
				continue;
			fc_check();
			for (size_t i = 0; i < w->d; i++)
				if (pass == 0)
					*scale = fmax(*scale, fabs(row[i] - w->offset[i]));
				else
					x[n * w->d + i] = (float) ((row[i] - w->offset[i]) / *scale);
			n++;
		}
		if (!(*scale > 0.0))
			*scale = 1.0;
	}
	return n;
}

/*
 * Splits cluster j into `parts` by k-means of its n sample rows (x, divided by
 * scale). Each part receives a share of the weight of the cluster, in
 * proportion to its sample rows. The first part keeps index j. Each other part
 * replaces the next cluster with at most one row, from index *free on.
 * Advances *free.
 */
static void
split_cluster(qkmeans_work *w, size_t j, size_t parts, const float *x,
			  size_t n, double scale, size_t *free)
{
	double	   *centroids = FC_TAKE(w->arena, parts * w->d, double);
	double	   *weights = FC_TAKE(w->arena, parts, double);
	double		whole = w->weight[j] / (double) n;

	fc_cluster_sample(x, n, w->d, parts, w->options->palm.seed, w->arena,
					  centroids, weights);
	for (size_t part = 0; part < parts; part++)
	{
		size_t		place = j;

		if (part > 0)
		{
			while (w->weight[*free] > 1.0)
				++* free;
			place = (*free)++;
		}
		w->moved_weight[place] = weights[part] * whole;
		for (size_t i = 0; i < w->d; i++)
			w->moved_mean[place * w->d + i] = centroids[part * w->d + i] * scale;
	}
}

/*
 * Splits the largest clusters, whose parts replace `places` clusters that have
 * at most one row. Replaces fewer if the sample has too few rows of the large
 * clusters. Computes moved_mean and moved_weight.
 */
static void
split_clusters(qkmeans_work *w, size_t places)
{
	fc_mark		used = fc_arena_mark(w->arena);
	size_t		n = w->source->sample_rows;
	size_t	   *label = FC_TAKE(w->arena, n, size_t);
	size_t	   *count = FC_TAKE_ZEROED(w->arena, w->k, size_t);
	size_t	   *parts = FC_TAKE(w->arena, w->k, size_t);
	float	   *x = FC_TAKE(w->arena, n * w->d, float);
	size_t		free = 0;

	memcpy(w->moved_weight, w->weight, w->k * sizeof(double));
	memcpy(w->moved_mean, w->mean, w->k * w->d * sizeof(double));
	for (size_t r = 0; r < n; r++)
	{
		fc_check();
		label[r] = fc_operator_assign(w->op, w->source->sample + r * w->d,
									  w->scratch);
		count[label[r]]++;
	}
	for (size_t j = 0; j < w->k; j++)
		parts[j] = 1;
	for (; places > 0; places--)
	{
		size_t		best = w->k;

		for (size_t j = 0; j < w->k; j++)
			if (w->weight[j] > 1.0 && count[j] > parts[j] &&
				(best == w->k || w->weight[j] / (double) parts[j] >
				 w->weight[best] / (double) parts[best]))
				best = j;
		if (best == w->k)
			break;
		parts[best]++;
	}
	for (size_t j = 0; j < w->k; j++)
	{
		fc_mark		before = fc_arena_mark(w->arena);
		double		scale;

		if (parts[j] == 1)
			continue;
		rows_of_cluster(w, label, j, x, &scale);
		split_cluster(w, j, parts[j], x, count[j], scale, &free);
		fc_arena_release(w->arena, before);
	}
	fc_arena_release(w->arena, used);
}

/*
 * Returns true if there is only one factor and its constraint allows all k d
 * values. The means are then copied, because gradient steps would fit small
 * clusters badly.
 */
static bool
holds_all(const qkmeans_work *w)
{
	const fc_constraint *only = &w->constraint[0];

	return w->factors.count == 1 &&
		(only->per_row >= w->d || only->per_column >= w->k);
}

static void
copy_means(qkmeans_work *w, const double *mean)
{
	fc_sparse  *only = &w->factors.factor[0].plain;

	for (size_t j = 0; j <= w->k; j++)
		only->row_start[j] = (uint32_t) (j * w->d);
	for (size_t j = 0; j < w->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < w->d; i++)
			only->column[j * w->d + i] = (uint32_t) i;
		memcpy(only->value + j * w->d, mean + j * w->d, w->d * sizeof(double));
	}
	only->nonzeros = w->k * w->d;
	w->factors.lambda = 1.0;
	fc_sparse_pair_changed(&w->factors.factor[0]);
}

/*
 * Runs palm4MSA on the means, starting from the current factors. Returns the
 * objective. If holds_all, copies the means instead and returns 0.
 */
static double
train(qkmeans_work *w, const double *mean, const double *weight)
{
	fc_target	target = {mean, weight, w->k, w->d};
	fc_palm_options options = w->options->palm;
	fc_palm_result result;

	if (holds_all(w))
	{
		copy_means(w, mean);
		return 0.0;
	}
	options.warm = true;
	fc_palm(&target, &options, w->arena, &w->factors, &result);
	return result.objective;
}

/*
 * Factors the means of the split clusters. palm4MSA starts from its initial
 * factors, not from the current ones.
 */
static void
train_split(qkmeans_work *w)
{
	fc_target	target = {w->moved_mean, w->moved_weight, w->k, w->d};
	fc_palm_options options = w->options->palm;
	fc_palm_result result;

	if (holds_all(w))
	{
		copy_means(w, w->moved_mean);
		return;
	}
	fc_factors_start(&w->factors);
	options.sweeps = w->options->start_sweeps;
	options.tolerance *= START_TOLERANCE_FACTOR;
	fc_palm(&target, &options, w->arena, &w->factors, &result);
}

/*
 * Replaces clusters with at most one row by parts of large clusters, and scans
 * the rows. Restores the previous factors and clusters if the objective rose.
 */
static void
split_collapsed(qkmeans_work *w, size_t places, fc_mark used, fc_operator *out)
{
	fc_qkmeans_step step = w->step;

	split_clusters(w, places);
	copy_factors(&w->factors, &w->saved);
	train_split(w);
	memcpy(w->moved_mean, w->mean, w->k * w->d * sizeof(double));
	memcpy(w->moved_weight, w->weight, w->k * sizeof(double));
	fc_arena_release(w->arena, used);
	make_operator(w, out);
	measure_step(w);
	if (w->step.objective <= step.objective)
		return;
	w->unsplittable = true;
	copy_factors(&w->saved, &w->factors);
	memcpy(w->mean, w->moved_mean, w->k * w->d * sizeof(double));
	memcpy(w->weight, w->moved_weight, w->k * sizeof(double));
	w->step = step;
	fc_arena_release(w->arena, used);
	make_operator(w, out);
}

static void
improve(qkmeans_work *w)
{
	if (w->step.empty > 0 && !w->options->palm.published)
	{
		double		fallen = fill_empty(w);

		copy_factors(&w->factors, &w->saved);
		if (w->step.wcss - fallen + train(w, w->moved_mean, w->moved_weight) <=
			w->step.objective)
			return;
		copy_factors(&w->saved, &w->factors);
	}
	train(w, w->mean, w->weight);
}

/*
 * Moves the factors towards the means, and scans the rows with the new
 * product.
 */
static void
next_step(qkmeans_work *w, fc_mark used, fc_operator *out)
{
	fc_small_clusters small = fc_count_small(w->weight, w->k);

	if (small.collapsed && w->source->sample_rows > 0 && !w->unsplittable &&
		!w->options->palm.published)
	{
		split_collapsed(w, small.empty + small.single, used, out);
		if (!w->unsplittable)
			return;
	}
	improve(w);
	fc_arena_release(w->arena, used);
	make_operator(w, out);
	measure_step(w);
}

/* ---- entry points ---- */

static void
factor_start(qkmeans_work *w, const double *start)
{
	fc_palm_options options = w->options->palm;
	fc_target	target = {w->mean, NULL, w->k, w->d};
	fc_palm_result plain = {.objective = INFINITY};
	fc_palm_result result;

	for (size_t j = 0; j < w->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < w->d; i++)
			w->mean[j * w->d + i] = start[j * w->d + i] - w->offset[i];
	}
	if (w->options->warm_factors != NULL || holds_all(w))
	{
		if (w->options->warm_factors != NULL)
			copy_factors(w->options->warm_factors, &w->factors);
		else
			copy_means(w, w->mean);
		return;
	}
	options.sweeps = w->options->start_sweeps;
	if (!options.published)
		options.tolerance *= START_TOLERANCE_FACTOR;
	if (w->options->start != FC_METHOD_HIERARCHICAL)
		fc_palm(&target, &options, w->arena, &w->factors, &plain);
	if (!tries_hierarchical(w->k, w->d, w->options))
		return;
	copy_factors(&w->factors, &w->saved);
	fc_hierarchical(&target, &options, w->arena, &w->factors, &result);
	if (plain.objective < result.objective)
		copy_factors(&w->saved, &w->factors);
}

/* Returns the state of a new run, with the initial centroids factored. */
static qkmeans_work
factored(const double *start, const double *offset, size_t k, size_t d,
		 const fc_row_source *source, const fc_qkmeans_options *options,
		 fc_arena *arena)
{
	qkmeans_work w = {
		.source = source,
		.options = options,
		.arena = arena,
		.offset = offset,
		.k = k,
		.d = d
	};

	take_work(&w);
	factor_start(&w, start);
	return w;
}

void
fc_qkmeans_try(const double *start, const double *offset, size_t k, size_t d,
			   const fc_row_source *source, const fc_qkmeans_options *options,
			   fc_arena *arena, fc_factors *factors, fc_qkmeans_step *step)
{
	qkmeans_work w = factored(start, offset, k, d, source, options, arena);
	fc_operator op;

	make_operator(&w, &op);
	measure_step(&w);
	*factors = w.factors;
	*step = w.step;
}

void
fc_qkmeans(const double *start, const double *offset, size_t k, size_t d,
		   const fc_row_source *source, const fc_qkmeans_options *options,
		   fc_arena *arena, fc_operator *out, fc_factorization *from)
{
	qkmeans_work w = factored(start, offset, k, d, source, options, arena);
	fc_mark		used = fc_arena_mark(arena);
	fc_target	target;

	make_operator(&w, out);
	measure_step(&w);
	for (int i = 0;; i++)
	{
		double		last = w.step.objective;

		if (i > 0)
			next_step(&w, used, out);
		w.step.iteration = i;
		if (options->log != NULL)
			options->log(options->log_ctx, &w.step, out);
		if (i == options->iterations ||
			(i > 0 && last - w.step.objective <= options->tolerance * last))
			break;
	}
	out->factorization = from;
	target = (fc_target)
	{
		w.mean, w.weight, k, d
	};
	*from = (fc_factorization)
	{
		.method = FC_METHOD_QKMEANS,.agreement = -1.0
	};
	from->relative_error = fc_relative_error(&target, out, w.scratch);
	from->svd_error = fc_equal_svd(&target, fc_factors_nonzeros(&w.factors),
								   options->palm.seed, w.arena);
}

/* ---- measures ---- */

double
fc_measure_ratio(double a, double b, double scatter)
{
	double		min = MIN_SPREAD * scatter;

	return b > min ? a / b : a > min ? a / min : 1.0;
}

void
fc_measure_operator(const fc_operator *op, const fc_row_source *sample,
					fc_arena *arena, fc_measure *measure)
{
	fc_mark		used = fc_arena_mark(arena);

	scan(op, sample, arena, FC_TAKE(arena, op->k, double),
		 FC_TAKE(arena, op->k * op->d, double), measure);
	fc_arena_release(arena, used);
}

void
fc_measure_start(const double *start, const double *offset, size_t k, size_t d,
				 const fc_row_source *sample, fc_arena *arena,
				 fc_measure *measure)
{
	fc_mark		used = fc_arena_mark(arena);
	float	   *values = FC_TAKE(arena, k * d, float);
	float	   *half_norms = FC_TAKE(arena, k, float);
	double	   *weights = FC_TAKE(arena, k, double);
	fc_operator op = {
		.k = k,
		.d = d,
		.factors = 1,
		.offset = offset,
		.weights = weights,
		.half_norms = half_norms
	};
	fc_scratch	scratch = fc_take_scratch(arena, fc_operator_scratch(&op));

	for (size_t i = 0; i < k * d; i++)
		values[i] = (float) (start[i] - offset[i % d]);
	for (size_t j = 0; j < k; j++)
		weights[j] = 1.0;
	op.factor[0] = fc_dense_factor(k, d, values);
	fc_operator_measure(&op, scratch, half_norms);
	fc_measure_operator(&op, sample, arena, measure);
	fc_arena_release(arena, used);
}

/* ---- trials ---- */

/* Sets options for one factor with all values, i.e. unfactored centroids. */
static void
set_dense(size_t k, size_t d, fc_qkmeans_options *options)
{
	options->factors = 1;
	options->sparsity = (int) (k > d ? k : d);
	options->budget = 0.0;
}

/*
 * Sets the options of a trial with sparsity s, and with two factors if `two`
 * is set. Returns false if s is above MAX_SPARSITY, if the trial needs too
 * much memory or time, or if the product has no fewer values than the
 * unfactored centroids.
 */
static bool
set_sparsity(size_t k, size_t d, int s, bool two, const fc_trials *trials,
			 fc_qkmeans_options *options)
{
	double		cells = (double) k * (double) d;
	double		inner = (double) (k < d ? k : d);
	double		lines = (double) (k + d);
	size_t		count;

	options->sparsity = s;
	if (two)
		options->factors = FACTORS;
	count = fc_qkmeans_factors(k, d, options);
	options->budget = two ? fmin(2.0 * s * lines, cells - 1.0) : 0.0;
	return s <= MAX_SPARSITY &&
		(double) s * lines + (two ? 2.0 * inner : 0.0) < cells &&
		(two || fc_sparsity_budget(k, d, count, (size_t) s) < k * d) &&
		(double) s * (double) s * inner * lines <= FC_TRIAL_WORK &&
		fc_qkmeans_worksize(k, d, options) <= trials->max_bytes;
}

typedef struct findings
{
	fc_qkmeans_options closest;
	double		objective;		/* SSE of the closest product, relative to the
								 * SSE of the unfactored centroids */
	fc_qkmeans_options sparsest;	/* options of the sparsest product whose
									 * labels are equally good
									 * (FC_SAME_LABELS_SSE_RATIO) */
	bool		same_labels;	/* true if `sparsest` is set */
} findings;

static void
consider(const fc_qkmeans_options *options, const fc_trial *trial,
		 findings *found)
{
	if (trial->objective < found->objective)
	{
		found->closest = *options;
		found->objective = trial->objective;
	}
	if (!found->same_labels && trial->wcss <= FC_SAME_LABELS_SSE_RATIO)
	{
		found->sparsest = *options;
		found->same_labels = true;
	}
}

/*
 * Chooses the options if the caller has not set the number of factors; see
 * qkmeans.h.
 */
static void
decide(size_t k, size_t d, const findings *found, fc_qkmeans_options *options)
{
	bool		large = k * d >= FC_LARGE_CENTROIDS;

	if (found->objective <= (large ? FC_NEAR_SSE_RATIO : FC_CLOSE_SSE_RATIO))
		*options = found->closest;
	else if (large && found->same_labels)
		*options = found->sparsest;
	else
		set_dense(k, d, options);
}

void
fc_qkmeans_choose(const double *start, const double *offset, size_t k, size_t d,
				  const fc_row_source *sample, const fc_trials *trials,
				  fc_arena *arena, fc_qkmeans_options *options)
{
	const fc_measure *dense = trials->dense;
	fc_qkmeans_options trial = *options;
	bool		two = options->factors == 0;
	findings	found = {.closest = *options,.objective = INFINITY};
	fc_factors *factors = FC_TAKE(arena, 1, fc_factors);

	for (int s = FIRST_SPARSITY; found.objective > FC_CLOSE_SSE_RATIO &&
		 set_sparsity(k, d, s, two, trials, &trial);
		 s += s > 3 ? s / 2 : 1)
	{
		fc_qkmeans_step step;
		fc_trial	result = {.factors = trial.factors,.sparsity = s};
		fc_mark		used = fc_arena_mark(arena);

		fc_qkmeans_try(start, offset, k, d, sample, &trial, arena, factors,
					   &step);
		result.nonzeros = step.nonzeros;
		result.objective = fc_measure_ratio(step.objective, dense->objective,
											dense->scatter);
		result.wcss = fc_measure_ratio(step.wcss, dense->wcss, dense->scatter);
		if (trials->tried != NULL)
			trials->tried(trials->tried_ctx, &result);
		consider(&trial, &result, &found);
		if (found.objective > FC_CLOSE_SSE_RATIO)
			fc_arena_release(arena, used);
	}
	*options = found.closest;
	if (two)
		decide(k, d, &found, options);
	options->warm_factors = found.objective <= FC_CLOSE_SSE_RATIO ? factors
		: NULL;
}
