/*
 * internal.h - growing the tree of rules, best split first, and thresholds
 * as short as people write them
 */
#ifndef FC_EXPLAIN_INTERNAL_H
#define FC_EXPLAIN_INTERNAL_H

#include "explain/explain.h"

/*
 * Returns a short threshold between low < high, which are finite and in
 * stored units.
 */
fc_threshold fc_short_threshold(fc_axis_kind kind, double low, double high);

/* A node of the growing tree. */
typedef struct fc_grown_node
{
	size_t		begin;			/* first of its rows, in the order of each
								 * axis */
	size_t		end;
	size_t		check_begin;	/* first of its rows in the pruning set */
	size_t		check_end;
	size_t		depth;
	double		gain;			/* gain of its best split in nats; 0: no split */
	uint32_t	axis;
	fc_threshold threshold;
} fc_grown_node;

typedef struct fc_grower
{
	const fc_labelled *rows;
	size_t		conditions;
	fc_row_split split;
	size_t		max_nodes;
	uint32_t   *sorted;			/* d lists of the rows to learn from, each in
								 * ascending order of its axis */

	/*
	 * d lists of the rows to learn from, ascending along the axis within each
	 * node
	 */
	uint32_t   *order;
	uint32_t   *checked;		/* rows of the pruning set, grouped by node */
	uint32_t   *moved;			/* scratch space of n rows for partitioning */
	uint8_t    *goes_above;		/* n flags: the row goes above the threshold */
	double	   *n_log_n;		/* n log n for n from 0 to the number of rows
								 * to learn from */
	uint32_t   *below;			/* k counts of labels below the threshold */
	uint32_t   *above;
	fc_grown_node *grown;
	fc_rule_node *nodes;
	size_t		count;			/* number of nodes */
	double	   *gains;			/* d gains of the best split of the root along
								 * each axis */
} fc_grower;

/* Allocates the arrays of a grower in the arena. */
void		fc_grower_take(fc_grower *grower, size_t n, size_t d, size_t k,
						   fc_arena *arena);

/* Creates the root and finds its best split. */
void		fc_grower_start(fc_grower *grower, fc_arena *arena);

/* Resets the tree to the root alone. */
void		fc_grower_restart(fc_grower *grower);

/* Makes the best split along this axis the split of the root. */
void		fc_grower_prefer(fc_grower *grower, uint32_t axis);

/*
 * Splits the leaf with the largest gain. Returns false, and does nothing, if
 * no split gains anything or the maximum number of nodes is reached.
 */
bool		fc_grower_split(fc_grower *grower);

/*
 * Fills in the axes with the largest positive gains, best first and up to
 * `max`, and clears their gains. Returns the number of axes.
 */
size_t		fc_best_axes(double *gains, size_t d, size_t max, uint32_t *axes);

/* Adds short rules to a learned tree, and sets the precision of its leaves. */
void		fc_rules_add_short(fc_grower *grower, size_t conditions, fc_arena *arena,
							   fc_rule_tree *tree);

#endif							/* FC_EXPLAIN_INTERNAL_H */
