/*
 * qkmeans_agg.c - QK-means over an aggregate's rows, in memory.
 *
 * Transition, combine and serial functions are those of kmeans_agg.  The rows are
 * scanned by qkmeans_rows.c.
 */
#include "postgres.h"

#include "fmgr.h"

#include "factor/qkmeans.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/factor/qkmeans.h"
#include "pg/kmeans/collection.h"

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
