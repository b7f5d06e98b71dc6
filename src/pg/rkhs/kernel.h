/* kernel.h - declarations shared by the files on kernels in pg/rkhs */
#ifndef FASTCLUST_KERNEL_H
#define FASTCLUST_KERNEL_H

#include "kmeans/kmeans.h"
#include "numerics/weighted_rows.h"
#include "pg/base/collect.h"
#include "rkhs/map.h"
#include "rkhs/projection.h"

/* ---- kernel_value.c ---- */

/* Returns the kernel as text, such as "rbf(0.5)". */
extern char *kernel_text(const fc_kernel *kernel);

/*
 * Convert between a projection method and its name; an unknown name is an
 * error.
 */
extern fc_kernel_method kernel_method_of_name(const char *name);
extern const char *kernel_method_name(fc_kernel_method method);

/*
 * Raises the error of a status, as check_status does; FC_EFAR means that
 * kernel values are out of range.
 */
extern void check_kernel_status(fc_status status, const fc_kernel *kernel);

/* ---- kernel_rows.c ---- */

/*
 * Collected rows: the state of kernel_projection_agg, and of landmarks_agg,
 * whose rows have no ids.
 */
typedef struct kernel_rows
{
	const state_kind *kind;
	fc_kernel	kernel;
	fc_kernel_method method;
	bool		has_ids;

	/*
	 * option of method one_pass; true: the random matrix Omega has no probes,
	 * the additional columns of independent random signs, as in the paper
	 * that rkhs/projection.h cites
	 */
	bool		published;
	int32		rank;			/* rank of the projection; without ids,
								 * maximum number of landmarks */
	int32		oversampling;	/* additional columns of method one_pass */
	int32		columns;		/* number of columns of the kernel matrix that
								 * nystroem and pivoted_cholesky read */
	int32		d;				/* number of elements of a row */
	int32		width;			/* bytes per element: 4 or 8 */
	uint64		seed;
	Size		n;
	Size		capacity;
	int64	   *ids;			/* n ids, if has_ids */
	char	   *x;				/* n x d floats or doubles; for a kernel
								 * matrix, what fc_kernel_read_row computed
								 * from each row */
	int8_t	   *omega;			/* random signs Omega (rkhs/projection.h) for
								 * a kernel matrix, d x (r' + probes); NULL
								 * before its first row */
	double	   *row;			/* d doubles: a row of a kernel matrix */
	double	   *signs;			/* scratch space of fc_kernel_read_row */
	Jsonb	   *options;		/* options as given; NULL if there are none,
								 * or if the rows are from a worker */
} kernel_rows;

extern const state_kind kernel_state_kind;

extern const char *kernel_aggregate_name(const kernel_rows *rows);

/* Returns true if the rows make up a kernel matrix. */
static inline bool
is_precomputed(const fc_kernel *kernel)
{
	return kernel->kind == FC_KERNEL_PRECOMPUTED;
}

/*
 * Returns the numbers of rows, columns and probes of the single pass over a
 * kernel matrix of n rows.
 */
static inline fc_kernel_pass
pass_of(const kernel_rows *rows, Size n)
{
	return fc_kernel_pass_of(n, (Size) rows->rank, (Size) rows->oversampling,
							 rows->published, rows->seed);
}

/*
 * Raises an error if the kernel is "precomputed", because `function` computes
 * kernel values of rows.
 */
extern void reject_precomputed(const fc_kernel *kernel, const char *function);

/*
 * Chooses up to `rank` landmarks among rows without ids by randomly pivoted
 * Cholesky (kernel_agg.c).
 */
extern fc_codebook *landmarks_of(const kernel_rows *rows);

/*
 * Chooses a kernel map for k clusters from the rows, with up to `landmarks`
 * landmarks (kernel_fn.c).
 */
extern fc_kernel_map_header *spectral_map(const fc_weighted_rows *rows,
										  Size k, Size landmarks, int64 seed);

/*
 * kernel_worksize estimates the memory in bytes that the final function needs
 * for n rows; kernel_whole_size adds the collected rows.
 */
extern Size kernel_worksize(const kernel_rows *rows, Size n);
extern Size kernel_whole_size(const kernel_rows *rows, Size n);

#endif							/* FASTCLUST_KERNEL_H */
