/* moved.c - the columns that moved, and the pairs; see test.h */
#include <math.h>

#include "drift/internal.h"
#include "drift/test.h"

#define LEAST_DEVIATION	1e-6	/* of a column, in widths of the spec; below it is constant */

/* ---- shift and spread of a column, by the exact means and deviations of the sketches ---- */

/* A column that was constant shifts in its own units. */
static void
describe_move(const fc_sketch *training, const fc_sketch *rows, fc_drift_move *move)
{
	const fc_spec *spec = fc_sketch_spec(training);
	const double *scale = fc_spec_scale(spec);
	size_t		i = move->column;
	double		least = LEAST_DEVIATION * spec->sigma * (scale != NULL ? scale[i] : 1.0);
	double		before = sqrt(fc_sketch_variance(training, i));
	double		after = sqrt(fc_sketch_variance(rows, i));

	move->shift = (fc_sketch_mean(rows, i) - fc_sketch_mean(training, i)) / (before > least ? before : 1.0);
	move->spread = before > least ? after / before : after > least ? INFINITY : 1.0;
}

static void
describe_moves(const fc_drift_sides *sides, fc_drift_move *moves, size_t count)
{
	if (sides->sketch[0] == NULL || sides->sketch[1] == NULL || sides->sketch[0]->weight <= 0 || sides->sketch[1]->weight <= 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (moves[i].column == moves[i].other)
			describe_move(sides->sketch[0], sides->sketch[1], &moves[i]);
}

/* ---- which moved ---- */

typedef struct move_work
{
	fc_tables	tables;			/* of columns, then of pairs */
	bool	   *moved;			/* d */
} move_work;

static void
take_move_work(fc_arena *arena, const fc_drift_sides *sides, size_t most, move_work *work)
{
	work->tables = (fc_tables) {FC_TAKE(arena, 2 * most, fc_table), 0, 2 * most};
	work->moved = FC_TAKE(arena, sides->spec->dim, bool);
}

/* Tables whose p is below exp(limit), the first of each two columns, become moves, up to `most` in all; log_tests: of F T. */
static void
take_moves(const fc_tables *tables, double log_tests, double limit, size_t most, fc_drift_move *moves, size_t *count)
{
	for (size_t i = 0; i < tables->count && tables->table[i].key + log_tests < limit; i++)
	{
		const fc_table *table = &tables->table[i];
		bool		again = false;

		for (size_t j = 0; j < *count; j++)
			again |= moves[j].column == table->column && moves[j].other == table->other;
		if (!again && *count < most)
			moves[(*count)++] = (fc_drift_move) {table->column, table->other, table->key + log_tests, NAN, NAN};
	}
}

/* Marks the columns that moved; those of least p become tables. */
static void
list_columns(const fc_drift_sides *sides, double log_tests, double limit, move_work *work)
{
	for (size_t j = 0; j < sides->spec->dim; j++)
	{
		fc_table	table;
		fc_tables	one = {&table, 1, 1};

		table = fc_strongest_of_column(sides, j);
		fc_test_tables(sides, &one);
		work->moved[j] = table.key + log_tests < limit;
		if (work->moved[j])
			fc_keep_least(&table, &work->tables);
	}
}

/* Pairs of the other columns. */
static fc_status
list_pairs(const fc_drift_sides *sides, fc_arena *arena, move_work *work)
{
	fc_status	status;

	work->tables.count = 0;
	status = fc_search_pairs(sides, work->moved, arena, &work->tables);
	if (status == FC_OK)
		fc_test_tables(sides, &work->tables);
	return status;
}

fc_status
fc_drift_moved(const fc_drift_sides *sides, double threshold, size_t most, fc_arena *arena,
			   fc_drift_move *moves, size_t *count)
{
	double		families = fc_has_counts(sides) ? fc_families(sides, fc_has_waves(sides)) : 0;
	move_work	work;
	fc_status	status = FC_OK;

	*count = 0;
	if (!fc_has_counts(sides))
		return FC_OK;
	if (fmin(fc_rows_of_side(sides, 0), fc_rows_of_side(sides, 1)) < FC_DRIFT_LEAST_ROWS)
		return FC_OK;
	take_move_work(arena, sides, most, &work);
	if (status != FC_OK)
		return status;
	list_columns(sides, log(families * fc_column_tests(sides->spec)), log(threshold), &work);
	if (status != FC_OK)
		return status;
	take_moves(&work.tables, log(families * fc_column_tests(sides->spec)), log(threshold), most, moves, count);
	if (*count < most && fc_pair_tests(sides->spec) > 0)
	{
		status = list_pairs(sides, arena, &work);
		if (status == FC_OK)
			take_moves(&work.tables, log(families * fc_pair_tests(sides->spec)), log(threshold), most, moves, count);
	}
	describe_moves(sides, moves, *count);
	return status;
}
