/* fc_operator_bytes.c - the flat bytes of a fastop: write, view, validate; see the header */
#include "fc_operator_bytes.h"

#include <math.h>
#include <string.h>

#include "fc_rng.h"

#define ROUND8(size) (((size) + 7) & ~(size_t) 7)

static size_t
factor_size(bool sparse, size_t rows, size_t nonzeros)
{
	size_t		words = sparse ? 2 * nonzeros + rows + 1 : nonzeros;

	return ROUND8(words * sizeof(uint32_t));
}

static size_t
front_size(size_t k, size_t d, bool offset, bool factorization, size_t factors)
{
	return sizeof(fc_operator_header) + (k + (offset ? d : 0)) * sizeof(double) +
		(factorization ? sizeof(fc_factorization) : 0) +
		factors * sizeof(fc_factor_header) + ROUND8(k * sizeof(float));
}

size_t
fc_operator_size(const fc_operator *op)
{
	size_t		size = front_size(op->k, op->d, op->offset != NULL, op->factorization != NULL, op->factors);

	for (size_t q = 0; q < op->factors; q++)
		size += factor_size(op->factor[q].row_start != NULL, op->factor[q].rows, op->factor[q].nonzeros);
	return size;
}

static void
compute_digest(const fc_operator_header *header, size_t size, uint64_t digest[2])
{
	const char *body = (const char *) header + offsetof(fc_operator_header, k);
	size_t		length = size - offsetof(fc_operator_header, k);

	for (uint64_t i = 0; i < 2; i++)
		digest[i] = fc_hash_bytes((i + 1) ^ (uint64_t) header->flags << 8, body, length);
}

/* Copy and advance. */
static char *
put(char *at, const void *from, size_t bytes)
{
	memcpy(at, from, bytes);
	return at + bytes;
}

static char *
put_factor(char *at, const fc_factor *factor)
{
	char	   *start = at;
	size_t		size = factor_size(factor->row_start != NULL, factor->rows, factor->nonzeros);

	at = put(at, factor->values, factor->nonzeros * sizeof(float));
	if (factor->row_start != NULL)
	{
		at = put(at, factor->column, factor->nonzeros * sizeof(uint32_t));
		put(at, factor->row_start, (factor->rows + 1) * sizeof(uint32_t));
	}
	return start + size;
}

void
fc_operator_write(const fc_operator *op, fc_operator_header *header)
{
	size_t		size = fc_operator_size(op);
	char	   *at = (char *) (header + 1);

	memset(header, 0, size);
	header->version = FC_OPERATOR_VERSION;
	header->flags = (uint8_t) ((op->offset != NULL ? FC_OPERATOR_OFFSET : 0) |
							   (op->factorization != NULL ? FC_OPERATOR_FACTORIZATION : 0));
	header->k = (uint32_t) op->k;
	header->d = (uint32_t) op->d;
	header->factors = (uint32_t) op->factors;
	header->reach = op->reach;
	header->slope = op->slope;
	header->level = op->level;
	header->peak = op->peak;
	at = put(at, op->weights, op->k * sizeof(double));
	if (op->offset != NULL)
		at = put(at, op->offset, op->d * sizeof(double));
	if (op->factorization != NULL)
		at = put(at, op->factorization, sizeof(fc_factorization));
	for (size_t q = 0; q < op->factors; q++)
	{
		fc_factor_header factor = {
			op->factor[q].row_start != NULL ? FC_FACTOR_SPARSE : FC_FACTOR_DENSE,
			(uint32_t) op->factor[q].rows, (uint32_t) op->factor[q].columns, 0, op->factor[q].nonzeros
		};

		at = put(at, &factor, sizeof(factor));
	}
	put(at, op->half_norms, op->k * sizeof(float));
	at += ROUND8(op->k * sizeof(float));
	for (size_t q = 0; q < op->factors; q++)
		at = put_factor(at, &op->factor[q]);
	compute_digest(header, size, header->digest);
}

void
fc_operator_view(const fc_operator_header *header, fc_operator *op)
{
	const char *at = (const char *) (header + 1);
	const fc_factor_header *factors;

	op->k = header->k;
	op->d = header->d;
	op->factors = header->factors;
	op->reach = header->reach;
	op->slope = header->slope;
	op->level = header->level;
	op->peak = header->peak;
	op->weights = (const double *) at;
	at += op->k * sizeof(double);
	op->offset = (header->flags & FC_OPERATOR_OFFSET) ? (const double *) at : NULL;
	at += op->offset != NULL ? op->d * sizeof(double) : 0;
	op->factorization = (header->flags & FC_OPERATOR_FACTORIZATION) ? (const fc_factorization *) at : NULL;
	at += op->factorization != NULL ? sizeof(fc_factorization) : 0;
	factors = (const fc_factor_header *) at;
	at += op->factors * sizeof(fc_factor_header);
	op->half_norms = (const float *) at;
	at += ROUND8(op->k * sizeof(float));
	for (size_t q = 0; q < op->factors; q++)
	{
		bool		sparse = factors[q].kind == FC_FACTOR_SPARSE;
		fc_factor  *factor = &op->factor[q];

		factor->rows = factors[q].rows;
		factor->columns = factors[q].columns;
		factor->nonzeros = factors[q].nonzeros;
		factor->values = (const float *) at;
		factor->column = sparse ? (const uint32_t *) (factor->values + factor->nonzeros) : NULL;
		factor->row_start = sparse ? factor->column + factor->nonzeros : NULL;
		at += factor_size(sparse, factor->rows, factor->nonzeros);
	}
}

/* ---- validation ---- */

static bool
factor_headers_valid(const fc_operator_header *header, const fc_factor_header *factor, size_t *size)
{
	for (uint32_t q = 0; q < header->factors; q++)
	{
		uint64_t	cells = (uint64_t) factor[q].rows * factor[q].columns;
		uint32_t	rows = q == 0 ? header->k : factor[q - 1].columns;

		if (factor[q].kind > FC_FACTOR_SPARSE || factor[q].padding != 0 || factor[q].rows != rows ||
			factor[q].columns < 1 || factor[q].columns > FC_MAX_CLUSTERS ||
			factor[q].nonzeros > cells || factor[q].nonzeros > UINT32_MAX / 2 ||
			(factor[q].kind == FC_FACTOR_DENSE && factor[q].nonzeros != cells))
			return false;
		*size += factor_size(factor[q].kind == FC_FACTOR_SPARSE, factor[q].rows, factor[q].nonzeros);
	}
	return factor[header->factors - 1].columns == header->d;
}

/* Are the bytes between `end` and the next multiple of 8 zero? */
static bool
padding_zero(const void *end)
{
	const char *at = end;

	for (; (uintptr_t) at % 8 != 0; at++)
		if (*at != 0)
			return false;
	return true;
}

static bool
factor_valid(const fc_factor *factor)
{
	if (!fc_all_finite_float(factor->values, factor->nonzeros) ||
		!padding_zero(factor->row_start != NULL ? (const void *) (factor->row_start + factor->rows + 1)
					  : (const void *) (factor->values + factor->nonzeros)))
		return false;
	if (factor->row_start == NULL)
		return true;
	if (factor->row_start[0] != 0 || factor->row_start[factor->rows] != factor->nonzeros)
		return false;
	for (size_t r = 0; r < factor->rows; r++)
	{
		if (factor->row_start[r] > factor->row_start[r + 1] || factor->row_start[r + 1] > factor->nonzeros)
			return false;
		for (size_t i = factor->row_start[r]; i < factor->row_start[r + 1]; i++)
			if (factor->column[i] >= factor->columns ||
				(i > factor->row_start[r] && factor->column[i] <= factor->column[i - 1]))
				return false;
	}
	return true;
}

/* Errors of a weighted norm may pass 1; NaN fails every comparison. */
static bool
factorization_valid(const fc_factorization *from)
{
	return from == NULL ||
		(from->method >= FC_METHOD_PALM4MSA && from->method <= FC_METHOD_QKMEANS && from->padding == 0 &&
		 from->relative_error >= 0.0 && from->relative_error < INFINITY &&
		 from->svd_error >= 0.0 && from->svd_error < INFINITY &&
		 (from->agreement == -1.0 || (from->agreement >= 0.0 && from->agreement <= 1.0)));
}

static bool
bound_valid(double bound)
{
	return bound >= 0 && bound < INFINITY;
}

static bool
values_valid(const fc_operator *op)
{
	if (!bound_valid(op->reach) || !bound_valid(op->slope) || !bound_valid(op->level) || !bound_valid(op->peak) ||
		!padding_zero(op->half_norms + op->k) || !factorization_valid(op->factorization))
		return false;
	for (size_t j = 0; j < op->k; j++)
		if (!bound_valid(op->weights[j]) || !bound_valid((double) op->half_norms[j]))
			return false;
	for (size_t i = 0; op->offset != NULL && i < op->d; i++)
		if (!isfinite(op->offset[i]))
			return false;
	for (size_t q = 0; q < op->factors; q++)
		if (!factor_valid(&op->factor[q]))
			return false;
	return true;
}

fc_status
fc_operator_check(const void *bytes, size_t size)
{
	const fc_operator_header *header = bytes;
	fc_operator op;
	uint64_t	digest[2];
	size_t		expected;

	if (size < sizeof(fc_operator_header) || header->version != FC_OPERATOR_VERSION ||
		(header->flags & ~(FC_OPERATOR_OFFSET | FC_OPERATOR_FACTORIZATION)) != 0 || header->padding != 0 || header->padding2 != 0 ||
		header->k < 1 || header->k > FC_MAX_CLUSTERS || header->d < 1 || header->d > FC_MAX_CLUSTERS ||
		header->factors < 1 || header->factors > FC_MAX_FACTORS)
		return FC_EFORMAT;
	expected = front_size(header->k, header->d, (header->flags & FC_OPERATOR_OFFSET) != 0,
						  (header->flags & FC_OPERATOR_FACTORIZATION) != 0, header->factors);
	if (size < expected ||
		!factor_headers_valid(header, (const fc_factor_header *)
							  ((const char *) bytes + expected - ROUND8(header->k * sizeof(float)) -
							   header->factors * sizeof(fc_factor_header)), &expected) ||
		size != expected)
		return FC_EFORMAT;
	compute_digest(header, size, digest);
	if (digest[0] != header->digest[0] || digest[1] != header->digest[1])
		return FC_EFORMAT;
	fc_operator_view(header, &op);
	return values_valid(&op) ? FC_OK : FC_EFORMAT;
}
