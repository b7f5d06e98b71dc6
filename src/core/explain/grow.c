/* grow.c - growing the tree of rules, best split first; see internal.h */
#include "explain/internal.h"

#include "base/sort.h"

/*
 * Factor from 0 to 1 for the gain of a column that the path does not test yet.
 * It favours columns tested already, which need no further condition. A
 * smaller factor gives shorter rules of lower precision (bench/rules.py).
 */
#define NEW_COLUMN_FACTOR	0.9

/* Gain of a split, in nats, that is only rounding error. */
#define MIN_SPLIT_GAIN	1e-6

static size_t
max_nodes(size_t n, size_t k)
{
	size_t		leaves = 4 * k + 4;

	leaves = leaves < FC_RULES_LEAVES ? leaves : FC_RULES_LEAVES;
	return 2 * (leaves < n ? leaves : n);
}

/* Allocates the arrays of a grower in the arena. */
static void
take_arrays(fc_grower *grower, fc_arena *arena)
{
	size_t		n = grower->rows->n;
	size_t		d = grower->rows->d;
	size_t		k = grower->rows->k;
	fc_row_split split = fc_split_rows(n);

	grower->split = split;
	grower->max_nodes = max_nodes(n, k);
	grower->nodes = FC_TAKE(arena, grower->max_nodes, fc_rule_node);
	grower->grown = FC_TAKE(arena, grower->max_nodes, fc_grown_node);
	grower->sorted = FC_TAKE(arena, d * split.learn, uint32_t);
	grower->order = FC_TAKE(arena, d * split.learn, uint32_t);
	grower->checked = FC_TAKE(arena, split.test - split.check, uint32_t);
	grower->moved = FC_TAKE(arena, n, uint32_t);
	grower->goes_above = FC_TAKE(arena, n, uint8_t);
	grower->n_log_n = FC_TAKE(arena, split.learn + 1, double);
	grower->below = FC_TAKE(arena, k, uint32_t);
	grower->above = FC_TAKE(arena, k, uint32_t);
	grower->gains = FC_TAKE(arena, d, double);
}

/* ---- the best split of a node ---- */

/* Returns true if the path to a node tests the column. */
static bool
has_condition_on(const fc_grower *grower, int32_t node, uint32_t column)
{
	const fc_rule_node *nodes = grower->nodes;

	for (int32_t at = nodes[node].parent; at >= 0; at = nodes[at].parent)
		if (grower->rows->axes[nodes[at].axis].column == column)
			return true;
	return false;
}

/*
 * Counts the labels of a node's rows in `above`, and sets the counts of these
 * labels in `below` to 0. Returns sum_c n_c log n_c over the labels c.
 */
static double
count_labels(fc_grower *grower, const fc_grown_node *node)
{
	const int32_t *labels = grower->rows->labels;
	const uint32_t *rows = grower->order;
	double		sum = 0.0;

	for (size_t i = node->begin; i < node->end; i++)
		grower->above[labels[rows[i]]] = grower->below[labels[rows[i]]] = 0;
	for (size_t i = node->begin; i < node->end; i++)
	{
		uint32_t   *count = &grower->above[labels[rows[i]]];

		sum += grower->n_log_n[*count + 1] - grower->n_log_n[*count];
		(*count)++;
	}
	return sum;
}

/*
 * Returns the gain of the best split of a node along one axis. The split is
 * stored in the node if its gain, times `factor`, exceeds node->gain. `sum` is
 * the result of count_labels for the node. The counts of labels are the same
 * before and after the call.
 */
static double
sweep_axis(fc_grower *grower, uint32_t axis, double sum, double factor,
		   fc_grown_node *node)
{
	const double *f = grower->n_log_n;
	const double *x = grower->rows->x + axis * grower->rows->n;
	const uint32_t *rows = grower->order + axis * grower->split.learn;
	const int32_t *labels = grower->rows->labels;
	size_t		n = node->end - node->begin;
	double		whole = f[n] - sum;
	double		sum_below = 0.0;
	double		sum_above = sum;
	double		best_gain = 0.0;
	size_t		best = 0;

	for (size_t i = 1; i < n; i++)
	{
		uint32_t	row = rows[node->begin + i - 1];
		uint32_t   *below = &grower->below[labels[row]];
		uint32_t   *above = &grower->above[labels[row]];
		double		gain;

		sum_below += f[*below + 1] - f[*below];
		sum_above -= f[*above] - f[*above - 1];
		(*below)++;
		(*above)--;
		if (!(x[row] < x[rows[node->begin + i]]))
			continue;
		gain = whole - (f[i] - sum_below) - (f[n - i] - sum_above);
		if (gain > best_gain + MIN_SPLIT_GAIN)
		{
			best_gain = gain;
			best = i;
		}
	}
	for (size_t i = 1; i < n; i++)
	{
		uint32_t	label = (uint32_t) labels[rows[node->begin + i - 1]];

		grower->below[label]--;
		grower->above[label]++;
	}
	if (factor * best_gain > node->gain + MIN_SPLIT_GAIN)
	{
		node->gain = factor * best_gain;
		node->axis = axis;
		node->threshold = fc_short_threshold(grower->rows->axes[axis].kind,
											 x[rows[node->begin + best - 1]],
											 x[rows[node->begin + best]]);
	}
	return best_gain;
}

static int32_t
frequent_label(const fc_grower *grower, const fc_grown_node *node)
{
	const int32_t *labels = grower->rows->labels;
	int32_t		label = labels[grower->order[node->begin]];

	for (size_t i = node->begin; i < node->end; i++)
	{
		int32_t		other = labels[grower->order[i]];

		if (grower->above[other] > grower->above[label] ||
			(grower->above[other] == grower->above[label] && other < label))
			label = other;
	}
	return label;
}

/* Finds the label of a new node, and its best split. */
static void
split_new_node(fc_grower *grower, int32_t number)
{
	fc_grown_node *node = &grower->grown[number];
	size_t		n = node->end - node->begin;
	double		sum = count_labels(grower, node);

	if (number == 0)
		memset(grower->gains, 0, grower->rows->d * sizeof(double));
	grower->nodes[number].label = frequent_label(grower, node);
	node->gain = 0.0;
	if (node->depth >= FC_RULES_DEPTH || grower->n_log_n[n] - sum <= MIN_SPLIT_GAIN)
		return;
	for (uint32_t axis = 0; axis < grower->rows->d; axis++)
	{
		bool		known = has_condition_on(grower, number, grower->rows->axes[axis].column);
		double		gain;

		if (node->columns >= grower->conditions && !known)
			continue;
		fc_check();
		gain = sweep_axis(grower, axis, sum, known ? 1.0 : NEW_COLUMN_FACTOR, node);
		if (number == 0)
			grower->gains[axis] = gain;
	}
}

/* ---- splitting ---- */

static int32_t
add_node(fc_grower *grower, int32_t parent, const fc_grown_node *range)
{
	int32_t		number = (int32_t) grower->count++;

	grower->grown[number] = *range;
	grower->nodes[number] = (fc_rule_node)
	{
		.parent = parent,
			.below = -1,
			.above = -1
	};
	return number;
}

/*
 * Partitions rows [begin, end) of a list by goes_above: rows below the
 * threshold come first. Within both parts, the order is unchanged. Returns the
 * index of the first row above the threshold.
 */
static size_t
split_order(fc_grower *grower, uint32_t *rows, size_t begin, size_t end)
{
	size_t		kept = begin;
	size_t		moved = 0;

	for (size_t i = begin; i < end; i++)
	{
		if (grower->goes_above[rows[i]])
			grower->moved[moved++] = rows[i];
		else
			rows[kept++] = rows[i];
	}
	memcpy(rows + kept, grower->moved, moved * sizeof(uint32_t));
	return kept;
}

static void
mark_rows(fc_grower *grower, const fc_grown_node *node, const uint32_t *rows,
		  size_t begin, size_t end)
{
	const double *x = grower->rows->x + node->axis * grower->rows->n;

	for (size_t i = begin; i < end; i++)
		grower->goes_above[rows[i]] = x[rows[i]] > node->threshold.raw;
}

/* Divides the rows of a node between its two children. */
static void
split_node(fc_grower *grower, const fc_grown_node *node, fc_grown_node *below,
		   fc_grown_node *above)
{
	size_t		middle = node->begin;

	*below = *above = *node;
	below->depth = above->depth = node->depth + 1;
	mark_rows(grower, node, grower->order, node->begin, node->end);
	for (size_t axis = 0; axis < grower->rows->d; axis++)
	{
		fc_check();
		middle = split_order(grower, grower->order + axis * grower->split.learn,
							 node->begin, node->end);
	}
	below->end = above->begin = middle;
	mark_rows(grower, node, grower->checked, node->check_begin,
			  node->check_end);
	below->check_end = above->check_begin = split_order(grower, grower->checked,
														node->check_begin,
														node->check_end);
}

bool
fc_grower_split(fc_grower *grower)
{
	int32_t		best = 0;
	fc_grown_node below;
	fc_grown_node above;
	fc_rule_node *node;

	for (int32_t i = 0; i < (int32_t) grower->count; i++)
		if (grower->nodes[i].below < 0 &&
			(grower->nodes[best].below >= 0 ||
			 grower->grown[i].gain > grower->grown[best].gain))
			best = i;
	if (grower->nodes[best].below >= 0 || !(grower->grown[best].gain > 0.0) ||
		grower->count + 2 > grower->max_nodes)
		return false;
	split_node(grower, &grower->grown[best], &below, &above);
	below.columns += !has_condition_on(grower, best,
									   grower->rows->axes[grower->grown[best].axis].column);
	above.columns = below.columns;
	node = &grower->nodes[best];
	node->axis = grower->grown[best].axis;
	node->threshold = grower->grown[best].threshold;
	node->below = add_node(grower, best, &below);
	node->above = add_node(grower, best, &above);
	split_new_node(grower, node->below);
	split_new_node(grower, node->above);
	return true;
}

/* ---- the root ---- */

static void
sort_axes(fc_grower *grower, fc_arena *arena)
{
	size_t		n = grower->split.learn;
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, n, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, n, fc_keyed);

	for (size_t axis = 0; axis < grower->rows->d; axis++)
	{
		fc_check();
		fc_sort_numbers(grower->rows->x + axis * grower->rows->n, n, items, scratch);
		for (size_t i = 0; i < n; i++)
			grower->sorted[axis * n + i] = (uint32_t) items[i].value;
	}
	fc_arena_release(arena, mark);
}

void
fc_grower_restart(fc_grower *grower)
{
	fc_grown_node root = {
		.end = grower->split.learn,
		.check_end = grower->split.test - grower->split.check
	};

	memcpy(grower->order, grower->sorted,
		   grower->rows->d * grower->split.learn * sizeof(uint32_t));
	for (size_t i = 0; i < root.check_end; i++)
		grower->checked[i] = (uint32_t) (grower->split.check + i);
	grower->count = 0;
	(void) add_node(grower, -1, &root);
}

void
fc_grower_start(fc_grower *grower, fc_arena *arena)
{
	take_arrays(grower, arena);
	sort_axes(grower, arena);
	for (size_t i = 0; i <= grower->split.learn; i++)
		grower->n_log_n[i] = i > 0 ? (double) i * log((double) i) : 0.0;
	fc_grower_restart(grower);
	split_new_node(grower, 0);
}

void
fc_grower_prefer(fc_grower *grower, uint32_t axis)
{
	fc_grown_node *node = &grower->grown[0];
	double		sum = count_labels(grower, node);

	grower->nodes[0].label = frequent_label(grower, node);
	node->gain = 0.0;
	(void) sweep_axis(grower, axis, sum, 1.0, node);
}

size_t
fc_best_axes(double *gains, size_t d, size_t max, uint32_t *axes)
{
	size_t		count = 0;

	for (; count < max; count++)
	{
		uint32_t	best = 0;

		for (uint32_t i = 1; i < d; i++)
			if (gains[i] > gains[best])
				best = i;
		if (!(gains[best] > 0.0))
			break;
		gains[best] = 0.0;
		axes[count] = best;
	}
	return count;
}
