/* store.h - numbers, measures and writes the groups of a version */
#ifndef FASTCLUST_TRAIN_STORE_H
#define FASTCLUST_TRAIN_STORE_H

#include "pg/train/training.h"

extern void write_groups(Datum *records, int count);

extern Datum level_paths(const training *t, const fc_operator_header *op, bool *null);

extern double store_groups(training *t, const fc_weighted_rows *sample,
						   group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_STORE_H */
