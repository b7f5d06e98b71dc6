/* collection.h - rows collected in memory by an aggregate or a query */
#ifndef FASTCLUST_COLLECTION_H
#define FASTCLUST_COLLECTION_H

#include "postgres.h"

#include "utils/jsonb.h"

#include "kmeans/kmeans.h"
#include "pg/base/memory.h"

typedef struct collection
{
	int32		d;
	int32		k;				/* clusters asked for */
	Size		n;
	Size		room;
	Jsonb	   *options;
	double	   *x;				/* n x d */
	account    *account;		/* of the call that scans them, or NULL */
} collection;

/* Room for so many rows, in the current context; the caller has checked the budget. */
extern void resize_collection(collection *rows, Size room);

static inline Size
collection_bytes(const collection *rows, Size n)
{
	return n * (Size) rows->d * sizeof(double);
}

/*
 * The rows as floats around their mean, times *scale (a power of 2 that brings them below 1), in
 * an order that depends on their values alone.  It takes order_bytes(n) beside the floats meanwhile.
 */
extern float *ordered_rows(const collection *rows, double *mean, double *scale);
extern Size order_bytes(Size n);

/* The options that kmeans_agg knows, over the defaults; n_init from `least` on. */
extern void read_kmeans_options(Jsonb *given, int least, fc_kmeans_options *options);

#endif							/* FASTCLUST_COLLECTION_H */
