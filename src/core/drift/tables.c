/* tables.c - which counts differ most between two sides; see internal.h */
#include "drift/internal.h"

#include <math.h>

#include "numerics/tails.h"

double
fc_column_tests(const fc_drift_spec *spec)
{
	double		tests = spec->dim;

	for (size_t j = 0; j < spec->dim; j++)
		tests += fc_drift_edge_counts(spec)[j];
	return tests;
}

double
fc_pair_tests(const fc_drift_spec *spec)
{
	return 2.0 * (double) fc_drift_pairs(fc_drift_spec_bits(spec));
}

bool
fc_has_waves(const fc_drift_sides *sides)
{
	return sides->sketch[0] != NULL && sides->sketch[1] != NULL &&
		fc_spec_basis(fc_sketch_spec(sides->sketch[0])) == NULL;
}

int
fc_families(const fc_drift_sides *sides, bool waves)
{
	return fc_has_counts(sides) + (fc_has_counts(sides) && fc_pair_tests(sides->spec) > 0) + waves;
}

/* ---- the strongest ---- */

void
fc_keep_least(const fc_table *table, fc_tables *tables)
{
	size_t		place = tables->count;

	if (place == tables->room && !(table->key < tables->table[place - 1].key))
		return;
	place -= place == tables->room;
	for (; place > 0 && table->key < tables->table[place - 1].key; place--)
		tables->table[place] = tables->table[place - 1];
	tables->table[place] = *table;
	tables->count += tables->count < tables->room;
}

static void
offer(fc_table table, const fc_drift_sides *sides, fc_tables *tables)
{
	table.key = -fc_two_counts_deviance(table.count[0], fc_rows_of_side(sides, 0), table.count[1], fc_rows_of_side(sides, 1));
	fc_keep_least(&table, tables);
}

fc_table
fc_strongest_of_column(const fc_drift_sides *sides, size_t j)
{
	fc_table	strongest;
	fc_tables	one = {&strongest, 0, 1};
	fc_table	table = {.column = j,.other = j};

	for (size_t cell = 0; cell <= fc_drift_edge_counts(sides->spec)[j]; cell++)
	{
		for (int side = 0; side < 2; side++)
			table.count[side] += (double) fc_drift_number(sides->counts[side], j * FC_DRIFT_CELLS + cell);
		offer(table, sides, &one);
	}
	return strongest;
}

void
fc_search_columns(const fc_drift_sides *sides, fc_tables *tables)
{
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		if (j % 1024 == 0)
			fc_check();
		offer(fc_strongest_of_column(sides, j), sides, tables);
	}
}

/* ---- pairs ---- */

/* Rows with bit b, from the cells of its column. */
static double
rows_with_bit(const fc_drift_spec *spec, const fc_drift_counts *counts, size_t b)
{
	size_t		j = fc_drift_bit_columns(spec)[b];
	const uint8_t *third = fc_drift_thirds(spec) + 3 * j;
	bool		far = b >= spec->plain;
	double		rows = 0;

	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		if (cell > (size_t) third[far ? FC_DRIFT_UPPER : FC_DRIFT_MIDDLE] + 1 || (far && cell <= (size_t) third[FC_DRIFT_LOWER] + 1))
			rows += (double) fc_drift_number(counts, j * FC_DRIFT_CELLS + cell);
	return rows;
}

/* "Both" and "one alone" of bits a and b, which are number `place`; one[side * bits + b]: rows with bit b.  False: no rows have such counts. */
static bool
offer_pair(const fc_drift_sides *sides, const double *one, size_t a, size_t b, size_t place, fc_tables *tables)
{
	size_t		bits = fc_drift_spec_bits(sides->spec);
	const uint16_t *column = fc_drift_bit_columns(sides->spec);
	fc_table	both = {.column = column[a],.other = column[b]};
	fc_table	alone = both;

	for (int side = 0; side < 2; side++)
	{
		const double *with = one + (size_t) side * bits;

		both.count[side] = (double) fc_drift_number(sides->counts[side], place);
		alone.count[side] = with[a] + with[b] - 2.0 * both.count[side];
		if (both.count[side] > fmin(with[a], with[b]) || with[a] + with[b] - both.count[side] > fc_rows_of_side(sides, side))
			return false;
	}
	offer(both, sides, tables);
	offer(alone, sides, tables);
	return true;
}

fc_status
fc_search_pairs(const fc_drift_sides *sides, const bool *moved, fc_arena *arena, fc_tables *tables)
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
			if ((moved == NULL || !(moved[column[a]] || moved[column[b]])) && !offer_pair(sides, one, a, b, place, tables))
				return FC_EFORMAT;
	}
	return FC_OK;
}

/* ---- the tests ---- */

void
fc_test_tables(const fc_drift_sides *sides, fc_tables *tables)
{
	size_t		count = tables->count;

	tables->count = 0;
	for (size_t i = 0; i < count; i++)
	{
		fc_table	table = tables->table[i];

		fc_check();
		table.key = fc_hypergeometric_log_p(table.count[0], fc_rows_of_side(sides, 0), table.count[1], fc_rows_of_side(sides, 1));
		fc_keep_least(&table, tables);
	}
}
