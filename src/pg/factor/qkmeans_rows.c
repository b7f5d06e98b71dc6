/* qkmeans_rows.c - rows in memory, for the scans of QK-means */
#include "postgres.h"

#include "factor/qkmeans.h"
#include "factor/scan.h"
#include "operator/operator.h"
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
