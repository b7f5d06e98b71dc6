/* sample.h - the uniform sample of a training, and rows of a sample */
#ifndef FASTCLUST_TRAIN_SAMPLE_H
#define FASTCLUST_TRAIN_SAMPLE_H

#include "pg/train/query.h"
#include "pg/train/training.h"

/*
 * Bytes of the budget for each number of a sample: 16 while it is drawn
 * (doubles, copied once), then 4, besides the uniform sample and the work
 * space of k-means. Few clusters gain little from more rows, so half of the
 * budget is enough for them. The samples of groups are searched one by one.
 */
#define BYTES_OF_SAMPLE	49
#define BYTES_OF_MANY	24		/* bytes per number for more than 256 clusters */
#define BYTES_OF_GROUPS	16
#define BYTES_SENT		56		/* bytes per number if workers send samples to
								 * the leader, which keeps them until all have
								 * come */

/*
 * Returns how many rows fit into the memory budget besides `used` bytes, no
 * more than `size` but no less than 100.
 */
extern Size
			rows_in_budget(double size, Size used, Size of_number, Size dimension);

/*
 * Returns scan_flags of a scan for a sample of `rows` rows, without workers
 * if the budget has no room for their samples.
 */
extern int	sampling_flags(const training *t, double rows, Size used, Size dim);

/* Returns how many rows a training wants in its uniform sample. */
extern double wanted_rows(const training *t);

/*
 * Returns how many rows a sample has for all clusters, `usual` for each, or
 * fewer for method density, and for kmeans with option effort fast.
 */
extern double rows_of_clusters(const training *t, double usual);

/*
 * Returns a uniform sample of `wanted` rows in random order and in their own
 * units; wanted 0: as many as the options say.
 */
extern const fc_weighted_rows *uniform_sample(training *t, double wanted);

/*
 * Returns a uniform sample of about `wanted` rows of a source with `dim`
 * dimensions.
 */
extern const fc_weighted_rows *sample_of_source(const training *t,
												const train_source *source,
												Size dim, double wanted);
extern scaling encoder_scaling(const train_source *source);

/*
 * Returns the rows 0, step, 2 step, ... as centroids, but no more than `max`
 * of them.
 */
extern fc_codebook *every_nth_row(const fc_weighted_rows *rows, Size step, Size max);

/* Returns the first `max` rows, or all if there are fewer. */
extern const fc_weighted_rows *first_rows(const fc_weighted_rows *rows, Size max);

/*
 * Returns the kernel features of the rows by a map; map NULL returns the
 * rows.
 */
extern const fc_weighted_rows *rows_with_map(const struct varlena *map,
											 const fc_weighted_rows *rows);

/* Compares two doubles, for qsort. */
extern int	ascending(const void *a, const void *b);

/* Sets three arguments, which are the parameters of row_text. */
extern void set_scaling(const training *t, query_argument *arguments);

/* ---- the plan of a scan ---- */

/*
 * Results requested from a scan; a member that is zero or NULL is not
 * computed.
 */
typedef struct scan_request
{
	scaling		scaling;
	struct varlena *map;
	const fc_spec *spec;
	const fc_drift_spec *drift_spec;
	int			share;			/* a power of 2: one row in `share` enters
								 * sketch and counts; 0: all rows */
	double		size;			/* rows of the weighted sample */
	const double *center;
	double		variance;		/* mean squared distance of the rows from
								 * center; 0: a uniform sample */
	double		rank_limit;
	int			operators;
	const fc_operator_header *op[2];
} scan_request;

/* Returns the plan of scan_agg, a value of type scan_plan. */
extern Datum plan_of_scan(const training *t, const train_source *source,
						  const scan_request *request);

#endif							/* FASTCLUST_TRAIN_SAMPLE_H */
