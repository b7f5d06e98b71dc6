/* collection.h - rows collected in memory by an aggregate or a query */
#ifndef FASTCLUST_COLLECTION_H
#define FASTCLUST_COLLECTION_H

#include "fastclust.h"

typedef struct collection
{
	int32		d;
	int32		k;				/* clusters asked for */
	Size		n;
	Size		room;
	Jsonb	   *options;
	double	   *x;				/* n x d */
} collection;

/* Room for n rows, within the memory budget, in the current context. */
extern void reserve_rows(collection *rows, Size n);

/*
 * The rows as floats around their mean, times *scale (a power of 2 that brings them below 1), in
 * an order that depends on their values alone.
 */
extern float *ordered_rows(const collection *rows, double *mean, double *scale);

#endif							/* FASTCLUST_COLLECTION_H */
