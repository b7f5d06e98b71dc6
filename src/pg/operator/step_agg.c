/*
 * step_agg.c - aggregates over rows assigned to an operator: lloyd_step_agg,
 * sse_agg, simplified_silhouette_agg, davies_bouldin_agg.
 *
 * The state is a single varlena value (type aggregate_state), which is updated
 * in place. It contains the operator, and a buffer of rows that are assigned
 * in batches. Lloyd sums that are too large for a varlena value have the same
 * layout, but are in the memory of the aggregate (lloyd_large_agg), so that
 * only one process can compute them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/memutils.h"

#include "pg/base/call_cache.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sums.h"

/* ---- memory ---- */

/*
 * Returns the peak memory in bytes of the final function for k x d centroids,
 * excluding its scratch space.
 */
static Size
final_bytes(int kind, Size k, Size d)
{
	Size		arrays = k * (sizeof(int64) + sizeof(double));
	Size		matrix = k * d * sizeof(double);

	switch (kind)
	{
		case FC_STEP_LLOYD:
			return arrays + matrix + codebook_bytes(k, d);
		case FC_STEP_DAVIES_BOULDIN:
			return arrays + k * sizeof(double) + matrix;
		default:
			return arrays;
	}
}

/*
 * Allocates a state without rows. Raises an error if the memory budget is
 * smaller than the sum of the state, `kept` bytes of the call site, scratch
 * space, and the larger of two sizes: the executor's copy of the state, or the
 * memory of the final function.
 */
static fc_step *
new_step(FunctionCallInfo fcinfo, int kind, bool large, Size capacity,
		 Size kept, const fc_operator *op, const fc_operator_header *header)
{
	Size		operator_size = fc_operator_size(op);
	Size		size = fc_step_size(kind, header, operator_size, capacity);
	Size		scratch = fc_step_scratch(op, capacity) * sizeof(float);
	fc_step    *step;

	check_budget(size + kept + scratch +
				 Max(large ? 0 : size,
					 scratch + final_bytes(kind, op->k, op->d)),
				 aggregate_name(fcinfo));
	if (!large &&
		size / 1024 >= (Size) (kind == FC_STEP_LLOYD ? fastclust_largest_state
							   : MaxAllocSize / 1024))
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("the aggregate's state of %zu bytes is too large", size),
				errdetail("The state is for %zu clusters in %zu dimensions; a value cannot exceed 1 GB.",
						  op->k, op->d),
				errhint("Use fewer clusters or dimensions, or train with the option \"iterations\": 0, which leaves out the scans. Training by k-means on a local table without groups has no such limit."));
	step = large ? alloc_large_in(aggregate_context(fcinfo), size)
		: palloc(size);
	fc_step_init(kind, header, operator_size, capacity, step);
	if (!large)
		SET_VARSIZE(step, size);
	return step;
}

fc_step *
new_lloyd_step(FunctionCallInfo fcinfo, Size kept, const fc_operator *op,
			   const fc_operator_header *header)
{
	return new_step(fcinfo, FC_STEP_LLOYD, false, 1, kept, op, header);
}

/* ---- transition ---- */

double
sum_weight_argument(FunctionCallInfo fcinfo, int argument, double max)
{
	double		weight = weight_argument(fcinfo, argument);

	if (weight > max)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("weight %g is too large", weight),
				errdetail("The maximum is %g.", max),
				errhint("Multiply all weights by the same constant; centroids do not depend on it."));
	return weight;
}

/*
 * Returns the row in argument 2. If the metric is cosine, the row has length
 * 1, or NULL is returned for a zero vector.
 */
static const double *
row_argument(FunctionCallInfo fcinfo, const fc_operator *op)
{
	vector		v = read_vector_argument(fcinfo, cached_reader(fcinfo), 2, "x");

	check_vector_dim(&v, op->d, "op");
	check_single_precision(&v);
	return metric_row(op->metric, &v, cached_doubles(fcinfo, op->d));
}

/* Returns the state in argument 0, or a new one at the first row. */
static fc_step *
current_step(FunctionCallInfo fcinfo, int kind, bool large,
			 const fc_operator *op, const fc_operator_header *header)
{
	if (PG_ARGISNULL(0))
		return new_step(fcinfo, kind, large, fc_step_capacity(op),
						cached_bytes(fcinfo), op, header);
	return large ? (fc_step *) PG_GETARG_POINTER(0)
		: state_argument(fcinfo, 0, kind);
}

/*
 * Implements the transition functions (state, operator, x [, weight]). large:
 * the state is in the memory of the aggregate, and is not a value of type
 * aggregate_state.
 */
static Datum
accumulate(FunctionCallInfo fcinfo, int kind, bool large)
{
	const fc_operator_header *header;
	const fc_operator *op;
	fc_step    *step;
	const fc_sparse_row *elements = NULL;
	sparse_outcome outcome = SPARSE_UNKNOWN;
	const double *x = NULL;
	double		weight;
	size_t		cluster;

	aggregate_context(fcinfo);
	require_argument(fcinfo, 1, "op");
	if (PG_ARGISNULL(2))
		return unchanged_state(fcinfo);
	op = cached_expanded_operator(fcinfo, 1, &header);
	check_metric_has_means(op->metric);
	if (!fc_step_sums_scores(kind))
		outcome = cached_sparse_label(fcinfo, 2, &cluster);
	if (outcome == SPARSE_UNKNOWN)
		x = row_argument(fcinfo, op);
	else if (outcome == SPARSE_KNOWN)
		x = cached_sparse_row(fcinfo, &elements);
	if (x == NULL)
		return unchanged_state(fcinfo);
	step = current_step(fcinfo, kind, large, op, header);
	if (memcmp(((fc_operator_header *) (step + 1))->digest, header->digest,
			   sizeof(header->digest)) != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("op must be the same for all rows"),
				errhint("Give it as a scalar subquery, or GROUP BY it."));
	weight = sum_weight_argument(fcinfo, 3, FC_STEP_MAX_WEIGHT);
	if (outcome == SPARSE_KNOWN)
		fc_step_add_labelled(step, op, cluster, x, elements, NAN, weight,
							 cached_scratch(fcinfo,
											fc_step_scratch(op,
															step->capacity)));
	else
		fc_step_add(step, op, x, weight,
					cached_scratch(fcinfo,
								   fc_step_scratch(op, step->capacity)));
	report_progress_of_rows();
	PG_RETURN_POINTER(step);
}

PG_FUNCTION_INFO_V1(fastclust_lloyd_accum);
Datum
fastclust_lloyd_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, FC_STEP_LLOYD, false);
}

PG_FUNCTION_INFO_V1(fastclust_lloyd_accum_kept);
Datum
fastclust_lloyd_accum_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_lloyd_accum(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_sse_accum);
Datum
fastclust_sse_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, FC_STEP_SSE, false);
}

PG_FUNCTION_INFO_V1(fastclust_sse_accum_kept);
Datum
fastclust_sse_accum_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_sse_accum(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_silhouette_accum);
Datum
fastclust_silhouette_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, FC_STEP_SILHOUETTE, false);
}

PG_FUNCTION_INFO_V1(fastclust_silhouette_accum_kept);
Datum
fastclust_silhouette_accum_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_silhouette_accum(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_davies_bouldin_accum);
Datum
fastclust_davies_bouldin_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, FC_STEP_DAVIES_BOULDIN, false);
}

PG_FUNCTION_INFO_V1(fastclust_davies_bouldin_accum_kept);
Datum
fastclust_davies_bouldin_accum_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_davies_bouldin_accum(fcinfo));
}

PG_FUNCTION_INFO_V1(fastclust_lloyd_large_accum);
Datum
fastclust_lloyd_large_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, FC_STEP_LLOYD, true);
}

void
add_step(fc_step *left, const fc_step *right)
{
	fc_operator op;
	fc_scratch	scratch;
	fc_status	status;

	open_operator(fc_step_view_of(left).header, &op);
	scratch = make_scratch(fc_step_scratch(&op, left->capacity));
	status = fc_step_combine(left, right, scratch);
	if (status == FC_EMISMATCH)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("op must be the same for all rows"));
	check_status(status);
	pfree(scratch.floats);
}

PG_FUNCTION_INFO_V1(fastclust_step_combine);
Datum
fastclust_step_combine(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_ARGISNULL(0))
		/* the executor copies the state */
		PG_RETURN_POINTER(state_argument(fcinfo, 1, ANY_STEP));
	add_step(state_argument(fcinfo, 0, ANY_STEP),
			 state_argument(fcinfo, 1, ANY_STEP));
	return unchanged_state(fcinfo);
}

PG_FUNCTION_INFO_V1(fastclust_step_combine_kept);
Datum
fastclust_step_combine_kept(PG_FUNCTION_ARGS)
{
	return kept_state(fcinfo, fastclust_step_combine(fcinfo));
}

/* ---- results ---- */

/* Operator and results of a state. */
typedef struct finished
{
	fc_operator op;
	fc_step_result result;
} finished;

/*
 * Computes the results of a state, with `width` sums per cluster. Does not
 * change the state.
 */
static finished
finish_step(const fc_step *step, Size width)
{
	finished	f;
	fc_scratch	scratch;

	open_operator(fc_step_view_of(step).header, &f.op);
	scratch = make_scratch(fc_step_scratch(&f.op, step->capacity));
	f.result.counts = palloc(f.op.k * sizeof(int64));
	f.result.weights = palloc(f.op.k * sizeof(double));
	f.result.sums = width > 0 ? alloc_large(f.op.k * width * sizeof(double))
		: NULL;
	fc_step_finish(step, scratch, &f.result);
	pfree(scratch.floats);
	return f;
}

/*
 * Returns an operator whose centroids are the cluster means. A cluster without
 * rows keeps its centroid.
 */
static fc_operator_header *
next_operator(const finished *f)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(&f->op));
	fc_operator_header *next;

	fc_step_centroids(&f->op, &f->result, scratch);
	next = make_codebook_for(f->op.metric, f->result.sums, f->result.weights,
							 f->op.k, f->op.d);
	pfree(scratch.floats);
	pfree(f->result.sums);
	return next;
}

fc_operator_header *
finish_lloyd(const fc_step *step, fc_step_result *result)
{
	finished	f = finish_step(step, fc_step_view_of(step).width);
	fc_operator_header *next = next_operator(&f);

	*result = f.result;
	return next;
}

/*
 * Converts a state to a lloyd_step. The state is either a varlena value or the
 * in-memory sums of lloyd_large_agg, whose length word is 0.
 */
PG_FUNCTION_INFO_V1(fastclust_lloyd_final);
Datum
fastclust_lloyd_final(PG_FUNCTION_ARGS)
{
	const fc_step *step;
	fc_step_result result;
	Datum		values[4];

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	step = state_argument(fcinfo, 0, FC_STEP_LLOYD);
	values[0] = PointerGetDatum(finish_lloyd(step, &result));
	values[1] = Int64GetDatum(result.count);
	values[2] = Float8GetDatum(result.total);
	values[3] = make_int8_array(result.counts,
								(int) fc_step_view_of(step).header->k);
	return row_result(fcinfo, values, NULL);
}

static double
davies_bouldin(const fc_step *step)
{
	finished	f = finish_step(step, 1);
	double	   *centroids = alloc_large(f.op.k * f.op.d * sizeof(double));

	return fc_step_davies_bouldin(&f.op, &f.result, centroids,
								  make_scratch(fc_operator_scratch(&f.op)));
}

/*
 * Returns the score for which the state was accumulated: the mean of the
 * scores of rows, the SSE, or the Davies-Bouldin index.
 */
PG_FUNCTION_INFO_V1(fastclust_score_final);
Datum
fastclust_score_final(PG_FUNCTION_ARGS)
{
	const fc_step *step;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	step = state_argument(fcinfo, 0, ANY_STEP);
	if (fc_step_sums_scores(step->kind))
		PG_RETURN_FLOAT8(fc_pair_value(step->total) / (double) step->count);
	if (step->kind == FC_STEP_SSE)
		PG_RETURN_FLOAT8(finish_step(step, 0).result.total);
	PG_RETURN_FLOAT8(davies_bouldin(state_argument(fcinfo, 0,
												   FC_STEP_DAVIES_BOULDIN)));
}
