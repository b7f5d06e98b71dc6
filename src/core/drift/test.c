/*
 * test.c - p-value, effect size and verdict of a drift test; see test.h
 */
#include "drift/test.h"

#include "drift/internal.h"
#include "drift/units.h"

/*
 * Number of tables per test set that get an exact test: the tables with the
 * largest deviance. More tests take longer; halving or doubling the number
 * changes no result (bench/drift.py, bench/tuned.py).
 */
#define EXACT_TESTS	12

/*
 * Maximum shift, in standard deviations, that may go undetected by the waves.
 * Above it, the p-value of the waves is set to 1. With a higher maximum, waves
 * that are too insensitive are tested as well, which costs the other tests
 * power (bench/drift.py).
 */
#define MAX_HIDDEN_BY_WAVES	1.0

/*
 * Minimum number of edges of a column whose ranks or means are compared.
 * Thirty training rows without equal values have nine different quantiles.
 */
#define MIN_RANK_EDGES	(FC_DRIFT_QUANTILES - 2)

/*
 * Standard deviation below which a column counts as constant, in units of the
 * spec's sigma * scale. A guess.
 */
#define MIN_DEVIATION	1e-6

/*
 * Weight of the ranks in the harmonic mean of the test sets; columns, pairs,
 * waves and means have weight 1. A larger weight finds smaller shifts among
 * few rows, and fewer changes of any other kind (bench/drift.py).
 */
#define RANK_WEIGHT	3.0

/*
 * Weight of the NULLs in the harmonic mean of the test sets. A larger weight
 * finds smaller changes of a share of NULLs, and fewer changes of any other
 * kind in tables with NULLs (bench/drift.py).
 */
#define NULL_WEIGHT	2.0

/* ---- tests and test sets ---- */

bool
fc_drift_has_sums(const fc_drift_sides *sides)
{
	return sides->sketch[0] != NULL && sides->sketch[1] != NULL &&
		sides->sketch[0]->head->weight > 0 &&
		sides->sketch[1]->head->weight > 0;
}

bool
fc_drift_has_waves(const fc_drift_sides *sides)
{
	return sides->sketch[0] != NULL && sides->sketch[1] != NULL &&
		fc_spec_basis(sides->sketch[0]->spec) == NULL;
}

fc_column_kind
fc_drift_kind_of_column(const fc_drift_sides *sides, size_t j)
{
	double		max = 0;

	if (fc_drift_edge_counts(sides->spec)[j] < MIN_RANK_EDGES ||
		fmin(fc_drift_rows_of_column(sides, 0, j), fc_drift_rows_of_column(sides, 1, j)) <
		FC_DRIFT_MIN_ROWS)
		return FC_FEW_EDGES;
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		max = fmax(max, fc_drift_rows_of_cell(sides, 0, j, cell));
	return 2.0 * max > fc_drift_rows_of_column(sides, 0, j) ? FC_COARSE : FC_FINE;
}

fc_drift_tests
fc_drift_count_tests(const fc_drift_sides *sides, bool waves)
{
	fc_drift_tests tests = {
		.count[FC_TEST_WAVES] = waves,
		.weight = {1.0, 1.0, 1.0, 1.0, RANK_WEIGHT, NULL_WEIGHT}
	};
	size_t		d = fc_drift_has_counts(sides) ? sides->spec->dim : 0;
	fc_two_by_two table;

	if (d > 0)
		tests.count[FC_TEST_PAIRS] = 2.0 *
			(double) fc_drift_pairs(fc_drift_spec_bits(sides->spec));
	for (size_t j = 0; j < d; j++)
	{
		fc_column_kind kind = fc_drift_kind_of_column(sides, j);

		tests.count[FC_TEST_COLUMNS] += 1 + fc_drift_edge_counts(sides->spec)[j];
		tests.count[FC_TEST_RANKS] += kind == FC_FINE;
		tests.count[FC_TEST_MEANS] += kind == FC_COARSE && fc_drift_has_sums(sides);
		tests.count[FC_TEST_NULLS] += fc_drift_null_table(sides, j, &table);
	}
	for (int f = 0; f < FC_TEST_SETS; f++)
		tests.sum += tests.count[f] > 0 ? tests.weight[f] : 0.0;
	return tests;
}

/* ---- the strongest tables ---- */

void
fc_drift_keep_smallest(const fc_two_by_two *table, fc_table_list *tables)
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

/* Returns half the deviance of a table. */
static double
deviance(const fc_two_by_two *table)
{
	return fc_two_counts_deviance(table->count[0], table->rows[0],
								  table->count[1], table->rows[1]);
}

void
fc_drift_make_effective(const fc_drift_sides *sides, fc_two_by_two *table)
{
	double		share = (table->count[0] + table->count[1]) / (table->rows[0] + table->rows[1]);
	fc_drift_design design;
	double		square;

	if (!fc_drift_has_units(sides))
		return;
	design = fc_drift_design_of(sides, table->place, table->rows, share * (1.0 - share));
	for (int side = 0; side < 2; side++)
	{
		table->count[side] /= design.effect[side];
		table->rows[side] /= design.effect[side];
	}
	square = 2.0 * deviance(table);
	for (int side = 0; side < 2 && square > 0; side++)
	{
		double		factor = fc_student_square(square, design.freedom) / square;

		table->count[side] *= factor;
		table->rows[side] *= factor;
	}
}

static void
offer(const fc_drift_sides *sides, fc_two_by_two table, fc_table_list *tables)
{
	fc_drift_make_effective(sides, &table);
	table.log_p = -deviance(&table);
	fc_drift_keep_smallest(&table, tables);
}

fc_two_by_two
fc_drift_strongest_of_column(const fc_drift_sides *sides, size_t j)
{
	fc_two_by_two strongest;
	fc_table_list one = {&strongest, 0, 1};
	fc_two_by_two table = {.column = j,.other = j};

	for (int side = 0; side < 2; side++)
		table.rows[side] = fc_drift_rows_of_column(sides, side, j);
	for (size_t cell = 0; cell <= fc_drift_edge_counts(sides->spec)[j]; cell++)
	{
		for (int side = 0; side < 2; side++)
			table.count[side] += fc_drift_rows_of_cell(sides, side, j, cell);
		table.place = j * FC_DRIFT_CELLS + cell;
		offer(sides, table, &one);
	}
	return strongest;
}

/* ---- pairs ---- */

/*
 * Offers two tables of bits a and b to the list. One counts the rows with both
 * bits, the other the rows with exactly one of them. The count of rows with
 * both bits has index `place`; one[side * bits + b] is the number of rows of a
 * side with bit b. Does nothing if the counts contradict each other.
 */
static void
offer_pair(const fc_drift_sides *sides, const double *one, size_t a, size_t b,
		   size_t place, fc_table_list *tables)
{
	size_t		bits = fc_drift_spec_bits(sides->spec);
	const uint16_t *column = fc_drift_bit_columns(sides->spec);
	fc_two_by_two both = {.column = column[a],.other = column[b],.place = place};
	fc_two_by_two alone = both;

	alone.place = fc_drift_numbers(sides->counts[0]) + place -
		(size_t) sides->spec->dim * FC_DRIFT_CELLS;
	for (int side = 0; side < 2; side++)
	{
		const double *with = one + (size_t) side * bits;

		both.rows[side] = alone.rows[side] = fc_drift_rows_of_side(sides, side);
		both.count[side] = fc_drift_number_of_side(sides, side, place);
		alone.count[side] = with[a] + with[b] - 2.0 * both.count[side];
		if (both.count[side] > fmin(with[a], with[b]) ||
			with[a] + with[b] - both.count[side] > fc_drift_rows_of_side(sides, side))
			return;
	}
	offer(sides, both, tables);
	offer(sides, alone, tables);
}

void
fc_drift_search_pairs(const fc_drift_sides *sides, const bool *moved, fc_arena *arena,
					  fc_table_list *tables)
{
	size_t		bits = fc_drift_spec_bits(sides->spec);
	const uint16_t *column = fc_drift_bit_columns(sides->spec);
	size_t		place = (size_t) sides->spec->dim * FC_DRIFT_CELLS;
	double	   *one = FC_TAKE(arena, 2 * bits, double);

	for (size_t b = 0; b < 2 * bits; b++)
		one[b] = fc_drift_rows_with_bit(sides, (int) (b / bits), b % bits);
	for (size_t a = 0; a < bits; a++)
	{
		fc_check();
		for (size_t b = a + 1; b < bits; b++, place++)
			if (moved == NULL || !(moved[column[a]] || moved[column[b]]))
				offer_pair(sides, one, a, b, place, tables);
	}
}

/* ---- the tests ---- */

double
fc_drift_exact_log_p(const fc_two_by_two *table)
{
	return fc_hypergeometric_log_p(table->count[0], table->rows[0],
								   table->count[1], table->rows[1]);
}

void
fc_drift_test_tables(fc_table_list *tables)
{
	size_t		count = tables->count;

	tables->count = 0;
	for (size_t i = 0; i < count; i++)
	{
		fc_two_by_two table = tables->table[i];

		fc_check();
		table.log_p = fc_drift_exact_log_p(&table);
		fc_drift_keep_smallest(&table, tables);
	}
}

typedef struct test_set
{
	double		p;				/* p-value; NaN: the test set does not apply */
	double		effect;			/* shift of a normal column, in standard
								 * deviations */
} test_set;

/*
 * Factor that converts g (test.h) to the shift of a normal column in standard
 * deviations: sqrt(pi / 2). A small shift h changes the share below the median
 * by h / sqrt(2 pi). The standard deviation of "below the median", an
 * indicator, is 1/2.
 */
#define DEVIATIONS_PER_SPLIT	1.2533141373155003

/*
 * Returns the variance of the difference of the means of both sides, for rows
 * of variance 1.
 */
static double
variance_of_gap(const fc_drift_design *design, const double rows[2])
{
	return design->effect[0] / rows[0] + design->effect[1] / rows[1];
}

/*
 * Returns the mean of variance_of_gap over the columns, each with the design
 * effects of its middle edge.
 */
static double
usual_variance_of_gap(const fc_drift_sides *sides)
{
	const double rows[2] = {
		fc_drift_rows_of_side(sides, 0), fc_drift_rows_of_side(sides, 1)
	};
	double		sum = 0;

	if (!fc_drift_has_units(sides))
		return 1.0 / rows[0] + 1.0 / rows[1];
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		size_t		middle = (size_t) fc_drift_thirds(sides->spec)[3 * j + FC_DRIFT_MIDDLE] + 1;
		double		share = 0;
		fc_drift_design design;

		for (size_t cell = 0; cell <= middle; cell++)
			share += (fc_drift_rows_of_cell(sides, 0, j, cell) +
					  fc_drift_rows_of_cell(sides, 1, j, cell)) / (rows[0] + rows[1]);
		design = fc_drift_design_of(sides, j * FC_DRIFT_CELLS + middle, rows,
									share * (1.0 - share));
		sum += variance_of_gap(&design, rows);
	}
	return sum / (double) sides->spec->dim;
}

static double
effect_of_table(const fc_two_by_two *table, double tests)
{
	double		n1 = fmax(table->rows[0], 1.0);
	double		n2 = fmax(table->rows[1], 1.0);
	double		before = table->count[0] / n1;
	double		after = table->count[1] / n2;
	double		share = (before + after) / 2.0;
	double		gap = after - before;
	double		square = (gap * gap / fmax(share * (1.0 - share), 1e-30) -
						  2.0 * (1.0 / n1 + 1.0 / n2) * log(fmax(tests, 2.0)));

	return DEVIATIONS_PER_SPLIT * sqrt(fmax(square, 0.0));
}

/*
 * Sets p-value and effect of test set f; does nothing if there are no tables.
 * The p-value is the smallest p-value of the tables times the number of tests,
 * and at most 1. The effect is the effect of the table with the smallest
 * p-value. Empties the list.
 */
static void
run_test_set(const fc_drift_tests *tests, int f, fc_table_list *tables, test_set *test_sets)
{
	if (tables->count == 0)
		return;
	fc_drift_test_tables(tables);
	test_sets[f].p = fmin(1.0, tests->count[f] * exp(tables->table[0].log_p));
	test_sets[f].effect = effect_of_table(&tables->table[0], tests->count[f]);
	tables->count = 0;
}

static void
test_counts(const fc_drift_sides *sides, const fc_drift_tests *tests, fc_arena *arena,
			test_set *test_sets)
{
	fc_two_by_two strongest[EXACT_TESTS];
	fc_table_list tables = {strongest, 0, EXACT_TESTS};
	fc_two_by_two table;

	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		fc_check();
		table = fc_drift_strongest_of_column(sides, j);
		fc_drift_keep_smallest(&table, &tables);
	}
	run_test_set(tests, FC_TEST_COLUMNS, &tables, test_sets);
	if (tests->count[FC_TEST_PAIRS] > 0)
		fc_drift_search_pairs(sides, NULL, arena, &tables);
	run_test_set(tests, FC_TEST_PAIRS, &tables, test_sets);
	for (size_t j = 0; j < sides->spec->dim; j++)
		if (fc_drift_null_table(sides, j, &table))
			offer(sides, table, &tables);
	run_test_set(tests, FC_TEST_NULLS, &tables, test_sets);
}

double
fc_drift_rank_z(const fc_drift_sides *sides, size_t j, double *square)
{
	const double n[2] = {
		fc_drift_rows_of_column(sides, 0, j), fc_drift_rows_of_column(sides, 1, j)
	};
	double		score[FC_DRIFT_CELLS];
	double		gap = 0;
	double		variance = 0;
	double		z;
	fc_drift_design design = fc_drift_design_of(sides, fc_drift_rank_place(sides, j), n, 1.0);

	(void) fc_drift_normal_scores(sides, j, score);
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		double		first = fc_drift_rows_of_cell(sides, 0, j, cell);
		double		second = fc_drift_rows_of_cell(sides, 1, j, cell);

		gap += (second / n[1] - first / n[0]) * score[cell];
		variance += (first + second) * score[cell] * score[cell] / (n[0] + n[1] - 1.0);
	}
	*square = variance_of_gap(&design, n);
	if (!(variance > 0))
		return 0.0;
	z = fabs(gap) / sqrt(variance * *square);
	return sqrt(fc_student_square(z * z, design.freedom));
}

static void
test_ranks(const fc_drift_sides *sides, double tests, test_set *result)
{
	double		max = 0;
	double		square = 0;

	if (tests == 0)
		return;
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		double		gap = 0;
		double		z = (fc_drift_kind_of_column(sides, j) == FC_FINE
						 ? fc_drift_rank_z(sides, j, &gap) : 0);

		if (!(z > max))
			continue;
		max = z;
		square = gap * (z * z - 2.0 * log(fmax(tests, 2.0)));
	}
	*result = (test_set)
	{
		fmin(1.0, tests * exp(fc_normal_log_p(max))),
			sqrt(fmax(square, 0.0))
	};
}

double
fc_drift_min_deviation(const fc_sketch_view *sketch, size_t j)
{
	const fc_spec *spec = sketch->spec;
	const double *scale = fc_spec_scale(spec);

	return MIN_DEVIATION * spec->sigma * (scale != NULL ? scale[j] : 1.0);
}

double
fc_drift_test_mean(const fc_drift_sides *sides, size_t j, double *shift)
{
	const double n[2] = {
		fc_drift_rows_of_side(sides, 0), fc_drift_rows_of_side(sides, 1)
	};
	fc_drift_design design = {{1.0, 1.0}, INFINITY};
	double		min = fc_drift_min_deviation(sides->sketch[0], j);
	double		variance[2];
	double		z;

	for (int side = 0; side < 2; side++)
		variance[side] = fmax(fc_sketch_variance(sides->sketch[side], j),
							  min * min);
	*shift = fabs(fc_sketch_mean(sides->sketch[1], j) -
				  fc_sketch_mean(sides->sketch[0], j)) /
		sqrt((n[0] * variance[0] + n[1] * variance[1]) / (n[0] + n[1]));
	if (fc_drift_has_units(sides))
		design = fc_drift_design_of(sides, fc_drift_rank_place(sides, j) + sides->spec->dim, n,
									1.0);
	z = *shift / sqrt(variance_of_gap(&design, n)) *
		fmin(1.0, sqrt(4.0 * fmin(n[0], n[1]) / (n[0] + n[1])));
	z = sqrt(fc_student_square(z * z, design.freedom));
	return fmin(1.0, 6.0 / (z * z * z * z));
}

static void
test_means(const fc_drift_sides *sides, double tests, test_set *result)
{
	double		min = 1.0;
	double		shift;

	if (tests == 0)
		return;
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		double		p = (fc_drift_kind_of_column(sides, j) == FC_COARSE
						 ? fc_drift_test_mean(sides, j, &shift) : 1.0);

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
 * Returns the largest shift of a column, in standard deviations, that may go
 * undetected by both its counts and its ranks.
 */
static double
hidden_shift(const fc_drift_sides *sides, const fc_drift_tests *tests, double threshold)
{
	double		columns = tests->count[FC_TEST_COLUMNS];
	double		ranks = tests->count[FC_TEST_RANKS];
	double		shift = DEVIATIONS_PER_SPLIT *
	sqrt(log(2.0 * tests->sum * fmax(columns, 2.0) / threshold));

	if (ranks > 0)
		shift = fmin(shift, sqrt(log(2.0 * tests->sum / RANK_WEIGHT * ranks / threshold)));
	return sqrt(2.0 * usual_variance_of_gap(sides)) * shift;
}

/*
 * Combines the test sets into one p-value and one effect. Sets result->hidden
 * to the shift up to which drift may go undetected.
 */
static void
combine_test_sets(const fc_drift_sides *sides, const fc_drift_tests *tests,
				  const test_set *test_sets, double threshold,
				  const fc_wave_test *waves, fc_drift_result *result)
{
	double		term[FC_TEST_SETS];
	double		sum = 0;
	double		max = 0;

	for (int f = 0; f < FC_TEST_SETS; f++)
	{
		result->set_p[f] = test_sets[f].p;
		term[f] = isnan(test_sets[f].p) ? 0.0 : tests->weight[f] / test_sets[f].p;
		sum += term[f];
		max = fmax(max, term[f]);
	}
	result->p_value = tests->sum / sum;
	result->effect = 0;
	for (int f = 0; f < FC_TEST_SETS && result->p_value < threshold; f++)
		if (term[f] == max || tests->sum / term[f] < threshold)
			result->effect = fmax(result->effect, test_sets[f].effect);
	result->hidden = fc_drift_has_counts(sides)
		? hidden_shift(sides, tests, threshold)
		: waves->hidden;
}

void
fc_drift_test_sides(const fc_drift_sides *sides, double threshold,
					double min_effect, fc_arena *arena, fc_drift_result *result)
{
	test_set	test_sets[FC_TEST_SETS];
	fc_drift_tests tests;
	fc_wave_test waves = {NAN, NAN, NAN, NAN, NAN, 0};
	fc_wave_law law;

	*result = (fc_drift_result)
	{
		.mmd2 = NAN,.null_sd = NAN,.p_value = NAN,.effect = NAN,.hidden = NAN
	};
	for (int f = 0; f < FC_TEST_SETS; f++)
	{
		test_sets[f] = (test_set)
		{
			NAN, 0
		};
		result->set_p[f] = NAN;
	}
	if (fc_drift_too_few_units(sides))
	{
		result->verdict = fc_drift_units_of(sides->counts[0])->units > 0
			? FC_VERDICT_TOO_FEW_UNITS
			: FC_VERDICT_TOO_FEW;
		return;
	}
	if (fc_drift_has_waves(sides) && sides->null != NULL)
		fc_wave_compare(sides->sketch[0], sides->sketch[1], sides->null,
						fc_drift_law_of_units(sides, &law) ? &law : NULL, arena, &waves);
	result->mmd2 = waves.mmd2;
	result->null_sd = waves.null_sd;
	tests = fc_drift_count_tests(sides, waves.rows >= FC_DRIFT_MIN_ROWS);
	if (tests.count[FC_TEST_WAVES] > 0)
		test_sets[FC_TEST_WAVES] = (test_set)
	{
		waves.hidden <= MAX_HIDDEN_BY_WAVES
			? waves.p_value
			: 1.0,
			waves.size
	};
	if (fc_drift_has_counts(sides) && fc_drift_has_rows(sides))
	{
		test_counts(sides, &tests, arena, test_sets);
		test_means(sides, tests.count[FC_TEST_MEANS], &test_sets[FC_TEST_MEANS]);
		test_ranks(sides, tests.count[FC_TEST_RANKS], &test_sets[FC_TEST_RANKS]);
	}
	if (!isnan(test_sets[FC_TEST_COLUMNS].p) || !isnan(test_sets[FC_TEST_WAVES].p))
		combine_test_sets(sides, &tests, test_sets, threshold, &waves, result);
	result->verdict = verdict_of(result, threshold, min_effect);
}
