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
	const state_kind *kind;		/* of the state of kmeans_agg */
	int32		d;
	int32		k;				/* clusters requested */
	fc_metric	metric;			/* of the options; cosine: rows are of length
								 * 1 */
	Size		n;
	Size		room;
	Jsonb	   *options;
	double	   *x;				/* n x d */
	memory_account *account;	/* of the call that scans them, or NULL */
} collection;

extern const state_kind kmeans_state_kind;

/*
 * Room for so many rows, in the current context; the caller has checked the
 * budget.
 */
extern void resize_collection(collection *rows, Size room);

static inline Size
collection_bytes(const collection *rows, Size n)
{
	return n * (Size) rows->d * sizeof(double);
}

/* check_status, for which FC_EFAR means rows too far from their mean. */
extern void check_ordered(fc_status status, const fc_ordering *ordering);

/* The option "effort", of NULL the default. */
extern fc_kmeans_effort effort_of_options(const char *name);

/*
 * The options that kmeans_agg knows, over the defaults; n_init from `least`
 * on.
 */
extern void
			read_kmeans_options(Jsonb *given, int least, fc_kmeans_options *options);

/*
 * k x d centroids that a search left within rounding of their metric's sphere,
 * on it.
 */
extern double *unit_centroids(fc_metric metric, double *centroids, Size k, Size d);

/*
 * K-means of weighted rows: k centroids by the metric of the rows, from the
 * start (NULL: none) and by the options; n_init 0 searches from the start
 * alone. The share `trim` of the weight that is farthest is left out.
 */
extern fc_codebook *kmeans_of_rows(const fc_weighted_rows *rows, Size k,
								   fc_kmeans_options *options,
								   const fc_codebook *start, double trim);

/*
 * The centroids of the start moved until none has more than so much of the
 * rows' weight, as far as that is possible.
 */
extern fc_codebook *even_clusters(const fc_weighted_rows *rows,
								  const fc_codebook *start,
								  double most);

/* How many rows are different, counted up to `most`. */
extern Size distinct_rows(const fc_weighted_rows *rows, Size most);

/*
 * The numbers of clusters up to max_k tried on rows, without the share `trim`
 * of those farthest out; apart: as for fc_choose_k.
 */
extern fc_choice *choose_clusters(const fc_weighted_rows *rows, Size max_k,
								  int64 seed, double trim, const bool *apart);

#endif							/* FASTCLUST_COLLECTION_H */
