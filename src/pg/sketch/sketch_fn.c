/*
 * sketch_fn.c - functions that read a sketch: description, distance, density
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"

#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/* Number of moments listed between two checks for interrupts. */
#define MOMENTS	65536

static fc_sketch_view
sketch_argument(FunctionCallInfo fcinfo, int n)
{
	return fc_sketch_view_of(sketch_pack(SKETCH_ARG(n)));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_row_count);
Datum
fastclust_sketch_row_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(sketch_argument(fcinfo, 0).head->count);
}

static double
deviation(const fc_sketch_view *sketch, size_t i)
{
	return sqrt(fc_sketch_variance(sketch, i));
}

/*
 * Returns an array with a statistic of each dimension; NULL if the total
 * weight of the sketch is 0.
 */
static Datum
per_dimension(FunctionCallInfo fcinfo,
			  double (*statistic) (const fc_sketch_view *, size_t))
{
	fc_sketch_view sketch = sketch_argument(fcinfo, 0);
	uint32		d = sketch.spec->dim;
	double	   *values = palloc(d * sizeof(double));

	if (sketch.head->weight == 0)
		PG_RETURN_NULL();
	for (uint32 i = 0; i < d; i++)
		values[i] = statistic(&sketch, i);
	return make_float8_array(values, (int) d);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_means);
Datum
fastclust_sketch_means(PG_FUNCTION_ARGS)
{
	return per_dimension(fcinfo, fc_sketch_mean);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_stddevs);
Datum
fastclust_sketch_stddevs(PG_FUNCTION_ARGS)
{
	return per_dimension(fcinfo, deviation);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_get_spec);
Datum
fastclust_sketch_get_spec(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch = sketch_argument(fcinfo, 0);

	PG_RETURN_POINTER(spec_without_sample(sketch.spec));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_moments);
Datum
fastclust_sketch_moments(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch = sketch_argument(fcinfo, 0);
	size_t		m = sketch.moments;
	double	   *re = palloc(4 * m * sizeof(double));
	double	   *im = re + m;
	double	   *pairs = im + m;

	if (sketch.head->weight == 0)
		PG_RETURN_NULL();
	fc_sketch_moments(&sketch, re, im);
	for (size_t j = 0; j < m; j++)
	{
		if (j % MOMENTS == 0)
			CHECK_FOR_INTERRUPTS();
		pairs[2 * j] = re[j];
		pairs[2 * j + 1] = im[j];
	}
	return make_float8_array(pairs, (int) (2 * m));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_distance);
Datum
fastclust_sketch_distance(PG_FUNCTION_ARGS)
{
	fc_sketch_view a = sketch_argument(fcinfo, 0);
	fc_sketch_view b = sketch_argument(fcinfo, 1);
	double		distance;

	if (!fc_spec_same(a.spec, b.spec))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("cannot compare sketches of different specs"),
				errhint("Build both with the same sketch_spec value."));
	if (a.head->weight == 0 || b.head->weight == 0)
		PG_RETURN_NULL();
	distance = fc_sketch_distance(&a, &b);
	if (isnan(distance))		/* the unbiased estimate needs two rows in
								 * each sketch */
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(distance);
}

PG_FUNCTION_INFO_V1(fastclust_sketch_density);
Datum
fastclust_sketch_density(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch = sketch_argument(fcinfo, 0);
	const fc_prepared *prepared = prepared_of_spec(sketch.spec);
	vector_reader reader = {CurrentMemoryContext, NULL, 0};
	vector		v = read_vector_argument(fcinfo, &reader, 1, "x");
	fc_sketch  *bytes;
	fc_sketch_view single;
	fc_row		row = {
		.doubles = v.doubles,
		.floats = v.floats,
		.weight = FC_ONE_WEIGHT
	};
	fc_status	status;

	check_vector_dim(&v, prepared->d, "the sketch");
	if (fc_spec_metric(prepared->spec) == FC_COSINE)
	{
		row.doubles = metric_row(FC_COSINE, &v,
								 palloc((Size) v.d * sizeof(double)));
		row.floats = NULL;
		if (row.doubles == NULL)
			PG_RETURN_NULL();
	}
	if (sketch.head->weight == 0)
		PG_RETURN_NULL();
	bytes = palloc(fc_sketch_size(sketch.spec, FC_SKETCH_UNPACKED, 1));
	fc_sketch_init(sketch.spec, FC_SKETCH_UNPACKED, 1, bytes);
	single = fc_sketch_view_of(bytes);
	status = fc_sketch_add(prepared, &row, &single);
	if (status != FC_OK)
		report_row(status, v.doubles, v.floats, prepared->d);
	PG_RETURN_FLOAT8(fc_sketch_similarity(&sketch, &single));
}

/* ---- description ---- */

static void
append_spec_description(StringInfo json, const fc_spec *spec)
{
	appendStringInfo(json,
					 "\"dim\": %u, \"reduced_dim\": %u, \"frequencies\": %u, \"law\": \"%s\", "
					 "\"structured\": %s, \"seed\": %lld, \"sigma\": %.17g",
					 spec->dim, spec->reduced, spec->frequencies,
					 fc_law_name((fc_law) spec->law),
					 (spec->flags & FC_SPEC_STRUCTURED) ? "true" : "false",
					 (long long) spec->seed, spec->sigma);
	append_json_list(json, ", \"sigmas\": ", fc_spec_sigmas(spec),
					 spec->scales);
	if (fc_spec_metric(spec) != FC_EUCLIDEAN)
		appendStringInfo(json, ", \"metric\": \"%s\"",
						 fc_metric_name(fc_spec_metric(spec)));
	appendStringInfo(json,
					 ", \"clusters\": %u, \"sample_centroids\": %u, \"sample_rows\": %u, \"bytes\": %zu",
					 spec->clusters, spec->sample_centroids, spec->sample_rows,
					 fc_spec_size(spec));
}

/*
 * Takes (spec, dimensions). Returns the spec without its sample. Raises an
 * error if dimensions is neither 0 nor the number of dimensions of the spec.
 */
PG_FUNCTION_INFO_V1(fastclust_spec_without_sample);
Datum
fastclust_spec_without_sample(PG_FUNCTION_ARGS)
{
	const fc_spec *spec = SPEC_ARG(0);
	int32		n = PG_GETARG_INT32(1);

	if (n > 0 && n != (int32) spec->dim)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("the features have %d dimension%s, but the sketch_spec has %u",
					   n, n > 1 ? "s" : "", spec->dim),
				errhint("Make a spec that fits with sketch_spec(%d, ...), or with sketch_spec_agg of these columns.",
						n));
	PG_RETURN_POINTER(spec_without_sample(spec));
}

PG_FUNCTION_INFO_V1(fastclust_spec_describe);
Datum
fastclust_spec_describe(PG_FUNCTION_ARGS)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	append_spec_description(&json, SPEC_ARG(0));
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

PG_FUNCTION_INFO_V1(fastclust_sketch_describe);
Datum
fastclust_sketch_describe(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch = sketch_argument(fcinfo, 0);
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json,
					 "{\"rows\": %lld, \"total_weight\": %.17g, \"weighted\": %s, "
					 "\"bytes\": %zu, \"spec\": {",
					 (long long) sketch.head->count, fc_sketch_total_weight(&sketch),
					 sketch.wide_z != NULL ? "true" : "false", fc_sketch_bytes(sketch.head));
	append_spec_description(&json, sketch.spec);
	appendStringInfoChar(&json, '}');
	if ((sketch.head->flags & FC_SKETCH_BOUNDS) && sketch.head->count > 0)
	{
		append_json_list(&json, ", \"lower_bounds\": ", sketch.lower,
						 sketch.spec->dim);
		append_json_list(&json, ", \"upper_bounds\": ", sketch.upper,
						 sketch.spec->dim);
	}
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}
