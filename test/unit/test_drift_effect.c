/* test_drift_effect.c - the size of planted changes, the columns they are in, verdicts */
#include "specs.h"

#include "sketch/drift.h"

#define MOST_DIM 12

/* Rows: clusters on the corners of a cube of `side`, noise of deviation 1, then changed. */
typedef struct rows_law
{
	size_t		d;
	size_t		corners;		/* the first so many dimensions have two places each */
	double		side;
	double		favour;			/* this share of the rows has the first two places alike */
	double		widening;		/* the rows times this */
	double		shift[MOST_DIM];
	double		away;			/* this share of the rows lies far off, half of it on either side */
} rows_law;

static void
draw_row(const rows_law *law, fc_rng *rng, double *x)
{
	bool		agree = fc_rng_uniform(rng) < law->favour;
	double		far = fc_rng_uniform(rng) < law->away ? 1000.0 : 0.0;
	double		side = fc_rng_below(rng, 2) == 1 ? 1.0 : -1.0;
	bool		high = false;

	for (size_t i = 0; i < law->d; i++)
	{
		x[i] = fc_rng_normal(rng);
		if (i < law->corners && !(i == 1 && agree))
			high = fc_rng_below(rng, 2) == 1;
		if (i < law->corners && high)
			x[i] += law->side;
	}
	for (size_t i = 0; i < law->d; i++)
		x[i] = (x[i] - (i < law->corners ? law->side / 2 : 0)) * (law->widening > 0 ? law->widening : 1.0) +
			law->shift[i] + far * side;
}

/* The deviation of a column with two places. */
static double
corner_deviation(double side)
{
	return sqrt(1.0 + side * side / 4.0);
}

static fc_sketch *
sketch_law(const fc_prepared *prepared, const rows_law *law, size_t n, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 5);
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_OPEN, prepared->batch);

	for (size_t i = 0; i < n; i++)
	{
		double		x[MOST_DIM];
		fc_row		row = {.doubles = x,.weight = FC_ONE_WEIGHT};

		draw_row(law, &rng, x);
		CHECK(fc_sketch_add(prepared, &row, sketch) == FC_OK, "add");
	}
	return close_sketch(prepared, sketch);
}

static fc_effect
effect_of(const fc_sketch *training, const fc_sketch *rows)
{
	const fc_null null = {0.01, 0.0005};
	fc_arena	arena = unit_arena(fc_drift_effect_worksize(fc_sketch_spec(training)));
	fc_drift	drift;
	fc_effect	effect = {NAN, NAN};

	CHECK(fc_drift_test(training, rows, &null, NULL, &drift) == FC_OK, "drift test");
	CHECK(fc_drift_effect(training, rows, &drift, NULL, &arena, &effect) == FC_OK, "effect");
	unit_arena_free(&arena);
	return effect;
}

static double
size_of(const fc_prepared *prepared, const fc_sketch *training, const rows_law *changed, size_t n)
{
	fc_sketch  *rows = sketch_law(prepared, changed, n, 77);
	double		size = effect_of(training, rows).size;

	free(rows);
	return size;
}

/*
 * Shifts of one column by 0.05 to 1 deviation give 0.9 to 1.6 times that; along the diagonal of all
 * columns, where no single one moves as far, 0.7 to 1.3 times.
 */
static void
test_shifts(void)
{
	static const double shifts[] = {0.05, 0.1, 0.25, 0.5, 1.0};
	const struct
	{
		rows_law			rows;
		spec_wish	wish;
	}			cases[] = {
		{{.d = 2,.corners = 2,.side = 4}, {.dim = 2,.frequencies = 100,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS_KMEANS}},
		{{.d = 10}, {.dim = 10,.frequencies = 250,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS_KMEANS}},
		{{.d = 10,.corners = 4,.side = 3}, {.dim = 10,.frequencies = 250,.sigma = 1,.scales = 2,.structured = true}},
		{{.d = 4,.corners = 4,.side = 3}, {.dim = 4,.frequencies = 200,.sigma = 1,.scaled = true}},
		{{.d = 1,.corners = 1,.side = 4}, {.dim = 1,.frequencies = 100,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS}},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
	{
		fc_spec    *spec = make_spec(cases[c].wish);
		ready		made = make_ready(spec);
		fc_sketch  *training = sketch_law(&made.prepared, &cases[c].rows, 100000, 1);

		for (size_t s = 0; s < 5; s++)
		{
			rows_law			changed = cases[c].rows;
			double		size;

			changed.shift[0] = shifts[s] * corner_deviation(changed.corners > 0 ? changed.side : 0);
			size = size_of(&made.prepared, training, &changed, (size_t) (5000 / shifts[s])) / shifts[s];
			CHECK(size > 0.85 && size < 1.6, "law %zu, column moved by %g: %g times that", c, shifts[s], size);
			for (size_t i = 0; i < changed.d; i++)
				changed.shift[i] = shifts[s] / sqrt((double) changed.d) * corner_deviation(i < changed.corners ? changed.side : 0);
			size = size_of(&made.prepared, training, &changed, (size_t) (5000 / shifts[s])) / shifts[s];
			CHECK(size > 0.7 && size < 1.6, "law %zu, diagonal moved by %g: %g times that", c, shifts[s], size);
		}
		free(training);
		unit_arena_free(&made.arena);
		free(spec);
	}
}

/* A basis that keeps 6 of 12 alike columns sees a shift of one of these as without it. */
static void
test_basis(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 12,.reduced = 6,.frequencies = 200,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	ready		made = make_ready(spec);
	rows_law			rows = {.d = 12};
	fc_sketch  *training = sketch_law(&made.prepared, &rows, 50000, 1);
	double		size;

	for (size_t i = 0; i < 6; i++)
		rows.shift[i] = 0.5 / sqrt(6);
	size = size_of(&made.prepared, training, &rows, 50000);
	/* a typical column shows half in the basis: what is all in it looks 2^(1/2) as large */
	CHECK(size > 0.5 * M_SQRT2 * 0.85 && size < 0.5 * M_SQRT2 * 1.15, "%g", size);
	free(training);
	unit_arena_free(&made.arena);
	free(spec);
}

/* Widths and shares change the sketch without moving a mean; more change, more effect; no change, none. */
static void
test_shapes(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2,.frequencies = 100,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	ready		made = make_ready(spec);
	rows_law			rows = {.d = 2,.corners = 2,.side = 4};
	fc_sketch  *training = sketch_law(&made.prepared, &rows, 100000, 1);
	double		size[4];

	for (int i = 0; i < 4; i++)
	{
		rows_law			wider = rows;

		wider.widening = 1.0 + 0.1 * i;
		size[i] = size_of(&made.prepared, training, &wider, 100000);
	}
	CHECK(size[0] < 0.03 && size[1] > 0.05 && size[2] > 1.5 * size[1] && size[3] > 1.2 * size[2], "widths: %g %g %g %g",
		  size[0], size[1], size[2], size[3]);
	for (int i = 0; i < 4; i++)
	{
		rows_law			shares = rows;
		fc_sketch  *changed;
		fc_column_change columns[2];
		size_t		count;

		shares.favour = 0.1 * i;
		changed = sketch_law(&made.prepared, &shares, 100000, 5);
		size[i] = effect_of(training, changed).size;
		CHECK(fc_drift_columns(training, changed, 2, NULL, columns, &count) == FC_OK && count == 2 &&
			  fabs(columns[0].shift) < 0.02 && fabs(columns[0].spread - 1) < 0.02, "a column changed by shares alone");
		free(changed);
	}
	CHECK(size[0] < 0.03 && size[1] > 0.04 && size[2] > 1.5 * size[1] && size[3] > 1.2 * size[2], "shares: %g %g %g %g",
		  size[0], size[1], size[2], size[3]);
	free(training);
	unit_arena_free(&made.arena);
	free(spec);
}

/* 10^6 rows on each side and no change: below 0.02. */
static void
test_unchanged(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2,.frequencies = 50,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	ready		made = make_ready(spec);
	rows_law			rows = {.d = 2,.corners = 2,.side = 4};
	fc_sketch  *training = sketch_law(&made.prepared, &rows, 400000, 1);

	CHECK(size_of(&made.prepared, training, &rows, 400000) < 0.02, "unchanged rows");
	free(training);
	unit_arena_free(&made.arena);
	free(spec);
}

/*
 * Narrow clusters far apart: a shift of 3 of their own widths, a twentieth of the column's deviation, takes all rows where
 * none was.  Rows far off in training make deviations large: a shift of the others is still seen.
 */
static void
test_shares(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2,.frequencies = 200,.sigma = 1,.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	ready		made = make_ready(spec);
	rows_law			narrow = {.d = 2,.corners = 2,.side = 120};
	rows_law			outliers = {.d = 2,.corners = 2,.side = 4,.away = 0.01};
	fc_sketch  *training = sketch_law(&made.prepared, &narrow, 20000, 1);
	double		size;

	narrow.shift[0] = 3;
	size = size_of(&made.prepared, training, &narrow, 20000);
	CHECK(size > 0.5 && size <= 1, "narrow clusters moved: %g", size);
	free(training);
	training = sketch_law(&made.prepared, &outliers, 20000, 1);
	outliers.shift[0] = 3;
	size = size_of(&made.prepared, training, &outliers, 20000);
	CHECK(size > 0.5 && size <= 1, "all but outliers moved: %g", size);
	free(training);
	unit_arena_free(&made.arena);
	free(spec);
}

/* Three rows (a, b, c) as a sketch. */
static fc_sketch *
three_rows(const fc_prepared *prepared, const double rows[3][3])
{
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_OPEN, prepared->batch);

	for (size_t i = 0; i < 3; i++)
		CHECK(fc_sketch_add(prepared, &(fc_row) {.doubles = rows[i], .weight = FC_ONE_WEIGHT}, sketch) == FC_OK, "add");
	return close_sketch(prepared, sketch);
}

static void
test_columns(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 3,.frequencies = 20,.sigma = 1});
	ready		made = make_ready(spec);
	fc_sketch  *before = three_rows(&made.prepared, (const double[3][3]) {{0, 5, 7}, {1, 5, 7}, {2, 5, 7}});
	fc_sketch  *after = three_rows(&made.prepared, (const double[3][3]) {{3, 5, 7}, {5, 5, 7}, {7, 5, 8}});
	fc_sketch  *none = close_sketch(&made.prepared, new_sketch(spec, FC_SKETCH_OPEN, made.prepared.batch));
	double		sd = sqrt(2.0 / 3.0);
	fc_column_change change[3];
	size_t		count;

	CHECK(fc_drift_columns(before, after, 3, NULL, change, &count) == FC_OK && count == 3, "columns");
	/* constant, and now not: measured by the deviation of the first, the only one that has one */
	CHECK(change[0].column == 2 && fabs(change[0].shift - 1.0 / 3.0 / sd) < 1e-6 && isinf(change[0].spread), "%zu %g %g",
		  change[0].column, change[0].shift, change[0].spread);
	CHECK(change[1].column == 0 && fabs(change[1].shift - 4.0 / sd) < 1e-6 && fabs(change[1].spread - 2) < 1e-6, "%zu %g %g",
		  change[1].column, change[1].shift, change[1].spread);
	CHECK(change[2].column == 1 && change[2].shift == 0 && change[2].spread == 1, "constant as before");
	CHECK(fc_drift_columns(after, before, 2, NULL, change, &count) == FC_OK && count == 2, "two columns");
	CHECK(change[0].column == 2 && change[0].spread == 0 && change[1].column == 0, "now constant");
	CHECK(fc_drift_columns(before, none, 2, NULL, change, &count) == FC_OK && count == 0, "no rows");
	free(before);
	free(after);
	free(none);
	unit_arena_free(&made.arena);
	free(spec);
}

/* Rows that are all the same leave no deviation: a change is a share of the rows. */
static void
test_constant(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 3,.frequencies = 20,.sigma = 1});
	ready		made = make_ready(spec);
	fc_sketch  *before = three_rows(&made.prepared, (const double[3][3]) {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
	fc_sketch  *after = three_rows(&made.prepared, (const double[3][3]) {{1, 1, 1}, {1, 1, 1}, {1, 1, 1.5}});
	fc_sketch  *other = three_rows(&made.prepared, (const double[3][3]) {{1, 1, 2}, {1, 1, 2}, {1, 1, 2}});
	fc_effect	effect = effect_of(before, after);
	fc_drift	drift;

	CHECK(fc_drift_test(before, before, &(fc_null) {0, 0}, NULL, &drift) == FC_OK && drift.p_value == 1, "p = %g of the same",
		  drift.p_value);
	CHECK(fc_drift_test(before, other, &(fc_null) {1e-60, 1e-90}, NULL, &drift) == FC_OK && drift.p_value == 0, "p = %g of another",
		  drift.p_value);
	CHECK(effect_of(before, before).size < 1e-3, "no change");
	CHECK(effect.size > 0 && effect.size < 1, "%g", effect.size);
	free(other);
	free(before);
	free(after);
	unit_arena_free(&made.arena);
	free(spec);
}

static void
test_verdicts(void)
{
	const struct
	{
		fc_drift	drift;
		fc_effect	effect;
		fc_verdict	verdict;
	}			cases[] = {
		{{NAN, NAN, NAN, 1}, {NAN, NAN}, FC_VERDICT_TOO_FEW},
		{{1e-3, 1e-4, 0, 9}, {0.5, 0.1}, FC_VERDICT_TOO_FEW},
		{{1e-3, 1e-4, 0, 10}, {0.5, 0.1}, FC_VERDICT_DRIFTED},
		{{1e-3, 1e-4, 0, 1e6}, {0.0999, 0.01}, FC_VERDICT_SLIGHT},
		{{1e-3, 1e-4, 0, 1e6}, {0.1, 0.01}, FC_VERDICT_DRIFTED},
		{{1e-3, 1e-4, 1e-300, 1e6}, {INFINITY, 0.01}, FC_VERDICT_DRIFTED},
		{{1e-3, 1e-4, 0.01, 1e6}, {1, 0.01}, FC_VERDICT_NONE},
		{{1e-3, 1e-4, 0.5, 20}, {0.6, 0.6}, FC_VERDICT_TOO_FEW},
		{{-1e-3, 1e-4, 1, 1e4}, {0, 0.05}, FC_VERDICT_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(fc_drift_verdict(&cases[i].drift, &cases[i].effect, 0.01, 0.1) == cases[i].verdict, "case %zu", i);
}

/* A byte too few, and a tick that stops at each call. */
static void
test_faults(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2,.frequencies = 200,.sigma = 1});
	ready		made = make_ready(spec);
	rows_law			rows = {.d = 2};
	fc_sketch  *training = sketch_law(&made.prepared, &rows, 100, 1);
	fc_sketch  *other = sketch_law(&made.prepared, &rows, 100, 2);
	const fc_drift drift = {1e-3, 1e-4, 0.5, 100};
	fc_arena	arena = unit_arena(fc_drift_effect_worksize(spec));
	fc_arena	small = unit_arena(200 * sizeof(double));
	fc_effect	effect;
	unit_stopper never = {0, -1};

	CHECK(fc_drift_effect(training, other, &drift, NULL, &small, &effect) == FC_ENOMEMORY, "too small");
	CHECK(fc_drift_effect(training, other, &drift, &(fc_tick) {unit_stop, &never}, &arena, &effect) == FC_OK, "effect");
	CHECK(never.calls > 5, "%ld ticks", never.calls);
	CHECK(arena.used == 0, "%zu bytes kept", arena.used);
	for (long stop = 0; stop < never.calls; stop++)
	{
		unit_stopper stopper = {0, stop};

		CHECK(fc_drift_effect(training, other, &drift, &(fc_tick) {unit_stop, &stopper}, &arena, &effect) == FC_INTERRUPTED,
			  "stop %ld", stop);
	}
	unit_arena_free(&arena);
	unit_arena_free(&small);
	free(training);
	free(other);
	unit_arena_free(&made.arena);
	free(spec);
}

int
main(void)
{
	test_shifts();
	test_basis();
	test_shapes();
	test_unchanged();
	test_shares();
	test_columns();
	test_constant();
	test_verdicts();
	test_faults();
	return unit_finish();
}
