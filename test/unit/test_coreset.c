/*
 * test_coreset.c - weighted samples estimate counts and sums of squares
 * without bias (1 % over 200 seeds) and do not depend on the order of the
 * rows; figures of the fit of weighted rows are exact to 1e-12
 */
#include "base/rng.h"
#include "operator/coreset.h"
#include "operator/fit.h"
#include "unit.h"

#define D 3
#define ROWS 20000
#define SIZE 1000

static double rows[ROWS * D];
static const double center[D] = {1.0, -2.0, 0.5};

/* Makes rows near the center, and one row in a thousand far away. */
static void
make_rows(void)
{
	fc_rng		rng = fc_rng_start(3, 0);

	for (int i = 0; i < ROWS; i++)
		for (int c = 0; c < D; c++)
			rows[i * D + c] = center[c] + fc_rng_normal(&rng) * (i % 1000 == 7 ? 40.0 : 1.0);
}

static double
spread_of(const double *x)
{
	double		sum = 0.0;

	for (int c = 0; c < D; c++)
		sum += (x[c] - center[c]) * (x[c] - center[c]);
	return sum;
}

static double
variance_of_rows(void)
{
	double		sum = 0.0;

	for (int i = 0; i < ROWS; i++)
		sum += spread_of(rows + i * D) / ROWS;
	return sum;
}

static double limit = INFINITY;

/*
 * Returns a sample of the rows first, first + step, ... whose capacity grows.
 */
static fc_coreset *
sample(size_t first, size_t step, size_t count, size_t size, uint64_t seed, double variance)
{
	size_t		capacity = 16;
	fc_coreset *state = unit_uncleared(fc_coreset_bytes(D, 0, capacity));

	fc_coreset_init(D, size, capacity, seed, center, variance, limit, FC_EUCLIDEAN, false, state);
	for (size_t i = first; i < count; i += step)
	{
		uint64_t	hash = i;
		double		rank;

		fc_coreset_hash(seed, rows + i * D, 1, D, &hash);
		fc_coreset_ranks(state, &hash, rows + i * D, 1, &rank);
		if (fc_coreset_takes(state, rank))
		{
			if (fc_coreset_is_full(state))
			{
				fc_coreset *larger = unit_uncleared(fc_coreset_bytes(D, 0, capacity *= 2));

				fc_coreset_move(state, 0, capacity, larger);
				state = larger;
			}
			fc_coreset_take(state, rank, rows + i * D);
		}
		state->count++;
	}
	CHECK(fc_coreset_check(state, fc_coreset_bytes(D, 0, capacity)) == FC_OK, "the bytes of a state of %zu rows are refused", count);
	return state;
}

/*
 * Lists the rows of the sample and their weights, and the estimates of the
 * number of rows and of the sum of squares.
 */
static size_t
drawn(const fc_coreset *state, double *x, double *weights, double *count, double *squares)
{
	fc_arena	arena = unit_arena();
	size_t		n = fc_coreset_rows(state);
	uint32_t   *taken = FC_TAKE(&arena, n, uint32_t);

	fc_coreset_sample(state, &arena, taken, weights);
	*count = *squares = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		memcpy(x + i * D, fc_coreset_row(state, taken[i], NULL), D * sizeof(double));
		*count += weights[i];
		*squares += weights[i] * spread_of(x + i * D);
	}
	return n;
}

/*
 * The estimates of 200 seeds are unbiased to 0.01. The sum of squares, half of
 * which comes from 20 far rows, varies by less than 0.05.
 */
static void
test_estimates(void)
{
	static double x[SIZE * D];
	static double weights[SIZE];
	double		variance = variance_of_rows();
	double		bias = 0.0;
	double		square = 0.0;
	double		count_bias = 0.0;

	for (uint64_t seed = 0; seed < 200; seed++)
	{
		fc_coreset *state = sample(0, 1, ROWS, SIZE, seed, variance);
		double		count;
		double		squares;

		CHECK(drawn(state, x, weights, &count, &squares) == SIZE, "%zu rows", fc_coreset_rows(state));
		squares = squares / (variance * ROWS) - 1.0;
		bias += squares / 200;
		square += squares * squares / 200;
		count_bias += (count / ROWS - 1.0) / 200;
	}
	CHECK(fabs(bias) < 0.01, "the sum of squares is off by %g", bias);
	CHECK(fabs(count_bias) < 0.01, "the number of rows is off by %g", count_bias);
	CHECK(sqrt(square) < 0.05, "the sum of squares varies by %g", sqrt(square));
}

/*
 * Rows of weights 1, 4 and 30: the estimates of 200 seeds of the sums of
 * weights, of rows, and of weighted squares are unbiased to 0.01. Of few rows,
 * each has its own weight.
 */
static void
test_weights(void)
{
	static double weights[SIZE];
	uint32_t	taken[SIZE];
	double		padded[D + 1] = {0};
	double		bias[3] = {0.0, 0.0, 0.0};

	memcpy(padded, center, sizeof(center));
	for (uint64_t seed = 0; seed <= 200; seed++)
	{
		size_t		n = seed == 200 ? SIZE / 2 : ROWS;
		size_t		capacity = SIZE + 2;
		fc_coreset *state = unit_uncleared(fc_coreset_bytes(D + 1, 0, capacity));
		double		sums[2][3] = {{0}, {0}};

		fc_coreset_init(D + 1, SIZE, capacity, seed, padded, variance_of_rows(), INFINITY, FC_EUCLIDEAN, true, state);
		for (size_t i = 0; i < n; i++)
		{
			double		row[D + 1];
			uint64_t	hash = i;
			double		rank;

			memcpy(row, rows + i * D, D * sizeof(double));
			row[D] = i % 3 == 0 ? 1 : i % 3 == 1 ? 4 : 30;
			fc_coreset_hash(seed, row, 1, D, &hash);
			fc_coreset_ranks(state, &hash, row, 1, &rank);
			rank /= row[D];
			if (fc_coreset_takes(state, rank))
				fc_coreset_take(state, rank, row);
			state->count++;
			sums[0][0] += row[D];
			sums[0][1] += 1;
			sums[0][2] += row[D] * spread_of(row);
		}
		CHECK(fc_coreset_check(state, fc_coreset_bytes(D + 1, 0, capacity)) == FC_OK, "the bytes of a state with weights are refused");
		fc_coreset_sample(state, unit_work(), taken, weights);
		for (size_t i = 0; i < fc_coreset_rows(state); i++)
		{
			const double *row = fc_coreset_row(state, taken[i], NULL);

			CHECK(n == ROWS || weights[i] == row[D], "the weight %g of a row became %g", row[D], weights[i]);
			sums[1][0] += weights[i];
			sums[1][1] += weights[i] / row[D];
			sums[1][2] += weights[i] * spread_of(row);
		}
		for (int s = 0; s < 3 && n == ROWS; s++)
			bias[s] += (sums[1][s] / sums[0][s] - 1.0) / 200;
	}
	for (int s = 0; s < 3; s++)
		CHECK(fabs(bias[s]) < 0.01, "sum %d is off by %g", s, bias[s]);
}

/*
 * A limit that the sample does not reach changes nothing. A lower limit leaves
 * fewer rows, whose estimates stay unbiased to 0.02.
 */
static void
test_limit(void)
{
	static double x[2][SIZE * D];
	static double weights[2][SIZE];
	double		variance = variance_of_rows();
	double		count;
	double		squares;
	double		bias = 0.0;
	fc_coreset *whole = sample(0, 1, ROWS, SIZE, 1, variance);
	fc_coreset *state;

	drawn(whole, x[0], weights[0], &count, &squares);
	limit = 3.0 * SIZE / ROWS;
	state = sample(0, 1, ROWS, SIZE, 1, variance);
	CHECK(!fc_coreset_agree(whole, state), "states with and without a limit are merged");
	CHECK(drawn(state, x[1], weights[1], &count, &squares) == SIZE && memcmp(x[0], x[1], sizeof(x[0])) == 0 &&
		  memcmp(weights[0], weights[1], sizeof(weights[0])) == 0, "a limit of %g changes the sample", limit);
	limit = 0.25 * SIZE / ROWS;
	for (uint64_t seed = 0; seed < 200; seed++)
	{
		state = sample(0, 1, ROWS, SIZE, seed, variance);
		CHECK(drawn(state, x[0], weights[0], &count, &squares) < SIZE / 2, "%zu rows below %g", fc_coreset_rows(state), limit);
		bias += (count / ROWS - 1.0) / 200;
	}
	limit = INFINITY;
	CHECK(fabs(bias) < 0.02, "the number of rows is off by %g", bias);
}

/*
 * The limit for a share of the rows: the expected share is exact to 1e-12,
 * though 20 rows have half of the importance, and the sample has about that
 * share.
 */
static void
test_expected_limit(void)
{
	static double importances[ROWS];
	static double ones[ROWS];
	double		variance = variance_of_rows();

	for (int i = 0; i < ROWS; i++)
	{
		importances[i] = fc_coreset_importance(rows + i * D, center, variance, D);
		ones[i] = 1.0;
	}
	for (double share = 1e-3; share < 1.0; share *= 3.0)
	{
		double		expected = 0.0;
		fc_coreset *state;

		fc_coreset_limit(importances, ones, ROWS, share, &limit);
		for (int i = 0; i < ROWS; i++)
			expected += fmin(1.0, importances[i] * limit) / ROWS;
		CHECK(fabs(expected - share) < 1e-12, "a share of %g is expected for %g", expected, share);
		CHECK(limit >= share * (1 - 1e-12) && limit <= 2.0 * share, "limit %g", limit);
		state = sample(0, 1, ROWS, ROWS, 9, variance);
		CHECK(fabs(state->used - share * ROWS) < 5.0 * sqrt(share * ROWS), "%u rows below %g", state->used, limit);
		fc_coreset_limit(ones, importances, ROWS, share, &limit);
		CHECK(fabs(limit - share) < 1e-12, "equal importances: %g", limit);
	}
	limit = INFINITY;
}

/*
 * Samples of parts of the rows, merged in reverse order, equal the sample of
 * all rows to the bit.
 */
static void
test_order(void)
{
	static double x[2][SIZE * D];
	static double weights[2][SIZE];
	double		ignored[2];
	double		variance = variance_of_rows();
	fc_coreset *whole = sample(0, 1, ROWS, SIZE, 5, variance);
	fc_coreset *merged = unit_uncleared(fc_coreset_bytes(D, 0, SIZE + 2));

	fc_coreset_init(D, SIZE, SIZE + 2, 5, center, variance, INFINITY, FC_EUCLIDEAN, false, merged);
	for (size_t part = 7; part-- > 0;)
	{
		fc_coreset *state = sample(part, 7, ROWS, SIZE, 5, variance);

		CHECK(fc_coreset_agree(merged, state), "states of parts cannot be merged");
		for (size_t slot = 0; slot < state->used; slot++)
			if (fc_coreset_takes(merged, fc_coreset_row_ranks(state)[slot]))
				fc_coreset_take(merged, fc_coreset_row_ranks(state)[slot], fc_coreset_row(state, slot, NULL));
	}
	drawn(whole, x[0], weights[0], &ignored[0], &ignored[1]);
	drawn(merged, x[1], weights[1], &ignored[0], &ignored[1]);
	CHECK(memcmp(x[0], x[1], sizeof(x[0])) == 0 && memcmp(weights[0], weights[1], sizeof(weights[0])) == 0, "merged parts differ from the whole");
}

/* No more rows than requested: all are taken, with weight 1. */
static void
test_few_rows(void)
{
	static double x[SIZE * D];
	static double weights[SIZE];
	fc_coreset *state = sample(0, 1, SIZE, SIZE, 1, variance_of_rows());
	double		count;
	double		squares;

	CHECK(drawn(state, x, weights, &count, &squares) == SIZE && count == SIZE, "%g of %d rows", count, SIZE);
	for (int i = 0; i < SIZE; i++)
		CHECK(weights[i] == 1.0, "weight %g", weights[i]);
}

/*
 * Sparse rows are stored by their elements until one has too many, and are read back to the bit,
 * among them missing values, -0 and the weight of a row.
 */
static void
test_sparse_rows(void)
{
	enum
	{
		WIDE = 400,
		COUNT = 60
	};

	for (size_t most = 10; most <= WIDE; most += WIDE - 10)
	{
		double		x[COUNT][WIDE] = {{0}};
		double		row[WIDE];
		double		weights[COUNT];
		uint32_t	slots[COUNT];
		fc_coreset *state = unit_uncleared(fc_coreset_bytes(WIDE, 0, COUNT));

		fc_coreset_init(WIDE, COUNT, COUNT, 1, NULL, 0.0, INFINITY, FC_EUCLIDEAN, true, state);
		for (size_t i = 0; i < COUNT; i++)
		{
			size_t		elements = i == COUNT / 2 ? most : i % 10;

			for (size_t e = 0; e < elements; e++)
				x[i][(e * 31 + i) % (WIDE - 1)] = e == 3 ? NAN : e == 4 ? -0.0 : (double) e - 7.5;
			x[i][WIDE - 1] = 1.5;
			elements = fc_coreset_elements(state, x[i]);
			CHECK(most == WIDE || (elements >= i % 10 && elements <= 2 * most), "%zu elements", elements);
			if (elements != state->elements)
			{
				fc_coreset *moved = unit_uncleared(fc_coreset_bytes(WIDE, elements, COUNT));

				fc_coreset_move(state, elements, COUNT, moved);
				state = moved;
			}
			fc_coreset_take(state, (1.0 + (double) i) / (2 * COUNT), x[i]);
			state->count++;
		}
		CHECK(fc_coreset_check(state, fc_coreset_bytes(WIDE, state->elements, COUNT)) == FC_OK, "the bytes of sparse rows are refused");
		CHECK((state->elements == 0) == (most == WIDE), "%u elements are stored", state->elements);
		fc_coreset_sample(state, unit_work(), slots, weights);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(memcmp(fc_coreset_row(state, slots[i], row), x[i], sizeof(row)) == 0 && weights[i] == 1.5, "row %zu differs", i);
		if (state->elements > 0)
		{
			uint32_t   *index = (uint32_t *) ((double *) fc_coreset_row_ranks(state) + COUNT + state->elements);

			index[0] = WIDE;
			CHECK(fc_coreset_check(state, fc_coreset_bytes(WIDE, state->elements, COUNT)) == FC_EFORMAT, "an index beyond the row is accepted");
		}
	}
}

/* A sparse row has the rank and the bytes of the same dense row, and needs as many elements. */
static void
test_sparse_takes(void)
{
	enum
	{
		WIDE = 400,
		COUNT = 40
	};
	double		middle[WIDE];
	size_t		elements = 8;
	fc_coreset *states[2];
	fc_rng		rng = fc_rng_start(7, 0);

	for (size_t i = 0; i < WIDE; i++)
		middle[i] = fc_rng_uniform(&rng);
	for (int which = 0; which < 2; which++)
	{
		fc_coreset *empty = unit_uncleared(fc_coreset_bytes(WIDE, 0, COUNT));

		states[which] = memset(unit_uncleared(fc_coreset_bytes(WIDE, elements, COUNT)), 0, fc_coreset_bytes(WIDE, elements, COUNT));
		fc_coreset_init(WIDE, COUNT / 2, COUNT, 1, middle, 3.0, INFINITY, FC_EUCLIDEAN, false, empty);
		fc_coreset_move(empty, elements, COUNT, states[which]);
	}
	for (size_t i = 0; i < COUNT; i++)
	{
		double		x[WIDE] = {0};
		double		values[6];
		uint32_t	indices[6];
		fc_sparse_row row = {indices, values, i % 7};
		uint64_t	hash = (uint64_t) (fc_rng_uniform(&rng) * 1e18);
		double		rank;
		double		sparse_rank;

		for (size_t e = 0; e < row.count; e++)
		{
			indices[e] = (uint32_t) (e * 60 + i);
			values[e] = x[indices[e]] = 1.0 + 9.0 * fc_rng_uniform(&rng);
		}
		CHECK(fc_coreset_sparse_elements(states[0], &row) == fc_coreset_elements(states[0], x), "elements of row %zu", i);
		fc_coreset_ranks(states[0], &hash, x, 1, &rank);
		sparse_rank = fc_coreset_sparse_rank(states[0], hash, &row, fc_coreset_center_square(states[0]));
		CHECK(fabs(sparse_rank - rank) <= 1e-12 * rank, "rank %g instead of %g", sparse_rank, rank);
		if (!fc_coreset_takes(states[0], rank))
			continue;
		fc_coreset_take(states[0], rank, x);
		fc_coreset_take_sparse(states[1], rank, &row);
	}
	CHECK(memcmp(states[0], states[1], fc_coreset_bytes(WIDE, elements, COUNT)) == 0, "a sparse row is stored differently");
}

/* Damaged bytes of a state are refused. */
static void
test_bytes(void)
{
	fc_coreset *state = sample(0, 1, 500, 100, 1, 0.0);
	size_t		size = fc_coreset_bytes(D, 0, state->capacity);
	fc_coreset	saved = *state;

	CHECK(fc_coreset_check(state, size - 8) == FC_EFORMAT, "bytes that are too short are accepted");
	state->used = state->capacity + 1;
	CHECK(fc_coreset_check(state, size) == FC_EFORMAT, "more rows than the capacity are accepted");
	*state = saved;
	state->size = 50;
	CHECK(fc_coreset_check(state, size) == FC_EFORMAT, "more rows than requested are accepted");
	*state = saved;
	((double *) (state + 1))[D] = -1.0;
	CHECK(fc_coreset_check(state, size) == FC_EFORMAT, "a negative rank is accepted");
}

/*
 * Means and quantiles of known distances are exact: 1 .. 5, the last one with
 * weight 3, represent 1 2 3 4 5 5 5.
 */
static void
test_fit(void)
{
	double		weights[5] = {1, 1, 1, 1, 3};
	double		squares[5] = {1, 4, 9, 16, 25};
	int32_t		labels[5] = {0, 0, 1, 1, 1};
	int32_t		others[5] = {0, 0, 1, 1, 0};
	fc_fit		fit = {5, 3, weights, labels, squares, NULL, NULL};
	fc_fit		other = {5, 3, weights, others, squares, NULL, NULL};
	fc_arena	arena = unit_arena();
	double		ascending[4] = {0.0, 0.25, 0.5, 1.0};
	double		quantiles[4];
	double		means[3];
	double		cluster_weights[3];
	double		mean;
	double		error;
	fc_comparison comparison;

	fc_fit_means(&fit, &mean, &error, means, cluster_weights);
	CHECK(fabs(mean - 105.0 / 7) < 1e-12, "mean %g", mean);
	CHECK(fabs(error - sqrt(6.0 * 100.0) / 7) < 1e-12, "error %g", error);
	CHECK(means[0] == 2.5 && fabs(means[1] - 20.0) < 1e-12 && means[2] == mean, "means %g %g %g", means[0], means[1], means[2]);
	fc_fit_quantiles(&fit, ascending, 4, &arena, quantiles);
	CHECK(quantiles[0] == 1.0 && quantiles[1] == 2.5 && quantiles[2] == 4.0 && quantiles[3] == 5.0, "quantiles %g %g %g %g",
		  quantiles[0], quantiles[1], quantiles[2], quantiles[3]);
	fc_fit_compare(&fit, &other, 3.0 / 7, &arena, &comparison);
	CHECK(fabs(comparison.mean_a - 7.5) < 1e-12 && comparison.mean_b == comparison.mean_a, "trimmed means %g %g", comparison.mean_a, comparison.mean_b);
	CHECK(fabs(comparison.changed - 3.0 / 7) < 1e-12 && comparison.error == 0.0, "changed %g", comparison.changed);
}

/*
 * Ranks of many rows equal ranks of single rows. Hashes are uniform in their
 * first and last bits, for consecutive keys and for rows that share a key.
 */
static void
test_ranks(void)
{
	static uint64_t hashes[2][ROWS];
	static double ranks[ROWS];
	fc_coreset *state = sample(0, 1, 0, SIZE, 7, 3.0);
	double		mean[2] = {0.0, 0.0};
	int			low[2] = {0, 0};

	for (uint64_t i = 0; i < ROWS; i++)
	{
		hashes[0][i] = i;
		hashes[1][i] = 5;
	}
	fc_coreset_hash(7, rows, ROWS, D, hashes[0]);
	fc_coreset_hash(7, rows, ROWS, D, hashes[1]);
	fc_coreset_ranks(state, hashes[0], rows, ROWS, ranks);
	for (int i = 0; i < ROWS; i++)
	{
		double		rank;
		double		importance = fc_coreset_importance(rows + i * D, center, 3.0, D);

		fc_coreset_ranks(state, hashes[0] + i, rows + i * D, 1, &rank);
		CHECK(rank == ranks[i] && ranks[i] > 0.0 && ranks[i] * importance <= 1.0 + 1e-15, "rank %g of row %d", rank, i);
		CHECK(fabs(importance - 0.5 - spread_of(rows + i * D) / 6.0) < 1e-12 * importance, "the importance of row %d is wrong", i);
		for (int h = 0; h < 2; h++)
		{
			mean[h] += (double) hashes[h][i] * 0x1p-64 / ROWS;
			low[h] += hashes[h][i] % 16 == 0;
		}
	}
	for (int h = 0; h < 2; h++)
		CHECK(fabs(mean[h] - 0.5) < 0.01 && abs(low[h] - ROWS / 16) < 150, "hashes: mean %g, %d end in 0", mean[h], low[h]);
}

/*
 * Moments of more columns than a tile are those of their sums, to 1e-12, and columns of zeros
 * are left out unless a centroid is not 0 there.
 */
static void
test_columns(void)
{
	enum
	{
		WIDE = 1100,
		COUNT = 9
	};
	static float values[COUNT * WIDE];
	static double centroid[WIDE];
	static double offset[WIDE];
	static double mean[WIDE];
	static double deviation[WIDE];
	double		weights[COUNT];
	uint32_t	columns[WIDE];
	fc_weighted_rows rows_of = {.n = COUNT,.d = WIDE,.values = values,.weights = weights,.offset = offset};
	size_t		count = 0;

	for (size_t r = 0; r < COUNT; r++)
	{
		weights[r] = (double) (r % 4);
		for (size_t c = 0; c < WIDE; c += 3)
			values[r * WIDE + c] = c % 7 == r ? (float) (r + c % 5) + 0.5f : 0.0f;
	}
	centroid[100] = 1.0;
	offset[200] = 2.0;
	fc_weighted_moments(&rows_of, mean, deviation);
	for (size_t c = 0; c < WIDE; c++)
	{
		double		sums[3] = {0};
		bool		used = c == 100 || c == 200;

		for (size_t r = 0; r < COUNT; r++)
		{
			double		x = (double) values[r * WIDE + c] + offset[c];

			sums[0] += weights[r];
			sums[1] += weights[r] * x;
			sums[2] += weights[r] * x * x;
			used |= x != 0.0;
		}
		columns[count] = (uint32_t) c;
		count += used;
		CHECK(fabs(mean[c] - sums[1] / sums[0]) < 1e-12 &&
			  fabs(deviation[c] * deviation[c] - (sums[2] - sums[1] * sums[1] / sums[0]) / sums[0]) < 1e-12, "moments of column %zu", c);
	}
	{
		uint32_t	found[WIDE];

		CHECK(fc_weighted_columns(&rows_of, centroid, 1, found) == count && memcmp(found, columns, count * sizeof(uint32_t)) == 0, "other columns than %zu", count);
	}
}

int
main(void)
{
	make_rows();
	test_ranks();
	test_estimates();
	test_weights();
	test_limit();
	test_expected_limit();
	test_order();
	test_few_rows();
	test_sparse_rows();
	test_sparse_takes();
	test_bytes();
	test_fit();
	test_columns();
	return unit_finish();
}
