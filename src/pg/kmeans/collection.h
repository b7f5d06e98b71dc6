/* collection.h - rows collected in memory by an aggregate or a query */
#ifndef FASTCLUST_COLLECTION_H
#define FASTCLUST_COLLECTION_H

#include "kmeans/choose.h"
#include "kmeans/ordered.h"
#include "numerics/weighted_rows.h"
#include "operator/bytes.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"

typedef struct collection
{
	const state_kind *kind;		/* functions of the kmeans_agg state */
	int32		d;
	int32		k;				/* requested number of clusters */
	fc_metric	metric;			/* metric in the options; cosine rows have
								 * length 1 */
	Size		n;
	Size		capacity;
	Jsonb	   *options;
	bool		weighted;		/* true if the weight of a row follows its d
								 * values */
	double	   *x;				/* n x d values, or n x (d + 1) with weights */
	memory_account *account;	/* memory account of the call that scans the
								 * rows, or NULL */
} collection;

extern const state_kind kmeans_state_kind;

/*
 * Enlarges the collection to `capacity` rows, in the current context; the
 * caller has checked the budget.
 */
extern void resize_collection(collection *rows, Size capacity);

static inline Size
collection_bytes(const collection *rows, Size n)
{
	return n * ((Size) rows->d + rows->weighted) * sizeof(double);
}

/*
 * Raises the error of a status, as check_status does; FC_EFAR means that rows
 * are too far from their mean.
 */
extern void check_ordered(fc_status status, const fc_ordering *ordering);

/* Returns the effort with this name, or the default for NULL. */
extern fc_kmeans_effort effort_of_options(const char *name);

/*
 * Reads the options of kmeans_agg into *options, in which the caller has set
 * the defaults. n_init must be at least `min`.
 */
extern void read_kmeans_options(Jsonb *given, int min, fc_kmeans_options *options);

/*
 * Scales k x d centroids to length 1 if the metric is cosine, and returns
 * them. A zero centroid becomes the unit vector of the first dimension.
 */
extern double *unit_centroids(fc_metric metric, double *centroids, Size k, Size d);

/*
 * Runs k-means on weighted rows and returns k centroids for the metric of the
 * rows. start has k initial centroids, or is NULL. If options->n_init is 0,
 * k-means begins from the start alone. The rows farthest from the centroids,
 * with the share `trim` of the weight, are left out.
 */
extern fc_codebook *kmeans_of_rows(const fc_weighted_rows *rows, Size k,
								   fc_kmeans_options *options,
								   const fc_codebook *start, double trim);

/*
 * Moves the centroids of the start so that, if possible, no cluster has more
 * than the weight `max`.
 */
extern fc_codebook *even_clusters(const fc_weighted_rows *rows,
								  const fc_codebook *start,
								  double max);

/* Returns the number of distinct rows, or max if there are more. */
extern Size distinct_rows(const fc_weighted_rows *rows, Size max);

/*
 * Tries the numbers of clusters up to max_k, and returns the choice. Leaves
 * out the share `trim` of the rows, the ones farthest from their median.
 * halved: true if the first and the second half of the rows are the halves to
 * compare; false: rows are divided into halves at random. apart: d flags, true
 * for two-valued coordinates that are known to separate clusters; NULL if
 * there are none.
 */
extern fc_choice *choose_clusters(const fc_weighted_rows *rows, bool halved, Size max_k,
								  int64 seed, double trim, const bool *apart);

#endif							/* FASTCLUST_COLLECTION_H */
