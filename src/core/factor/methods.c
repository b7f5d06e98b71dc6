/* methods.c - the methods of factorize; see the header */
#include "factor/methods.h"

#include <math.h>
#include <string.h>

#include "base/pieces.h"
#include "base/sizes.h"
#include "factor/butterfly.h"
#include "factor/hierarchical.h"
#include "factor/lowrank.h"

#define LEAST_WEIGHT	0.01	/* of the mean */
#define SQUARES_ROUNDING	1e-24	/* of a sum of squares */

/* ---- budgets ---- */

size_t
fc_factorize_factors(const fc_operator *op, const fc_factorize_options *options)
{
	size_t		usual = fc_factor_count(op->k, op->d);

	if (options->factors > 0)
		return (size_t) options->factors;
	return options->method == FC_METHOD_PALM4MSA ? smaller(usual, FC_PALM_FACTORS) : usual;
}

size_t
fc_factorize_budget(const fc_operator *op, const fc_factorize_options *options)
{
	size_t		cells = op->k * op->d;

	if (options->budget > 0.0)
		return options->budget < (double) cells ? (size_t) options->budget : cells;
	return smaller(cells, fc_sparsity_budget(op->k, op->d, fc_factorize_factors(op, options),
											  options->sparsity > 0 ? (size_t) options->sparsity : FC_DEFAULT_SPARSITY));
}

static void
set_constraints(const fc_operator *op, const fc_factorize_options *options, size_t budget, fc_constraint *constraint)
{
	fc_line_constraints(op->k, op->d, fc_factorize_factors(op, options), (size_t) options->sparsity,
						options->budget > 0.0 ? (double) budget : 0.0, constraint);
}

size_t
fc_least_budget(size_t k, size_t d, size_t count, size_t sparsity)
{
	fc_constraint constraint[FC_MAX_FACTORS];
	size_t		sum = 0;

	fc_line_constraints(k, d, count, sparsity, 1.0, constraint);
	for (size_t q = 0; q < count; q++)
		sum += fc_constraint_capacity(&constraint[q], fc_factor_rows(k, d, count, q), fc_factor_columns(k, d, count, q), 0);
	return sum;
}

size_t
fc_factorize_least_budget(const fc_operator *op, const fc_factorize_options *options)
{
	if (options->method == FC_METHOD_SVD)
		return op->k + op->d;
	if (options->method == FC_METHOD_PALM4MSA || options->method == FC_METHOD_HIERARCHICAL)
		return fc_least_budget(op->k, op->d, fc_factorize_factors(op, options), (size_t) options->sparsity);
	return 1;
}

/* ---- memory ---- */

/* For op and for what it is factored into. */
size_t
fc_factorize_scratch(const fc_operator *op, const fc_factorize_options *options)
{
	size_t		factors = larger(fc_factorize_factors(op, options), fc_factor_count(op->k, op->d) + 1);	/* a butterfly has one more */

	return larger(fc_operator_scratch(op), fc_operator_scratch_bound(op->k, op->d, larger(factors, 2)));
}

/* ---- what is factored ---- */

/* Weights with mean 1 and none near 0; all 1 when they sum to 0. */
static void
set_weights(const fc_operator *op, double *weight)
{
	double		mean = 0.0;

	for (size_t j = 0; j < op->k; j++)
		mean += op->weights[j] / (double) op->k;
	for (size_t j = 0; j < op->k; j++)
		weight[j] = mean > 0.0 ? fmax(op->weights[j] / mean, LEAST_WEIGHT) : 1.0;
}

/* The offset: the weighted mean of the centroids, or what the operator has. */
static void
set_offset(const fc_factorize_work *w, const double *u)
{
	double		sum = 0.0;
	size_t		done = 0;

	memset(w->offset, 0, w->op->d * sizeof(double));
	if (!w->options->centered && w->op->offset != NULL)
		memcpy(w->offset, w->op->offset, w->op->d * sizeof(double));
	if (!w->options->centered)
		return;
	for (size_t j = 0; j < w->op->k; j++)
		sum += w->target.weight[j];
	for (size_t j = 0; j < w->op->k; j++)
	{
		fc_check_every(&done, w->op->d);
		for (size_t i = 0; i < w->op->d; i++)
			w->offset[i] += w->target.weight[j] / sum * u[j * w->op->d + i];
	}
}

/* u minus the offset; what is left of equal centroids is rounding, and becomes 0. */
static fc_status
centre(const fc_factorize_work *w, double *u)
{
	size_t		d = w->op->d;
	double		before = 0.0;
	double		after = 0.0;
	size_t		done = 0;

	for (size_t j = 0; j < w->op->k; j++)
	{
		double	   *row = u + j * d;

		fc_check_every(&done, d);
		for (size_t i = 0; i < d; i++)
		{
			before += row[i] * row[i];
			row[i] -= w->offset[i];
			after += row[i] * row[i];
		}
	}
	if (after <= SQUARES_ROUNDING * before)
	{
		fc_clear_pieces(u, w->op->k * d * sizeof(double));
		return FC_OK;
	}
	return FC_OK;
}

fc_status
fc_factorize_prepare(fc_factorize_work *w)
{
	const fc_operator *op = w->op;
	double	   *u = FC_TAKE(w->arena, op->k * op->d, double);
	double	   *weight = FC_TAKE(w->arena, op->k, double);

	w->offset = FC_TAKE(w->arena, op->d, double);
	w->scratch = fc_take_scratch(w->arena, fc_factorize_scratch(op, w->options));
	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		fc_operator_row(op, j, w->scratch, u + j * op->d);
	}
	set_weights(op, weight);
	w->target = (fc_target) {u, weight, op->k, op->d};
	set_offset(w, u);
	return centre(w, u);
}

static bool
all_zero(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] != 0.0)
			return false;
	return true;
}

/* ---- methods ---- */

static fc_status
run_sparse(const fc_factorize_work *w, fc_method method, size_t budget, fc_operator *out)
{
	fc_factors	factors;
	fc_palm_result result;
	fc_constraint constraint[FC_MAX_FACTORS];
	fc_status	status = FC_OK;

	if (method == FC_METHOD_PRUNE)
	{
		factors.count = 1;
		factors.lambda = 1.0;
		fc_prune(&w->target, budget, w->arena, &factors.factor[0]);
	}
	else if (method == FC_METHOD_BUTTERFLY)
		status = fc_butterfly(&w->target, w->arena, &factors);
	else
	{
		set_constraints(w->op, w->options, budget, constraint);
		fc_factors_take(w->arena, w->op->k, w->op->d, w->factors, constraint, &factors);
		if (status == FC_OK && method == FC_METHOD_HIERARCHICAL)
			status = fc_hierarchical(&w->target, &w->options->palm, w->arena, &factors, &result);
		else if (status == FC_OK)
			status = fc_palm(&w->target, &w->options->palm, w->arena, &factors, &result);
	}
	if (status == FC_OK)
		fc_store_factors(&factors, w->arena, out);
	return status;
}

static fc_status
run_svd(const fc_factorize_work *w, size_t budget, fc_operator *out)
{
	size_t		rank = fc_rank_within(w->op->k, w->op->d, budget);
	float	   *left = FC_TAKE(w->arena, w->op->k * rank, float);
	float	   *right = FC_TAKE(w->arena, rank * w->op->d, float);
	double		relative;

	out->factors = 2;
	out->factor[0] = (fc_factor) {.rows = w->op->k,.columns = rank,.nonzeros = w->op->k * rank,.values = left};
	out->factor[1] = (fc_factor) {.rows = rank,.columns = w->op->d,.nonzeros = rank * w->op->d,.values = right};
	return fc_lowrank(&w->target, rank, w->options->palm.seed, w->arena, left, right, &relative);
}

static void
run_dense(const fc_factorize_work *w, fc_operator *out)
{
	size_t		cells = w->op->k * w->op->d;
	float	   *values = FC_TAKE(w->arena, cells, float);

	for (size_t i = 0; i < cells; i++)
	{
		if (i % FC_PACE == FC_PACE - 1)
			fc_check();
		values[i] = (float) w->target.u[i];
	}
	out->factors = 1;
	out->factor[0] = (fc_factor) {.rows = w->op->k,.columns = w->op->d,.nonzeros = cells,.values = values};
}

fc_status
fc_factorize_run(const fc_factorize_work *w, fc_method method, size_t budget, fc_operator *out)
{
	float	   *half_norms;
	fc_status	status = FC_OK;

	out->k = w->op->k;
	out->d = w->op->d;
	out->weights = w->op->weights;
	out->offset = all_zero(w->offset, w->op->d) ? NULL : w->offset;
	if (method == FC_METHOD_SVD)
		status = run_svd(w, budget, out);
	else if (method == FC_METHOD_DENSE)
		run_dense(w, out);
	else
		status = run_sparse(w, method, budget, out);
	half_norms = FC_TAKE(w->arena, w->op->k, float);
	if (status != FC_OK)
		return status;
	fc_operator_measure(out, w->scratch, half_norms);
	return FC_OK;
}

/* ---- the record ---- */

size_t
fc_operator_values(const fc_operator *op)
{
	size_t		sum = 0;

	for (size_t q = 0; q < op->factors; q++)
		sum += op->factor[q].nonzeros;
	return sum;
}

fc_status
fc_factorize_record(const fc_factorize_work *w, fc_method method, double agreement, fc_operator *out, fc_factorization *from)
{
	fc_status	status;

	*from = (fc_factorization) {.method = (uint32_t) method,.agreement = agreement};
	fc_relative_error(&w->target, out, w->scratch, &from->relative_error);
	status = fc_equal_svd(&w->target, fc_operator_values(out), w->options->palm.seed, w->arena, &from->svd_error);
	if (method == FC_METHOD_SVD)
		from->svd_error = from->relative_error;	/* the same factors, but for the rounding of the product */
	out->factorization = from;
	return status;
}
