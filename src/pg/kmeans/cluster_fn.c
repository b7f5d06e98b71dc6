/* cluster_fn.c - cluster_centroids: k-means of an operator's centroids by their weights */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/jsonb.h"

#include "kmeans/kmeans.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

/* The centroids of an operator from its offset, times the power of 2 that brings them below 1; and that. */
static float *
scaled_rows(const fc_operator *op, Size d, double *scale)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(op));
	float	   *rows = palloc_extended(op->k * d * sizeof(float), MCXT_ALLOC_HUGE);
	fc_operator expanded = *op;
	float		most = 0.0f;
	int			exponent;

	check_status(fc_operator_expand(&expanded, &server_tick, scratch, rows), NULL);
	for (Size i = 0; i < op->k * d; i++)
		most = Max(most, fabsf(rows[i]));
	(void) frexpf(most, &exponent);
	*scale = most > 0 ? ldexp(1.0, -Max(exponent, -120)) : 1.0;
	for (Size i = 0; i < op->k * d; i++)
		rows[i] *= (float) *scale;
	pfree(scratch.floats);
	return rows;
}

/* Centroids of one operator from the offset of another, in its scale. */
static double *
initial_centroids(const fc_operator *initial, const fc_operator *op, double scale)
{
	fc_scratch	scratch = make_scratch(fc_operator_scratch(initial));
	double	   *rows = palloc_extended(initial->k * op->d * sizeof(double), MCXT_ALLOC_HUGE);

	for (Size j = 0; j < initial->k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_operator_row(initial, j, scratch, rows + j * op->d);
		for (Size i = 0; i < op->d; i++)
			rows[j * op->d + i] = (rows[j * op->d + i] - (op->offset ? op->offset[i] : 0.0)) * scale;
	}
	pfree(scratch.floats);
	return rows;
}

/* (op, k, options, initial): k centroids of the rows that are the centroids of op, by their weights. */
PG_FUNCTION_INFO_V1(fastclust_cluster_centroids);
Datum
fastclust_cluster_centroids(PG_FUNCTION_ARGS)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {0};
	account		memory = {"cluster_centroids"};
	fc_operator op;
	fc_arena	arena;
	fc_rows		rows = {0};
	double	   *initial = NULL;
	double		scale;
	Size		k;

	for (int i = 0; i < 3; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	check_count("k", PG_GETARG_INT32(1), 1, FC_MAX_CLUSTERS);
	k = (Size) PG_GETARG_INT32(1);
	read_kmeans_options(PG_GETARG_JSONB_P(2), PG_ARGISNULL(3) ? 1 : 0, &options);
	open_operator(OPERATOR_ARG(0), &op);
	if (k > op.k)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k is %zu, but there are only %zu rows", k, op.k)));
	hold(&memory, op.k * op.d * sizeof(float) + 2 * k * (op.d + 1) * sizeof(double) + codebook_bytes(k, op.d));
	rows.x = scaled_rows(&op, op.d, &scale);
	rows.weight = op.weights;
	rows.n = op.k;
	rows.d = op.d;
	if (!PG_ARGISNULL(3))
	{
		fc_operator start;

		open_operator(OPERATOR_ARG(3), &start);
		if (start.k != k || start.d != op.d)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("initial centroids are %zu in %zu dimensions, not %zu in %zu", start.k, start.d, k, op.d)));
		initial = initial_centroids(&start, &op, scale);
	}
	arena = hold_arena(&memory, fc_kmeans_worksize(rows.n, rows.d, k));
	result.centroids = palloc_extended(k * rows.d * sizeof(double), MCXT_ALLOC_HUGE);
	result.weights = palloc_extended(k * sizeof(double), MCXT_ALLOC_HUGE);
	check_status(fc_kmeans(&rows, k, initial, &options, &server_tick, &arena, &result), &arena);
	for (Size j = 0; j < k; j++)
		for (Size i = 0; i < rows.d; i++)
			result.centroids[j * rows.d + i] = result.centroids[j * rows.d + i] / scale + (op.offset ? op.offset[i] : 0.0);
	release_arena(&memory, &arena);
	PG_RETURN_POINTER(make_codebook(result.centroids, result.weights, k, rows.d));
}
