/* sample.h - the uniform sample of a training, and rows of a sample */
#ifndef FASTCLUST_TRAIN_SAMPLE_H
#define FASTCLUST_TRAIN_SAMPLE_H

#include "pg/base/memory.h"
#include "pg/train/query.h"
#include "pg/train/source.h"
#include "pg/train/training.h"

/*
 * Bytes of the budget for each number of a sample: 16 while it is drawn
 * (doubles, copied once), then 4, besides the uniform sample and the work
 * space of k-means. Few clusters gain little from more rows, so half of the
 * budget is enough for them. The samples of groups are searched one by one.
 */

/* Memory per number of a sample, in bytes, for up to 256 clusters. */
#define SAMPLE_BYTES	49

/* Memory per number of a sample, in bytes, for more than 256 clusters. */
#define LARGE_K_SAMPLE_BYTES	24

/* Memory per number of the samples of groups, in bytes. */
#define GROUP_SAMPLE_BYTES	16

/*
 * Memory per number of a sample, in bytes, if workers send samples to the
 * leader, which keeps the samples until it has received all of them.
 */
#define SENT_BYTES	56

/*
 * Returns the number of rows that fit into the memory budget in addition to
 * `used` bytes, at most `size` and at least 100. A row takes `of_number` bytes
 * for each of its `dimension` numbers.
 */
extern Size rows_in_budget(double size, Size used, Size of_number, Size dimension);

/*
 * Returns the scan_flags of a scan for a sample of `rows` rows, without
 * parallel workers if their samples do not fit into the memory budget.
 */
extern int	sampling_flags(const training *t, double rows, Size used, Size dim);

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
 * Returns the number of sampled rows for all clusters: `usual` for each
 * cluster, or fewer for method density, and for kmeans with option effort
 * fast.
 */
extern double rows_of_clusters(const training *t, double usual);

/*
 * Returns a uniform sample of `wanted` rows in random order, not scaled;
 * wanted 0: as many rows as wanted_rows returns.
 */
extern const fc_weighted_rows *uniform_sample(training *t, double wanted);

/*
 * Returns a uniform sample of about `wanted` rows of a source with `dim`
 * dimensions.
 */
extern const fc_weighted_rows *sample_of_source(const training *t,
												const train_source *source,
												Size dim, double wanted);

/* Tenths of the halves for choose_k, as sample_of_units needs them. */
extern const int unit_halves[2];

/*
 * Returns a uniform sample of up to `wanted` rows, not scaled, in two or three
 * consecutive sets of rows, each of other units. tenths: tenths of the sample
 * in each set, 10 in all. Sets are random, as are the rows in each; rows of
 * larger weights are more likely to be in the sample.
 */
extern const fc_weighted_rows *sample_of_units(const training *t, const train_source *source,
											   Size dim, const int *tenths, double wanted);

/*
 * Returns the sample in column 2 of a row of the last query, which is a packed
 * state of a scan; NULL if it has no rows. Sets *n to the number of rows that
 * were read.
 */
extern const fc_weighted_rows *read_sample(const train_source *source, uint64 row,
										   memory_account *memory, int64 *n);

/* Returns the first taken[i] rows of each of `count` samples as one sample. */
extern const fc_weighted_rows *joined_rows(const fc_weighted_rows *const *sets,
										   const Size *taken, int count);

/*
 * Returns the dimension of the rows, for which the encoder of columns has been
 * learned.
 */
extern Size dimension_of(const training *t);

extern scaling encoder_scaling(const train_source *source);

/*
 * Returns the scaled fill values of the encoder, which replace missing values
 * of a sample; NULL if samples of the source have none.
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
 * Returns about as many rows of equal weights in random order, each in
 * proportion to its weight; as many as their sum if weights are whole numbers.
 * Returns the rows themselves if their weights are equal.
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
	double		size;			/* number of rows in the weighted sample */
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
