/* model_fn.c - predict and its family: a named model applied to rows */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "operator/operator.h"
#include "operator/responsibility.h"
#include "pg/base/arguments.h"
#include "pg/base/columns.h"
#include "pg/base/errors.h"
#include "pg/base/rows.h"
#include "pg/base/vectors.h"
#include "pg/model/model.h"
#include "rkhs/map.h"

typedef struct model_row
{
	const served_model *model;	/* its operator is NULL for a group without a model */
	const double *x;			/* in the operator's coordinates */
	fc_scratch	scratch;
} model_row;

/* ---- arguments ---- */

/* Room of a row: d of the row as doubles, d of columns joined; with a map its features, as floats and as doubles. */
static void
reserve(FunctionCallInfo fcinfo, model_site *site, const served_model *model)
{
	Size		doubles = 2 * model->d;
	Size		floats = fc_operator_scratch(&model->view);

	if (model->map_header != NULL)
	{
		doubles += model->map.rank;
		floats = Max(floats, model->map.rank + fc_kernel_map_scratch(&model->map));
	}
	if (site->row_doubles < doubles)
	{
		site->row = MemoryContextAllocHuge(fcinfo->flinfo->fn_mcxt, doubles * sizeof(double));
		site->row_doubles = doubles;
	}
	if (site->scratch.count < floats)
	{
		site->scratch.floats = MemoryContextAllocHuge(fcinfo->flinfo->fn_mcxt, floats * sizeof(float));
		site->scratch.count = floats;
	}
	site->ready = model;
}

/* phi(x), as doubles. */
static const double *
features_of(const model_site *site, const served_model *model, const double *x)
{
	const fc_kernel_map *map = &model->map;
	double	   *features = site->row + 2 * model->d;
	float	   *y = site->scratch.floats;
	fc_scratch	behind = {y + map->rank, site->scratch.count - map->rank};

	fc_kernel_map_features(map, x, behind, y);
	if (!fc_all_finite_float(y, map->rank))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("kernel values of the row are out of range"),
				 errhint("Scale the data down.")));
	for (Size i = 0; i < map->rank; i++)
		features[i] = (double) y[i];
	return features;
}

/* The row in the operator's coordinates: (x - center) / scale, and its features. */
static const double *
transformed(const model_site *site, const served_model *model, const vector *v)
{
	double	   *buffer = site->row;
	const double *x = vector_doubles(v, buffer);
	vector		moved = {buffer, NULL, v->d};

	if (model->center == NULL)
		check_single_precision(v);
	else
	{
		check_finite(v);
		for (int i = 0; i < v->d; i++)
			buffer[i] = (x[i] - model->center[i]) / model->scale[i];
		check_single_precision(&moved);
		x = buffer;
	}
	return model->map_header == NULL ? x : features_of(site, model, x);
}

/* How a row is given. */
typedef enum row_form
{
	ROW_VECTOR,					/* an array */
	ROW_LIST,					/* a number and a perhaps empty array of those behind it */
	ROW_COLUMNS					/* VARIADIC "any" */
} row_form;

static vector
list_argument(FunctionCallInfo fcinfo, model_site *site, Size d, int argument)
{
	double	   *joined = site->row + d;
	vector		v = {joined, NULL, 0};

	if (ARR_NDIM(PG_GETARG_ARRAYTYPE_P(argument + 1)) > 0)
		v = read_vector(&site->reader, PG_GETARG_DATUM(argument + 1), "x");
	if ((Size) v.d + 1 == d)
	{
		joined[0] = PG_GETARG_FLOAT8(argument);
		memcpy(joined + 1, v.doubles, (Size) v.d * sizeof(double));
		v.doubles = joined;
	}
	v.d++;
	return v;
}

/* None of the columns is NULL. */
static vector
columns_argument(FunctionCallInfo fcinfo, model_site *site, Size d)
{
	double	   *x = site->row + d;

	if ((Size) site->columns->d == d)
		(void) read_columns(fcinfo, site->columns, x);
	return (vector) {x, NULL, site->columns->d};
}

static vector
vector_argument(FunctionCallInfo fcinfo, model_site *site, Size d, int argument, row_form form)
{
	if (form == ROW_LIST)
		return list_argument(fcinfo, site, d, argument);
	if (form == ROW_COLUMNS)
		return columns_argument(fcinfo, site, d);
	return read_vector(&site->reader, PG_GETARG_DATUM(argument), "x");
}

static model_row
row_of_model(FunctionCallInfo fcinfo, int group, int argument, row_form form)
{
	model_site *site = model_site_of(fcinfo);
	model_row	row = {.model = served_model_of(fcinfo, site, group)};
	vector		v;

	if (row.model->header == NULL)
		return row;
	if (site->ready != row.model)
		reserve(fcinfo, site, row.model);
	v = vector_argument(fcinfo, site, row.model->d, argument, form);
	check_vector_dim(&v, row.model->d, "the model");
	row.x = transformed(site, row.model, &v);
	row.scratch = site->scratch;
	return row;
}

/* Is there a NULL among the columns, or among the arguments before them? */
static bool
has_null(FunctionCallInfo fcinfo, int argument, row_form form)
{
	model_site *site;

	if (form == ROW_LIST)
		return array_contains_nulls(PG_GETARG_ARRAYTYPE_P(argument + 1));
	for (int i = 0; form == ROW_COLUMNS && i < PG_NARGS(); i++)
		if (PG_ARGISNULL(i))
			return true;
	site = model_site_of(fcinfo);
	if (form == ROW_COLUMNS && site->columns == NULL)
	{
		column_reader *reader = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(column_reader));

		make_column_reader(fcinfo, argument, reader);
		site->columns = reader;
	}
	return false;
}

/* ---- one row, one answer ---- */

typedef Datum (*answer) (FunctionCallInfo fcinfo, const model_row *row);

static double
distance_of(const model_row *row)
{
	const fc_operator *op = &row->model->view;
	size_t		cluster = fc_operator_assign(op, row->x, row->scratch);

	return sqrt(fc_operator_distance(op, cluster, row->x, row->scratch));
}

static Datum
cluster_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	PG_RETURN_INT32((int32) fc_operator_assign(&row->model->view, row->x, row->scratch));
}

static Datum
distance_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	PG_RETURN_FLOAT8(distance_of(row));
}

/* The distance that a share `contamination` of the training rows exceeded. */
static double
distance_quantile(const served_model *model, double contamination)
{
	double		place = (1.0 - sqrt(contamination)) * (model->quantile_count - 1);
	int			below = Min((int) place, model->quantile_count - 2);

	if (model->quantile_count < 2)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("model \"%s\" has no distribution of distances", text_to_cstring(model->name))));
	return model->quantiles[below] + (place - below) * (model->quantiles[below + 1] - model->quantiles[below]);
}

static Datum
anomaly_answer(FunctionCallInfo fcinfo, const model_row *row)
{
	double		contamination = PG_GETARG_FLOAT8(PG_NARGS() - 1);

	if (!(contamination > 0 && contamination < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("contamination is %g, out of range", contamination),
				 errdetail("It is a share of the rows, between 0 and 1.")));
	PG_RETURN_BOOL(distance_of(row) > distance_quantile(row->model, contamination));
}

static Datum
answer_row(FunctionCallInfo fcinfo, int group, int argument, row_form form, answer how)
{
	model_row	row;

	if (has_null(fcinfo, argument, form))
		PG_RETURN_NULL();
	row = row_of_model(fcinfo, group, argument, form);
	if (row.model->header == NULL)
		PG_RETURN_NULL();
	return how(fcinfo, &row);
}

/* name(model, x), name_list(model, first, rest), name_columns(model, columns ..); the same with a group after the model. */
#define MODEL_FUNCTION(name, how) \
PG_FUNCTION_INFO_V1(fastclust_##name); \
Datum fastclust_##name(PG_FUNCTION_ARGS) { return answer_row(fcinfo, -1, 1, ROW_VECTOR, how); } \
PG_FUNCTION_INFO_V1(fastclust_##name##_list); \
Datum fastclust_##name##_list(PG_FUNCTION_ARGS) { return answer_row(fcinfo, -1, 1, ROW_LIST, how); } \
PG_FUNCTION_INFO_V1(fastclust_##name##_columns); \
Datum fastclust_##name##_columns(PG_FUNCTION_ARGS) { return answer_row(fcinfo, -1, 1, ROW_COLUMNS, how); } \
PG_FUNCTION_INFO_V1(fastclust_##name##_group); \
Datum fastclust_##name##_group(PG_FUNCTION_ARGS) { return answer_row(fcinfo, 1, 2, ROW_VECTOR, how); } \
PG_FUNCTION_INFO_V1(fastclust_##name##_group_list); \
Datum fastclust_##name##_group_list(PG_FUNCTION_ARGS) { return answer_row(fcinfo, 1, 2, ROW_LIST, how); } \
PG_FUNCTION_INFO_V1(fastclust_##name##_group_columns); \
Datum fastclust_##name##_group_columns(PG_FUNCTION_ARGS) { return answer_row(fcinfo, 1, 2, ROW_COLUMNS, how); } \
extern int	no_such_variable

MODEL_FUNCTION(predict, cluster_answer);
MODEL_FUNCTION(predict_distance, distance_answer);
MODEL_FUNCTION(anomaly, anomaly_answer);

/* ---- the n nearest ---- */

PG_FUNCTION_INFO_V1(fastclust_predict_all);
Datum
fastclust_predict_all(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	model_row	row;
	int32	   *clusters;
	double	   *distances;
	size_t		count;

	fastclust_begin_rows(fcinfo);
	for (int i = 0; i < 3; i++)
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	check_count("n", PG_GETARG_INT32(2), 1, INT32_MAX);
	row = row_of_model(fcinfo, -1, 1, ROW_VECTOR);
	if (row.model->header == NULL)
		return (Datum) 0;
	count = Min((size_t) PG_GETARG_INT32(2), row.model->view.k);
	clusters = palloc(count * sizeof(int32));
	distances = palloc(count * sizeof(double));
	fc_operator_nearest(&row.model->view, row.x, count, row.scratch, clusters, distances);
	for (size_t i = 0; i < count; i++)
	{
		Datum		values[2] = {Int32GetDatum(clusters[i]), Float8GetDatum(sqrt(distances[i]))};
		bool		nulls[2] = {false, false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- probabilities ---- */

typedef struct probable_cluster
{
	double		probability;
	int32		cluster;
} probable_cluster;

static int
compare_probabilities(const void *a, const void *b)
{
	const probable_cluster *left = a;
	const probable_cluster *right = b;

	if (left->probability != right->probability)
		return left->probability > right->probability ? -1 : 1;
	return left->cluster < right->cluster ? -1 : 1;
}

/* Rows (cluster, probability), most probable first, for a row in the operator's coordinates. */
static void
return_probabilities(ReturnSetInfo *result, const model_row *row)
{
	const fc_operator *op = &row->model->view;
	double	   *p = palloc(op->k * sizeof(double));
	probable_cluster *order = palloc(op->k * sizeof(probable_cluster));

	if (row->model->spreads == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("model \"%s\" has no spreads of its clusters", text_to_cstring(row->model->name)),
				 errhint("Use retrain.")));
	check_status(fc_operator_responsibilities(op, row->model->spreads, row->x, row->scratch, p), NULL);
	for (Size j = 0; j < op->k; j++)
		order[j] = (probable_cluster) {p[j], (int32) j};
	qsort(order, op->k, sizeof(probable_cluster), compare_probabilities);
	for (Size i = 0; i < op->k; i++)
	{
		Datum		values[2] = {Int32GetDatum(order[i].cluster), Float8GetDatum(order[i].probability)};
		bool		nulls[2] = {false, false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

static Datum
probabilities_of_row(FunctionCallInfo fcinfo, int group, int argument, row_form form)
{
	model_row	row;

	fastclust_begin_rows(fcinfo);
	for (int i = 0; i < PG_NARGS(); i++)
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	if (has_null(fcinfo, argument, form))
		return (Datum) 0;
	row = row_of_model(fcinfo, group, argument, form);
	if (row.model->header != NULL)
		return_probabilities((ReturnSetInfo *) fcinfo->resultinfo, &row);
	return (Datum) 0;
}

#define PROBABILITIES(name, group, argument, form) \
PG_FUNCTION_INFO_V1(fastclust_##name); \
Datum fastclust_##name(PG_FUNCTION_ARGS) { return probabilities_of_row(fcinfo, group, argument, form); } \
extern int	no_such_variable

PROBABILITIES(predict_probabilities, -1, 1, ROW_VECTOR);
PROBABILITIES(predict_probabilities_list, -1, 1, ROW_LIST);
PROBABILITIES(predict_probabilities_group, 1, 2, ROW_VECTOR);
PROBABILITIES(predict_probabilities_group_list, 1, 2, ROW_LIST);
