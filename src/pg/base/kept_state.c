/* kept_state.c - aggregate states of type internal that are flat values; see the header */
#include "postgres.h"

#include "fmgr.h"
#include "utils/memutils.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/kept_state.h"
#include "pg/base/memory.h"

Datum
kept_state(FunctionCallInfo fcinfo, Datum state)
{
	MemoryContext context = aggregate_context(fcinfo);
	void	   *made = DatumGetPointer(state);
	void	   *old = PG_ARGISNULL(0) ? NULL : PG_GETARG_POINTER(0);
	void	   *copy;

	if (fcinfo->isnull || made == old)
		return state;
	copy = MemoryContextAlloc(context, VARSIZE(made));
	copy_bytes(copy, made, VARSIZE(made));
	if (old != NULL)
		pfree(old);
	PG_RETURN_POINTER(copy);
}

/* (state): the bytes as they are */
PG_FUNCTION_INFO_V1(fastclust_state_serialize);
Datum
fastclust_state_serialize(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* (bytes, NULL): the state, aligned as its type is */
PG_FUNCTION_INFO_V1(fastclust_state_deserialize);
Datum
fastclust_state_deserialize(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	PG_RETURN_POINTER(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0)));
}
