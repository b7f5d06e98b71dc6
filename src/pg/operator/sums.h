/*
 * sums.h - the states of weighted samples and of lloyd_step_agg, as parts of
 * the state of scan_agg (pg/train)
 */
#ifndef FASTCLUST_SUMS_H
#define FASTCLUST_SUMS_H

#include "fmgr.h"

#include "numerics/weighted_rows.h"
#include "operator/coreset.h"
#include "operator/step.h"
#include "pg/base/memory.h"

/*
 * ---- samples (operator/coreset.h) ----
 *
 * The functions allocate states in CurrentMemoryContext. An aggregate must
 * switch to its own memory context before it calls them.
 */

/*
 * Returns the weight in an argument, or 1 if the function has fewer arguments.
 * Raises an error if it is NULL, negative, or above `max`.
 */
extern double sum_weight_argument(FunctionCallInfo fcinfo, int argument, double max);

typedef struct coreset_plan
{
	int32		size;			/* number of rows of the sample */
	double	   *center;			/* d values; NULL for a uniform sample */
	double		variance;		/* mean squared distance of rows to the center */
	uint64		seed;
	double		limit;			/* exclusive upper limit of ranks; INFINITY
								 * for no limit */
	bool		weighted;		/* true if rows have weights */
} coreset_plan;

/* Raises an error if a parameter of the plan is out of range. */
extern void check_coreset_plan(const coreset_plan *plan);

/*
 * Returns a state without rows that has room for `rows` rows, or for a full
 * sample if that is less.
 */
extern fc_coreset *new_coreset(FunctionCallInfo fcinfo, const coreset_plan *plan, Size d,
							   fc_metric metric, Size rows);

/*
 * Adds the rows of the right state to the left one; returns left, or a larger
 * copy of it.
 */
extern fc_coreset *combined_coresets(FunctionCallInfo fcinfo, fc_coreset *left,
									 const fc_coreset *right);

/*
 * Returns a copy of the state with another capacity, an even number of rows.
 * elements: maximum number of elements of a sparse row in the copy; 0: its
 * rows are dense (core/operator/coreset.h).
 */
extern fc_coreset *coreset_with_capacity(FunctionCallInfo fcinfo, const fc_coreset *state,
										 Size elements, Size capacity);

/*
 * Returns the rows of the sample in ascending order of rank. Missing values
 * are replaced by `fill`, which has d values or is NULL for zeros. They are
 * flagged in `missing` of the result.
 */
extern fc_weighted_rows *rows_of_coreset(const fc_coreset *state, const double *fill,
										 memory_account *memory);

/*
 * full_coreset returns the capacity of a full sample of `size` rows, which
 * stores one more row. packed_coreset returns the smallest capacity for the
 * stored rows. Capacities are always even.
 */
static inline Size
full_coreset(Size size)
{
	return (size + 2) / 2 * 2;
}

static inline Size
packed_coreset(const fc_coreset *state)
{
	return ((Size) state->used + 1) / 2 * 2;
}

/* ---- sums of Lloyd's steps (operator/step.h) ---- */

/*
 * Returns a state without rows that assigns each row immediately. kept: size
 * in bytes of memory of the caller that also counts against the budget.
 */
extern fc_step *new_lloyd_step(FunctionCallInfo fcinfo, Size kept, const fc_operator *op,
							   const fc_operator_header *header);

/* Computes left += right; different operators are an error. */
extern void add_step(fc_step *left, const fc_step *right);

/*
 * Returns an operator whose centroids are the cluster means. A cluster without
 * rows keeps its centroid. Fills *result, whose sums are already freed and must
 * not be read.
 */
extern fc_operator_header *finish_lloyd(const fc_step *step, fc_step_result *result);

#endif							/* FASTCLUST_SUMS_H */
