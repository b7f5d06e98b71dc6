/* missing.c - informative missingness; see missing.h */
#include "kmeans/missing.h"

#include "base/sort.h"
#include "numerics/rows.h"

/*
 * Minimum number of rows of the first half per small cluster. With fewer rows
 * there are more clusters, which explain more NULLs, but also more by chance.
 * A guess.
 */
#define MIN_ROWS_PER_CLUSTER	20

/*
 * Minimum number of NULLs of a column in the second half of the rows, and of
 * rows of this half in a cluster. With fewer, a single NULL in an outlying row
 * would explain much. A larger one misses informative NULLs that are rare. A
 * guess.
 */
#define MIN_NULLS	8

typedef struct missing_values
{
	const float *x;				/* n x d: rows with indicators set to 0 */
	size_t		n;
	size_t		d;
	size_t		count;			/* number of columns with NULLs */
	size_t		m;				/* number of clusters */
	size_t		words;			/* number of 64-bit words that hold a bit for
								 * each row */
	uint64_t   *null;			/* count x words: bit i of a column is set if
								 * the column is NULL in row i */
	double	   *centroids;		/* m x d */
	double	   *weights;		/* m: weights of the clusters */
	float	   *rounded;		/* m x d: centroids in float */
	double	   *squares;		/* m: squared distances of one row to the
								 * centroids, by all columns */
	double	   *others;			/* m: squared distances of one row to the
								 * centroids, without the columns under test */
	size_t	   *group;			/* count: index of the first column that is
								 * missing together with the column */
	size_t	   *order;			/* count: indices of the columns, sorted so
								 * that members of a group are adjacent */
	uint32_t   *rows;			/* count x m: for each column, number of rows
								 * of the second half per cluster */
	uint32_t   *nulls;			/* count x m: for each column, number of its
								 * NULLs in the second half per cluster */
	double	   *explained;		/* count: R^2 (missing.h), or 0 if it is not
								 * significant */
} missing_values;

static missing_values
take_missing(size_t n, size_t d, size_t count, fc_arena *arena)
{
	missing_values q = {
		.n = n,
		.d = d,
		.count = count,
		.m = n / 2 / MIN_ROWS_PER_CLUSTER,
		.words = (n + 63) / 64
	};

	q.m = q.m < FC_MISSING_CLUSTERS ? q.m : FC_MISSING_CLUSTERS;
	q.null = FC_TAKE(arena, count * q.words, uint64_t);
	q.centroids = FC_TAKE(arena, q.m * d, double);
	q.weights = FC_TAKE(arena, q.m, double);
	q.rounded = FC_TAKE(arena, q.m * d, float);
	q.squares = FC_TAKE(arena, q.m, double);
	q.others = FC_TAKE(arena, q.m, double);
	q.group = FC_TAKE(arena, count, size_t);
	q.order = FC_TAKE(arena, count, size_t);
	q.rows = FC_TAKE(arena, count * q.m, uint32_t);
	q.nulls = FC_TAKE(arena, count * q.m, uint32_t);
	q.explained = FC_TAKE(arena, count, double);
	return q;
}

static inline bool
is_null(const missing_values *q, size_t column, size_t row)
{
	return q->null[column * q->words + row / 64] >> (row % 64) & 1;
}

/* Stores the indicators as bits in q->null, and sets them to 0 in x. */
static void
take_indicators(missing_values *q, float *x, const fc_missing_column *column)
{
	memset(q->null, 0, q->count * q->words * sizeof(uint64_t));
	for (size_t i = 0; i < q->n; i++)
		for (size_t c = 0; c < q->count; c++)
		{
			float	   *indicator = x + i * q->d + column[c].indicator;

			if (*indicator > 0.0f)
				q->null[c * q->words + i / 64] |= UINT64_C(1) << (i % 64);
			*indicator = 0.0f;
		}
	q->x = x;
}

/*
 * Returns true if the column is not NULL in two or more rows, and has the same
 * value in all of these.
 */
static bool
is_constant(const missing_values *q, const fc_missing_column *column, size_t c)
{
	const float *first = NULL;
	size_t		values = 0;

	for (size_t i = 0; i < q->n; i++)
	{
		const float *value = q->x + i * q->d + column[c].first;

		if (is_null(q, c, i))
			continue;
		first = values++ == 0 ? value : first;
		if (memcmp(value, first, column[c].values * sizeof(float)) != 0)
			return false;
	}
	return values > 1;
}

/*
 * Clusters the first half of the rows into q->m small clusters by k-means.
 * Stores the centroids in q->centroids and, as floats, in q->rounded. Stores
 * the weights of the clusters in q->weights.
 */
static void
assign_clusters(missing_values *q, uint64_t seed, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_rows		rows = {.x = q->x,.n = q->n / 2,.d = q->d};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {.centroids = q->centroids,.weights = q->weights};

	options.n_init = 1;
	options.rounds = 0;
	options.iterations = 20;
	options.tolerance = 1e-3;
	options.seed = seed;
	fc_kmeans(&rows, q->m, NULL, &options, arena, &result);
	fc_arena_release(arena, mark);
	fc_narrow(q->centroids, q->m * q->d, q->rounded);
}

/* ---- columns that are missing together ---- */

/*
 * Returns phi^2, the squared correlation between the NULLs of two columns in n
 * rows, or 0 if a column is never or always NULL. nulls: number of NULLs in
 * the first column, in the second, and in both.
 */
static double
squared_phi(const double nulls[3], double n)
{
	double		shares[3] = {nulls[0] / n, nulls[1] / n, nulls[2] / n};
	double		variances = (shares[0] * (1.0 - shares[0]) * shares[1] *
							 (1.0 - shares[1]));

	return variances > 0.0 ? (shares[2] - shares[0] * shares[1]) *
		(shares[2] - shares[0] * shares[1]) / variances
		: 0.0;
}

/* Returns phi^2 of the NULLs of columns a and b (squared_phi). */
static double
correlation(const missing_values *q, size_t a, size_t b)
{
	const uint64_t *left = q->null + a * q->words;
	const uint64_t *right = q->null + b * q->words;
	double		nulls[3] = {0.0, 0.0, 0.0};

	for (size_t w = 0; w < q->words; w++)
	{
		nulls[0] += __builtin_popcountll(left[w]);
		nulls[1] += __builtin_popcountll(right[w]);
		nulls[2] += __builtin_popcountll(left[w] & right[w]);
	}
	return squared_phi(nulls, (double) q->n);
}

static void
group_columns(missing_values *q)
{
	size_t		n = 0;

	for (size_t c = 0; c < q->count; c++)
		q->group[c] = c;
	for (size_t b = 0; b < q->count; b++)
		for (size_t a = 0; a < b; a++)
		{
			fc_check();
			if (q->group[a] != q->group[b] &&
				correlation(q, a, b) >=
				FC_MISSING_TOGETHER * FC_MISSING_TOGETHER)
			{
				size_t		kept = smaller(q->group[a], q->group[b]);
				size_t		joined = larger(q->group[a], q->group[b]);

				for (size_t c = 0; c < q->count; c++)
					if (q->group[c] == joined)
						q->group[c] = kept;
			}
		}
	for (size_t g = 0; g < q->count; g++)
		for (size_t c = g; c < q->count && q->group[g] == g; c++)
			if (q->group[c] == g)
				q->order[n++] = c;
}

/* ---- NULLs that the other columns explain ---- */

/*
 * Returns the index of the cluster nearest to a row, measured in all
 * dimensions except the dimensions of columns order[first] to order[last - 1].
 */
static size_t
nearest_without(missing_values *q, const float *x,
				const fc_missing_column *column, size_t first, size_t last)
{
	size_t		nearest = 0;

	for (size_t j = 0; j < q->m; j++)
	{
		q->others[j] = q->squares[j];
		for (size_t i = first; i < last; i++)
		{
			const fc_missing_column *own = &column[q->order[i]];

			q->others[j] -= fc_row_gap(x + own->first,
									   q->rounded + j * q->d + own->first,
									   own->values);
		}
		nearest = q->others[j] < q->others[nearest] ? j : nearest;
	}
	return nearest;
}

static void
count_nulls(missing_values *q, const fc_missing_column *column)
{
	memset(q->rows, 0, q->count * q->m * sizeof(uint32_t));
	memset(q->nulls, 0, q->count * q->m * sizeof(uint32_t));
	for (size_t row = q->n / 2; row < q->n; row++)
	{
		const float *x = q->x + row * q->d;

		fc_check();
		for (size_t j = 0; j < q->m; j++)
			q->squares[j] = fc_row_gap(x, q->rounded + j * q->d, q->d);
		for (size_t first = 0, last; first < q->count; first = last)
		{
			size_t		nearest;

			for (last = first + 1;
				 last < q->count &&
				 q->group[q->order[last]] == q->group[q->order[first]];)
				last++;
			nearest = nearest_without(q, x, column, first, last);
			for (size_t i = first; i < last; i++)
			{
				q->rows[q->order[i] * q->m + nearest]++;
				q->nulls[q->order[i] * q->m + nearest] += is_null(q,
																  q->order[i],
																  row);
			}
		}
	}
}

/*
 * Returns the quantile of the chi-squared distribution that corresponds to
 * quantile z of the normal distribution (Wilson and Hilferty 1931).
 */
static double
greatest_by_chance(double degrees, double z)
{
	double		root = (1.0 - 2.0 / (9.0 * degrees) +
						z * sqrt(2.0 / (9.0 * degrees)));

	return degrees * root * root * root;
}

static double
explained_by_clusters(const missing_values *q, size_t c, double z)
{
	const uint32_t *rows = q->rows + c * q->m;
	const uint32_t *nulls = q->nulls + c * q->m;
	double		n = (double) (q->n - q->n / 2);
	double		share = 0.0;
	double		between = 0.0;
	double		degrees = -1.0;

	for (size_t j = 0; j < q->m; j++)
		share += nulls[j] / n;
	if (!(share * n >= MIN_NULLS && share < 1.0))
		return 0.0;
	for (size_t j = 0; j < q->m; j++)
		if (rows[j] >= MIN_NULLS)
		{
			double		gap = (double) nulls[j] / rows[j] - share;

			between += rows[j] * gap * gap / (share * (1.0 - share));
			degrees += 1.0;
		}
	return degrees >= 1.0 && between > greatest_by_chance(degrees, z)
		? (between - degrees) / n
		: 0.0;
}

static void
judge(missing_values *q, size_t columns, bool *informative)
{
	/*
	 * An upper bound on the normal deviate that is exceeded with probability
	 * FC_MISSING_LEVEL / count, as P(Z > z) < exp(-z^2 / 2).
	 */
	double		z = sqrt(2.0 * log((double) q->count / FC_MISSING_LEVEL));
	size_t		slight = 0;
	double		min;

	for (size_t c = 0; c < q->count; c++)
	{
		q->explained[c] = explained_by_clusters(q, c, z);
		slight += q->explained[c] >= FC_MISSING_SLIGHT;
	}
	min = slight <= 1 ? FC_MISSING_ALONE
		: 2 * slight <= columns + 1 ? FC_MISSING_FEW
		: FC_MISSING_MANY;
	for (size_t c = 0; c < q->count; c++)
	{
		informative[c] |= q->explained[c] >= min;
		for (size_t b = 0; b < c && informative[c]; b++)
			informative[c] = !informative[b] ||
				correlation(q, b, c) <
				FC_MISSING_SAME * FC_MISSING_SAME;
	}
}

void
fc_missing_informative(float *x, size_t n, size_t d,
					   const fc_missing_column *column, size_t count,
					   size_t columns, uint64_t seed, fc_arena *arena,
					   bool *informative)
{
	fc_mark		mark = fc_arena_mark(arena);
	missing_values q = take_missing(n, d, count, arena);

	take_indicators(&q, x, column);
	for (size_t c = 0; c < count; c++)
		informative[c] = is_constant(&q, column, c);
	if (q.m >= 2)
	{
		assign_clusters(&q, seed, arena);
		group_columns(&q);
		count_nulls(&q, column);
		judge(&q, columns, informative);
	}
	fc_arena_release(arena, mark);
}

/* ---- imputed rows ---- */

typedef struct imputation
{
	const float *x;				/* n x d */
	size_t		d;
	const fc_missing_column *column;
	size_t		count;
	bool	   *kept;			/* count: true if the NULL indicator of the
								 * column is kept */
	size_t	   *kept_column;	/* indices of the columns with a kept
								 * indicator */
	size_t		kept_count;
	size_t		donors;
	float	   *known;			/* donors x d: 1 for a dimension that is known
								 * in the donor, 0 for NULLs and for
								 * indicators */
	float	   *known_here;		/* d: 1 for a dimension that is known in the
								 * row to impute, else 0 */

	/*
	 * `donors` values: mean squared difference between the row and each
	 * donor, over the dimensions known in both
	 */
	double	   *gap;

	/*
	 * count x FC_MISSING_NEAR: gaps between the row and its nearest donors,
	 * ascending; measured without the column
	 */
	double	   *nearest;
	bool	   *null;			/* count x FC_MISSING_NEAR: true if the column
								 * is NULL in this one of the nearest donors */
	bool	   *wanted;			/* count: true if the column is to be NULL in
								 * the row */

	/*
	 * count: true if a donor that provides all cells of the row must agree
	 * with `wanted` in the column: NULL if `wanted` is true, not NULL if it
	 * is false
	 */
	bool	   *exact;
	fc_keyed   *order;			/* all donors, sorted by ascending gap */
	fc_keyed   *scratch;		/* `donors` elements of scratch space for
								 * sorting */
} imputation;

static imputation
take_imputation(const float *x, size_t n, size_t d, const fc_missing_column *column,
				size_t count, fc_arena *arena)
{
	imputation	q = {
		.x = x,
		.d = d,
		.column = column,
		.count = count,
		.donors = n < FC_MISSING_DONORS ? n : FC_MISSING_DONORS
	};

	q.kept_column = FC_TAKE(arena, count, size_t);
	q.known = FC_TAKE(arena, q.donors * d, float);
	q.known_here = FC_TAKE(arena, d, float);
	q.gap = FC_TAKE(arena, q.donors, double);
	q.nearest = FC_TAKE(arena, count * FC_MISSING_NEAR, double);
	q.null = FC_TAKE(arena, count * FC_MISSING_NEAR, bool);
	q.wanted = FC_TAKE(arena, count, bool);
	q.exact = FC_TAKE(arena, count, bool);
	q.order = FC_TAKE(arena, q.donors, fc_keyed);
	q.scratch = FC_TAKE(arena, q.donors, fc_keyed);
	return q;
}

static inline bool
has_null(const imputation *q, size_t row, size_t c)
{
	return q->x[row * q->d + q->column[c].indicator] > 0.0f;
}

/*
 * Sets q->kept[c] to true for each column c that has the same NULLs as a kept
 * column: |phi| of their NULLs in the n rows is at least FC_MISSING_SAME.
 */
static void
keep_same(imputation *q, size_t n)
{
	for (size_t c = 0; c < q->count; c++)
		for (size_t b = 0; b < q->count && !q->kept[c]; b++)
		{
			double		nulls[3] = {0.0, 0.0, 0.0};

			for (size_t i = 0; i < n && q->kept[b]; i++)
			{
				nulls[0] += has_null(q, i, b);
				nulls[1] += has_null(q, i, c);
				nulls[2] += has_null(q, i, b) && has_null(q, i, c);
			}
			q->kept[c] = q->kept[b] && squared_phi(nulls, (double) n) >=
				FC_MISSING_SAME * FC_MISSING_SAME;
		}
}

/*
 * Inserts a donor into the list of the row's nearest donors for column c, if
 * it is among the FC_MISSING_NEAR nearest. null: true if the column is NULL in
 * the donor.
 */
static void
insert_donor(imputation *q, size_t c, double gap, bool null)
{
	double	   *nearest = q->nearest + c * FC_MISSING_NEAR;
	bool	   *nulls = q->null + c * FC_MISSING_NEAR;
	size_t		place = FC_MISSING_NEAR;

	for (; place > 0 && gap < nearest[place - 1]; place--)
		if (place < FC_MISSING_NEAR)
		{
			nearest[place] = nearest[place - 1];
			nulls[place] = nulls[place - 1];
		}
	if (place < FC_MISSING_NEAR)
	{
		nearest[place] = gap;
		nulls[place] = null;
	}
}

/*
 * Sets known (d) to 1 for dimensions that are known in a row, and to 0 for
 * NULLs and for indicators.
 */
static void
mark_known(const imputation *q, size_t row, float *known)
{
	for (size_t i = 0; i < q->d; i++)
		known[i] = 1.0f;
	for (size_t c = 0; c < q->count; c++)
	{
		known[q->column[c].indicator] = 0.0f;
		for (size_t i = 0; i < q->column[c].values && has_null(q, row, c); i++)
			known[q->column[c].first + i] = 0.0f;
	}
}

/*
 * Computes q->gap from the row to all donors, q->exact, and the nearest donors
 * for each column in q->kept_column. The gap is infinite for the row itself,
 * and for donors in which less than half of the row's known dimensions are
 * known.
 */
static void
measure_donors(imputation *q, size_t row)
{
	const float *x = q->x + row * q->d;
	double		known = 0.0;	/* number of the row's known dimensions */

	mark_known(q, row, q->known_here);
	for (size_t i = 0; i < q->d; i++)
		known += (double) q->known_here[i];
	for (size_t c = 0; c < q->count; c++)
	{
		bool		null = has_null(q, row, c);

		q->exact[c] = null || q->kept[c];
		for (size_t i = c * FC_MISSING_NEAR; i < (c + 1) * FC_MISSING_NEAR; i++)
		{
			q->nearest[i] = INFINITY;
			q->null[i] = null;
		}
	}
	for (size_t j = 0; j < q->donors; j++)
	{
		const float *donor = q->x + j * q->d;
		double		shared;
		double		total = fc_known_gap(x, q->known_here, donor, q->known + j * q->d, q->d,
										 &shared);

		q->gap[j] = j == row || shared < 1.0 || 2.0 * shared < known
			? INFINITY
			: total / shared;
		for (size_t i = 0; i < q->kept_count && isfinite(q->gap[j]); i++)
		{
			size_t		c = q->kept_column[i];
			bool		both = !has_null(q, row, c) && !has_null(q, j, c);
			double		others = (shared -
								  (both ? (double) q->column[c].values : 0.0));
			double		gap = (total -
							   (both ? fc_row_gap(x + q->column[c].first,
												  donor + q->column[c].first,
												  q->column[c].values)
								: 0.0));

			if (others >= 1.0)
				insert_donor(q, c, gap / others, has_null(q, j, c));
		}
	}
}

/*
 * Sets q->wanted[c] to true if column c is to be NULL in the row, else to
 * false. Returns true if a cell of the row must change, so that a donor is
 * needed.
 */
static bool
choose_nulls(imputation *q, size_t row)
{
	bool		needed = false;

	for (size_t c = 0; c < q->count; c++)
	{
		bool		own = has_null(q, row, c);
		size_t		nulls = 0;

		for (size_t i = 0; i < FC_MISSING_NEAR; i++)
			nulls += q->null[c * FC_MISSING_NEAR + i];
		q->wanted[c] = q->kept[c] && (4 * nulls > 3 * FC_MISSING_NEAR ||
									  (own && 4 * nulls >= FC_MISSING_NEAR));
		needed |= q->wanted[c] != own;
	}
	return needed;
}

/* Sorts the donors with a finite gap by their gap; returns their number. */
static size_t
sort_donors(imputation *q)
{
	size_t		count = 0;

	for (size_t j = 0; j < q->donors; j++)
		if (isfinite(q->gap[j]))
			q->order[count++] = (fc_keyed)
		{
			fc_number_key(q->gap[j]), j
		};
	fc_sort(q->order, count, q->scratch);
	return count;
}

static bool
suits(const imputation *q, size_t donor)
{
	for (size_t c = 0; c < q->count; c++)
		if (q->exact[c] && has_null(q, donor, c) != q->wanted[c])
			return false;
	return true;
}

/*
 * Copies cells of donors into y, the row to impute, where its cells are to
 * change. All come from the nearest donor that has all of them. If there is no
 * such donor, each cell comes from the nearest donor that has it, or stays as
 * it is if no donor has it.
 */
static void
copy_cells(imputation *q, size_t row, float *y)
{
	size_t		count = sort_donors(q);
	size_t		all = 0;

	while (all < count && !suits(q, q->order[all].value))
		all++;
	for (size_t c = 0; c < q->count; c++)
	{
		size_t		i = all < count ? all : 0;

		if (q->wanted[c] == has_null(q, row, c))
			continue;
		while (i < count && has_null(q, q->order[i].value, c) != q->wanted[c])
			i++;
		if (i < count)
			memcpy(y + q->column[c].first,
				   q->x + q->order[i].value * q->d + q->column[c].first,
				   (q->column[c].values + 1) * sizeof(float));
	}
}

/*
 * Cost of the gap between a row and a donor, in multiply-adds, for estimates
 * of the time: COST_OF_DONOR for each pair, and COST_OF_DIMENSION for each
 * dimension of a pair. With lower ones, a call takes longer than estimated.
 * Measured with 2 to 1,000 columns.
 */
#define COST_OF_DONOR	45.0
#define COST_OF_DIMENSION	2.3

double
fc_missing_impute_operations(size_t n, size_t d)
{
	return (double) n * (double) smaller(n, FC_MISSING_DONORS) *
		(COST_OF_DONOR + COST_OF_DIMENSION * (double) d);
}

void
fc_missing_impute(const float *x, size_t n, size_t d,
				  const fc_missing_column *column, size_t count, bool *kept,
				  float *y, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	imputation	q = take_imputation(x, n, d, column, count, arena);

	q.kept = kept;
	keep_same(&q, n);
	for (size_t c = 0; c < count; c++)
		if (kept[c])
			q.kept_column[q.kept_count++] = c;
	memcpy(y, x, n * d * sizeof(float));
	for (size_t j = 0; j < q.donors; j++)
		mark_known(&q, j, q.known + j * d);
	for (size_t row = 0; row < n; row++)
	{
		fc_check();
		measure_donors(&q, row);
		if (choose_nulls(&q, row))
			copy_cells(&q, row, y + row * d);
	}
	fc_arena_release(arena, mark);
}
