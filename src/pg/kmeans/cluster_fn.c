/* cluster_fn.c - cluster_centroids: k-means of an operator's centroids by their weights */
#include "postgres.h"

#include "fmgr.h"
#include "utils/jsonb.h"

#include "base/sort.h"
#include "kmeans/kmeans.h"
#include "kmeans/ordered.h"
#include "kmeans/trimmed.h"
#include "operator/codebook.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

double
trim_argument(double trim)
{
	if (!(trim >= 0.0 && trim <= FC_TRIM_MOST))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("trim is %g, out of range", trim),
				 errdetail("It may be from 0 to %g.", FC_TRIM_MOST)));
	return trim;
}

/* The k x d centroids of option initial, in memory of the caller's; NULL: none. */
static double *
initial_argument(FunctionCallInfo fcinfo, int argument, Size k, Size d)
{
	fc_operator start;

	if (PG_ARGISNULL(argument))
		return NULL;
	open_operator(OPERATOR_ARG(argument), &start);
	if (start.k != k || start.d != d)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("initial centroids are %zu in %zu dimensions, not %zu in %zu", start.k, start.d, k, d)));
	return centroids_in_units(&start, NULL, NULL);
}

/* K-means of the rows that are the centroids of argument 0, by their weights, from the initial ones in such an argument. */
static Datum
cluster_rows(FunctionCallInfo fcinfo, Size k, fc_kmeans_options *options, int initial_at, double trim)
{
	fc_kmeans_result result = {0};
	account		memory = {"cluster_centroids"};
	fc_operator op;
	fc_arena	arena;
	float	   *rows;
	double	   *initial;

	open_operator(OPERATOR_ARG(0), &op);
	options->metric = op.metric;
	check_enough_rows(k, op.k);
	hold(&memory, op.k * op.d * sizeof(float) + 2 * k * (op.d + 1) * sizeof(double) + codebook_bytes(k, op.d));
	initial = initial_argument(fcinfo, initial_at, k, op.d);
	rows = expanded_rows(&op);
	arena = hold_arena(&memory);
	result.centroids = palloc_extended(k * op.d * sizeof(double), MCXT_ALLOC_HUGE);
	result.weights = palloc_extended(k * sizeof(double), MCXT_ALLOC_HUGE);
	check_status(fc_kmeans_around(rows, op.weights, op.k, op.d, k, op.offset, initial, trim, options, &arena, &result));
	release_arena(&arena);
	return PointerGetDatum(make_codebook_for(options->metric, unit_centroids(options->metric, result.centroids, k, op.d), result.weights, k, op.d));
}

/* (op, initial, most): the initial centroids moved until none has more than so much weight of the centroids of op, as far as that is possible. */
PG_FUNCTION_INFO_V1(fastclust_even_centroids);
Datum
fastclust_even_centroids(PG_FUNCTION_ARGS)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_operator initial;
	double		most = PG_GETARG_FLOAT8(2);

	if (!(most > 0.0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("most is %g, not positive", most)));
	open_operator(OPERATOR_ARG(1), &initial);
	options.n_init = options.iterations = 0;
	options.most = most;
	return cluster_rows(fcinfo, initial.k, &options, 1, 0.0);
}

/* (op, most): how many centroids of op are different, counted up to `most`. */
PG_FUNCTION_INFO_V1(fastclust_distinct_centroids);
Datum
fastclust_distinct_centroids(PG_FUNCTION_ARGS)
{
	account		memory = {"distinct_centroids"};
	fc_operator op;
	float	   *rows;
	fc_keyed   *items;
	size_t		distinct;

	open_operator(OPERATOR_ARG(0), &op);
	check_count("most", PG_GETARG_INT32(1), 1, FC_MAX_CLUSTERS);
	hold(&memory, op.k * (op.d * sizeof(float) + 2 * sizeof(fc_keyed)));
	rows = expanded_rows(&op);
	items = palloc_extended(2 * op.k * sizeof(fc_keyed), MCXT_ALLOC_HUGE);
	fc_count_distinct(rows, op.k, op.d * sizeof(float), (size_t) PG_GETARG_INT32(1), items, &distinct);
	pfree(rows);
	pfree(items);
	PG_RETURN_INT32((int32) distinct);
}

/* (op, k, options, initial, trim): k centroids of the rows that are the centroids of op, by their weights. */
PG_FUNCTION_INFO_V1(fastclust_cluster_centroids);
Datum
fastclust_cluster_centroids(PG_FUNCTION_ARGS)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	double		trim = PG_ARGISNULL(4) ? 0.0 : trim_argument(PG_GETARG_FLOAT8(4));

	for (int i = 0; i < 3; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	check_count("k", PG_GETARG_INT32(1), 1, FC_MAX_CLUSTERS);
	read_kmeans_options(PG_GETARG_JSONB_P(2), PG_ARGISNULL(3) ? 1 : 0, &options);
	return cluster_rows(fcinfo, (Size) PG_GETARG_INT32(1), &options, 3, trim);
}
