/* kept_state.h - aggregates of "any" have a state of type internal: the bytes of the typed one, in the aggregate's memory */
#ifndef FASTCLUST_KEPT_STATE_H
#define FASTCLUST_KEPT_STATE_H

#include "postgres.h"

#include "fmgr.h"

/* The state that a transition or combine function of the typed state returned, copied as the executor would do. */
extern Datum kept_state(FunctionCallInfo fcinfo, Datum state);

/* name_kept: the function `name` for such a state. */
#define KEPT_STATE(name) \
PG_FUNCTION_INFO_V1(name##_kept); \
Datum name##_kept(PG_FUNCTION_ARGS) { return kept_state(fcinfo, name(fcinfo)); } \
extern int	no_such_variable

#endif							/* FASTCLUST_KEPT_STATE_H */
