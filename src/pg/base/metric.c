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
metric_of_options(const char *name)
{
	return name != NULL ? metric_of_name("option \"metric\":", name) : FC_EUCLIDEAN;
}

fc_metric
metric_among_options(const Jsonb *options)
{
	JsonbValue *metric = options != NULL ? value_of_key(options, "metric") : NULL;

	return metric_of_options(metric != NULL && metric->type == jbvString ? pnstrdup(metric->val.string.val, (Size) metric->val.string.len) : NULL);
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
				 errhint("Cluster by the metric cosine or euclidean, then make an operator for assigning by fastop_agg(centroid, weight, '{\"metric\": \"inner_product\"}') over its centroids.")));
}
