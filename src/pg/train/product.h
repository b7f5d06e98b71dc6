/* product.h - centroids as a product of sparse factors */
#ifndef FASTCLUST_TRAIN_PRODUCT_H
#define FASTCLUST_TRAIN_PRODUCT_H

#include "pg/train/training.h"

/* Returns the number of values that an operator stores. */
extern Size stored_values(const fc_operator_header *header);

/*
 * Learns the centroids of a group by QK-means, as a product of sparse factors.
 */
extern void learn_product(const training *t, group_fit *fit,
						  const fc_weighted_rows *rows, Size k);

#endif							/* FASTCLUST_TRAIN_PRODUCT_H */
