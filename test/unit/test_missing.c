/*
 * test_missing.c - NULLs that occur mostly in one cluster are informative;
 * NULLs at random, in several columns together, or at rates that merely differ
 * are not
 */
#include "kmeans/choose.h"
#include "kmeans/missing.h"
#include "unit.h"

#define ROWS		4000
#define COLUMNS		5
#define CLUSTERS	4
#define WIDTH		2			/* dimensions of a column: its value and its indicator */
#define DIM			(WIDTH * COLUMNS)

typedef double (*null_rate) (size_t cluster, size_t column);

/*
 * Makes clusters around random centers, with NULLs imputed as 0 at the rate of
 * the row's cluster, either in all columns together or independently.
 */
static void
plant(float *x, size_t n, double spread, null_rate rate, bool together)
{
	fc_rng		rng = fc_rng_start(11, 0);
	double		centre[CLUSTERS][COLUMNS];

	for (size_t j = 0; j < CLUSTERS; j++)
		for (size_t c = 0; c < COLUMNS; c++)
			centre[j][c] = spread * fc_rng_normal(&rng);
	for (size_t i = 0; i < n; i++)
	{
		size_t		j = (size_t) fc_rng_below(&rng, CLUSTERS);
		double		place = fc_rng_uniform(&rng);

		for (size_t c = 0; c < COLUMNS; c++)
		{
			double		value = centre[j][c] + fc_rng_normal(&rng);
			bool		null = (together ? place : fc_rng_uniform(&rng)) < rate(j, c);

			x[i * DIM + WIDTH * c] = null ? 0.0f : (float) value;
			x[i * DIM + WIDTH * c + 1] = null ? 2.0f : -0.5f;
		}
	}
}

static void
ask(float *x, size_t n, bool informative[COLUMNS])
{
	fc_missing_column column[COLUMNS];

	for (size_t c = 0; c < COLUMNS; c++)
		column[c] = (fc_missing_column) {WIDTH * c, 1, WIDTH * c + 1};
	fc_missing_informative(x, n, DIM, column, COLUMNS, COLUMNS, 3, unit_work(), informative);
}

/* Returns a bit for each column whose NULLs are informative. */
static unsigned int
informative_bits(size_t n, double spread, null_rate rate, bool together)
{
	float	   *x = unit_alloc(n * DIM, sizeof(float));
	bool		informative[COLUMNS];
	unsigned int bits = 0;

	plant(x, n, spread, rate, together);
	ask(x, n, informative);
	for (size_t c = 0; c < COLUMNS; c++)
		bits |= (unsigned int) informative[c] << c;
	return bits;
}

static double
first_cluster(size_t cluster, size_t column)
{
	return column == 2 && cluster == 0 ? 0.98 : 0.01;
}

static double
twentieth(size_t cluster, size_t column)
{
	(void) cluster;
	(void) column;
	return 0.05;
}

static double
max(size_t cluster, size_t column)
{
	(void) cluster;
	(void) column;
	return 0.6;
}

static double
of_two_columns(size_t cluster, size_t column)
{
	(void) cluster;
	return column < 2 ? 0.3 : 0.0;
}

/* Rates from 10 to 25 % for two columns. */
static double
block_by_cluster(size_t cluster, size_t column)
{
	return column < 2 ? 0.1 + 0.05 * (double) cluster : 0.0;
}

/* Two columns are missing in the same rows. */
static double
cluster_of_two(size_t cluster, size_t column)
{
	return column < 2 && cluster == 1 ? 1.0 : 0.0;
}

/* Rates of 0, 15, 30 and 45 %, in another order for each column. */
static double
by_cluster(size_t cluster, size_t column)
{
	return 0.15 * (double) ((cluster + column) % CLUSTERS);
}

static double
all_or_none(size_t cluster, size_t column)
{
	return column == 4 || (column == 3 && cluster == 1) ? 1.0 : 0.0;
}

/*
 * NULLs that identify a cluster are informative; if two columns have the same
 * NULLs, only one of them is.
 */
static void
test_telling(void)
{
	CHECK(informative_bits(ROWS, 3.0, first_cluster, false) == 1 << 2, "a cluster: %x", informative_bits(ROWS, 3.0, first_cluster, false));
	CHECK(informative_bits(ROWS, 1.5, first_cluster, false) == 1 << 2, "an overlapping cluster: %x", informative_bits(ROWS, 1.5, first_cluster, false));
	CHECK(informative_bits(ROWS, 3.0, cluster_of_two, true) == 1, "a cluster by two columns: %x", informative_bits(ROWS, 3.0, cluster_of_two, true));
	CHECK(informative_bits(ROWS, 3.0, all_or_none, false) == 1 << 3, "all or none: %x", informative_bits(ROWS, 3.0, all_or_none, false));
}

/*
 * NULLs at random, or at rates that differ between clusters, are not
 * informative.
 */
static void
test_not_telling(void)
{
	CHECK(informative_bits(ROWS, 3.0, twentieth, false) == 0, "at random: %x", informative_bits(ROWS, 3.0, twentieth, false));
	CHECK(informative_bits(ROWS, 3.0, max, false) == 0, "most at random: %x", informative_bits(ROWS, 3.0, max, false));
	CHECK(informative_bits(ROWS, 3.0, of_two_columns, false) == 0, "two columns alone: %x", informative_bits(ROWS, 3.0, of_two_columns, false));
	CHECK(informative_bits(ROWS, 3.0, of_two_columns, true) == 0, "two columns together: %x", informative_bits(ROWS, 3.0, of_two_columns, true));
	CHECK(informative_bits(ROWS, 3.0, block_by_cluster, true) == 0, "a block by cluster: %x", informative_bits(ROWS, 3.0, block_by_cluster, true));
	CHECK(informative_bits(ROWS, 3.0, by_cluster, false) == 0, "rates by cluster: %x", informative_bits(ROWS, 3.0, by_cluster, false));
}

static double
never(size_t cluster, size_t column)
{
	(void) cluster;
	(void) column;
	return 0.0;
}

/*
 * All NULLs are imputed from other rows. Rows of the same cluster have a mean
 * squared difference of 2 per column, rows of any clusters about 20.
 */
static void
test_donors(void)
{
	size_t		size = (size_t) ROWS * DIM;
	float	   *full = unit_alloc(size, sizeof(float));
	float	   *x = unit_alloc(size, sizeof(float));
	float	   *y = unit_alloc(size, sizeof(float));
	fc_missing_column column[COLUMNS];
	bool		kept[COLUMNS] = {false};
	double		sum = 0.0;
	size_t		nulls = 0;
	size_t		left = 0;

	for (size_t c = 0; c < COLUMNS; c++)
		column[c] = (fc_missing_column) {WIDTH * c, 1, WIDTH * c + 1};
	plant(full, ROWS, 3.0, never, false);
	plant(x, ROWS, 3.0, twentieth, false);
	fc_missing_impute(x, ROWS, DIM, column, COLUMNS, kept, y, unit_work());
	for (size_t i = 0; i < size; i += WIDTH)
		if (x[i + 1] > 0.0f)
		{
			nulls++;
			left += y[i + 1] > 0.0f;
			sum += (y[i] - full[i]) * (y[i] - full[i]);
		}
		else
			CHECK(y[i] == x[i], "cell %zu changed", i);
	CHECK(left == 0 && sum / (double) nulls < 5.0, "%zu of %zu NULLs left, mean square %g", left, nulls, sum / (double) nulls);
}

/*
 * Of 200 columns with one NULL in five, no donor has all cells that a row
 * lacks. All are imputed nonetheless, and rows do not cluster by their donors:
 * of three clusters, three are found.
 */
static void
test_many_columns(void)
{
	enum
	{
		n = 1000, columns = 200, d = WIDTH * columns
	};
	float	   *x = unit_alloc((size_t) n * d, sizeof(float));
	float	   *y = unit_alloc((size_t) n * d, sizeof(float));
	float	   *values = unit_alloc((size_t) n * columns, sizeof(float));
	fc_missing_column column[columns];
	bool		kept[columns] = {false};
	fc_rng		rng = fc_rng_start(12, 0);
	fc_rows		rows = {.x = values,.n = n,.d = columns};
	fc_kmeans_options options = fc_kmeans_defaults();
	static fc_choice choice;

	for (size_t c = 0; c < columns; c++)
		column[c] = (fc_missing_column) {WIDTH * c, 1, WIDTH * c + 1};
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < columns; c++)
		{
			bool		null = fc_rng_uniform(&rng) < 0.2;
			float	   *cell = x + i * d + WIDTH * c;

			cell[0] = null ? 0.0f : (float) (fc_rng_normal(&rng) + (c % 3 == i % 3 ? 3.0 : 0.0));
			cell[1] = null ? 2.0f : -0.5f;
		}
	fc_missing_impute(x, n, d, column, columns, kept, y, unit_work());
	for (size_t i = 0; i < (size_t) n * columns; i++)
	{
		CHECK(y[WIDTH * i + 1] < 0.0f, "NULL left in row %zu", i / columns);
		values[i] = y[WIDTH * i];
	}
	fc_choose_k(&rows, false, 20, 0.0, NULL, &options, unit_work(), &choice);
	CHECK(choice.tried[choice.chosen].k == 3 && choice.verdict == FC_K_CLEAR, "%zu clusters, verdict %d", choice.tried[choice.chosen].k, (int) choice.verdict);
}

/*
 * Too few rows for clusters or evidence have no informative NULLs; 200 rows
 * are enough.
 */
static void
test_few_rows(void)
{
	for (size_t n = 1; n <= 20; n++)
		CHECK(informative_bits(n, 3.0, twentieth, false) == 0 && informative_bits(n, 3.0, by_cluster, false) == 0, "of %zu rows", n);
	CHECK(informative_bits(200, 3.0, first_cluster, false) == 1 << 2, "of 200 rows");
}

/*
 * Few NULLs, one of them in a row far from all rows except a complete one, are
 * not informative.
 */
static void
test_few_nulls(void)
{
	for (size_t nulls = 1; nulls <= 12; nulls++)
	{
		float		x[ROWS * DIM];
		bool		informative[COLUMNS];

		plant(x, ROWS, 3.0, never, false);
		x[WIDTH] = x[(ROWS - 1) * DIM + WIDTH] = 1e4f;
		for (size_t i = ROWS - nulls; i < ROWS; i++)
		{
			x[i * DIM] = 0.0f;
			x[i * DIM + 1] = 2.0f;
		}
		ask(x, ROWS, informative);
		CHECK(!informative[0], "%zu NULLs", nulls);
	}
}

/*
 * The NULLs of a column with a single value are informative, even of few rows.
 */
static void
test_one_value(void)
{
	float		x[ROWS * DIM];
	bool		informative[COLUMNS];

	for (size_t n = 30; n <= ROWS; n += ROWS - 30)
	{
		plant(x, n, 3.0, max, false);
		for (size_t i = 0; i < n; i++)
			x[i * DIM + WIDTH] = 0.0f;
		ask(x, n, informative);
		CHECK(informative[1] && !informative[0], "of %zu rows", n);
	}
}

int
main(void)
{
	test_telling();
	test_not_telling();
	test_few_rows();
	test_few_nulls();
	test_one_value();
	test_donors();
	test_many_columns();
	return unit_finish();
}
