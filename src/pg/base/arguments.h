/*
 * arguments.h - helpers for functions that SQL calls: checks of arguments, and
 * results that are a row or a materialised set of rows
 */
#ifndef FASTCLUST_ARGUMENTS_H
#define FASTCLUST_ARGUMENTS_H

#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "pg/base/errors.h"

/*
 * Returns the memory context in which the running aggregate keeps its states.
 * Raises an error if the function was not called by an aggregate.
 */
extern MemoryContext aggregate_context(FunctionCallInfo fcinfo);

/*
 * Returns the name of the aggregate that called a support function, or "the
 * aggregate" if it is unknown. For error messages.
 */
extern const char *aggregate_name(FunctionCallInfo fcinfo);

/*
 * Returns the state in argument 0 unchanged, or NULL if it is NULL. Used by
 * transition and combine functions when there is nothing to add.
 */
static inline Datum
unchanged_state(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/*
 * Returns the state of type internal in argument 0, or NULL if there is no
 * state yet.
 */
static inline void *
internal_state(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) ? NULL : PG_GETARG_POINTER(0);
}

/*
 * Returns true if the caller gave the argument, even as NULL. An omitted
 * argument is recognised by its default, a constant NULL without a location in
 * the query.
 */
extern bool is_given(FunctionCallInfo fcinfo, int argument);

extern void require_argument(FunctionCallInfo fcinfo, int argument, const char *name);

/* Returns a weight argument, or 1 if the function was called without it. */
extern double weight_argument(FunctionCallInfo fcinfo, int argument);

extern void check_count(const char *name, int64 value, int64 min, int64 max);

/*
 * Returns the qualified, quoted name of a relation. Raises an error if there
 * is no such relation.
 */
extern char *relation_name(Oid relation);

/*
 * Locks and opens a relation. Raises the error of relation_name if it does not
 * exist, also if it is dropped during the wait for the lock.
 */
extern Relation existing_relation(Oid id, LOCKMODE mode);

/* Returns the owner of a relation; InvalidOid if there is no such relation. */
extern Oid	relation_owner(Oid relation);

/* Returns a role as a value of the type role_name. */
extern Datum role_name_of(Oid role);

/* Raises an error if k exceeds the number of rows. */
extern void check_enough_rows(Size k, Size rows);

/*
 * Raises an error unless the value is from 1e-300 to 1e300. Products such as
 * sigma * scale then neither overflow nor become 0.
 */
extern void check_positive(const char *name, double value);

/*
 * Raises an error if one of n values is negative or NaN; a NULL array passes.
 */
extern void check_not_negative(const char *name, const double *values, Size n);

/*
 * Makes a tuplestore for the rows of fcinfo's result set (SFRM_Materialize).
 */
extern void fastclust_begin_rows(FunctionCallInfo fcinfo);

/*
 * put_row adds a row to fcinfo's result set. row_result returns a row as the
 * function's result. If `nulls` is NULL, no value is NULL.
 */
extern void put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);
extern Datum row_result(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);

/*
 * Returns the owner of a function. Raises an internal error if there is no
 * such function.
 */
extern Oid	function_owner(Oid function);

/*
 * Sets the settings of the given kinds (flags below) to fixed values. Returns
 * the nest level for AtEOXact_GUC, which restores them.
 */
#define FIX_READING		1		/* settings that affect how the text of a
								 * query is read */
#define FIX_PATH		2		/* search_path */
#define FIX_OUTPUT		4		/* settings that affect the text form of
								 * dates, times, numbers, bytes and arrays */
/*
 * settings for the text of a condition that the user gave in this session:
 * names are searched in pg_catalog only, but the time zone and the order of
 * date fields are the session's
 */
#define FIX_CONDITION	8
#define FIX_SCAN		(FIX_READING | FIX_PATH)	/* settings for queries
													 * that read rows */
#define FIX_ALL			(FIX_READING | FIX_PATH | FIX_OUTPUT)
extern int	fix_settings(int kinds);

/* Changes a setting until AtEOXact_GUC of the current nest level. */
extern void set_in_level(const char *name, const char *value);

/*
 * Raises an error if the caller gave a sketch that is NULL. Without the check,
 * the function would read the table, as it does if the sketch is omitted.
 */
extern void reject_null_sketch(FunctionCallInfo fcinfo, int argument);

#endif							/* FASTCLUST_ARGUMENTS_H */
