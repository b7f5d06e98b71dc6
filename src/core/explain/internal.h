/*
 * internal.h - the state of a tree of rules that grows by its best split, and
 * thresholds with few digits
 */
#ifndef FC_EXPLAIN_INTERNAL_H
#define FC_EXPLAIN_INTERNAL_H

#include "explain/explain.h"

/*
 * Returns a threshold with few digits and low <= raw < high. low and high are
 * finite numbers in stored units, low < high.
 */
fc_threshold fc_short_threshold(fc_axis_kind kind, double low, double high);

/* A node of the growing tree. */
typedef struct fc_grown_node
{
	size_t		begin;			/* index of its first row in each list of
								 * fc_grower.order */
	size_t		end;
	size_t		check_begin;	/* index of its first row in fc_grower.checked */
	size_t		check_end;
	size_t		depth;
	size_t		columns;		/* number of columns that its path tests */
	double		gain;			/* gain of its best split in nats, weighted by
								 * NEW_COLUMN_FACTOR (grow.c); 0: no split */
	uint32_t	axis;
	fc_threshold threshold;
} fc_grown_node;

typedef struct fc_grower
{
	const fc_labelled *rows;
	size_t		conditions;		/* maximum number of columns of a path */
	fc_row_split split;
	size_t		max_nodes;
	uint32_t   *sorted;			/* d lists of the training rows, each
								 * ascending along its axis */

	/*
	 * d lists of the training rows, grouped by node, and within a node
	 * ascending along the axis of the list
	 */
	uint32_t   *order;
	uint32_t   *checked;		/* rows of the pruning set, grouped by node */
	uint32_t   *moved;			/* n row indices: scratch space for
								 * partitioning */
	uint8_t    *goes_above;		/* n flags: true if the row is above the
								 * threshold of the node being split */
	double	   *n_log_n;		/* table of n log n for n from 0 to the number
								 * of training rows */

	/*
	 * k values each: number of rows of each label below the threshold, and
	 * above it
	 */
	uint32_t   *below;
	uint32_t   *above;
	fc_grown_node *grown;
	fc_rule_node *nodes;
	size_t		count;			/* number of nodes */
	double	   *gains;			/* d values: gain of the best split of the
								 * root along each axis */
} fc_grower;

/*
 * Allocates the arrays of a grower in the arena, creates the root and finds
 * its best split.
 */
void		fc_grower_start(fc_grower *grower, fc_arena *arena);

/* Resets the tree to the root alone. */
void		fc_grower_restart(fc_grower *grower);

/* Replaces the best split of the root by its best split along one axis. */
void		fc_grower_prefer(fc_grower *grower, uint32_t axis);

/*
 * Splits the leaf with the largest gain. Returns false, and does nothing, if
 * no split gains anything or the maximum number of nodes is reached.
 */
bool		fc_grower_split(fc_grower *grower);

/*
 * Writes the axes with the largest positive gains to `axes`, best first, at
 * most `max` of them, and sets their gains to 0. Returns the number of axes
 * written.
 */
size_t		fc_best_axes(double *gains, size_t d, size_t max, uint32_t *axes);

/* Adds a range, or intersects it with the range of the same axis. */
void		fc_add_range(fc_range *ranges, size_t *count, const fc_range *range);

/* Adds short rules to a learned tree, and sets the precision of its leaves. */
void		fc_rules_add_short(fc_grower *grower, size_t conditions, fc_arena *arena,
							   fc_rule_tree *tree);

#endif							/* FC_EXPLAIN_INTERNAL_H */
