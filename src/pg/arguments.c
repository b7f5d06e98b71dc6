/* arguments.c - the checks that aggregates share */
#include "fastclust.h"

#include <math.h>

#include "nodes/primnodes.h"
#include "utils/lsyscache.h"

/* The context of the aggregate's states; an error outside of an aggregate. */
MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this function may only be called as part of an aggregate")));
	return context;
}

void
require_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name)));
}

/* A weight argument, 1 when the function has fewer arguments. */
double
weight_argument(FunctionCallInfo fcinfo, int argument)
{
	double		weight;

	if (PG_NARGS() <= argument)
		return 1.0;
	require_argument(fcinfo, argument, "weight");
	weight = PG_GETARG_FLOAT8(argument);
	if (!(weight >= 0) || isinf(weight))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("weight is %g, but must be finite and at least 0", weight)));
	return weight;
}

/* A window function has no Aggref. */
const char *
aggregate_name(FunctionCallInfo fcinfo)
{
	const Aggref *aggregate = AggGetAggref(fcinfo);
	const char *name = aggregate != NULL ? get_func_name(aggregate->aggfnoid) : NULL;

	return name != NULL ? name : "the aggregate";
}
