/*
 * operator_cache.h - operators that are used again at every row, and buffers
 * that live as long as the call site
 */
#ifndef FASTCLUST_OPERATOR_CACHE_H
#define FASTCLUST_OPERATOR_CACHE_H

#include "operator/bytes.h"
#include "pg/base/vectors.h"

/*
 * ---- labels of sparsevecs ----
 *
 * A sparse row becomes a dense one only if more than its label is needed.
 */

/* State for sparse rows that a call site keeps between calls. */
typedef struct sparse_scratch
{
	double	   *dense;			/* d values: the dense form of a row, zero
								 * except at `places` */
	Size		d;
	uint32	   *indices;		/* indices and values: elements of the current
								 * row, with room for `room`; values have
								 * length 1 with cosine */
	double	   *values;
	Size		room;
	double	   *scores;			/* k scores of the current row */
	double		bound;			/* bound of the error of the scores */
	Size		k;
	fc_sparse_row row;
	Size		written;		/* number of elements that are set in `dense`,
								 * at the indices in `places` */
	uint32	   *places;
} sparse_scratch;

typedef enum sparse_outcome
{
	SPARSE_UNKNOWN,				/* must be converted to a dense row, checked
								 * and assigned */
	SPARSE_NONE,				/* no label: a zero vector with cosine */
	SPARSE_KNOWN				/* the label or the scores are computed */
} sparse_outcome;

/*
 * Number of rows from which the columns of an operator pay off. Making them
 * costs about as much as that number of dense rows.
 */
#define COLUMNS_FROM	16

/*
 * Returns the columns of op, which are made in `context` once `uses` reaches
 * COLUMNS_FROM, and adds their bytes to *held. Returns NULL before that, for
 * an operator that is not a single dense codebook, or if they do not fit into
 * a quarter of the memory budget together with *held.
 */
extern const fc_columns *columns_of(fc_columns **columns, const fc_operator *op, Size uses,
									MemoryContext context, Size *charged);

/*
 * Reads a sparsevec into scratch->row, scaled to length 1 with cosine, and makes
 * room for k scores. Returns SPARSE_UNKNOWN for rows with too many elements or
 * too large ones.
 */
extern sparse_outcome
			take_sparse_row(sparse_scratch *scratch, vector_reader *reader, Datum datum,
							fc_metric metric, Size d, Size k);

/*
 * Finds the label of a sparsevec by the columns of op. Returns SPARSE_UNKNOWN
 * if columns is NULL. The site's memory is in the reader's context.
 */
extern sparse_outcome
			label_sparse_row(sparse_scratch *scratch, vector_reader *reader, Datum datum,
							 const fc_operator *op, const fc_columns *columns,
							 size_t *label);

/* Returns the sparse row read last as d doubles, valid until the next call. */
extern const double *dense_sparse_row(sparse_scratch *scratch, MemoryContext context, Size d);

/* ---- the state of a call site ---- */

/*
 * Returns the operator in an argument, detoasted once per call site, in a view
 * that lives as long as the call site.
 */
extern const fc_operator *cached_operator(FunctionCallInfo fcinfo, int argument,
										  const fc_operator_header **header);

/*
 * Returns a view of any value that has its digest at the same offset as
 * fc_operator_header. make_view fills view_size bytes, zero at first, and is
 * called again if the value moves. A call site may use one argument.
 */
extern const void *cached_view(FunctionCallInfo fcinfo, int argument, Size view_size,
							   void (*make_view) (const void *bytes, void *view),
							   const void **bytes);

/*
 * Returns what cached_operator returns, with the rows of a product expanded
 * for many distances if the budget allows.
 */
extern const fc_operator *cached_expanded_operator(FunctionCallInfo fcinfo, int argument,
												   const fc_operator_header **header);

/*
 * Finds the label of a sparsevec by the columns of the operator that
 * cached_operator returned last. Returns SPARSE_UNKNOWN for other types, too.
 */
extern sparse_outcome
			cached_sparse_label(FunctionCallInfo fcinfo, int argument, size_t *label);

/*
 * Computes the scores of a sparsevec by the columns of the same operator;
 * *site receives the state with the scores.
 */
extern sparse_outcome
			cached_sparse_scores(FunctionCallInfo fcinfo, int argument,
								 const sparse_scratch **scratch);

/*
 * Returns the sparse row read last as a dense one; *elements receives its
 * nonzero elements.
 */
extern const double *cached_sparse_row(FunctionCallInfo fcinfo, const fc_sparse_row **elements);

extern fc_scratch cached_scratch(FunctionCallInfo fcinfo, Size floats);

/*
 * Returns the bytes that the functions above keep for the call site, without
 * the scratch.
 */
extern Size cached_bytes(FunctionCallInfo fcinfo);
extern vector_reader *cached_reader(FunctionCallInfo fcinfo);
extern double *cached_doubles(FunctionCallInfo fcinfo, Size count);

#endif							/* FASTCLUST_OPERATOR_CACHE_H */
