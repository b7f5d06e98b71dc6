/*
 * qkmeans_call.h - QK-means over a table or over collected rows: shared by
 * both, and by factorize
 */
#ifndef FASTCLUST_QKMEANS_CALL_H
#define FASTCLUST_QKMEANS_CALL_H

#include "portability/instr_time.h"

#include "factor/qkmeans.h"
#include "factor/sample.h"
#include "pg/kmeans/collection.h"

/* The log entry of a scan. */
typedef struct qkmeans_entry
{
	fc_qkmeans_step step;
	double		seconds;		/* since the entry before */
	fc_operator_header *op;		/* NULL before the first scan, and where no
								 * rows are wanted */
} qkmeans_entry;

typedef struct qkmeans_call
{
	int32		k;
	fc_qkmeans_options options;
	bool		centered;
	bool		verbose;
	fc_start_kind init;
	const double *centroids;	/* to start from, k x dimensions, or NULL */
	int			dimensions;
	uint64		seed;
	int			trials;			/* of sparsities */

	/*
	 * the first of them whose labels are as good as those of the start;
	 * factors 0: none
	 */
	fc_trial	same_labels;
	memory_account memory;
	instr_time	last;
	FunctionCallInfo rows;		/* for a row a scan, or NULL */
	qkmeans_entry entry;		/* of the last scan */
} qkmeans_call;

/*
 * An option `budget` (0: none) below the least that `what` can keep to, for k
 * x d centroids, is an error.
 */
extern void check_least_budget(double budget, size_t least, const char *what,
							   size_t k, size_t d, const char *hint);

/* Rows in memory, for the scans of fc_qkmeans; rows->account is set. */
extern fc_row_source collected_rows(const collection *rows);

/* The entry as a row of qkmeans_log. */
extern void put_qkmeans_entry(const qkmeans_call *call);

extern void read_qkmeans_options(Jsonb *json, int32 k, qkmeans_call *call);

/*
 * The centroids by a method of factorize with its options; rows that auto
 * judges by, or NULL (factorize_fn.c).
 */
extern fc_operator_header *factorized_operator(const fc_operator_header *centroids,
											   const char *method,
											   Jsonb *options, const fc_weighted_rows *rows);

/* sample: rows the start is made of; source: where all n rows are. */
extern fc_operator_header *run_qkmeans(qkmeans_call *call, const collection *sample,
									   const fc_row_source *source, Size n);

#endif							/* FASTCLUST_QKMEANS_CALL_H */
