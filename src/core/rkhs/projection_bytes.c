/* projection_bytes.c - the flat bytes of a kernel_projection; see the header */
#include "rkhs/projection_bytes.h"

#include <math.h>

#include "base/pieces.h"

#define IDS_BLOCK	((size_t) 1 << 20)	/* between two checks */

size_t
fc_kernel_projection_size(size_t n, size_t rank)
{
	size_t		row = sizeof(int64_t) + rank * sizeof(float);
	size_t		rows;
	size_t		size;

	if (__builtin_mul_overflow(n, row, &rows) ||
		__builtin_add_overflow(rows, sizeof(fc_kernel_projection_header) + rank * sizeof(double) + 7, &size))
		return SIZE_MAX;
	return size & ~(size_t) 7;
}

double *
fc_kernel_projection_eigenvalues(const fc_kernel_projection_header *header)
{
	return (double *) (header + 1);
}

int64_t *
fc_kernel_projection_ids(const fc_kernel_projection_header *header)
{
	return (int64_t *) (fc_kernel_projection_eigenvalues(header) + header->rank);
}

float *
fc_kernel_projection_rows(const fc_kernel_projection_header *header)
{
	return (float *) (fc_kernel_projection_ids(header) + header->n);
}

static bool
header_valid(const fc_kernel_projection_header *header)
{
	return header->version == FC_KERNEL_PROJECTION_VERSION && header->padding == 0 &&
		header->method >= FC_KERNEL_ONE_PASS && header->method <= FC_KERNEL_EXACT &&
		fc_kernel_check(&header->kernel) == FC_OK &&
		header->n >= 1 && header->d >= 1 && header->rank >= 1 && header->rank <= FC_MAX_KERNEL_RANK &&
		(header->oversampling == 0 || header->method == FC_KERNEL_ONE_PASS) &&
		(header->relative_error == -1.0 || header->relative_error >= 0.0) && isfinite(header->relative_error);
}

fc_status
fc_kernel_projection_check(const void *bytes, size_t size)
{
	const fc_kernel_projection_header *header = bytes;
	const double *eigenvalues;
	const int64_t *ids;
	const float *y;
	fc_status	status;

	if (size < sizeof(fc_kernel_projection_header) || !header_valid(header) ||
		size != fc_kernel_projection_size(header->n, header->rank))
		return FC_EFORMAT;
	eigenvalues = fc_kernel_projection_eigenvalues(header);
	ids = fc_kernel_projection_ids(header);
	y = fc_kernel_projection_rows(header);
	for (size_t j = 0; j < header->rank; j++)
		if (!(eigenvalues[j] >= 0.0 && isfinite(eigenvalues[j])) || (j > 0 && eigenvalues[j] > eigenvalues[j - 1]))
			return FC_EFORMAT;
	for (size_t i = 1; i < header->n; i++)
	{
		if (i % IDS_BLOCK == 0)
			fc_check();
		if (ids[i] <= ids[i - 1])
			return FC_EFORMAT;
	}
	if (!fc_zero_padding(y + header->n * header->rank, (const char *) bytes + size))
		return FC_EFORMAT;
	status = fc_finite_float_pieces(y, header->n * header->rank);
	return status == FC_EVALUE ? FC_EFORMAT : status;
}
