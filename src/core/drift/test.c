/*
 * test.c - p-value, effect size and verdict of a drift test, and the columns
 * that moved; see test.h
 */
#include "drift/test.h"

#include "drift/internal.h"

/*
 * Number of tables per test set that get an exact test, the ones with the
 * smallest p-values. More tests take longer; halving or doubling the number
 * changes no result (bench/drift.py, bench/tuned.py).
 */
#define EXACT_TESTS	12

/*
 * Shift that may go undetected, in standard deviations, above which waves are
 * ignored. With a higher limit, waves that are too insensitive are tested as
 * well, which costs the other tests power (bench/drift.py).
 */
#define MAX_HIDDEN_BY_WAVES	1.0

/*
 * Weight of the ranks in the harmonic mean of the test sets; the others have
 * weight 1. A larger weight finds smaller shifts among few rows, and fewer
 * changes of any other kind (bench/drift.py).
 */
#define RANK_WEIGHT	3.0

/*
 * Weight of the NULLs in the harmonic mean of the test sets. A larger weight
 * finds smaller changes of a share of NULLs, and fewer changes of any other
 * kind in tables with NULLs (bench/drift.py).
 */
#define NULL_WEIGHT	2.0

/*
 * Minimum number of edges of a column whose ranks are compared. 30 training
 * rows without equal values have nine different quantiles.
 */
#define MIN_RANK_EDGES	(FC_DRIFT_QUANTILES - 2)

/*
 * Standard deviation below which a column counts as constant, in units of the
 * spec's sigma * scale. A guess.
 */
#define MIN_DEVIATION	1e-6

/*
 * Contingency table of one count: the rows of each side that are at or below
 * an edge of a column, that have a combination of two bits, or that have a
 * NULL.
 */
typedef struct two_by_two
{
	size_t		column;
	size_t		other;			/* index of the second column of a pair; else
								 * equal to `column` */
	bool		nulls;			/* true: counts of NULLs */
	double		count[2];
	double		rows[2];		/* rows of each side in which the count could
								 * be */

	/*
	 * minus fc_two_counts_deviance; after test_tables, logarithm of the
	 * p-value of the exact test
	 */
	double		log_p;
} two_by_two;

/* The tables with the smallest log_p, in ascending order. */
typedef struct table_list
{
	two_by_two *table;			/* array of `capacity` tables */
	size_t		count;
	size_t		capacity;
} table_list;

static inline bool
has_counts(const fc_drift_sides *sides)
{
	return sides->counts[0] != NULL && sides->counts[1] != NULL;
}

/* Returns the number of rows of a side, effective rows if only sketched. */
static inline double
rows_of_side(const fc_drift_sides *sides, int side)
{
	const fc_sketch_view *sketch = sides->sketch[side];

	return has_counts(sides) ? (double) sides->counts[side]->rows
		: fc_sketch_total_weight(sketch) * fc_sketch_total_weight(sketch) /
		fc_sketch_weight2(sketch);
}

/* ---- NULLs ---- */

/*
 * Returns the number of NULLs that a side counted in the column of the table
 * whose last dimension is j.
 */
static double
nulls_of_side(const fc_drift_sides *sides, int side, size_t j)
{
	const fc_drift_counts *counts = sides->counts[side];

	return (double) fc_drift_number(counts, fc_drift_values(counts) + j);
}

static bool
nulls_known(const fc_drift_sides *sides)
{
	return has_counts(sides) &&
		(sides->counts[0]->flags & sides->counts[1]->flags & FC_DRIFT_NULLS);
}

/*
 * Returns the number of rows of a side in which column j has a value that
 * stands in for a NULL; 0 if this is not known.
 */
static double
imputed_rows(const fc_drift_sides *sides, int side, size_t j)
{
	return sides->fill != NULL && sides->fill[j].cell >= 0 && nulls_known(sides)
		? nulls_of_side(sides, side, sides->fill[j].nulls)
		: 0.0;
}

/* Returns the number of rows of a side without a NULL in column j. */
static double
rows_of_column(const fc_drift_sides *sides, int side, size_t j)
{
	return rows_of_side(sides, side) - imputed_rows(sides, side, j);
}

/* Returns a side's number of rows in a cell of column j, without NULLs. */
static double
rows_of_cell(const fc_drift_sides *sides, int side, size_t j, size_t cell)
{
	double		rows = (double) fc_drift_number(sides->counts[side],
												j * FC_DRIFT_CELLS + cell);

	return sides->fill != NULL && sides->fill[j].cell == (int32_t) cell
		? fmax(0.0, rows - imputed_rows(sides, side, j))
		: rows;
}

int32_t
fc_drift_cell(const fc_drift_spec *spec, size_t j, double value)
{
	const double *origin = fc_drift_origin(spec);
	float		x = (float) (value - (origin != NULL ? origin[j] : 0.0));
	const float *edge = fc_drift_edges(spec) + j * FC_DRIFT_EDGES;
	int32_t		cell = x >= fc_drift_minima(spec)[j];

	for (size_t k = 0; k < FC_DRIFT_EDGES; k++)
		cell += x > edge[k];
	return cell;
}

/* ---- tests and test sets ---- */

/* Returns T1, the number of tests of columns. */
static double
column_tests(const fc_drift_spec *spec)
{
	double		tests = spec->dim;

	for (size_t j = 0; j < spec->dim; j++)
		tests += fc_drift_edge_counts(spec)[j];
	return tests;
}

/* Returns T2, the number of tests of pairs. */
static double
pair_tests(const fc_drift_spec *spec)
{
	return 2.0 * (double) fc_drift_pairs(fc_drift_spec_bits(spec));
}

static bool
has_sums(const fc_drift_sides *sides)
{
	return sides->sketch[0] != NULL && sides->sketch[1] != NULL &&
		sides->sketch[0]->head->weight > 0 &&
		sides->sketch[1]->head->weight > 0;
}

static bool
has_waves(const fc_drift_sides *sides)
{
	return sides->sketch[0] != NULL && sides->sketch[1] != NULL &&
		fc_spec_basis(sides->sketch[0]->spec) == NULL;
}

/* Kind of a column, by which it is tested in addition to its counts. */
typedef enum column_kind
{
	FEW_EDGES,					/* no other test */
	FINE,						/* many edges: ranks are compared */
	COARSE						/* many edges, but most training rows between
								 * two of them: means are compared */
} column_kind;

/*
 * Returns COARSE if column j has many edges, but more than half of the training
 * rows without a NULL are between two of them. Edges are chosen for all groups
 * together, so that a group may have such columns. Neither counts nor ranks
 * show that these columns move.
 */
static column_kind
kind_of_column(const fc_drift_sides *sides, size_t j)
{
	double		max = 0;

	if (fc_drift_edge_counts(sides->spec)[j] < MIN_RANK_EDGES ||
		fmin(rows_of_column(sides, 0, j), rows_of_column(sides, 1, j)) <
		FC_DRIFT_MIN_ROWS)
		return FEW_EDGES;
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		max = fmax(max, rows_of_cell(sides, 0, j, cell));
	return 2.0 * max > rows_of_column(sides, 0, j) ? COARSE : FINE;
}

static double
columns_of_kind(const fc_drift_sides *sides, column_kind kind)
{
	double		columns = 0;

	for (size_t j = 0; has_counts(sides) && j < sides->spec->dim; j++)
		columns += kind_of_column(sides, j) == kind;
	return columns;
}

/* Returns T4, the number of tests of means. */
static double
mean_tests(const fc_drift_sides *sides)
{
	return has_sums(sides) ? columns_of_kind(sides, COARSE) : 0;
}

/*
 * Sets *table to the counts of NULLs in a column of the table whose last
 * dimension is j. Returns false if the column has no NULLs, or if one side has
 * not counted NULLs.
 */
static bool
null_table(const fc_drift_sides *sides, size_t j, two_by_two *table)
{
	if (!nulls_known(sides))
		return false;
	*table = (two_by_two)
	{
		.column = j,.other = j,.nulls = true
	};
	for (int side = 0; side < 2; side++)
	{
		table->count[side] = nulls_of_side(sides, side, j);
		table->rows[side] = rows_of_side(sides, side);
	}
	return table->count[0] + table->count[1] > 0;
}

/* Returns T6, the number of tests of NULLs. */
static double
null_tests(const fc_drift_sides *sides)
{
	double		tests = 0;
	two_by_two	table;

	for (size_t j = 0; has_counts(sides) && j < sides->spec->dim; j++)
		tests += null_table(sides, j, &table);
	return tests;
}

/* Returns F, the sum of the weights of the test sets that apply. */
static double
sum_set_weights(const fc_drift_sides *sides, bool waves)
{
	return has_counts(sides) +
		(has_counts(sides) && pair_tests(sides->spec) > 0) + waves +
		(mean_tests(sides) > 0) +
		(columns_of_kind(sides, FINE) > 0 ? RANK_WEIGHT : 0.0) +
		(null_tests(sides) > 0 ? NULL_WEIGHT : 0.0);
}

/* ---- the strongest tables ---- */

static void
keep_smallest(const two_by_two *table, table_list *tables)
{
	size_t		place = tables->count;

	if (place == tables->capacity && !(table->log_p < tables->table[place - 1].log_p))
		return;
	place -= place == tables->capacity;
	for (; place > 0 && table->log_p < tables->table[place - 1].log_p; place--)
		tables->table[place] = tables->table[place - 1];
	tables->table[place] = *table;
	tables->count += tables->count < tables->capacity;
}

static void
offer(two_by_two table, table_list *tables)
{
	table.log_p = -fc_two_counts_deviance(table.count[0], table.rows[0],
										  table.count[1], table.rows[1]);
	keep_smallest(&table, tables);
}

static two_by_two
strongest_of_column(const fc_drift_sides *sides, size_t j)
{
	two_by_two	strongest;
	table_list	one = {&strongest, 0, 1};
	two_by_two	table = {.column = j,.other = j};

	for (int side = 0; side < 2; side++)
		table.rows[side] = rows_of_column(sides, side, j);
	for (size_t cell = 0; cell <= fc_drift_edge_counts(sides->spec)[j]; cell++)
	{
		for (int side = 0; side < 2; side++)
			table.count[side] += rows_of_cell(sides, side, j, cell);
		offer(table, &one);
	}
	return strongest;
}

/* ---- pairs ---- */

/* Returns the number of rows with bit b, from the cells of its column. */
static double
rows_with_bit(const fc_drift_spec *spec, const fc_drift_counts *counts,
			  size_t b)
{
	size_t		j = fc_drift_bit_columns(spec)[b];
	const uint8_t *third = fc_drift_thirds(spec) + 3 * j;
	bool		far = b >= spec->plain;
	double		rows = 0;

	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		if (cell > (size_t) third[far ? FC_DRIFT_UPPER : FC_DRIFT_MIDDLE] + 1 ||
			(far && cell <= (size_t) third[FC_DRIFT_LOWER] + 1))
			rows += (double) fc_drift_number(counts, j * FC_DRIFT_CELLS + cell);
	return rows;
}

/*
 * Adds two tables of bits a and b to the list if they are among the strongest:
 * rows with both bits, and rows with exactly one of them. The count of rows
 * with both bits has index `place`; one[side * bits + b] is the number of rows
 * with bit b. Inconsistent counts are skipped.
 */
static void
offer_pair(const fc_drift_sides *sides, const double *one, size_t a, size_t b,
		   size_t place, table_list *tables)
{
	size_t		bits = fc_drift_spec_bits(sides->spec);
	const uint16_t *column = fc_drift_bit_columns(sides->spec);
	two_by_two	both = {.column = column[a],.other = column[b]};
	two_by_two	alone = both;

	for (int side = 0; side < 2; side++)
	{
		const double *with = one + (size_t) side * bits;

		both.rows[side] = alone.rows[side] = rows_of_side(sides, side);
		both.count[side] = (double) fc_drift_number(sides->counts[side], place);
		alone.count[side] = with[a] + with[b] - 2.0 * both.count[side];
		if (both.count[side] > fmin(with[a], with[b]) ||
			with[a] + with[b] - both.count[side] > rows_of_side(sides, side))
			return;
	}
	offer(both, tables);
	offer(alone, tables);
}

static void
search_pairs(const fc_drift_sides *sides, const bool *moved, fc_arena *arena,
			 table_list *tables)
{
	size_t		bits = fc_drift_spec_bits(sides->spec);
	const uint16_t *column = fc_drift_bit_columns(sides->spec);
	size_t		place = (size_t) sides->spec->dim * FC_DRIFT_CELLS;
	double	   *one = FC_TAKE(arena, 2 * bits, double);

	for (size_t b = 0; b < 2 * bits; b++)
		one[b] = rows_with_bit(sides->spec, sides->counts[b / bits], b % bits);
	for (size_t a = 0; a < bits; a++)
	{
		fc_check();
		for (size_t b = a + 1; b < bits; b++, place++)
			if (moved == NULL || !(moved[column[a]] || moved[column[b]]))
				offer_pair(sides, one, a, b, place, tables);
	}
}

/* ---- the tests ---- */

static void
test_tables(table_list *tables)
{
	size_t		count = tables->count;

	tables->count = 0;
	for (size_t i = 0; i < count; i++)
	{
		two_by_two	table = tables->table[i];

		fc_check();
		table.log_p = fc_hypergeometric_log_p(table.count[0], table.rows[0],
											  table.count[1], table.rows[1]);
		keep_smallest(&table, tables);
	}
}

enum
{
	COLUMNS,
	PAIRS,
	WAVES,
	MEANS,
	RANKS,
	NULLS,
	TEST_SETS
};

typedef struct test_set
{
	double		p;				/* p-value; NaN: the test set does not apply */
	double		effect;			/* shift of a normal column, in standard
								 * deviations */
} test_set;

/*
 * Shift of a normal column, in standard deviations, if its share below the
 * median changes by one standard deviation of the indicator: sqrt(pi / 2).
 */
#define DEVIATIONS_PER_SPLIT	1.2533141373155003

/*
 * Returns the variance of the difference of the means of both sides, for rows
 * of variance 1.
 */
static double
variance_of_gap(const fc_drift_sides *sides)
{
	return 1.0 / rows_of_side(sides, 0) + 1.0 / rows_of_side(sides, 1);
}

static double
effect_of_table(const two_by_two *table, double tests)
{
	double		n1 = fmax(table->rows[0], 1.0);
	double		n2 = fmax(table->rows[1], 1.0);
	double		share = (table->count[0] + table->count[1]) / (n1 + n2);
	double		gap = table->count[1] / n2 - table->count[0] / n1;
	double		square = (gap * gap / fmax(share * (1.0 - share), 1e-30) -
						  2.0 * (1.0 / n1 + 1.0 / n2) * log(fmax(tests, 2.0)));

	return DEVIATIONS_PER_SPLIT * sqrt(fmax(square, 0.0));
}

/*
 * Sets result->p to the smallest p-value of the tables, multiplied by `tests`,
 * and result->effect to the effect of the table with this p-value.
 */
static void
run_test_set(double tests, table_list *tables, test_set *result)
{
	test_tables(tables);
	result->p = fmin(1.0, tests * exp(tables->table[0].log_p));
	result->effect = effect_of_table(&tables->table[0], tests);
}

static void
test_counts(const fc_drift_sides *sides, fc_arena *arena, test_set *test_sets)
{
	two_by_two	strongest[EXACT_TESTS];
	table_list	tables = {strongest, 0, EXACT_TESTS};

	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		fc_check();
		offer(strongest_of_column(sides, j), &tables);
	}
	run_test_set(column_tests(sides->spec), &tables, &test_sets[COLUMNS]);
	tables.count = 0;
	if (pair_tests(sides->spec) > 0)
		search_pairs(sides, NULL, arena, &tables);
	if (tables.count > 0)
		run_test_set(pair_tests(sides->spec), &tables, &test_sets[PAIRS]);
}

static void
test_nulls(const fc_drift_sides *sides, test_set *result)
{
	two_by_two	strongest[EXACT_TESTS];
	table_list	tables = {strongest, 0, EXACT_TESTS};
	double		tests = null_tests(sides);
	two_by_two	table;

	for (size_t j = 0; tests > 0 && j < sides->spec->dim; j++)
		if (null_table(sides, j, &table))
			offer(table, &tables);
	if (tests > 0)
		run_test_set(tests, &tables, result);
}

/*
 * Sets score[cell] to the normal scores of the ranks of both sides together in
 * column j, minus their mean. The rows of a cell have equal ranks, and rows
 * with a NULL have none.
 */
static void
normal_scores(const fc_drift_sides *sides, size_t j, double *score)
{
	double		n = rows_of_column(sides, 0, j) + rows_of_column(sides, 1, j);
	double		below = 0;
	double		mean = 0;

	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		double		rows = rows_of_cell(sides, 0, j, cell) + rows_of_cell(sides, 1, j, cell);

		score[cell] = rows > 0 ? fc_normal_quantile((below + 0.5 * rows) / n) : 0.0;
		below += rows;
		mean += rows * score[cell] / n;
	}
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		score[cell] -= mean;
}

/*
 * Returns the difference of the mean normal scores of both sides in column j,
 * divided by its standard deviation if nothing has changed.
 */
static double
rank_z(const fc_drift_sides *sides, size_t j)
{
	double		n1 = rows_of_column(sides, 0, j);
	double		n2 = rows_of_column(sides, 1, j);
	double		score[FC_DRIFT_CELLS];
	double		gap = 0;
	double		variance = 0;

	normal_scores(sides, j, score);
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		double		first = rows_of_cell(sides, 0, j, cell);
		double		second = rows_of_cell(sides, 1, j, cell);

		gap += (second / n2 - first / n1) * score[cell];
		variance += (first + second) * score[cell] * score[cell] / (n1 + n2 - 1.0);
	}
	return variance > 0
		? fabs(gap) / sqrt(variance * (1.0 / n1 + 1.0 / n2))
		: 0.0;
}

static void
test_ranks(const fc_drift_sides *sides, test_set *result)
{
	double		tests = columns_of_kind(sides, FINE);
	double		max = 0;
	double		square = 0;

	if (tests == 0)
		return;
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		double		z = kind_of_column(sides, j) == FINE ? rank_z(sides, j) : 0;

		if (!(z > max))
			continue;
		max = z;
		square = (1.0 / rows_of_column(sides, 0, j) +
				  1.0 / rows_of_column(sides, 1, j)) *
			(z * z - 2.0 * log(fmax(tests, 2.0)));
	}
	*result = (test_set)
	{
		fmin(1.0, tests * exp(fc_normal_log_p(max))),
			sqrt(fmax(square, 0.0))
	};
}

/* Returns the standard deviation below which column j counts as constant. */
static double
min_deviation(const fc_sketch_view *sketch, size_t j)
{
	const fc_spec *spec = sketch->spec;
	const double *scale = fc_spec_scale(spec);

	return MIN_DEVIATION * spec->sigma * (scale != NULL ? scale[j] : 1.0);
}

/*
 * Returns a bound on the p-value of the difference of the means of column j,
 * min(1, 6 / z^4) (test.h), and sets *shift to this difference in standard
 * deviations.
 */
static double
test_mean(const fc_drift_sides *sides, size_t j, double *shift)
{
	double		n1 = rows_of_side(sides, 0);
	double		n2 = rows_of_side(sides, 1);
	double		min = min_deviation(sides->sketch[0], j);
	double		variance[2];
	double		z;

	for (int side = 0; side < 2; side++)
		variance[side] = fmax(fc_sketch_variance(sides->sketch[side], j),
							  min * min);
	*shift = fabs(fc_sketch_mean(sides->sketch[1], j) -
				  fc_sketch_mean(sides->sketch[0], j)) /
		sqrt((n1 * variance[0] + n2 * variance[1]) / (n1 + n2));
	z = *shift / sqrt(variance_of_gap(sides)) *
		fmin(1.0, sqrt(4.0 * fmin(n1, n2) / (n1 + n2)));
	return fmin(1.0, 6.0 / (z * z * z * z));
}

static void
test_means(const fc_drift_sides *sides, test_set *result)
{
	double		tests = mean_tests(sides);
	double		min = 1.0;
	double		shift;

	if (tests == 0)
		return;
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		double		p = (kind_of_column(sides, j) == COARSE
						 ? test_mean(sides, j, &shift) : 1.0);

		if (!(p < min))
			continue;
		min = p;
		result->effect = shift;
	}
	result->p = fmin(1.0, tests * min);
}

static fc_verdict
verdict_of(const fc_drift_result *result, double threshold, double min_effect)
{
	if (isnan(result->p_value))
		return FC_VERDICT_TOO_FEW;
	if (result->p_value < threshold)
		return result->effect < min_effect ? FC_VERDICT_SLIGHT
			: FC_VERDICT_DRIFTED;
	return result->hidden > FC_DRIFT_MAX_HIDDEN ? FC_VERDICT_TOO_FEW
		: FC_VERDICT_NONE;
}

/*
 * Returns the shift of a column, in standard deviations, up to which both its
 * counts and its ranks may not show it. weights is F (test.h).
 */
static double
hidden_shift(const fc_drift_sides *sides, double weights, double threshold)
{
	double		columns = column_tests(sides->spec);
	double		ranks = columns_of_kind(sides, FINE);
	double		shift = DEVIATIONS_PER_SPLIT *
	sqrt(log(2.0 * weights * fmax(columns, 2.0) / threshold));

	if (ranks > 0)
		shift = fmin(shift, sqrt(log(2.0 * weights / RANK_WEIGHT * ranks / threshold)));
	return sqrt(2.0 * variance_of_gap(sides)) * shift;
}

/* Returns w_f of a test set (test.h). */
static double
weight_of_set(int f)
{
	return f == RANKS ? RANK_WEIGHT : f == NULLS ? NULL_WEIGHT : 1.0;
}

/*
 * Combines the test sets into one p-value and one effect. Sets result->hidden
 * to the shift up to which drift may go undetected.
 */
static void
combine_test_sets(const fc_drift_sides *sides, const test_set *test_sets,
				  double threshold, const fc_wave_test *waves,
				  fc_drift_result *result)
{
	double		weights = sum_set_weights(sides, !isnan(test_sets[WAVES].p));
	double		term[TEST_SETS];
	double		sum = 0;
	double		max = 0;

	for (int f = 0; f < TEST_SETS; f++)
	{
		result->set_p[f] = test_sets[f].p;
		term[f] = isnan(test_sets[f].p) ? 0.0
			: weight_of_set(f) / test_sets[f].p;
		sum += term[f];
		max = fmax(max, term[f]);
	}
	result->p_value = weights / sum;
	result->effect = 0;
	for (int f = 0; f < TEST_SETS && result->p_value < threshold; f++)
		if (term[f] == max || weights / term[f] < threshold)
			result->effect = fmax(result->effect, test_sets[f].effect);
	result->hidden = has_counts(sides)
		? hidden_shift(sides, weights, threshold)
		: waves->hidden;
}

void
fc_drift_test_sides(const fc_drift_sides *sides, double threshold,
					double min_effect, fc_arena *arena, fc_drift_result *result)
{
	test_set	test_sets[TEST_SETS];
	fc_wave_test waves = {NAN, NAN, NAN, NAN, NAN, 0};

	*result = (fc_drift_result)
	{
		.mmd2 = NAN,.null_sd = NAN,.p_value = NAN,.effect = NAN,.hidden = NAN
	};
	for (int f = 0; f < TEST_SETS; f++)
	{
		test_sets[f] = (test_set)
		{
			NAN, 0
		};
		result->set_p[f] = NAN;
	}
	if (has_waves(sides) && sides->null != NULL)
		fc_wave_compare(sides->sketch[0], sides->sketch[1], sides->null, arena,
						&waves);
	result->mmd2 = waves.mmd2;
	result->null_sd = waves.null_sd;
	if (waves.rows >= FC_DRIFT_MIN_ROWS)
		test_sets[WAVES] = (test_set)
	{
		waves.hidden <= MAX_HIDDEN_BY_WAVES
			? waves.p_value
			: 1.0,
			waves.size
	};
	if (has_counts(sides) &&
		fmin(rows_of_side(sides, 0), rows_of_side(sides, 1)) >=
		FC_DRIFT_MIN_ROWS)
	{
		test_counts(sides, arena, test_sets);
		test_means(sides, &test_sets[MEANS]);
		test_ranks(sides, &test_sets[RANKS]);
		test_nulls(sides, &test_sets[NULLS]);
	}
	if (!isnan(test_sets[COLUMNS].p) || !isnan(test_sets[WAVES].p))
		combine_test_sets(sides, test_sets, threshold, &waves, result);
	result->verdict = verdict_of(result, threshold, min_effect);
}

/* ---- shift and spread of a column, by the moments of sketches ---- */

/*
 * Sets the mean and the standard deviation of a column in the rows of a side
 * without a NULL in it. Around the value that stands in for NULLs, these add
 * nothing to the sums.
 */
static void
moments_of_side(const fc_drift_sides *sides, int side, size_t j, double *mean,
				double *deviation)
{
	const fc_sketch_view *sketch = sides->sketch[side];
	double		nulls = has_counts(sides) ? imputed_rows(sides, side, j) : 0.0;
	double		n = rows_of_side(sides, side);
	double		fill = nulls > 0 && nulls < n ? sides->fill[j].value : 0.0;
	double		factor = nulls > 0 && nulls < n ? n / (n - nulls) : 1.0;
	double		gap = fc_sketch_mean(sketch, j) - fill;

	*mean = fill + factor * gap;
	*deviation = sqrt(factor == 1.0 ? fc_sketch_variance(sketch, j)
					  : fmax(0.0, factor * (fc_sketch_variance(sketch, j) +
											gap * gap * (1.0 - factor))));
}

/*
 * Sets shift and spread of a column. If the column was constant in the
 * training rows, shift is in the column's own units.
 */
static void
describe_move(const fc_drift_sides *sides, fc_drift_move *move)
{
	double		min = min_deviation(sides->sketch[0], move->column);
	double		mean[2];
	double		deviation[2];

	for (int side = 0; side < 2; side++)
		moments_of_side(sides, side, move->column, &mean[side], &deviation[side]);
	move->shift = (mean[1] - mean[0]) / (deviation[0] > min ? deviation[0] : 1.0);
	move->spread = deviation[0] > min ? deviation[1] / deviation[0]
		: deviation[1] > min ? INFINITY
		: 1.0;
}

static void
describe_moves(const fc_drift_sides *sides, fc_drift_move *moves, size_t count)
{
	if (!has_sums(sides))
		return;
	for (size_t i = 0; i < count; i++)
		if (moves[i].column == moves[i].other && !moves[i].nulls)
			describe_move(sides, &moves[i]);
}

/* ---- columns that moved ---- */

/* Numbers of tests, by which p-values of columns are multiplied (test.h). */
typedef struct test_numbers
{
	double		sets;			/* F */
	double		columns;		/* T1 */
	double		means;			/* T4, or the number of columns if the means
								 * of all columns are tested */
	double		ranks;			/* T5 */
	double		nulls;			/* T6 */
} test_numbers;

/*
 * Returns the logarithm of F T p (test.h) of the strongest test of column j. If
 * `all` is true, the means of all columns are tested, not only of coarse
 * columns.
 */
static double
column_log_p(const fc_drift_sides *sides, size_t j,
			 const test_numbers *tests, bool all)
{
	double		log_p = 0;
	double		shift;

	if (has_counts(sides))
	{
		two_by_two	table = strongest_of_column(sides, j);
		table_list	one = {&table, 1, 1};

		test_tables(&one);
		log_p = table.log_p + log(tests->columns);
		if (kind_of_column(sides, j) == FINE)
			log_p = fmin(log_p, fc_normal_log_p(rank_z(sides, j)) +
						 log(tests->ranks / RANK_WEIGHT));
	}
	if (has_sums(sides) && (all || kind_of_column(sides, j) == COARSE))
		log_p = fmin(log_p, log(test_mean(sides, j, &shift)) + log(tests->means));
	return log_p + log(tests->sets);
}

/*
 * Returns true if column j indicates the NULLs of a column of the table: if
 * its strongest table has the rows without a NULL.
 */
static bool
indicates_null(const fc_drift_sides *sides, size_t j)
{
	two_by_two	nulls;
	two_by_two	values;

	if (!null_table(sides, j, &nulls))
		return false;
	values = strongest_of_column(sides, j);
	return values.count[0] + nulls.count[0] == rows_of_side(sides, 0) &&
		values.count[1] + nulls.count[1] == rows_of_side(sides, 1);
}

/*
 * Sets moved[j] for each of d columns whose column_log_p is below the limit,
 * and for all dimensions of columns whose NULLs have such a p-value. Lists the
 * tables of moved columns and of NULLs with the smallest p-values.
 */
static void
list_columns(const fc_drift_sides *sides, const test_numbers *tests,
			 size_t d, bool all, double limit, table_list *tables,
			 bool *moved)
{
	tables->count = 0;
	for (size_t j = 0; j < d; j++)
	{
		two_by_two	table = {.column = j,.other = j};
		table_list	one = {&table, 1, 1};

		fc_check();
		table.log_p = column_log_p(sides, j, tests, all);
		moved[j] = table.log_p < limit;
		if (moved[j] && !indicates_null(sides, j))
			keep_smallest(&table, tables);
		if (!null_table(sides, j, &table))
			continue;
		test_tables(&one);
		table.log_p += log(tests->sets * tests->nulls / NULL_WEIGHT);
		if (table.log_p < limit)
		{
			for (size_t i = 0; i <= j; i++)
				moved[i] |= i == j ||
					(sides->fill != NULL && sides->fill[i].nulls == j);
			keep_smallest(&table, tables);
		}
	}
}

static fc_drift_move
move_of_table(const fc_drift_sides *sides, const two_by_two *table)
{
	fc_drift_move move = {
		.column = table->column,
		.other = table->other,
		.nulls = table->nulls,
		.log_p = table->log_p,
		.shift = NAN,
		.spread = NAN
	};

	for (int side = 0; side < 2; side++)
		move.share[side] = table->nulls
			? table->count[side] / rows_of_side(sides, side)
			: NAN;
	return move;
}

/*
 * Appends a move for each table whose p-value is below exp(limit). log_tests
 * is added to the logarithms of the p-values. Stops at `max` moves in all. A
 * column or pair of columns has at most one move, and one for its NULLs.
 */
static void
take_moves(const fc_drift_sides *sides, const table_list *tables,
		   double log_tests, double limit, size_t max, fc_drift_move *moves,
		   size_t *count)
{
	for (size_t i = 0;
		 i < tables->count && tables->table[i].log_p + log_tests < limit; i++)
	{
		const two_by_two *table = &tables->table[i];
		bool		again = false;

		for (size_t j = 0; j < *count; j++)
			again |= moves[j].column == table->column &&
				moves[j].other == table->other &&
				moves[j].nulls == table->nulls;
		if (again || *count == max)
			continue;
		moves[*count] = move_of_table(sides, table);
		moves[(*count)++].log_p += log_tests;
	}
}

void
fc_drift_moved(const fc_drift_sides *sides, double threshold, size_t max,
			   bool drifted, fc_arena *arena, fc_drift_move *moves,
			   size_t *count)
{
	bool		counts = has_counts(sides);
	table_list	tables = {.capacity = 2 * max};
	test_numbers tests;
	size_t		d;
	bool	   *moved;

	*count = 0;
	if (!(counts || (drifted && has_sums(sides))) ||
		fmin(rows_of_side(sides, 0), rows_of_side(sides, 1)) <
		FC_DRIFT_MIN_ROWS)
		return;
	d = counts ? sides->spec->dim : sides->sketch[0]->spec->dim;
	tests = (test_numbers)
	{
		sum_set_weights(sides, has_waves(sides)),
			counts ? column_tests(sides->spec) : 0.0,
			mean_tests(sides),
			columns_of_kind(sides, FINE),
			null_tests(sides)
	};
	tables.table = FC_TAKE(arena, tables.capacity, two_by_two);
	moved = FC_TAKE(arena, d, bool);
	if (counts)
	{
		list_columns(sides, &tests, d, false, log(threshold), &tables, moved);
		take_moves(sides, &tables, 0.0, log(threshold), max, moves, count);
		if (*count < max && pair_tests(sides->spec) > 0)
		{
			tables.count = 0;	/* restart with pairs of the other columns */
			search_pairs(sides, moved, arena, &tables);
			test_tables(&tables);
			take_moves(sides, &tables,
					   log(tests.sets * pair_tests(sides->spec)),
					   log(threshold), max, moves, count);
		}
	}
	if (*count == 0 && drifted)
	{
		tests.means = (double) d;
		list_columns(sides, &tests, d, true, INFINITY, &tables, moved);
		take_moves(sides, &tables, 0.0, INFINITY, max, moves, count);
	}
	describe_moves(sides, moves, *count);
}
