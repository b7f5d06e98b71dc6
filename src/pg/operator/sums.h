/*
 * sums.h - the states of weighted samples and of lloyd_step_agg, which
 * pg/train keeps with others
 */
#ifndef FASTCLUST_SUMS_H
#define FASTCLUST_SUMS_H

#include "fmgr.h"

#include "operator/coreset.h"
#include "operator/step.h"
#include "pg/base/memory.h"

/*
 * ---- samples (operator/coreset.h) ----
 *
 * They are made in the current context, for an aggregate.
 */

typedef struct coreset_plan
{
	int32		size;
	double	   *center;			/* d, NULL: a uniform sample */
	double		variance;
	uint64		seed;
	double		limit;			/* INFINITY: none */
} coreset_plan;

/* The error of a number out of its range. */
extern void check_coreset_plan(const coreset_plan *plan);

/* Without rows, with room for so many at least. */
extern fc_coreset *new_coreset(FunctionCallInfo fcinfo, const coreset_plan *plan, Size d,
							   fc_metric metric, Size rows);

/* The state with all of another one: itself, or a larger copy. */
extern fc_coreset *combined_coresets(FunctionCallInfo fcinfo, fc_coreset *left,
									 const fc_coreset *right);

/* A copy with another capacity, an even number. */
extern fc_coreset *coreset_with_room(FunctionCallInfo fcinfo,
									 const fc_coreset *state, Size capacity);

/* The sample's rows, by rank, as centroids. */
extern fc_codebook *centroids_of_coreset(const fc_coreset *state,
										 memory_account *memory);

/*
 * Capacities: the most that a sample of so many rows needs, one row more than
 * that; the least of a state.
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

/* A state of no rows, in which none waits, beside `kept` bytes. */
extern fc_step *new_lloyd_step(FunctionCallInfo fcinfo, Size kept, const fc_operator *op,
							   const fc_operator_header *header);

/* left += right */
extern void add_step(fc_step *left, const fc_step *right);

/*
 * The means of the clusters; where nobody came, the centroid stays. The result
 * has no sums.
 */
extern fc_operator_header *finish_lloyd(const fc_step *step, fc_step_result *result);

#endif							/* FASTCLUST_SUMS_H */
