/* choose_fn.c - evidence_of_clusters: the numbers of clusters tried on the rows that are an operator's centroids, and the one chosen */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "kmeans/choose.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

/* A search of each half: the centroids of one start, mended by breathing. */
static fc_kmeans_options
search_options(Size n, Size d, Size max_k, uint64 seed)
{
	fc_kmeans_options options = fc_kmeans_defaults();

	options.n_init = 1;
	options.rounds = 10;
	options.iterations = 20;
	options.tolerance = 1e-3;
	options.budget = 1e7 + 20.0 * (double) n * (double) max_k * (double) d;
	options.seed = seed;
	return options;
}

static Datum
number_or_null(double x, bool *null)
{
	*null = isnan(x);
	return Float8GetDatum(x);
}

static void
return_tried(FunctionCallInfo fcinfo, const fc_choice *choice, double unit)
{
	for (Size i = 0; i < choice->count; i++)
	{
		const fc_tried *tried = &choice->tried[i];
		Datum		values[5];
		bool		nulls[5] = {false};

		values[0] = Int32GetDatum((int32) tried->k);
		values[1] = Float8GetDatum(tried->evidence.cost / unit / unit);
		values[2] = number_or_null(tried->gain, &nulls[2]);
		values[3] = number_or_null(tried->stability, &nulls[3]);
		nulls[4] = i != choice->chosen;
		values[4] = nulls[4] ? (Datum) 0 : CStringGetTextDatum(choice->clear ? "clear" : "no clear k");
		put_row(fcinfo, values, nulls);
	}
}

/* Rows about the offset of op come to be about 0. */
static void
move_to_origin(const fc_operator *op, float *x)
{
	for (Size j = 0; op->offset != NULL && j < op->k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < op->d; i++)
			x[j * op->d + i] = (float) ((double) x[j * op->d + i] + op->offset[i]);
	}
}

/* (op, max_k, seed, trim) */
SQL_FUNCTION(fastclust_evidence_of_clusters)
{
	account		memory = {"choose_k"};
	Size		max_k = (Size) PG_GETARG_INT32(1);
	double		trim = trim_argument(PG_GETARG_FLOAT8(3));
	fc_choice  *choice = palloc(sizeof(fc_choice));
	fc_kmeans_options options;
	fc_operator op;
	fc_arena	arena;
	fc_rows		rows;
	float	   *x;
	fc_sphere	sphere;
	double		unit;

	check_count("max_k", PG_GETARG_INT32(1), 1, FC_EVIDENCE_CLUSTERS);
	fastclust_begin_rows(fcinfo);
	open_operator(OPERATOR_ARG(0), &op);
	hold(&memory, op.k * op.d * sizeof(float));
	x = expanded_rows(&op);
	if (op.metric == FC_COSINE)
		move_to_origin(&op, x);
	unit = fc_scale_rows(x, op.k * op.d);
	sphere = (fc_sphere) {NULL, unit};
	rows = (fc_rows) {.x = x,.n = op.k,.d = op.d};
	options = search_options(op.k, op.d, fc_choose_k_most(op.k, max_k), (uint64) PG_GETARG_INT64(2));
	options.sphere = op.metric == FC_COSINE ? &sphere : NULL;
	arena = hold_arena(&memory);
	check_status(fc_choose_k(&rows, max_k, trim, &options, &arena, choice));
	release_arena(&arena);
	return_tried(fcinfo, choice, unit);
	return (Datum) 0;
}
