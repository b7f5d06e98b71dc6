/*
 * explain.h - clusters in the words of a table: profiles of centroids, and
 * rules for labels
 */
#ifndef FC_EXPLAIN_EXPLAIN_H
#define FC_EXPLAIN_EXPLAIN_H

#include "base/fc.h"

typedef enum fc_axis_kind
{
	FC_AXIS_NUMBER = 0,
	FC_AXIS_LOG,				/* rows hold sign(x) log(1 + |x|), people read
								 * x */
	FC_AXIS_DAYS,				/* whole days */
	FC_AXIS_SECONDS,			/* from midnight */
	FC_AXIS_FLAG				/* 0 and 1 */
} fc_axis_kind;

typedef struct fc_threshold
{
	double		raw;			/* as rows hold it: low <= raw < high */
	double		shown;			/* as people read it */
} fc_threshold;

/* ---- rules ---- */

/*
 * Thresholds on few columns that predict the labels of rows: a tree, whose
 * leaves are rules.
 *
 * Each split x[axis] <= t is the one that lowers the entropy of the labels
 * most,
 *     gain = n H(n) - n_below H(below) - n_above H(above),   n H(n) = n log n - sum_c n_c log n_c,
 * of all leaves' splits the one of most gain comes next (best first). No path
 * asks about more columns than `conditions`; a range of one column is one
 * condition, however many splits made it. Thresholds are as short as people
 * write them.
 *
 * The tree grows on the first rows. How much of it is kept is decided on
 * others: the subtree of the greatest score less FC_RULES_PRICE / k for each
 * leaf. The score is the share of rows that get their label, and to a quarter
 * (FC_RULES_BALANCE) the mean of those shares over labels, so that small
 * clusters count. The share of labels that rules keep is measured on rows of
 * neither part. The best first split need not begin the best tree, above all
 * where few columns may be asked about. So FC_RULES_TRIES axes are tried at
 * the root, of many values fewer, and the tree of the best score stays.
 *
 * A label that no leaf predicts as well has a short rule beside the tree:
 * ranges of at most FC_RULES_SHORT axes, which hold the most rows of the
 * label, each other row counted as 5.7 of them against it (a precision of 0.85
 * has the value 0). Ranges are added one by one, and each is found again
 * beside the others. Leaves that such a rule makes not worth their price are
 * dropped. A row that meets several rules has the label of the most precise
 * one, and a row that meets none has no label.
 *
 * Frost, Moshkovitz, Rashtchian 2020 (ExKMC) grow threshold trees of k-means
 * with more leaves than clusters; Breiman, Friedman, Olshen, Stone 1984
 * (CART). Here the labels alone count, so that labels of any model can be
 * explained.
 *
 * Time O(d n depth) a tree, memory 8 d n bytes, n the rows of the first part.
 */
#define FC_RULES_PRICE		0.03
#define FC_RULES_BALANCE	0.25
#define FC_RULES_TRIES		8
#define FC_RULES_VALUES		((size_t) 8000000)	/* of all trees */
#define FC_RULES_PARTED		500 /* fewer rows serve for everything */
#define FC_RULES_DEPTH		30
#define FC_RULES_LEAVES		4096
#define FC_RULES_CONDITIONS	10
#define FC_RULES_SHORT		3
#define FC_RULES_DROPPED	(-1.0)

typedef struct fc_axis
{
	fc_axis_kind kind;
	uint32_t	column;			/* axes of one column are one condition
								 * together */
} fc_axis;

/* Rows in random order. */
typedef struct fc_labelled
{
	const double *x;			/* d columns of n finite values */
	const int32_t *labels;		/* n, 0 .. k - 1 */
	const fc_axis *axes;		/* d */
	size_t		n;				/* below 2^31 */
	size_t		d;
	size_t		k;
} fc_labelled;

typedef struct fc_rule_node
{
	int32_t		parent;			/* -1: the root */
	int32_t		below;			/* the node of rows of x[axis] <= threshold;
								 * -1: a leaf */
	int32_t		above;
	int32_t		label;			/* the most frequent one */
	uint32_t	axis;
	fc_threshold threshold;

	/*
	 * of a leaf: the share of its rows that have the label, or
	 * FC_RULES_DROPPED
	 */
	double		precision;
} fc_rule_node;

/* lower < x[axis] <= upper, where either may be infinite. */
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
	size_t		count;
	fc_range ranges[FC_RULES_SHORT];
} fc_short_rule;

/*
 * Node 0 is the root, children come behind their parents; some nodes may be
 * out of use.
 */
typedef struct fc_rule_tree
{
	fc_rule_node *nodes;
	size_t		count;
	fc_short_rule *shorts;		/* at most one a label */
	size_t		short_count;
} fc_rule_tree;

/*
 * The parts of n rows: [0, learn) to grow, [check, test) to choose the size,
 * [test, n) to measure.
 */
typedef struct fc_rule_parts
{
	size_t		learn;
	size_t		check;
	size_t		test;
} fc_rule_parts;

static inline fc_rule_parts
fc_rules_parts(size_t n)
{
	return n < FC_RULES_PARTED
		? (fc_rule_parts)
	{
		n, 0, n
	}
	: (fc_rule_parts)
	{
		n / 10 * 6, n / 10 * 6, n / 10 * 8
	};
}

/*
 * Learn a tree; it is in the arena. conditions: 1 .. FC_RULES_CONDITIONS. n >
 * 0.
 */
void		fc_rules_learn(const fc_labelled *rows, size_t conditions, fc_arena *arena,
						   fc_rule_tree *tree);

/* The nodes that are leaves, room for tree->count; how many there are. */
size_t		fc_rules_leaves(const fc_rule_tree *tree, uint32_t *leaves);

/* The leaf of row i. */
size_t
			fc_rules_leaf(const fc_rule_tree *tree, const fc_labelled *rows, size_t i);

/* Does row i meet a short rule? */
bool
			fc_rules_meets(const fc_short_rule *rule, const fc_labelled *rows, size_t i);

/* The label that the rules give row i. */
int32_t
			fc_rules_label(const fc_rule_tree *tree, const fc_labelled *rows, size_t i);

/*
 * A range that a rule asks for: lower < x[axis] <= upper, as people read it.
 */
typedef struct fc_condition
{
	uint32_t	axis;
	double		lower;			/* -INFINITY: none */
	double		upper;			/* INFINITY: none */
} fc_condition;

/*
 * The conditions of a leaf, at most FC_RULES_DEPTH, in the order from the
 * root; how many there are.
 */
size_t		fc_rules_conditions(const fc_rule_tree *tree, size_t leaf,
								fc_condition *conditions);

/* ---- profiles ---- */

/*
 * Profiles: the differences of a centroid from the mean of all rows.
 *
 *     difference = (c - m) / s             m, s: mean and deviation of all
 *                                          rows, as rows hold the value
 *     lift = share in the cluster / share of all rows, of a flag
 *     telling = |difference| of a number; sqrt(2 KL) of a flag,
 *               KL = q log(q / p) + (1 - q) log((1 - q) / (1 - p))
 *     apart = (c - c') / s                 c' the nearest other centroid
 * For two normal distributions of one variance KL is difference^2 / 2, so that
 * numbers and flags are measured alike (Kullback 1959).
 */
typedef struct fc_profile_cell
{
	uint32_t	axis;

	/*
	 * of the centroid, as people read it; a share is from 0 to 1; 0 where it
	 * is that but for the rounding of floats
	 */
	double		value;
	double		overall;
	double		difference;		/* NAN where all rows are alike */
	double		lift;			/* NAN but of a flag that some rows have */
	double		telling;		/* not negative */
	double		apart;			/* 0 where all rows are alike, or there is no
								 * other centroid */
	size_t		apart_place;	/* 0: that of the greatest |apart| */
} fc_profile_cell;

/*
 * The d cells of a cluster, most telling first, equal ones by their axis; all
 * arguments are as rows hold values, other may be NULL.
 */
void		fc_profile_cluster(const fc_axis_kind *kinds, const double *centroid,
							   const double *other, const double *mean,
							   const double *deviation, size_t d, fc_arena *arena,
							   fc_profile_cell *cells);

#endif							/* FC_EXPLAIN_EXPLAIN_H */
