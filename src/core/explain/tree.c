/*
 * tree.c - reads rules: the leaves of a tree, their conditions, the label of a
 * row; see explain.h
 */
#include "explain/internal.h"

bool
fc_rules_meets(const fc_short_rule *rule, const fc_labelled *rows, size_t i)
{
	for (size_t j = 0; j < rule->count; j++)
	{
		double		x = rows->x[rule->ranges[j].axis * rows->n + i];

		if (!(rule->ranges[j].lower.raw < x && x <= rule->ranges[j].upper.raw))
			return false;
	}
	return true;
}

/*
 * Walks from the root, because descendants of a pruned node remain in the
 * array.
 */
size_t
fc_rules_leaves(const fc_rule_tree *tree, uint32_t *leaves)
{
	/*
	 * number of nodes still to visit, which form a stack at the end of
	 * `leaves`
	 */
	size_t		open = 1;
	size_t		count = 0;

	leaves[tree->count - 1] = 0;
	while (open > 0)
	{
		uint32_t	at = leaves[tree->count - open--];
		const fc_rule_node *node = &tree->nodes[at];

		if (node->below < 0 && node->precision != FC_RULES_DROPPED)
			leaves[count++] = at;
		else if (node->below >= 0)
		{
			leaves[tree->count - ++open] = (uint32_t) node->above;
			leaves[tree->count - ++open] = (uint32_t) node->below;
		}
	}
	return count;
}

size_t
fc_rules_leaf(const fc_rule_tree *tree, const fc_labelled *rows, size_t i)
{
	size_t		at = 0;

	while (tree->nodes[at].below >= 0)
	{
		const fc_rule_node *node = &tree->nodes[at];

		at = (size_t) (rows->x[node->axis * rows->n + i] <= node->threshold.raw
					   ? node->below
					   : node->above);
	}
	return at;
}

int32_t
fc_rules_label(const fc_rule_tree *tree, const fc_labelled *rows, size_t i)
{
	const fc_rule_node *leaf = &tree->nodes[fc_rules_leaf(tree, rows, i)];
	double		precision = leaf->precision;
	int32_t		label = precision == FC_RULES_DROPPED ? -1 : leaf->label;

	for (size_t j = 0; j < tree->short_count; j++)
		if (tree->shorts[j].precision > precision &&
			fc_rules_meets(&tree->shorts[j], rows, i))
		{
			label = tree->shorts[j].label;
			precision = tree->shorts[j].precision;
		}
	return label;
}

void
fc_add_range(fc_range *ranges, size_t *count, const fc_range *range)
{
	for (size_t i = 0; i < *count; i++)
		if (ranges[i].axis == range->axis)
		{
			if (range->lower.raw > ranges[i].lower.raw)
				ranges[		i].lower = range->lower;

			if (range->upper.raw < ranges[i].upper.raw)
				ranges[		i].upper = range->upper;

			return;
		}
	ranges[		(*count)++] = *range;
}

size_t
fc_rules_ranges(const fc_rule_tree *tree, size_t leaf, fc_range *ranges)
{
	size_t		path[FC_RULES_DEPTH + 1];
	size_t		depth = 0;
	size_t		count = 0;

	path[0] = leaf;
	while (tree->nodes[path[depth]].parent >= 0)
	{
		path[depth + 1] = (size_t) tree->nodes[path[depth]].parent;
		depth++;
	}
	for (size_t i = depth; i > 0; i--)
	{
		const fc_rule_node *node = &tree->nodes[path[i]];
		fc_range	range = {
			node->axis, {-INFINITY, -INFINITY}, {INFINITY, INFINITY}
		};

		if ((size_t) node->below == path[i - 1])
			range.upper = node->threshold;
		else
			range.lower = node->threshold;
		fc_add_range(ranges, &count, &range);
	}
	return count;
}
