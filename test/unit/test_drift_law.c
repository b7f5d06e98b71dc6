/*
 * test_drift_law.c - p-values of unchanged rows are calibrated, known changes
 * are detected with their size and columns, and verdicts fit the number of
 * rows
 */
#include "drifts.h"

enum { D = 10, N1 = 1000, N2 = 1000 };

/*
 * Makes rows of a mixture; every third dimension is heavy-tailed, one has
 * three values.
 */
static float *
mixture_rows(size_t n, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 4);
	float	   *rows = unit_alloc(n * D, sizeof(float));

	for (size_t i = 0; i < n; i++)
	{
		double		center = 3.0 * (double) fc_rng_below(&rng, 3);

		for (size_t j = 0; j < D; j++)
			rows[i * D + j] = (float) (j % 3 == 2 ? exp(1.5 * fc_rng_normal(&rng)) : (double) (j % 2) * center + fc_rng_normal(&rng));
		rows[i * D + 4] = (float) fc_rng_below(&rng, 3);
	}
	return rows;
}

typedef struct two_sides
{
	fc_drift_counts *counts[2];
	fc_sketch_view *sketch[2];
	fc_drift_sides sides;
} two_sides;

static two_sides
sides_of(const drift_model *model, const float *training, size_t n1, const float *rows, size_t n2)
{
	two_sides	two;

	two.counts[0] = counts_of(model, training, n1);
	two.counts[1] = counts_of(model, rows, n2);
	two.sketch[0] = waves_of(model, training, n1);
	two.sketch[1] = waves_of(model, rows, n2);
	two.sides = (fc_drift_sides) {
		.spec = model->spec,.counts = {two.counts[0], two.counts[1]},.sketch = {two.sketch[0], two.sketch[1]},.null = &model->null
	};
	return two;
}

static drift_model
model_of(const float *rows, size_t n, size_t d, uint64_t seed)
{
	fc_weighted_rows sample = {.values = rows,.n = n,.d = d};

	return make_model(&sample, seed);
}

/*
 * 200 pairs of samples from the same law: with true levels .01 and .05, more
 * than 7 and 20 rejections have probabilities of about 1e-3. The test of the
 * waves alone is not conservative: half of its p-values are below .5, up to 5
 * deviations.
 */
static void
test_calibration(void)
{
	enum { TRIALS = 200 };
	int			below[2] = {0, 0};
	int			half = 0;

	for (uint64_t t = 0; t < TRIALS; t++)
	{
		float	   *training = mixture_rows(N1, 2 * t);
		float	   *rows = mixture_rows(N2, 2 * t + 1);
		drift_model model = model_of(training, N1, D, t);
		two_sides	two = sides_of(&model, training, N1, rows, N2);
		fc_drift_result all = compare(&two.sides, 0.01, 0.1);

		below[0] += all.p_value < 0.01;
		below[1] += all.p_value < 0.05;
		half += all.set_p[2] < 0.5;
		unit_free();
	}
	CHECK(below[0] <= 7 && below[1] <= 20, "%d p-values below .01, %d below .05 of %d", below[0], below[1], TRIALS);
	CHECK(half > TRIALS / 2 - 36 && half < TRIALS / 2 + 36, "%d p-values of the waves below .5 of %d", half, TRIALS);
}

/*
 * Null moments estimated from few rows, or from rows sampled with weights,
 * agree with the estimates from many rows, to 25 % and 50 %.
 */
static void
test_null_moments(void)
{
	enum { ROWS = 6000 };
	float	   *rows = mixture_rows(ROWS, 5);
	drift_model model = model_of(rows, 5000, D, 1);
	double	   *weights = unit_alloc(ROWS, sizeof(double));
	fc_rng		rng = fc_rng_start(3, 3);
	fc_weighted_rows sample = {.values = rows + 5000 * D,.n = 300,.d = D};
	fc_wave_null null = null_of_sample(&sample, &model.sketching.prepared);
	size_t		kept = 0;

	CHECK(fabs(null.square / model.null.square - 1) < 0.25 && fabs(null.cube / model.null.cube - 1) < 0.5, "300 rows: tr S^2 %g, not %g", null.square,
		  model.null.square);
	for (size_t i = 0; i < ROWS && kept < 500; i++)
	{
		/* rows of cluster 0 are kept with probability .2, others with .6 */
		double		share = rows[i * D + 1] < 1.5f ? 0.2 : 0.6;

		if (fc_rng_uniform(&rng) > share)
			continue;
		memmove(rows + kept * D, rows + i * D, D * sizeof(float));
		weights[kept++] = 1.0 / share;
	}
	sample = (fc_weighted_rows) {.values = rows,.weights = weights,.n = kept,.d = D};
	null = null_of_sample(&sample, &model.sketching.prepared);
	CHECK(fabs(null.square / model.null.square - 1) < 0.25 && fabs(null.cube / model.null.cube - 1) < 0.5, "weighted rows: tr S^2 %g, not %g", null.square,
		  model.null.square);
	sample.n = 9;
	CHECK(fc_wave_null_moments(&sample, 512, &model.sketching.prepared, unit_work(), &null) == FC_EEMPTY, "nine rows give null moments");
}

/* Changes between 3000 and 3000 normal rows in 30 dimensions. */
typedef enum change
{
	SHIFT,						/* column 0 shifted by .2 */
	VARIANCE,					/* variance of column 0 doubled */
	CORRELATION,				/* correlation .5 of columns 0 and 1 */
	FACTOR,						/* all columns shifted by .05 */
	NEW_VALUE,					/* a new value in 2 % of column 0, which was constant */
	NOTHING
} change;

static void
apply(change what, float *training, float *rows, size_t n, size_t d)
{
	for (size_t i = 0; i < n; i++)
	{
		float	   *x = rows + i * d;

		if (what == SHIFT)
			x[0] += 0.2f;
		if (what == VARIANCE)
			x[0] *= (float) M_SQRT2;
		if (what == CORRELATION)
			x[1] = 0.5f * x[0] + sqrtf(0.75f) * x[1];
		for (size_t j = 0; what == FACTOR && j < d; j++)
			x[j] += 0.05f;
		if (what == NEW_VALUE)
		{
			training[i * d] = 1.0f;
			x[0] = i % 50 == 0 ? 7.0f : 1.0f;
		}
	}
}

static size_t
moved(const fc_drift_sides *sides, bool drifted, fc_drift_move moves[5])
{
	size_t		count;

	fc_drift_moved(sides, 0.01, 5, drifted, unit_work(), moves, &count);
	return count;
}

/*
 * Each change is detected and its columns are named, with their shift and
 * spread to 0.1; unchanged rows have no verdict.
 */
static void
test_change(change what)
{
	enum { N = 3000, WIDE = 30 };
	float	   *training = normal_table(N, WIDE, 1);
	float	   *rows = normal_table(N, WIDE, 2);
	drift_model model;
	two_sides	two;
	fc_drift_result result;
	fc_drift_move moves[5];
	size_t		count;

	apply(what, training, rows, N, WIDE);
	model = model_of(training, N, WIDE, 1);
	two = sides_of(&model, training, N, rows, N);
	result = compare(&two.sides, 0.01, 0.1);
	count = moved(&two.sides, result.p_value < 0.01, moves);
	if (what == NOTHING)
		CHECK(result.p_value > 0.01 && result.effect == 0 && result.verdict == FC_VERDICT_NONE && count == 0, "nothing: p %g", result.p_value);
	else
		CHECK(result.p_value < 0.01 && result.verdict == FC_VERDICT_DRIFTED, "change %d: p %g, effect %g", what, result.p_value, result.effect);
	if (what == SHIFT)
		CHECK(result.effect > 0.13 && result.effect < 0.27, "a shift of .2 has effect %g", result.effect);
	if (what == SHIFT || what == VARIANCE || what == NEW_VALUE)
		CHECK(count == 1 && moves[0].column == 0 && moves[0].other == 0, "change %d: %zu moved, first %zu and %zu", what, count, moves[0].column, moves[0].other);
	if (what == SHIFT)
		CHECK(fabs(moves[0].shift - 0.2) < 0.1 && fabs(moves[0].spread - 1) < 0.1, "shift %g, spread %g", moves[0].shift, moves[0].spread);
	if (what == VARIANCE)
		CHECK(fabs(moves[0].shift) < 0.1 && fabs(moves[0].spread - M_SQRT2) < 0.1, "shift %g, spread %g", moves[0].shift, moves[0].spread);
	if (what == NEW_VALUE)
		CHECK(isinf(moves[0].spread), "a constant column spread by %g", moves[0].spread);
	if (what == CORRELATION)
		CHECK(count == 1 && moves[0].column == 0 && moves[0].other == 1 && isnan(moves[0].shift), "%zu moved, first %zu and %zu", count, moves[0].column,
			  moves[0].other);
	if (what == FACTOR)
		CHECK(3 * result.set_p[2] < 0.01, "waves: p %g", result.set_p[2]);
}

/*
 * Verdicts are right with counts alone, with waves alone, with neither, with
 * too few rows, and with counts that contradict each other.
 */
static void
test_verdicts(void)
{
	enum { N = 2000 };
	float	   *training = normal_table(N, D, 1);
	float	   *rows = normal_table(N, D, 2);
	drift_model model = model_of(training, N, D, 1);
	two_sides	two = sides_of(&model, training, N, rows, N);
	fc_drift_sides sides = two.sides;
	fc_drift_result result = compare(&sides, 0.01, 0.1);
	fc_drift_counts *few = counts_of(&model, rows, 60);
	fc_drift_counts *nine = counts_of(&model, rows, 9);

	CHECK(result.verdict == FC_VERDICT_NONE && result.effect == 0, "p %g", result.p_value);
	sides.sketch[0] = sides.sketch[1] = NULL;
	result = compare(&sides, 0.01, 0.1);
	CHECK(isnan(result.mmd2) && isnan(result.set_p[2]) && result.verdict == FC_VERDICT_NONE, "counts alone: p %g", result.p_value);
	CHECK(fabs(result.p_value * (1 / result.set_p[0] + 1 / result.set_p[1] + 3 / result.set_p[4]) - 5) < 1e-12, "the p-value does not combine three sets");
	sides.counts[1] = few;
	result = compare(&sides, 0.01, 0.1);
	CHECK(result.verdict == FC_VERDICT_TOO_FEW && result.hidden > 0.5 && !isnan(result.p_value), "60 rows hide %g", result.hidden);
	sides.counts[1] = nine;
	result = compare(&sides, 0.01, 0.1);
	CHECK(result.verdict == FC_VERDICT_TOO_FEW && isnan(result.p_value) && isnan(result.effect), "nine rows have a p-value");
	sides = two.sides;
	sides.counts[0] = sides.counts[1] = NULL;
	result = compare(&sides, 0.01, 0.1);
	CHECK(result.p_value == result.set_p[2] && isnan(result.set_p[0]) && result.verdict == FC_VERDICT_NONE, "waves alone: p %g", result.p_value);
	sides.null = NULL;
	result = compare(&sides, 0.01, 0.1);
	CHECK(result.verdict == FC_VERDICT_TOO_FEW && isnan(result.p_value), "a p-value without counts and moments");
	sides = two.sides;
	((uint32_t *) (two.counts[1] + 1))[D * FC_DRIFT_CELLS] = N;
	CHECK(compare(&sides, 0.01, 0.1).verdict == FC_VERDICT_NONE, "contradictory counts of bits are taken as drift");
}

/* Adds counts to themselves, which doubles the rows. */
static void
double_counts(fc_drift_counts *counts)
{
	size_t		size = fc_drift_counts_size(counts, 0);
	fc_drift_counts *copy = memcpy(unit_alloc(size, 1), counts, size);

	CHECK(fc_drift_combine(counts, copy, 1) == FC_OK, "double");
}

/*
 * A shift of .05 deviations among half a million rows is significant but
 * slight.
 */
static void
test_slight(void)
{
	enum { N = 8000, TWO = 2 };
	float	   *training = normal_table(N, TWO, 1);
	float	   *rows = unit_alloc(N * TWO, sizeof(float));
	drift_model model = model_of(training, N, TWO, 1);
	two_sides	two;
	fc_drift_result result;

	for (size_t i = 0; i < N * TWO; i++)
		rows[i] = training[i] + (i % TWO == 0 ? 0.05f : 0.0f);
	two = sides_of(&model, training, N, rows, N);
	for (int i = 0; i < 6; i++)
		for (int side = 0; side < 2; side++)
			double_counts(two.counts[side]);
	two.sides.sketch[0] = NULL;
	result = compare(&two.sides, 0.01, 0.1);
	CHECK(result.verdict == FC_VERDICT_SLIGHT && result.effect > 0.03 && result.effect < 0.07, "p %g, effect %g", result.p_value, result.effect);
}

/*
 * Columns without a variance cancel each other's waves, which then are no
 * evidence.
 */
static void
test_blind_waves(void)
{
	enum { N = 2000, WIDE = 60 };
	float	   *rows = normal_table(2 * N, WIDE, 1);
	drift_model model;
	two_sides	two;
	fc_drift_result result;

	for (size_t i = 0; i < 2 * N * WIDE; i++)
		rows[i] = expf(3.0f * rows[i]);
	model = model_of(rows, N, WIDE, 1);
	two = sides_of(&model, rows, N, rows + N * WIDE, N);
	result = compare(&two.sides, 0.01, 0.1);
	CHECK(result.set_p[2] == 1 && !isnan(result.mmd2) && result.verdict == FC_VERDICT_NONE, "waves: p %g", result.set_p[2]);
}

/* Makes rows in which a share of the values is exponential, the rest 0. */
static float *
sparse_rows(size_t n, size_t d, double share, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 6);
	float	   *rows = unit_alloc(n * d, sizeof(float));

	for (size_t i = 0; i < n * d; i++)
		if (fc_rng_uniform(&rng) < share)
			rows[i] = (float) -log(1.0 - fc_rng_uniform(&rng));
	return rows;
}

/*
 * The waves of sparse columns do not fit the training rows better than other
 * rows: of 20 pairs, at most two p-values are below .01.
 */
static void
test_sparse(void)
{
	enum { TRIALS = 20, N = 1000, WIDE = 384 };
	int			below = 0;

	for (uint64_t t = 0; t < TRIALS; t++)
	{
		float	   *training = sparse_rows(N, WIDE, 0.01, 2 * t);
		float	   *rows = sparse_rows(N, WIDE, 0.01, 2 * t + 1);
		drift_model model = model_of(training, N, WIDE, t);
		two_sides	two = sides_of(&model, training, N, rows, N);

		below += compare(&two.sides, 0.01, 0.1).p_value < 0.01;
		unit_free();
	}
	CHECK(below <= 2, "%d p-values of sparse columns below .01 of %d", below, TRIALS);
}

/*
 * Columns with 100 and 300 values other than 0 share their scales; a column
 * of one other value, and a column without zeros, keep their own; a constant
 * column has the pooled scale.
 */
static void
test_pooled_scales(void)
{
	enum { N = 2000, COLUMNS = 5 };
	float	   *rows = unit_alloc(N * COLUMNS, sizeof(float));
	fc_weighted_rows sample = {.values = rows,.n = N,.d = COLUMNS};
	double		own[2] = {0.5 * (1.49 + 1.50), 0.5 * (24.9 + 25.0)};
	double		trust[2] = {0.5, 0.75};
	double		pool = (trust[0] * log(own[0]) + trust[1] * log(own[1])) / (trust[0] + trust[1]);
	const double *scale;

	for (size_t i = 0; i < N; i++)
	{
		float	   *x = rows + i * COLUMNS;

		x[0] = i < 100 ? 1.0f + 0.01f * (float) i : 0.0f;
		x[1] = i < 300 ? 10.0f + 0.1f * (float) i : 0.0f;
		x[2] = i < 20 ? 7.0f : 0.0f;
		x[3] = (float) i;
	}
	scale = fc_spec_scale(wave_spec_of(&sample, 1));
	for (int j = 0; j < 2; j++)
		CHECK(fabs(scale[j] / exp(trust[j] * log(own[j]) + (1 - trust[j]) * pool) - 1) < 1e-6, "column %d has scale %g", j, scale[j]);
	CHECK(scale[2] == 7 && fabs(scale[3] / (0.5 * N / 1.349) - 1) < 1e-3, "own scales %g, %g", scale[2], scale[3]);
	CHECK(fabs(scale[4] / exp(pool) - 1) < 1e-6, "a constant column has scale %g", scale[4]);
}

/* Compares n training rows with n new rows, after a shift of column 0 of these. */
static fc_drift_result
compare_shifted(const float *training, float *rows, size_t n, float shift, uint64_t seed)
{
	drift_model model = model_of(training, n, D, seed);
	two_sides	two;

	for (size_t i = 0; i < n; i++)
		rows[i * D] += shift;
	two = sides_of(&model, training, n, rows, n);
	return compare(&two.sides, 0.01, 0.1);
}

/*
 * Ranks are calibrated with 60 rows on each side: of 300 pairs of ten
 * columns, at most eight have p < .01. In 40 pairs, a shift of one column by
 * .7 deviations of 60 rows is detected at least 20 times (28 are expected),
 * and by .4 of 300 rows at least 30 times (37 are expected). 300 rows are
 * enough for a verdict.
 */
static void
test_few_rows(void)
{
	enum { TRIALS = 300, SHIFTS = 40, N = 300, FEW = 60 };
	int			below = 0;
	int			found[2] = {0, 0};
	int			too_few = 0;

	for (uint64_t t = 0; t < TRIALS; t++)
	{
		float	   *training = normal_table(N, D, 2 * t);
		float	   *rows = normal_table(N, D, 2 * t + 1);
		double		ranks = compare_shifted(training, rows, FEW, 0, t).set_p[4];

		CHECK(ranks >= 0, "ranks of %d rows are not compared", FEW);
		below += ranks < 0.01;
		if (t < SHIFTS)
		{
			fc_drift_result many = compare_shifted(training, rows, N, 0.4f, t);

			found[1] += many.p_value < 0.01;
			too_few += many.hidden > FC_DRIFT_MAX_HIDDEN;
			found[0] += compare_shifted(training, rows, FEW, 0.3f, t).p_value < 0.01;
		}
		unit_free();
	}
	CHECK(below <= 8, "%d p-values of ranks below .01 of %d", below, TRIALS);
	CHECK(found[0] >= 20, "a shift by .7 of %d rows is detected %d times of %d", FEW, found[0], SHIFTS);
	CHECK(found[1] >= 30 && too_few == 0, "a shift by .4 is detected %d times of %d, and %d times there are too few rows", found[1], SHIFTS, too_few);
}

/* Share of NULLs of each side, in column 0 and in the others. */
typedef struct null_shares
{
	double		first[2];
	double		others[2];
} null_shares;

/*
 * Fills a share of the values of both sides with the mean of the normal
 * columns, and counts them as NULLs.
 */
static two_sides
sides_with_nulls(const null_shares *shares, size_t n1, size_t n2, size_t d, uint64_t seed, drift_model *model)
{
	size_t		n[2] = {n1, n2};
	float	   *rows[2] = {normal_table(n1, d, 2 * seed), normal_table(n2, d, 2 * seed + 1)};
	fc_drift_counts *open[2];
	fc_rng		rng = fc_rng_start(seed, 21);
	two_sides	two;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < n[side] * d; i++)
			if (fc_rng_uniform(&rng) < (i % d == 0 ? shares->first : shares->others)[side])
				rows[side][i] = 0.0f;
	*model = model_of(rows[0], n1, d, seed);
	two = sides_of(model, rows[0], n1, rows[1], n2);
	for (int side = 0; side < 2; side++)
	{
		open[side] = converted_counts(two.counts[side], FC_DRIFT_UNPACKED);
		open[side]->flags |= FC_DRIFT_NULLS;
		for (size_t i = 0; i < n[side] * d; i++)
			if (rows[side][i] == 0.0f)
				fc_drift_count_null(open[side], i % d, 1);
		two.counts[side] = converted_counts(open[side], 0);
		two.sides.counts[side] = two.counts[side];
	}
	return two;
}

/*
 * NULLs of the same shares on both sides are no drift: of 100 pairs, at most
 * five p-values are below .01. Columns without NULLs have no test of NULLs.
 */
static void
test_same_nulls(void)
{
	enum { TRIALS = 100 };
	static const null_shares same[] = {
		{{0.001, 0.001}, {0, 0}}, {{0.3, 0.3}, {0.05, 0.05}}
	};
	static const null_shares none = {{0, 0}, {0, 0}};
	drift_model model;
	two_sides	without;

	for (size_t s = 0; s < 2; s++)
	{
		int			below = 0;

		for (uint64_t t = 0; t < TRIALS; t++)
		{
			two_sides	two = sides_with_nulls(&same[s], N1, N2, D, t, &model);

			below += compare(&two.sides, 0.01, 0.1).p_value < 0.01;
			unit_free();
		}
		CHECK(below <= 5, "shares %zu: %d p-values below .01 of %d", s, below, TRIALS);
	}
	without = sides_with_nulls(&none, N1, N2, D, 1, &model);
	CHECK(isnan(compare(&without.sides, 0.01, 0.1).set_p[5]), "columns without NULLs are tested");
}

/*
 * Of 40 pairs of 5000 and 2000 rows, a share of NULLs that grows from 0 to 5 %
 * is always found, and one from 30 to 36 % at least 32 times, among ten
 * columns with 30 %. The column and its shares are listed first.
 */
static void
test_changed_nulls(void)
{
	enum { TRIALS = 40 };
	static const null_shares changes[] = {{{0, 0.05}, {0, 0}}, {{0.3, 0.36}, {0.3, 0.3}}};
	static const int required[] = {TRIALS, 32};
	drift_model model;

	for (size_t s = 0; s < 2; s++)
	{
		int			found = 0;

		for (uint64_t t = 0; t < TRIALS; t++)
		{
			two_sides	two = sides_with_nulls(&changes[s], 5000, 2000, D, t, &model);
			fc_drift_result result = compare(&two.sides, 0.01, 0.1);
			fc_drift_move moves[5];

			if (result.p_value < 0.01 && moved(&two.sides, true, moves) > 0 && moves[0].nulls && moves[0].column == 0 &&
				result.verdict == FC_VERDICT_DRIFTED && isnan(moves[0].shift))
				found += fabs(moves[0].share[1] - changes[s].first[1]) < 0.04 && fabs(moves[0].share[0] - changes[s].first[0]) < 0.02;
			unit_free();
		}
		CHECK(found >= required[s], "change %zu is found %d times of %d", s, found, TRIALS);
	}
}

/* Returns the fill 0 for each of d columns. */
static fc_drift_fill *
zero_fill(const drift_model *model, size_t d)
{
	fc_drift_fill *fill = unit_alloc(d, sizeof(fc_drift_fill));

	for (size_t j = 0; j < d; j++)
		fill[j] = (fc_drift_fill) {j, fc_drift_cell(model->spec, j, 0.0), 0.0};
	return fill;
}

/*
 * Values that stand in for NULLs are no values: if a share of NULLs grows from
 * 10 to 40 %, only the NULLs have moved. A shift of all values by .3
 * deviations, 30 % of them NULL, is reported as such, without a change of the
 * spread, and nothing else moves in a column without values.
 */
static void
test_filled_values(void)
{
	enum { N = 5000, THREE = 3 };
	static const null_shares shares[] = {{{0.1, 0.4}, {0, 0}}, {{0.3, 0.3}, {0, 0}}, {{0.3, 1.0}, {0, 0}}};
	drift_model model;
	fc_drift_move moves[5];
	two_sides	two;

	for (size_t s = 0; s < 3; s += 2)
	{
		two = sides_with_nulls(&shares[s], N, N, THREE, 1, &model);
		CHECK(moved(&two.sides, true, moves) > 1 && moves[0].nulls && !moves[1].nulls && moves[1].column == 0, "without fill, the values do not move");
		two.sides.fill = zero_fill(&model, THREE);
		CHECK(compare(&two.sides, 0.01, 0.1).p_value < 0.01 && moved(&two.sides, true, moves) == 1 && moves[0].nulls, "the values of NULLs move");
	}
	two = sides_with_nulls(&shares[1], N, N, THREE, 1, &model);
	two.sides.fill = zero_fill(&model, THREE);
	{
		float	   *rows = normal_table(N, THREE, 3);
		fc_drift_counts *open = new_counts(model.spec, FC_DRIFT_UNPACKED | FC_DRIFT_NULLS);

		for (size_t i = 0; i < N; i++)
		{
			bool		null = i % 10 < 3;

			rows[i * THREE] = null ? 0.0f : rows[i * THREE] + 0.3f;
			CHECK(fc_drift_count_row(&model.prepared, NULL, rows + i * THREE, 1, open) == FC_OK, "count");
			if (null)
				fc_drift_count_null(open, 0, 1);
		}
		fc_drift_fold(open);
		two.sides.counts[1] = converted_counts(open, 0);
		two.sides.sketch[1] = waves_of(&model, rows, N);
	}
	CHECK(moved(&two.sides, true, moves) == 1 && !moves[0].nulls && fabs(moves[0].shift - 0.3) < 0.05 && fabs(moves[0].spread - 1) < 0.05,
		  "shift %g, spread %g", moves[0].shift, moves[0].spread);
	CHECK(fabs(compare(&two.sides, 0.01, 0.1).effect - 0.3) < 0.07, "effect %g", compare(&two.sides, 0.01, 0.1).effect);
}

/*
 * The NULLs of one side are unknown: no test applies to them. A dimension that
 * indicates the NULLs is listed once.
 */
static void
test_null_moves(void)
{
	enum { N = 2000, TWO = 2 };
	static const null_shares more = {{0.1, 0.3}, {0, 0}};
	drift_model model;
	two_sides	two = sides_with_nulls(&more, N, N, TWO, 1, &model);
	fc_drift_counts *unknown = converted_counts(two.counts[1], 0);
	float	   *rows[2] = {normal_table(N, TWO, 3), normal_table(N, TWO, 4)};
	fc_drift_move moves[5];

	unknown->flags = 0;
	two.sides.counts[1] = unknown;
	CHECK(isnan(compare(&two.sides, 0.01, 0.1).set_p[5]), "unknown NULLs are tested");
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < N; i++)
			rows[side][i * TWO] = i % 10 < (side == 0 ? 1 : 3);
	model = model_of(rows[0], N, TWO, 1);
	two = sides_of(&model, rows[0], N, rows[1], N);
	for (int side = 0; side < 2; side++)
	{
		two.counts[side]->flags |= FC_DRIFT_NULLS;
		for (size_t i = 0; i < N; i++)
			if (rows[side][i * TWO] == 1)
				fc_drift_count_null(two.counts[side], 0, 1);
	}
	CHECK(moved(&two.sides, true, moves) == 1 && moves[0].nulls && moves[0].column == 0, "an indicator of NULLs is listed twice");
}

int
main(void)
{
	test_calibration();
	test_null_moments();
	for (change what = SHIFT; what <= NOTHING; what++)
		test_change(what);
	test_verdicts();
	test_slight();
	test_blind_waves();
	test_sparse();
	test_few_rows();
	test_pooled_scales();
	test_same_nulls();
	test_changed_nulls();
	test_filled_values();
	test_null_moves();
	return unit_finish();
}
