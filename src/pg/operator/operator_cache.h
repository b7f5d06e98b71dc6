/*
 * operator_cache.h - operators that rows meet again and again, and buffers
 * that live as long as the call site
 */
#ifndef FASTCLUST_OPERATOR_CACHE_H
#define FASTCLUST_OPERATOR_CACHE_H

#include "operator/bytes.h"
#include "pg/base/vectors.h"

/*
 * ---- labels of sparsevecs ----
 *
 * A row is written out where more than its label is asked for.
 */

/* The state that a call site keeps from row to row. */
typedef struct sparse_site
{
	double	   *dense;			/* length d: zeros but for the elements of the
								 * row written last */
	Size		d;
	uint32	   *indices;		/* `room` each: a row's, as the metric takes
								 * it */
	double	   *values;
	Size		room;
	double	   *scores;			/* k */
	double		bound;			/* of their errors */
	Size		k;
	fc_sparse_row row;
	Size		written;		/* elements in `dense`, at the places indices
								 * had then */
	uint32	   *places;
} sparse_site;

typedef enum sparse_outcome
{
	SPARSE_UNKNOWN,				/* to be written out, checked and assigned as
								 * any row */
	SPARSE_NONE,				/* the metric has no label for it */
	SPARSE_KNOWN				/* its label, or its scores */
} sparse_outcome;

/*
 * Rows of an operator from which on its columns are worth their making: they
 * cost about so many dense ones.
 */
#define COLUMNS_FROM	16

/*
 * The columns of op, made in `context` for the row that is asked for at last,
 * where labels come from them and they do not take too much beside *held.
 */
extern const fc_columns *columns_of(fc_columns **columns, const fc_operator *op, Size asked,
									MemoryContext context, Size *held);

/*
 * The elements in site->row as the metric takes them, and room for k scores;
 * many or large ones of a row are SPARSE_UNKNOWN.
 */
extern sparse_outcome
			take_sparse_row(sparse_site *site, vector_reader *reader, Datum datum,
							fc_metric metric, Size d, Size k);

/*
 * The label by the columns of op; NULL of them is SPARSE_UNKNOWN. The site's
 * memory lies in the context of the reader.
 */
extern sparse_outcome
			label_sparse_row(sparse_site *site, vector_reader *reader, Datum datum,
							 const fc_operator *op, const fc_columns *columns,
							 size_t *label);

/* The row labelled last, written out: d doubles until the next. */
extern const double *dense_sparse_row(sparse_site *site, MemoryContext context, Size d);

/* ---- the state of a call site ---- */

/*
 * An operator argument, detoasted once per call site, and buffers that live as
 * long.
 */
extern const fc_operator *cached_operator(FunctionCallInfo fcinfo, int argument,
										  const fc_operator_header **header);

/*
 * The same for any value with its digest where fc_operator_header has it;
 * make_view writes into the view_size bytes that are returned, zero at first,
 * once per value. One argument a call site.
 */
extern const void *cached_view(FunctionCallInfo fcinfo, int argument, Size view_size,
							   void (*make_view) (const void *bytes, void *view),
							   const void **bytes);

/*
 * The same with the rows of a product ready for many distances, where the
 * budget allows.
 */
extern const fc_operator *cached_expanded_operator(FunctionCallInfo fcinfo, int argument,
												   const fc_operator_header **header);

/*
 * The label of a sparsevec, by the columns of the operator that
 * cached_operator gave last; SPARSE_UNKNOWN for other types, too.
 */
extern sparse_outcome
			cached_sparse_label(FunctionCallInfo fcinfo, int argument, size_t *label);

/* The same for its scores, which are in *site. */
extern sparse_outcome
			cached_sparse_scores(FunctionCallInfo fcinfo, int argument,
								 const sparse_site **site);

/* The row so read, written out, and its elements alone. */
extern const double *cached_sparse_row(FunctionCallInfo fcinfo, const fc_sparse_row **elements);

extern fc_scratch cached_scratch(FunctionCallInfo fcinfo, Size floats);

/* Bytes that the call site keeps by the functions above, but for a scratch. */
extern Size cached_bytes(FunctionCallInfo fcinfo);
extern vector_reader *cached_reader(FunctionCallInfo fcinfo);
extern double *cached_doubles(FunctionCallInfo fcinfo, Size count);

#endif							/* FASTCLUST_OPERATOR_CACHE_H */
