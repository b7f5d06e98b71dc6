/* sample.h - the uniform sample of a training, and rows of a sample */
#ifndef FASTCLUST_TRAIN_SAMPLE_H
#define FASTCLUST_TRAIN_SAMPLE_H

#include "pg/train/query.h"
#include "pg/train/training.h"

/*
 * Bytes of the budget for each number of a sample: 16 where it is drawn
 * (doubles, copied once), then 4, beside the uniform sample and the work space
 * of k-means.  Few clusters gain little from more rows, so half of the budget
 * is enough for them.  The samples of groups are searched one by one.
 */
#define BYTES_OF_SAMPLE	49
#define BYTES_OF_MANY	24		/* clusters */
#define BYTES_OF_GROUPS	16
#define BYTES_SENT		56		/* where workers send theirs to the leader,
								 * which keeps these until all have come */

/*
 * Rows that fit into the memory budget beside the bytes held, `size` at most.
 */
extern Size
			rows_in_budget(double size, Size held, Size of_number, Size dimension);

/*
 * scan_flags of a scan for a sample of so many rows: without workers where
 * the budget has no room for theirs.
 */
extern int	sampling_flags(const training *t, double rows, Size held, Size dim);

/*
 * How many rows a training wants in its uniform sample; one in random order,
 * in the rows' own units.
 */
extern double wanted_rows(const training *t);

/*
 * Rows of a sample, so many for each cluster as are usual, or fewer where the
 * method is kmeans and the option effort is fast.
 */
extern double rows_of_clusters(const training *t, double usual);

/* A sample of `wanted` rows; 0: as many as the options say. */
extern const fc_weighted_rows *uniform_sample(training *t, double wanted);

/* Some rows of a source of so many dimensions. */
extern const fc_weighted_rows *sample_of_source(const training *t,
												const train_source *source,
												Size dim, double wanted);
extern units encoder_units(const train_source *source);

/* The rows 0, step, 2 step, ..., `most` of them at most, as centroids. */
extern fc_codebook *every_nth_row(const fc_weighted_rows *rows, Size step, Size most);

/* The first `most` rows, or all. */
extern const fc_weighted_rows *first_rows(const fc_weighted_rows *rows, Size most);

/* The features of rows by a map; NULL: the rows. */
extern const fc_weighted_rows *rows_with_map(const struct varlena *map,
											 const fc_weighted_rows *rows);

/* Compares two doubles, for qsort. */
extern int	ascending(const void *a, const void *b);

/* The parameters of row_text: three arguments. */
extern void set_units(const training *t, query_argument *arguments);

/* ---- the plan of a scan ---- */

/*
 * The results that a scan shall find of the rows in units; zeros and NULLs:
 * not these.
 */
typedef struct scan_request
{
	units units;
	struct varlena *map;
	const fc_spec *spec;
	const fc_drift_spec *drift_spec;
	int			share;			/* 0: all */
	double		size;			/* of the weighted sample */
	const double *center;
	double		variance;		/* 0: a uniform sample */
	double		rank_limit;
	int			operators;
	const fc_operator_header *op[2];
} scan_request;

/* The plan of scan_agg. */
extern Datum plan_of_scan(const training *t, const train_source *source,
						  const scan_request *request);

#endif							/* FASTCLUST_TRAIN_SAMPLE_H */
