/* operator_value.h - the type fastop: reading it, making it */
#ifndef FASTCLUST_OPERATOR_VALUE_H
#define FASTCLUST_OPERATOR_VALUE_H

#include "operator/codebook.h"
#include "pg/base/values.h"

#define OPERATOR_ARG(n) ((fc_operator_header *) aligned_value(PG_GETARG_DATUM(n)))

/*
 * A view of a stored operator whose long work on a row lets the server cancel.
 */
static inline void
open_operator(const fc_operator_header *header, fc_operator *op)
{
	fc_operator_view(header, op);
}

/*
 * Rows of k clusters after which a screen is worth its making
 * (fc_operator_screen): 1000 of 256 clusters, fewer of more.
 */
static inline Size
screened_from(Size k)
{
	return Max(256, ((Size) 1 << 18) / k);
}

/*
 * A screen of an operator's centroids in memory of `context`, where there is
 * something to gain and the budget allows: the bytes it takes, or 0.
 */
extern Size screen_operator(fc_operator *op, MemoryContext context);

/*
 * The forms that make single rows faster after many calls: packed rows, or a
 * screen. The same.
 */
extern Size
			prepare_operator(fc_operator *op, Size asked, MemoryContext context);

/*
 * Made once for many rows, in memory of `context`: sparse factors rearranged;
 * the rows of a product, ready for many distances, where the budget allows.
 * The bytes it takes.
 */
extern Size slice_operator(fc_operator *op, MemoryContext context);
extern Size
			expand_operator(fc_operator *op, fc_scratch scratch, MemoryContext context);

/*
 * FC_EFORMAT if the half norms or residuals of untrusted bytes do not fit
 * their operator.
 */
extern fc_status verify_operator(const fc_operator *op);

/* check_status, for which FC_EFORMAT means factors that floats cannot hold. */
extern void check_operator_status(fc_status status);

/* The stored form of an operator whose parts are all given. */
extern fc_operator_header *store_operator(const fc_operator *op);

/* An operator of as many rows with the numbers that clusters of op have. */
extern fc_operator_header *numbered_as(const fc_operator *op, fc_operator_header *header);

/*
 * The numbers of the clusters for an error: "0 to 4", "0, 2 to 5"
 * (operator_fn.c).
 */
extern char *listed_numbers(const fc_operator *op);

/*
 * Centroids as large as `most` (absolute, from the offset) that floats would
 * lose are an error.
 */
extern void check_centroid_size(double most);

/*
 * The centroids of an operator (k x d) as floats about its offset; and in
 * doubles times scale plus center, which may be NULL.
 */
extern float *expanded_rows(fc_operator *op);
extern double *centroids_in_units(const fc_operator *op, const double *center,
								  const double *scale);

/* A stored operator of one dense factor from k x d centroids. */
extern fc_codebook *make_codebook(const double *centroids, const double *weights, size_t k,
								  size_t d);

/* The same of any metric; centroids of cosines are unit vectors. */
extern fc_codebook *make_codebook_for(fc_metric metric, const double *centroids,
									  const double *weights, size_t k, size_t d);

/* The same of centroids that lie anywhere. */
extern fc_codebook *make_codebook_of(fc_metric metric, const fc_centroid_source *centroids,
									 const double *weights);

/*
 * Bytes that make_codebook takes at its peak, with its result and a copy of it
 * in a row.
 */
extern Size codebook_bytes(Size k, Size d);

/* The same clusters by a metric that has means. */
extern fc_operator_header *with_metric(const fc_operator_header *op, fc_metric metric);

/*
 * op with the exact centroids of source beside it (fc_operator_attach_exact);
 * rerank 0: without.
 */
extern void attach_exact_centroids(fc_operator *op, const fc_operator *source,
								   uint32 rerank);

#define ANY_STATE	-1
#define ANY_STEP	-2			/* of a kind that is a fc_step */

/*
 * An aggregate_state of a kind of operator/step.h, which begins as fc_step
 * does; another kind is an error.
 */
extern void *state_of_datum(Datum datum, int kind);

static inline void *
state_argument(FunctionCallInfo fcinfo, int n, int kind)
{
	return state_of_datum(PG_GETARG_DATUM(n), kind);
}

/*
 * Transition functions that add one aggregate_state to another of their kind.
 */
extern Datum fastclust_step_combine(PG_FUNCTION_ARGS);
extern Datum fastclust_contingency_combine(PG_FUNCTION_ARGS);

/* A method of factorisation by its name; another name is an error. */
extern fc_method method_of_name(const char *name);
extern const char *method_name(uint32 method);

#endif							/* FASTCLUST_OPERATOR_VALUE_H */
