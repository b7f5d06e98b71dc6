/* operator_value.c - the types fastop and aggregate_state; operators out of centroids and factors */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "operator/bytes.h"
#include "operator/contingency.h"
#include "operator/coreset.h"
#include "operator/operator.h"
#include "operator/step.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/values.h"
#include "pg/operator/operator_value.h"

static fc_status
check_state(const void *bytes, size_t size, const fc_tick *tick)
{
	const fc_step *step = bytes;

	if (size < sizeof(fc_contingency))
		return FC_EFORMAT;
	return step->kind == FC_STEP_CONTINGENCY ? fc_contingency_check(bytes, size, tick) :
		step->kind == FC_STEP_CORESET ? fc_coreset_check(bytes, size, tick) : fc_step_check(bytes, size, tick);
}

static const value_type state_type = {"aggregate_state", check_state};

fc_status
verify_operator(const fc_operator *op)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	fc_status	status = fc_operator_verify(op, scratch);

	pfree(scratch.floats);
	return status;
}

static fc_status
check_operator(const void *bytes, size_t size, const fc_tick *tick)
{
	fc_status	status = fc_operator_check(bytes, size, tick);
	fc_operator op;

	if (status != FC_OK)
		return status;
	open_operator(bytes, &op);
	return verify_operator(&op);
}

static const value_type operator_type = {"fastop", check_operator};

VALUE_TYPE_IN(fastclust_fastop, operator_type);
VALUE_TYPE_IN(fastclust_state, state_type);

fc_operator_header *
operator_of_datum(Datum datum)
{
	return aligned_value(datum);
}

/* ---- names of methods ---- */

static const choice methods[] = {
	{"auto", FC_METHOD_AUTO},
	{"palm4msa", FC_METHOD_PALM4MSA},
	{"hierarchical", FC_METHOD_HIERARCHICAL},
	{"butterfly", FC_METHOD_BUTTERFLY},
	{"svd", FC_METHOD_SVD},
	{"prune", FC_METHOD_PRUNE},
	{"dense", FC_METHOD_DENSE},	/* what auto may come to */
	{"qkmeans", FC_METHOD_QKMEANS}
};

#define CALLABLE 6				/* of these */

fc_method
method_of_name(const char *name)
{
	return (fc_method) choice_of_name("method", name, methods, CALLABLE);
}

const char *
method_name(uint32 method)
{
	for (int i = 0; i < lengthof(methods); i++)
		if (methods[i].value == (int) method)
			return methods[i].name;
	return "unknown";
}

/* ---- making ---- */

/*
 * Scores ||v||^2/2 - v.x are computed in float.  When the centroids' common mean
 * is far from the origin compared with their spread, the differences between
 * scores would drown in rounding, so the mean becomes the operator's offset.
 */
#define OFFSET_RATIO 64.0
#define SMALLEST_CENTROIDS 1e-30

static double *
offset_of(const double *centroids, size_t k, size_t d)
{
	double	   *mean = palloc0(d * sizeof(double));
	double		norm = 0;
	double		spread = 0;

	for (size_t j = 0; j < k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < d; i++)
			mean[i] += centroids[j * d + i] / (double) k;
	}
	for (size_t i = 0; i < d; i++)
		norm += mean[i] * mean[i];
	for (size_t j = 0; j < k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < d; i++)
			spread += (centroids[j * d + i] - mean[i]) * (centroids[j * d + i] - mean[i]) / (double) k;
	}
	return norm > OFFSET_RATIO * spread ? mean : NULL;
}

void
check_centroid_size(double most)
{
	if (most > 0 && most < SMALLEST_CENTROIDS)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("centroids are too small for single precision"),
				 errdetail("They are up to %g from each other; %g is the limit.", most, SMALLEST_CENTROIDS),
				 errhint("Scale the data up.")));
}

/* Centroids as floats from the offset; those that would vanish are an error. */
static float *
round_centroids(const double *centroids, const double *offset, size_t k, size_t d)
{
	float	   *values = palloc_extended(k * d * sizeof(float), MCXT_ALLOC_HUGE);
	double		most = 0;

	for (size_t j = 0; j < k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < d; i++)
		{
			double		value = centroids[j * d + i] - (offset ? offset[i] : 0.0);

			most = fmax(most, fabs(value));
			values[j * d + i] = (float) value;
		}
	}
	check_centroid_size(most);
	return values;
}

/* A codebook of k x d centroids, which all that it points to is the caller's but for the half norms. */
static fc_operator
codebook_view(Size k, Size d, const double *offset, const double *weights, const float *values)
{
	fc_operator op = {.k = k,.d = d,.offset = offset,.weights = weights,.factors = 1};

	op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = values};
	return op;
}

Size
codebook_bytes(Size k, Size d)
{
	double		somewhere = 0;
	fc_operator op = codebook_view(k, d, &somewhere, NULL, NULL);

	return d * sizeof(double) + k * (d + 1) * sizeof(float) + fc_operator_scratch(&op) * sizeof(float) + 2 * fc_operator_size(&op);
}

fc_operator_header *
make_codebook(const double *centroids, const double *weights, size_t k, size_t d)
{
	double	   *offset = offset_of(centroids, k, d);
	float	   *values = round_centroids(centroids, offset, k, d);
	float	   *half_norms = palloc(k * sizeof(float));
	fc_operator op = codebook_view(k, d, offset, weights, values);
	fc_scratch	scratch = make_scratch(fc_operator_scratch(&op));
	fc_operator_header *header;
	Size		size;

	(void) fc_operator_measure(&op, &server_tick, scratch, half_norms);
	pfree(scratch.floats);
	size = fc_operator_size(&op);
	check_budget(size, "the operator");
	header = palloc_extended(size, MCXT_ALLOC_HUGE);
	(void) fc_operator_write(&op, &server_tick, header);
	SET_VARSIZE(header, size);
	if (fc_operator_check(header, size, &server_tick) != FC_OK)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("centroids are too large for single precision"),
				 errhint("Scale the data down.")));
	pfree(values);
	pfree(half_norms);
	return header;
}

/* The centroids an operator stands for, as a codebook in memory of our own. */
static fc_operator
as_codebook(const fc_operator *source)
{
	fc_operator book = *source;
	float	   *rows;

	if (source->exact.values == NULL && source->factors == 1 && source->factor[0].row_start == NULL)
		return book;
	if (source->exact.values != NULL)
		book.offset = source->exact.offset;
	rows = palloc_extended(source->k * source->d * sizeof(float), MCXT_ALLOC_HUGE);
	if (source->exact.values != NULL)
		copy_bytes(rows, source->exact.values, source->k * source->d * sizeof(float));
	else
		(void) fc_operator_expand(&book, &server_tick, make_scratch(fc_operator_scratch(&book)), rows);
	book.factors = 1;
	book.factor[0] = (fc_factor) {.rows = book.k,.columns = book.d,.nonzeros = book.k * book.d,.values = rows};
	return book;
}

void
attach_exact_centroids(fc_operator *op, const fc_operator *source, uint32 rerank)
{
	fc_operator book;
	float	   *arrays;

	if (rerank == 0)
		return;
	check_budget(op->k * (op->d + 2) * sizeof(float), "the centroids kept for re-ranking");
	book = as_codebook(source);
	arrays = palloc_extended(2 * op->k * sizeof(float), MCXT_ALLOC_HUGE);
	(void) fc_operator_attach_exact(op, &book, rerank, &server_tick, make_scratch(fc_operator_scratch(op)), arrays, arrays + op->k);
}

fc_operator_header *
store_operator(const fc_operator *op)
{
	Size		size = fc_operator_size(op);
	fc_operator_header *header;

	check_budget(size, "the operator");
	header = palloc_extended(size, MCXT_ALLOC_HUGE);
	(void) fc_operator_write(op, &server_tick, header);
	SET_VARSIZE(header, size);
	if (fc_operator_check(header, size, &server_tick) != FC_OK)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("factors are too large for single precision"),
				 errhint("Scale the data down.")));
	return header;
}
