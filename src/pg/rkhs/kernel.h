/*
 * kernel.h - what the glue's files on kernels share.
 */
#ifndef FASTCLUST_KERNEL_H
#define FASTCLUST_KERNEL_H

#include "postgres.h"

#include "fmgr.h"

#include "base/fc.h"
#include "rkhs/kernel.h"
#include "rkhs/projection_bytes.h"

/* ---- kernel_value.c ---- */

/* The text form, rbf(0.5) and the like, palloced. */
extern char *kernel_text(const fc_kernel *kernel);

/* A method of projection by its name, and back; another name is an error. */
extern fc_kernel_method kernel_method_of_name(const char *name);
extern const char *kernel_method_name(fc_kernel_method method);

/* check_status, where FC_EFAR speaks of a kernel's values. */
extern void check_kernel_status(fc_status status, const fc_arena *arena, const fc_kernel *kernel);

/* ---- kernel_rows.c ---- */

/* What an aggregate over rows with a kernel is called, and what its arguments are. */
typedef struct kernel_aggregate
{
	const char *name;
	fc_kernel_method method;
	bool		has_ids;		/* the first argument is id */
	const char *counts[2];		/* names of the integer arguments behind the kernel */
	int32		least[2];
	int32		most[2];
	int32		default_second;
} kernel_aggregate;

/* The collected rows: the aggregate's state. */
typedef struct kernel_rows
{
	fc_kernel	kernel;
	int32		d;
	int32		width;			/* bytes of an element: 4 or 8 */
	int32		counts[2];
	bool		has_ids;
	uint64		seed;
	Size		n;
	Size		room;
	int64	   *ids;			/* n, when there are ids */
	char	   *x;				/* n x d floats or doubles */
} kernel_rows;

/* Bytes a final function takes for n rows beside the collected ones. */
extern Size kernel_worksize(const kernel_aggregate *aggregate, const kernel_rows *rows, Size n);

extern Datum kernel_accumulate(FunctionCallInfo fcinfo, const kernel_aggregate *aggregate);

/* ---- kernel_agg.c ---- */
extern const kernel_aggregate kernel_one_pass;
extern const kernel_aggregate kernel_nystroem;
extern const kernel_aggregate kernel_cholesky;
extern const kernel_aggregate kernel_exact;

#endif							/* FASTCLUST_KERNEL_H */
