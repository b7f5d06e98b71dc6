/*
 * recall.h - what a search through buckets finds.
 *
 * Each row lies in the bucket of its nearest centroid.  A query reads the rows of the `probes` buckets whose centroids are
 * nearest to it.  Its recall is the part of its nearest rows that lie there.
 */
#ifndef FC_OPERATOR_RECALL_H
#define FC_OPERATOR_RECALL_H

#include "operator/operator.h"

typedef struct fc_search
{
	const double *x;			/* rows x d, of magnitudes below 2^63 */
	size_t		rows;
	size_t		queries;		/* the first so many rows ask, 1 .. rows; none finds itself */
	double		neighbours;		/* how many nearest rows count, 1 .. rows - 1; a fraction counts the last one in part */
	size_t		probes;			/* 1 .. k */
} fc_search;

typedef struct fc_search_result
{
	double		recall;			/* 0 .. 1, the mean of the queries */
	double		read;			/* the mean part of the rows that a query reads */
	int32_t    *label;			/* rows: their buckets; this and the next two from the caller */
	double	   *count;			/* k: rows of a bucket */
	double	   *square;			/* k: the sum of their squared distances to its centroid */
} fc_search_result;

/* Bytes fc_search_recall takes from its arena. */

/*
 * Nearest rows are found by products of floats: of two at distances that agree to rounding either may count.
 * Time: queries x rows x d.
 */
void		fc_search_recall(const fc_operator *op, const fc_search *search, fc_arena *arena, fc_search_result *result);

#endif							/* FC_OPERATOR_RECALL_H */
