/*
 * test_drift_counts.c - p-values of two counts agree with exact sums to 1e-11.
 * Edges, counts of rows and counts of pairs agree with one row at a time, and
 * are the same to the bit for any order of the rows.
 */
#include "drift/internal.h"
#include "drifts.h"

/* ---- the exact test ---- */

static double
choose(int n, int k)
{
	double		product = 1;

	for (int i = 1; i <= k; i++)
		product *= (double) (n - k + i) / i;
	return product;
}

/*
 * Returns twice the tail of c2 that points away from the mean, summed term by
 * term.
 */
static double
brute_force(int c1, int n1, int c2, int n2)
{
	int			t = c1 + c2;
	bool		upper = c2 * (n1 + n2) >= t * n2;
	double		sum = 0;

	for (int x = 0; x <= t && x <= n2; x++)
		if (t - x <= n1 && (upper ? x >= c2 : x <= c2))
			sum += choose(n1, t - x) * choose(n2, x);
	return fmin(1.0, 2 * sum / choose(n1 + n2, t));
}

/*
 * The exact p-value agrees with the definition to 1e-11, with scipy to 1e-8,
 * and stays finite for the largest counts.
 */
static void
test_exact(void)
{
	/* scipy.stats.hypergeom: 2 sf(c2 - 1, n1 + n2, c1 + c2, n2), or 2 cdf */
	static const double known[][5] = {
		{20, 10000, 250, 5000, 5.5393811995325505e-95},
		{5000, 10000, 2600, 5000, 0.02187825368625606},
		{0, 10000, 8, 5000, 0.0003036949078714843},
		{300000, 1000000, 302000, 1000000, 0.0020589147965108376},
	};
	const int	sizes[][2] = {{7, 5}, {12, 30}, {25, 25}};

	for (int s = 0; s < 3; s++)
		for (int c1 = 0; c1 <= sizes[s][0]; c1++)
			for (int c2 = 0; c2 <= sizes[s][1]; c2++)
			{
				double		p = exp(fc_hypergeometric_log_p(c1, sizes[s][0], c2, sizes[s][1]));

				CHECK(fabs(p / brute_force(c1, sizes[s][0], c2, sizes[s][1]) - 1) < 1e-11, "%d of %d, %d of %d: %g", c1, sizes[s][0], c2, sizes[s][1], p);
			}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK(fabs(exp(fc_hypergeometric_log_p(known[i][0], known[i][1], known[i][2], known[i][3])) / known[i][4] - 1) < 1e-8, "known %zu: %.12g", i,
			  exp(fc_hypergeometric_log_p(known[i][0], known[i][1], known[i][2], known[i][3])));
	/* shares that are equal but for the rounding of counts that are not whole */
	for (int i = 1; i < 1000; i++)
		CHECK(fc_hypergeometric_log_p(i / 7.3, 3 * i / 7.3, i / 3.1, 3 * i / 3.1) > -0.1, "equal shares differ");
	for (double square = 0.1; square < 20; square *= 3)
		CHECK(fc_student_square(square, 30) < square && fc_student_square(square, INFINITY) == square, "%g", fc_student_square(square, 30));
	/* two-sided p-value 0.01 of Student's t with 20 degrees of freedom */
	CHECK(fabs(exp(fc_normal_log_p(sqrt(fc_student_square(2.845340 * 2.845340, 20)))) - 0.01) < 1e-4, "the tail of Student's t is wrong");
	CHECK(fc_hypergeometric_log_p(0, 0x1p40, 0x1p40, 0x1p40) < -7e11, "the p-value of the largest counts is wrong");
	CHECK(fabs(fc_two_counts_deviance(300, 1000, 300, 1000)) < 1e-9 && fc_two_counts_deviance(0, 10, 10, 10) > 13, "the deviance is wrong");
}

/* ---- edges ---- */

enum { ROWS = 4000, COLUMNS = 7 };

/*
 * Makes rows with the columns normal, constant, three values, 90 % zeros,
 * rounded, one-hot with 1 % ones, far from 0.
 */
static float *
mixed_rows(uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 3);
	float	   *rows = unit_alloc(ROWS * COLUMNS, sizeof(float));

	for (size_t i = 0; i < ROWS; i++)
	{
		float	   *x = rows + i * COLUMNS;

		x[0] = (float) fc_rng_normal(&rng);
		x[1] = 3.25f;
		x[2] = (float) fc_rng_below(&rng, 3) * 0.1f;
		x[3] = fc_rng_uniform(&rng) < 0.9 ? 0.0f : (float) fc_rng_normal(&rng);
		x[4] = rintf(4.0f * (float) fc_rng_normal(&rng));
		x[5] = fc_rng_uniform(&rng) < 0.01 ? 1.0f : 0.0f;
		x[6] = (float) (1e6 + fc_rng_normal(&rng));
	}
	return rows;
}

/* Rows, sample and model that most tests use. */
static float *rows;
static fc_weighted_rows sample;
static drift_model model;

static bool
has_edge(const fc_drift_spec *spec, size_t j, float x)
{
	for (size_t k = 0; k < fc_drift_edge_counts(spec)[j]; k++)
		if (fc_drift_edges(spec)[j * FC_DRIFT_EDGES + k] == x)
			return true;
	return false;
}

/*
 * The edges of each kind of column: few values and atoms are edges, and the
 * middle edge of a normal column is the median.
 */
static void
test_edges(void)
{
	const fc_drift_spec *spec = model.spec;
	fc_drift_spec *again = chosen_spec(&sample, 7);
	const uint8_t *count = fc_drift_edge_counts(spec);
	size_t		below = 0;

	CHECK(count[0] == 11 && count[1] == 1 && count[2] == 3 && count[5] == 2, "%d %d %d %d edges", count[0], count[1], count[2], count[5]);
	CHECK(has_edge(spec, 1, 3.25f) && has_edge(spec, 2, 0.1f) && has_edge(spec, 2, 0.2f), "a column of few values lacks an edge");
	CHECK(has_edge(spec, 3, 0.0f), "the atom is not an edge");
	for (size_t k = 1; k < count[3]; k++)
		if (fc_drift_edges(spec)[3 * FC_DRIFT_EDGES + k] == 0.0f)
		{
			float		before = fc_drift_edges(spec)[3 * FC_DRIFT_EDGES + k - 1];

			for (size_t i = 0; i < ROWS; i++)
				CHECK(!(rows[i * COLUMNS + 3] > before && rows[i * COLUMNS + 3] < 0.0f), "a row between the atom and the edge below");
		}
	for (size_t i = 0; i < ROWS; i++)
		below += rows[i * COLUMNS] <= fc_drift_edges(spec)[fc_drift_thirds(spec)[FC_DRIFT_MIDDLE]];
	CHECK(below == ROWS / 2, "the middle edge of a normal column has %zu of %d rows below", below, ROWS);
	CHECK(spec->plain == COLUMNS && spec->far == 4, "%u far bits", spec->far);
	CHECK(memcmp(spec, again, fc_drift_spec_size(spec)) == 0, "the same seed gives other bytes");
}

/*
 * Only some of more than 512 columns have bits, and the bytes of pairs stay
 * within a limit.
 */
static void
test_many_columns(void)
{
	const size_t dims[] = {512, 700, 12000, 32768};

	for (int t = 0; t < 4; t++)
	{
		float	   *wide = normal_table(20, dims[t], 3);
		fc_weighted_rows few = {.values = wide,.n = 20,.d = dims[t]};
		fc_drift_spec *spec = chosen_spec(&few, 7);
		size_t		others = dims[t] * (FC_DRIFT_CELLS + 1) * sizeof(uint32_t);

		CHECK(spec->far == 0 && spec->plain <= 512 && (t > 1 || spec->plain == 512), "%zu columns: %u bits", dims[t], spec->plain);
		CHECK(fc_drift_size_of_spec(spec, 0) <= (others > FC_DRIFT_MAX_BYTES ? others : FC_DRIFT_MAX_BYTES) + 100, "%zu columns: %zu bytes", dims[t],
			  fc_drift_size_of_spec(spec, 0));
	}
}

/* ---- counts ---- */

static bool
bit_of(const fc_drift_spec *spec, const float *x, size_t b)
{
	size_t		j = fc_drift_bit_columns(spec)[b];
	const float *edge = fc_drift_edges(spec) + j * FC_DRIFT_EDGES;
	const uint8_t *third = fc_drift_thirds(spec) + 3 * j;

	return b < spec->plain ? x[j] > edge[third[FC_DRIFT_MIDDLE]] : x[j] <= edge[third[FC_DRIFT_LOWER]] || x[j] > edge[third[FC_DRIFT_UPPER]];
}

/*
 * All counts agree with one row at a time, even for rows outside the range of
 * the sample.
 */
static void
test_counts(void)
{
	float	   *others = mixed_rows(2);
	const fc_drift_spec *spec = model.spec;
	size_t		n = 333;
	size_t		bits = fc_drift_spec_bits(spec);
	size_t		place = COLUMNS * FC_DRIFT_CELLS;
	fc_drift_counts *counts;

	for (size_t j = 0; j < COLUMNS; j++)
	{
		others[5 * COLUMNS + j] = -3e38f;
		others[80 * COLUMNS + j] = 3e38f;
		others[100 * COLUMNS + j] = fc_drift_minima(spec)[j];
	}
	counts = counts_of(&model, others, n);
	for (size_t j = 0; j < COLUMNS; j++)
	{
		size_t		below = 0;
		size_t		sum = 0;

		for (size_t i = 0; i < n; i++)
			below += others[i * COLUMNS + j] < fc_drift_minima(spec)[j];
		CHECK(fc_drift_number(counts, j * FC_DRIFT_CELLS) == below, "column %zu: %zu below the least value", j, below);
		for (size_t k = 0; k < fc_drift_edge_counts(spec)[j]; k++)
		{
			size_t		up_to = 0;

			sum += fc_drift_number(counts, j * FC_DRIFT_CELLS + k);
			for (size_t i = 0; i < n; i++)
				up_to += others[i * COLUMNS + j] <= fc_drift_edges(spec)[j * FC_DRIFT_EDGES + k];
			CHECK(sum + fc_drift_number(counts, j * FC_DRIFT_CELLS + k + 1) == up_to, "column %zu edge %zu: %zu rows", j, k, up_to);
		}
	}
	for (size_t a = 0; a < bits; a++)
		for (size_t b = a + 1; b < bits; b++, place++)
		{
			size_t		both = 0;

			for (size_t i = 0; i < n; i++)
				both += bit_of(spec, others + i * COLUMNS, a) && bit_of(spec, others + i * COLUMNS, b);
			CHECK(fc_drift_number(counts, place) == both, "bits %zu and %zu: %zu rows", a, b, both);
		}
}

/*
 * Rows of doubles, in another order or in two parts, give the same bytes; a
 * part can be subtracted.
 */
static void
test_sums(void)
{
	fc_drift_counts *whole = counts_of(&model, rows, 1000);
	size_t		size = fc_drift_counts_size(whole, 0);
	fc_drift_counts *first = counts_of(&model, rows, 431);
	fc_drift_counts *second = counts_of(&model, rows + 431 * COLUMNS, 569);
	fc_drift_counts *backwards = new_counts(model.spec, FC_DRIFT_UNPACKED);
	fc_drift_counts *part;

	for (size_t i = 1000; i-- > 0;)
	{
		double		x[COLUMNS];

		fc_widen(rows + i * COLUMNS, COLUMNS, x);
		CHECK(fc_drift_count_row(&model.prepared, x, NULL, 1, backwards) == FC_OK, "count");
	}
	fc_drift_fold(backwards);
	backwards = converted_counts(backwards, 0);
	CHECK(memcmp(whole, backwards, size) == 0, "doubles in another order give other bytes");
	part = converted_counts(counts_of(&model, rows, 431), 0);
	CHECK(fc_drift_combine(part, second, 1) == FC_OK && memcmp(part, whole, size) == 0, "two parts do not add up to the whole");
	CHECK(fc_drift_combine(part, first, -1) == FC_OK && memcmp(part, second, size) == 0, "subtracting a part does not leave the other");
	CHECK(fc_drift_combine(part, first, -1) == FC_ENEGATIVE, "rows that are not counted can be subtracted");
	{
		fc_drift_spec *other = chosen_spec(&sample, 8);
		fc_drift_counts *others = new_counts(other, 0);

		CHECK(fc_drift_combine(part, others, 1) == FC_EMISMATCH, "counts of different specs are added");
	}
}

/*
 * Counts of 2^32 rows and more are wide; subtracting rows makes them narrow
 * again.
 */
static void
test_wide(void)
{
	fc_drift_counts *counts = counts_of(&model, rows, 1000);
	fc_drift_counts *half = NULL;
	int			doublings = 0;

	for (; counts->rows < INT64_C(1) << 33; doublings++)
	{
		half = unit_alloc(fc_drift_counts_size(counts, counts->flags), 1);
		memcpy(half, counts, fc_drift_counts_size(counts, counts->flags));
		if (2 * counts->rows > FC_DRIFT_MAX_NARROW && counts->flags == 0)
		{
			CHECK(fc_drift_combine(counts, half, 1) == FC_EOVERFLOW, "too many rows for 32 bits are accepted");
			counts = converted_counts(counts, FC_DRIFT_WIDE);
		}
		CHECK(fc_drift_combine(counts, half, 1) == FC_OK, "counts cannot be doubled");
		CHECK(fc_drift_counts_check(counts, fc_drift_counts_size(counts, counts->flags)) == FC_OK, "valid after %d doublings", doublings);
	}
	CHECK(counts->flags == FC_DRIFT_WIDE && fc_drift_number(counts, FC_DRIFT_CELLS + 1) == (uint64_t) counts->rows, "a constant column of %lld rows",
		  (long long) counts->rows);
	{
		/* one more row, while wide */
		fc_drift_counts *open = unit_alloc(fc_drift_counts_size(counts, FC_DRIFT_WIDE | FC_DRIFT_UNPACKED), 1);

		CHECK(fc_drift_convert(counts, FC_DRIFT_WIDE | FC_DRIFT_UNPACKED, open) == FC_OK, "open");
		CHECK(fc_drift_count_row(&model.prepared, NULL, rows, 1, open) == FC_OK, "count");
		fc_drift_fold(open);
		CHECK(fc_drift_combine(open, counts, -1) == FC_OK && open->rows == 1, "subtraction does not leave one row");
		open = converted_counts(open, 0);
		half = counts_of(&model, rows, 1);
		CHECK(memcmp(open, half, fc_drift_counts_size(half, 0)) == 0, "counts do not become narrow again");
	}
}

/* A row of weight w has the counts of w equal rows, to the bit, in counts of 32 bits and of 64. */
static void
test_weights(void)
{
	const uint32_t weights[] = {1, 2, 7, 64, 300, FC_DRIFT_MAX_WEIGHT};

	for (int wide = 0; wide < 2; wide++)
	{
		uint8_t		flags = FC_DRIFT_UNPACKED | FC_DRIFT_NULLS | (wide ? FC_DRIFT_WIDE : 0);
		fc_drift_counts *weighted = new_counts(model.spec, flags);
		fc_drift_counts *repeated = new_counts(model.spec, flags);

		for (size_t i = 0; i < 200; i++)
		{
			uint32_t	weight = weights[i % 6];

			CHECK(fc_drift_count_row(&model.prepared, NULL, rows + i * COLUMNS, weight, weighted) == FC_OK, "count");
			fc_drift_count_null(weighted, 2, weight);
			for (uint32_t w = 0; w < weight; w++)
			{
				CHECK(fc_drift_count_row(&model.prepared, NULL, rows + i * COLUMNS, 1, repeated) == FC_OK, "count");
				fc_drift_count_null(repeated, 2, 1);
			}
		}
		fc_drift_fold(weighted);
		fc_drift_fold(repeated);
		CHECK(memcmp(weighted, repeated, fc_drift_counts_size(weighted, flags)) == 0, "weights differ from repetition");
	}
}

/*
 * Sparse rows, alone and between other rows, with weights and about an origin, have the counts
 * of the rows with zeros, to the bit.
 */
static void
test_sparse_rows(void)
{
	double		origin[COLUMNS] = {0.25, 0, -1};

	for (int about = 0; about < 2; about++)
	{
		fc_weighted_rows moved = {.values = rows,.n = ROWS,.d = COLUMNS,.offset = about ? origin : NULL};
		fc_drift_spec *spec = chosen_spec(&moved, 7);
		fc_drift_prepared prepared;
		fc_arena	arena = unit_arena();
		fc_drift_counts *counts[3];

		fc_drift_prepare(spec, &arena, &prepared);
		for (int c = 0; c < 3; c++)
			counts[c] = new_counts(spec, FC_DRIFT_UNPACKED | (about ? FC_DRIFT_WIDE : 0));
		for (size_t i = 0; i < 300; i++)
		{
			double		x[COLUMNS] = {0};
			double		values[COLUMNS];
			uint32_t	indices[COLUMNS];
			fc_sparse_row row = {.indices = indices,.values = values};
			uint32_t	weight = 1 + (uint32_t) (i % 3);

			for (size_t c = i % 5; c < COLUMNS; c += 1 + i % 2)
			{
				values[row.count] = x[c] = (double) rows[i * COLUMNS + c];
				indices[row.count++] = (uint32_t) c;
			}
			CHECK(fc_drift_count_row(&prepared, x, NULL, weight, counts[0]) == FC_OK &&
				  fc_drift_count_sparse_row(&prepared, &row, weight, counts[1]) == FC_OK &&
				  (i % 7 < 3
				   ? fc_drift_count_row(&prepared, x, NULL, weight, counts[2])
				   : fc_drift_count_sparse_row(&prepared, &row, weight, counts[2])) == FC_OK, "a row is refused");
			values[0] = NAN;
			CHECK(row.count == 0 || fc_drift_count_sparse_row(&prepared, &row, 1, counts[1]) == FC_EVALUE, "NaN is counted");
		}
		for (int c = 0; c < 3; c++)
		{
			fc_drift_fold(counts[c]);
			counts[c] = converted_counts(counts[c], 0);
			CHECK(fc_drift_counts_check(counts[c], fc_drift_counts_size(counts[c], 0)) == FC_OK &&
				  memcmp(counts[c], counts[0], fc_drift_counts_size(counts[0], 0)) == 0, "counts %d of sparse rows are others", c);
		}
	}
}

/* Returns packed counts of 100 rows with this number of NULLs in column 2. */
static fc_drift_counts *
counts_with_nulls(size_t nulls)
{
	fc_drift_counts *counts = new_counts(model.spec, FC_DRIFT_UNPACKED | FC_DRIFT_NULLS);

	for (size_t i = 0; i < 100; i++)
		CHECK(fc_drift_count_row(&model.prepared, NULL, rows + i * COLUMNS, 1, counts) == FC_OK, "count");
	for (size_t i = 0; i < nulls; i++)
		fc_drift_count_null(counts, 2, 1);
	fc_drift_fold(counts);
	return converted_counts(counts, 0);
}

/*
 * NULLs are added and subtracted. They are unknown in a sum with rows whose
 * NULLs are unknown, and known in a sum with no rows.
 */
static void
test_null_counts(void)
{
	fc_drift_counts *sum = counts_with_nulls(7);
	fc_drift_counts *unknown = counts_of(&model, rows, 100);
	fc_drift_counts *none = new_counts(model.spec, 0);
	size_t		size = fc_drift_counts_size(sum, 0);
	size_t		place = fc_drift_values(sum) + 2;

	CHECK(sum->flags == FC_DRIFT_NULLS && fc_drift_counts_check(sum, size) == FC_OK, "counts of NULLs are refused");
	CHECK(fc_drift_number(sum, place) == 7 && fc_drift_number(sum, place + 1) == 0, "%d NULLs", (int) fc_drift_number(sum, place));
	CHECK(fc_drift_number(converted_counts(sum, FC_DRIFT_WIDE), place) == 7, "wide counts have other NULLs");
	CHECK(fc_drift_combine(sum, counts_with_nulls(30), 1) == FC_OK && fc_drift_number(sum, place) == 37, "NULLs are not added");
	CHECK(fc_drift_combine(sum, counts_with_nulls(38), -1) == FC_ENEGATIVE, "NULLs that are not counted are subtracted");
	sum = counts_with_nulls(7);
	CHECK(fc_drift_combine(sum, none, 1) == FC_OK && fc_drift_combine(none, sum, 1) == FC_OK && memcmp(sum, none, size) == 0,
		  "no rows make NULLs unknown");
	CHECK(fc_drift_combine(sum, unknown, 1) == FC_OK && sum->flags == 0 && fc_drift_counts_check(sum, size) == FC_OK,
		  "NULLs of a sum with unknown NULLs are known");
	CHECK(fc_drift_combine(unknown, counts_with_nulls(7), 1) == FC_OK && memcmp(sum, unknown, size) == 0, "the order of a sum matters");
	((uint32_t *) (sum + 1))[place] = 1;
	CHECK(fc_drift_counts_check(sum, size) == FC_EFORMAT, "a number of unknown NULLs is accepted");
	sum = counts_with_nulls(101);
	CHECK(fc_drift_counts_check(sum, size) == FC_EFORMAT, "more NULLs than rows are accepted");
}

/* ---- rows that are not counted, bytes that are not read ---- */

/*
 * Rows with values that are not finite are refused; a double beyond all floats
 * is counted.
 */
static void
test_strange_rows(void)
{
	fc_drift_counts *counts = new_counts(model.spec, FC_DRIFT_UNPACKED);
	double		x[COLUMNS] = {0};
	float		y[COLUMNS] = {0};

	x[3] = NAN;
	y[6] = INFINITY;
	CHECK(fc_drift_count_row(&model.prepared, x, NULL, 1, counts) == FC_EVALUE && fc_drift_count_row(&model.prepared, NULL, y, 1, counts) == FC_EVALUE, "a value that is not finite is counted");
	x[3] = 1e300;
	CHECK(fc_drift_count_row(&model.prepared, x, NULL, 1, counts) == FC_OK && counts->rows == 1, "a double above all floats is refused");
}

/* Every byte is changed in turn, and all changes are refused. */
static void
test_damage(void)
{
	fc_drift_counts *counts = counts_of(&model, rows, 100);
	size_t		size = fc_drift_spec_size(model.spec);
	int			passed = 0;

	for (size_t i = sizeof(uint32_t); i < size; i++)
	{
		((uint8_t *) model.spec)[i] ^= 0x41;
		CHECK(fc_drift_spec_check(model.spec, size) == FC_EFORMAT, "a changed byte %zu of a spec is accepted", i);
		((uint8_t *) model.spec)[i] ^= 0x41;
	}
	CHECK(fc_drift_spec_check(model.spec, size - 8) == FC_EFORMAT && fc_drift_spec_check(model.spec, 8) == FC_EFORMAT, "bytes that are too short are accepted");
	size = fc_drift_counts_size(counts, 0);
	for (size_t i = sizeof(uint32_t); i < size; i++)
	{
		((uint8_t *) counts)[i] ^= 0x80;
		passed += fc_drift_counts_check(counts, size) == FC_OK && i >= sizeof(fc_drift_counts);
		((uint8_t *) counts)[i] ^= 0x80;
	}
	CHECK(passed == 0, "%d damaged counts passed", passed);
	CHECK(fc_drift_counts_check(counts, size - 8) == FC_EFORMAT && fc_drift_counts_check(counts, 8) == FC_EFORMAT, "bytes that are too short are accepted");
}

int
main(void)
{
	rows = mixed_rows(1);
	sample = (fc_weighted_rows) {.values = rows,.n = ROWS,.d = COLUMNS};
	model = make_model(&sample, 7);
	test_exact();
	test_edges();
	test_many_columns();
	test_counts();
	test_sums();
	test_wide();
	test_weights();
	test_sparse_rows();
	test_null_counts();
	test_strange_rows();
	test_damage();
	return unit_finish();
}
