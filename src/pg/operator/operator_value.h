/* operator_value.h - the type fastop: reading and making operators */
#ifndef FASTCLUST_OPERATOR_VALUE_H
#define FASTCLUST_OPERATOR_VALUE_H

#include "operator/codebook.h"
#include "pg/base/values.h"

#define OPERATOR_ARG(n) ((fc_operator_header *) aligned_value(PG_GETARG_DATUM(n)))

/*
 * Makes op a view of a serialized operator, which must not be freed as long as
 * op is used.
 */
static inline void
open_operator(const fc_operator_header *header, fc_operator *op)
{
	fc_operator_view(header, op);
}

/*
 * Returns the number of rows above which pruning bounds (fc_operator_prune)
 * save more time than they cost: 1024 for 256 clusters, fewer for more
 * clusters.
 */
static inline Size
pruning_from(Size k)
{
	return Max(256, ((Size) 1 << 18) / k);
}

/*
 * Prepares pruning bounds for an operator's centroids in `context`, if they
 * help and the budget allows. Returns the number of bytes allocated, or 0.
 */
extern Size prune_operator(fc_operator *op, MemoryContext context);

/*
 * Copies the centroids of a codebook into packs of interleaved rows in
 * `context`, which assign single rows faster. Does nothing for an operator that
 * is not a codebook, or if packs do not suit it (fc_operator_pack). Returns the
 * number of bytes allocated.
 */
extern Size pack_operator(fc_operator *op, MemoryContext context);

/*
 * Prepares an operator for more rows. The caller calls it for each row, with
 * the number of rows so far in `uses`. Packs the centroids when
 * MIN_ROWS_FOR_PACKING rows have come (operator_value.c), and prepares pruning
 * bounds when pruning_from(k) rows have come. Returns the number of bytes
 * allocated, or 0.
 */
extern Size prepare_operator(fc_operator *op, Size uses, MemoryContext context);

/*
 * Prepare an operator for many rows; memory is allocated in `context`.
 * slice_operator rearranges sparse factors. expand_operator computes the rows
 * of a product, for functions that compute many distances, if the budget
 * allows. Both return the number of bytes allocated.
 */
extern Size slice_operator(fc_operator *op, MemoryContext context);
extern Size expand_operator(fc_operator *op, fc_scratch scratch, MemoryContext context);

/*
 * Checks an operator that was read from untrusted bytes. Returns FC_EFORMAT if
 * its half norms or error bounds do not match its factors.
 */
extern fc_status verify_operator(const fc_operator *op);

/*
 * Raises the error for a status other than FC_OK; for FC_EFORMAT, the error
 * that factors are too large for floats.
 */
extern void check_operator_status(fc_status status);

/*
 * Returns the serialized operator. Raises an error for an operator that floats
 * cannot represent.
 */
extern fc_operator_header *store_operator(const fc_operator *op);

/*
 * Returns a copy of the serialized operator `header` with the cluster numbers
 * of op. Both have the same number of centroids.
 */
extern fc_operator_header *numbered_as(const fc_operator *op, fc_operator_header *header);

/*
 * Returns the cluster numbers as text for an error, "0 to 4" or "0, 2 to 5"
 * (operator_fn.c).
 */
extern char *listed_numbers(const fc_operator *op);

/*
 * Raises an error if centroids are too small for floats. max: largest absolute
 * value of a coordinate after the offset is subtracted.
 */
extern void check_centroid_size(double max);

/*
 * Return the k x d centroids of an operator. expanded_rows returns floats from
 * which the operator's offset is subtracted. rescaled_centroids returns
 * doubles, multiplied by scale and increased by center; both may be NULL.
 */
extern float *expanded_rows(fc_operator *op);
extern double *rescaled_centroids(const fc_operator *op, const double *center,
								  const double *scale);

/*
 * Returns a serialized Euclidean operator with k x d centroids as its only
 * factor.
 */
extern fc_codebook *make_codebook(const double *centroids, const double *weights, size_t k,
								  size_t d);

/*
 * Returns a serialized operator with k x d centroids for any metric. For the
 * cosine metric they must be unit vectors.
 */
extern fc_codebook *make_codebook_for(fc_metric metric, const double *centroids,
									  const double *weights, size_t k, size_t d);

/*
 * Returns a serialized operator with the centroids of any source, for any
 * metric.
 */
extern fc_codebook *make_codebook_of(fc_metric metric, const fc_centroid_source *centroids,
									 const double *weights);

/*
 * make_unmeasured returns a codebook of rows that may never be used as an
 * operator, so their rounding is not measured (core/operator/codebook.h).
 * operator_of_rows returns the operator from which rows were made. If that is
 * such a codebook, it is measured in place.
 */
extern fc_codebook *make_unmeasured(fc_metric metric, const fc_centroid_source *rows,
									const double *weights);
extern fc_codebook *operator_of_rows(const fc_weighted_rows *rows);

/*
 * Returns the peak memory of make_codebook in bytes, including the result and
 * a copy of it in a tuple.
 */
extern Size codebook_bytes(Size k, Size d);

/* Returns a copy of the operator with another metric, Euclidean or cosine. */
extern fc_operator_header *with_metric(const fc_operator_header *op, fc_metric metric);

/*
 * Attaches the exact centroids of source to op for re-ranking
 * (fc_operator_keep_exact); does nothing if rerank is 0.
 */
extern void attach_exact_centroids(fc_operator *op, const fc_operator *source,
								   uint32 rerank);

/* Any kind of state. */
#define ANY_STATE	-1

#define ANY_STEP	-2			/* any kind of fc_step */

/*
 * Returns the aggregate_state in a datum, detoasted. Raises an error unless
 * its kind is `kind`: a kind of operator/step.h, ANY_STATE or ANY_STEP.
 */
extern void *state_of_datum(Datum datum, int kind);

static inline void *
state_argument(FunctionCallInfo fcinfo, int n, int kind)
{
	return state_of_datum(PG_GETARG_DATUM(n), kind);
}

/*
 * Combine function of aggregate_state: adds the right state to the left one.
 * Both must be fc_steps of the same kind.
 */
extern Datum fastclust_step_combine(PG_FUNCTION_ARGS);

/*
 * Returns the factorisation method with this name. Raises an error if the name
 * is unknown.
 */
extern fc_method method_of_name(const char *name);
extern const char *method_name(uint32 method);

#endif							/* FASTCLUST_OPERATOR_VALUE_H */
