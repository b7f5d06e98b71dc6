/* model_fn.c - predict and related functions: a named model applied to rows */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "operator/mixture.h"
#include "operator/partial.h"
#include "pg/base/arguments.h"
#include "pg/model/model.h"

/* ---- functions of one row ---- */

typedef Datum (*answer) (FunctionCallInfo fcinfo, const model_row *row);

/* Returns the index of the centroid nearest to the row. */
static size_t
nearest_of_row(const model_row *row)
{
	return row->labelled
		? row->nearest
		: fc_operator_assign(&row->model->view, row->x, row->scratch);
}

/*
 * Returns the squared distance of the row from its nearest centroid. If values
 * are missing, the sum over the observed values is multiplied by row->factor.
 */
static double
square_of(const model_row *row)
{
	return row->factor * fc_operator_distance(&row->model->view, nearest_of_row(row),
											  row->x, row->scratch);
}

/*
 * Returns the number of the row's cluster. Returns NULL if the row is noise,
 * or if the nearest centroid is farther than max_distance, which may be
 * infinite.
 */
static Datum
cluster_within(FunctionCallInfo fcinfo, const model_row *row,
			   double max_distance)
{
	const fc_operator *op = &row->model->view;
	size_t		nearest = nearest_of_row(row);
	bool		measured = op->regions.clusters > 0 || !isinf(max_distance);
	double		square = (measured ? row->factor * fc_operator_distance(op, nearest, row->x,
																		row->scratch)
						  : 0.0);
	int32		cluster = fc_operator_label(op, nearest, square);

	if (cluster < 0 || fc_metric_distance(op->metric, square) > max_distance)
		PG_RETURN_NULL();
	PG_RETURN_INT32(cluster);
}

static Datum
label_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	return cluster_within(fcinfo, row, INFINITY);
}

/*
 * Returns the cluster, or NULL if the nearest centroid is farther than
 * max_distance, which is argument 3. If argument 3 is NULL, the distance is
 * not limited.
 */
static Datum
label_within_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	double		max_distance = PG_ARGISNULL(3) ? INFINITY : PG_GETARG_FLOAT8(3);

	if (!(max_distance >= 0.0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("max_distance is %g, out of range", max_distance),
				errdetail("It must be a distance as predict_distance returns it, 0 or more."));
	return cluster_within(fcinfo, row, max_distance);
}

static Datum
name_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	Datum		cluster = cluster_within(fcinfo, row, INFINITY);

	if (fcinfo->isnull)
		return cluster;
	PG_RETURN_TEXT_P(shown_name_of(model_call_state_of(fcinfo),
								   DatumGetInt32(cluster)));
}

static Datum
distance_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	PG_RETURN_FLOAT8(fc_metric_distance(row->model->view.metric,
										square_of(row)));
}

/*
 * Returns the limit that a share `contamination` of the training rows
 * exceeded. The limit is a relative distance or, for a model of regions, an
 * outlier score.
 */
static double
anomaly_limit(const served_model *model, double contamination)
{
	double		place = ((1.0 - sqrt(contamination)) * (model->quantile_count - 1));
	int			below = Min((int) place, model->quantile_count - 2);

	if (model->quantile_count < 2)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("model \"%s\" has no distribution of distances",
					   text_to_cstring(model->name)));
	return model->quantiles[below] +
		(place - below) *
		(model->quantiles[below + 1] - model->quantiles[below]);
}

static double
outlier_score(const model_row *row)
{
	size_t		nearest = nearest_of_row(row);

	return fc_operator_outlier(&row->model->view, nearest,
							   fc_operator_distance(&row->model->view, nearest,
													row->x, row->scratch));
}

/*
 * Returns the distance of the row from its centroid, relative to the standard
 * deviation of the cluster (operator/mixture.h); the distance itself if the
 * model has no standard deviations.
 */
static double
relative_distance(const model_row *row)
{
	const served_model *model = row->model;
	size_t		nearest = nearest_of_row(row);
	double		square = square_of(row);

	return model->spreads == NULL ? sqrt(square)
		: fc_relative_distance(&model->view, nearest, model->view.weights[nearest],
							   model->spreads[nearest], model->common_square, square);
}

static Datum
anomaly_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	double		share = (PG_ARGISNULL(2) ? row->model->contamination
						 : PG_GETARG_FLOAT8(2));

	if (!(share > 0 && share < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("share is %g, out of range", share),
				errdetail("It must be a share of the rows, between 0 and 1."));
	PG_RETURN_BOOL((row->model->view.regions.clusters > 0
					? outlier_score(row)
					: relative_distance(row)) >
				   anomaly_limit(row->model, share));
}

static Datum
answer_row(FunctionCallInfo fcinfo, int group, int version, row_form form,
		   answer how)
{
	model_row	row;

	require_argument(fcinfo, 0, "model");
	if ((form == ROW_GIVEN && PG_ARGISNULL(1)) ||
		!read_model_row(fcinfo, group, version, 1, form, &row))
		PG_RETURN_NULL();
	return how(fcinfo, &row);
}

PG_FUNCTION_INFO_V1(fastclust_predict);
Datum
fastclust_predict(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, 2, 4, ROW_GIVEN, label_within_answer);
}

PG_FUNCTION_INFO_V1(fastclust_predict_list);
Datum
fastclust_predict_list(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, -1, -1, ROW_LIST, label_answer);
}

PG_FUNCTION_INFO_V1(fastclust_predict_columns);
Datum
fastclust_predict_columns(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, -1, -1, ROW_COLUMNS, label_answer);
}

PG_FUNCTION_INFO_V1(fastclust_predict_name);
Datum
fastclust_predict_name(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, 2, 3, ROW_GIVEN, name_answer);
}

PG_FUNCTION_INFO_V1(fastclust_predict_distance);
Datum
fastclust_predict_distance(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, 2, 3, ROW_GIVEN, distance_answer);
}

PG_FUNCTION_INFO_V1(fastclust_predict_distance_list);
Datum
fastclust_predict_distance_list(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, -1, -1, ROW_LIST, distance_answer);
}

PG_FUNCTION_INFO_V1(fastclust_predict_distance_columns);
Datum
fastclust_predict_distance_columns(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, -1, -1, ROW_COLUMNS, distance_answer);
}

PG_FUNCTION_INFO_V1(fastclust_anomaly);
Datum
fastclust_anomaly(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, 3, -1, ROW_GIVEN, anomaly_answer);
}

/* ---- paths in a tree of clusters ---- */

/*
 * Returns an array with the numbers of the nodes above the row's cluster, from
 * the top, and then the number of the cluster. Returns NULL if the row has no
 * cluster.
 */
static Datum
path_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	const served_model *model = row->model;
	size_t		nearest = nearest_of_row(row);
	int32		cluster = fc_operator_label_of(&model->view, nearest, row->x,
											   row->scratch);
	size_t		place = (model->view.regions.clusters > 0 ? (size_t) cluster
						 : nearest);
	Datum	   *path = palloc((Size) (model->levels + 1) * sizeof(Datum));

	if (cluster < 0)
		PG_RETURN_NULL();
	for (int i = 0; i < model->levels; i++)
		path[i] = Int32GetDatum(model->paths[place * (Size) model->levels +
											 (Size) i]);
	path[model->levels] = Int32GetDatum(cluster);
	PG_RETURN_ARRAYTYPE_P(construct_array(path, model->levels + 1, INT4OID,
										  sizeof(int32), true, TYPALIGN_INT));
}

PG_FUNCTION_INFO_V1(fastclust_predict_path);
Datum
fastclust_predict_path(PG_FUNCTION_ARGS)
{
	return answer_row(fcinfo, 2, 3, ROW_GIVEN, path_answer);
}

/* ---- the n nearest clusters ---- */

typedef struct ranked_cluster
{
	double		key;			/* sort key, ascending */
	int32		cluster;
} ranked_cluster;

static int
by_key(const void *a, const void *b)
{
	const ranked_cluster *left = a;
	const ranked_cluster *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->cluster < right->cluster ? -1 : 1;
}

/*
 * Finds the `count` clusters nearest to the row in a model of regions. Stores
 * the clusters and their squared distances, nearest first. A cluster is as far
 * from the row as the nearest of its centroids.
 */
static void
nearest_regions(const model_row *row, size_t count, int32 *clusters,
				double *squares)
{
	const fc_operator *op = &row->model->view;
	ranked_cluster *near = palloc(op->regions.clusters *
								  sizeof(ranked_cluster));

	for (size_t c = 0; c < op->regions.clusters; c++)
		near[c] = (ranked_cluster)
	{
		INFINITY, (int32) c
	};
	for (size_t j = 0; j < op->k; j++)
		if (op->regions.cluster[j] >= 0)
			near[op->regions.cluster[j]]
				.key = Min(near[op->regions.cluster[j]].key,
						   fc_operator_distance(op, j, row->x, row->scratch));
	qsort(near, op->regions.clusters, sizeof(ranked_cluster), by_key);
	for (size_t i = 0; i < count; i++)
	{
		clusters[i] = near[i].cluster;
		squares[i] = near[i].key;
	}
}

PG_FUNCTION_INFO_V1(fastclust_predict_all);
Datum
fastclust_predict_all(PG_FUNCTION_ARGS)
{
	model_row	row;
	int32	   *clusters;
	double	   *distances;
	size_t		count;

	fastclust_begin_rows(fcinfo);
	require_argument(fcinfo, 0, "model");
	require_argument(fcinfo, 2, "n");
	if (PG_ARGISNULL(1))
		return (Datum) 0;
	check_count("n", PG_GETARG_INT32(2), 1, INT32_MAX);
	if (!read_model_row(fcinfo, 3, -1, 1, ROW_GIVEN, &row))
		return (Datum) 0;
	count = Min((size_t) PG_GETARG_INT32(2),
				row.model->view.regions.clusters > 0
				? row.model->view.regions.clusters
				: row.model->view.k);
	clusters = palloc(count * sizeof(int32));
	distances = palloc(count * sizeof(double));
	if (row.model->view.regions.clusters > 0)
		nearest_regions(&row, count, clusters, distances);
	else
	{
		if (row.partial != NULL)
			fc_partial_nearest(&row.model->view, row.partial, count, clusters, distances);
		else
			fc_operator_nearest(&row.model->view, row.x, count, row.scratch,
								clusters, distances);
		for (size_t i = 0; i < count; i++)
			clusters[i] = fc_operator_number(&row.model->view,
											 (size_t) clusters[i]);
	}
	for (size_t i = 0; i < count; i++)
	{
		Datum		values[2] = {
			Int32GetDatum(clusters[i]),
			Float8GetDatum(fc_metric_distance(row.model->view.metric,
											  row.factor * distances[i]))
		};

		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}

/* ---- probabilities ---- */

/* Adds result rows (cluster, probability) for a row, most probable first. */
static void
return_probabilities(FunctionCallInfo fcinfo, const model_row *row)
{
	const fc_operator *op = &row->model->view;
	double	   *p = palloc(op->k * sizeof(double));
	ranked_cluster *order = palloc(op->k * sizeof(ranked_cluster));

	if (row->model->spreads == NULL)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("model \"%s\" does not contain the spread of its clusters",
					   text_to_cstring(row->model->name)),
				errhint("Retrain the model."));
	fc_operator_responsibilities(op, row->model->spreads,
								 row->partial != NULL ? row->partial : row->x,
								 row->scratch, p);
	for (Size j = 0; j < op->k; j++)
		order[j] = (ranked_cluster)
	{
		-p[j], fc_operator_number(op, j)
	};
	qsort(order, op->k, sizeof(ranked_cluster), by_key);
	for (Size i = 0; i < op->k; i++)
	{
		Datum		values[2] = {
			Int32GetDatum(order[i].cluster),
			Float8GetDatum(-order[i].key)
		};

		put_row(fcinfo, values, NULL);
	}
}

/*
 * Adds two result rows for a model of regions, more probable first. One row
 * has the cluster around the nearest centroid (regions.peak_cluster). The
 * other has a NULL cluster, which means noise; its probability is the outlier
 * score.
 */
static void
return_membership(FunctionCallInfo fcinfo, const model_row *row)
{
	double		score = outlier_score(row);

	for (int i = 0; i < 2; i++)
	{
		bool		none = (score > 0.5) == (i == 0);
		Datum		values[2] = {
			Int32GetDatum(row->model->view.regions.peak_cluster[nearest_of_row(row)]),
			Float8GetDatum(none ? score : 1 - score)
		};
		bool		nulls[2] = {none};

		put_row(fcinfo, values, nulls);
	}
}

PG_FUNCTION_INFO_V1(fastclust_predict_probabilities);
Datum
fastclust_predict_probabilities(PG_FUNCTION_ARGS)
{
	model_row	row;

	fastclust_begin_rows(fcinfo);
	require_argument(fcinfo, 0, "model");
	if (PG_ARGISNULL(1) || !read_model_row(fcinfo, 2, 3, 1, ROW_GIVEN, &row))
		return (Datum) 0;
	if (row.model->view.regions.clusters > 0)
		return_membership(fcinfo, &row);
	else
		return_probabilities(fcinfo, &row);
	return (Datum) 0;
}
