/*
 * collect.h - helpers of aggregates that collect rows: reading a row, and the
 * states that workers send
 */
#ifndef FASTCLUST_COLLECT_H
#define FASTCLUST_COLLECT_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "pg/base/vectors.h"

/*
 * Returns a row to collect from an argument that is not NULL. Raises an error
 * unless it is finite and has 1 to FC_MAX_DIM elements.
 */
extern vector row_argument(FunctionCallInfo fcinfo, int argument);

/* Copies a row as d doubles; -0 becomes 0, because the two are one value. */
extern void copy_row(const vector *v, double *to);

/*
 * Memory that collected rows need: bytes(collection, n) is the peak for n
 * rows, including the final function. It must not decrease with n.
 */
typedef struct row_need
{
	Size		(*bytes) (const void *collection, Size n);
	const void *collection;
	const char *name;			/* name of the aggregate */
	const char *instead;		/* end of the hint for too many rows: another
								 * way to proceed */
} row_need;

/*
 * Returns the number of rows to make room for, given the present room (0:
 * none). It is n or, if the budget allows, more. Raises an error if n rows
 * exceed the budget.
 */
extern Size grown_room(Size room, Size n, const row_need *need);

/*
 * Raises an error unless the rows of two workers have the same dimension;
 * check_state_size does if a worker's state is too large to send.
 */
extern void check_same_dim(int32 left, int32 right);
extern void check_state_size(Size bytes);

/*
 * Functions that bring states of a kind, of type internal, from workers to the
 * leader. A state begins with a pointer to this struct. combine adds right to
 * left in the aggregate's context; if left is NULL, it returns a copy of
 * right. deserialize reads the bytes in the order in which serialize wrote
 * them.
 * pg/train/scan_state.c lists the kinds.
 */
typedef struct state_kind
{
	void	   *(*combine) (FunctionCallInfo fcinfo, void *left, void *right);
	void		(*serialize) (FunctionCallInfo fcinfo, void *state, StringInfo message);
	void	   *(*deserialize) (FunctionCallInfo fcinfo, StringInfo message);
} state_kind;

/*
 * Returns a copy of the options in the current context; the others send and
 * receive them. NULL options stay NULL.
 */
extern Jsonb *copy_options(const Jsonb *options);
extern void send_options(StringInfo message, const Jsonb *options);
extern Jsonb *receive_options(StringInfo message);

#endif							/* FASTCLUST_COLLECT_H */
