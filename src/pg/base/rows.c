/* rows.c - rows that functions return; see the header */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "pg/base/rows.h"

#define MOST_COLUMNS 16

static bool no_nulls[MOST_COLUMNS];

static TupleDesc
row_type(FunctionCallInfo fcinfo)
{
	TupleDesc	descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	Assert(descriptor->natts <= MOST_COLUMNS);
	return BlessTupleDesc(descriptor);
}

void
fastclust_begin_rows(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) || !(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-returning function called in a context that cannot accept a set")));
	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = tuplestore_begin_heap(true, false, work_mem);
	rsinfo->setDesc = row_type(fcinfo);
	MemoryContextSwitchTo(old);
}

void
put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, (Datum *) values, nulls != NULL ? (bool *) nulls : no_nulls);
}

Datum
row_result(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(row_type(fcinfo), (Datum *) values, nulls != NULL ? (bool *) nulls : no_nulls));
}
