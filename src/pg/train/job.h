/*
 * job.h - prepares and runs a training: locks the model, checks the arguments,
 * and makes and runs the job of the next version (struct training)
 */
#ifndef FASTCLUST_TRAIN_JOB_H
#define FASTCLUST_TRAIN_JOB_H

#include "fmgr.h"

#include "pg/train/training.h"
#include "pg/train/version.h"

/* Model that is locked until the end of the transaction. */
typedef struct locked_model
{
	Datum		record;			/* value of type stored_models */
	int64		id;
	char	   *model;
	int32		version;		/* current version; 0 if there is none */
} locked_model;

/*
 * Locks the model named by the call's first argument. wait: wait for another
 * training of the model instead of raising an error. make: create a missing
 * model instead of raising an error.
 */
extern locked_model lock_model(FunctionCallInfo fcinfo, bool wait, bool make);

/*
 * Returns the group of the current version with the most clusters. Raises an
 * error for a model with groups, unless `groups` is true.
 */
extern stored_version largest_group(const locked_model *locked, bool groups);

extern void warn_foreign_code(Oid relation, const feature_list *features,
							  const train_options *options);

/*
 * Checks the arguments of a training and returns the job of the model's next
 * version.
 */
extern training *begin_training(const locked_model *locked, const train_source *source, int64 k,
								train_method method, const train_options *options);

/*
 * Returns the job of the next version, with the settings of the current
 * version and the options that change them (command.c).
 */
extern training *begin_retraining(const locked_model *locked, const stored_version *version,
								  const train_options *options);

/*
 * Runs a job and returns the number of the version, which serves unless option
 * activate is false.
 */
extern int32 run_training(FunctionCallInfo fcinfo, training *t);

#endif							/* FASTCLUST_TRAIN_JOB_H */
