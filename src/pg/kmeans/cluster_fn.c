/*
 * cluster_fn.c - k-means of weighted rows, and the choice of the number of
 * clusters
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/sort.h"
#include "pg/base/progress.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

/*
 * Returns the k x d centroids of an operator in the current memory context;
 * NULL if header is NULL.
 */
static double *
initial_centroids(const fc_operator_header *header, Size k, Size d)
{
	fc_operator start;

	if (header == NULL)
		return NULL;
	open_operator(header, &start);
	if (start.k != k || start.d != d)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("there are %zu initial centroids in %zu dimensions, but must be %zu in %zu",
					   start.k, start.d, k, d));
	return rescaled_centroids(&start, NULL, NULL);
}

/*
 * Returns a copy of the n x d values, for functions that change their input.
 */
static float *
copied_values(const fc_weighted_rows *rows)
{
	Size		bytes = rows->n * rows->d * sizeof(float);

	return memcpy(alloc_large(bytes), rows->values, bytes);
}

/*
 * Minimum number of columns for which k-means leaves out columns of zeros. A
 * guess.
 */
#define MIN_WIDE_COLUMNS	256

/*
 * Lists in `column` the columns on which k-means runs, and returns their
 * number. In wide rows, columns that are zero in all rows and initial
 * centroids are left out if they are more than half of all. For fewer, the
 * copy of the rows takes about as long as k-means saves.
 */
static Size
columns_of_kmeans(const fc_weighted_rows *rows, const double *initial, Size k, uint32 *column)
{
	Size		count = rows->d;

	if (rows->d >= MIN_WIDE_COLUMNS)
		count = fc_weighted_columns(rows, initial, initial != NULL ? k : 0, column);
	if (count < rows->d / 2 && count > 0)
		return count;
	for (Size c = 0; c < rows->d; c++)
		column[c] = (uint32) c;
	return rows->d;
}

/*
 * Returns a copy of the rows that has only the `count` listed columns. Reduces
 * the centroids (k x d) to these columns, too, unless they are NULL.
 */
static float *
take_columns(const fc_weighted_rows *rows, const uint32 *column, Size count,
			 double *centroids, Size k)
{
	float	   *x = alloc_large(rows->n * count * sizeof(float));

	for (Size i = 0; i < rows->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size c = 0; c < count; c++)
			x[i * count + c] = rows->values[i * rows->d + column[c]];
	}
	for (Size j = 0; j < k && centroids != NULL; j++)
		for (Size c = 0; c < count; c++)
			centroids[j * count + c] = centroids[j * rows->d + column[c]];
	return x;
}

/*
 * Expands k centroids from the `count` listed columns to d columns, in place.
 * All other columns become zero.
 */
static void
fill_columns(double *centroids, Size k, Size d, const uint32 *column, Size count)
{
	for (Size j = k; j-- > 0 && count < d;)
		for (Size c = d, left = count; c-- > 0;)
		{
			bool		taken = left > 0 && column[left - 1] == c;

			centroids[j * d + c] = taken ? centroids[j * count + --left] : 0.0;
		}
}

/*
 * Number of passes over all rows and centroids in which the set of trimmed
 * rows becomes stable, for estimates of the time. Measured (bench/endless.py).
 */
#define TRIMMED_PASSES	8.0

fc_codebook *
kmeans_of_rows(const fc_weighted_rows *rows, Size k, fc_kmeans_options *options,
			   const fc_codebook *start, double trim)
{
	fc_kmeans_result result = {0};
	memory_account memory = {"k-means of a sample"};
	Size		n = rows->n;
	Size		d = rows->d;
	fc_operator_header *found;
	fc_arena	arena;
	float	   *taken = NULL;
	double	   *initial;
	double	   *origin = NULL;
	uint32	   *column = palloc(d * sizeof(uint32));
	Size		count;

	options->metric = rows->metric;
	check_enough_rows(k, n);
	announce_work(psprintf("k-means of %zu rows takes", n),
				  (trim > 0.0 ? TRIMMED_PASSES * (double) n * (double) k * d : 0.0) +
				  fc_kmeans_operations(n, d, k, options),
				  false, "Lower k or option sample_rows");
	charge_memory(&memory, n * d * sizeof(float) +
				  2 * k * (d + 1) * sizeof(double) + codebook_bytes(k, d));
	initial = initial_centroids(start, k, d);
	count = columns_of_kmeans(rows, initial, k, column);
	if (count < d)
		taken = take_columns(rows, column, count, initial, k);
	if (rows->offset != NULL)
	{
		origin = palloc(count * sizeof(double));
		for (Size c = 0; c < count; c++)
			origin[c] = rows->offset[column[c]];
	}
	arena = charged_arena(&memory);
	result.centroids = alloc_large(k * d * sizeof(double));
	result.weights = alloc_large(k * sizeof(double));
	check_status(fc_kmeans_around(taken != NULL ? taken : rows->values,
								  rows->weights, n, count, k, origin, initial,
								  trim, options, &arena, &result));
	release_arena(&arena);
	if (taken != NULL)
		pfree(taken);
	fill_columns(result.centroids, k, d, column, count);
	found = make_codebook_for(options->metric,
							  unit_centroids(options->metric, result.centroids,
											 k, d),
							  result.weights, k, d);
	pfree(result.centroids);
	pfree(result.weights);
	pfree(column);
	return found;
}

fc_codebook *
even_clusters(const fc_weighted_rows *rows, const fc_codebook *start,
			  double max)
{
	fc_kmeans_options options = fc_kmeans_defaults();

	options.n_init = options.iterations = 0;
	options.max = max;
	return kmeans_of_rows(rows, start->k, &options, start, 0.0);
}

Size
distinct_rows(const fc_weighted_rows *rows, Size max)
{
	memory_account memory = {"a sample"};
	fc_keyed   *items;
	size_t		distinct;

	charge_memory(&memory, 2 * rows->n * sizeof(fc_keyed));
	items = alloc_large(2 * rows->n * sizeof(fc_keyed));
	fc_count_distinct(rows->values, rows->n, rows->d * sizeof(float), max,
					  items, &distinct);
	pfree(items);
	return distinct;
}

/* ---- the number of clusters ---- */

/*
 * Adds the offset of the rows to x, which has their values relative to the
 * offset.
 */
static void
move_to_origin(const fc_weighted_rows *rows, float *x)
{
	for (Size j = 0; rows->offset != NULL && j < rows->n; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < rows->d; i++)
			x[j * rows->d + i] = (float) ((double) x[j * rows->d + i] +
										  rows->offset[i]);
	}
}

fc_choice *
choose_clusters(const fc_weighted_rows *sample, bool halved, Size max_k, int64 seed,
				double trim, const bool *apart)
{
	memory_account memory = {"choose_k"};
	fc_choice  *choice = palloc(sizeof(fc_choice));
	fc_kmeans_options options = fc_kmeans_defaults();
	Size		n = sample->n;
	Size		d = sample->d;
	fc_arena	arena;
	fc_rows		rows;
	float	   *x;
	fc_sphere	sphere;
	double		unit;

	check_count("max_k", (int64) max_k, 1, FC_EVIDENCE_CLUSTERS);
	announce_work(psprintf("trying numbers of clusters on %zu rows takes", n),
				  fc_choose_k_operations(n, d, max_k), false,
				  "Lower max_k or option sample_rows");
	charge_memory(&memory, n * d * sizeof(float));
	x = copied_values(sample);
	if (sample->metric == FC_COSINE)
		move_to_origin(sample, x);
	unit = fc_scale_rows(x, n * d);
	sphere = (fc_sphere)
	{
		NULL, unit
	};
	rows = (fc_rows)
	{
		.x = x,.n = n,.d = d
	};
	options.seed = (uint64) seed;
	options.sphere = sample->metric == FC_COSINE ? &sphere : NULL;
	arena = charged_arena(&memory);
	fc_choose_k(&rows, halved, max_k, trim, apart, &options, &arena, choice);
	release_arena(&arena);
	for (Size i = 0; i < choice->count; i++)
		choice->tried[i].evidence.cost = choice->tried[i].evidence.cost / unit /
			unit;
	return choice;
}
