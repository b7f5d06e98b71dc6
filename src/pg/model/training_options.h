/* training_options.h - the options of trainings, checked, and the condition on rows among them */
#ifndef FASTCLUST_TRAINING_OPTIONS_H
#define FASTCLUST_TRAINING_OPTIONS_H

#include "utils/array.h"
#include "utils/jsonb.h"

#include "numerics/metric.h"

/* An error where the function (train, retrain, choose_k, write_labels) does not know an option, or it is out of range. */
extern void check_training_options(Jsonb *options, const char *function);

/* The metric of a training; NULL is euclidean, one without means is an error. */
extern fc_metric metric_of_training(const char *name);

/* A condition on rows of the alias t, every name resolved, and the columns it reads (NULL: not wanted); or the error that it may not be one. */
extern char *resolved_condition(Oid relation, const char *condition, ArrayType **columns);

#endif							/* FASTCLUST_TRAINING_OPTIONS_H */
