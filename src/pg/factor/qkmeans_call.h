/*
 * qkmeans_call.h - QK-means over a table or collected rows; check_min_budget
 * and factorized_operator are shared with factorize
 */
#ifndef FASTCLUST_QKMEANS_CALL_H
#define FASTCLUST_QKMEANS_CALL_H

#include "portability/instr_time.h"

#include "factor/qkmeans.h"
#include "factor/sample.h"
#include "pg/kmeans/collection.h"

/* Log entry of one scan of the rows. */
typedef struct qkmeans_entry
{
	fc_qkmeans_step step;
	double		seconds;		/* elapsed since the previous entry */
	fc_operator_header *op;		/* operator of the scan; NULL before the first
								 * scan, and if the log is not returned as
								 * rows */
} qkmeans_entry;

typedef struct qkmeans_call
{
	int32		k;
	fc_qkmeans_options options;
	bool		centered;
	bool		verbose;
	fc_start_kind init;
	const double *centroids;	/* initial centroids, k x dimensions, or NULL */
	int			dimensions;
	uint64		seed;
	int			trials;			/* number of sparsities tried */

	/*
	 * first trial whose labels are as good as the labels of the start;
	 * same_labels.factors is 0 if there is none
	 */
	fc_trial	same_labels;
	memory_account memory;
	instr_time	last;
	FunctionCallInfo rows;		/* call that receives one row per scan, or
								 * NULL */
	qkmeans_entry entry;		/* log entry of the last scan */
} qkmeans_call;

/*
 * Raises an error if option `budget` is below `min`, the minimum number of
 * values that `what` needs for k x d centroids. A budget of 0 means no limit.
 */
extern void check_min_budget(double budget, size_t min, const char *what,
							 size_t k, size_t d, const char *hint);

/* Returns true if option `published` is true. */
extern bool is_published(const Jsonb *options);

/*
 * Returns rows in memory as a source for the scans of fc_qkmeans;
 * rows->account must be set.
 */
extern fc_row_source collected_rows(const collection *rows);

/* Puts the last log entry into the result set as a row of qkmeans_log. */
extern void put_qkmeans_entry(const qkmeans_call *call);

extern void read_qkmeans_options(Jsonb *json, int32 k, qkmeans_call *call);

/*
 * Factorizes the centroids by a method of factorize with its options. rows:
 * sample on which method auto compares labels, or NULL (factorize_fn.c).
 */
extern fc_operator_header *factorized_operator(const fc_operator_header *centroids,
											   const char *method,
											   Jsonb *options, const fc_weighted_rows *rows);

/*
 * Runs QK-means. The start is computed from `sample`; `source` scans all n
 * rows.
 */
extern fc_operator_header *run_qkmeans(qkmeans_call *call, const collection *sample,
									   const fc_row_source *source, Size n);

#endif							/* FASTCLUST_QKMEANS_CALL_H */
