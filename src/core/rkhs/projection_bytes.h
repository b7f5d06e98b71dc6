/*
 * projection_bytes.h - the flat, versioned bytes of a kernel_projection.
 *
 * Layout (byte order the machine's, padding zero):
 *     fc_kernel_projection_header
 *     double  eigenvalues[rank]		descending, >= 0
 *     int64   ids[n]					ascending
 *     float   y[n * rank]				row by row; zeros up to a multiple of 8 bytes
 * All but the container is a function of the rows, the arguments and the processor: equal runs give equal bytes.
 */
#ifndef FC_RKHS_PROJECTION_BYTES_H
#define FC_RKHS_PROJECTION_BYTES_H

#include "rkhs/embed.h"
#include "rkhs/kernel.h"

#define FC_KERNEL_PROJECTION_VERSION	1

typedef enum fc_kernel_method
{
	FC_KERNEL_ONE_PASS = 1,
	FC_KERNEL_NYSTROEM = 2,
	FC_KERNEL_CHOLESKY = 3,
	FC_KERNEL_EXACT = 4
} fc_kernel_method;

typedef struct fc_kernel_projection_header
{
	uint32_t	container;		/* belongs to whoever stores the value; ignored */
	uint16_t	version;
	uint8_t		method;
	uint8_t		padding;		/* 0 */
	fc_kernel	kernel;
	uint64_t	seed;
	uint64_t	n;
	uint32_t	d;
	uint32_t	rank;
	uint32_t	columns;		/* of Omega, of K, or pivots; 0 when exact */
	uint32_t	oversampling;	/* asked for; one pass only */
	double		relative_error; /* -1: not known */
	uint64_t	workspace;		/* bytes it took to make */
} fc_kernel_projection_header;

/* SIZE_MAX when they do not fit. */
size_t		fc_kernel_projection_size(size_t n, size_t rank);

double	   *fc_kernel_projection_eigenvalues(const fc_kernel_projection_header *header);
int64_t    *fc_kernel_projection_ids(const fc_kernel_projection_header *header);
float	   *fc_kernel_projection_rows(const fc_kernel_projection_header *header);

/* Validate size untrusted bytes aligned to 8: FC_OK or FC_EFORMAT. */
fc_status	fc_kernel_projection_check(const void *bytes, size_t size);

#endif							/* FC_RKHS_PROJECTION_BYTES_H */
