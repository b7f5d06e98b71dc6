/*
 * bytes.c - writes, views and validates the flat bytes of a stored operator;
 * see bytes.h
 */
#include "operator/bytes.h"

#include "base/rng.h"

#define ROUND8(size) (((size) + 7) & ~(size_t) 7)

/* Maximum number of columns of a factor whose column indices have 16 bits. */
#define SHORT_COLUMNS	((size_t) 1 << 16)

static size_t
column_size(size_t columns)
{
	return columns <= SHORT_COLUMNS ? sizeof(uint16_t) : sizeof(uint32_t);
}

static size_t
factor_size(bool sparse, size_t rows, size_t columns, size_t nonzeros)
{
	size_t		index = (sparse ? (rows + 1) * sizeof(uint32_t) +
						 nonzeros * column_size(columns)
						 : 0);

	return ROUND8(nonzeros * sizeof(float) + index);
}

/* Returns the number of bytes before the factors' values. */
static size_t
front_size(size_t k, size_t d, int flags, size_t factors)
{
	size_t		offsets = ((size_t) ((flags & FC_OPERATOR_OFFSET) != 0) +
						   ((flags & FC_OPERATOR_EXACT_OFFSET) != 0));

	return sizeof(fc_operator_header) + (k + offsets * d) * sizeof(double) +
		((flags & FC_OPERATOR_FACTORIZATION) ? sizeof(fc_factorization) : 0) +
		factors * sizeof(fc_factor_header) + ROUND8(k * sizeof(float));
}

static size_t
exact_size(size_t k, size_t d, int flags)
{
	return (flags & FC_OPERATOR_EXACT) ? ROUND8(k * (d + 2) * sizeof(float))
		: 0;
}

static size_t
regions_size(size_t k, int flags)
{
	return (flags & FC_OPERATOR_REGIONS)
		? sizeof(uint64_t) +
		ROUND8(k * (2 * sizeof(int32_t) + 3 * sizeof(float)))
		: 0;
}

static size_t
numbers_size(size_t k, int flags)
{
	return (flags & FC_OPERATOR_NUMBERS) ? ROUND8(k * sizeof(int32_t)) : 0;
}

/* Returns the number of bytes after the exact centroids. */
static size_t
tail_size(size_t k, int flags)
{
	return numbers_size(k, flags) + regions_size(k, flags);
}

static int
flags_of(const fc_operator *op)
{
	return (op->offset != NULL ? FC_OPERATOR_OFFSET : 0) |
		(op->factorization != NULL ? FC_OPERATOR_FACTORIZATION : 0) |
		(op->exact.values != NULL ? FC_OPERATOR_EXACT : 0) |
		(op->exact.values != NULL && op->exact.offset != NULL
		 ? FC_OPERATOR_EXACT_OFFSET
		 : 0) |
		(op->metric == FC_COSINE ? FC_OPERATOR_COSINE : 0) |
		(op->metric == FC_INNER_PRODUCT ? FC_OPERATOR_INNER_PRODUCT : 0) |
		(op->number != NULL ? FC_OPERATOR_NUMBERS : 0) |
		(op->regions.clusters > 0 ? FC_OPERATOR_REGIONS : 0);
}

size_t
fc_operator_size(const fc_operator *op)
{
	size_t		size = front_size(op->k, op->d, flags_of(op), op->factors);

	for (size_t q = 0; q < op->factors; q++)
		size += factor_size(op->factor[q].row_start != NULL, op->factor[q].rows,
							op->factor[q].columns, op->factor[q].nonzeros);
	return size + exact_size(op->k, op->d, flags_of(op)) +
		tail_size(op->k, flags_of(op));
}

static void
compute_digest(const fc_operator_header *header, size_t size,
			   uint64_t digest[2])
{
	const uint64_t seeds[2] = {
		1 ^ (uint64_t) header->flags << 8,
		2 ^ (uint64_t) header->flags << 8
	};
	size_t		front = offsetof(fc_operator_header, k);

	fc_digest(seeds, (const char *) header + front, size - front, digest);
}

/* Copies bytes to `at` and returns the address after them. */
static char *
put(char *at, const void *from, size_t bytes)
{
	memcpy(at, from, bytes);
	return at + bytes;
}

static char *
put_columns(const fc_factor *factor, char *at)
{
	bool		narrow = column_size(factor->columns) == sizeof(uint16_t);

	for (size_t p = 0; p < factor->nonzeros; p++)
	{
		uint32_t	column = (uint32_t) fc_factor_column(factor, p);
		uint16_t	short_column = (uint16_t) column;

		at = narrow ? put(at, &short_column, sizeof(short_column))
			: put(at, &column, sizeof(column));
	}
	return at;
}

/* Writes one factor at *at and advances *at to the byte after it. */
static void
put_factor(const fc_factor *factor, char **at)
{
	size_t		bytes = factor->nonzeros * sizeof(float);
	char	   *end = *at + bytes;

	if ((const char *) factor->values != *at)
		memcpy(*at, factor->values, bytes);
	*at += factor_size(factor->row_start != NULL, factor->rows, factor->columns,
					   factor->nonzeros);
	if (factor->row_start != NULL)
		end = put_columns(factor, put(end, factor->row_start,
									  (factor->rows + 1) * sizeof(uint32_t)));
	memset(end, 0, (size_t) (*at - end));
}

static void
put_header(const fc_operator *op, fc_operator_header *header)
{
	header->version = FC_OPERATOR_VERSION;
	header->flags = (uint8_t) flags_of(op);
	header->k = (uint32_t) op->k;
	header->d = (uint32_t) op->d;
	header->factors = (uint32_t) op->factors;
	header->rerank = op->exact.values != NULL ? op->exact.rerank : 0;
	header->max_row_norm = op->max_row_norm;
	header->error_relative = op->error_relative;
	header->error_absolute = op->error_absolute;
	header->max_growth = op->max_growth;
	header->exact_max_row_norm = op->exact.values != NULL
		? op->exact.max_row_norm
		: 0.0;
	header->exact_offset_length = op->exact.values != NULL
		? op->exact.offset_length
		: 0.0;
	header->orthogonality_defect = op->exact.values != NULL
		? op->exact.orthogonality_defect
		: 0.0;
	header->residual_leakage = op->exact.values != NULL
		? op->exact.residual_leakage
		: 0.0;
}

/* Writes everything before the factors' values; returns their address. */
static char *
put_front(const fc_operator *op, fc_operator_header *header)
{
	char	   *at = (char *) (header + 1);

	put_header(op, header);
	at = put(at, op->weights, op->k * sizeof(double));
	if (op->offset != NULL)
		at = put(at, op->offset, op->d * sizeof(double));
	if (header->flags & FC_OPERATOR_EXACT_OFFSET)
		at = put(at, op->exact.offset, op->d * sizeof(double));
	if (op->factorization != NULL)
		at = put(at, op->factorization, sizeof(fc_factorization));
	for (size_t q = 0; q < op->factors; q++)
	{
		fc_factor_header factor = {
			op->factor[q].row_start != NULL ? FC_FACTOR_SPARSE : FC_FACTOR_DENSE,
			(uint32_t) op->factor[q].rows,
			(uint32_t) op->factor[q].columns,
			0,
			op->factor[q].nonzeros,
			op->factor[q].error
		};

		at = put(at, &factor, sizeof(factor));
	}
	put(at, op->half_norms, op->k * sizeof(float));
	return at + ROUND8(op->k * sizeof(float));
}

static size_t
front_of(const fc_operator *op)
{
	return front_size(op->k, op->d, flags_of(op), op->factors);
}

float *
fc_operator_place(const fc_operator *op, fc_operator_header *header)
{
	return (float *) ((char *) header + front_of(op));
}

static void
put_regions(const fc_operator *op, char *at)
{
	const fc_regions *regions = &op->regions;
	uint64_t	clusters = regions->clusters;

	memset(at, 0, regions_size(op->k, FC_OPERATOR_REGIONS));
	at = put(at, &clusters, sizeof(clusters));
	at = put(at, regions->cluster, op->k * sizeof(int32_t));
	at = put(at, regions->peak_cluster, op->k * sizeof(int32_t));
	at = put(at, regions->radius, op->k * sizeof(float));
	at = put(at, regions->reach, op->k * sizeof(float));
	(void) put(at, regions->peak, op->k * sizeof(float));
}

void
fc_operator_write_unmeasured(const fc_operator *op, fc_operator_header *header)
{
	size_t		size = fc_operator_size(op);
	char	   *at;

	memset(header, 0, front_of(op));
	at = put_front(op, header);
	for (size_t q = 0; q < op->factors; q++)
		put_factor(&op->factor[q], &at);
	if ((header->flags & FC_OPERATOR_EXACT))
	{
		memset(at + exact_size(op->k, op->d, header->flags) - sizeof(double), 0,
			   sizeof(double));
		at = put(at, op->exact.residual, op->k * sizeof(float));
		at = put(at, op->exact.half_norms, op->k * sizeof(float));
		memcpy(at, op->exact.values, op->k * op->d * sizeof(float));
	}
	if (header->flags & FC_OPERATOR_NUMBERS)
	{
		at = (char *) header + size - tail_size(op->k, header->flags);
		memset(at, 0, numbers_size(op->k, header->flags));
		memcpy(at, op->number, op->k * sizeof(int32_t));
	}
	if (header->flags & FC_OPERATOR_REGIONS)
		put_regions(op, (char *) header + size -
					regions_size(op->k, header->flags));
}

void
fc_operator_write(const fc_operator *op, fc_operator_header *header)
{
	fc_operator_write_unmeasured(op, header);
	compute_digest(header, fc_operator_size(op), header->digest);
}

/* Fills the fields of a view that the header determines. */
static void
view_header(const fc_operator_header *header, fc_operator *op)
{
	op->k = header->k;
	op->d = header->d;
	op->factors = header->factors;
	op->metric = (header->flags & FC_OPERATOR_COSINE) ? FC_COSINE
		: (header->flags & FC_OPERATOR_INNER_PRODUCT)
		? FC_INNER_PRODUCT
		: FC_EUCLIDEAN;
	op->max_row_norm = header->max_row_norm;
	op->error_relative = header->error_relative;
	op->error_absolute = header->error_absolute;
	op->max_growth = header->max_growth;
	op->sell = NULL;
	op->pruning = NULL;
	op->kdtree = NULL;
	op->packs = NULL;
	op->rows = NULL;
	op->regions = (fc_regions)
	{
		0
	};
	op->number = NULL;
	op->exact = (fc_exact_centroids)
	{
		.rerank = header->rerank,
			.max_row_norm = header->exact_max_row_norm,
			.offset_length = header->exact_offset_length,
			.orthogonality_defect = header->orthogonality_defect,
			.residual_leakage = header->residual_leakage
	};
}

static const char *
view_factor(const char *at, const fc_factor_header *header, fc_factor *factor)
{
	bool		sparse = header->kind == FC_FACTOR_SPARSE;
	bool		narrow = column_size(header->columns) == sizeof(uint16_t);
	const uint32_t *row_start = (const uint32_t *) at + header->nonzeros;
	const void *column = row_start + header->rows + 1;

	factor->rows = header->rows;
	factor->columns = header->columns;
	factor->nonzeros = header->nonzeros;
	factor->error = header->error;
	factor->values = (const float *) at;
	factor->row_start = sparse ? row_start : NULL;
	factor->column = sparse && !narrow ? column : NULL;
	factor->short_column = sparse && narrow ? column : NULL;
	return at +
		factor_size(sparse, factor->rows, factor->columns, factor->nonzeros);
}

void
fc_operator_view(const fc_operator_header *header, fc_operator *op)
{
	const char *at = (const char *) (header + 1);
	const fc_factor_header *factors;

	view_header(header, op);
	op->weights = (const double *) at;
	at += op->k * sizeof(double);
	op->offset = (header->flags & FC_OPERATOR_OFFSET) ? (const double *) at
		: NULL;
	op->offset_length = op->offset != NULL
		? sqrt(fc_sum_of_squares(op->offset, op->d))
		: 0.0;
	at += op->offset != NULL ? op->d * sizeof(double) : 0;
	op->exact.offset = (header->flags & FC_OPERATOR_EXACT_OFFSET)
		? (const double *) at
		: NULL;
	at += op->exact.offset != NULL ? op->d * sizeof(double) : 0;
	op->factorization = (header->flags & FC_OPERATOR_FACTORIZATION)
		? (const fc_factorization *) at
		: NULL;
	at += op->factorization != NULL ? sizeof(fc_factorization) : 0;
	factors = (const fc_factor_header *) at;
	at += op->factors * sizeof(fc_factor_header);
	op->half_norms = (const float *) at;
	at += ROUND8(op->k * sizeof(float));
	for (size_t q = 0; q < op->factors; q++)
		at = view_factor(at, factors + q, &op->factor[q]);
	if (header->flags & FC_OPERATOR_NUMBERS)
		op->number = (const int32_t *) (at + exact_size(op->k, op->d,
														header->flags));
	if (header->flags & FC_OPERATOR_REGIONS)
	{
		const uint64_t
				   *clusters = ((const uint64_t *) (at + exact_size(op->k, op->d,
																	header->flags)));
		const int32_t *cluster = (const int32_t *) (clusters + 1);
		const float *radius = (const float *) (cluster + 2 * op->k);

		op->regions = (fc_regions)
		{
			(size_t) *clusters, cluster,
				cluster + op->k, radius,
				radius + op->k, radius + 2 * op->k
		};
	}
	if ((header->flags & FC_OPERATOR_EXACT) == 0)
		return;
	op->exact.residual = (const float *) at;
	op->exact.half_norms = op->exact.residual + op->k;
	op->exact.values = op->exact.half_norms + op->k;
}

/* ---- validation ---- */

static bool
factor_headers_valid(const fc_operator_header *header,
					 const fc_factor_header *factor, size_t *size)
{
	for (uint32_t q = 0; q < header->factors; q++)
	{
		uint64_t	cells = (uint64_t) factor[q].rows * factor[q].columns;
		uint32_t	rows = q == 0 ? header->k : factor[q - 1].columns;

		if (factor[q].kind > FC_FACTOR_SPARSE || factor[q].padding != 0 ||
			factor[q].rows != rows || factor[q].columns < 1 ||
			factor[q].columns > FC_MAX_CLUSTERS || factor[q].nonzeros > cells ||
			factor[q].nonzeros > UINT32_MAX / 2 ||
			(factor[q].kind == FC_FACTOR_DENSE && factor[q].nonzeros != cells))
			return false;
		*size += factor_size(factor[q].kind == FC_FACTOR_SPARSE, factor[q].rows,
							 factor[q].columns, factor[q].nonzeros);
	}
	return factor[header->factors - 1].columns == header->d;
}

static bool
bound_valid(double bound)
{
	return bound >= 0 && bound < INFINITY;
}

/* Returns true if the bytes from `end` to the next multiple of 8 are zero. */
static bool
padding_zero(const void *end)
{
	return fc_zero_padding(end,
						   (const char *) end + (8 - (uintptr_t) end % 8) % 8);
}

/* Returns the end of the factor's last array. */
static const void *
factor_end(const fc_factor *factor)
{
	if (factor->row_start == NULL)
		return factor->values + factor->nonzeros;
	if (factor->column != NULL)
		return factor->column + factor->nonzeros;
	return factor->short_column + factor->nonzeros;
}

/*
 * Checks a sparse factor: row starts ascend, and columns ascend within a row.
 */
static bool
columns_valid(const fc_factor *factor)
{
	if (factor->row_start[0] != 0 ||
		factor->row_start[factor->rows] != factor->nonzeros)
		return false;
	for (size_t r = 0; r < factor->rows; r++)
	{
		if (factor->row_start[r] > factor->row_start[r + 1] ||
			factor->row_start[r + 1] > factor->nonzeros)
			return false;
		for (size_t i = factor->row_start[r]; i < factor->row_start[r + 1]; i++)
			if (fc_factor_column(factor, i) >= factor->columns ||
				(i > factor->row_start[r] &&
				 fc_factor_column(factor, i) <=
				 fc_factor_column(factor, i - 1)))
				return false;
	}
	return true;
}

/*
 * Checks the fields of an fc_factorization, which may be NULL. Relative errors
 * may exceed 1, because the norm is weighted. They must not be NaN.
 */
static bool
factorization_valid(const fc_factorization *from)
{
	return from == NULL ||
		(from->method >= FC_METHOD_PALM4MSA &&
		 from->method <= FC_METHOD_QKMEANS && from->padding == 0 &&
		 from->relative_error >= 0.0 && from->relative_error < INFINITY &&
		 from->svd_error >= 0.0 && from->svd_error < INFINITY &&
		 (from->agreement == -1.0 ||
		  (from->agreement >= 0.0 && from->agreement <= 1.0)));
}

static bool
offset_valid(const double *offset, size_t d)
{
	return offset == NULL || fc_all_finite(offset, d);
}

/* Checks everything about the exact centroids except their values. */
static bool
exact_valid(const fc_operator *op)
{
	const fc_exact_centroids *exact = &op->exact;

	if (!bound_valid(exact->max_row_norm) ||
		!bound_valid(exact->offset_length) ||
		!bound_valid(exact->orthogonality_defect) ||
		!bound_valid(exact->residual_leakage))
		return false;
	if (exact->values == NULL)
		return exact->rerank == 0 &&
			!(exact->max_row_norm + exact->offset_length +
			  exact->orthogonality_defect + exact->residual_leakage >
			  0);
	for (size_t j = 0; j < op->k; j++)
		if (!bound_valid((double) exact->residual[j]) ||
			!bound_valid((double) exact->half_norms[j]))
			return false;
	return (exact->rerank == FC_RERANK_EXACT ||
			(exact->rerank >= 1 && exact->rerank <= op->k)) &&
		offset_valid(exact->offset, op->d) &&
		padding_zero(exact->values + op->k * op->d);
}

/*
 * Returns true if there are no regions, or if they are valid. Clusters must be
 * numbered from 0, and must not outnumber the centroids.
 */
static bool
regions_valid(const fc_operator *op, int flags)
{
	const fc_regions *regions = &op->regions;

	if ((flags & FC_OPERATOR_REGIONS) == 0)
		return true;
	if (regions->clusters < 1 || regions->clusters > op->k ||
		!padding_zero(regions->peak + op->k))
		return false;
	for (size_t j = 0; j < op->k; j++)
		if (regions->cluster[j] < -1 ||
			regions->cluster[j] >= (int64_t) regions->clusters ||
			regions->peak_cluster[j] < 0 ||
			regions->peak_cluster[j] >= (int64_t) regions->clusters ||
			!bound_valid((double) regions->radius[j]) ||
			!bound_valid((double) regions->reach[j]) ||
			!bound_valid((double) regions->peak[j]))
			return false;
	return true;
}

/*
 * Checks the cluster numbers, if there are any. They must ascend, and differ
 * from 0 .. k - 1, which is not stored.
 */
static bool
numbers_valid(const fc_operator *op)
{
	if (op->number == NULL)
		return true;
	if (op->number[0] < 0 || op->number[op->k - 1] < (int64_t) op->k ||
		op->number[op->k - 1] >= FC_MAX_NUMBERS ||
		!padding_zero(op->number + op->k))
		return false;
	for (size_t j = 1; j < op->k; j++)
		if (op->number[j] <= op->number[j - 1])
			return false;
	return true;
}

static bool
values_valid(const fc_operator *op)
{
	if (!bound_valid(op->max_row_norm) || !bound_valid(op->error_relative) ||
		!bound_valid(op->error_absolute) || !bound_valid(op->max_growth) ||
		!padding_zero(op->half_norms + op->k) ||
		!factorization_valid(op->factorization) ||
		!offset_valid(op->offset, op->d) || !exact_valid(op))
		return false;
	for (size_t j = 0; j < op->k; j++)
		if (!bound_valid(op->weights[j]) ||
			!bound_valid((double) op->half_norms[j]))
			return false;
	for (size_t q = 0; q < op->factors; q++)
	{
		const fc_factor *factor = &op->factor[q];

		fc_check();
		if (!bound_valid(factor->error) || !padding_zero(factor_end(factor)) ||
			!fc_all_finite_float(factor->values, factor->nonzeros) ||
			(factor->row_start != NULL && !columns_valid(factor)))
			return false;
	}
	return op->exact.values == NULL ||
		fc_all_finite_float(op->exact.values, op->k * op->d);
}

static bool
header_valid(const fc_operator_header *header)
{
	int			flags = header->flags;

	return header->version == FC_OPERATOR_VERSION && header->padding == 0 &&
		(flags & ~(FC_OPERATOR_OFFSET | FC_OPERATOR_EXACT |
				   FC_OPERATOR_EXACT_OFFSET | FC_OPERATOR_FACTORIZATION |
				   FC_OPERATOR_COSINE | FC_OPERATOR_INNER_PRODUCT |
				   FC_OPERATOR_REGIONS | FC_OPERATOR_NUMBERS)) == 0 &&
		(flags & (FC_OPERATOR_REGIONS | FC_OPERATOR_NUMBERS)) !=
		(FC_OPERATOR_REGIONS | FC_OPERATOR_NUMBERS) &&
		((flags & FC_OPERATOR_EXACT) ||
		 !(flags & FC_OPERATOR_EXACT_OFFSET)) &&
		(!(flags & FC_OPERATOR_INNER_PRODUCT) ||
		 ((flags & (FC_OPERATOR_COSINE | FC_OPERATOR_OFFSET |
					FC_OPERATOR_EXACT | FC_OPERATOR_REGIONS)) == 0 &&
		  header->factors == 1)) &&
		header->k >= 1 && header->k <= FC_MAX_CLUSTERS && header->d >= 1 &&
		header->d <= FC_MAX_CLUSTERS && header->factors >= 1 &&
		header->factors <= FC_MAX_FACTORS;
}

fc_status
fc_operator_check_written(const fc_operator_header *header, size_t size)
{
	const fc_factor_header *factors;
	fc_operator op;
	size_t		expected;

	if (size < sizeof(fc_operator_header) || !header_valid(header))
		return FC_EFORMAT;
	expected = front_size(header->k, header->d, header->flags, header->factors);
	if (size < expected)
		return FC_EFORMAT;
	factors = (const fc_factor_header *) ((const char *) header + expected -
										  ROUND8(header->k * sizeof(float))) -
		header->factors;
	if (!factor_headers_valid(header, factors, &expected) ||
		size != expected + exact_size(header->k, header->d, header->flags) +
		tail_size(header->k, header->flags))
		return FC_EFORMAT;
	fc_operator_view(header, &op);
	return (op.metric != FC_INNER_PRODUCT || fc_operator_is_codebook(&op)) &&
		regions_valid(&op, header->flags) && numbers_valid(&op) &&
		values_valid(&op)
		? FC_OK
		: FC_EFORMAT;
}

fc_status
fc_operator_check(const void *bytes, size_t size)
{
	const fc_operator_header *header = bytes;
	fc_status	status = fc_operator_check_written(header, size);
	uint64_t	digest[2];

	if (status != FC_OK)
		return status;
	compute_digest(header, size, digest);
	return digest[0] == header->digest[0] && digest[1] == header->digest[1]
		? FC_OK : FC_EFORMAT;
}
