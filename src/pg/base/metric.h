/* metric.h - the metric as arguments and options name it; rows as a metric takes them */
#ifndef FASTCLUST_METRIC_H
#define FASTCLUST_METRIC_H

#include "postgres.h"

#include "utils/jsonb.h"

#include "numerics/metric.h"
#include "pg/base/vectors.h"

/* A metric by its name; what: "metric", or "option \"metric\":".  Another name is an error that lists them. */
extern fc_metric metric_of_name(const char *what, const char *name);

/* The same of the option "metric"; NULL, where it is not given, is the Euclidean metric. */
extern fc_metric metric_of_options(const char *name);

/* The same of options that hold others as well, which whoever knows those checks; NULL: none were given. */
extern fc_metric metric_among_options(const Jsonb *options);

/*
 * The row as a metric takes it: itself, converted into room (d doubles), or of length 1 there.  NULL where it has no
 * direction, so that there is no row.
 */
extern const double *metric_row(fc_metric metric, const vector *v, double *room);

/* An error where a row can only be assigned by this metric. */
extern void check_metric_has_means(fc_metric metric);

#endif							/* FASTCLUST_METRIC_H */
