/* sparse_row.h - the label of a sparsevec, and the row written out where more than the label is asked for */
#ifndef FASTCLUST_SPARSE_ROW_H
#define FASTCLUST_SPARSE_ROW_H

#include "postgres.h"

#include "fmgr.h"

#include "base/fc.h"
#include "operator/operator.h"
#include "pg/base/vectors.h"

/* What a call site keeps from row to row. */
typedef struct sparse_site
{
	double	   *dense;			/* length d: zeros but for the elements of the row written last */
	Size		d;
	uint32	   *indices;		/* `room` each: a row's, as the metric takes it */
	double	   *values;
	Size		room;
	double	   *scores;			/* k */
	double		bound;			/* of their errors */
	Size		k;
	fc_sparse_row row;
	Size		written;		/* elements in `dense`, at the places indices had then */
	uint32	   *places;
} sparse_site;

typedef enum sparse_outcome
{
	SPARSE_UNKNOWN,				/* to be written out, checked and assigned as any row */
	SPARSE_NONE,				/* the metric has no label for it */
	SPARSE_KNOWN				/* its label, or its scores */
} sparse_outcome;

/* Rows of an operator from which on its columns are worth their making: they cost about so many dense ones. */
#define COLUMNS_FROM	16

/* The columns of op in memory of `context`; NULL where labels do not come from them, or they take more than `limit`.  *bytes: what they take. */
extern fc_columns *make_columns(const fc_operator *op, MemoryContext context, Size limit, Size *bytes);

/* The scores and their bound in the site, by the columns of op; NULL of them is SPARSE_UNKNOWN.  The site's memory lies in the context of the reader. */
extern sparse_outcome score_sparse_row(sparse_site *site, vector_reader *reader, Datum datum, const fc_operator *op, const fc_columns *columns);

/* The label in the same way. */
extern sparse_outcome label_sparse_row(sparse_site *site, vector_reader *reader, Datum datum, const fc_operator *op, const fc_columns *columns,
									   size_t *label);

/* The row labelled last, written out: d doubles until the next. */
extern const double *dense_sparse_row(sparse_site *site, MemoryContext context, Size d);

extern Size sparse_bytes(const sparse_site *site);

#endif							/* FASTCLUST_SPARSE_ROW_H */
