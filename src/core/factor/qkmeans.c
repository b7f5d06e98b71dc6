/* qkmeans.c - QK-means; see the header */
#include "factor/qkmeans.h"

#include <math.h>
#include <string.h>

#include "factor/hierarchical.h"
#include "base/pieces.h"
#include "factor/lowrank.h"

#define START_FINER	0.1		/* tolerance of the start, relative to that of an iteration */

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
	fc_factors	saved;			/* the factors before a trial */
	double	   *mean;			/* k x d, around the offset */
	double	   *weight;			/* k */
	double	   *moved_mean;		/* the same with empty clusters given rows */
	double	   *moved_weight;
	double	   *row;			/* d */
	fc_scratch	scratch;
	float	   *half_norms;
	float	   *rows;			/* k x d: of the product */
	const fc_operator *op;		/* the factors as they were scanned */
	fc_qkmeans_step step;
} qkmeans_work;

fc_qkmeans_options
fc_qkmeans_defaults(void)
{
	fc_qkmeans_options options = {.iterations = 10,.tolerance = 1e-6,.start = FC_METHOD_AUTO,
	.start_sweeps = 50,.palm = fc_palm_defaults()};

	options.palm.sweeps = 10;
	options.palm.tolerance = 1e-2;	/* the next iteration has other means anyway */
	return options;
}

/* ---- memory ---- */

size_t
fc_qkmeans_factors(size_t k, size_t d, const fc_qkmeans_options *options)
{
	return options->factors > 0 ? (size_t) options->factors : fc_factor_count(k, d);
}

static size_t
set_constraints(size_t k, size_t d, const fc_qkmeans_options *options, fc_constraint *constraint)
{
	size_t		count = fc_qkmeans_factors(k, d, options);

	fc_line_constraints(k, d, count, (size_t) options->sparsity, options->budget, constraint);
	return count;
}

static bool
tries_hierarchical(size_t k, size_t d, const fc_qkmeans_options *options)
{
	return options->start == FC_METHOD_HIERARCHICAL ||
		(options->start == FC_METHOD_AUTO && k * d <= FC_QKMEANS_HIERARCHICAL);
}

size_t
fc_qkmeans_worksize(size_t k, size_t d, const fc_qkmeans_options *options)
{
	fc_constraint constraint[FC_MAX_FACTORS];
	size_t		count = set_constraints(k, d, options, constraint);
	fc_factors	shape = fc_factors_outline(k, d, count, constraint);
	fc_target	target = {.k = k,.d = d};
	size_t		trained = fc_palm_worksize(&shape);
	size_t		compared = fc_equal_svd_worksize(k, d);

	if (tries_hierarchical(k, d, options) && fc_hierarchical_worksize(&target, &shape) > trained)
		trained = fc_hierarchical_worksize(&target, &shape);
	return 2 * fc_factors_worksize(k, d, count, constraint) + 2 * fc_stored_worksize(&shape) +
		(2 * k * d + 2 * k + d) * sizeof(double) + (fc_operator_scratch_bound(k, d, count) + k) * sizeof(float) + 32 * 64 +
		trained + compared + k * d * sizeof(double) + 64;
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
	w->row = FC_TAKE(w->arena, w->d, double);
	w->scratch = fc_take_scratch(w->arena, fc_operator_scratch_bound(w->k, w->d, count));
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

/* The factors as an operator of floats, with the rows of its product. */
static void
make_operator(qkmeans_work *w, fc_operator *op)
{
	*op = (fc_operator) {.k = w->k,.d = w->d,.offset = w->offset,.weights = w->weight};
	fc_store_factors(&w->factors, w->arena, op);
	fc_operator_measure(op, w->scratch, w->half_norms);
	fc_operator_expand(op, w->scratch, w->rows);
	w->op = op;
}

/* Scan, and what there is to say about it. */
static fc_status
look(qkmeans_work *w)
{
	const fc_operator *op = w->op;
	double		between = 0.0;
	fc_status	status = w->source->scan(w->source->ctx, op, &w->step.objective, w->weight, w->mean);

	if (status != FC_OK)
		return status;
	w->step.empty = 0;
	w->step.nonzeros = fc_factors_nonzeros(&w->factors);
	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		fc_check();
		w->step.empty += !(w->weight[j] > 0.0);
		fc_operator_row(op, j, w->scratch, w->row);
		for (size_t i = 0; i < w->d; i++)
		{
			double	   *mean = &w->mean[j * w->d + i];

			if (!(w->weight[j] > 0.0))
				*mean = w->row[i];
			square += (*mean - w->row[i]) * (*mean - w->row[i]);
			*mean -= w->offset[i];
		}
		between += w->weight[j] * square;
	}
	w->step.wcss = fmax(w->step.objective - between, 0.0);
	return FC_OK;
}

/* Move a row to empty cluster j; returns by how much the SSE to the means falls. */
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

/* Means and weights with the farthest rows in the empty clusters; *fallen as move_row. */
static fc_status
fill_empty(qkmeans_work *w, double *fallen)
{
	fc_mark		used = fc_arena_mark(w->arena);
	size_t		most = w->step.empty;
	double	   *rows = FC_TAKE(w->arena, most * w->d, double);
	size_t		found = 0;
	size_t		next = 0;
	fc_status	status;

	*fallen = 0.0;
	memcpy(w->moved_weight, w->weight, w->k * sizeof(double));
	fc_copy_pieces(w->moved_mean, w->mean, w->k * w->d * sizeof(double));
	status = w->source->farthest(w->source->ctx, w->op, most, rows, &found);
	for (size_t j = 0; j < w->k && status == FC_OK && next < found; j++)
	{
		fc_check();
		if (!(w->weight[j] > 0.0))
			*fallen += move_row(w, rows + next++ * w->d, j);
	}
	fc_arena_release(w->arena, used);
	return status;
}

/* One factor that may hold every value: the means themselves, where gradient steps would leave small clusters behind. */
static bool
holds_all(const qkmeans_work *w)
{
	const fc_constraint *only = &w->constraint[0];

	return w->factors.count == 1 && only->kind == FC_LINES && (only->per_row >= w->d || only->per_column >= w->k);
}

static void
copy_means(qkmeans_work *w, const double *mean)
{
	fc_sparse  *only = &w->factors.factor[0].plain;
	size_t		done = 0;

	for (size_t j = 0; j <= w->k; j++)
		only->row_start[j] = (uint32_t) (j * w->d);
	for (size_t j = 0; j < w->k; j++)
	{
		fc_check_every(&done, w->d);
		for (size_t i = 0; i < w->d; i++)
			only->column[j * w->d + i] = (uint32_t) i;
		memcpy(only->value + j * w->d, mean + j * w->d, w->d * sizeof(double));
	}
	only->nonzeros = w->k * w->d;
	w->factors.lambda = 1.0;
	fc_sparse_pair_changed(&w->factors.factor[0]);
}

/* palm4MSA on the means, from the factors as they are. */
static fc_status
train(qkmeans_work *w, const double *mean, const double *weight, double *objective)
{
	fc_target	target = {mean, weight, w->k, w->d};
	fc_palm_options options = w->options->palm;
	fc_palm_result result;
	fc_status	status;

	if (holds_all(w))
	{
		*objective = 0.0;
		copy_means(w, mean);
		return FC_OK;
	}
	options.warm = true;
	status = fc_palm(&target, &options, w->arena, &w->factors, &result);
	*objective = result.objective;
	return status;
}

static fc_status
improve(qkmeans_work *w)
{
	double		objective;
	double		fallen;
	fc_status	status = FC_OK;

	if (w->step.empty > 0)
	{
		copy_factors(&w->factors, &w->saved);
		if (status == FC_OK)
			status = fill_empty(w, &fallen);
		if (status == FC_OK)
			status = train(w, w->moved_mean, w->moved_weight, &objective);
		if (status != FC_OK || w->step.wcss - fallen + objective <= w->step.objective)
			return status;
		copy_factors(&w->saved, &w->factors);
		if (status != FC_OK)
			return status;
	}
	return train(w, w->mean, w->weight, &objective);
}

/* ---- the whole ---- */

static fc_status
factor_start(qkmeans_work *w, const double *start)
{
	fc_palm_options options = w->options->palm;
	fc_target	target = {w->mean, NULL, w->k, w->d};
	fc_palm_result plain = {.objective = INFINITY};
	fc_palm_result result;
	size_t		done = 0;
	fc_status	status = FC_OK;

	for (size_t j = 0; j < w->k; j++)
	{
		fc_check_every(&done, w->d);
		for (size_t i = 0; i < w->d; i++)
			w->mean[j * w->d + i] = start[j * w->d + i] - w->offset[i];
	}
	if (w->options->warm_factors != NULL)
	{
		copy_factors(w->options->warm_factors, &w->factors);
		return FC_OK;
	}
	if (holds_all(w))
	{
		copy_means(w, w->mean);
		return FC_OK;
	}
	options.sweeps = w->options->start_sweeps;
	options.tolerance *= START_FINER;
	options.progress = NULL;
	if (w->options->start != FC_METHOD_HIERARCHICAL)
		status = fc_palm(&target, &options, w->arena, &w->factors, &plain);
	if (status != FC_OK || !tries_hierarchical(w->k, w->d, w->options))
		return status;
	copy_factors(&w->factors, &w->saved);
	if (status == FC_OK)
		status = fc_hierarchical(&target, &options, w->arena, &w->factors, &result);
	if (status == FC_OK && plain.objective < result.objective)
		copy_factors(&w->saved, &w->factors);
	return status;
}

static fc_status
fill_record(qkmeans_work *w, const fc_operator *op, fc_factorization *from)
{
	fc_target	target = {w->mean, w->weight, w->k, w->d};
	fc_status	status;

	*from = (fc_factorization) {.method = FC_METHOD_QKMEANS,.agreement = -1.0};
	fc_relative_error(&target, op, w->scratch, &from->relative_error);
	status = fc_equal_svd(&target, fc_factors_nonzeros(&w->factors), w->options->palm.seed, w->arena, &from->svd_error);
	return status;
}

fc_status
fc_qkmeans_try(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *source,
			   const fc_qkmeans_options *options, fc_arena *arena,
			   fc_factors *factors, fc_qkmeans_step *step)
{
	qkmeans_work w = {.source = source,.options = options,.arena = arena,.offset = offset,.k = k,.d = d};
	fc_operator op;
	fc_status	status;

	take_work(&w);
	status = factor_start(&w, start);
	if (status == FC_OK)
		make_operator(&w, &op);
	if (status == FC_OK)
		status = look(&w);
	*factors = w.factors;
	*step = w.step;
	return status;
}

fc_status
fc_qkmeans(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *source,
		   const fc_qkmeans_options *options, fc_arena *arena,
		   fc_operator *out, fc_factorization *from)
{
	qkmeans_work w = {.source = source,.options = options,.arena = arena,.offset = offset,.k = k,.d = d};
	fc_status	status;
	fc_mark		used;

	take_work(&w);
	used = fc_arena_mark(arena);
	status = factor_start(&w, start);
	for (int i = 0; status == FC_OK; i++)
	{
		double		last = w.step.objective;

		fc_arena_release(arena, used);
		w.step.iteration = i;
		make_operator(&w, out);
		if (status == FC_OK)
			status = look(&w);
		if (status == FC_OK && options->log != NULL)
			options->log(options->log_ctx, &w.step, out);
		if (status != FC_OK || i == options->iterations ||
			(i > 0 && last - w.step.objective <= options->tolerance * last))
			break;
		status = improve(&w);
	}
	if (status == FC_OK)
		status = fill_record(&w, out, from);
	out->factorization = from;
	return status;
}
