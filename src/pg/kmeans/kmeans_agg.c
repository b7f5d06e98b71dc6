/*
 * kmeans_agg.c - k-means over an aggregate's rows, in memory.
 *
 * Rows are collected (internal state with serial functions: not pushed to shards)
 * within fastclust.memory_budget, put in the order of a hash of their values, so
 * that the answer depends on the rows alone, and clustered by the core.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "base/rng.h"
#include "base/sort.h"
#include "kmeans/kmeans.h"
#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/compat.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/vectors.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

void
resize_collection(collection *rows, Size room)
{
	Size		bytes = collection_bytes(rows, room);

	rows->x = rows->x ? repalloc_huge(rows->x, bytes) : MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	rows->room = room;
}

/*
 * Bytes of n rows and of the final function, which orders them as floats, clusters these in an arena, and
 * makes an operator of the centroids.
 */
static Size
kmeans_bytes(const void *collected, Size n)
{
	const collection *rows = collected;
	Size		d = (Size) rows->d;
	Size		k = (Size) rows->k;
	Size		work = fc_kmeans_worksize(n, d, k);
	Size		centroids = k * (d + 1) * sizeof(double) + d * sizeof(double);
	Size		clustering = n * d * sizeof(float) + Max(order_bytes(n), centroids + work);

	return work > SIZE_MAX / 4 ? SIZE_MAX / 2 : collection_bytes(rows, n) + Max(clustering, centroids + codebook_bytes(k, d));
}

static void
reserve_rows(FunctionCallInfo fcinfo, collection *rows, Size n)
{
	row_need	need = {kmeans_bytes, rows, aggregate_name(fcinfo), ", or take a sample"};

	if (n > rows->room)
		resize_collection(rows, grown_room(rows->room, n, &need));
}

static void
check_arguments(FunctionCallInfo fcinfo, collection *rows)
{
	Jsonb	   *options = NULL;

	for (int i = 2; i < PG_NARGS(); i++)
		require_argument(fcinfo, i, i == 2 ? "k" : "options");
	check_count("k", PG_GETARG_INT32(2), 1, FC_MAX_CLUSTERS);
	if (rows == NULL)
		return;
	if (PG_NARGS() > 3)
		options = PG_GETARG_JSONB_P(3);
	if (rows->k == 0)
	{
		rows->k = PG_GETARG_INT32(2);
		rows->options = options ? PG_GETARG_JSONB_P_COPY(3) : NULL;
	}
	else if (rows->k != PG_GETARG_INT32(2) ||
			 (options != NULL && compareJsonbContainers(&rows->options->root, &options->root) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k and options must be the same for all rows")));
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_accum);
Datum
fastclust_kmeans_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	collection *rows = PG_ARGISNULL(0) ? NULL : (collection *) PG_GETARG_POINTER(0);
	vector		v;

	check_arguments(fcinfo, rows);
	if (PG_ARGISNULL(1))
	{
		if (rows == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(rows);
	}
	v = row_argument(fcinfo, 1);
	old = MemoryContextSwitchTo(context);
	if (rows == NULL)
	{
		rows = palloc0(sizeof(collection));
		rows->d = v.d;
		check_arguments(fcinfo, rows);
	}
	check_vector_dim(&v, (size_t) rows->d, "the first row");
	reserve_rows(fcinfo, rows, rows->n + 1);
	MemoryContextSwitchTo(old);
	copy_row(&v, rows->x + rows->n++ * (Size) rows->d);
	PG_RETURN_POINTER(rows);
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_combine);
Datum
fastclust_kmeans_combine(PG_FUNCTION_ARGS)
{
	MemoryContext old = MemoryContextSwitchTo(aggregate_context(fcinfo));
	collection *left = PG_ARGISNULL(0) ? NULL : (collection *) PG_GETARG_POINTER(0);
	collection *right = PG_ARGISNULL(1) ? NULL : (collection *) PG_GETARG_POINTER(1);

	if (right != NULL && left == NULL)
	{
		left = palloc0(sizeof(collection));
		left->d = right->d;
		left->k = right->k;
		left->options = copy_options(right->options);
	}
	if (right != NULL)
	{
		check_same_dim(left->d, right->d);
		if (left->k != right->k)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("k and options must be the same for all rows")));
		reserve_rows(fcinfo, left, left->n + right->n);
		copy_bytes(left->x + left->n * (Size) left->d, right->x, collection_bytes(right, right->n));
		left->n += right->n;
	}
	MemoryContextSwitchTo(old);
	if (left == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(left);
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_serialize);
Datum
fastclust_kmeans_serialize(PG_FUNCTION_ARGS)
{
	collection *rows = (collection *) PG_GETARG_POINTER(0);
	Size		bytes = collection_bytes(rows, rows->n);
	StringInfoData message;

	check_state_size(bytes + (rows->options ? VARSIZE(rows->options) : 0) + 64);
	pq_begintypsend(&message);
	pq_sendint32(&message, (uint32) rows->d);
	pq_sendint32(&message, (uint32) rows->k);
	pq_sendint64(&message, rows->n);
	send_options(&message, rows->options);
	send_long(&message, rows->x, bytes);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_deserialize);
Datum
fastclust_kmeans_deserialize(PG_FUNCTION_ARGS)
{
	StringInfoData message = message_of(PG_GETARG_BYTEA_PP(0));
	collection *rows = palloc0(sizeof(collection));
	Size		n;

	rows->d = (int32) pq_getmsgint(&message, 4);
	rows->k = (int32) pq_getmsgint(&message, 4);
	n = (Size) pq_getmsgint64(&message);
	rows->options = receive_options(&message);
	reserve_rows(fcinfo, rows, n);
	rows->n = n;
	receive_long(&message, rows->x, collection_bytes(rows, n));
	PG_RETURN_POINTER(rows);
}

/* ---- clustering ---- */

Size
order_bytes(Size n)
{
	return 2 * n * sizeof(fc_keyed);
}

/* The order of the rows by a hash of their values; n items, in the current context. */
static fc_keyed *
order_of(const collection *rows)
{
	Size		d = (Size) rows->d;
	fc_keyed   *order = palloc_extended(order_bytes(rows->n), MCXT_ALLOC_HUGE);

	for (Size r = 0; r < rows->n; r++)
	{
		CHECK_FOR_INTERRUPTS();
		order[r].value = r;
		order[r].key = fc_hash_bytes(0, rows->x + r * d, d * sizeof(double));
	}
	check_status(fc_sort(order, rows->n, order + rows->n, &server_tick), NULL);
	return order;
}

/* The power of 2 that brings the rows, less their mean, below 1; their squares then neither under- nor overflow. */
static double
scale_of(const collection *rows, const double *mean)
{
	Size		d = (Size) rows->d;
	double		most = 0;
	int			exponent;

	for (Size r = 0; r < rows->n; r++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < d; i++)
			most = fmax(most, fabs(rows->x[r * d + i] - mean[i]));
	}
	if (!(most < 0x1p126))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("rows are too large for single precision"),
				 errdetail("They are up to %g from their mean; 2^126 is the limit.", most),
				 errhint("Scale the data down.")));
	(void) frexp(most, &exponent);
	return most > 0 ? ldexp(1.0, -Max(exponent, -1000)) : 1.0;
}

float *
ordered_rows(const collection *rows, double *mean, double *scale)
{
	Size		d = (Size) rows->d;
	fc_keyed   *order = order_of(rows);
	float	   *x = palloc_extended(rows->n * d * sizeof(float), MCXT_ALLOC_HUGE);

	memset(mean, 0, d * sizeof(double));
	for (Size r = 0; r < rows->n; r++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < d; i++)
			mean[i] += rows->x[order[r].value * d + i];
	}
	for (Size i = 0; i < d; i++)
		mean[i] /= (double) rows->n;
	*scale = scale_of(rows, mean);
	for (Size r = 0; r < rows->n; r++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < d; i++)
			x[r * d + i] = (float) ((rows->x[order[r].value * d + i] - mean[i]) * *scale);
	}
	pfree(order);
	return x;
}

void
read_kmeans_options(Jsonb *given, int least, fc_kmeans_options *options)
{
	const option known[] = {
		{"n_init", OPTION_INT, &options->n_init, least, 1000},
		{"iterations", OPTION_INT, &options->iterations, 1, 100000},
		{"tolerance", OPTION_FLOAT, &options->tolerance, 0, 1},
		{"seed", OPTION_SEED, &options->seed, 0, 0}
	};

	read_options(given, known, lengthof(known));
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_final);
Datum
fastclust_kmeans_final(PG_FUNCTION_ARGS)
{
	collection *rows;
	fc_kmeans_options options;
	fc_kmeans_result result = {0};
	fc_arena	arena;
	fc_rows		view = {0};
	Size		k;
	Size		d;
	double	   *mean;
	double		scale;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = (collection *) PG_GETARG_POINTER(0);
	options = fc_kmeans_defaults();
	if (rows->options != NULL)
		read_kmeans_options(rows->options, 1, &options);
	k = (Size) rows->k;
	d = (Size) rows->d;
	if (k > rows->n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k is %d, but there are only %zu rows", rows->k, rows->n)));
	check_budget(kmeans_bytes(rows, rows->n), "kmeans_agg");
	mean = palloc(d * sizeof(double));
	view.x = ordered_rows(rows, mean, &scale);
	view.n = rows->n;
	view.d = d;
	arena = make_arena(fc_kmeans_worksize(rows->n, d, k), "kmeans_agg");
	result.centroids = palloc_extended(k * d * sizeof(double), MCXT_ALLOC_HUGE);
	result.weights = palloc_extended(k * sizeof(double), MCXT_ALLOC_HUGE);
	check_status(fc_kmeans(&view, k, NULL, &options, &server_tick, &arena, &result), &arena);
	for (Size j = 0; j < k; j++)
		for (Size i = 0; i < d; i++)
			result.centroids[j * d + i] = result.centroids[j * d + i] / scale + mean[i];
	pfree((void *) view.x);
	pfree(arena.base);
	PG_RETURN_POINTER(make_codebook(result.centroids, result.weights, k, d));
}
