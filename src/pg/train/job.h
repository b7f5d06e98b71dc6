/* job.h - the job of a training */
#ifndef FASTCLUST_TRAIN_JOB_H
#define FASTCLUST_TRAIN_JOB_H

#include "fmgr.h"

#include "pg/train/training.h"
#include "pg/train/version.h"

/* A model that is held until the end of the transaction. */
typedef struct held_model
{
	Datum		record;			/* stored_models */
	int64		id;
	char	   *model;
	int32		version;		/* the current one; 0: none */
} held_model;

/*
 * The model of the call's first argument; one that is not there is made, or an
 * error.
 */
extern held_model hold_model(FunctionCallInfo fcinfo, bool wait, bool make);

/*
 * Of the current version the part of most clusters; groups: else a model of
 * groups is an error.
 */
extern stored_version largest_part(const held_model *held, bool groups);

extern void warn_foreign_code(Oid relation, const feature_list *features,
							  const train_options *options);

/*
 * The job of the next version of a model, checked; then its version, which
 * serves unless it was not to be activated.
 */
extern training *begin_training(const held_model *held, const train_source *source, int64 k,
								train_method method, const train_options *options);

/*
 * The job of the next version: the settings of the one that serves, but for
 * those that the options change (command.c).
 */
extern training *begin_retraining(const held_model *held, const stored_version *version,
								  const train_options *options);
extern int32 run_training(FunctionCallInfo fcinfo, training *t);

#endif							/* FASTCLUST_TRAIN_JOB_H */
