/*
 * collect.h - shared by aggregates that collect rows: reading one, and the
 * states that workers send
 */
#ifndef FASTCLUST_COLLECT_H
#define FASTCLUST_COLLECT_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "pg/base/vectors.h"

/* A row to collect, not NULL: finite, of at most FC_MAX_DIM elements. */
extern vector row_argument(FunctionCallInfo fcinfo, int argument);

/* Its d values as doubles, -0 as 0: they are one value. */
extern void copy_row(const vector *v, double *to);

/*
 * The memory of collected rows: bytes(collection, n) for n of them at the
 * peak, the final function included; it rises with n.
 */
typedef struct row_need
{
	Size		(*bytes) (const void *collection, Size n);
	const void *collection;
	const char *name;			/* of the aggregate */
	const char *instead;		/* of too many rows: how the hint ends */
} row_need;

/*
 * How many rows to make room for, at least n, where there is room for `room`
 * (0: none): more than asked for as far as the budget allows; an error where n
 * are too many.
 */
extern Size grown_room(Size room, Size n, const row_need *need);

/*
 * Rows of two workers go together; so many bytes fit into the state that one
 * sends.
 */
extern void check_same_dim(int32 left, int32 right);
extern void check_state_size(Size bytes);

/*
 * How states of a kind, of type internal, get from workers to the leader. A
 * state begins with a pointer to this. left += right, in the aggregate's
 * context; left NULL: a copy of right. The bytes that are sent are read in the
 * order they were written. pg/train/scan_state.c lists the kinds.
 */
typedef struct state_kind
{
	void	   *(*combine) (FunctionCallInfo fcinfo, void *left, void *right);
	void		(*serialize) (FunctionCallInfo fcinfo, void *state, StringInfo message);
	void	   *(*deserialize) (FunctionCallInfo fcinfo, StringInfo message);
} state_kind;

/*
 * Options, or NULL where none were given: a copy in the current context, sent,
 * received.
 */
extern Jsonb *copy_options(const Jsonb *options);
extern void send_options(StringInfo message, const Jsonb *options);
extern Jsonb *receive_options(StringInfo message);

#endif							/* FASTCLUST_COLLECT_H */
