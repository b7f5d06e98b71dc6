/* metric.c - the metric as arguments and options name it; see the header */
#include "postgres.h"

#include "pg/base/metric.h"
#include "pg/base/options.h"

fc_metric
metric_of_name(const char *what, const char *name)
{
	choice		metrics[FC_METRICS];

	for (int metric = 0; metric < FC_METRICS; metric++)
		metrics[metric] = (choice) {fc_metric_name((fc_metric) metric), metric};
	return (fc_metric) choice_of_name(what, name, metrics, FC_METRICS);
}

fc_metric
metric_of_options(const char *name, bool spherical)
{
	fc_metric	metric = name != NULL ? metric_of_name("option \"metric\":", name) : spherical ? FC_COSINE : FC_EUCLIDEAN;

	if (spherical && metric != FC_COSINE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"spherical\" is true, but option \"metric\" is \"%s\"", name),
				 errdetail("Spherical k-means is that of the metric cosine."),
				 errhint("Give one of the two options.")));
	return metric;
}

/* The value of a key, or NULL. */
static JsonbValue *
value_of_key(const Jsonb *options, const char *name)
{
	JsonbValue	key;

	key.type = jbvString;
	key.val.string.val = (char *) name;
	key.val.string.len = (int) strlen(name);
	return findJsonbValueFromContainer((JsonbContainer *) &options->root, JB_FOBJECT, &key);
}

fc_metric
metric_among_options(const Jsonb *options)
{
	JsonbValue *metric;
	JsonbValue *spherical;

	if (options == NULL || !JB_ROOT_IS_OBJECT(options))
		return FC_EUCLIDEAN;
	metric = value_of_key(options, "metric");
	spherical = value_of_key(options, "spherical");
	return metric_of_options(metric != NULL && metric->type == jbvString ? pnstrdup(metric->val.string.val, (Size) metric->val.string.len) : NULL,
							 spherical != NULL && spherical->type == jbvBool && spherical->val.boolean);
}

const double *
metric_row(fc_metric metric, const vector *v, double *room)
{
	size_t		d = (size_t) v->d;
	bool		directed;

	if (metric != FC_COSINE)
		return vector_doubles(v, room);
	directed = v->floats != NULL ? fc_unit_float_row(v->floats, d, room) : fc_unit_row(v->doubles, d, room);
	return directed ? room : NULL;
}

void
check_metric_has_means(fc_metric metric)
{
	if (metric == FC_INNER_PRODUCT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the metric inner_product only assigns rows"),
				 errdetail("Clusters by inner products have no means: longer centroids draw all rows."),
				 errhint("Cluster by the metric cosine or euclidean, then assign by with_metric(operator, 'inner_product').")));
}
