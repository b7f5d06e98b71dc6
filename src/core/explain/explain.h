/*
 * explain.h - clusters explained by the columns of a table: profiles of
 * centroids, and rules that predict labels
 */
#ifndef FC_EXPLAIN_EXPLAIN_H
#define FC_EXPLAIN_EXPLAIN_H

#include "base/fc.h"

typedef enum fc_axis_kind
{
	FC_AXIS_NUMBER = 0,
	FC_AXIS_LOG,				/* stored as sign(x) log(1 + |x|), shown as x */
	FC_AXIS_DAYS,				/* whole days */
	FC_AXIS_SECONDS,			/* seconds since midnight */
	FC_AXIS_FLAG,				/* 0 or 1 */
	FC_AXIS_SINE				/* second coordinate of a cyclic column, after
								 * its cosine */
} fc_axis_kind;

typedef struct fc_threshold
{
	double		raw;			/* threshold in stored units */
	double		shown;			/* threshold in the units shown to users */
} fc_threshold;

/* ---- rules ---- */

/*
 * Rules are thresholds on few columns that predict the labels of rows. They
 * form a tree, whose leaves are rules.
 *
 * A leaf is split at the threshold x[axis] <= t that reduces the entropy H of
 * the labels most. With n rows in the leaf, and n_c rows of label c, the gain
 * is
 *     gain = n H(n) - n_below H(below) - n_above H(above),
 *     n H(n) = n log n - sum_c n_c log n_c.
 * The leaf whose best split has the largest gain is split next (best first).
 * No path tests more than `conditions` columns. A range of one column is one
 * condition, regardless of the number of splits that made it. Thresholds have
 * few digits, as people write them.
 *
 * The tree grows on the first rows. Other rows decide how far it is pruned.
 * The score of a subtree is 3/4 of the share of rows with a correct label,
 * plus 1/4 (FC_RULES_BALANCE) of the mean of this share over the labels, so
 * that small clusters count. FC_RULES_PRICE / k is subtracted for each leaf,
 * and the subtree with the best result is kept. The accuracy of the rules is
 * measured on a third set of rows.
 *
 * A tree that starts with the best first split need not be the best tree,
 * especially if few columns are allowed. Therefore FC_RULES_TRIES axes are
 * tried at the root, or fewer if there are many values. The tree with the best
 * score is kept.
 *
 * A short rule is a conjunction of ranges on up to FC_RULES_SHORT axes. It is
 * added for a label if it predicts the label better than every leaf. The value
 * of a rule is the number of rows with the label that meet it, minus 5.7 times
 * the number of other rows that meet it. At a precision of 0.85 the value is
 * 0. The search maximises this value: ranges are added one by one, and each is
 * then searched again, given the others.
 *
 * A leaf is dropped if the short rule of its label nearly implies it. Consider
 * the rows that the leaf labels correctly and that do not meet the short rule.
 * The leaf is dropped if their share, among the rows that grow and prune the
 * tree, is below the price of a leaf. A row that meets several rules has the
 * label of the most precise rule. A row that meets no rule has no label.
 *
 * Frost, Moshkovitz, Rashtchian 2020 (ExKMC) grow threshold trees of k-means
 * with more leaves than clusters; Breiman, Friedman, Olshen, Stone 1984
 * (CART). Here the tree is learned from the labels alone, so that labels of
 * any model can be explained.
 *
 * A tree takes time O(d n depth) and 8 d n bytes of memory, where n is the
 * number of rows that grow the tree.
 */

/*
 * Price of a leaf, in units of the score, times the number k of labels. A
 * larger price makes rules fewer and shorter, but more rows that meet a rule
 * have another label (bench/rules.py).
 */
#define FC_RULES_PRICE	0.03

/*
 * Weight in the score, from 0 to 1, of the mean over the labels of the share
 * of correctly labelled rows. The share among all rows has the rest. A larger
 * weight describes small clusters better, and large ones worse
 * (bench/rules.py).
 */
#define FC_RULES_BALANCE	0.25

/*
 * Maximum number of axes tried at the root. More axes give better trees and
 * take proportionally longer (bench/rules.py).
 */
#define FC_RULES_TRIES	8

/*
 * Maximum number of values (rows times columns) read by all trees together,
 * which limits the number of axes tried at the root. A larger maximum takes
 * longer (bench/rules.py).
 */
#define FC_RULES_VALUES	((size_t) 8000000)

/*
 * Minimum number of rows that are divided into rows for growing, for pruning
 * and for measuring. If there are fewer, all rows are used for all three. A
 * guess.
 */
#define FC_RULES_PARTED	500

/* Maximum depth of a tree, and length of arrays with one element per level. */
#define FC_RULES_DEPTH	30

/* Maximum number of leaves of a tree, before it is pruned. A guess. */
#define FC_RULES_LEAVES	4096

/* Maximum number of conditions of a rule that a caller may request. */
#define FC_RULES_CONDITIONS	10

/*
 * Maximum number of axes of a short rule. Rules on more axes are more precise,
 * but take longer to find and to read (bench/rules.py).
 */
#define FC_RULES_SHORT	3

/* Precision that marks a dropped leaf. */
#define FC_RULES_DROPPED	(-1.0)

typedef struct fc_axis
{
	fc_axis_kind kind;
	uint32_t	column;			/* source column; axes of the same column
								 * count as one condition */
	uint32_t	dimension;		/* dimension of the rows, from 0 */
	double		period;			/* period of a cyclic axis; 0: not cyclic */
	double		cut;			/* value at which the circle is cut, in [0,
								 * period) */
} fc_axis;

/* Rows in random order, with their labels. */
typedef struct fc_labelled
{
	const double *x;			/* d columns of n finite values */
	const int32_t *labels;		/* n labels, 0 .. k - 1 */
	const fc_axis *axes;		/* d axes */
	size_t		n;				/* number of rows, below 2^31 */
	size_t		d;
	size_t		k;
} fc_labelled;

typedef struct fc_rule_node
{
	int32_t		parent;			/* parent node; -1: this is the root */
	int32_t		below;			/* child for rows with x[axis] <= threshold;
								 * -1: this is a leaf */
	int32_t		above;			/* child for the other rows */
	int32_t		label;			/* most frequent label among its rows */
	uint32_t	axis;
	fc_threshold threshold;

	/*
	 * share of the rows in a leaf that have the label of the leaf;
	 * FC_RULES_DROPPED: the leaf was dropped
	 */
	double		precision;
} fc_rule_node;

/* The range lower < x[axis] <= upper; either bound may be infinite. */
typedef struct fc_range
{
	uint32_t	axis;
	fc_threshold lower;
	fc_threshold upper;
} fc_range;

typedef struct fc_short_rule
{
	int32_t		label;
	double		precision;
	size_t		count;			/* number of ranges */
	fc_range ranges[FC_RULES_SHORT];
} fc_short_rule;

/*
 * A tree of rules. Node 0 is the root, and children follow their parents;
 * pruned nodes remain in the array.
 */
typedef struct fc_rule_tree
{
	fc_rule_node *nodes;
	size_t		count;
	fc_short_rule *shorts;		/* short rules, up to one per label */
	size_t		short_count;
} fc_rule_tree;

/*
 * Bounds of three ranges of n rows: [0, learn) grow the tree, [check, test)
 * prune it, and [test, n) measure its accuracy. With fewer than
 * FC_RULES_PARTED rows, all rows grow and prune the tree, and [test, n) is
 * empty.
 */
typedef struct fc_row_split
{
	size_t		learn;
	size_t		check;
	size_t		test;
} fc_row_split;

static inline fc_row_split
fc_split_rows(size_t n)
{
	return n < FC_RULES_PARTED
		? (fc_row_split)
	{
		n, 0, n
	}
	: (fc_row_split)
	{
		n / 10 * 6, n / 10 * 6, n / 10 * 8
	};
}

/*
 * Cuts a cyclic axis where the labels change most, so that few clusters lie on
 * both sides of the cut, and sets axis->cut. Replaces each value x, 0 <= x <
 * period, by -x or by -(x + period): the new value is above -(cut + period)
 * and at most -cut. A range lower < x <= upper of new values is the half-open
 * arc [-upper, -lower) of the circle.
 */
void		fc_cut_circle(double *x, const fc_labelled *rows, fc_axis *axis, fc_arena *arena);

/*
 * Learns a tree and short rules from n > 0 rows. The arrays of *tree are
 * allocated in the arena. A rule tests at most `conditions` columns, 1 to
 * FC_RULES_CONDITIONS.
 */
void		fc_rules_learn(const fc_labelled *rows, size_t conditions, fc_arena *arena,
						   fc_rule_tree *tree);

/*
 * Fills `leaves`, an array of tree->count elements, with the indices of the
 * leaves that were not dropped. Returns the number of these leaves.
 */
size_t		fc_rules_leaves(const fc_rule_tree *tree, uint32_t *leaves);

/* Returns the index of the leaf that row i reaches. */
size_t		fc_rules_leaf(const fc_rule_tree *tree, const fc_labelled *rows, size_t i);

/* Returns true if row i meets a short rule. */
bool		fc_rules_meets(const fc_short_rule *rule, const fc_labelled *rows, size_t i);

/*
 * Returns the label that the rules predict for row i, or -1 if no rule
 * applies.
 */
int32_t		fc_rules_label(const fc_rule_tree *tree, const fc_labelled *rows, size_t i);

/*
 * Writes the ranges that a row in the leaf must meet to `ranges`, in order
 * from the root. Returns their number, at most FC_RULES_DEPTH.
 */
size_t		fc_rules_ranges(const fc_rule_tree *tree, size_t leaf, fc_range *ranges);

/* ---- profiles ---- */

/*
 * Profiles: the differences of a centroid from the mean of all rows. In stored
 * units, let c be a coordinate of the centroid and c' the same coordinate of
 * the nearest other centroid; m and s are the mean and the standard deviation
 * of all rows.
 *
 *     difference = (c - m) / s
 *     apart = (c - c') / s
 *     lift = share in the cluster / share of all rows, for a flag
 *     telling = |difference| for a number; sqrt(2 KL) for a flag, with shares
 *               q in the cluster and p of all rows, where
 *               KL = q log(q / p) + (1 - q) log((1 - q) / (1 - p))
 * For two normal distributions of equal variance KL is difference^2 / 2, so
 * that numbers and flags are measured on one scale (Kullback 1959).
 *
 * A cyclic column has one cell, at its cosine. The difference is the length of
 * the difference of both coordinates, divided by the root of the sum of their
 * variances. It is negative if the shorter way from m to c is backwards.
 */
typedef struct fc_profile_cell
{
	uint32_t	axis;

	/*
	 * value of the centroid in the units shown to users, from 0 to 1 for a
	 * flag; exactly 0 if it differs from 0 by rounding only
	 */
	double		value;
	double		overall;		/* mean of all rows, in the units of `value` */
	double		difference;		/* standardised difference; NAN if all rows
								 * have the same value */
	double		lift;			/* ratio of shares; NAN unless the axis is a
								 * flag that some rows have */
	double		telling;		/* distinctiveness of the axis, 0 or greater */
	double		apart;			/* standardised difference from the nearest
								 * other centroid; 0 if all rows have the same
								 * value or there is no other centroid */
	size_t		apart_place;	/* rank of the axis by |apart|; 0: the
								 * greatest */
} fc_profile_cell;

/*
 * Fills in the d cells of a cluster, sorted by `telling`, the greatest first;
 * ties are sorted by axis. The input arrays have d values, in stored units.
 * `other` is the nearest other centroid, or NULL if there is no other
 * centroid.
 */
void		fc_profile_cluster(const fc_axis_kind *kinds, const double *centroid,
							   const double *other, const double *mean,
							   const double *deviation, size_t d, fc_arena *arena,
							   fc_profile_cell *cells);

#endif							/* FC_EXPLAIN_EXPLAIN_H */
