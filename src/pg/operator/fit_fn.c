/*
 * fit_fn.c - weighted rows: conversion from and to operators, changes of their
 * scaling, and the fit of an operator to the rows.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "operator/coreset.h"
#include "operator/mixture.h"
#include "operator/partial.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"

/* ---- rows ---- */

fc_weighted_rows *
rows_of_operator(const fc_operator_header *centroids)
{
	fc_weighted_rows *rows = palloc(sizeof(fc_weighted_rows));
	fc_operator op;

	open_operator(centroids, &op);
	*rows = fc_rows_of_codebook(&op);
	rows->storage = centroids;
	if (!fc_operator_is_codebook(&op))
	{
		check_budget(op.k * op.d * sizeof(float), "the product of the factors");
		rows->values = expanded_rows(&op);
	}
	return rows;
}

double *
numbers_of_rows(const fc_weighted_rows *rows)
{
	Size		bytes = rows->n * rows->d * sizeof(double);
	double	   *numbers;

	check_budget(bytes, "converting rows to double precision");
	numbers = alloc_large(bytes);
	for (Size i = 0; i < rows->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_weighted_row(rows, i, numbers + i * rows->d);
	}
	return numbers;
}

fc_codebook *
chosen_rows(const fc_weighted_rows *rows, const bool *chosen)
{
	double	   *x = numbers_of_rows(rows);
	double	   *weights = alloc_large(rows->n * sizeof(double));
	Size		count = 0;

	for (Size i = 0; i < rows->n; i++)
		if (chosen[i])
		{
			memmove(x + count * rows->d, x + i * rows->d,
					rows->d * sizeof(double));
			weights[count++] = rows->weights[i];
		}
	return count == 0 ? NULL
		: make_codebook_for(rows->metric, x, weights, count, rows->d);
}

double *
importances_of_rows(const fc_weighted_rows *rows, const double *center,
					double variance)
{
	double	   *row = palloc(rows->d * sizeof(double));
	double	   *importances = alloc_large(rows->n * sizeof(double));

	for (Size i = 0; i < rows->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_weighted_row(rows, i, row);
		importances[i] = fc_coreset_importance(row, center, variance, rows->d);
	}
	pfree(row);
	return importances;
}

double
limit_of_ranks(const fc_weighted_rows *rows, const double *center,
			   double variance, double share)
{
	memory_account memory = {"a sample of shards"};
	double	   *importances;
	double		limit;

	charge_memory(&memory, (rows->n + rows->d) * sizeof(double));
	importances = importances_of_rows(rows, center, variance);
	fc_coreset_limit(importances, rows->weights, rows->n, share, &limit);
	pfree(importances);
	return limit;
}

typedef struct moved_rows
{
	const fc_weighted_rows *rows;
	scaling		from;
	scaling		to;
	double	   *row;
} moved_rows;

static const double *
moved_row(void *place, size_t i)
{
	const moved_rows *moved = place;
	double	   *row = moved->row;

	fc_weighted_row(moved->rows, i, row);
	for (Size c = 0; c < moved->rows->d; c++)
	{
		double		own = ((moved->from.center ? moved->from.center[c] : 0.0) +
						   (moved->from.scale ? moved->from.scale[c] : 1.0) * row[c]);

		row[c] = (own - (moved->to.center ? moved->to.center[c] : 0.0)) /
			(moved->to.scale ? moved->to.scale[c] : 1.0);
	}
	return row;
}

static bool
scalings_differ(scaling from, scaling to)
{
	return from.center || from.scale || to.center || to.scale;
}

/*
 * Converts rows from one scaling to another and returns them as a codebook.
 * The metric of the codebook is Euclidean if any scaling applies, because
 * cosines depend on the scaling.
 */
static fc_codebook *
move_rows(const fc_weighted_rows *rows, scaling from, scaling to)
{
	memory_account memory = {"scaling the rows of a sample"};
	moved_rows	moved = {rows, from, to};
	fc_centroid_source source = {
		.k = rows->n,
		.d = rows->d,
		.row = moved_row,
		.place = &moved
	};
	fc_operator_header *result;

	charge_memory(&memory, codebook_bytes(rows->n, rows->d));
	moved.row = palloc(rows->d * sizeof(double));
	result = make_codebook_of(scalings_differ(from, to) ? FC_EUCLIDEAN : rows->metric,
							  &source, rows->weights);
	pfree(moved.row);
	return result;
}

const fc_weighted_rows *
rescaled_rows(const fc_weighted_rows *rows, scaling from, scaling to)
{
	fc_weighted_rows *moved;

	if (!scalings_differ(from, to))
		return rows;
	moved = rows_of_operator(move_rows(rows, from, to));
	moved->missing = rows->missing;
	return moved;
}

typedef struct filled_row
{
	const fc_weighted_rows *rows;
	const fc_operator *op;
	int32	   *labels;			/* n values: nearest centroid of each row with
								 * missing values */
	double	   *row;
} filled_row;

static const double *
read_filled_row(void *place, size_t i)
{
	const filled_row *filled = place;

	if (fc_weighted_partial_row(filled->rows, i, filled->row))
		fc_partial_fill(filled->op, (size_t) filled->labels[i], filled->row);
	return filled->row;
}

/* Sets filled->labels for the rows with missing values. */
static void
label_partial_rows(filled_row *filled, fc_operator *op)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext work = AllocSetContextCreate(old, "fastclust partial rows",
											   ALLOCSET_DEFAULT_SIZES);
	fc_scratch	scratch;

	MemoryContextSwitchTo(work);
	if (filled->rows->n > pruning_from(op->k))
		(void) prune_operator(op, work);
	(void) pack_operator(op, work);
	scratch = make_scratch(fc_partial_scratch(op));
	for (Size i = 0; i < filled->rows->n; i++)
		if (fc_weighted_partial_row(filled->rows, i, filled->row))
			filled->labels[i] = (int32) fc_partial_assign(op, filled->row, scratch);
	op->packs = NULL;
	op->pruning = NULL;
	op->kdtree = NULL;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

const fc_weighted_rows *
rows_filled_by(const fc_operator_header *header, const fc_weighted_rows *rows)
{
	memory_account memory = {"filling the NULLs of a sample"};
	fc_operator op;
	filled_row	filled = {rows, &op};
	fc_centroid_source source = {
		.k = rows->n,
		.d = rows->d,
		.row = read_filled_row,
		.place = &filled
	};
	fc_weighted_rows *result;

	open_operator(header, &op);
	if (rows->missing == NULL || !fc_partial_suits(&op))
		return rows;
	charge_memory(&memory, codebook_bytes(rows->n, rows->d) + rows->n * sizeof(int32) +
				  fc_partial_scratch(&op) * sizeof(float));
	filled.labels = alloc_large(rows->n * sizeof(int32));
	filled.row = palloc(rows->d * sizeof(double));
	label_partial_rows(&filled, &op);
	result = rows_of_operator(make_codebook_of(rows->metric, &source, rows->weights));
	pfree(filled.row);
	pfree(filled.labels);
	return result;
}

fc_operator_header *
rescaled_operator(const fc_operator_header *header, scaling from, scaling to)
{
	fc_operator op;

	open_operator(header, &op);
	if (!scalings_differ(from, to) && fc_operator_is_codebook(&op) &&
		op.exact.values == NULL)
		return (fc_operator_header *) header;
	return numbered_as(&op, move_rows(rows_of_operator(header), from, to));
}

/*
 * Takes (op, center, scale, new_center, new_scale) and returns the operator in
 * the new scaling. A NULL center counts as 0, a NULL scale as 1.
 */
PG_FUNCTION_INFO_V1(fastclust_rescaled_operator);
Datum
fastclust_rescaled_operator(PG_FUNCTION_ARGS)
{
	const fc_operator_header *op;
	scaling		from;
	scaling		to;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	op = OPERATOR_ARG(0);
	from.center = numbers_argument(fcinfo, 1, op->d, "center");
	from.scale = numbers_argument(fcinfo, 2, op->d, "scale");
	to.center = numbers_argument(fcinfo, 3, op->d, "center");
	to.scale = numbers_argument(fcinfo, 4, op->d, "scale");
	PG_RETURN_POINTER(rescaled_operator(op, from, to));
}

/* ---- fit ---- */

/*
 * Returns d / number of observed values of each row; NULL if no value is
 * missing.
 */
static double *
factors_of_rows(const fc_weighted_rows *rows)
{
	double	   *factors;

	if (rows->missing == NULL)
		return NULL;
	factors = alloc_large(rows->n * sizeof(double));
	for (Size i = 0; i < rows->n; i++)
	{
		Size		observed = 0;

		for (Size c = 0; c < rows->d; c++)
			observed += !fc_is_missing(rows, i, c);
		factors[i] = (double) rows->d / (double) Max(1, observed);
	}
	return factors;
}

/*
 * Labels the rows by an operator and returns the labels and the squared
 * distances. The memory of the result remains charged to the account.
 */
static fc_fit
fit_rows(const fc_operator_header *header, const fc_weighted_rows *rows,
		 memory_account *memory)
{
	fc_operator op;
	fc_scratch	scratch;
	int32_t    *labels;
	double	   *squares;
	double	   *batch;

	open_operator(header, &op);
	check_same_dim((int32) op.d, (int32) rows->d);
	if (rows->n > pruning_from(op.k))
		(void) prune_operator(&op, CurrentMemoryContext);
	if (rows->missing != NULL)
		(void) pack_operator(&op, CurrentMemoryContext);
	charge_memory(memory, rows->n * (sizeof(int32) + 3 * sizeof(double)) +
				  fc_fit_scratch(&op) * sizeof(float) +
				  FC_FIT_BATCH * op.d * sizeof(double));
	scratch = make_scratch(fc_fit_scratch(&op));
	labels = alloc_large(rows->n * sizeof(int32));
	squares = alloc_large(rows->n * sizeof(double));
	batch = alloc_large(FC_FIT_BATCH * op.d * sizeof(double));
	fc_fit_rows(&op, rows, scratch, batch, labels, squares);
	pfree(batch);
	pfree(scratch.floats);
	return (fc_fit)
	{
		rows->n, fc_operator_labels(&op), rows->weights, labels,
			squares, factors_of_rows(rows), rows->counts
	};
}

/*
 * Returns the fit with the squares of relative distances (mixture.h) in place
 * of the squared distances.
 */
static fc_fit
relative_fit(const fc_operator_header *header, const fc_fit *fit,
			 const fit_profile *profile)
{
	double		common = fc_common_square(profile->weights, profile->spreads, fit->k);
	double	   *squares = alloc_large(fit->n * sizeof(double));
	fc_fit		relative = *fit;
	fc_operator op;

	open_operator(header, &op);
	for (Size i = 0; i < fit->n; i++)
	{
		Size		j = (Size) fit->labels[i];
		double		distance = fc_relative_distance(&op, j, profile->weights[j],
													profile->spreads[j], common,
													fc_fit_square(fit, i));

		squares[i] = distance * distance;
	}
	relative.squares = squares;
	relative.factors = NULL;
	return relative;
}

fit_profile
profile_of_fit(const fc_operator_header *op, const fc_weighted_rows *rows,
			   const double *places, Size count)
{
	memory_account memory = {"the profile of a fit"};
	fc_fit		fit = fit_rows(plain_operator(op), rows, &memory);
	fc_arena	arena = charged_arena(&memory);
	fit_profile profile;

	profile.quantiles = palloc(count * sizeof(double));
	profile.spreads = alloc_large(fit.k * sizeof(double));
	profile.weights = alloc_large(fit.k * sizeof(double));
	fc_fit_means(&fit, &profile.mean, &profile.error, profile.spreads,
				 profile.weights);
	for (Size j = 0; j < fit.k; j++)
		profile.spreads[j] = sqrt(profile.spreads[j] / (double) op->d);
	if (count > 0)
	{
		const fc_fit relative = relative_fit(op, &fit, &profile);

		fc_fit_quantiles(&relative, places, count, &arena, profile.quantiles);
	}
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
with_weights_times(const fc_operator_header *header, double factor)
{
	fc_operator op;
	double	   *weights;

	open_operator(header, &op);
	weights = palloc(op.k * sizeof(double));
	for (Size j = 0; j < op.k; j++)
		weights[j] = op.weights[j] * factor;
	return with_weights(header, weights);
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
			 const fc_weighted_rows *rows, double trim)
{
	memory_account memory = {"the comparison of two fits"};
	fc_fit		a = fit_rows(op_a, rows, &memory);
	fc_fit		b = fit_rows(op_b, rows, &memory);
	fc_arena	arena = charged_arena(&memory);
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
	scratch = make_scratch(Max(fc_operator_scratch(&old),
							   fc_operator_scratch(&next)));
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
 * ---- labels of the same rows by two operators ----
 *
 * Each operator has its own copy of the rows, scaled and mapped to the input
 * of that operator.
 */

two_labellings
label_twice(const fc_operator_header *a, const fc_weighted_rows *rows_for_a,
			const fc_operator_header *b, const fc_weighted_rows *rows_for_b)
{
	memory_account memory = {"comparing the labels of two operators"};
	two_labellings labels;

	labels.a = fit_rows(a, rows_for_a, &memory);
	labels.b = fit_rows(b, rows_for_b, &memory);
	Assert(labels.a.n == labels.b.n);
	return labels;
}

static inline int32
number_of_label(int32 label, const int32 *numbers)
{
	return label < 0 ? -1 : numbers[label];
}

double
changed_labels(const two_labellings *labels, const int32 *number_a, const int32 *number_b)
{
	double		weight = 0.0;
	double		changed = 0.0;

	for (Size i = 0; i < labels->a.n; i++)
	{
		weight += labels->a.weights[i];
		if (number_of_label(labels->a.labels[i], number_a) !=
			number_of_label(labels->b.labels[i], number_b))
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

/* ---- rows drawn at random ---- */

fc_weighted_rows *
rows_drawn_from(const fc_operator_header *header, const double *spreads,
				Size count, int64 seed)
{
	memory_account memory = {"drawing rows"};
	fc_operator op;
	double	   *rows;
	double	   *weights;
	double	   *shares;

	open_operator(header, &op);
	check_not_negative("spreads", spreads, op.k);
	charge_memory(&memory, (count * (op.d + 1) + op.k) * sizeof(double) +
				  codebook_bytes(count, op.d));
	rows = alloc_large(count * op.d * sizeof(double));
	weights = palloc(count * sizeof(double));
	shares = palloc(op.k * sizeof(double));
	for (Size i = 0; i < count; i++)
		weights[i] = 1;
	check_status(fc_operator_draw(&op, spreads, (uint64) seed, count,
								  make_scratch(fc_operator_scratch(&op)),
								  shares, rows));
	return rows_of_operator(make_codebook_for(op.metric, rows, weights, count,
											  op.d));
}
