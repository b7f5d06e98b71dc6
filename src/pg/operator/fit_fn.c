/*
 * fit_fn.c - weighted rows kept as the centroids of an operator: their moments, their units, how well
 * another operator fits them.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "operator/coreset.h"
#include "operator/mixture.h"
#include "operator/fit.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/values.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_value.h"

/* ---- rows ---- */

/* (op, center, variance, share): the limit of ranks (coreset.h) below which such a share of rows like op's is expected; NULL variance: uniform. */
PG_FUNCTION_INFO_V1(fastclust_rank_limit);
Datum
fastclust_rank_limit(PG_FUNCTION_ARGS)
{
	account		memory = {"rank_limit"};
	double		variance = PG_ARGISNULL(2) ? 0.0 : PG_GETARG_FLOAT8(2);
	double		share;
	double		limit;
	fc_operator op;
	double	   *center;
	double	   *rows;
	double	   *importances;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	share = PG_GETARG_FLOAT8(3);
	if (!PG_ARGISNULL(2))
		check_positive("variance", variance);
	if (!(share > 0.0 && share < 1.0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("share is %g, out of range", share),
				 errdetail("It is a share of the rows, above 0 and below 1.")));
	open_operator(OPERATOR_ARG(0), &op);
	center = read_float8_array(PG_GETARG_DATUM(1), (int) op.d, "center");
	hold(&memory, op.k * (op.d + 2) * sizeof(double));
	rows = centroids_in_units(&op, NULL, NULL);
	importances = palloc_extended(op.k * sizeof(double), MCXT_ALLOC_HUGE);
	for (Size j = 0; j < op.k; j++)
		importances[j] = fc_coreset_importance(rows + j * op.d, center, variance, op.d);
	fc_coreset_limit(importances, op.weights, op.k, share, &limit);
	PG_RETURN_FLOAT8(limit);
}

/* (op): mean and standard deviation of each dimension of its centroids, by their weights. */
PG_FUNCTION_INFO_V1(fastclust_centroid_moments);
Datum
fastclust_centroid_moments(PG_FUNCTION_ARGS)
{
	fc_operator op;
	fc_scratch	scratch;
	double	   *row;
	double	   *mean;
	double	   *deviation;
	double		weight = 0.0;

	open_operator(OPERATOR_ARG(0), &op);
	scratch = make_scratch(fc_operator_scratch(&op));
	row = palloc(op.d * sizeof(double));
	mean = palloc0(op.d * sizeof(double));
	deviation = palloc0(op.d * sizeof(double));
	for (Size j = 0; j < op.k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		weight += op.weights[j];
		fc_operator_row(&op, j, scratch, row);
		for (Size i = 0; i < op.d && op.weights[j] > 0.0; i++)	/* Welford 1962, West 1979 */
		{
			double		change = row[i] - mean[i];

			mean[i] += change * op.weights[j] / weight;
			deviation[i] += op.weights[j] * change * (row[i] - mean[i]);
		}
	}
	for (Size i = 0; i < op.d; i++)
		deviation[i] = weight > 0.0 ? sqrt(deviation[i] / weight) : 0.0;
	return row_result(fcinfo, (Datum[]) {make_float8_array(mean, (int) op.d), make_float8_array(deviation, (int) op.d)}, NULL);
}

/* (op, center, scale, new_center, new_scale): centroids moved from one set of units to another; NULL is 0 or 1.  Where all are NULL the metric stays. */
PG_FUNCTION_INFO_V1(fastclust_operator_in_units);
Datum
fastclust_operator_in_units(PG_FUNCTION_ARGS)
{
	account		memory = {"operator_in_units"};
	fc_operator op;
	double	   *unit[4];
	bool		moved = false;
	double	   *rows;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	open_operator(OPERATOR_ARG(0), &op);
	for (int i = 0; i < 4; i++)
	{
		unit[i] = numbers_argument(fcinfo, 1 + i, op.d, i % 2 == 0 ? "center" : "scale");
		moved = moved || unit[i] != NULL;
	}
	hold(&memory, op.k * (op.d + 1) * sizeof(double) + codebook_bytes(op.k, op.d));
	rows = centroids_in_units(&op, unit[0], unit[1]);
	for (Size j = 0; j < op.k; j++)
	{
		double	   *row = rows + j * op.d;

		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < op.d; i++)
			row[i] = (row[i] - (unit[2] ? unit[2][i] : 0.0)) / (unit[3] ? unit[3][i] : 1.0);
	}
	PG_RETURN_POINTER(make_codebook_for(moved ? FC_EUCLIDEAN : op.metric, rows, op.weights, op.k, op.d));
}

/* ---- fit ---- */

/* Labels and distances of the rows in argument m by the operator in argument n. */
static fc_fit
fit_arguments(FunctionCallInfo fcinfo, int n, int m, account *memory, Size *d)
{
	fc_operator op;
	fc_operator rows;
	fc_scratch	scratch;
	int32_t    *labels;
	double	   *squares;

	open_operator(OPERATOR_ARG(n), &op);
	open_operator(OPERATOR_ARG(m), &rows);
	check_same_dim((int32) op.d, (int32) rows.d);
	if (rows.k > screened_from(op.k))
		(void) screen_operator(&op, CurrentMemoryContext);
	hold(memory, rows.k * (sizeof(int32) + sizeof(double)) + fc_fit_scratch(&op, &rows) * sizeof(float) + FC_FIT_BATCH * op.d * sizeof(double));
	scratch = make_scratch(fc_fit_scratch(&op, &rows));
	labels = palloc_extended(rows.k * sizeof(int32), MCXT_ALLOC_HUGE);
	squares = palloc_extended(rows.k * sizeof(double), MCXT_ALLOC_HUGE);
	fc_fit_rows(&op, &rows, scratch, palloc_extended(FC_FIT_BATCH * op.d * sizeof(double), MCXT_ALLOC_HUGE), labels, squares);
	pfree(scratch.floats);
	*d = op.d;
	return (fc_fit) {rows.k, op.k, rows.weights, labels, squares};
}

/* (op, rows, places): mean squared distance and its error, quantiles of distances, deviation per dimension of each cluster. */
PG_FUNCTION_INFO_V1(fastclust_fit_profile);
Datum
fastclust_fit_profile(PG_FUNCTION_ARGS)
{
	account		memory = {"fit_profile"};
	Size		d;
	fc_fit		fit = fit_arguments(fcinfo, 0, 1, &memory, &d);
	vector_reader reader = {CurrentMemoryContext};
	vector		places = read_vector(&reader, PG_GETARG_DATUM(2), "places");
	double	   *quantiles = palloc((Size) places.d * sizeof(double));
	double	   *spreads = palloc_extended(fit.k * sizeof(double), MCXT_ALLOC_HUGE);
	fc_arena	arena = hold_arena(&memory);
	double		mean;
	double		error;

	fc_fit_means(&fit, &mean, &error, spreads, palloc_extended(fit.k * sizeof(double), MCXT_ALLOC_HUGE));
	for (Size j = 0; j < fit.k; j++)
		spreads[j] = sqrt(spreads[j] / (double) d);
	fc_fit_quantiles(&fit, places.doubles, (Size) places.d, &arena, quantiles);
	return row_result(fcinfo, (Datum[]) {Float8GetDatum(mean), Float8GetDatum(error), make_float8_array(quantiles, places.d),
			make_float8_array(spreads, (int) fit.k)}, NULL);
}

/* (a, b, rows, trim): mean squared distances to either, the error of their difference, the share of rows with another label. */
PG_FUNCTION_INFO_V1(fastclust_fit_comparison);
Datum
fastclust_fit_comparison(PG_FUNCTION_ARGS)
{
	account		memory = {"fit_comparison"};
	Size		d;
	fc_fit		a = fit_arguments(fcinfo, 0, 2, &memory, &d);
	fc_fit		b = fit_arguments(fcinfo, 1, 2, &memory, &d);
	fc_arena	arena = hold_arena(&memory);
	fc_comparison result;

	fc_fit_compare(&a, &b, PG_GETARG_FLOAT8(3), &arena, &result);
	return row_result(fcinfo, (Datum[]) {Float8GetDatum(result.mean_a), Float8GetDatum(result.mean_b),
			Float8GetDatum(result.error), Float8GetDatum(result.changed)}, NULL);
}

/*
 * (old, next): sum_j w_j ||c_j - c'_j||^2, by which one step of Lloyd lowers the sum of squares with the labels as they are.
 * On the unit sphere it is so many times less as the mean of the cluster is shorter than 1.
 */
PG_FUNCTION_INFO_V1(fastclust_step_gain);
Datum
fastclust_step_gain(PG_FUNCTION_ARGS)
{
	fc_operator old;
	fc_operator next;
	fc_scratch	scratch;
	double	   *a;
	double	   *b;
	double		gain = 0.0;

	open_operator(OPERATOR_ARG(0), &old);
	open_operator(OPERATOR_ARG(1), &next);
	check_same_dim((int32) old.d, (int32) next.d);
	scratch = make_scratch(fc_fit_scratch(&old, &next));
	a = palloc(old.d * sizeof(double));
	b = palloc(old.d * sizeof(double));
	for (Size j = 0; j < Min(old.k, next.k); j++)
	{
		double		square = 0.0;

		CHECK_FOR_INTERRUPTS();
		fc_operator_row(&old, j, scratch, a);
		fc_operator_row(&next, j, scratch, b);
		for (Size i = 0; i < old.d; i++)
			square += (a[i] - b[i]) * (a[i] - b[i]);
		gain += next.weights[j] * square;
	}
	PG_RETURN_FLOAT8(gain);
}

/* ---- labels of the same rows by two operators, each with the rows in its own space ---- */

/* (a, rows for a, b, rows for b). */
static void
two_fits(FunctionCallInfo fcinfo, account *memory, fc_fit *a, fc_fit *b)
{
	Size		d;

	*a = fit_arguments(fcinfo, 0, 1, memory, &d);
	*b = fit_arguments(fcinfo, 2, 3, memory, &d);
	if (a->n != b->n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are %zu and %zu rows", a->n, b->n)));
}

/* The share of the rows' weight with another label. */
PG_FUNCTION_INFO_V1(fastclust_label_change);
Datum
fastclust_label_change(PG_FUNCTION_ARGS)
{
	account		memory = {"label_change"};
	double		weight = 0.0;
	double		changed = 0.0;
	fc_fit		a;
	fc_fit		b;

	two_fits(fcinfo, &memory, &a, &b);
	for (Size i = 0; i < a.n; i++)
	{
		weight += a.weights[i];
		if (a.labels[i] != b.labels[i])
			changed += a.weights[i];
	}
	PG_RETURN_FLOAT8(weight > 0.0 ? changed / weight : 0.0);
}

/* The rows' weight by label of a and label of b, for match_labels. */
PG_FUNCTION_INFO_V1(fastclust_label_counts);
Datum
fastclust_label_counts(PG_FUNCTION_ARGS)
{
	account		memory = {"label_counts"};
	fc_fit		a;
	fc_fit		b;
	double	   *counts;

	two_fits(fcinfo, &memory, &a, &b);
	hold(&memory, a.k * b.k * sizeof(double));
	if (a.k * b.k > MaxAllocSize / sizeof(double))
		PG_RETURN_NULL();
	counts = palloc0(a.k * b.k * sizeof(double));
	for (Size i = 0; i < a.n; i++)
		counts[(Size) a.labels[i] * b.k + (Size) b.labels[i]] += a.weights[i];
	return make_float8_array(counts, (int) (a.k * b.k));
}

/* (operator, spreads, count, seed): rows drawn from its clusters, as the centroids of another. */
PG_FUNCTION_INFO_V1(fastclust_drawn_rows);
Datum
fastclust_drawn_rows(PG_FUNCTION_ARGS)
{
	account		memory = {"drawn_rows"};
	fc_operator op;
	vector_reader reader = {CurrentMemoryContext};
	vector		spreads = read_vector_argument(fcinfo, &reader, 1, "spreads");
	Size		count = (Size) PG_GETARG_INT32(2);
	double	   *rows;
	double	   *weights;
	double	   *shares;

	open_operator(OPERATOR_ARG(0), &op);
	check_vector_dim(&spreads, op.k, "the operator's clusters");
	check_not_negative("spreads", spreads.doubles, op.k);
	check_count("count", PG_GETARG_INT32(2), 1, FC_MAX_CLUSTERS);
	hold(&memory, (count * (op.d + 1) + op.k) * sizeof(double) + codebook_bytes(count, op.d));
	rows = palloc_extended(count * op.d * sizeof(double), MCXT_ALLOC_HUGE);
	weights = palloc(count * sizeof(double));
	shares = palloc(op.k * sizeof(double));
	for (Size i = 0; i < count; i++)
		weights[i] = 1;
	check_status(fc_operator_draw(&op, spreads.doubles, (uint64) PG_GETARG_INT64(3), count,
								  make_scratch(fc_operator_scratch(&op)), shares, rows));
	PG_RETURN_POINTER(make_codebook_for(op.metric, rows, weights, count, op.d));
}
