/*
 * operator_value.c - the type fastop, and operators made from centroids and
 * factors
 */
#include "postgres.h"

#include "operator/step.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/operator/operator_value.h"

/*
 * Number of rows from which it pays off to pack the centroids of an operator.
 * A guess.
 */
#define MIN_ROWS_FOR_PACKING	16

void *
state_of_datum(Datum datum, int kind)
{
	fc_step    *step = aligned_value(datum);
	bool		expected = (kind == ANY_STATE ||
							(kind == ANY_STEP ? fc_step_is_kind(step->kind)
							 : step->kind == kind));

	if (step->version != FC_STEP_VERSION || !expected)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the state belongs to another aggregate"));
	return step;
}

Size
prune_operator(fc_operator *op, MemoryContext context)
{
	Size		bytes = fc_operator_prune_worksize(op);
	fc_arena	arena;

	if (bytes == 0 || bytes > (Size) fastclust_memory_budget * 1024 / 4)
		return 0;
	arena = make_arena_in(context, "the operator");
	fc_operator_prune(op, &arena);
	if (op->pruning == NULL && op->kdtree == NULL)
		release_arena(&arena);
	return arena.allocated;
}

Size
pack_operator(fc_operator *op, MemoryContext context)
{
	fc_arena	arena = make_arena_in(context, "the packed operator");

	fc_operator_pack(op, &arena);
	return arena.allocated;
}

Size
prepare_operator(fc_operator *op, Size uses, MemoryContext context)
{
	if (uses != MIN_ROWS_FOR_PACKING)
		return uses == pruning_from(op->k) ? prune_operator(op, context) : 0;
	return pack_operator(op, context);
}

fc_status
verify_operator(const fc_operator *op)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	fc_status	status = fc_operator_verify(op, scratch);

	pfree(scratch.floats);
	return status;
}

float *
expanded_rows(fc_operator *op)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	float	   *rows = alloc_large(op->k * op->d * sizeof(float));

	fc_operator_expand(op, scratch, rows);
	pfree(scratch.floats);
	return rows;
}

double *
rescaled_centroids(const fc_operator *op, const double *center,
				   const double *scale)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	double	   *rows;

	check_budget(op->k * op->d * sizeof(double) + scratch.count * sizeof(float),
				 "the list of centroids");
	rows = alloc_large(op->k * op->d * sizeof(double));
	fc_operator_centroids(op, center, scale, scratch, rows);
	pfree(scratch.floats);
	return rows;
}

static fc_status
check_operator(const void *bytes, size_t size)
{
	fc_status	status = fc_operator_check(bytes, size);
	fc_operator op;

	if (status != FC_OK)
		return status;
	open_operator(bytes, &op);
	return verify_operator(&op);
}

static const value_type operator_type = {"fastop", check_operator, "model_operator"};

PG_FUNCTION_INFO_V1(fastclust_fastop_in);
Datum
fastclust_fastop_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &operator_type);
}

PG_FUNCTION_INFO_V1(fastclust_fastop_recv);
Datum
fastclust_fastop_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &operator_type);
}

/* ---- names of methods ---- */

static const named_value methods[] = {
	{"auto", FC_METHOD_AUTO},
	{"palm4msa", FC_METHOD_PALM4MSA},
	{"hierarchical", FC_METHOD_HIERARCHICAL},
	{"butterfly", FC_METHOD_BUTTERFLY},
	{"svd", FC_METHOD_SVD},
	{"prune", FC_METHOD_PRUNE},
	{"dense", FC_METHOD_DENSE}, /* callers cannot name it; auto may choose it */
	{"qkmeans", FC_METHOD_QKMEANS}
};

/* Number of methods that callers may name; they come first in `methods`. */
#define CALLABLE	6

fc_method
method_of_name(const char *name)
{
	return (fc_method) choice_of_name("method", name, methods, CALLABLE);
}

const char *
method_name(uint32 method)
{
	return name_of_choice((int) method, methods, lengthof(methods));
}

/* ---- making ---- */

/*
 * Minimum of the greatest absolute coordinate of all centroids, after the
 * offset is subtracted. Smaller centroids are rejected, because single
 * precision could not represent the squares of their coordinates.
 */
#define SMALLEST_CENTROIDS	1e-30

void
check_centroid_size(double max)
{
	if (max > 0 && max < SMALLEST_CENTROIDS)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("centroids are too small for single precision"),
				errdetail("The largest distance between two of them is %g; the minimum is %g.",
						  max, SMALLEST_CENTROIDS),
				errhint("Scale the data up."));
}

Size
codebook_bytes(Size k, Size d)
{
	return 2 * fc_codebook_size(k, d);
}

/*
 * Serializes an operator, within the budget. Returns FC_EFORMAT if floats
 * cannot represent it.
 */
static fc_status
write_operator(const fc_operator *op, fc_operator_header **header)
{
	Size		size = fc_operator_size(op);

	check_budget(size, "the operator");
	*header = alloc_large(size);
	fc_operator_write(op, *header);
	SET_VARSIZE(*header, size);
	return fc_operator_check_written(*header, size);
}

/* Serializes centroids by fc_codebook_write or fc_codebook_write_rows. */
static fc_codebook *
write_codebook(fc_metric metric, const fc_centroid_source *centroids, const double *weights,
			   size_t (*write) (fc_metric, const fc_centroid_source *, const double *,
								fc_arena *, fc_operator_header *, double *))
{
	fc_arena	arena = make_arena("the operator");
	Size		size = fc_codebook_size(centroids->k, centroids->d);
	fc_operator_header *header;
	double		max;

	check_budget(size, "the operator");
	header = alloc_large(size);
	size = write(metric, centroids, weights, &arena, header, &max);
	SET_VARSIZE(header, size);
	check_centroid_size(max);
	if (fc_operator_check_written(header, size) != FC_OK)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("centroids are too large for single precision"),
				errhint("Scale the data down."));
	release_arena(&arena);
	return header;
}

fc_codebook *
make_codebook_of(fc_metric metric, const fc_centroid_source *centroids,
				 const double *weights)
{
	return write_codebook(metric, centroids, weights, fc_codebook_write);
}

fc_codebook *
make_unmeasured(fc_metric metric, const fc_centroid_source *rows, const double *weights)
{
	return write_codebook(metric, rows, weights, fc_codebook_write_rows);
}

fc_codebook *
operator_of_rows(const fc_weighted_rows *rows)
{
	fc_codebook *header = (fc_codebook *) rows->storage;
	Size		size = VARSIZE(header);
	fc_arena	arena;

	if (fc_codebook_is_measured(header))
		return header;
	arena = make_arena("the operator");
	fc_codebook_measure(&arena, header);
	SET_VARSIZE(header, size);
	release_arena(&arena);
	return header;
}

fc_codebook *
make_codebook_for(fc_metric metric, const double *centroids,
				  const double *weights, size_t k, size_t d)
{
	fc_centroid_source source = {.k = k,.d = d,.x = centroids};

	return make_codebook_of(metric, &source, weights);
}

fc_codebook *
make_codebook(const double *centroids, const double *weights, size_t k,
			  size_t d)
{
	return make_codebook_for(FC_EUCLIDEAN, centroids, weights, k, d);
}

void
attach_exact_centroids(fc_operator *op, const fc_operator *source,
					   uint32 rerank)
{
	fc_arena	arena;

	if (rerank == 0)
		return;
	arena = make_arena("re-ranking by exact centroids");
	fc_operator_keep_exact(op, source, rerank, &arena);
}

void
check_operator_status(fc_status status)
{
	if (status == FC_EFORMAT)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("factors are too large for single precision"),
				errhint("Scale the data down."));
	check_status(status);
}

fc_operator_header *
store_operator(const fc_operator *op)
{
	fc_operator_header *header;

	check_operator_status(write_operator(op, &header));
	return header;
}

fc_operator_header *
numbered_as(const fc_operator *op, fc_operator_header *header)
{
	fc_operator result;

	if (op->number == NULL)
		return header;
	open_operator(header, &result);
	result.number = op->number;
	return store_operator(&result);
}
