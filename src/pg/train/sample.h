/* sample.h - the uniform sample of a training, and rows of a sample */
#ifndef FASTCLUST_TRAIN_SAMPLE_H
#define FASTCLUST_TRAIN_SAMPLE_H

#include "pg/base/memory.h"
#include "pg/train/query.h"
#include "pg/train/source.h"
#include "pg/train/training.h"

/*
 * Memory budget per value of a sample. While the sample is drawn, a value is a
 * double that is copied once, which takes 16 bytes. Afterwards it takes 4
 * bytes. The rest is for the uniform sample and the work space of k-means. For
 * up to 256 clusters, half as many rows are enough, because they gain little
 * from more rows. The samples of groups are searched one by one and share the
 * work space.
 */

/* Memory per value of a sample, in bytes, for up to 256 clusters. */
#define SAMPLE_BYTES	49

/* Memory per value of a sample, in bytes, for more than 256 clusters. */
#define LARGE_K_SAMPLE_BYTES	24

/* Memory per value of the samples of groups, in bytes. */
#define GROUP_SAMPLE_BYTES	16

/*
 * Memory per value of a sample, in bytes, if workers send samples to the
 * leader, which keeps the samples until it has received all of them.
 */
#define SENT_BYTES	56

/*
 * Returns the number of rows that fit into the memory budget in addition to
 * `used` bytes, at most `size` and at least 100. A row takes `of_number` bytes
 * for each of its `dimension` values, and a constant overhead.
 */
extern Size rows_in_budget(double size, Size used, Size of_number, Size dimension);

/*
 * Returns scan_flags for a scan that draws a sample of `rows` rows while
 * `used` bytes are in use. The scan has no parallel workers if their samples
 * do not fit into the memory budget; with groups, this is not checked.
 */
extern int	sampling_flags(const training *t, double rows, Size used, Size dim);

/*
 * Runs a query that reads rows of the training. An error about an element of
 * a vector gets a hint that names the column.
 */
extern void run_row_query(const training *t, const char *text, int count,
						  const query_argument *arguments, int flags);

/* Returns the choice of about `wanted` rows of the training. */
static inline row_choice
some_rows(const training *t, double wanted)
{
	return (row_choice)
	{
		wanted, t->estimate, t->options->seed
	};
}

/*
 * Returns the number of rows that the uniform sample of a training should
 * have.
 */
extern double wanted_rows(const training *t);

/*
 * Returns true if fastclust.memory_budget limits the number of rows of the
 * uniform sample.
 */
extern bool sample_is_cut(const training *t);

/*
 * Returns the number of sampled rows for all clusters: `usual` rows for each
 * cluster. Method density takes fewer rows per cluster, and so does method
 * kmeans with option effort fast.
 */
extern double rows_of_clusters(const training *t, double usual);

/*
 * Sets t->dim, and returns a uniform sample of `wanted` rows in random order,
 * not scaled; wanted 0: as many rows as wanted_rows returns.
 */
extern const fc_weighted_rows *uniform_sample(training *t, double wanted);

/*
 * Returns a uniform sample of about `wanted` rows of a source with `dim`
 * dimensions.
 */
extern const fc_weighted_rows *sample_of_source(const training *t,
												const train_source *source,
												Size dim, double wanted);

/*
 * Argument `tenths` of sample_of_units for two sets of equal size, which
 * choose_k compares.
 */
extern const int unit_halves[2];

/*
 * Returns a uniform sample of up to `wanted` rows, not scaled, as two or three
 * consecutive sets of rows. All rows of a unit are in the same set. tenths:
 * the size of each set in tenths of the sample, 10 in all. Each set is in
 * random order; rows of larger weights are more likely to be in it. If the
 * sets would be too small, the sample ignores units.
 */
extern const fc_weighted_rows *sample_of_units(const training *t, const train_source *source,
											   Size dim, const int *tenths, double wanted);

/*
 * Returns the sample in a row of the last query, whose column 2 is a packed
 * state of a scan. Sets *n to the number of rows that the scan read. Returns
 * NULL if that number is 0 or, without setting *n, if the state is NULL.
 */
extern const fc_weighted_rows *read_sample(const train_source *source, uint64 row,
										   memory_account *memory, int64 *n);

/* Returns the first taken[i] rows of each of `count` samples as one sample. */
extern const fc_weighted_rows *joined_rows(const fc_weighted_rows *const *sets,
										   const Size *taken, int count);

/*
 * Returns the dimension of a row. If the features are columns without an
 * encoder yet, call learn_encoder first. Raises an error if there are no rows.
 */
extern Size dimension_of(const training *t);

extern scaling encoder_scaling(const train_source *source);

/*
 * Returns the scaled fill values of the encoder, which replace missing values
 * of a sample; NULL if samples of the source have no missing values.
 */
extern const double *fill_of_source(const train_source *source, scaling scaled);

/*
 * Returns every step-th row, beginning with row 0, as centroids, at most `max`
 * of them.
 */
extern fc_codebook *every_nth_row(const fc_weighted_rows *rows, Size step, Size max);

/*
 * Returns true if few far rows determine the sum of squared distances, so that
 * a uniform sample may lack them.
 */
extern bool has_heavy_tail(const fc_weighted_rows *rows);

/*
 * Returns about `count` rows as centroids, drawn in proportion to weight and
 * importance (core/operator/coreset.h). Their weights preserve sums over all
 * rows.
 */
extern fc_codebook *important_rows(const fc_weighted_rows *rows, double count, uint64 seed);

/*
 * Resamples rows so that each has the weight 1: a row occurs in proportion to
 * its weight. Returns them in random order. There are as many as before or, if
 * the weights are whole numbers with a small sum, as many as the sum. If all
 * weights are equal, returns the rows unchanged.
 */
extern const fc_weighted_rows *even_rows(const fc_weighted_rows *rows, uint64 seed);

/* Returns the first `max` rows, or all if there are fewer. */
extern const fc_weighted_rows *first_rows(const fc_weighted_rows *rows, Size max);

/*
 * Returns the rows mapped to kernel features, or the rows themselves if map is
 * NULL.
 */
extern const fc_weighted_rows *rows_with_map(const fc_kernel_map_header *map,
											 const fc_weighted_rows *rows);

/* Compares two doubles, for qsort. */
extern int	ascending(const void *a, const void *b);

/*
 * Sets arguments[0 .. 2], the parameters of the expression of row_text, to the
 * center, the scale and the kernel map of the training.
 */
extern void set_scaling(const training *t, query_argument *arguments);

/* ---- the plan of a scan ---- */

/*
 * Results requested from a scan. A result whose member is zero or NULL is not
 * computed.
 */
typedef struct scan_request
{
	scaling		scaling;
	const fc_kernel_map_header *map;
	const fc_spec *spec;
	const fc_drift_spec *drift_spec;
	int			share;			/* a power of 2: one row in `share` enters
								 * sketch and counts; 0: all rows */
	double		size;			/* number of rows in the weighted sample; 0:
								 * no sample */
	const double *center;
	double		variance;		/* mean squared distance of the rows from
								 * center; 0: a uniform sample */
	double		rank_limit;		/* rows of this rank (coreset.h) or a higher
								 * one are not sampled; 0: no limit */
	int			operators;		/* number of operators in op */
	const fc_operator_header *op[2];
} scan_request;

/* Returns the plan of scan_agg, a value of type scan_plan. */
extern Datum plan_of_scan(const training *t, const train_source *source,
						  const scan_request *request);

#endif							/* FASTCLUST_TRAIN_SAMPLE_H */
