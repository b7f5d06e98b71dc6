/* log.h - the steps of a training: notices, training_progress, training_log */
#ifndef FASTCLUST_TRAIN_LOG_H
#define FASTCLUST_TRAIN_LOG_H

#include "pg/train/training.h"

extern TimestampTz begin_step(const training *t, const char *step);

/* Ends and reports a step. An objective NAN or a note NULL is left out. */
extern void log_step(const training *t, const char *step, TimestampTz begun,
					 double objective, const char *note);

#endif							/* FASTCLUST_TRAIN_LOG_H */
