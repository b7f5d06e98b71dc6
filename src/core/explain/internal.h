/*
 * internal.h - growing the tree of rules, best split first; thresholds as
 * short as people write them
 */
#ifndef FC_EXPLAIN_INTERNAL_H
#define FC_EXPLAIN_INTERNAL_H

#include "explain/explain.h"

/* low < high are finite, as rows hold them. */
fc_threshold fc_short_threshold(fc_axis_kind kind, double low, double high);

/* A node as it grows. */
typedef struct fc_grown_node
{
	size_t		begin;			/* its rows, in each order */
	size_t		end;
	size_t		check_begin;	/* its rows of those that choose the size */
	size_t		check_end;
	size_t		depth;
	double		gain;			/* of its best split; 0: none */
	uint32_t	axis;
	fc_threshold threshold;
} fc_grown_node;

typedef struct fc_grower
{
	const fc_labelled *rows;
	size_t		conditions;
	fc_rule_parts parts;
	size_t		most_nodes;
	uint32_t   *sorted;			/* d times the rows to learn from, ascending
								 * in that axis */
	/* d times the rows to learn from, ascending in that axis within a node */
	uint32_t   *order;
	uint32_t   *checked;		/* the rows that choose the size, by node */
	uint32_t   *moved;			/* as many as either: room to part them */
	uint8_t    *goes_above;		/* a flag of each row */
	double	   *n_log_n;		/* of 0 .. rows to learn from */
	uint32_t   *below;			/* k counts */
	uint32_t   *above;
	fc_grown_node *grown;
	fc_rule_node *nodes;
	size_t		count;			/* of nodes */
	double	   *gains;			/* d: of each axis at the root */
} fc_grower;

/* The arrays of a grower, in the arena. */
void		fc_grower_take(fc_grower *grower, size_t n, size_t d, size_t k,
						   fc_arena *arena);

/* The root with its best split. */
void		fc_grower_start(fc_grower *grower, fc_arena *arena);

/* The root alone again. */
void		fc_grower_restart(fc_grower *grower);

/* The root's best split is to be the one along this axis. */
void		fc_grower_prefer(fc_grower *grower, uint32_t axis);

/*
 * Split the leaf of most gain; false, and nothing happens, when no split gains
 * anything or there are nodes enough.
 */
bool		fc_grower_split(fc_grower *grower);

/*
 * The axes of most gain, at most so many, best first; their gains are
 * forgotten.
 */
size_t		fc_best_axes(double *gains, size_t d, size_t most, uint32_t *axes);

/*
 * The short rules beside a tree that is learned, and the precisions of its
 * leaves.
 */
void		fc_rules_add_short(fc_grower *grower, size_t conditions, fc_arena *arena,
							   fc_rule_tree *tree);

#endif							/* FC_EXPLAIN_INTERNAL_H */
