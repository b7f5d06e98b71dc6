/* short.c - the best short rule for each label; see explain.h */
#include "explain/internal.h"

/*
 * Cost of a row that meets a rule, but has another label. The row lowers the
 * value of the rule by this cost; a row with the label raises the value by 1.
 * A rule of precision 0.85 thus has the value 0. With a larger cost, rules are
 * more precise, and fewer rows meet them (bench/rules.py).
 */
#define MISS_COST	(0.85 / 0.15)

/*
 * Factor by which the value of a rule must exceed the value of the best leaf
 * of its label, and the values of the rules found before for this label. A
 * larger factor gives fewer and shorter rules (bench/rules.py).
 */
#define MIN_VALUE_RATIO	1.05

/*
 * Maximum number of values (labels times columns times rows) read in one pass
 * over all labels. With more values, there are no short rules. With at most an
 * eighth of the maximum, several axes are tried for the first range of a rule.
 * A larger maximum takes longer. A guess.
 */
#define MAX_VALUES	1e9

typedef struct short_search
{
	fc_grower  *grower;
	size_t		rows;			/* number of rows that grow and prune the tree */
	size_t		tries;			/* number of axes that are tried for the first
								 * range of a rule */
	int32_t		label;
	double		share;			/* fraction of the training rows that have the
								 * label */
	uint8_t    *met;			/* one flag for each training row: true if the
								 * row meets the ranges */
	double	   *gains;			/* d values: value of the best range along
								 * each axis */
	fc_range   *ranges;			/* d ranges: best range along each axis */
} short_search;

/*
 * Sets `met` to true for the training rows that meet all ranges of the rule
 * except range number `but`, else to false. If `but` is the number of ranges,
 * no range is excepted.
 */
static void
mark_met(short_search *s, const fc_short_rule *rule, size_t but)
{
	fc_short_rule others = *rule;

	if (but < rule->count)
		others.ranges[but] = others.ranges[--others.count];
	for (size_t i = 0; i < s->grower->split.learn; i++)
		s->met[i] = fc_rules_meets(&others, s->grower->rows, i);
}

/*
 * Returns a threshold with few digits between two values. If one of them is
 * infinite, returns that infinity.
 */
static fc_threshold
between(fc_axis_kind kind, double low, double high)
{
	fc_threshold infinite;

	if (isinf(low) || isinf(high))
	{
		infinite.raw = infinite.shown = isinf(low) ? low : high;
		return infinite;
	}
	return fc_short_threshold(kind, low, high);
}

/*
 * Sets *range to the range along an axis with the greatest value, and returns
 * this value. The value is the number of marked rows (s->met) in the range
 * that have the label, minus `penalty` times the number of other marked rows
 * in it. This is the maximum subarray in the order of the axis (Bentley 1984),
 * where rows with equal coordinates stay together. Returns 0 if the range is
 * unbounded on both sides.
 */
static double
best_range(const short_search *s, uint32_t axis, double penalty,
		   fc_range *range)
{
	const fc_labelled *rows = s->grower->rows;
	const double *x = rows->x + axis * rows->n;
	const uint32_t *order = s->grower->sorted + axis * s->grower->split.learn;
	size_t		n = s->grower->split.learn;
	double		sum = 0.0;
	double		best = 0.0;
	double		low = -INFINITY;	/* last coordinate before the range of the
									 * running sum; this range begins at
									 * `first` */
	double		first = -INFINITY;
	double		previous = -INFINITY;

	/*
	 * coordinates at the ends of the best range: [0] last coordinate below
	 * the range, [1] first and [2] last coordinate in the range, [3] first
	 * coordinate above the range
	 */
	double		ends[4] = {-INFINITY, -INFINITY, INFINITY, INFINITY};

	for (size_t i = 0; i < n;)
	{
		double		value = x[order[i]];
		size_t		right = 0;
		size_t		wrong = 0;

		for (; i < n && x[order[i]] == value; i++)
		{
			right += s->met[order[i]] && rows->labels[order[i]] == s->label;
			wrong += s->met[order[i]] && rows->labels[order[i]] != s->label;
		}
		if (right + wrong == 0)
			continue;
		if (ends[2] == previous)
			ends[3] = value;
		if (sum <= 0.0)
		{
			sum = 0.0;
			low = previous;
			first = value;
		}
		sum += (double) right - penalty * (double) wrong;
		if (sum > best)
		{
			best = sum;
			ends[0] = low;
			ends[1] = first;
			ends[2] = value;
			ends[3] = INFINITY;
		}
		previous = value;
	}
	*range = (fc_range)
	{
		axis, between(rows->axes[axis].kind, ends[0], ends[1]),
			between(rows->axes[axis].kind, ends[2], ends[3])
	};
	return isinf(range->lower.raw) && isinf(range->upper.raw) ? 0.0 : best;
}

/* Finds the best range of the marked rows along every axis. */
static void
sweep_axes(short_search *s, double penalty)
{
	for (uint32_t axis = 0; axis < s->grower->rows->d; axis++)
	{
		fc_check();
		s->gains[axis] = best_range(s, axis, penalty, &s->ranges[axis]);
	}
}

/*
 * Replaces each range by the best range along its axis, given the other
 * ranges; does this twice.
 */
static void
polish(short_search *s, fc_short_rule *rule)
{
	for (size_t i = 0; i < 2 * rule->count; i++)
	{
		fc_range   *range = &rule->ranges[i % rule->count];
		fc_range	better;

		mark_met(s, rule, i % rule->count);
		if (best_range(s, range->axis, MISS_COST, &better) > 0.0)
			*range = better;
	}
}

/*
 * Returns a rule of up to `wanted` ranges. The first range is along the axis
 * with the (place + 1)-th greatest gain. The penalty of a row with another
 * label rises with every range, up to MISS_COST, so that the first ranges stay
 * wide.
 */
static fc_short_rule
find_rule(short_search *s, size_t wanted, size_t place)
{
	fc_short_rule rule = {.label = s->label};
	double		min = fmin(MISS_COST, s->share / (1.0 - s->share));

	for (size_t step = 1; step <= wanted; step++)
	{
		uint32_t	axes[FC_RULES_TRIES];
		size_t		needed = step == 1 ? place + 1 : 1;

		mark_met(s, &rule, rule.count);
		sweep_axes(s, min * pow(MISS_COST / min,
								(double) step / (double) wanted));
		if (fc_best_axes(s->gains, s->grower->rows->d, needed, axes) < needed)
			break;
		fc_add_range(rule.ranges, &rule.count, &s->ranges[axes[needed - 1]]);
	}
	polish(s, &rule);
	return rule;
}

/*
 * Returns the value of a rule that `met` rows meet, `right` of them with its
 * label.
 */
static double
value_of(size_t right, size_t met)
{
	return (double) right - MISS_COST * (double) (met - right);
}

/*
 * Returns the value of a rule on the rows that grow and prune the tree, and
 * sets its precision.
 */
static double
measure(short_search *s, fc_short_rule *rule)
{
	size_t		met = 0;
	size_t		right = 0;

	for (size_t i = 0; i < s->rows && rule->count > 0; i++)
		if (fc_rules_meets(rule, s->grower->rows, i))
		{
			met++;
			right += s->grower->rows->labels[i] == rule->label;
		}
	rule->precision = met > 0 ? (double) right / (double) met : 0.0;
	return value_of(right, met);
}

/*
 * Stores the precision of every leaf in its node, and sets best[label] to the
 * value of the label's best leaf.
 */
static void
measure_leaves(short_search *s, fc_rule_tree *tree, fc_arena *arena,
			   double *best)
{
	const fc_labelled *rows = s->grower->rows;
	fc_mark		mark = fc_arena_mark(arena);
	size_t	   *met = FC_TAKE_ZEROED(arena, 2 * tree->count, size_t);
	size_t	   *right = met + tree->count;

	memset(best, 0, rows->k * sizeof(double));
	for (size_t i = 0; i < s->rows; i++)
	{
		size_t		leaf = fc_rules_leaf(tree, rows, i);

		fc_check();
		met[leaf]++;
		right[leaf] += rows->labels[i] == tree->nodes[leaf].label;
	}
	for (size_t i = 0; i < tree->count; i++)
		if (met[i] > 0)
		{
			tree->nodes[i].precision = (double) right[i] / (double) met[i];
			best[tree->nodes[i].label] = fmax(best[tree->nodes[i].label],
											  value_of(right[i], met[i]));
		}
	fc_arena_release(arena, mark);
}

/*
 * Drops each leaf that is nearly implied by the short rule of its label: the
 * correctly labelled rows of the leaf that do not meet the rule are not worth
 * the price of a leaf.
 */
static void
drop_implied_leaves(short_search *s, fc_rule_tree *tree, fc_arena *arena)
{
	const fc_labelled *rows = s->grower->rows;
	fc_mark		mark = fc_arena_mark(arena);
	size_t	   *alone = FC_TAKE_ZEROED(arena, tree->count, size_t);
	const fc_short_rule **rule = FC_TAKE_ZEROED(arena, rows->k,
												const fc_short_rule *);

	for (size_t j = 0; j < tree->short_count; j++)
		rule[tree->shorts[j].label] = &tree->shorts[j];
	for (size_t i = 0; i < s->rows; i++)
	{
		size_t		leaf = fc_rules_leaf(tree, rows, i);
		int32_t		label = tree->nodes[leaf].label;

		alone[leaf] += rows->labels[i] == label &&
			(rule[label] == NULL ||
			 !fc_rules_meets(rule[label], rows, i));
	}
	for (size_t i = 0; i < tree->count; i++)
		if (rule[tree->nodes[i].label] != NULL &&
			(double) alone[i] <
			FC_RULES_PRICE / (double) rows->k * (double) s->rows)
			tree->nodes[i].precision = FC_RULES_DROPPED;
	fc_arena_release(arena, mark);
}

static void
search_label(short_search *s, size_t conditions, double min,
			 fc_rule_tree *tree)
{
	fc_short_rule best;
	bool		found = false;

	for (size_t wanted = 1; wanted <= conditions && wanted <= FC_RULES_SHORT;
		 wanted++)
		for (size_t place = 0; place < (wanted > 1 ? s->tries : 1); place++)
		{
			fc_short_rule rule = find_rule(s, wanted, place);
			double		value = measure(s, &rule);

			if (!(value > MIN_VALUE_RATIO * min))
				continue;
			min = value;
			best = rule;
			found = true;
		}
	if (found)
		tree->shorts[tree->short_count++] = best;
}

void
fc_rules_add_short(fc_grower *grower, size_t conditions, fc_arena *arena,
				   fc_rule_tree *tree)
{
	const fc_labelled *rows = grower->rows;
	size_t		n = grower->split.learn;
	double		values = (double) rows->k * (double) rows->d * (double) n;
	short_search s = {.grower = grower,.rows = grower->split.test};
	double	   *best = FC_TAKE(arena, rows->k, double);
	size_t	   *counts = FC_TAKE_ZEROED(arena, rows->k, size_t);

	tree->short_count = 0;
	tree->shorts = FC_TAKE(arena, rows->k, fc_short_rule);
	s.met = FC_TAKE(arena, n, uint8_t);
	s.gains = FC_TAKE(arena, rows->d, double);
	s.ranges = FC_TAKE(arena, rows->d, fc_range);
	s.tries = (size_t) fmax(1.0, fmin((double) FC_RULES_TRIES,
									  MAX_VALUES / (4.0 * values)));
	measure_leaves(&s, tree, arena, best);
	for (size_t i = 0; i < n; i++)
		counts[rows->labels[i]]++;
	for (size_t j = 0; j < rows->k && values <= MAX_VALUES; j++)
	{
		s.label = (int32_t) j;
		s.share = (double) counts[j] / (double) n;
		if (counts[j] > 0 && counts[j] < n &&
			best[j] * MIN_VALUE_RATIO < (double) counts[j] * (double) s.rows / (double) n)
			search_label(&s, conditions, best[j], tree);
	}
	drop_implied_leaves(&s, tree, arena);
}
