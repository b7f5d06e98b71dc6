/*
 * log.h - reports the steps of a training as notices, in training_progress and
 * in training_log
 */
#ifndef FASTCLUST_TRAIN_LOG_H
#define FASTCLUST_TRAIN_LOG_H

#include "pg/train/training.h"

extern TimestampTz begin_step(const training *t, const char *step);

/*
 * Ends a step and reports it. An objective that is NAN and a note that is NULL
 * are left out.
 */
extern void log_step(const training *t, const char *step, TimestampTz begun,
					 double objective, const char *note);

#endif							/* FASTCLUST_TRAIN_LOG_H */
