/*
 * explain_fn.c - functions that describe the clusters of an operator
 *
 * rules_of_sample returns threshold rules for the labels that the operator
 * assigns to rows. quality_of_sample measures how compact and how well
 * separated the clusters are. Both functions take the rows as the centroids of
 * another operator. profile_of_centroids compares the centroids with the means
 * of all rows. shown_value formats a value for display.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "explain/explain.h"
#include "numerics/assignment.h"
#include "operator/fit.h"
#include "pg/base/collect.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"

/* Reads the kinds of d dimensions from an integer array. */
static fc_axis_kind *
read_axis_kinds(Datum datum, Size d)
{
	double	   *numbers = read_float8_array(datum, (int) d, "kinds");
	fc_axis_kind *kinds = palloc(d * sizeof(fc_axis_kind));

	for (Size i = 0; i < d; i++)
	{
		check_count("kind", (int64) numbers[i], FC_AXIS_NUMBER, FC_AXIS_SINE);
		kinds[i] = (fc_axis_kind) numbers[i];
	}
	return kinds;
}

/* ---- rows and their labels ---- */

/* Returns the values of the rows transposed (d x n), in the order of the axes. */
static double *
columns_of_rows(const fc_weighted_rows *rows, const fc_axis *axes)
{
	double	   *row = palloc(rows->d * sizeof(double));
	double	   *x = alloc_large(rows->d * rows->n * sizeof(double));

	for (Size i = 0; i < rows->n; i++)
	{
		if (i % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		fc_weighted_row(rows, i, row);
		for (Size j = 0; j < rows->d; j++)
			x[j * rows->n + i] = row[axes[j].dimension];
	}
	return x;
}

/*
 * Labels the n rows in argument 1, which are in the operator's coordinates, by
 * the operator in argument 0. Sets *clusters to the highest label of the
 * operator plus 1. Rows without a cluster get this number as their label.
 */
static int32_t *
read_labels(FunctionCallInfo fcinfo, Size n, Size *clusters)
{
	fc_operator op;
	const fc_weighted_rows *rows = rows_of_operator(OPERATOR_ARG(1));
	fc_scratch	scratch;
	int32_t    *labels = alloc_large(n * sizeof(int32_t));
	double	   *squares = alloc_large(n * sizeof(double));

	open_operator(OPERATOR_ARG(0), &op);
	check_same_dim((int32) op.d, (int32) rows->d);
	if (rows->n != n)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("the numbers of rows differ: %zu and %zu", rows->n, n));
	scratch = make_scratch(fc_fit_scratch(&op));
	fc_fit_rows(&op, rows, scratch,
				alloc_large(FC_FIT_BATCH * op.d * sizeof(double)), labels,
				squares);
	pfree(scratch.floats);
	pfree(squares);
	*clusters = fc_operator_labels(&op);
	for (Size i = 0; i < n; i++)
		if (labels[i] < 0)
			labels[i] = (int32_t) *clusters;
	return labels;
}

/*
 * Returns the cyclic feature whose first coordinate is this dimension,
 * numbered from 0. Returns NULL if there is no such feature.
 */
static const fc_encoder_feature *
cyclic_feature(const fc_encoder *encoder, Size dimension)
{
	const fc_encoder_feature *feature;

	if (encoder->dim == 0)
		return NULL;
	feature = feature_of_dimension(encoder, dimension + 1);
	return feature->cycle != FC_CYCLE_NONE && feature->first == dimension ? feature : NULL;
}

/*
 * Reads the kinds and columns of the axes from arguments 3 and 4. Returns the
 * axes, with indicators of NULL first. An indicator is a flag that follows the
 * other axes of its column, which are not flags.
 *
 * A condition on an indicator may divide the sample in the same way as a range
 * around the value that replaces NULLs. The rule then has the condition on the
 * indicator, because its axis comes first.
 */
static fc_axis *
read_axes(FunctionCallInfo fcinfo, const fc_encoder *encoder, Size d)
{
	fc_axis_kind *kinds = read_axis_kinds(PG_GETARG_DATUM(3), d);
	double	   *columns = read_float8_array(PG_GETARG_DATUM(4), (int) d, "columns");
	fc_axis    *axes = palloc(d * sizeof(fc_axis));
	Size		count = 0;

	for (int pass = 0; pass < 2; pass++)
		for (Size j = 0; j < d; j++)
		{
			bool		indicator = (j > 0 && columns[j - 1] == columns[j] &&
									 kinds[j] == FC_AXIS_FLAG && kinds[j - 1] != FC_AXIS_FLAG);
			const fc_encoder_feature *cyclic = cyclic_feature(encoder, j);

			if (indicator == (pass == 0))
				axes[count++] = (fc_axis)
			{
				.kind = kinds[j],
					.column = (uint32_t) (int64) columns[j],
					.dimension = (uint32) j,
					.period = cyclic != NULL ? cyclic->period : 0
			};
		}
	return axes;
}

/* ---- cyclic columns ---- */

/*
 * Number of decimal digits of the period to which a cyclic value is rounded;
 * further digits are rounding errors of the angle.
 */
#define ANGLE_DIGITS	6

/*
 * Replaces the two coordinates of a cyclic column in n rows by one. The n
 * cosines at x become the values of the column, which fc_cut_circle negates
 * and cuts open to a line. The n sines after them become 0.
 */
static void
cut_circle(double *x, const fc_labelled *rows, fc_axis *axis, fc_arena *arena)
{
	double		period = axis->period;
	double		unit = pow(10, ANGLE_DIGITS - floor(log10(period)));

	for (Size i = 0; i < rows->n; i++)
	{
		double		turn = atan2(x[rows->n + i], x[i]) / (2 * M_PI);

		x[i] = fc_in_period(rint(turn * period * unit) / unit, period);
		x[rows->n + i] = 0;
	}
	fc_cut_circle(x, rows, axis, arena);
}

/* ---- rules ---- */

/*
 * Returns the fidelity of the rules: the share of the test rows whose rule
 * predicts their label. Test rows were not used for learning.
 */
static double
share_kept(const fc_rule_tree *tree, const fc_labelled *rows)
{
	Size		first = fc_split_rows(rows->n).test % rows->n;
	Size		kept = 0;

	for (Size i = first; i < rows->n; i++)
		kept += fc_rules_label(tree, rows, i) == rows->labels[i];
	return (double) kept / (double) (rows->n - first);
}

/*
 * Puts a rule into the result set as a row (cluster, dimensions, lower, upper,
 * is_short, fidelity); a missing bound is infinite.
 */
static void
return_rule(FunctionCallInfo fcinfo, const fc_axis *axes, int32 label,
			const fc_range *ranges, Size count, bool is_short, double fidelity)
{
	int32		dimensions[FC_RULES_DEPTH];
	double		lower[FC_RULES_DEPTH];
	double		upper[FC_RULES_DEPTH];
	Datum		values[6];

	for (Size i = 0; i < count; i++)
	{
		const fc_axis *axis = &axes[ranges[i].axis];

		dimensions[i] = (int32) axis->dimension + 1;
		lower[i] = ranges[i].lower.shown;
		upper[i] = ranges[i].upper.shown;

		if (axis->period > 0)	/* the range is of negated values; convert it
								 * to an arc */
		{
			lower[i] = Max(axis->cut, -ranges[i].upper.shown);
			upper[i] = Min(axis->cut + axis->period, -ranges[i].lower.shown);
		}
	}
	values[0] = Int32GetDatum(label);
	values[1] = make_int4_array(dimensions, (int) count);
	values[2] = make_float8_array(lower, (int) count);
	values[3] = make_float8_array(upper, (int) count);
	values[4] = BoolGetDatum(is_short);
	values[5] = Float8GetDatum(fidelity);
	put_row(fcinfo, values, NULL);
}

/*
 * Puts the rules of the leaves, then the short rules, into the result set.
 * Rules for rows without a cluster are left out.
 */
static void
return_rules(FunctionCallInfo fcinfo, const fc_axis *axes,
			 const fc_rule_tree *tree, Size clusters, double fidelity)
{
	fc_range ranges[FC_RULES_DEPTH];
	uint32	   *leaves = palloc(tree->count * sizeof(uint32));
	Size		count = fc_rules_leaves(tree, leaves);

	for (Size i = 0; i < count; i++)
		if ((Size) tree->nodes[leaves[i]].label < clusters)
			return_rule(fcinfo, axes, tree->nodes[leaves[i]].label, ranges,
						fc_rules_ranges(tree, leaves[i], ranges), false, fidelity);
	for (Size i = 0; i < tree->short_count; i++)
	{
		const fc_short_rule *rule = &tree->shorts[i];

		if ((Size) rule->label < clusters)
			return_rule(fcinfo, axes, rule->label, rule->ranges, rule->count, true, fidelity);
	}
}

/*
 * Takes (op, space_rows, raw_rows, kinds, columns, conditions, encoder).
 * Returns rules for the labels that op assigns to space_rows, which are rows
 * in the coordinates of op. The conditions of the rules are on raw_rows, the
 * same rows unscaled, whose dimensions have the given kinds (fc_axis_kind) and
 * columns. Conditions on a cyclic column of the encoder, which may be NULL,
 * are arcs.
 */
PG_FUNCTION_INFO_V1(fastclust_rules_of_sample);
Datum
fastclust_rules_of_sample(PG_FUNCTION_ARGS)
{
	memory_account memory = {"cluster_rules"};
	const fc_weighted_rows *raw;
	fc_labelled rows;
	fc_rule_tree tree;
	fc_arena	arena;
	fc_axis    *axes;
	fc_encoder	encoder = {0};
	double	   *x;
	Size		clusters;

	fastclust_begin_rows(fcinfo);
	for (int i = 0; i < 6; i++)
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	check_count("conditions", PG_GETARG_INT32(5), 1, FC_RULES_CONDITIONS);
	raw = rows_of_operator(OPERATOR_ARG(2));
	charge_memory(&memory, raw->n * (raw->d + 2) * sizeof(double));
	if (!PG_ARGISNULL(6))
		fc_encoder_view(ENCODER_ARG(6), &encoder);
	axes = read_axes(fcinfo, &encoder, raw->d);
	x = columns_of_rows(raw, axes);
	rows = (fc_labelled)
	{
		.x = x,
			.labels = read_labels(fcinfo, raw->n, &clusters),
			.axes = axes,
			.n = raw->n,
			.d = raw->d
	};
	rows.k = clusters + ((OPERATOR_ARG(0)->flags & FC_OPERATOR_REGIONS) != 0);
	arena = charged_arena(&memory);
	for (Size i = 0; i < raw->d; i++)
		if (axes[i].period > 0)
			cut_circle(x + i * rows.n, &rows, &axes[i], &arena);
	fc_rules_learn(&rows, (Size) PG_GETARG_INT32(5), &arena, &tree);
	return_rules(fcinfo, axes, &tree, clusters, share_kept(&tree, &rows));
	return (Datum) 0;
}

/* ---- quality ---- */

/*
 * Puts the quality of a cluster into the result set; cluster -1 stands for all
 * clusters.
 */
static void
return_quality(FunctionCallInfo fcinfo, int32 cluster, const fc_quality *q,
			   double weight)
{
	double		numbers[5] = {
		weight > 0.0 ? q->weight / weight : NAN,
		q->silhouette,
		q->davies_bouldin,
		q->spread,
		q->explained
	};
	Datum		values[7] = {Int32GetDatum(cluster), Float8GetDatum(q->weight)};
	bool		nulls[7] = {cluster < 0};

	for (int i = 0; i < 5; i++)
	{
		values[2 + i] = Float8GetDatum(numbers[i]);
		nulls[2 + i] = isnan(numbers[i]);
	}
	put_row(fcinfo, values, nulls);
}

/*
 * Takes (op, rows). Returns rows (cluster, n, share, silhouette,
 * davies_bouldin, spread, variance_explained); the last row is for all
 * clusters.
 */
PG_FUNCTION_INFO_V1(fastclust_quality_of_sample);
Datum
fastclust_quality_of_sample(PG_FUNCTION_ARGS)
{
	memory_account memory = {"score"};
	fc_operator op;
	const fc_weighted_rows *rows;
	fc_scratch	scratch;
	fc_arena	arena;
	fc_quality *clusters;
	fc_quality	all;

	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	rows = rows_of_operator(OPERATOR_ARG(1));
	check_same_dim((int32) op.d, (int32) rows->d);
	charge_memory(&memory, op.k * sizeof(fc_quality) +
				  fc_fit_scratch(&op) * sizeof(float));
	scratch = make_scratch(fc_fit_scratch(&op));
	clusters = alloc_large(op.k * sizeof(fc_quality));
	arena = charged_arena(&memory);
	fc_quality_measure(&op, rows, scratch, &arena, clusters, &all);
	for (Size j = 0; j < op.k; j++)
		return_quality(fcinfo, fc_operator_number(&op, j), &clusters[j],
					   all.weight);
	return_quality(fcinfo, -1, &all, all.weight);
	return (Datum) 0;
}

/* ---- profile ---- */

/*
 * Maximum k * k * d up to which the nearest other centroid of each cluster is
 * searched. A larger maximum delays the answer. A guess.
 */
#define MAX_COMPARED	1e9

/*
 * Returns true if the column of an axis is NULL in more than half of a
 * cluster: if the column's indicator of NULL is above 1/2 in the centroid.
 * `indicator` is the dimension of the indicator, from 1, or 0 if the column
 * has none. Returns false if the axis is the indicator itself.
 */
static bool
is_null_in(const double *centroid, Size d, Size axis, double indicator)
{
	Size		dimension = (indicator >= 1 && indicator <= (double) d
							 ? (Size) indicator
							 : 0);

	return dimension > 0 && dimension - 1 != axis &&
		centroid[dimension - 1] > 0.5;
}

/*
 * Puts a cell of a cluster's profile into the result set, as a row (cluster,
 * dimension, value, overall, difference, lift, place, apart).
 */
static void
put_cell(FunctionCallInfo fcinfo, int32 cluster, const fc_profile_cell *cell,
		 Size place, bool null)
{
	Datum		values[8] = {
		Int32GetDatum(cluster),
		Int32GetDatum((int32) cell->axis + 1),
		Float8GetDatum(cell->value),
		Float8GetDatum(cell->overall),
		Float8GetDatum(cell->difference),
		Float8GetDatum(cell->lift),
		Int32GetDatum((int32) place + 1),
		Float8GetDatum(cell->apart)
	};
	bool		nulls[8] = {
		false,
		false,
		null,
		false,
		null || isnan(cell->difference),
		null || isnan(cell->lift),
		false,
		null
	};

	put_row(fcinfo, values, nulls);
}

/*
 * Takes (op, center, scale, means, deviations, kinds, max_features, nulls,
 * encoder). Returns rows (cluster, dimension, value, overall, difference,
 * lift, place, apart), where place 1 is the most characteristic dimension of
 * the cluster.
 *
 * The result has a row for each of the max_features most characteristic
 * dimensions of a cluster. It also has a row for each of the max_features
 * dimensions that separate the cluster best from its nearest other cluster,
 * unless there are too many clusters to compare all pairs. A cyclic column has
 * a single row, for its first dimension.
 *
 * center, scale, nulls and encoder may be NULL. A NULL center counts as 0, a
 * NULL scale as 1. Element i of nulls is the number, from 1, of the dimension
 * that indicates NULLs of the column of dimension i, or 0 if there is none. If
 * that indicator is above 1/2 in a cluster, then value, difference, lift and
 * apart are NULL in the cluster's rows for the other dimensions of the column.
 */
PG_FUNCTION_INFO_V1(fastclust_profile_of_centroids);
Datum
fastclust_profile_of_centroids(PG_FUNCTION_ARGS)
{
	fc_operator op;
	fc_arena	arena;
	fc_profile_cell *cells;
	fc_axis_kind *kinds;
	static const char *const names[4] = {
		"center",
		"scale",
		"means",
		"deviations"
	};
	double	   *argument[4];
	double	   *centroids;
	double	   *distances;
	const double *indicator;
	fc_encoder	encoder = {0};
	int32	   *nearest;
	Size		max;

	fastclust_begin_rows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(3) || PG_ARGISNULL(4) ||
		PG_ARGISNULL(5) || PG_ARGISNULL(6))
		return (Datum) 0;
	open_operator(OPERATOR_ARG(0), &op);
	for (int i = 0; i < 4; i++)
		argument[i] = numbers_argument(fcinfo, 1 + i, op.d, names[i]);
	kinds = read_axis_kinds(PG_GETARG_DATUM(5), op.d);
	check_count("max_features", PG_GETARG_INT32(6), 1, INT32_MAX);
	indicator = PG_ARGISNULL(7) ? NULL
		: read_float8_array(PG_GETARG_DATUM(7), (int) op.d, "nulls");
	if (!PG_ARGISNULL(8))
		fc_encoder_view(ENCODER_ARG(8), &encoder);
	max = Min((Size) PG_GETARG_INT32(6), op.d);
	arena = make_arena("profile");
	cells = palloc(op.d * sizeof(fc_profile_cell));
	nearest = palloc(op.k * sizeof(int32));
	distances = palloc(op.k * sizeof(double));
	memset(nearest, -1, op.k * sizeof(int32));
	if ((double) op.k * (double) op.k * (double) op.d <= MAX_COMPARED)
	{
		centroids = rescaled_centroids(&op, NULL, NULL);
		fc_nearest_others(centroids, op.k, op.d, nearest, distances);
		pfree(centroids);
	}
	centroids = rescaled_centroids(&op, argument[0], argument[1]);
	for (Size j = 0; j < op.k; j++)
	{
		const double *centroid = centroids + j * op.d;

		CHECK_FOR_INTERRUPTS();
		fc_profile_cluster(kinds, centroid,
						   nearest[j] < 0
						   ? NULL
						   : centroids + (Size) nearest[j] * op.d,
						   argument[2], argument[3], op.d, &arena, cells);
		for (Size i = 0; i < op.d; i++)
		{
			fc_profile_cell *cell = &cells[i];
			const fc_encoder_feature *cyclic = cyclic_feature(&encoder, cell->axis);
			bool		null = (indicator != NULL &&
								is_null_in(centroid, op.d, cell->axis, indicator[cell->axis]));

			if (kinds[cell->axis] == FC_AXIS_SINE || (i >= max && cell->apart_place >= max))
				continue;
			if (cyclic != NULL)
			{
				cell->value = cyclic_mean(cyclic, centroid + cell->axis);
				cell->overall = cyclic_mean(cyclic, argument[2] + cell->axis);
			}
			put_cell(fcinfo, fc_operator_number(&op, j), cell, i, null);
		}
	}
	return (Datum) 0;
}

/* ---- values as people read them ---- */

/* Returns the shortest decimal that reads back as the same double. */
static char *
shortest_number(double x)
{
	char	   *digits = palloc(DOUBLE_SHORTEST_DECIMAL_LEN);

	double_to_shortest_decimal_buf(x, digits);
	return digits;
}

/*
 * Formats a number. Prints all digits if `exact` or |x| >= 1e15. Otherwise
 * prints an integer with thousands separators if |x| is about 1000 or more,
 * and four significant digits if it is less.
 */
static char *
shown_number(double x, bool exact)
{
	char		digits[64];
	StringInfoData grouped;
	int			length;

	if (exact || !(fabs(x) < 1e15))
		return shortest_number(x);
	if (fabs(x) < 999.95)
	{
		snprintf(digits, sizeof(digits), "%.4g", x);
		return shortest_number(strtod(digits, NULL));
	}
	length = snprintf(digits, sizeof(digits), "%.0f", fabs(x));
	initStringInfo(&grouped);
	appendStringInfoString(&grouped, x < 0 ? "-" : "");
	for (int i = 0; i < length; i++)
	{
		appendStringInfoChar(&grouped, digits[i]);
		if ((length - 1 - i) % 3 == 0 && i + 1 < length)
			appendStringInfoChar(&grouped, ',');
	}
	return grouped.data;
}

static char *
shown_share(double x, bool exact)
{
	if (exact)
		return shortest_number(x);
	if (x > 0 && x < 0.0005)
		return pstrdup("< 0.1 %");
	return psprintf(fabs(x) < 0.0995 ? "%.2g %%" : "%.0f %%",
					round(1000 * x) / 10);
}

/* Formats a date, given in days since 2000-01-01. */
static char *
shown_date(double days)
{
	int			year;
	int			month;
	int			day;

	j2date((int) floor(days) + POSTGRES_EPOCH_JDATE, &year, &month, &day);
	return psprintf("%04d-%02d-%02d%s", year > 0 ? year : 1 - year, month, day,
					year > 0 ? "" : " BC");
}

/*
 * Formats a timestamp, given in seconds since 2000-01-01. Rounds it to the
 * nearest minute. If `exact`, prints it to the microsecond instead, and omits
 * trailing fields that are zero.
 */
static char *
shown_timestamp(double seconds, bool exact)
{
	double		rounded = exact ? seconds : round(seconds / SECS_PER_MINUTE) * SECS_PER_MINUTE;
	double		days = floor(rounded / SECS_PER_DAY);
	char	   *time = text_of_time(rounded - SECS_PER_DAY * days, false);

	return exact && strcmp(time, "00:00") == 0 ? shown_date(days)
		: psprintf("%s %s", shown_date(days), time);
}

/*
 * Formats an interval such as "3 days 04:00:00". Rounds it to the nearest
 * second or, if `exact`, down to the microsecond.
 */
static char *
shown_interval(double seconds, bool exact)
{
	double		rounded = exact ? floor(seconds * 1e6 + 0.25) / 1e6 : round(seconds);
	double		days = floor(fabs(rounded) / SECS_PER_DAY);
	double		rest = fabs(rounded) - SECS_PER_DAY * days;
	char	   *sign = rounded < 0 ? "-" : "";
	char	   *time = text_of_time(rest, true);

	if (days < 1)
		return psprintf("%s%s", sign, time);
	return psprintf("%s%.0f day%s%s%s", sign, days, days == 1 ? "" : "s",
					rest > 0 ? " " : "", rest > 0 ? time : "");
}

/*
 * Takes (value, kind, exact). Returns the value as text for display. Kind
 * "day" is a timestamp of which only the date is displayed.
 */
PG_FUNCTION_INFO_V1(fastclust_shown_value);
Datum
fastclust_shown_value(PG_FUNCTION_ARGS)
{
	double		x = PG_GETARG_FLOAT8(0);
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool		exact = PG_GETARG_BOOL(2);
	char	   *shown;

	if (strcmp(kind, "category") == 0 || strcmp(kind, "boolean") == 0)
		shown = shown_share(x, exact);
	else if (strcmp(kind, "date") == 0 &&
			 x >= DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE &&
			 x < DATE_END_JULIAN - POSTGRES_EPOCH_JDATE)
		shown = shown_date(exact ? x : round(x));
	else if (strcmp(kind, "timestamp") == 0 &&
			 x >= (DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE) * 86400.0 &&
			 x < (TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE) * 86400.0)
		shown = shown_timestamp(x, exact);
	else if (strcmp(kind, "day") == 0 &&
			 x >= (DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE) * 86400.0 &&
			 x < (TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE) * 86400.0)
		shown = shown_date(x / 86400);
	else if (strcmp(kind, "interval") == 0 && fabs(x) < 1e12)
		shown = shown_interval(x, exact);
	else if (strcmp(kind, "year") == 0 && !exact && x >= 1000 && x < 3000)
		shown = psprintf("%.0f", x);
	else
		shown = shown_number(x, exact);
	for (int i = 0; i < FC_CYCLIC_KINDS; i++)
		if (strcmp(kind, cyclic_kinds[i].name) == 0 && !exact)
			shown = isnan(x) ? "all around"
				: psprintf("around %s", cyclic_kinds[i].cycle == FC_CYCLE_PERIOD ? shown
						   : text_of_cyclic_value(&cyclic_kinds[i], x, false, false));
	PG_RETURN_TEXT_P(cstring_to_text(shown));
}
