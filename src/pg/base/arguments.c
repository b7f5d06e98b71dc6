/*
 * arguments.c - checks of arguments, and results that consist of rows; see
 * arguments.h
 */
#include "postgres.h"

#include "access/relation.h"
#include <float.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "pg/base/arguments.h"

MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("this function may only be called as part of an aggregate"));
	return context;
}

bool
is_given(FunctionCallInfo fcinfo, int argument)
{
	Node	   *call = fcinfo->flinfo->fn_expr;
	List	   *args = (call != NULL && IsA(call, FuncExpr)
						? ((FuncExpr *) call)->args
						: NIL);
	Const	   *constant = (argument < list_length(args) ? list_nth(args, argument)
							: NULL);

	return constant != NULL &&
		!(IsA(constant, Const) && constant->constisnull &&
		  constant->location < 0);
}

void
require_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	if (PG_ARGISNULL(argument))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("%s must not be NULL", name));
}

double
weight_argument(FunctionCallInfo fcinfo, int argument)
{
	double		weight;

	if (PG_NARGS() <= argument)
		return 1.0;
	require_argument(fcinfo, argument, "weight");
	weight = PG_GETARG_FLOAT8(argument);
	if (!(weight >= 0) || isinf(weight))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("weight is %g, but must be finite and at least 0",
					   weight));
	return weight;
}

/* If the aggregate is called as a window function, there is no Aggref. */
const char *
aggregate_name(FunctionCallInfo fcinfo)
{
	const Aggref *aggregate = AggGetAggref(fcinfo);
	const char *name = (aggregate != NULL ? get_func_name(aggregate->aggfnoid)
						: NULL);

	return name != NULL ? name : "the aggregate";
}

void
check_count(const char *name, int64 value, int64 min, int64 max)
{
	if (value < min || value > max)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("%s is %lld, out of range", name, (long long) value),
				errdetail("Valid values are from %lld to %lld.", (long long) min,
						  (long long) max));
}

void
check_enough_rows(Size k, Size rows)
{
	if (k > rows)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg_plural("k is %zu, but there is only %zu row",
							  "k is %zu, but there are only %zu rows", rows, k,
							  rows));
}

/*
 * Range of parameters such as sigma, scale and gamma. Products with parameters
 * in this range do not overflow.
 */
#define SMALLEST_POSITIVE	1e-300
#define GREATEST_POSITIVE	1e300

void
check_positive(const char *name, double value)
{
	if (!(value > 0 && value <= DBL_MAX))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("%s is %g, but must be positive and finite", name,
					   value));
	if (!(value >= SMALLEST_POSITIVE && value <= GREATEST_POSITIVE))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("%s is %g, out of range", name, value),
				errdetail("Valid values are from %g to %g.", SMALLEST_POSITIVE,
						  GREATEST_POSITIVE));
}

void
check_not_negative(const char *name, const double *values, Size n)
{
	for (Size i = 0; values != NULL && i < n; i++)
		if (!(values[i] >= 0))
			ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
					errmsg("%s element %zu is %g, less than 0", name, i + 1,
						   values[i]));
}

char *
relation_name(Oid relation)
{
	char	   *name = get_rel_name(relation);

	if (name == NULL)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
				errmsg("relation with OID %u does not exist", relation));
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

Relation
existing_relation(Oid id, LOCKMODE mode)
{
	Relation	relation = try_relation_open(id, mode);

	if (relation == NULL)
		(void) relation_name(id);
	return relation;
}

/* ---- rows that functions return ---- */

/*
 * Maximum number of columns of a row that a function returns, and length of
 * the array no_nulls.
 */
#define MAX_ROW_COLUMNS	16

static bool no_nulls[MAX_ROW_COLUMNS];

static TupleDesc
row_type(FunctionCallInfo fcinfo)
{
	TupleDesc	descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	Assert(descriptor->natts <= MAX_ROW_COLUMNS);
	return BlessTupleDesc(descriptor);
}

void
fastclust_begin_rows(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) ||
		!(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("set-returning function called in a context that cannot accept a set"));
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

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, (Datum *) values,
						 nulls != NULL ? (bool *) nulls : no_nulls);
}

Datum
row_result(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(row_type(fcinfo), (Datum *) values,
											 nulls != NULL ? (bool *) nulls
											 : no_nulls));
}
