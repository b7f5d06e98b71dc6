/*
 * test_explain.c - thresholds, rules, profiles, quality figures and
 * probabilities have known values. Every rule tree assigns each row to a
 * single leaf with no more conditions than allowed.
 */
#include "explain/internal.h"
#include "operator/codebook.h"
#include "operator/fit.h"
#include "operator/mixture.h"
#include "operators.h"

/* ---- thresholds ---- */

typedef struct known_threshold
{
	fc_axis_kind kind;
	double		low;
	double		high;
	double		shown;
} known_threshold;

static const known_threshold thresholds[] = {
	{FC_AXIS_NUMBER, 31, 32, 31},
	{FC_AXIS_NUMBER, 34998, 75001, 50000},
	{FC_AXIS_NUMBER, 5.99, 10.0003, 8},
	{FC_AXIS_NUMBER, -3, 4, 0},
	{FC_AXIS_NUMBER, 0, 1, 0.5},
	{FC_AXIS_NUMBER, -0.0021, -0.0018, -0.002},
	{FC_AXIS_NUMBER, 1e300, 1.5e300, 1e300},
	{FC_AXIS_NUMBER, 123.4565, 123.4571, 123.457},
	{FC_AXIS_LOG, 4.7, 9.3, 2000},	/* logarithms of 109 and 10938 */
	{FC_AXIS_LOG, -0.7, 0.7, 0},
	{FC_AXIS_DAYS, 100, 101, 100},
	{FC_AXIS_DAYS, 100, 201, 150},
	{FC_AXIS_SECONDS, 10000, 100000, 86400},
	{FC_AXIS_SECONDS, 3500, 7300, 7200},
	{FC_AXIS_SECONDS, 3.25, 3.75, 3.5},
	{FC_AXIS_FLAG, 0, 1, 0.5},
	{FC_AXIS_FLAG, 0, 0.4, 0.2},
	/*
	 * values that floats have rounded up: the upper end is not used as a
	 * threshold
	 */
	{FC_AXIS_NUMBER, 0.1 + 1e-9, 0.2 + 1e-9, 0.15},
	{FC_AXIS_NUMBER, 1700000010.0000002, 1700000020.0000002, 1700000015},
	{FC_AXIS_DAYS, 8770.0001, 8771.0001, 8770.5},
	{FC_AXIS_SECONDS, 3.0000001, 4.0000001, 3.5},
	{FC_AXIS_NUMBER, -10, 1e-9, -5},
	{FC_AXIS_LOG, 7.6014023345837339, 8.0067008455, 2500}	/* logarithms of 2000 and 3000.00003 */
};

/*
 * Known intervals have the expected short thresholds, and the threshold of a
 * random interval is inside it.
 */
static void
test_thresholds(void)
{
	fc_rng		rng = fc_rng_start(1, 0);

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++)
	{
		const known_threshold *known = &thresholds[i];
		fc_threshold t = fc_short_threshold(known->kind, known->low, known->high);

		CHECK(fabs(t.shown - known->shown) <= 1e-12 * fabs(known->shown), "%.17g, not %.17g", t.shown, known->shown);
	}
	for (int i = 0; i < 100000; i++)
	{
		fc_axis_kind kind = (fc_axis_kind) fc_rng_below(&rng, FC_AXIS_FLAG + 1);
		double		low = fc_rng_normal(&rng) * pow(10.0, 12.0 * fc_rng_uniform(&rng) - 6.0);
		double		high = low + fabs(low) * pow(10.0, -16.0 * fc_rng_uniform(&rng));
		fc_threshold t;

		if (kind == FC_AXIS_LOG)
			low = copysign(log1p(fabs(low)), low), high = copysign(log1p(fabs(high)), high);
		if (!(low < high))
			high = nextafter(low, INFINITY);
		t = fc_short_threshold(kind, low, high);
		CHECK(low <= t.raw && t.raw < high, "%.17g outside [%.17g, %.17g)", t.raw, low, high);
		CHECK(kind == FC_AXIS_LOG || t.raw == t.shown, "the threshold shown is not the one applied");
	}
}

/* ---- rules ---- */

typedef struct planted
{
	fc_labelled rows;
	double	   *x;
	int32_t    *labels;
	fc_axis    *axes;
} planted;

/* Returns n uniform rows with d columns; the labels are not set. */
static planted
make_planted(size_t n, size_t d, size_t k, uint64_t seed)
{
	planted		p = {.x = unit_alloc(n * d, sizeof(double)),.labels = unit_alloc(n, sizeof(int32_t)),.axes = unit_alloc(d, sizeof(fc_axis))};
	fc_rng		rng = fc_rng_start(seed, 0);

	for (size_t i = 0; i < n * d; i++)
		p.x[i] = fc_rng_uniform(&rng);
	for (size_t j = 0; j < d; j++)
		p.axes[j] = (fc_axis) {.kind = FC_AXIS_NUMBER,.column = (uint32_t) j};
	p.rows = (fc_labelled) {p.x, p.labels, p.axes, n, d, k};
	return p;
}

/*
 * Labels two corners of the unit cube and the rest: 1 where x0 > 0.6 and
 * x1 <= 0.3, 2 where x0 <= 0.6 and x2 > 0.5.
 */
static void
plant_corners(planted *p)
{
	size_t		n = p->rows.n;

	for (size_t i = 0; i < n; i++)
		p->labels[i] = p->x[i] > 0.6 ? p->x[n + i] <= 0.3 : p->x[2 * n + i] > 0.5 ? 2 : 0;
}

/* Returns the share of rows [from, n) that get their own label. */
static double
kept(const fc_rule_tree *tree, const fc_labelled *rows, size_t from)
{
	size_t		right = 0;

	for (size_t i = from; i < rows->n; i++)
		right += fc_rules_label(tree, rows, i) == rows->labels[i];
	return (double) right / (double) (rows->n - from);
}

/* Returns true if the row meets all conditions, tested one by one. */
static bool
meets(const fc_labelled *rows, size_t i, const fc_range *conditions, size_t count)
{
	for (size_t c = 0; c < count; c++)
	{
		double		x = rows->x[conditions[c].axis * rows->n + i];

		if (!(x > conditions[c].lower.shown && x <= conditions[c].upper.shown))
			return false;
	}
	return true;
}

static size_t
columns_of(const fc_labelled *rows, const fc_range *conditions, size_t count)
{
	size_t		columns = 0;

	for (size_t i = 0; i < count; i++)
	{
		size_t		j = 0;

		while (j < i && rows->axes[conditions[j].axis].column != rows->axes[conditions[i].axis].column)
			j++;
		columns += j == i;
	}
	return columns;
}

/*
 * Every row is in one leaf, whose conditions it meets, and meets the
 * conditions of no other leaf. No leaf uses more columns than allowed.
 */
static void
check_tree(const fc_rule_tree *tree, const fc_labelled *rows, size_t conditions)
{
	uint32_t   *leaves = unit_alloc(tree->count, sizeof(uint32_t));
	size_t		count = fc_rules_leaves(tree, leaves);
	fc_range requested[FC_RULES_DEPTH];

	CHECK(count >= 1 && count <= tree->count, "%zu leaves", count);
	for (size_t l = 0; l < count; l++)
	{
		size_t		asks = fc_rules_ranges(tree, leaves[l], requested);
		size_t		wrong = 0;

		CHECK(columns_of(rows, requested, asks) <= conditions, "%zu conditions", asks);
		for (size_t i = 0; i < rows->n; i++)
			wrong += meets(rows, i, requested, asks) != (fc_rules_leaf(tree, rows, i) == leaves[l]);
		CHECK(wrong == 0, "%zu rows", wrong);
	}
}

static fc_rule_tree
learn(const planted *p, size_t conditions, fc_arena *arena)
{
	fc_rule_tree tree;

	*arena = unit_arena();
	fc_rules_learn(&p->rows, conditions, arena, &tree);
	check_tree(&tree, &p->rows, conditions);
	return tree;
}

/*
 * Planted rules are found with 99.5 % of the labels and their thresholds to
 * 0.003; one condition is not enough for them.
 */
static void
test_planted_rules(void)
{
	planted		p = make_planted(5000, 5, 3, 1);
	fc_arena	arena;
	fc_rule_tree tree;
	uint32_t   *leaves;

	plant_corners(&p);
	tree = learn(&p, 2, &arena);
	leaves = unit_alloc(tree.count, sizeof(uint32_t));
	CHECK(fc_rules_leaves(&tree, leaves) == 4, "the planted rules do not have four leaves");
	CHECK(kept(&tree, &p.rows, fc_split_rows(5000).test) > 0.995, "the planted rules are not found");
	for (size_t i = 0; i < tree.count; i++)
		if (tree.nodes[i].below >= 0)
			CHECK(fabs(tree.nodes[i].threshold.shown - (double[]) {0.6, 0.3, 0.5}[tree.nodes[i].axis]) < 0.003, "threshold %g of axis %u",
				  tree.nodes[i].threshold.shown, tree.nodes[i].axis);
	tree = learn(&p, 1, &arena);
	CHECK(kept(&tree, &p.rows, 0) < 0.9, "one condition suffices for planted rules of two");
}

/*
 * Three arcs of a day, one of them around midnight: the circle is cut between
 * two of them, so that each arc is one range and one leaf.
 */
static void
test_circle(void)
{
	planted		p = make_planted(3000, 1, 3, 2);
	fc_arena	arena = unit_arena();
	fc_rule_tree tree;
	double	   *hour = unit_alloc(3000, sizeof(double));
	double		cut;
	size_t		wrong = 0;

	for (size_t i = 0; i < 3000; i++)
	{
		hour[i] = p.x[i] *= 24.0;
		p.labels[i] = p.x[i] >= 22.0 || p.x[i] < 5.0 ? 0 : p.x[i] < 12.0 ? 1 : 2;
	}
	p.axes[0].period = 24.0;
	fc_cut_circle(p.x, &p.rows, &p.axes[0], &arena);
	cut = p.axes[0].cut;
	CHECK(fabs(cut - 22.0) < 0.1 || fabs(cut - 5.0) < 0.1 || fabs(cut - 12.0) < 0.1, "the cut is at %g", cut);
	for (size_t i = 0; i < 3000; i++)
		wrong += p.x[i] > -cut || p.x[i] <= -cut - 24.0 || (-p.x[i] != hour[i] && -p.x[i] != hour[i] + 24.0);
	CHECK(wrong == 0, "%zu values are out of range", wrong);
	tree = learn(&p, 1, &arena);
	CHECK(fc_rules_leaves(&tree, unit_alloc(tree.count, sizeof(uint32_t))) == 3, "the arcs do not have three leaves");
	CHECK(kept(&tree, &p.rows, 0) > 0.998, "the arcs are not found");
}

/*
 * Axes of the same column count as one condition: label 1 if neither of two
 * flags is set.
 */
static void
test_columns(void)
{
	planted		p = make_planted(600, 2, 2, 2);
	fc_arena	arena;
	fc_rule_tree tree;

	for (size_t i = 0; i < 600; i++)
	{
		p.x[i] = i % 3 == 1;
		p.x[600 + i] = i % 3 == 2;
		p.labels[i] = i % 3 == 0;
	}
	tree = learn(&p, 1, &arena);
	CHECK(kept(&tree, &p.rows, 0) < 0.7, "two columns count as one condition");
	p.axes[1].column = 0;
	tree = learn(&p, 1, &arena);
	CHECK(kept(&tree, &p.rows, 0) == 1.0, "two axes of one column count as two conditions");
}

/* A small cluster gets a rule of its own, and random labels get few rules. */
static void
test_size(void)
{
	planted		p = make_planted(4000, 4, 4, 3);
	fc_arena	arena;
	fc_rule_tree tree;
	uint32_t   *leaves;
	fc_rng		rng = fc_rng_start(4, 0);
	bool		found = false;

	for (size_t i = 0; i < 4000; i++)
		p.labels[i] = p.x[4000 + i] < 0.01 ? 3 : p.x[i] > 0.5;
	tree = learn(&p, 3, &arena);
	leaves = unit_alloc(4000, sizeof(uint32_t));
	for (size_t l = fc_rules_leaves(&tree, leaves); l-- > 0;)
		found = found || tree.nodes[leaves[l]].label == 3;
	for (size_t j = 0; j < tree.short_count; j++)
		found = found || tree.shorts[j].label == 3;
	CHECK(found, "a cluster of one row in a hundred has no rule");
	for (size_t i = 0; i < 4000; i++)
		p.labels[i] = (int32_t) fc_rng_below(&rng, 4);
	tree = learn(&p, 3, &arena);
	CHECK(fc_rules_leaves(&tree, leaves) < 12, "%zu rules for noise", fc_rules_leaves(&tree, leaves));
}

/*
 * A box in the middle of three columns, and sixty rows of ten thousand that
 * one column identifies, each have a rule; the box has only a short one.
 */
static void
test_short_rules(void)
{
	planted		p = make_planted(10000, 6, 4, 5);
	fc_arena	arena;
	fc_rule_tree tree;
	const fc_short_rule *rule;
	uint32_t   *leaves;
	size_t		met[3] = {0};	/* rows that meet the rule; right ones; all of the box */
	size_t		kept_small = 0;

	for (size_t i = 0; i < 10000; i++)
	{
		bool		box = true;

		for (size_t j = 0; j < 3; j++)
			box = box && p.x[j * 10000 + i] > 0.25 && p.x[j * 10000 + i] <= 0.85;
		p.x[50000 + i] = i % 167 == 0 && i > 0;
		p.labels[i] = i % 167 == 0 ? 3 : box ? 2 : p.x[40000 + i] > 0.5;
	}
	tree = learn(&p, 3, &arena);
	CHECK(kept(&tree, &p.rows, 0) > 0.9, "%g of labels kept", kept(&tree, &p.rows, 0));
	for (rule = tree.shorts; rule < tree.shorts + tree.short_count && rule->label != 2;)
		rule++;
	CHECK(rule < tree.shorts + tree.short_count, "the box has no short rule");
	for (size_t i = 0; i < 10000; i++)
	{
		met[0] += fc_rules_meets(rule, &p.rows, i);
		met[1] += fc_rules_meets(rule, &p.rows, i) && p.labels[i] == 2;
		met[2] += p.labels[i] == 2;
		kept_small += p.labels[i] == 3 && fc_rules_label(&tree, &p.rows, i) == 3;
	}
	CHECK(20 * met[1] >= 19 * met[0] && 20 * met[1] >= 19 * met[2], "%zu right of %zu met, of %zu", met[1], met[0], met[2]);
	CHECK(kept_small >= 59, "%zu rows of 60", kept_small);
	leaves = unit_alloc(tree.count, sizeof(uint32_t));
	for (size_t l = fc_rules_leaves(&tree, leaves); l-- > 0;)
		CHECK(tree.nodes[leaves[l]].label != 2, "a leaf repeats the short rule");
}

/* A single row, one label, equal rows and few rows give valid trees. */
static void
test_degenerate(void)
{
	for (size_t n = 1; n <= 520; n += n < 4 ? 1 : 172)
		for (int shape = 0; shape < 3; shape++)
		{
			planted		p = make_planted(n, 3, 2, n);
			fc_arena	arena;
			fc_rule_tree tree;

			for (size_t i = 0; i < 3 * n && shape == 1; i++)
				p.x[i] = 1.0;
			for (size_t i = 0; i < n && shape > 0; i++)
				p.labels[i] = (int32_t) (i % 2);
			tree = learn(&p, 3, &arena);
			CHECK(shape != 0 || (!(tree.nodes[0].below >= 0) && kept(&tree, &p.rows, 0) == 1.0), "rows of one label have several rules");
			CHECK(shape != 1 || !(tree.nodes[0].below >= 0), "equal rows are separated");
		}
}

/* ---- profiles ---- */

/*
 * Cells of a profile have known values and come in order of how distinctive
 * they are.
 */
static void
test_profile(void)
{
	static const fc_axis_kind kinds[] = {FC_AXIS_NUMBER, FC_AXIS_FLAG, FC_AXIS_LOG, FC_AXIS_NUMBER, FC_AXIS_FLAG};
	static const double centroid[] = {12, 0.5, 3, 7, 1.0000001};
	static const double other[] = {4, 0.5, 3, 7, 0};
	static const double mean[] = {10, 0.2, 2, 7, 1};
	static const double deviation[] = {4, 0.4, 0.5, 0, 0};
	fc_profile_cell cells[5];
	fc_arena	arena = unit_arena();
	double		divergence = 0.5 * log(0.5 / 0.2) + 0.5 * log(0.5 / 0.8);

	fc_profile_cluster(kinds, centroid, other, mean, deviation, 5, &arena, cells);
	CHECK(cells[0].axis == 2 && cells[1].axis == 1 && cells[2].axis == 0 && cells[3].axis == 3 && cells[4].axis == 4, "cells are not in order");
	CHECK(fabs(cells[0].value - expm1(3)) < 1e-12 && fabs(cells[0].overall - expm1(2)) < 1e-12 && cells[0].difference == 2.0, "the cell of a logarithm is wrong");
	CHECK(fabs(cells[1].lift - 2.5) < 1e-12 && fabs(cells[1].difference - 0.75) < 1e-12 && fabs(cells[1].telling - sqrt(2 * divergence)) < 1e-12, "the cell of a flag is wrong");
	CHECK(cells[2].difference == 0.5 && cells[2].telling == 0.5 && isnan(cells[2].lift), "the cell of a number is wrong");
	CHECK(isnan(cells[3].difference) && cells[3].telling == 0.0, "the cell of a constant is wrong");
	CHECK(cells[2].apart == 2.0 && cells[2].apart_place == 0 && cells[0].apart == 0.0 && cells[3].apart == 0.0, "the distance to the other centroid is wrong");
	CHECK(cells[4].value == 1.0 && cells[4].lift == 1.0, "a share is greater than 1");
	fc_profile_cluster(kinds, (double[]) {1e-9, 0, 0, 0, 0}, NULL, mean, deviation, 5, &arena, cells);
	for (size_t i = 0; i < 5; i++)
		CHECK(cells[i].value == 0.0, "rounding of 0 is not removed");
}

/* ---- operators of one dense factor ---- */

typedef struct stored_book
{
	fc_operator op;
	fc_arena	arena;
	fc_scratch	scratch;
	double		weights[8];
} stored_book;

static void
make_book(const double *centroids, const double *weights, size_t k, size_t d, stored_book *book)
{
	double		max;

	for (size_t j = 0; j < k; j++)
		book->weights[j] = weights[j];
	book->arena = unit_arena();
	view_codebook(FC_EUCLIDEAN, centroids, book->weights, k, d, &book->arena, &book->op, &max);
	book->scratch = unit_scratch(fc_operator_scratch(&book->op));
}

/*
 * Rows 0, 1, 10, 11 and a row 30 of weight 0; centroids 0.5, 10.5 and one
 * without rows: all figures have their known values to 1e-6.
 */
static void
test_quality(void)
{
	stored_book op;
	stored_book rows;
	fc_weighted_rows sample;
	fc_quality	q[3];
	fc_quality	all;
	fc_scratch	scratch;

	make_book((double[]) {0.5, 10.5, 40}, (double[]) {1, 1, 0}, 3, 1, &op);
	make_book((double[]) {0, 1, 10, 11, 30}, (double[]) {2, 2, 2, 2, 0}, 5, 1, &rows);
	sample = fc_rows_of_codebook(&rows.op);
	scratch = unit_scratch(fc_fit_scratch(&op.op));
	fc_quality_measure(&op.op, &sample, scratch, unit_work(), q, &all);
	CHECK(q[0].weight == 4 && q[1].weight == 4 && q[2].weight == 0 && all.weight == 8, "the weights are wrong");
	CHECK(fabs(q[0].silhouette - (2 - 0.5 / 10.5 - 0.5 / 9.5) / 2) < 1e-6, "silhouette %g", q[0].silhouette);
	CHECK(fabs(q[0].davies_bouldin - 0.1) < 1e-6 && fabs(all.davies_bouldin - 0.1) < 1e-6, "the Davies-Bouldin index is wrong");
	CHECK(fabs(q[1].spread - 0.5) < 1e-6 && fabs(all.spread - 0.5) < 1e-6, "the spread is wrong");
	CHECK(fabs(all.explained - (1 - 1 / 101.0)) < 1e-6, "the explained variance is wrong");
	CHECK(isnan(q[2].silhouette) && isnan(q[2].davies_bouldin) && isnan(q[2].spread) && isnan(q[2].explained), "a cluster without rows has figures");
}

/*
 * Probabilities are w_j s_j^-d exp(-r_j^2 / (2 s_j^2)), normalised, to 1e-6.
 */
static void
test_probabilities(void)
{
	static const double centroids[] = {0, 0, 4, 0, 0, 5};
	static const double weights[] = {3, 1, 2};
	static const double spreads[] = {1, 2, 0.5};
	stored_book book;
	double		p[3];
	double		density[3];
	double		sum = 0.0;

	make_book(centroids, weights, 3, 2, &book);
	for (size_t j = 0; j < 3; j++)
	{
		double		square = pow(1 - centroids[2 * j], 2) + pow(2 - centroids[2 * j + 1], 2);

		sum += density[j] = weights[j] / pow(spreads[j], 2) * exp(-square / 2 / spreads[j] / spreads[j]);
	}
	fc_operator_responsibilities(&book.op, spreads, (double[]) {1, 2}, book.scratch, p);
	for (size_t j = 0; j < 3; j++)
		CHECK(fabs(p[j] - density[j] / sum) < 1e-6, "%g, not %g", p[j], density[j] / sum);
	fc_operator_responsibilities(&book.op, spreads, (double[]) {1e9, 1e9}, book.scratch, p);
	CHECK(fabs(p[0] + p[1] + p[2] - 1) < 1e-12 && p[1] == 1.0, "a far row is not in the widest cluster");
	fc_operator_responsibilities(&book.op, (double[]) {0, 0, 0}, (double[]) {2, 0}, book.scratch, p);
	CHECK(p[0] == 0.75 && p[1] == 0.25 && p[2] == 0.0, "without spreads the nearest clusters do not share by weight");
	fc_operator_responsibilities(&book.op, (double[]) {0, 1, 0}, (double[]) {0, 0}, book.scratch, p);
	CHECK(p[0] > 1 - 1e-9, "a cluster without a spread has no probability");
	make_book(centroids, (double[]) {0, 0, 0}, 3, 2, &book);
	fc_operator_responsibilities(&book.op, spreads, (double[]) {1, 2}, book.scratch, p);
	CHECK(fabs(p[0] + p[1] + p[2] - 1) < 1e-12, "probabilities without weights do not sum to 1");
}

int
main(void)
{
	test_thresholds();
	test_planted_rules();
	test_circle();
	test_columns();
	test_size();
	test_short_rules();
	test_degenerate();
	test_profile();
	test_quality();
	test_probabilities();
	return unit_finish();
}
