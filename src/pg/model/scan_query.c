/* scan_query.c - the query of a Lloyd scan, whose operator stays a parameter; may the shards be sent aggregates that are called "sum"? */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/params.h"
#include "optimizer/cost.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "operator/step.h"
#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"

#define STATES_BESIDE	3		/* the leader's own, the sum, and the first that came, as a tuple */
#define OPERATORS		6		/* those of the training, the screen, and what the final function makes */

/* Bytes of a scan's state. */
static Size
state_size(const fc_operator_header *header, fc_operator *op)
{
	open_operator(header, op);
	return fc_step_size(FC_STEP_LLOYD, header, fc_operator_size(op), fc_step_capacity(op));
}

/* Must the state of a scan stay with one process?  (operator) */
PG_FUNCTION_INFO_V1(fastclust_is_large_step);
Datum
fastclust_is_large_step(PG_FUNCTION_ARGS)
{
	fc_operator op;

	PG_RETURN_BOOL(state_size(OPERATOR_ARG(0), &op) / 1024 >= (Size) fastclust_largest_state);
}

/* Do a leader's states and those in its queues from workers fit in the budget?  One process has one state. */
static bool
workers_fit(const fc_operator_header *header)
{
	fc_operator op;
	Size		size = state_size(header, &op);

	return (STATES_BESIDE + (Size) max_parallel_workers_per_gather) * (size / 1024) + OPERATORS * (op.k * op.d * sizeof(float) / 1024) <=
		(Size) fastclust_memory_budget;
}

/* Arguments 1 and 2.  The planner makes a constant of the first alone: a constant is copied into the plan. */
static ParamListInfo
query_parameters(FunctionCallInfo fcinfo, const Oid *types)
{
	ParamListInfo parameters = makeParamList(2);

	for (int i = 0; i < 2; i++)
		parameters->params[i] = (ParamExternData) {.value = PG_GETARG_DATUM(1 + i),.isnull = PG_ARGISNULL(1 + i),
			.pflags = i == 0 ? PARAM_FLAG_CONST : 0,.ptype = types[i]};
	return parameters;
}

static void
check_result_type(Oid type, Oid expected)
{
	if (type != expected)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the query gives %s, not %s", OidIsValid(type) ? format_type_be(type) : "no column", format_type_be(expected))));
}

/* (query, $1, $2): the first column of its row. */
PG_FUNCTION_INFO_V1(fastclust_lloyd_query);
Datum
fastclust_lloyd_query(PG_FUNCTION_ARGS)
{
	ParamListInfo parameters;
	Oid		   *types;
	int			count;
	Oid			result_type = get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
	SPIPlanPtr	plan;
	int			options = CURSOR_OPT_CUSTOM_PLAN;
	Datum		result = (Datum) 0;
	bool		null = true;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	SPI_connect();
	parameters = query_parameters(fcinfo, types + 1);
	if (PG_ARGISNULL(2) || workers_fit(OPERATOR_ARG(2)))
		options |= CURSOR_OPT_PARALLEL_OK;
	plan = SPI_prepare_cursor(text_to_cstring(PG_GETARG_TEXT_PP(0)), 2, types + 1, options);
	if (plan != NULL && SPI_execute_plan_with_paramlist(plan, parameters, false, 0) == SPI_OK_SELECT && SPI_processed == 1)
	{
		check_result_type(SPI_gettypeid(SPI_tuptable->tupdesc, 1), result_type);
		result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	}
	if (!null)
		result = SPI_datumTransfer(result, false, -1);
	SPI_finish();
	fcinfo->isnull = null;
	return result;
}

/* ---- shards ---- */

/* Would Citus take the function for the sum of this type? */
static bool
sums_type(const FormData_pg_proc *function, Oid type)
{
	Oid			argument = function->pronargs == 1 ? function->proargtypes.values[0] : InvalidOid;

	return argument == type || argument == ANYELEMENTOID;
}

/*
 * (type): is the sum of one argument of this type that of this function's schema alone?  Citus looks it up by name in all schemas, and
 * takes the first.  The catalog is read as Citus reads it: as it is now, whatever the snapshot.
 */
PG_FUNCTION_INFO_V1(fastclust_is_only_sum);
Datum
fastclust_is_only_sum(PG_FUNCTION_ARGS)
{
	Oid			type = PG_GETARG_OID(0);
	Oid			own = get_func_namespace(fcinfo->flinfo->fn_oid);
	CatCList   *sums = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum("sum"));
	bool		only = true;

	for (int i = 0; i < sums->n_members; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&sums->members[i]->tuple);

		only = only && (function->pronamespace == own || !sums_type(function, type));
	}
	ReleaseSysCacheList(sums);
	PG_RETURN_BOOL(only);
}
