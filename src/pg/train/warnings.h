/* warnings.h - warnings about the columns of a training */
#ifndef FASTCLUST_TRAIN_WARNINGS_H
#define FASTCLUST_TRAIN_WARNINGS_H

#include "pg/train/training.h"

extern void warn_columns(const training *t, const fc_weighted_rows *sample);

#endif							/* FASTCLUST_TRAIN_WARNINGS_H */
