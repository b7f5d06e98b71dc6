/*
 * kernel.h - shared by the glue's files on kernels.
 */
#ifndef FASTCLUST_KERNEL_H
#define FASTCLUST_KERNEL_H

#include "kmeans/kmeans.h"
#include "numerics/weighted_rows.h"
#include "pg/base/collect.h"
#include "rkhs/map.h"
#include "rkhs/projection.h"

/* ---- kernel_value.c ---- */

/* The text form, rbf(0.5) and the like, palloced. */
extern char *kernel_text(const fc_kernel *kernel);

/* A method of projection by its name, and back; another name is an error. */
extern fc_kernel_method kernel_method_of_name(const char *name);
extern const char *kernel_method_name(fc_kernel_method method);

/* check_status, where FC_EFAR speaks of a kernel's values. */
extern void check_kernel_status(fc_status status, const fc_kernel *kernel);

/* ---- kernel_rows.c ---- */

/*
 * The collected rows: the state of kernel_projection_agg, and without ids that
 * of landmarks_agg.
 */
typedef struct kernel_rows
{
	const state_kind *kind;
	fc_kernel	kernel;
	fc_kernel_method method;
	bool		has_ids;
	int32		rank;			/* the number of landmarks without ids */
	int32		oversampling;	/* of one pass */
	int32		columns;		/* of nystroem and pivoted_cholesky */
	int32		d;
	int32		width;			/* bytes of an element: 4 or 8 */
	uint64		seed;
	Size		n;
	Size		room;
	int64	   *ids;			/* n, when there are ids */
	char	   *x;				/* n x d floats or doubles */
	Jsonb	   *options;		/* those read; NULL: none, or the rows come
								 * from a worker */
} kernel_rows;

extern const state_kind kernel_state_kind;

extern const char *kernel_aggregate_name(const kernel_rows *rows);

/*
 * Rows without ids: so many of them as their rank says, or fewer, chosen by
 * randomly pivoted Cholesky (kernel_agg.c).
 */
extern fc_codebook *landmarks_of(const kernel_rows *rows);

/*
 * The map that rows suggest for k clusters, of so many landmarks at most
 * (kernel_fn.c).
 */
extern fc_kernel_map_header *spectral_map(const fc_weighted_rows *rows,
										  Size k, Size landmarks, int64 seed);

/* Bytes a final function takes for n rows beyond the collected ones. */
extern Size kernel_worksize(const kernel_rows *rows, Size n);

#endif							/* FASTCLUST_KERNEL_H */
