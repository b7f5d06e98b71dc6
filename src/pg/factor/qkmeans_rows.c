/* qkmeans_rows.c - rows in memory, for the scans of QK-means; qkmeans_agg, whose state is that of kmeans_agg */
#include "postgres.h"

#include "fmgr.h"

#include "factor/qkmeans.h"
#include "factor/scan.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/factor/qkmeans.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

static fc_status
scan_collection(void *ctx, const fc_operator *op, double *sse, double *weights, double *means)
{
	const collection *rows = ctx;
	fc_arena	arena = hold_arena(rows->account);

	check_operator_status(fc_scan_rows(op, rows->x, rows->n, &arena, sse, weights, means));
	release_arena(&arena);
	return FC_OK;
}

static fc_status
farthest_collected(void *ctx, const fc_operator *op, size_t count, double *found_rows, size_t *found)
{
	const collection *rows = ctx;
	fc_arena	arena = hold_arena(rows->account);

	check_operator_status(fc_farthest_rows(op, rows->x, rows->n, count, &arena, found_rows, found));
	release_arena(&arena);
	return FC_OK;
}

fc_row_source
collected_rows(const collection *rows)
{
	return (fc_row_source) {(void *) rows, scan_collection, farthest_collected};
}

PG_FUNCTION_INFO_V1(fastclust_qkmeans_final);
Datum
fastclust_qkmeans_final(PG_FUNCTION_ARGS)
{
	collection	rows;
	qkmeans_call call = {0};
	fc_row_source source;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = *(const collection *) PG_GETARG_POINTER(0);
	rows.account = &call.memory;
	read_qkmeans_options(rows.options, rows.k, &call);
	call.memory.what = "qkmeans_agg";
	check_enough_rows((Size) rows.k, rows.n);
	source = collected_rows(&rows);
	PG_RETURN_POINTER(run_qkmeans(&call, &rows, &source));
}
