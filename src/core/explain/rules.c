/*
 * rules.c - thresholds on few columns that predict the labels of rows; see
 * explain.h
 */

#include "explain/internal.h"

/* ---- pruning ---- */

/*
 * Sets worth[j] to the contribution of a correctly labelled row of label j to
 * the score. The fraction 1 - FC_RULES_BALANCE of the maximum score is divided
 * evenly among the rows of the pruning set. The rest is divided evenly among
 * the labels, and the share of each label evenly among its rows. worth[j] is 0
 * for a label without rows in the pruning set.
 */
static void
weigh_labels(const fc_grower *grower, double *worth)
{
	const fc_labelled *rows = grower->rows;
	size_t		labels = 0;

	memset(worth, 0, rows->k * sizeof(double));
	for (size_t i = grower->split.check; i < grower->split.test; i++)
		labels += worth[rows->labels[i]]++ == 0.0;
	for (size_t j = 0; j < rows->k; j++)
		if (worth[j] > 0.0)
			worth[j] = (1.0 - FC_RULES_BALANCE) /
				(double) (grower->split.test - grower->split.check) +
				FC_RULES_BALANCE / ((double) labels * worth[j]);
}

/*
 * Returns the total worth of the rows of the pruning set that a node, taken as
 * a leaf, labels correctly.
 */
static double
leaf_value(const fc_grower *grower, size_t number, const double *worth)
{
	const fc_grown_node *node = &grower->grown[number];
	int32_t		label = grower->nodes[number].label;
	size_t		right = 0;

	for (size_t i = node->check_begin; i < node->check_end; i++)
		right += grower->rows->labels[grower->checked[i]] == label;
	return (double) right * worth[label];
}

/*
 * Prunes the tree from its leaves upwards: a node becomes a leaf unless its
 * children raise the score by more than the price of a leaf.
 *
 * Sets worth[j], for each of k labels, to the contribution of a correctly
 * labelled row of label j to the score (weigh_labels). Sets value[i], for each
 * node, to the score of its subtree: the worth of the rows with a correct
 * label, minus the price of every leaf but one.
 */
static void
prune(fc_grower *grower, double *worth, double *value)
{
	double		price = FC_RULES_PRICE / (double) grower->rows->k;

	weigh_labels(grower, worth);
	for (size_t i = grower->count; i-- > 0;)
	{
		fc_rule_node *node = &grower->nodes[i];
		double		children;

		fc_check();
		value[i] = leaf_value(grower, i, worth);
		if (node->below < 0)
			continue;
		children = value[node->below] + value[node->above] - price;
		if (children > value[i])
			value[i] = children;
		else
			node->below = node->above = -1;
	}
}

/* ---- learning ---- */

void
fc_rules_learn(const fc_labelled *rows, size_t conditions, fc_arena *arena,
			   fc_rule_tree *tree)
{
	fc_grower	grower = {.rows = rows,.conditions = conditions};
	double		best = -INFINITY;
	double	   *worth = FC_TAKE(arena, rows->k, double);
	double	   *value;
	uint32_t	roots[FC_RULES_TRIES];
	size_t		count;

	FC_ASSERT(rows->n > 0 && conditions >= 1 &&
			  conditions <= FC_RULES_CONDITIONS);
	fc_grower_start(&grower, arena);
	value = FC_TAKE(arena, grower.max_nodes, double);
	tree->nodes = FC_TAKE(arena, grower.max_nodes, fc_rule_node);
	count = fc_best_axes(grower.gains, rows->d,
						 larger(1,
								smaller(FC_RULES_TRIES,
										FC_RULES_VALUES / (rows->n * rows->d))),
						 roots);
	for (size_t i = 0; i < larger(count, 1); i++)
	{
		fc_grower_restart(&grower);
		if (count > 0)
			fc_grower_prefer(&grower, roots[i]);
		while (fc_grower_split(&grower))
			continue;
		prune(&grower, worth, value);
		if (value[0] <= best)
			continue;
		best = value[0];
		tree->count = grower.count;
		memcpy(tree->nodes, grower.nodes, grower.count * sizeof(fc_rule_node));
	}
	fc_rules_add_short(&grower, conditions, arena, tree);
}
