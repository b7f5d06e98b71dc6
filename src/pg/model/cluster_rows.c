/*
 * cluster_rows.c - the clusters of a stored version as the views list them
 *
 * A role that shares a model may have written any numbers into its rows. These
 * functions therefore raise no error for the numbers of a version. A number
 * that overflows is infinite. If the list of centroids of a version exceeds
 * the memory budget, the version causes a WARNING and has no result rows. A
 * version that cannot be shown then does not hide other versions. Errors would
 * have to be caught in a subtransaction, which a parallel worker cannot start
 * before PostgreSQL 17.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "numerics/assignment.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_value.h"

/*
 * Returns the number of bytes that the list of centroids of an operator takes.
 */
static Size
list_bytes(const fc_operator *op)
{
	return op->k * op->d * sizeof(double) +
		fc_operator_scratch(op) * sizeof(float);
}

static bool
is_within_budget(const fc_operator *op)
{
	return list_bytes(op) / 1024 < (Size) fastclust_memory_budget;
}

static void
warn_of_budget(const char *model, const fc_operator *op)
{
	ereport(WARNING, errmsg("the clusters of model \"%s\" cannot be shown", model),
			errdetail("The list of %zu centroids in %zu dimensions needs %zu MB, more than fastclust.memory_budget allows.",
					  op->k, op->d, list_bytes(op) / 1024 / 1024 + 1),
			errhint("SET fastclust.memory_budget = '%zuMB'.",
					list_bytes(op) / 1024 / 1024 + 1));
}

/*
 * Takes (operator, model). Returns true if the list of centroids fits into the
 * memory budget. If it does not, and model is not NULL, raises a WARNING that
 * names the model.
 */
PG_FUNCTION_INFO_V1(fastclust_can_list_centroids);
Datum
fastclust_can_list_centroids(PG_FUNCTION_ARGS)
{
	fc_operator op;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	open_operator(OPERATOR_ARG(0), &op);
	if (!is_within_budget(&op) && !PG_ARGISNULL(1))
		warn_of_budget(text_to_cstring(PG_GETARG_TEXT_PP(1)), &op);
	PG_RETURN_BOOL(is_within_budget(&op));
}

/* Clusters of one version, and the data of their result rows. */
typedef struct cluster_list
{
	fc_operator op;
	double		n;				/* number of training rows that belong to any
								 * cluster */
	double		total;			/* sum of the weights of the clusters */
	double	   *centroids;		/* k x d, in the coordinates of the operator */
	bool		mapped;			/* true if the coordinates are kernel
								 * features; centroids are then not shown */
	const double *center;		/* d values; NULL means 0 */
	const double *scale;		/* d values; NULL means 1 */
	const double *spreads;		/* k values; NULL if unknown */
	const double *rows;			/* k values: number of rows of each cluster,
								 * if rows have weights; else NULL */
	int32	   *nearest;		/* k values: index of the nearest other
								 * cluster, -1 if there is no other */
	double	   *distance;		/* k values: distance to the nearest other
								 * cluster */
} cluster_list;

static Datum
rescaled_centroid(const cluster_list *list, Size j)
{
	Size		d = list->op.d;
	double	   *centroid = palloc(d * sizeof(double));
	Datum		array;

	for (Size i = 0; i < d; i++)
	{
		double		x = list->centroids[j * d + i];

		centroid[i] = list->scale == NULL
			? x
			: x * list->scale[i] +
			(list->center == NULL ? 0.0 : list->center[i]);
	}
	array = make_float8_array(centroid, (int) d);
	pfree(centroid);
	return array;
}

/*
 * Sets a column of a result row to the number, or to NULL if it is not known.
 */
static void
set_number(Datum *value, bool *null, double number, bool known)
{
	*value = Float8GetDatum(number);
	*null = !known;
}

static void
put_cluster(FunctionCallInfo fcinfo, const cluster_list *list, Size j)
{
	double		share = list->op.weights[j] / list->total;
	double		size = (list->rows != NULL ? list->rows[j]
						: rint(list->n * list->op.weights[j] / list->total));
	Datum		values[8] = {Int32GetDatum(fc_operator_number(&list->op, j))};
	bool		nulls[8] = {false};

	nulls[1] = !(size >= 0.0 && size < 9.2e18);
	values[1] = Int64GetDatum(nulls[1] ? 0 : (int64) size);
	set_number(&values[2], &nulls[2], list->rows != NULL ? list->op.weights[j] : size,
			   !nulls[1]);
	set_number(&values[3], &nulls[3], share, list->total > 0.0);
	nulls[4] = list->mapped;
	if (!list->mapped)
		values[4] = rescaled_centroid(list, j);
	set_number(&values[5], &nulls[5],
			   list->spreads == NULL ? 0.0 : list->spreads[j],
			   list->spreads != NULL);
	nulls[6] = list->nearest[j] < 0;
	if (!nulls[6])
		values[6] = Int32GetDatum(fc_operator_number(&list->op,
													 (size_t)
													 list->nearest[j]));
	set_number(&values[7], &nulls[7], list->distance[j], list->nearest[j] >= 0);
	put_row(fcinfo, values, nulls);
}

/*
 * Takes (model, n, operator, mapped, center, scale, spreads, cluster_rows).
 * Returns rows (cluster, size, weight, share, centroid, spread,
 * nearest_cluster, nearest_distance).
 *
 * n is the number of rows in all clusters; if it is NULL, the sum of the
 * weights is used. If center and scale are NULL, centroids are in the
 * coordinates of the operator. If mapped is true, centroids consist of kernel
 * features, and the column centroid is NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_version_cluster_rows);
Datum
fastclust_version_cluster_rows(PG_FUNCTION_ARGS)
{
	cluster_list list = {.mapped = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3)};

	fastclust_begin_rows(fcinfo);
	require_argument(fcinfo, 0, "model");
	if (PG_ARGISNULL(2))
		return (Datum) 0;
	open_operator(OPERATOR_ARG(2), &list.op);
	if (!is_within_budget(&list.op))
	{
		warn_of_budget(text_to_cstring(PG_GETARG_TEXT_PP(0)), &list.op);
		return (Datum) 0;
	}
	if (!list.mapped)
	{
		list.center = numbers_argument(fcinfo, 4, list.op.d, "center");
		list.scale = numbers_argument(fcinfo, 5, list.op.d, "scale");
	}
	list.spreads = numbers_argument(fcinfo, 6, list.op.k, "spreads");
	list.rows = numbers_argument(fcinfo, 7, list.op.k, "cluster_rows");
	list.centroids = rescaled_centroids(&list.op, NULL, NULL);
	list.nearest = palloc(list.op.k * sizeof(int32));
	list.distance = palloc(list.op.k * sizeof(double));
	fc_nearest_others(list.centroids, list.op.k, list.op.d, list.nearest,
					  list.distance);
	for (Size j = 0; j < list.op.k; j++)
		list.total += list.op.weights[j];
	list.n = PG_ARGISNULL(1) ? list.total : (double) PG_GETARG_INT64(1);
	for (Size j = 0; j < list.op.k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		put_cluster(fcinfo, &list, j);
	}
	return (Datum) 0;
}
