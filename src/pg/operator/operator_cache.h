/*
 * operator_cache.h - operators that a call site prepares once and reuses for
 * every row, and buffers that exist as long as the call site
 */
#ifndef FASTCLUST_OPERATOR_CACHE_H
#define FASTCLUST_OPERATOR_CACHE_H

#include "operator/bytes.h"
#include "pg/base/vectors.h"

/*
 * ---- labels of sparsevecs ----
 *
 * A sparse row is converted to a dense one only if the caller needs more than
 * its label.
 */

/* State for sparse rows that a call site keeps between calls. */
typedef struct sparse_scratch
{
	double	   *dense;			/* d values: the current row in dense form,
								 * zero except at the indices in `places` */
	Size		d;
	uint32	   *indices;		/* indices and values of the nonzero elements
								 * of the current row, in arrays of `capacity`
								 * elements; the row has length 1 if the
								 * metric is cosine */
	double	   *values;
	Size		capacity;
	double	   *scores;			/* k scores of the current row */
	double		bound;			/* upper bound on the error of the scores */
	Size		k;
	fc_sparse_row row;
	Size		written;		/* number of nonzero elements in `dense`;
								 * `places` has their indices */
	uint32	   *places;
} sparse_scratch;

typedef enum sparse_outcome
{
	SPARSE_UNKNOWN,				/* the row must be converted to a dense one,
								 * checked and assigned */
	SPARSE_NONE,				/* a zero vector, which has no label in the
								 * cosine metric */
	SPARSE_KNOWN				/* the label or the scores have been computed */
} sparse_outcome;

/*
 * Number of rows from which it pays off to store the centroids of an operator
 * by column. That costs about as much as assigning the same number of dense
 * rows. A guess.
 */
#define MIN_ROWS_FOR_COLUMNS	16

/*
 * Returns the centroids of op stored by column. They are built in `context`
 * once `uses` reaches MIN_ROWS_FOR_COLUMNS, and their size in bytes is added
 * to *charged. Returns NULL in three cases:
 *
 *     `uses` is smaller than MIN_ROWS_FOR_COLUMNS
 *     the labels of op do not depend on a single codebook alone
 *     *charged would exceed a quarter of the memory budget
 */
extern const fc_columns *columns_of(fc_columns **columns, const fc_operator *op, Size uses,
									MemoryContext context, Size *charged);

/*
 * Reads a sparsevec into scratch->row, scaled to length 1 if the metric is
 * cosine, and allocates k scores. Returns SPARSE_UNKNOWN if the row has
 * another dimension than d, more than d / 4 elements, or too large elements.
 */
extern sparse_outcome take_sparse_row(sparse_scratch *scratch, vector_reader *reader, Datum datum,
									  fc_metric metric, Size d, Size k);

/*
 * Finds the label of a sparsevec by `columns`, the centroids of op stored by
 * column. Returns SPARSE_UNKNOWN if columns is NULL, or if rounding errors
 * could change the label. The scratch space is allocated in the reader's
 * context.
 */
extern sparse_outcome label_sparse_row(sparse_scratch *scratch, vector_reader *reader, Datum datum,
									   const fc_operator *op, const fc_columns *columns,
									   size_t *label);

/*
 * Returns the last read sparse row as d doubles, which are valid until the
 * next call.
 */
extern const double *dense_sparse_row(sparse_scratch *scratch, MemoryContext context, Size d);

/* ---- the state of a call site ---- */

/*
 * Returns a view of the operator in an argument. The operator is detoasted
 * once per call site, and the view is valid as long as the call site.
 */
extern const fc_operator *cached_operator(FunctionCallInfo fcinfo, int argument,
										  const fc_operator_header **header);

/*
 * Returns a view of any value that has its digest at the same offset as
 * fc_operator_header. make_view fills view_size bytes, which are initialized
 * with zeros; it is called again if the value has another address later. A
 * call site must always pass the same argument number.
 */
extern const void *cached_view(FunctionCallInfo fcinfo, int argument, Size view_size,
							   void (*make_view) (const void *bytes, void *view),
							   const void **bytes);

/*
 * Returns a view of the operator in an argument, like cached_operator. If the
 * operator is a product of factors and the memory budget allows, also expands
 * its centroids to dense rows, for functions that compute many distances.
 */
extern const fc_operator *cached_expanded_operator(FunctionCallInfo fcinfo, int argument,
												   const fc_operator_header **header);

/*
 * Finds the label of a sparsevec for the operator that cached_operator
 * returned last, from a copy of its centroids stored by column. Returns
 * SPARSE_UNKNOWN if the argument is not a sparsevec, or if the label cannot be
 * decided without the row in dense form.
 */
extern sparse_outcome cached_sparse_label(FunctionCallInfo fcinfo, int argument, size_t *label);

/*
 * Computes the scores of a sparsevec for the operator that cached_operator
 * returned last, from a copy of its centroids stored by column. *scratch
 * receives the scratch space that contains the scores.
 */
extern sparse_outcome cached_sparse_scores(FunctionCallInfo fcinfo, int argument,
										   const sparse_scratch **scratch);

/*
 * Returns the last read sparse row as a dense row. If `elements` is not NULL,
 * sets *elements to the nonzero elements of the row.
 */
extern const double *cached_sparse_row(FunctionCallInfo fcinfo, const fc_sparse_row **elements);

extern fc_scratch cached_scratch(FunctionCallInfo fcinfo, Size floats);

/*
 * Returns the number of bytes that the functions above have allocated for the
 * call site, excluding cached_scratch.
 */
extern Size cached_bytes(FunctionCallInfo fcinfo);
extern vector_reader *cached_reader(FunctionCallInfo fcinfo);
extern double *cached_doubles(FunctionCallInfo fcinfo, Size count);

#endif							/* FASTCLUST_OPERATOR_CACHE_H */
