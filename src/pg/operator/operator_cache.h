/* operator_cache.h - operators that rows meet again and again, and buffers that live as long as the call site */
#ifndef FASTCLUST_OPERATOR_CACHE_H
#define FASTCLUST_OPERATOR_CACHE_H

#include "postgres.h"

#include "fmgr.h"

#include "base/fc.h"
#include "operator/bytes.h"
#include "operator/operator.h"
#include "pg/base/vectors.h"
#include "pg/operator/sparse_row.h"

/* An operator argument, detoasted once per call site, and buffers that live as long. */
extern const fc_operator *cached_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header);

/*
 * The same for any value with its digest where fc_operator_header has it; make_view writes into the
 * view_size bytes that are returned, zero at first, once per value.  One argument a call site.
 */
extern const void *cached_view(FunctionCallInfo fcinfo, int argument, Size view_size,
							   void (*make_view) (const void *bytes, void *view), const void **bytes);

/* The same with the rows of a product ready for many distances, where the budget allows. */
extern const fc_operator *cached_expanded_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header);

/* The label of a sparsevec, by the columns of the operator that cached_operator gave last; SPARSE_UNKNOWN for other types, too. */
extern sparse_outcome cached_sparse_label(FunctionCallInfo fcinfo, int argument, size_t *label);

/* The same for its scores, which are in *site. */
extern sparse_outcome cached_sparse_scores(FunctionCallInfo fcinfo, int argument, const sparse_site **site);

/* The row so read, written out, and its elements alone. */
extern const double *cached_sparse_row(FunctionCallInfo fcinfo, const fc_sparse_row **elements);

extern fc_scratch cached_scratch(FunctionCallInfo fcinfo, Size floats);

/* Bytes that the call site keeps by the functions above, but for a scratch. */
extern Size cached_bytes(FunctionCallInfo fcinfo);
extern vector_reader *cached_reader(FunctionCallInfo fcinfo);
extern double *cached_doubles(FunctionCallInfo fcinfo, Size count);

#endif							/* FASTCLUST_OPERATOR_CACHE_H */
