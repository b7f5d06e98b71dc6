/*
 * collect.h - helpers of aggregates that collect rows: they read a row, choose
 * the memory for rows, and send states from workers to the leader
 */
#ifndef FASTCLUST_COLLECT_H
#define FASTCLUST_COLLECT_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "pg/base/vectors.h"

/*
 * Returns the vector in an argument that is not NULL. Raises an error unless
 * the vector is finite and has 1 to FC_MAX_DIM elements.
 */
extern vector row_argument(FunctionCallInfo fcinfo, int argument);

/*
 * Copies a row to `to` as d doubles. -0 becomes 0, so that equal rows have
 * equal bytes.
 */
extern void copy_row(const vector *v, double *to);

/*
 * Memory that collected rows need. bytes(collection, n) returns the peak for n
 * rows in bytes, including the final function. It must not decrease with n.
 */
typedef struct row_need
{
	Size		(*bytes) (const void *collection, Size n);
	const void *collection;
	const char *name;			/* name of the aggregate */
	const char *instead;		/* text appended to the error hint: an
								 * alternative to a larger budget */
} row_need;

/*
 * Returns the next capacity for a collection of n rows whose present capacity
 * is `capacity` rows: n or, if the budget allows, more. Raises an error if n
 * rows exceed the budget.
 */
extern Size grown_capacity(Size capacity, Size n, const row_need *need);

/*
 * check_same_dim raises an error unless the rows of two states have the same
 * dimension. check_state_size raises an error if a worker's state is too large
 * to send.
 */
extern void check_same_dim(int32 left, int32 right);
extern void check_state_size(Size bytes);

/*
 * Functions that combine states of one kind, and send them from workers to the
 * leader. The states have type internal, and begin with a pointer to their
 * state_kind. combine(fcinfo, left, right) adds the state `right` to the state
 * `left`, in the memory context of the aggregate, and returns `left`. If left
 * is NULL, it returns a copy of `right`. deserialize reads fields in the order
 * in which serialize wrote them. All kinds are listed in
 * pg/train/scan_state.c.
 */
typedef struct state_kind
{
	void	   *(*combine) (FunctionCallInfo fcinfo, void *left, void *right);
	void		(*serialize) (FunctionCallInfo fcinfo, void *state, StringInfo message);
	void	   *(*deserialize) (FunctionCallInfo fcinfo, StringInfo message);
} state_kind;

/*
 * copy_options returns a copy of the options in the current context.
 * send_options appends options to a message, and receive_options reads options
 * from a message. NULL options remain NULL.
 */
extern Jsonb *copy_options(const Jsonb *options);
extern void send_options(StringInfo message, const Jsonb *options);
extern Jsonb *receive_options(StringInfo message);

#endif							/* FASTCLUST_COLLECT_H */
