/* plane_fn.c - where the clusters of an operator lie on a plane, for the report */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/tuplestore.h"

#include "operator/plane.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/rows.h"
#include "pg/operator/operator_value.h"

/* (operator): rows (cluster, x, y, the share of squared distances that x shows, the same of y). */
PG_FUNCTION_INFO_V1(fastclust_cluster_places);
Datum
fastclust_cluster_places(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	account		memory = {"the map of the clusters"};
	fc_operator op;
	fc_arena	arena;
	double	   *places;
	double		shown[2];

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	hold(&memory, 2 * op.k * sizeof(double));
	places = palloc(2 * op.k * sizeof(double));
	arena = hold_arena(&memory);
	check_status(fc_operator_plane(&op, &arena, places, shown));
	for (Size j = 0; j < op.k; j++)
	{
		Datum		values[5] = {Int32GetDatum((int32) j), Float8GetDatum(places[2 * j]), Float8GetDatum(places[2 * j + 1]),
		Float8GetDatum(shown[0]), Float8GetDatum(shown[1])};
		bool		nulls[5] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
