/*
 * languages.h - functions whose errors do not show how fastclust is built, or that run as their owner.
 */
#ifndef FASTCLUST_LANGUAGES_H
#define FASTCLUST_LANGUAGES_H

#include "fmgr.h"

/* The owner of a function; an internal error where there is no such function. */
extern Oid	function_owner(Oid function);

/* function(fcinfo); an error of it has the context of this call alone. */
extern Datum call_with_short_context(PGFunction function, FunctionCallInfo fcinfo);

#endif
