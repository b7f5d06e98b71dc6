/* choose.c - sparsity by trial on a sample; see the header */
#include "factor/choose.h"

#include <math.h>
#include <string.h>


#define LEAST_SPREAD	1e-6	/* of the scatter */
#define FIRST_SPARSITY	2
#define MOST_SPARSITY	24		/* lines of more are not pursued, only descended: no closer for their values */
#define FACTORS			2

/* ---- measures ---- */

double
fc_measure_ratio(double a, double b, double scatter)
{
	double		least = LEAST_SPREAD * scatter;

	return b > least ? a / b : a > least ? a / least : 1.0;
}

/* From weights and means of the clusters of op, and the objective. */
static void
complete_measure(const fc_operator *op, const double *weights, const double *means,
				 double *row, double *mean, fc_scratch scratch, fc_measure *measure)
{
	double		sum = 0.0;
	double		between = 0.0;

	memset(mean, 0, op->d * sizeof(double));
	for (size_t j = 0; j < op->k; j++)
		sum += weights[j];
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
}

fc_status
fc_measure_operator(const fc_operator *op, const fc_row_source *sample,
					fc_arena *arena, fc_measure *measure)
{
	fc_mark		used = fc_arena_mark(arena);
	double	   *weights = FC_TAKE(arena, op->k, double);
	double	   *means = FC_TAKE(arena, op->k * op->d, double);
	double	   *row = FC_TAKE(arena, op->d, double);
	double	   *mean = FC_TAKE(arena, op->d, double);
	fc_scratch	scratch = fc_take_scratch(arena, fc_operator_scratch(op));
	fc_status	status = sample->scan(sample->ctx, op, &measure->objective, weights, means);

	if (status == FC_OK)
		complete_measure(op, weights, means, row, mean, scratch, measure);
	fc_arena_release(arena, used);
	return status;
}

fc_status
fc_measure_start(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *sample,
				 fc_arena *arena, fc_measure *measure)
{
	fc_mark		used = fc_arena_mark(arena);
	float	   *values = FC_TAKE(arena, k * d, float);
	float	   *half_norms = FC_TAKE(arena, k, float);
	double	   *weights = FC_TAKE(arena, k, double);
	fc_operator op = {.k = k,.d = d,.factors = 1,.offset = offset,.weights = weights,.half_norms = half_norms};
	fc_scratch	scratch = fc_take_scratch(arena, fc_operator_scratch(&op));
	fc_status	status;

	for (size_t i = 0; i < k * d; i++)
		values[i] = (float) (start[i] - offset[i % d]);
	for (size_t j = 0; j < k; j++)
		weights[j] = 1.0;
	op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = values};
	fc_operator_measure(&op, scratch, half_norms);
	status = fc_measure_operator(&op, sample, arena, measure);
	fc_arena_release(arena, used);
	return status;
}

/* ---- trials ---- */

/* One factor of all values: the centroids as they are. */
static void
set_dense(size_t k, size_t d, fc_qkmeans_options *options)
{
	options->factors = 1;
	options->sparsity = (int) (k > d ? k : d);
	options->budget = 0.0;
}

/* Sparsity s: false when it is too much for memory or patience, or no gain over the centroids as they are. */
static bool
set_sparsity(size_t k, size_t d, int s, bool two, const fc_trials *trials, fc_qkmeans_options *options)
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
	return s <= MOST_SPARSITY && (double) s * lines + (two ? 2.0 * inner : 0.0) < cells &&
		(two || fc_sparsity_budget(k, d, count, (size_t) s) < k * d) &&
		(double) s * (double) s * inner * lines <= FC_TRIAL_WORK &&
		fc_qkmeans_worksize(k, d, options) <= trials->most_bytes;
}

static int
next_sparsity(int s)
{
	return s + (s > 3 ? s / 2 : 1);
}

typedef struct findings
{
	fc_qkmeans_options closest;
	double		objective;		/* of that, / that of the start */
	fc_qkmeans_options sparsest;	/* whose labels are as good */
	bool		same_labels;
} findings;

static void
consider(const fc_qkmeans_options *options, const fc_trial *trial, findings *found)
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

/* Of a call that leaves the factors open too: see the header. */
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

fc_status
fc_qkmeans_choose(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *sample,
				  const fc_trials *trials, fc_arena *arena, fc_qkmeans_options *options)
{
	const fc_measure *dense = trials->dense;
	fc_qkmeans_options trial = *options;
	bool		two = options->factors == 0;
	findings	found = {.closest = *options,.objective = INFINITY};
	fc_factors *factors = FC_TAKE(arena, 1, fc_factors);

	for (int s = FIRST_SPARSITY; found.objective > FC_CLOSE_SSE_RATIO && set_sparsity(k, d, s, two, trials, &trial); s = next_sparsity(s))
	{
		fc_qkmeans_step step;
		fc_trial	result = {.factors = trial.factors,.sparsity = s};
		fc_mark		used = fc_arena_mark(arena);
		fc_status	status = fc_qkmeans_try(start, offset, k, d, sample, &trial, arena, factors, &step);

		if (status != FC_OK)
			return status;
		result.nonzeros = step.nonzeros;
		result.objective = fc_measure_ratio(step.objective, dense->objective, dense->scatter);
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
	options->warm_factors = found.objective <= FC_CLOSE_SSE_RATIO ? factors : NULL;
	return FC_OK;
}
