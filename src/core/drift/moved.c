/*
 * moved.c - the columns that moved, by how much, and the pairs of columns whose
 * joint distribution changed; see test.h
 */
#include "drift/internal.h"
#include "drift/units.h"

/*
 * Difference of shares that counts as 0. One row in 1e11 makes a larger
 * difference.
 */
#define ROUNDING	1e-12

/* ---- shift and spread of a column, by the moments of sketches ---- */

void
fc_present_moments(const fc_sketch_view *sketch, size_t j, double nulls, double fill,
				   double *mean, double *deviation)
{
	double		factor = nulls > 0.0 && nulls < 1.0 ? 1.0 / (1.0 - nulls) : 1.0;
	double		gap = fc_sketch_mean(sketch, j) - fill;

	/*
	 * NULLs add nothing to sums of differences from `fill`, so that only the
	 * number of rows must be corrected.
	 */
	*mean = factor == 1.0 ? fc_sketch_mean(sketch, j) : fill + factor * gap;
	*deviation = sqrt(factor == 1.0 ? fc_sketch_variance(sketch, j)
					  : fmax(0.0, factor * (fc_sketch_variance(sketch, j) +
											gap * gap * (1.0 - factor))));
}

/*
 * Sets the mean and the standard deviation of column j among the rows of a
 * side without a NULL in the column.
 */
static void
moments_of_side(const fc_drift_sides *sides, int side, size_t j, double *mean,
				double *deviation)
{
	double		nulls = fc_drift_has_counts(sides) ? fc_drift_imputed_rows(sides, side, j) : 0.0;

	fc_present_moments(sides->sketch[side], j, nulls / fc_drift_rows_of_side(sides, side),
					   nulls > 0.0 ? sides->fill[j].value : 0.0, mean, deviation);
}

/*
 * Sets shift and spread of a column. If the column was constant in the
 * training rows, shift is in the column's own units.
 */
static void
describe_move(const fc_drift_sides *sides, fc_drift_move *move)
{
	double		min = fc_drift_min_deviation(sides->sketch[0], move->column);
	double		mean[2];
	double		deviation[2];

	for (int side = 0; side < 2; side++)
		moments_of_side(sides, side, move->column, &mean[side], &deviation[side]);
	move->shift = (mean[1] - mean[0]) / (deviation[0] > min ? deviation[0] : 1.0);
	move->spread = deviation[0] > min ? deviation[1] / deviation[0]
		: deviation[1] > min ? INFINITY
		: 1.0;
}

/* ---- columns that moved ---- */

/*
 * Returns the logarithm of the smallest F T p / w (test.h) among the tests of
 * column j. If `all` is true, the means of all columns are tested, not only of
 * coarse columns.
 */
static double
column_log_p(const fc_drift_sides *sides, size_t j,
			 const fc_drift_tests *tests, bool all)
{
	double		log_p = 0;
	double		shift;

	if (fc_drift_has_counts(sides))
	{
		fc_two_by_two table = fc_drift_strongest_of_column(sides, j);

		log_p = fc_drift_exact_log_p(&table) + log(tests->count[FC_TEST_COLUMNS]);
		if (fc_drift_kind_of_column(sides, j) == FC_FINE)
			log_p = fmin(log_p, fc_normal_log_p(fc_drift_rank_z(sides, j, &shift)) +
						 log(tests->count[FC_TEST_RANKS] / tests->weight[FC_TEST_RANKS]));
	}
	if (fc_drift_has_sums(sides) && (all || fc_drift_kind_of_column(sides, j) == FC_COARSE))
		log_p = fmin(log_p, log(fc_drift_test_mean(sides, j, &shift)) +
					 log(tests->count[FC_TEST_MEANS]));
	return log_p + log(tests->sum);
}

/*
 * Returns true if dimension j is the indicator of the NULLs of a column of the
 * table. The share that fc_drift_strongest_of_column compares and the share of
 * NULLs then add up to 1 on each side.
 */
static bool
indicates_null(const fc_drift_sides *sides, size_t j)
{
	fc_two_by_two nulls;
	fc_two_by_two values;

	if (!fc_drift_null_table(sides, j, &nulls))
		return false;
	values = fc_drift_strongest_of_column(sides, j);
	for (int side = 0; side < 2; side++)
		if (fabs(values.count[side] / values.rows[side] +
				 nulls.count[side] / nulls.rows[side] - 1.0) > ROUNDING)
			return false;
	return true;
}

/*
 * Sets moved[j], for each of the d dimensions, to true if column_log_p is
 * below the limit, a logarithm. If the log p-value of the NULLs in a column of
 * the table is below the limit, all dimensions of this column moved. Stores
 * the dimensions and NULLs with the smallest p-values below the limit in
 * `tables`, without the indicators of NULLs.
 */
static void
list_columns(const fc_drift_sides *sides, const fc_drift_tests *tests,
			 size_t d, bool all, double limit, fc_table_list *tables,
			 bool *moved)
{
	tables->count = 0;
	for (size_t j = 0; j < d; j++)
	{
		fc_two_by_two table = {.column = j,.other = j};

		fc_check();
		table.log_p = column_log_p(sides, j, tests, all);
		moved[j] = table.log_p < limit;
		if (moved[j] && !indicates_null(sides, j))
			fc_drift_keep_smallest(&table, tables);
		if (!fc_drift_null_table(sides, j, &table))
			continue;
		fc_drift_make_effective(sides, &table);
		table.log_p = fc_drift_exact_log_p(&table) +
			log(tests->sum * tests->count[FC_TEST_NULLS] / tests->weight[FC_TEST_NULLS]);
		if (table.log_p < limit)
		{
			for (size_t i = 0; i <= j; i++)
				moved[i] |= i == j ||
					(sides->fill != NULL && sides->fill[i].nulls == j);
			fc_drift_keep_smallest(&table, tables);
		}
	}
}

/*
 * Appends a move for each table with log_p + log_tests below the limit, until
 * there are `max` moves. log_tests is the logarithm of F T (test.h), or 0 if
 * log_p includes it. A column has at most one move for its values and one for
 * its NULLs; a pair of columns has at most one.
 */
static void
take_moves(const fc_table_list *tables,
		   double log_tests, double limit, size_t max, fc_drift_move *moves,
		   size_t *count)
{
	for (size_t i = 0;
		 i < tables->count && tables->table[i].log_p + log_tests < limit; i++)
	{
		const fc_two_by_two *table = &tables->table[i];
		bool		again = false;

		for (size_t j = 0; j < *count; j++)
			again |= moves[j].column == table->column &&
				moves[j].other == table->other &&
				moves[j].nulls == table->nulls;
		if (again || *count == max)
			continue;
		moves[(*count)++] = (fc_drift_move)
		{
			.column = table->column,
				.other = table->other,
				.nulls = table->nulls,
				.share =
			{
				table->count[0] / table->rows[0], table->count[1] / table->rows[1]
			},
				.log_p = table->log_p + log_tests,
				.shift = NAN,
				.spread = NAN
		};
	}
}

void
fc_drift_moved(const fc_drift_sides *sides, double threshold, size_t max,
			   bool drifted, fc_arena *arena, fc_drift_move *moves,
			   size_t *count)
{
	bool		counts = fc_drift_has_counts(sides);
	fc_table_list tables = {.capacity = 2 * max};
	fc_drift_tests tests;
	size_t		d;
	bool	   *moved;

	*count = 0;
	if (!(counts || (drifted && fc_drift_has_sums(sides))) ||
		!fc_drift_has_rows(sides) || fc_drift_too_few_units(sides))
		return;
	d = counts ? sides->spec->dim : sides->sketch[0]->spec->dim;
	tests = fc_drift_count_tests(sides, fc_drift_has_waves(sides));
	tables.table = FC_TAKE(arena, tables.capacity, fc_two_by_two);
	moved = FC_TAKE(arena, d, bool);
	if (counts)
	{
		list_columns(sides, &tests, d, false, log(threshold), &tables, moved);
		take_moves(&tables, 0.0, log(threshold), max, moves, count);
		if (*count < max && tests.count[FC_TEST_PAIRS] > 0)
		{
			tables.count = 0;	/* restart with pairs of the other columns */
			fc_drift_search_pairs(sides, moved, arena, &tables);
			fc_drift_test_tables(&tables);
			take_moves(&tables,
					   log(tests.sum * tests.count[FC_TEST_PAIRS]),
					   log(threshold), max, moves, count);
		}
	}
	if (*count == 0 && drifted)
	{
		tests.count[FC_TEST_MEANS] = (double) d;
		list_columns(sides, &tests, d, true, INFINITY, &tables, moved);
		take_moves(&tables, 0.0, INFINITY, max, moves, count);
	}
	for (size_t i = 0; i < *count && fc_drift_has_sums(sides); i++)
		if (moves[i].column == moves[i].other && !moves[i].nulls)
			describe_move(sides, &moves[i]);
}
