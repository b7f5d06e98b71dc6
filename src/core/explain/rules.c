/* rules.c - thresholds on few columns that tell the labels of rows; see explain.h */
#include "explain/explain.h"

#include <math.h>
#include <string.h>

#include "explain/internal.h"

/* ---- how much of the tree is kept ---- */

typedef struct pruning
{
	double	   *worth;			/* of a row of each of k labels that gets its label */
	double	   *value;			/* of each node: the worth of the rows that its leaves get right, minus the price of all leaves but one */
	fc_rule_node *nodes;		/* of the best tree */
} pruning;

/* A part of the score is shared by all rows that choose the size, the rest by their labels. */
static void
weigh_labels(const fc_grower *grower, double *worth)
{
	const fc_labelled *rows = grower->rows;
	size_t		labels = 0;

	memset(worth, 0, rows->k * sizeof(double));
	for (size_t i = grower->parts.check; i < grower->parts.test; i++)
		labels += worth[rows->labels[i]]++ == 0.0;
	for (size_t j = 0; j < rows->k; j++)
		if (worth[j] > 0.0)
			worth[j] = (1.0 - FC_RULES_BALANCE) / (double) (grower->parts.test - grower->parts.check) + FC_RULES_BALANCE / ((double) labels * worth[j]);
}

/* The worth of the rows that a node gets right as a leaf. */
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

/* Each node, its children before it, becomes a leaf unless these are worth their price. */
static void
prune(fc_grower *grower, const pruning *room)
{
	double		price = FC_RULES_PRICE / (double) grower->rows->k;

	weigh_labels(grower, room->worth);
	for (size_t i = grower->count; i-- > 0;)
	{
		fc_rule_node *node = &grower->nodes[i];
		double		children;

		fc_check();
		room->value[i] = leaf_value(grower, i, room->worth);
		if (node->below < 0)
			continue;
		children = room->value[node->below] + room->value[node->above] - price;
		if (children > room->value[i])
			room->value[i] = children;
		else
			node->below = node->above = -1;
	}
}

/* ---- learning ---- */

/* Grow the tree from the splits made so far, and prune it. */
static void
finish_tree(fc_grower *grower, const pruning *room)
{
	while (fc_grower_split(grower))
		continue;
	prune(grower, room);
}

/* The axes to try at a root's children, and the best value found. */
typedef struct children
{
	uint32_t	axes[2][FC_RULES_TRIES];
	size_t		count[2];
	double		value[2];		/* of the best subtree */
	size_t		choice[2];		/* its axis */
} children;

typedef struct tree_search
{
	fc_grower	grower;
	pruning		room;
	double		best;			/* value of the tree */
	fc_rule_tree *tree;
} tree_search;

static void
keep_better(tree_search *s)
{
	if (!(s->room.value[0] > s->best))
		return;
	s->best = s->room.value[0];
	*s->tree = (fc_rule_tree) {.nodes = s->room.nodes,.count = s->grower.count};
	memcpy(s->room.nodes, s->grower.nodes, s->grower.count * sizeof(fc_rule_node));
}

/* A tree with this axis at its root and those of the choices at its children. */
static void
try_tree(tree_search *s, uint32_t root, size_t below, size_t above, children *c)
{
	fc_grower  *grower = &s->grower;
	size_t		choice[2] = {below, above};
	bool		more;

	fc_grower_restart(grower);
	fc_grower_prefer(grower, 0, root);
	more = fc_grower_split(grower);
	for (size_t side = 0; side < 2 && more; side++)
	{
		double	   *gains = grower->gains + (1 + side) * grower->rows->d;

		if (c->value[side] == -INFINITY)
			c->count[side] = fc_best_axes(gains, grower->rows->d, FC_RULES_TRIES, c->axes[side]);
		if (choice[side] < c->count[side] && choice[side] > 0)
			fc_grower_prefer(grower, 1 + (int32_t) side, c->axes[side][choice[side]]);
	}
	finish_tree(grower, &s->room);
	for (size_t side = 0; side < 2 && more; side++)
		if (s->room.value[1 + side] > c->value[side])
		{
			c->value[side] = s->room.value[1 + side];
			c->choice[side] = choice[side];
		}
	keep_better(s);
}

/* The best tree with this axis at its root, of so many choices for each child. */
static void
search_root(tree_search *s, uint32_t root, size_t choices)
{
	children	c = {.value = {-INFINITY, -INFINITY}};

	for (size_t i = 0; i < choices && (i == 0 || i < c.count[0] || i < c.count[1]); i++)
		try_tree(s, root, i, i, &c);
	if (c.choice[0] != c.choice[1])
		try_tree(s, root, c.choice[0], c.choice[1], &c);
}

void
fc_rules_learn(const fc_labelled *rows, size_t conditions, fc_arena *arena, fc_rule_tree *tree)
{
	tree_search s = {.grower = {.rows = rows,.conditions = conditions},.best = -INFINITY,.tree = tree};
	size_t		values = rows->n * rows->d;
	uint32_t	roots[FC_RULES_TRIES];
	size_t		count;

	FC_ASSERT(rows->n > 0 && conditions >= 1 && conditions <= FC_RULES_CONDITIONS);
	fc_grower_take(&s.grower, rows->n, rows->d, rows->k, arena);
	s.room.worth = FC_TAKE(arena, rows->k, double);
	s.room.value = FC_TAKE(arena, s.grower.most_nodes, double);
	s.room.nodes = FC_TAKE(arena, s.grower.most_nodes, fc_rule_node);
	fc_grower_start(&s.grower, arena);
	count = fc_best_axes(s.grower.gains, rows->d, values > FC_RULES_VALUES ? 1 : FC_RULES_TRIES, roots);
	if (count == 0)
	{
		finish_tree(&s.grower, &s.room);
		keep_better(&s);
	}
	for (size_t i = 0; i < count; i++)
		search_root(&s, roots[i], values > FC_RULES_VALUES / FC_RULES_TRIES ? 1 : FC_RULES_TRIES);
	fc_rules_add_short(&s.grower, conditions, arena, tree);
}
