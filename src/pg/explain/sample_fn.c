/*
 * sample_fn.c - rules_of_sample: threshold rules for the labels that an operator gives to rows; quality_of_sample: how compact and
 * separated its clusters are.  The rows are the centroids of another operator.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "explain/explain.h"
#include "operator/fit.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/explain/explain.h"
#include "pg/operator/operator_value.h"

/* ---- rows and their labels ---- */

/* The rows in argument n, by columns. */
static double *
read_columns_of(const fc_operator *rows)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(rows));
	double	   *row = palloc(rows->d * sizeof(double));
	double	   *x = palloc_extended(rows->d * rows->k * sizeof(double), MCXT_ALLOC_HUGE);

	for (Size i = 0; i < rows->k; i++)
	{
		if (i % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		fc_operator_row(rows, i, scratch, row);
		for (Size j = 0; j < rows->d; j++)
			x[j * rows->k + i] = row[j];
	}
	pfree(scratch.floats);
	return x;
}

/* Labels by the operator in argument 0 of the rows in argument 1, in its space; rows of no cluster have one of their own, behind those of *clusters. */
static int32_t *
read_labels(FunctionCallInfo fcinfo, Size n, Size *clusters)
{
	fc_operator op;
	fc_operator rows;
	fc_scratch	scratch;
	int32_t    *labels = palloc_extended(n * sizeof(int32_t), MCXT_ALLOC_HUGE);
	double	   *squares = palloc_extended(n * sizeof(double), MCXT_ALLOC_HUGE);

	open_operator(OPERATOR_ARG(0), &op);
	open_operator(OPERATOR_ARG(1), &rows);
	check_same_dim((int32) op.d, (int32) rows.d);
	if (rows.k != n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are %zu and %zu rows", rows.k, n)));
	scratch = make_scratch(fc_fit_scratch(&op, &rows));
	fc_fit_rows(&op, &rows, scratch, palloc_extended(FC_FIT_BATCH * op.d * sizeof(double), MCXT_ALLOC_HUGE), labels, squares);
	pfree(scratch.floats);
	pfree(squares);
	*clusters = fc_operator_labels(&op);
	for (Size i = 0; i < n; i++)
		if (labels[i] < 0)
			labels[i] = (int32_t) *clusters;
	return labels;
}

/* Kinds and columns of the axes, from arguments 3 and 4. */
static fc_axis *
read_axes(FunctionCallInfo fcinfo, Size d)
{
	fc_axis_kind *kinds = read_axis_kinds(PG_GETARG_DATUM(3), d);
	double	   *columns = read_float8_array(PG_GETARG_DATUM(4), (int) d, "columns");
	fc_axis    *axes = palloc(d * sizeof(fc_axis));

	for (Size j = 0; j < d; j++)
		axes[j] = (fc_axis) {kinds[j], (uint32_t) (int64) columns[j]};
	return axes;
}

/* ---- rules ---- */

/* The share of rows that were not learned from whose rules give their label. */
static double
share_kept(const fc_rule_tree *tree, const fc_labelled *rows)
{
	Size		first = fc_rules_parts(rows->n).test % rows->n;
	Size		kept = 0;

	for (Size i = first; i < rows->n; i++)
		kept += fc_rules_label(tree, rows, i) == rows->labels[i];
	return (double) kept / (double) (rows->n - first);
}

/* (cluster, dimensions, lower, upper, is_short, fidelity) of a rule; no bound is an infinity. */
static void
return_rule(FunctionCallInfo fcinfo, int32 label, const fc_condition *conditions, Size count, bool is_short, double fidelity)
{
	int32		dimensions[FC_RULES_DEPTH];
	double		lower[FC_RULES_DEPTH];
	double		upper[FC_RULES_DEPTH];
	Datum		values[6] = {Int32GetDatum(label)};
	bool		nulls[6] = {false};

	for (Size i = 0; i < count; i++)
	{
		dimensions[i] = (int32) conditions[i].axis + 1;
		lower[i] = conditions[i].lower;
		upper[i] = conditions[i].upper;
	}
	values[1] = make_int4_array(dimensions, (int) count);
	values[2] = make_float8_array(lower, (int) count);
	values[3] = make_float8_array(upper, (int) count);
	values[4] = BoolGetDatum(is_short);
	values[5] = Float8GetDatum(fidelity);
	put_row(fcinfo, values, nulls);
}

/* Those of the leaves, then the short ones, for labels of clusters. */
static void
return_rules(FunctionCallInfo fcinfo, const fc_rule_tree *tree, Size clusters, double fidelity)
{
	fc_condition conditions[FC_RULES_DEPTH];
	uint32	   *leaves = palloc(tree->count * sizeof(uint32));
	Size		count = fc_rules_leaves(tree, leaves);

	for (Size i = 0; i < count; i++)
		if ((Size) tree->nodes[leaves[i]].label < clusters)
			return_rule(fcinfo, tree->nodes[leaves[i]].label, conditions, fc_rules_conditions(tree, leaves[i], conditions), false, fidelity);
	for (Size i = 0; i < tree->short_count; i++)
	{
		const fc_short_rule *rule = &tree->shorts[i];

		if ((Size) rule->label >= clusters)
			continue;
		for (Size j = 0; j < rule->count; j++)
			conditions[j] = (fc_condition) {rule->ranges[j].axis, rule->ranges[j].lower.shown, rule->ranges[j].upper.shown};
		return_rule(fcinfo, rule->label, conditions, rule->count, true, fidelity);
	}
}

/*
 * (op, space_rows, raw_rows, kinds, columns, conditions): rules for the labels that op gives to space_rows, in terms of the raw rows;
 * kinds (fc_axis_kind) and columns of the dimensions of those.
 */
SQL_FUNCTION(fastclust_rules_of_sample)
{
	account		memory = {"rules"};
	fc_operator raw;
	fc_labelled rows;
	fc_rule_tree tree;
	fc_arena	arena;
	Size		clusters;

	check_count("conditions", PG_GETARG_INT32(5), 1, FC_RULES_CONDITIONS);
	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(2), &raw);
	hold(&memory, raw.k * (raw.d + 2) * sizeof(double));
	rows = (fc_labelled) {.x = read_columns_of(&raw),.labels = read_labels(fcinfo, raw.k, &clusters),.axes = read_axes(fcinfo, raw.d)};
	rows.n = raw.k;
	rows.d = raw.d;
	rows.k = clusters + ((OPERATOR_ARG(0)->flags & FC_OPERATOR_REGIONS) != 0);
	arena = hold_arena(&memory);
	fc_rules_learn(&rows, (Size) PG_GETARG_INT32(5), &arena, &tree);
	return_rules(fcinfo, &tree, clusters, share_kept(&tree, &rows));
	return (Datum) 0;
}

/* ---- quality ---- */

/* cluster -1: all of them */
static void
return_quality(FunctionCallInfo fcinfo, int32 cluster, const fc_quality *q, double weight)
{
	double		numbers[5] = {weight > 0.0 ? q->weight / weight : NAN, q->silhouette, q->davies_bouldin, q->spread, q->explained};
	Datum		values[7] = {Int32GetDatum(cluster), Float8GetDatum(q->weight)};
	bool		nulls[7] = {cluster < 0};

	for (int i = 0; i < 5; i++)
	{
		values[2 + i] = Float8GetDatum(numbers[i]);
		nulls[2 + i] = isnan(numbers[i]);
	}
	put_row(fcinfo, values, nulls);
}

/* (op, rows): rows (cluster, n, share, silhouette, davies_bouldin, spread, variance_explained), the last one of all clusters. */
SQL_FUNCTION(fastclust_quality_of_sample)
{
	account		memory = {"score"};
	fc_operator op;
	fc_operator rows;
	fc_scratch	scratch;
	fc_arena	arena;
	fc_quality *clusters;
	fc_quality	all;

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	open_operator(OPERATOR_ARG(1), &rows);
	check_same_dim((int32) op.d, (int32) rows.d);
	hold(&memory, op.k * sizeof(fc_quality) + fc_fit_scratch(&op, &rows) * sizeof(float));
	scratch = make_scratch(fc_fit_scratch(&op, &rows));
	clusters = palloc_extended(op.k * sizeof(fc_quality), MCXT_ALLOC_HUGE);
	arena = hold_arena(&memory);
	fc_quality_measure(&op, &rows, scratch, &arena, clusters, &all);
	for (Size j = 0; j < op.k; j++)
		return_quality(fcinfo, (int32) j, &clusters[j], all.weight);
	return_quality(fcinfo, -1, &all, all.weight);
	return (Datum) 0;
}
