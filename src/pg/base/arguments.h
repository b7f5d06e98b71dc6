/*
 * arguments.h - the head of an entry point, the checks of arguments that
 * functions share, and the rows that functions return: one, or a set, which is
 * materialised
 */
#ifndef FASTCLUST_ARGUMENTS_H
#define FASTCLUST_ARGUMENTS_H

#include "fmgr.h"

#include "pg/base/errors.h"

/* The context of the aggregate's states; an error outside of an aggregate. */
extern MemoryContext aggregate_context(FunctionCallInfo fcinfo);

/* The aggregate that a support function works for, for error messages. */
extern const char *aggregate_name(FunctionCallInfo fcinfo);

/*
 * The state in argument 0, or NULL, as a transition or combine function
 * returns it where nothing is added.
 */
static inline Datum
unchanged_state(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* The state of type internal, argument 0; NULL while there is none. */
static inline void *
internal_state(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) ? NULL : PG_GETARG_POINTER(0);
}

/*
 * Is the argument in the call, even as a NULL? A default is a constant NULL
 * without a place in the query.
 */
extern bool is_given(FunctionCallInfo fcinfo, int argument);

extern void
			require_argument(FunctionCallInfo fcinfo, int argument, const char *name);

/* A weight argument, 1 when the function has fewer arguments. */
extern double weight_argument(FunctionCallInfo fcinfo, int argument);

extern void check_count(const char *name, int64 value, int64 least, int64 most);

/* A relation as queries name it, quoted; the error that there is none. */
extern char *relation_name(Oid relation);

/* k clusters need k rows. */
extern void check_enough_rows(Size k, Size rows);

/* Positive, and with room for products such as sigma times scale. */
extern void check_positive(const char *name, double value);

/* Each of n values; NULL passes. */
extern void check_not_negative(const char *name, const double *values, Size n);

/* Prepare fcinfo's result set as a tuplestore; works alike on 13 to 18. */
extern void fastclust_begin_rows(FunctionCallInfo fcinfo);

/*
 * A row of that set, and a result that is one row. nulls NULL: there is none.
 */
extern void
			put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);
extern Datum
			row_result(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);

/*
 * The owner of a function; an internal error where there is no such function.
 */
extern Oid	function_owner(Oid function);

/* Fix settings of the session until AtEOXact_GUC of the level it returns: */
#define FIX_READING		1		/* those by which text of a query is read */
#define FIX_PATH		2		/* search_path */
#define FIX_OUTPUT		4		/* how values of the types of dates,
								 * floating-point numbers and bytes are
								 * written as text */
#define FIX_CONDITION	8		/* for a condition on rows */
#define FIX_ALL			(FIX_READING | FIX_PATH | FIX_OUTPUT)
extern int	fix_settings(int kinds);

/*
 * A sketch that is written as NULL: without a sketch, functions read the
 * table.
 */
extern void reject_null_sketch(FunctionCallInfo fcinfo, int argument);

#endif							/* FASTCLUST_ARGUMENTS_H */
