/*
 * cluster_fn.c - of rows that are an operator's centroids: k-means by their
 * weights, and the number of clusters
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/sort.h"
#include "pg/base/progress.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

/* The k x d centroids of a start, in memory of the caller's; NULL: none. */
static double *
initial_centroids(const fc_operator_header *header, Size k, Size d)
{
	fc_operator start;

	if (header == NULL)
		return NULL;
	open_operator(header, &start);
	if (start.k != k || start.d != d)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("initial centroids are %zu in %zu dimensions, not %zu in %zu",
					   start.k, start.d, k, d));
	return centroids_in_units(&start, NULL, NULL);
}

#define TRIMMED	8.0				/* passes over all rows and centroids, until
								 * those left out stay (measured) */

fc_operator_header *
cluster_rows(const fc_operator_header *header, Size k,
			 fc_kmeans_options *options, const fc_operator_header *start,
			 double trim)
{
	fc_kmeans_result result = {0};
	memory_account memory = {"k-means of a sample"};
	fc_operator op;
	fc_operator_header *found;
	fc_arena	arena;
	float	   *rows;
	double	   *initial;

	open_operator(header, &op);
	options->metric = op.metric;
	check_enough_rows(k, op.k);
	announce_work(psprintf("k-means of %zu rows takes", op.k),
				  (trim > 0.0 ? TRIMMED * (double) op.k * (double) k * op.d
				   : 0.0) +
				  fc_kmeans_operations(op.k, op.d, k, options),
				  false, "Lower k or option sample_rows");
	hold(&memory, op.k * op.d * sizeof(float) +
		 2 * k * (op.d + 1) * sizeof(double) +
		 codebook_bytes(k, op.d));
	initial = initial_centroids(start, k, op.d);
	rows = expanded_rows(&op);
	arena = hold_arena(&memory);
	result.centroids = alloc_large(k * op.d * sizeof(double));
	result.weights = alloc_large(k * sizeof(double));
	check_status(fc_kmeans_around(rows, op.weights, op.k, op.d, k, op.offset,
								  initial, trim, options, &arena, &result));
	release_arena(&arena);
	pfree(rows);
	found = make_codebook_for(options->metric,
							  unit_centroids(options->metric, result.centroids,
											 k, op.d),
							  result.weights, k, op.d);
	pfree(result.centroids);
	pfree(result.weights);
	return found;
}

fc_operator_header *
even_clusters(const fc_operator_header *rows, const fc_operator_header *start,
			  double most)
{
	fc_kmeans_options options = fc_kmeans_defaults();

	options.n_init = options.iterations = 0;
	options.most = most;
	return cluster_rows (rows, start->k, &options, start, 0.0);
}

Size
distinct_rows(const fc_operator_header *header, Size most)
{
	memory_account memory = {"a sample"};
	fc_operator op;
	float	   *rows;
	fc_keyed   *items;
	size_t		distinct;

	open_operator(header, &op);
	hold(&memory, op.k * (op.d * sizeof(float) + 2 * sizeof(fc_keyed)));
	rows = expanded_rows(&op);
	items = alloc_large(2 * op.k * sizeof(fc_keyed));
	fc_count_distinct(rows, op.k, op.d * sizeof(float), most, items, &distinct);
	pfree(rows);
	pfree(items);
	return distinct;
}

/* ---- the number of clusters ---- */

/* Rows about the offset of op come to be about 0. */
static void
move_to_origin(const fc_operator *op, float *x)
{
	for (Size j = 0; op->offset != NULL && j < op->k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < op->d; i++)
			x[j * op->d + i] = (float) ((double) x[j * op->d + i] +
										op->offset[i]);
	}
}

fc_choice *
choose_clusters(const fc_operator_header *header, Size max_k, int64 seed,
				double trim, const bool *apart)
{
	memory_account memory = {"choose_k"};
	fc_choice  *choice = palloc(sizeof(fc_choice));
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_operator op;
	fc_arena	arena;
	fc_rows		rows;
	float	   *x;
	fc_sphere	sphere;
	double		unit;

	check_count("max_k", (int64) max_k, 1, FC_EVIDENCE_CLUSTERS);
	open_operator(header, &op);
	announce_work(psprintf("trying numbers of clusters on %zu rows takes",
						   op.k),
				  fc_choose_k_operations(op.k, op.d, max_k), false,
				  "Lower max_k or option sample_rows");
	hold(&memory, op.k * op.d * sizeof(float));
	x = expanded_rows(&op);
	if (op.metric == FC_COSINE)
		move_to_origin(&op, x);
	unit = fc_scale_rows(x, op.k * op.d);
	sphere = (fc_sphere)
	{
		NULL, unit
	};
	rows = (fc_rows)
	{
		.x = x,.n = op.k,.d = op.d
	};
	options.seed = (uint64) seed;
	options.sphere = op.metric == FC_COSINE ? &sphere : NULL;
	arena = hold_arena(&memory);
	fc_choose_k(&rows, max_k, trim, apart, &options, &arena, choice);
	release_arena(&arena);
	for (Size i = 0; i < choice->count; i++)
		choice->tried[i].evidence.cost = choice->tried[i].evidence.cost / unit /
			unit;
	return choice;
}
