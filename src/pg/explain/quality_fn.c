/* quality_fn.c - quality_of_sample: how compact and separated the clusters of an operator are, by rows that are the centroids of another */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "operator/operator.h"
#include "operator/fit.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"

/* cluster -1: all of them */
static void
return_quality(FunctionCallInfo fcinfo, int32 cluster, const fc_quality *q, double weight)
{
	double		numbers[5] = {weight > 0.0 ? q->weight / weight : NAN, q->silhouette, q->davies_bouldin, q->spread, q->explained};
	Datum		values[7] = {Int32GetDatum(cluster), Float8GetDatum(q->weight)};
	bool		nulls[7] = {cluster < 0};

	for (int i = 0; i < 5; i++)
	{
		values[2 + i] = Float8GetDatum(numbers[i]);
		nulls[2 + i] = isnan(numbers[i]);
	}
	put_row(fcinfo, values, nulls);
}

/* (op, rows): rows (cluster, n, share, silhouette, davies_bouldin, spread, variance_explained), the last one of all clusters. */
PG_FUNCTION_INFO_V1(fastclust_quality_of_sample);
Datum
fastclust_quality_of_sample(PG_FUNCTION_ARGS)
{
	account		memory = {"score"};
	fc_operator op;
	fc_operator rows;
	fc_scratch	scratch;
	fc_arena	arena;
	fc_quality *clusters;
	fc_quality	all;

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	open_operator(OPERATOR_ARG(1), &rows);
	check_same_dim((int32) op.d, (int32) rows.d);
	hold(&memory, op.k * sizeof(fc_quality) + fc_fit_scratch(&op, &rows) * sizeof(float));
	scratch = make_scratch(fc_fit_scratch(&op, &rows));
	clusters = palloc_extended(op.k * sizeof(fc_quality), MCXT_ALLOC_HUGE);
	arena = hold_arena(&memory);
	fc_quality_measure(&op, &rows, scratch, &arena, clusters, &all);
	for (Size j = 0; j < op.k; j++)
		return_quality(fcinfo, (int32) j, &clusters[j], all.weight);
	return_quality(fcinfo, -1, &all, all.weight);
	return (Datum) 0;
}
