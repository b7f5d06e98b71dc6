/* store.h - the parts of a version, as they are written */
#ifndef FASTCLUST_TRAIN_STORE_H
#define FASTCLUST_TRAIN_STORE_H

#include "pg/train/training.h"

extern void write_parts(Datum *records, int count);

extern Datum
			level_paths(const training *t, const fc_operator_header *op, bool *null);

extern double store_parts(training *t, const fc_weighted_rows *sample,
						  train_part *parts, int count);

#endif							/* FASTCLUST_TRAIN_STORE_H */
