/*
 * kmeans_agg.c - k-means over an aggregate's rows, in memory.
 *
 * Rows are collected within fastclust.memory_budget, sorted by a hash of their
 * values so that the result depends on the rows alone, and clustered by the
 * core. The state is internal with serial functions, so it is not pushed down
 * to shards.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/memutils.h"

#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sums.h"

/* Maximum weight of a row; products of two sums of such weights are finite. */
#define MAX_WEIGHT	1e100

void
resize_collection(collection *rows, Size capacity)
{
	Size		bytes = collection_bytes(rows, capacity);

	rows->x = rows->x ? repalloc_huge(rows->x, bytes) : alloc_large(bytes);
	rows->capacity = capacity;
}

/*
 * Returns the memory in bytes of n rows and of the final function: the
 * centroids, and either the arena of the clustering or the operator, whichever
 * is larger.
 */
static Size
kmeans_bytes(const void *collected, Size n)
{
	const collection *rows = collected;
	Size		d = (Size) rows->d;
	Size		k = (Size) rows->k;
	Size		work = fc_kmeans_collected_worksize(n, d, k);
	Size		centroids = k * (d + 1) * sizeof(double) + d * sizeof(double);

	return work > SIZE_MAX / 4 ? SIZE_MAX / 2
		: collection_bytes(rows, n) + centroids +
		Max(work, codebook_bytes(k, d));
}

static void
reserve_rows(FunctionCallInfo fcinfo, collection *rows, Size n)
{
	row_need	need = {
		kmeans_bytes,
		rows,
		aggregate_name(fcinfo),
		", or take a sample"
	};

	if (n > rows->capacity)
		resize_collection(rows, grown_capacity(rows->capacity, n, &need));
}

static void
check_arguments(FunctionCallInfo fcinfo, collection *rows)
{
	Jsonb	   *options = NULL;

	for (int i = 2; i < Min(PG_NARGS(), 4); i++)
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
		rows->metric = metric_among_options(rows->options);
	}
	else if (rows->k != PG_GETARG_INT32(2) ||
			 (options != NULL && compareJsonbContainers(&rows->options->root,
														&options->root) != 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k and options must be the same for all rows"));
}

static collection *
new_collection(int32 d)
{
	collection *rows = palloc0(sizeof(collection));

	rows->kind = &kmeans_state_kind;
	rows->d = d;
	return rows;
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_accum);
Datum
fastclust_kmeans_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	collection *rows = (PG_ARGISNULL(0) ? NULL
						: (collection *) PG_GETARG_POINTER(0));
	bool		weighted = PG_NARGS() > 4;
	double		weight;
	double	   *to;
	vector		v;

	check_arguments(fcinfo, rows);
	if (PG_ARGISNULL(1) || (weight = sum_weight_argument(fcinfo, 4, MAX_WEIGHT)) == 0)
		return unchanged_state(fcinfo);
	v = row_argument(fcinfo, 1);
	old = MemoryContextSwitchTo(context);
	if (rows == NULL)
	{
		rows = new_collection(v.d);
		rows->weighted = weighted;
		check_arguments(fcinfo, rows);
	}
	check_vector_dim(&v, (size_t) rows->d, "the first row");
	reserve_rows(fcinfo, rows, rows->n + 1);
	MemoryContextSwitchTo(old);
	to = rows->x + rows->n * ((Size) rows->d + weighted);
	copy_row(&v, to);
	if (weighted)
		to[rows->d] = weight;
	if (rows->metric != FC_COSINE || fc_unit_row(to, (size_t) rows->d, to))
		rows->n++;
	PG_RETURN_POINTER(rows);
}

static void *
combine(FunctionCallInfo fcinfo, void *left_state, void *right_state)
{
	collection *left = left_state;
	const collection *right = right_state;

	if (left == NULL)
	{
		left = new_collection(right->d);
		left->k = right->k;
		left->weighted = right->weighted;
		left->options = copy_options(right->options);
		left->metric = right->metric;
	}
	check_same_dim(left->d, right->d);
	if (left->k != right->k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k and options must be the same for all rows"));
	reserve_rows(fcinfo, left, left->n + right->n);
	memcpy(left->x + left->n * ((Size) left->d + left->weighted), right->x,
		   collection_bytes(right, right->n));
	left->n += right->n;
	return left;
}

static void
serialize(FunctionCallInfo fcinfo, void *state, StringInfo message)
{
	const collection *rows = state;
	Size		bytes = collection_bytes(rows, rows->n);

	check_state_size(bytes + (rows->options ? VARSIZE(rows->options) : 0) + 64);
	pq_sendint32(message, (uint32) rows->d);
	pq_sendint32(message, (uint32) rows->k);
	pq_sendbyte(message, rows->weighted);
	pq_sendint64(message, rows->n);
	send_options(message, rows->options);
	pq_sendbytes(message, (const char *) rows->x, (int) bytes);
}

static void *
deserialize(FunctionCallInfo fcinfo, StringInfo message)
{
	collection *rows = new_collection((int32) pq_getmsgint(message, 4));
	Size		n;

	rows->k = (int32) pq_getmsgint(message, 4);
	rows->weighted = pq_getmsgbyte(message) == 1;
	n = (Size) pq_getmsgint64(message);
	rows->options = receive_options(message);
	rows->metric = metric_among_options(rows->options);
	reserve_rows(fcinfo, rows, n);
	rows->n = n;
	pq_copymsgbytes(message, (char *) rows->x,
					(int) (collection_bytes(rows, n)));
	return rows;
}

const state_kind kmeans_state_kind = {combine, serialize, deserialize};

/* ---- clustering ---- */

void
check_ordered(fc_status status, const fc_ordering *ordering)
{
	if (status == FC_EFAR)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("rows are too large for single precision"),
				errdetail("The largest distance from their mean is %g; the limit is 2^126.",
						  ordering->max),
				errhint("Scale the data down."));
	check_status(status);
}

fc_kmeans_effort
effort_of_options(const char *name)
{
	static const named_value efforts[] = {
		{"balanced", FC_BALANCED},
		{"fast", FC_FAST},
		{"thorough", FC_THOROUGH}
	};

	return name != NULL
		? (fc_kmeans_effort) choice_of_name("option \"effort\":", name,
											efforts, lengthof(efforts))
		: FC_BALANCED;
}

void
read_kmeans_options(Jsonb *given, int min, fc_kmeans_options *options)
{
	char	   *metric = NULL;
	char	   *effort = NULL;
	const option known[] = {
		{"metric", OPTION_TEXT, &metric, 0, 0},
		{"effort", OPTION_TEXT, &effort, 0, 0},
		{"n_init", OPTION_INT, &options->n_init, min, 1000},
		{"rounds", OPTION_INT, &options->rounds, 0, 1000},
		{"work", OPTION_FLOAT, &options->budget, 0, 1e18},
		{"iterations", OPTION_INT, &options->iterations, 1, 100000},
		{"tolerance", OPTION_FLOAT, &options->tolerance, 0, 1},
		{"seed", OPTION_SEED, &options->seed, 0, 0}
	};

	read_options(given, known, lengthof(known));
	options->effort = effort_of_options(effort);
	options->metric = metric_with_means(metric);
}

double *
unit_centroids(fc_metric metric, double *centroids, Size k, Size d)
{
	for (Size j = 0; metric == FC_COSINE && j < k; j++)
		if (!fc_unit_row(centroids + j * d, d, centroids + j * d))

			/*
			 * the cluster's rows add up to zero: any direction is equally
			 * near to them
			 */
			centroids[j * d] = 1.0;
	return centroids;
}

/* Warns if there are fewer distinct rows than clusters. */
static void
warn_empty_clusters(const double *weights, Size k)
{
	Size		distinct = 0;

	for (Size j = 0; j < k; j++)
		distinct += weights[j] > 0;
	if (distinct < k)
		ereport(WARNING,
				errmsg("k is %zu, but kmeans_agg was given only %s", k,
					   distinct == 1 ? "one distinct row"
					   : psprintf("%zu distinct rows", distinct)),
				errdetail("The other clusters have the weight 0 and a copy of a row."),
				errhint("Lower k, or add a dimension in which more rows differ."));
}

PG_FUNCTION_INFO_V1(fastclust_kmeans_final);
Datum
fastclust_kmeans_final(PG_FUNCTION_ARGS)
{
	collection *rows;
	fc_kmeans_options options;
	fc_kmeans_result result = {0};
	fc_ordering ordering;
	fc_arena	arena;
	Size		k;
	Size		d;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = (collection *) PG_GETARG_POINTER(0);
	if (rows->n == 0)			/* all rows were zero, so that none has a
								 * direction */
		PG_RETURN_NULL();
	options = fc_kmeans_defaults();
	if (rows->options != NULL)
		read_kmeans_options(rows->options, 1, &options);
	k = (Size) rows->k;
	d = (Size) rows->d;
	check_enough_rows(k, rows->n);
	check_budget(kmeans_bytes(rows, rows->n), "kmeans_agg");
	announce_work(psprintf("kmeans_agg of %zu rows takes", rows->n),
				  fc_kmeans_operations(rows->n, d, k, &options), false,
				  "Lower k, n_init or iterations, or use train, which takes a sample");
	arena = make_arena("kmeans_agg");
	ordering.mean = palloc(d * sizeof(double));
	result.centroids = alloc_large(k * d * sizeof(double));
	result.weights = alloc_large(k * sizeof(double));
	check_ordered(fc_kmeans_collected(rows->x, rows->n, d, rows->weighted, k, &options, &arena,
									  &ordering, &result),
				  &ordering);
	release_arena(&arena);
	warn_empty_clusters(result.weights, k);
	PG_RETURN_POINTER(make_codebook_for(options.metric,
										unit_centroids(options.metric,
													   result.centroids, k, d),
										result.weights, k, d));
}
