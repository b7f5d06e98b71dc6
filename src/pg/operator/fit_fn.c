/*
 * fit_fn.c - weighted rows kept as the centroids of an operator: their
 * moments, their units, how well another operator fits them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "operator/coreset.h"
#include "operator/mixture.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"

/* ---- rows ---- */

double
limit_of_ranks(const fc_operator_header *header, const double *center,
			   double variance, double share)
{
	memory_account memory = {"a sample of shards"};
	fc_operator op;
	fc_scratch	scratch;
	double	   *row;
	double	   *importances;
	double		limit;

	open_operator(header, &op);
	hold(&memory, (op.k + op.d) * sizeof(double));
	scratch = make_scratch(fc_operator_scratch(&op));
	row = palloc(op.d * sizeof(double));
	importances = alloc_large(op.k * sizeof(double));
	for (Size j = 0; j < op.k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_operator_row(&op, j, scratch, row);
		importances[j] = fc_coreset_importance(row, center, variance, op.d);
	}
	fc_coreset_limit(importances, op.weights, op.k, share, &limit);
	pfree(importances);
	pfree(row);
	pfree(scratch.floats);
	return limit;
}

void
moments_of_rows(const fc_operator_header *header, double *mean,
				double *deviation)
{
	fc_operator op;
	fc_scratch	scratch;
	double	   *row;
	double		weight = 0.0;

	open_operator(header, &op);
	scratch = make_scratch(fc_operator_scratch(&op));
	row = palloc(op.d * sizeof(double));
	memset(mean, 0, op.d * sizeof(double));
	memset(deviation, 0, op.d * sizeof(double));
	for (Size j = 0; j < op.k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		weight += op.weights[j];
		fc_operator_row(&op, j, scratch, row);
		/* Welford 1962, West 1979 */
		for (Size i = 0; i < op.d && op.weights[j] > 0.0; i++)
		{
			double		change = row[i] - mean[i];

			mean[i] += change * op.weights[j] / weight;
			deviation[i] += op.weights[j] * change * (row[i] - mean[i]);
		}
	}
	for (Size i = 0; i < op.d; i++)
		deviation[i] = weight > 0.0 ? sqrt(deviation[i] / weight) : 0.0;
	pfree(row);
	pfree(scratch.floats);
}

typedef struct moved_rows
{
	fc_operator op;
	units		from;
	units		to;
	fc_scratch	scratch;
	double	   *row;
} moved_rows;

static const double *
moved_row(void *place, size_t j)
{
	const moved_rows *rows = place;
	double	   *row = rows->row;

	fc_operator_row(&rows->op, j, rows->scratch, row);
	for (Size i = 0; i < rows->op.d; i++)
	{
		double		own = ((rows->from.center ? rows->from.center[i] : 0.0) +
						   (rows->from.scale ? rows->from.scale[i] : 1.0) * row[i]);

		row[i] = (own - (rows->to.center ? rows->to.center[i] : 0.0)) /
			(rows->to.scale ? rows->to.scale[i] : 1.0);
	}
	return row;
}

fc_operator_header *
rows_in_units(const fc_operator_header *header, units from, units to)
{
	memory_account memory = {"rows in units"};
	moved_rows	rows = {.from = from,.to = to};
	bool		moved = from.center || from.scale || to.center || to.scale;
	fc_centroid_source source = {.row = moved_row,.place = &rows};
	fc_operator_header *result;

	open_operator(header, &rows.op);
	if (!moved && fc_operator_is_codebook(&rows.op) &&
		rows.op.exact.values == NULL)
		return (fc_operator_header *) header;
	hold(&memory, codebook_bytes(rows.op.k, rows.op.d));
	rows.scratch = make_scratch(fc_operator_scratch(&rows.op));
	rows.row = palloc(rows.op.d * sizeof(double));
	source.k = rows.op.k;
	source.d = rows.op.d;
	result = make_codebook_of(moved ? FC_EUCLIDEAN : rows.op.metric, &source,
							  rows.op.weights);
	pfree(rows.row);
	pfree(rows.scratch.floats);
	return numbered_as(&rows.op, result);
}

/* (op, center, scale, new_center, new_scale); NULL is 0 or 1. */
PG_FUNCTION_INFO_V1(fastclust_operator_in_units);
Datum
fastclust_operator_in_units(PG_FUNCTION_ARGS)
{
	const fc_operator_header *op;
	units		from;
	units		to;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	op = OPERATOR_ARG(0);
	from.center = numbers_argument(fcinfo, 1, op->d, "center");
	from.scale = numbers_argument(fcinfo, 2, op->d, "scale");
	to.center = numbers_argument(fcinfo, 3, op->d, "center");
	to.scale = numbers_argument(fcinfo, 4, op->d, "scale");
	PG_RETURN_POINTER(rows_in_units(op, from, to));
}

/* ---- fit ---- */

/*
 * Labels and squared distances of the rows by op; the memory stays held by the
 * account.
 */
static fc_fit
fit_rows(const fc_operator_header *header, const fc_operator_header *row_header,
		 memory_account *memory)
{
	fc_operator op;
	fc_operator rows;
	fc_scratch	scratch;
	int32_t    *labels;
	double	   *squares;
	double	   *batch;

	open_operator(header, &op);
	open_operator(row_header, &rows);
	check_same_dim((int32) op.d, (int32) rows.d);
	if (rows.k > screened_from(op.k))
		(void) screen_operator(&op, CurrentMemoryContext);
	hold(memory, rows.k * (sizeof(int32) + sizeof(double)) +
		 fc_fit_scratch(&op, &rows) * sizeof(float) +
		 FC_FIT_BATCH * op.d * sizeof(double));
	scratch = make_scratch(fc_fit_scratch(&op, &rows));
	labels = alloc_large(rows.k * sizeof(int32));
	squares = alloc_large(rows.k * sizeof(double));
	batch = alloc_large(FC_FIT_BATCH * op.d * sizeof(double));
	fc_fit_rows(&op, &rows, scratch, batch, labels, squares);
	pfree(batch);
	pfree(scratch.floats);
	return (fc_fit)
	{
		rows.k, fc_operator_labels(&op), rows.weights, labels,
			squares
	};
}

fit_profile
profile_of_fit(const fc_operator_header *op, const fc_operator_header *rows,
			   const double *places, Size count)
{
	memory_account memory = {"the profile of a fit"};
	fc_fit		fit = fit_rows(plain_operator(op), rows, &memory);
	fc_arena	arena = hold_arena(&memory);
	fit_profile profile;

	profile.quantiles = palloc(count * sizeof(double));
	profile.spreads = alloc_large(fit.k * sizeof(double));
	profile.weights = alloc_large(fit.k * sizeof(double));
	fc_fit_means(&fit, &profile.mean, &profile.error, profile.spreads,
				 profile.weights);
	for (Size j = 0; j < fit.k; j++)
		profile.spreads[j] = sqrt(profile.spreads[j] / (double) op->d);
	fc_fit_quantiles(&fit, places, count, &arena, profile.quantiles);
	release_arena(&arena);
	return profile;
}

fc_operator_header *
with_weights(const fc_operator_header *header, const double *weights)
{
	fc_operator op;

	open_operator(header, &op);
	op.weights = weights;
	return store_operator(&op);
}

fc_operator_header *
with_weights_of(const fc_operator_header *header,
				const fc_operator_header *moved)
{
	fc_operator counted;

	open_operator(moved, &counted);
	return with_weights(header, counted.weights);
}

fc_operator_header *
plain_operator(const fc_operator_header *header)
{
	fc_operator op;

	if ((header->flags & (FC_OPERATOR_REGIONS | FC_OPERATOR_NUMBERS)) == 0)
		return (fc_operator_header *) header;
	open_operator(header, &op);
	op.regions = (fc_regions)
	{
		0
	};
	op.number = NULL;
	return store_operator(&op);
}

fc_comparison
compare_fits(const fc_operator_header *op_a, const fc_operator_header *op_b,
			 const fc_operator_header *rows, double trim)
{
	memory_account memory = {"the comparison of two fits"};
	fc_fit		a = fit_rows(op_a, rows, &memory);
	fc_fit		b = fit_rows(op_b, rows, &memory);
	fc_arena	arena = hold_arena(&memory);
	fc_comparison result;

	fc_fit_compare(&a, &b, trim, &arena, &result);
	release_arena(&arena);
	return result;
}

double
gain_of_step(const fc_operator_header *old_header,
			 const fc_operator_header *next_header)
{
	fc_operator old;
	fc_operator next;
	fc_scratch	scratch;
	double	   *a;
	double	   *b;
	double		gain = 0.0;

	open_operator(old_header, &old);
	open_operator(next_header, &next);
	scratch = make_scratch(fc_fit_scratch(&old, &next));
	a = palloc(old.d * sizeof(double));
	b = palloc(old.d * sizeof(double));
	for (Size j = 0; j < Min(old.k, next.k); j++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_operator_row(&old, j, scratch, a);
		fc_operator_row(&next, j, scratch, b);
		gain += next.weights[j] * fc_square_between(a, b, old.d);
	}
	pfree(a);
	pfree(b);
	pfree(scratch.floats);
	return gain;
}

/*
 * ---- labels of the same rows by two operators, each with the rows in its own
 * space ----
 */

two_labellings
label_twice(const fc_operator_header *a, const fc_operator_header *rows_for_a,
			const fc_operator_header *b, const fc_operator_header *rows_for_b)
{
	memory_account memory = {"labels by two operators"};
	two_labellings labels;

	labels.a = fit_rows(a, rows_for_a, &memory);
	labels.b = fit_rows(b, rows_for_b, &memory);
	Assert(labels.a.n == labels.b.n);
	return labels;
}

double
changed_labels(const two_labellings *labels)
{
	double		weight = 0.0;
	double		changed = 0.0;

	for (Size i = 0; i < labels->a.n; i++)
	{
		weight += labels->a.weights[i];
		if (labels->a.labels[i] != labels->b.labels[i])
			changed += labels->a.weights[i];
	}
	return weight > 0.0 ? changed / weight : 0.0;
}

double *
counted_labels(const two_labellings *labels)
{
	Size		k = labels->b.k;
	double	   *counts;

	if (labels->a.k * k > MaxAllocSize / sizeof(double))
		return NULL;
	counts = palloc0(labels->a.k * k * sizeof(double));
	for (Size i = 0; i < labels->a.n; i++)
		if (labels->a.labels[i] >= 0 && labels->b.labels[i] >= 0)
			counts[(Size) labels->a.labels[i] * k +
				   (Size) labels->b.labels[i]] += labels->a.weights[i];
	return counts;
}

/* ---- rows that are not read ---- */

fc_operator_header *
rows_drawn_from(const fc_operator_header *header, const double *spreads,
				Size count, int64 seed)
{
	memory_account memory = {"drawn_rows"};
	fc_operator op;
	double	   *rows;
	double	   *weights;
	double	   *shares;

	open_operator(header, &op);
	check_not_negative("spreads", spreads, op.k);
	hold(&memory, (count * (op.d + 1) + op.k) * sizeof(double) +
		 codebook_bytes(count, op.d));
	rows = alloc_large(count * op.d * sizeof(double));
	weights = palloc(count * sizeof(double));
	shares = palloc(op.k * sizeof(double));
	for (Size i = 0; i < count; i++)
		weights[i] = 1;
	check_status(fc_operator_draw(&op, spreads, (uint64) seed, count,
								  make_scratch(fc_operator_scratch(&op)),
								  shares, rows));
	return make_codebook_for(op.metric, rows, weights, count, op.d);
}
